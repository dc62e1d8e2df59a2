"""Tensors of data."""

from __future__ import annotations

from typing import Any

from .. import _C, imperative, ops
from .arrays import raw_from_dlpack
from .devices import lives_on
from .levels import stopped, unwrapped
from .naming import named, named_as, quick
from .tensor import Tensor, TensorLike

array_from = _C.array_from  # asarray(obj), of a Tensor and of data


@quick(_C.tensor_of_data)
def tensor(
    data: TensorLike,
    dtype: Any = None,
    *,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a copy of the data.

    Args:
        data: a number, (nested) lists, an array or a tensor.
        dtype: the dtype; by default float32 for Python floats, int64 for integers, and an array's
            own.
        device: where it is to live; None leaves tensors where they are, and takes other data to
            where tensors are made (`device`).
        requires_grad: whether gradients are asked for it.

    Raises:
        DTypeError: the data are not numbers.
        DeviceError: there is no such device.

    Example:
        >>> from tensorlike import tensor
        >>> tensor([[1, 2], [3, 4]], dtype="float32").shape
        (2, 2)
    """
    made: Tensor
    if isinstance(data, _C.TensorWrapper) and _is_of_program(data):
        made = _copied(data, dtype)
    else:
        made = _C.tensor(data, dtype)
    if device is not None and not lives_on(made, device):
        made = named_as("tensor", made.to)(device)
    if requires_grad is not False:
        made.requires_grad = requires_grad
    return made


def _is_of_program(data: _C.TensorWrapper) -> bool:
    """Whether it is a variable of a program, which has no elements to copy."""
    return isinstance(stopped(unwrapped(data)), imperative.SymbolicTensor)


def _copied(data: Any, dtype: Any) -> Tensor:
    """The same values, without history, as an op of the program makes them."""
    made = Tensor(ops.Copy()(stopped(unwrapped(data)))[0])
    return made if dtype is None else made.astype(dtype)


@named
def as_raw_tensor(data: TensorLike, dtype: Any = None, device: str | None = None) -> _C.RawTensor:
    """A RawTensor of the data; one that is a RawTensor of that dtype already is returned.

    Args:
        data: a number, (nested) lists, an array, a RawTensor, or what has ``__dlpack__``.
        dtype: the dtype; None takes that of the data: float32 for Python floats, int64 for
            integers.
        device: where it is to live; None as for `tensor`.

    Raises:
        DTypeError: the data are not numbers.
        DeviceError: there is no such device.

    Example:
        >>> from tensorlike import as_raw_tensor
        >>> as_raw_tensor([1, 2], dtype="float32", device="cpu").numpy()
        array([1., 2.], dtype=float32)
    """
    if not (isinstance(data, _C.RawTensor) and (dtype is None or data.dtype is dtype)):
        data = _C.RawTensor(data, dtype)
    raw: _C.RawTensor = data
    return raw if lives_on(raw, device) else ops.Copy(device=device)(raw)[0]


@named
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, without a copy.

    Args:
        x: an object with ``__dlpack__``.
        device: where the tensor is to live; None and "cpu" leave it in that memory.
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
    raw = raw_from_dlpack(x)
    if not lives_on(raw, device):
        if copy is False:
            raise _C.ArgumentError(
                "another device needs a copy", op="from_dlpack", got="copy=False"
            )
        return Tensor(ops.Copy(device=device)(raw)[0])
    return Tensor(ops.Copy()(raw)[0] if copy else raw)
