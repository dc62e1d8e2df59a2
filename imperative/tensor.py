"""Tensor: the mutable face that people hold, over a tensor-like of any kind."""

from __future__ import annotations

import copyreg
import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _C, ops
from .arrays import as_array, as_asked, from_bits, reduce_raw, to_array, to_bits
from .calls import TensorLike as TensorLike
from .carrier import carried
from .keeping import keep
from .levels import cut, is_differentiated
from .naming import named, quick
from .shape_methods import ShapedMethods

if TYPE_CHECKING:
    from .hooks import HookHandle

# Of the standard; the newest is what `tensorlike.__array_api_version__` says.
ARRAY_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class Tensor(ShapedMethods):
    """A tensor: a mutable wrapper around a tensor-like.

    Mutation (``x[i] = v``, ``x += y``) applies an op and replaces what is wrapped; other tensors
    that share the old value, and graphs that recorded it, keep it. Memory that nobody else holds
    is written over, so that this costs nothing.

    Args:
        data: a number, (nested) lists of numbers, anything with the buffer protocol, DLPack or
            ``__array__``, or a tensor-like to wrap. Python floats become float32, integers int64;
            arrays keep their dtype.
        dtype: the dtype to convert to.

    Example:
        >>> from tensorlike import Tensor
        >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x[0] = 0
        >>> x += 1
        >>> x
        tensor([[1., 1.],
                [4., 5.]])
    """

    __slots__ = ()
    __array_priority__ = 1000

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array: the same memory, read-only.

        Raises:
            DeviceError: they live on another device than the CPU; ``x.to("cpu")`` first.
            AutodiffError: the tensor is being traced; `detach` it first.
        """
        array: np.ndarray[Any, Any] | None = _C.array_of(self)
        if array is not None:
            return array
        self._refuse_tracing("numpy")
        return np.asarray(self._raw())

    def value(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array, read-only, whether gradients flow to them or not.

        Source:
            PaddlePaddle, ``Variable.value``.

        Example:
            >>> from tensorlike import to_variable
            >>> to_variable([1.0, 2.0]).value().tolist()
            [1.0, 2.0]
        """
        return self.detach().numpy()

    def gradient(self) -> np.ndarray[Any, Any] | None:
        """The elements of `grad` as a NumPy array, read-only; None where there is no gradient.

        Source:
            PaddlePaddle, ``Variable.gradient``.

        Example:
            >>> from tensorlike import to_variable
            >>> x = to_variable([1.0, 2.0])
            >>> (x * x).sum().backward()
            >>> x.gradient().tolist()
            [2.0, 4.0]
        """
        return None if self.grad is None else self.grad.value()

    gradient_value = gradient

    def _refuse_tracing(self, what: str) -> None:
        if is_differentiated(self):
            wrong = "the tensor carries gradients, which NumPy would silently drop"
            raise _C.AutodiffError(wrong, op=what, fix="use x.detach() first")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements for NumPy; `copy` as NumPy 2 has it."""
        return as_asked(self.numpy(), dtype, copy)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions on tensors are ours, where there is one of that meaning."""
        return _late("apply_numpy").apply_function(function, types, args, kwargs)

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the same memory (read-only), or over a copy for old consumers.

        Args:
            stream: must be None: the CPU has no streams.
            max_version: the newest form that the consumer knows; before (1, 0) it gets a copy.
            dl_device: must be (1, 0), the CPU, or None.
            copy: whether the memory must be (True) or must not be (False) copied.

        Raises:
            BufferError: the tensor carries gradients, or cannot be had in this way.
            TypeError: an argument is of another type.

        Source:
            Array API 2025.12, ``__dlpack__``.
        """
        if is_differentiated(self):
            raise BufferError("__dlpack__: the tensor carries gradients; use x.detach() first")
        return self._raw().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU, device 0: no other one shares its memory."""
        return (1, 0)

    @quick(_C.detached)
    def detach(self) -> Tensor:
        """The same value without its history.

        Example:
            >>> from tensorlike import tensor
            >>> tensor([1.0], requires_grad=True).detach().requires_grad
            False
        """
        inner = cut(self.__wrapped__)
        return (Tensor if isinstance(self, Parameter) else type(self))(inner)

    stop_gradient = detach

    @named
    def set_value(self, value: TensorLike) -> None:
        """Binds the tensor to another value, cast to its dtype.

        A tensor that requires_grad still does, as a leaf of `backward`, which goes no further; the
        transforms that are going on do. One made before a transform keeps the plain value after it.

        Args:
            value: of this tensor's shape: data, or a tensor-like of any kind.

        Raises:
            ShapeError: the shapes differ.
            DispatchError: the tensor was made before a `vmap` began, and the value differs between
                its examples.

        Example:
            >>> import tensorlike as tl
            >>> x = tl.tensor([1.0], requires_grad=True)
            >>> x.set_value(x * 3)
            >>> x.tolist(), x.is_leaf
            ([3.0], True)
            >>> y = tl.zeros(())
            >>> tl.grad(lambda x: (y.set_value(2 * x), y * x)[1])(3.0).item(), y.item()
            (12.0, 6.0)
        """
        new: Any = value if isinstance(value, _C.TensorBase) else _C.tensor(value, self.dtype)
        self.check_value(new)
        if new.dtype is not self.dtype:
            new = Tensor.astype(new, dtype=self.dtype)
        _C.set_value(self, new)

    def check_value(self, value: TensorLike) -> None:
        """Raises ShapeError unless `set_value` takes the value."""
        if value.shape != self.shape:
            raise _C.ShapeError(
                f"the shape must stay {self.shape}", op="set_value", got=f"{value.shape}"
            )

    def backward(
        self,
        gradient: TensorLike | None = None,
        *,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Accumulates the gradients of this tensor in the `grad` of every leaf.

        Args:
            gradient: the cotangent, of this tensor's shape; ones for a single element.
            retain_graph: keep the graph for another pass; otherwise its memory is released.
            create_graph: make gradients that can be differentiated again.

        Raises:
            AutodiffError: nothing to differentiate, or the graph was released already.

        Example:
            >>> from tensorlike import tensor
            >>> x = tensor([1.0, 2.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad.tolist()
            [2.0, 4.0]
        """
        _C.backward((self,), (gradient,), retain_graph, create_graph, None, None)

    def register_hook(self, function: Callable[[Any], Any]) -> HookHandle:
        """Runs a function on the gradient of this tensor, each time that one is complete.

        It belongs to the value that the tensor has now, leaf or not. Hooks run in the order of
        registration, before the gradient goes on or is accumulated.

        Args:
            function: takes the gradient; returns None, or what is to take its place, of its shape.

        Returns:
            A handle; its `remove` ends the hook.

        Raises:
            AutodiffError: no gradient flows to this tensor.
            ShapeError: in the backward pass, when the replacement has another shape.
            TypeError: it is no function.

        Example:
            >>> from tensorlike import tensor
            >>> x = tensor([1.0, 2.0], requires_grad=True)
            >>> y = x * x
            >>> _ = y.register_hook(lambda gradient: gradient * 0.5)
            >>> y.sum().backward()
            >>> x.grad.tolist()
            [1.0, 2.0]
        """
        handle: HookHandle = _late("hooks").register_hook(self, function)
        return handle

    def zero_grad(self) -> None:
        """Forgets the gradient that backward passes accumulated.

        Raises:
            AutodiffError: the tensor is no leaf.
        """
        self.grad = None

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The Array API namespace of this tensor: tensorlike itself.

        Raises:
            ValueError: another version of the standard is asked for.
        """
        namespace = importlib.import_module(__package__.partition(".")[0])
        if api_version not in (None, *ARRAY_API_VERSIONS):
            raise _C.ArgumentError(
                f"there is no version {api_version!r} here", op="__array_namespace__"
            )
        return namespace

    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor:
        """The tensor on another device.

        Raises:
            DeviceError: there is no such device.
            ValueError: a stream is given: "cpu" has none.
        """
        if stream is not None:
            raise _C.ArgumentError("the device has no streams", op="to_device", got=repr(stream))
        return self.to(device)

    def to(self, device: str) -> Tensor:
        """A copy on another device."""
        return self.copy(device=device)

    def __round__(self, ndigits: int | None = None) -> Tensor:
        """To so many decimals, halves to even."""
        return self.round(ndigits) if ndigits else self.round()

    __floor__ = ShapedMethods.floor
    __ceil__ = ShapedMethods.ceil
    __trunc__ = ShapedMethods.trunc

    def __complex__(self) -> complex:
        """The one element."""
        return complex(self.item())

    def __contains__(self, value: TensorLike) -> bool:
        """Whether an element is equal to the value."""
        found: Any = self == value
        return bool(found.any()) if isinstance(found, Tensor) else bool(found)

    def __copy__(self) -> Tensor:
        """Another wrapper around the same value."""
        return self.alias()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A copy of the elements; a leaf stays a leaf."""
        made = type(self)(ops.Copy()(self.detach())[0]._raw())
        if self.requires_grad:
            if not self.is_leaf:
                raise _C.AutodiffError(
                    "only leaves can be copied; use x.detach() first", op="deepcopy"
                )
            made.requires_grad = True
            if self.grad is not None:
                made.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = made
        return made

    def __reduce__(self) -> Any:
        """Pickles as elements, dtype, device and whether it requires_grad."""
        if self.requires_grad and not self.is_leaf:
            raise _C.AutodiffError("only leaves can be pickled; use x.detach() first", op="pickle")
        raw = self.detach()._raw()
        return _rebuild, (type(self), *to_bits(raw), self.requires_grad, raw.device)

    def __repr__(self) -> str:
        """As NumPy prints, and what is special about the tensor-like."""
        return _describe(self)


class Parameter(Tensor):
    """A tensor that a layer learns: it requires_grad from the start.

    Example:
        >>> from tensorlike import Parameter
        >>> Parameter([1.0]).requires_grad
        True
    """

    __slots__ = ()

    def __new__(cls, data: TensorLike, dtype: Any = None) -> Parameter:
        """Wraps a copy of the data."""
        self = super().__new__(cls, data) if dtype is None else super().__new__(cls, data, dtype)
        self.requires_grad = True
        keep(self, "parameter")
        return self


def _rebuild(cls: type[Tensor], *parts: Any) -> Tensor:
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise _C.ParameterError("a class of tensors is needed", op="unpickle", got=repr(cls))
    made = cls(from_bits(*parts[:3], *parts[4:]))
    made.requires_grad = parts[3]
    return made


@functools.cache
def _late(module: str) -> Any:
    """A module beside this one, loaded when something needs it."""
    return importlib.import_module(f".{module}", __package__)


def _describe(x: Any) -> str:
    text: str = _late("describing").describe(x, Tensor)
    return text


# An optimiser's step: a scalar function whose results replace the parameter and the state, in their
# own memory where nobody else holds it. Of many parameters where lists hold an item for each.
replace = _C.replace

_C.set_hooks(
    Tensor,
    Parameter,
    lambda x, key: _late("indexing").getitem(x, key),
    lambda x, key, value: _late("indexing").setitem(x, key, value),
    as_array,
    to_array,
    _describe,
    carried,
    lambda *args, **kwargs: _late("apply_numpy").apply_ufunc(*args, **kwargs),
)
copyreg.pickle(_C.RawTensor, reduce_raw)
