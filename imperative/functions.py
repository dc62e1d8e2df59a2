"""Ops made of two methods: `Function` of tensors, `PyLayer` of NumPy arrays.

Both are `custom_vjp` in the form of a class, and nest in the transforms as that does.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .. import _C
from .custom_rules import custom_vjp
from .tensor import Tensor
from .trees import leaves_of


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
        raise TypeError(f"{type(self).__name__}: forward(self, *xs) must be defined")

    def backward(self, *dys: Any) -> Any:
        """The gradients of the inputs: one, or a tuple of them."""
        raise TypeError(f"{type(self).__name__}: backward(self, *dys) must be defined")

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
                f"{type(self).__name__}: backward must return one gradient for each of "
                f"{len(xs)} inputs; got {len(gradients)}"
            )
        return gradients


class PyLayer:
    """An op of your own, written with NumPy.

    ``forward(inputs)`` takes the list of input arrays and returns an array, or a list of them;
    ``backward(inputs)`` takes inputs, outputs and the outputs' cotangents, in one list, and returns
    the gradient of each input. Both are static. A call returns a list of tensors.

    Raises:
        TypeError: a transform needs more than elements (a second derivative, a tangent, `vmap`):
            NumPy has no others.

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
        raise TypeError("PyLayer: forward(inputs) must be defined, as a static method")

    @staticmethod
    def backward(inputs: list[Any]) -> Any:
        """The gradient of the input, or a list of them."""
        raise TypeError("PyLayer: backward(inputs) must be defined, as a static method")

    def __call__(self, *inputs: Any) -> list[Any]:
        """Applies the op; arrays become tensors."""
        function = custom_vjp(self._run)
        function.defvjp(self._forward, self._backward)
        return list(function(*(x if isinstance(x, _C.TensorBase) else Tensor(x) for x in inputs)))

    def _run(self, *xs: Any) -> tuple[Any, ...]:
        return _tensors(self.forward([np.asarray(x) for x in xs]))

    def _forward(self, *xs: Any) -> tuple[Any, Any]:
        outputs = self._run(*xs)
        return outputs, (xs, outputs)

    def _backward(self, residuals: Any, dys: Any) -> tuple[Any, ...]:
        xs, outputs = residuals
        return _tensors(self.backward([np.asarray(x) for x in (*xs, *outputs, *dys)]))


def _tensors(found: Any) -> tuple[Any, ...]:
    given = found if isinstance(found, (tuple, list)) else [found]
    return tuple(None if y is None else Tensor(np.asarray(y)) for y in given)
