"""Where tensors live, and where they are made when a call doesn't say it."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .. import _C

__all__ = ["default_device", "device", "devices"]


def devices() -> tuple[str, ...]:
    """The names of all devices.

    Example:
        >>> import tensorlike as tl
        >>> tl.devices()[0]
        'cpu'
    """
    return tuple(_C.devices())


def default_device() -> str:
    """Where tensors are made when a call doesn't say it.

    Example:
        >>> from tensorlike.imperative import default_device
        >>> default_device()
        'cpu'
    """
    return _C.default_device()


def lives_on(x: Any, name: Any) -> bool:
    """Whether it does, or None is asked for; what is no name of a device is no such place."""
    return name is None or (isinstance(name, str) and x.device == name)


class device:
    """Within the block tensors are made on a device, where a call names no other one.

    It counts for this thread, and for tensors that are made of data, of nothing (`zeros`, `arange`,
    random numbers), but not of tensors: results live where operands do.

    Args:
        name: "cpu", "cuda" or "cuda:1", as `Tensor.device` says it.

    Raises:
        DeviceError: there is no such device; when the block is entered.

    Source:
        PyTorch, ``torch.device`` as a context manager.

    Example:
        >>> import tensorlike as tl
        >>> with tl.device("cpu"):
        ...     x = tl.zeros(2)
        >>> x.device
        'cpu'
    """

    def __init__(self, name: str) -> None:
        """The device of this name."""
        self._name = name
        self._previous: list[str] = []

    def __enter__(self) -> device:
        """Tensors are made here from now on."""
        self._previous.append(_C.set_default_device(self._name))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        """Tensors are made where they were before."""
        _C.set_default_device(self._previous.pop())
