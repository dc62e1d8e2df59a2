"""Ops made of two methods: `Function` of tensors, `PyLayer` of NumPy arrays.

Both are `custom_vjp` in the form of a class, and nest in the transforms as that does.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .. import _C
from ..imperative.batched import Batched
from ..imperative.dispatch import apply
from ..imperative.dual import Dual
from ..imperative.levels import is_differentiated, unwrapped
from ..imperative.tensor import Tensor
from ..imperative.trees import leaves_of
from ..ops import OpBase
from .batching import map_one_by_one
from .custom_rules import custom_vjp


def _holds_tensors(value: Any) -> bool:
    leaves = leaves_of(value)
    return bool(leaves) and all(isinstance(leaf, _C.TensorBase) for leaf in leaves)


class Function:
    """An op of your own, as a class: `forward` computes, `backward` gives its gradient.

    ``forward(self, *xs)`` takes and returns tensors, one or a tuple; what it stores on `self`, or
    gives to `save_for_backward`, is there in ``backward(self, *dys)``. That takes a cotangent for
    each output (None where nothing flows into it) and returns a gradient for each input (None: no
    gradient). The forward pass is not recorded; the backward pass is, when it is to be
    differentiated again. On tensors that nothing differentiates by, `forward` simply runs.

    Raises:
        AutodiffError: `backward` returns another number of gradients than there are inputs.

    Source:
        MegEngine, ``megengine.functional.Function``.

    Example:
        >>> import tensorlike as tl
        >>> class Sigmoid(tl.Function):
        ...     def forward(self, x):
        ...         self.y = 1 / (1 + tl.exp(-x))
        ...         return self.y
        ...
        ...     def backward(self, dy):
        ...         return dy * self.y * (1 - self.y)
        >>> tl.grad(Sigmoid())(tl.tensor(0.0)).item()
        0.25
    """

    def forward(self, *xs: Any) -> Any:
        """The outputs: a tensor, or a tuple of them."""
        raise _C.ParameterError("forward(self, *xs) must be defined", op=type(self).__name__)

    def backward(self, *dys: Any) -> Any:
        """The gradients of the inputs: one, or a tuple of them."""
        raise _C.ParameterError("backward(self, *dys) must be defined", op=type(self).__name__)

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for `backward`, where they are `saved_tensors`."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        return getattr(self, "_saved", ())

    def __call__(self, *xs: Any) -> Any:
        """Applies the op."""
        function = custom_vjp(self.forward, keeps_none=True)
        function.defvjp(self._forward, self._backward)
        return function(*(x if isinstance(x, _C.TensorBase) else Tensor(x) for x in xs))

    def _forward(self, *xs: Any) -> tuple[Any, Any]:
        out = self.forward(*xs)
        kept = {name: value for name, value in vars(self).items() if _holds_tensors(value)}
        return out, (xs, kept)

    def _backward(self, residuals: Any, dys: Any) -> tuple[Any, ...]:
        xs, kept = residuals
        worker = copy.copy(self)
        vars(worker).update(kept)
        found = worker.backward(*(dys if isinstance(dys, tuple) else (dys,)))
        gradients = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(gradients) != len(xs):
            raise _C.AutodiffError(
                f"backward must return one gradient for each of {len(xs)} inputs",
                op=type(self).__name__,
                got=f"{len(gradients)}",
            )
        return gradients


class _OnArrays(OpBase):
    """A method of a PyLayer as an op, which knows elements alone.

    Args:
        layer: whose method it is.
        inputs: how many inputs the layer has.
        is_backward: whether it is `backward`, on inputs, outputs and cotangents.
    """

    def __init__(self, layer: PyLayer, inputs: int, *, is_backward: bool) -> None:
        self.layer = layer
        self.inputs = inputs
        self.is_backward = is_backward

    def __str__(self) -> str:
        """The class and the method."""
        return f"{type(self.layer).__name__}.{'backward' if self.is_backward else 'forward'}"


@apply.register
def apply_on_arrays(op: _OnArrays, *xs: _C.RawTensor) -> tuple[Any, ...]:
    """Calls the method on the elements; no gradient is one of zeros."""
    method = op.layer.backward if op.is_backward else op.layer.forward
    found = method([np.asarray(x) for x in xs])
    arrays = list(found) if isinstance(found, (tuple, list)) else [found]
    if op.is_backward:
        if len(arrays) != op.inputs:
            raise _C.AutodiffError(
                f"one gradient for each of {op.inputs} inputs is needed",
                op=f"{op}",
                got=f"{len(arrays)}",
            )
        inputs = xs[: op.inputs]
        arrays = [
            np.zeros(x.shape, x.dtype.name) if y is None else y
            for x, y in zip(inputs, arrays, strict=True)
        ]
    return tuple(_C.RawTensor(np.asarray(y)) for y in arrays)


@apply.register
def infer_on_arrays(op: _OnArrays, *xs: _C.ShapeTensor) -> tuple[Any, ...]:
    """What the layer's `infer` says; gradients are as the inputs are."""
    if op.is_backward:
        return xs[: op.inputs]
    found = op.layer.infer(list(xs))
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


