"""Tensors of data."""

from __future__ import annotations

from typing import Any

from .. import _C
from .arrays import raw_from_dlpack
from .naming import named
from .tensor import Tensor, TensorLike


def tensor(data: TensorLike, dtype: Any = None, *, requires_grad: bool = False) -> Tensor:
    """A tensor of a copy of the data.

    Args:
        data: a number, (nested) lists, an array or a tensor.
        dtype: the dtype; by default float32 for Python floats, int64 for integers, and an array's
            own.
        requires_grad: whether gradients are asked for it.

    Raises:
        DTypeError: the data are not numbers.

    Example:
        >>> from tensorlike import tensor
        >>> tensor([[1, 2], [3, 4]], dtype="float32").shape
        (2, 2)
    """
    made: Tensor = _C.tensor(data, dtype)
    if requires_grad:
        made.requires_grad = True
    return made


@named
def as_raw_tensor(data: TensorLike, dtype: Any = None, device: str | None = None) -> _C.RawTensor:
    """A RawTensor of the data; one that is a RawTensor of that dtype already is returned.

    Args:
        data: a number, (nested) lists, an array, a RawTensor, or what has ``__dlpack__``.
        dtype: the dtype; None takes that of the data: float32 for Python floats, int64 for
            integers.
        device: where it is to live: "cpu" or None.

    Raises:
        DTypeError: the data are not numbers.
        DeviceError: there is no such device.

    Example:
        >>> from tensorlike import as_raw_tensor
        >>> as_raw_tensor([1, 2], dtype="float32", device="cpu").numpy()
        array([1., 2.], dtype=float32)
    """
    if device not in (None, "cpu"):
        raise _C.DeviceError(
            "must be 'cpu'", op="as_raw_tensor", argument="device", got=repr(device)
        )
    if isinstance(data, _C.RawTensor) and (dtype is None or data.dtype is dtype):
        return data
    return _C.RawTensor(data, dtype)


@named
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, without a copy.

    Args:
        x: an object with ``__dlpack__``.
        device: must be "cpu" or None.
        copy: whether the memory must be (True) or must not be (False) copied.

    Raises:
        TypeError: x has no ``__dlpack__``.
        BufferError: the memory cannot be shared.

    Example:
        >>> import numpy as np
        >>> from tensorlike import from_dlpack
        >>> from_dlpack(np.arange(3)).tolist()
        [0, 1, 2]
    """
    if device not in (None, "cpu"):
        raise _C.DeviceError("must be 'cpu'", op="from_dlpack", argument="device", got=repr(device))
    raw = raw_from_dlpack(x)
    return Tensor(raw).copy() if copy else Tensor(raw)
