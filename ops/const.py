"""Const: literals as tensor-likes."""

from __future__ import annotations

from .base import OpBase


class Const(OpBase, native="Const"):
    """Makes a tensor-like out of a literal: of the kind that its argument is.

    Args:
        value: a number, or anything that has elements.
        dtype: the dtype; None takes the argument's dtype where the literal's category allows it.
        device: where it lives; None is where the argument lives.

    Inputs:
        xs: at least one tensor-like; only its kind and dtype matter.

    Raises:
        DispatchError: no tensor-like was given.

    Example:
        >>> from tensorlike import RawTensor, ops
        >>> result, = ops.Const(2)(RawTensor([1.0, 3.0]))
        >>> type(result).__name__, result.dtype
        ('RawTensor', tensorlike.float32)
    """

    __slots__ = ()