@apply.register
def batch_on_arrays(op: _OnArrays, *xs: Batched) -> tuple[Any, ...]:
    """One example after the other, which is what NumPy code means."""
    return map_one_by_one(op, xs)


@apply.register
def refuse_on_arrays(op: _OnArrays, *xs: _C.Tracer | Dual) -> tuple[Any, ...]:
    """Elements have no derivatives: what differentiates them must not go past unseen."""
    if any(is_differentiated(x) for x in xs):
        raise _C.AutodiffError(
            "NumPy arrays must not be differentiated",
            op=f"{op}",
            got="a tensor that carries gradients (of a second order or in forward mode, say)",
            fix="write a tl.Function, of tensors",
        )
    return apply.super(op, *xs)


class PyLayer:
    """An op of your own, written with NumPy.

    ``forward(inputs)`` takes the list of input arrays and returns an array, or a list of them;
    ``backward(inputs)`` takes inputs, outputs and the outputs' cotangents, in one list, and returns
    the gradient of each input (None: no gradient). Both are static. A call returns a list of
    tensors. Under `vmap` they are called on one example after the other. On what has no elements,
    a `Listing` or a `ShapeTensor`, ``infer(inputs)`` says what comes out: it takes the list of the
    inputs as ShapeTensors, and returns one or several.

    Raises:
        AutodiffError: a second derivative is wanted, or a tangent: NumPy has none; or `backward`
            returns another number of gradients than there are inputs.
        ShapeError: there are no elements, and no `infer`.

    Source:
        Paddle, ``fluid.imperative.PyLayer``.

    Example:
        >>> import numpy as np
        >>> import tensorlike as tl
        >>> class Tanh(tl.PyLayer):
        ...     @staticmethod
        ...     def forward(inputs):
        ...         return np.tanh(inputs[0])
        ...
        ...     @staticmethod
        ...     def backward(inputs):
        ...         x, y, dy = inputs
        ...         return dy * (1 - np.square(y))
        >>> x = tl.tensor([0.0], requires_grad=True)
        >>> (y,) = Tanh()(x)
        >>> y.backward()
        >>> x.grad.tolist()
        [1.0]
    """

    @staticmethod
    def forward(inputs: list[Any]) -> Any:
        """The output, or a list of outputs."""
        raise _C.ParameterError("forward(inputs) must be defined, as a static method", op="PyLayer")

    @staticmethod
    def backward(inputs: list[Any]) -> Any:
        """The gradient of the input, or a list of them."""
        raise _C.ParameterError(
            "backward(inputs) must be defined, as a static method", op="PyLayer"
        )

    @staticmethod
    def infer(inputs: list[Any]) -> Any:
        """The output as a ShapeTensor, or a list of them, of inputs that are ShapeTensors."""
        raise _C.ShapeError(
            "the elements must be known, or infer(inputs) be defined, as a static method",
            op="PyLayer",
            got=f"shapes alone: {', '.join(str(x.shape) for x in inputs)}",
        )

    def __call__(self, *inputs: Any) -> list[Any]:
        """Applies the op; arrays become tensors."""
        function = custom_vjp(self._run)
        function.defvjp(self._forward, self._backward)
        return list(function(*(x if isinstance(x, _C.TensorBase) else Tensor(x) for x in inputs)))

    def _run(self, *xs: Any) -> tuple[Any, ...]:
        outputs = _OnArrays(self, len(xs), is_backward=False)(*map(unwrapped, xs))
        return tuple(map(Tensor, outputs))

    def _forward(self, *xs: Any) -> tuple[Any, Any]:
        outputs = self._run(*xs)
        return outputs, (xs, outputs)

    def _backward(self, residuals: Any, dys: Any) -> tuple[Any, ...]:
        xs, outputs = residuals
        given = map(unwrapped, (*xs, *outputs, *dys))
        found = _OnArrays(self, len(xs), is_backward=True)(*given)
        return tuple(
            Tensor(dx) if x.dtype.kind in ("floating", "complex") else None
            for x, dx in zip(xs, found, strict=True)
        )
