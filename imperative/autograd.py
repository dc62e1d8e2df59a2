"""tl.autograd: gradients of tensors by tensors, after the fact; and tools for the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .anomaly import detect_anomaly as detect_anomaly
from .anomaly import set_detect_anomaly as set_detect_anomaly
from .backward import cotangents_for, listed
from .tensor import Tensor

__all__ = ["backward", "detect_anomaly", "grad", "set_detect_anomaly"]

# Of what records nothing of what is computed from it.
WRAP_IT = (
    "compute the outputs from t = tl.Tensor(x), with t.requires_grad = True, and pass t; or "
    "differentiate a function by tl.grad"
)


def is_bare(x: Any) -> bool:
    """Whether it is a tensor-like that no Tensor is around, as a variable of a program may be."""
    return isinstance(x, _C.TensorBase) and not isinstance(x, Tensor)


def _checked(who: str, ys: Any, dys: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The outputs, and a cotangent for each."""
    outputs = listed(ys)
    cotangents = cotangents_for(who, outputs, dys)
    for output in outputs:
        if not isinstance(output, _C.TensorBase):
            raise _C.ParameterError("outputs must be tensors", op=who, got=type(output).__name__)
    return outputs, cotangents


def grad(
    ys: Tensor | Sequence[Tensor],
    xs: Tensor | Sequence[Tensor],
    dys: Any = None,
    *,
    allow_unused: bool = False,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[Any, ...]:
    """The gradients of computed tensors by tensors that they were computed from, leaves or not.

    Only what leads from `xs` to `ys` is computed, and `x.grad` of no tensor changes.

    Args:
        ys: the outputs, one or several; their gradients add up.
        xs: the inputs, one or several.
        dys: a cotangent for each output, of its shape; None: ones, for one element.
        allow_unused: whether an input that no output depends on gives None, not an error.
        retain_graph: keep the graph for another pass.
        create_graph: make gradients that can be differentiated again.

    Returns:
        A tuple with a gradient for each of `xs`, of its shape and dtype.

    Raises:
        AutodiffError: an input does not require a gradient, or is unused; no output can be
            differentiated; the graph was released.
        TypeError: outputs or inputs are no tensors.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor(3.0, requires_grad=True)
        >>> y = x * x
        >>> z = y * x
        >>> [g.item() for g in tl.autograd.grad(z, [x, y])]
        [27.0, 3.0]
    """
    outputs, cotangents = _checked("autograd.grad", ys, dys)
    inputs = listed(xs)
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor):
            raise _C.ParameterError(
                "must be tensors", op="autograd.grad", argument="xs",
                got=f"a bare {type(x).__name__}" if is_bare(x) else type(x).__name__,
                fix=WRAP_IT if is_bare(x) else None,
            )  # fmt: skip
        if not x.requires_grad and not allow_unused:
            raise _C.AutodiffError(
                f"gradients must flow to each of xs; input {i} has no requires_grad",
                op="autograd.grad",
            )
    found = _C.backward(outputs, cotangents, retain_graph, create_graph, inputs, None)
    for i, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise _C.AutodiffError(
                f"outputs must depend on each of xs; none does on input {i}; pass "
                "allow_unused=True "
                "to get None",
                op="autograd.grad",
            )
    return tuple(None if gradient is None else Tensor(gradient) for gradient in found)


def backward(
    ys: Tensor | Sequence[Tensor],
    dys: Any = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> None:
    """Accumulates the gradients of several outputs at once in the `grad` of every leaf.

    Args:
        ys: the outputs, one or several; their gradients add up.
        dys: a cotangent for each output, of its shape; None: ones, for one element.
        retain_graph: keep the graph for another pass.
        create_graph: make gradients that can be differentiated again.

    Raises:
        AutodiffError: an output can't be differentiated, or the graph was released.
        TypeError: an output is no tensor.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor(3.0, requires_grad=True)
        >>> tl.autograd.backward([x * x, 2 * x])
        >>> x.grad.item()
        8.0
    """
    outputs, cotangents = _checked("autograd.backward", ys, dys)
    _C.backward(outputs, cotangents, retain_graph, create_graph, None, None)


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
