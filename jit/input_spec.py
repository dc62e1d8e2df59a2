"""InputSpec: what an argument of a function is, before there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..imperative import Tensor, as_dtype
from ..imperative.naming import named_class
from ..imperative.trees import leaves_of, map_tree


@named_class
class InputSpec:
    """Shape, dtype and name of an argument.

    Args:
        shape: sizes; None, or a name, is one that differs from call to call. Those of one name are
            equal; a first size that is None is called "batch".
        dtype: the element type.
        name: of the input; None: that of the argument.

    Source:
        Paddle, ``paddle.static.InputSpec``.

    Example:
        >>> from tensorlike import jit
        >>> jit.InputSpec((None, 3), "float32", name="image")
        InputSpec(shape=('batch', 3), dtype=float32, name='image')
    """

    def __init__(
        self, shape: Sequence[int | str | None], dtype: Any = _C.float32, name: str | None = None
    ) -> None:
        """Keeps them."""
        sizes = list(shape)
        for size in sizes:
            is_size = size is None or isinstance(size, str)
            if not is_size and not (isinstance(size, int) and size >= 0):
                raise _C.ParameterError(
                    "must be sizes: integers, names or None", op="InputSpec", argument="shape",
                    got=repr(size),
                )  # fmt: skip
        if sizes and sizes[0] is None:
            sizes[0] = "batch"
        self.shape = tuple(sizes)
        self.dtype = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> InputSpec:
        """That of a tensor.

        Raises:
            ParameterError: it is none.
        """
        if not isinstance(tensor, _C.TensorBase):
            raise _C.ParameterError(
                "must be a tensor", op="from_tensor", argument="tensor", got=type(tensor).__name__
            )
        return cls(tensor.shape, tensor.dtype, name)

    def check(self, x: Any, who: str) -> None:
        """Raises unless a tensor is such an argument.

        Raises:
            ShapeError: it has another shape.
            DTypeError: it has another dtype.
            ParameterError: it is no tensor.
        """
        if not isinstance(x, _C.TensorBase):
            raise _C.ParameterError("must be a tensor", op=f"{who}", got=type(x).__name__)
        fits = len(x.shape) == len(self.shape) and all(
            not isinstance(size, int) or size == got
            for size, got in zip(self.shape, x.shape, strict=True)
        )
        if not fits:
            raise _C.ShapeError(
                f"must be of the shape {self.shape} of its InputSpec", op=who, got=f"{x.shape}"
            )
        if x.dtype is not self.dtype:
            raise _C.DTypeError(
                f"must be {self.dtype.name}, as its InputSpec says", op=who, got=x.dtype.name
            )

    def example(self, sizes: Any) -> Tensor:
        """A tensor without elements of this shape; `sizes`, a dict, are those of names.

        Raises:
            ParameterError: `sizes` is no dict.
        """
        if not isinstance(sizes, dict):
            got = type(sizes).__name__
            raise _C.ParameterError("must be a dict", op="example", argument="sizes", got=got)
        dims = [
            size
            if isinstance(size, int)
            # Apart from each other, and divisible, as sizes are that are halved and doubled again.
            else sizes.setdefault(size or object(), 48 * (7 + 4 * len(sizes)))
            for size in self.shape
        ]
        made = Tensor(_C.ShapeTensor(dims, self.dtype))
        # Who runs the program may want derivatives by it, and where they end is recorded then.
        made.requires_grad = self.dtype.kind in ("floating", "complex")
        return made

    def __repr__(self) -> str:
        return f"InputSpec(shape={self.shape}, dtype={self.dtype.name}, name={self.name!r})"


def check_all(specs: Sequence[InputSpec], tensors: Sequence[Any], who: str) -> None:
    """Raises unless there is a tensor for each spec, as it says.

    Raises:
        ArgumentError: they are not as many.
        ShapeError: one has another shape.
        DTypeError: one has another dtype.
    """
    if len(tensors) != len(specs):
        raise _C.ArgumentError(
            f"takes {len(specs)} tensors, as its input_spec says", op=who, got=str(len(tensors))
        )
    named: dict[str, int] = {}
    for spec, x in zip(specs, tensors, strict=True):
        spec.check(x, who)
        for size, got in zip(spec.shape, x.shape, strict=True):
            if isinstance(size, str) and named.setdefault(size, got) != got:
                raise _C.ShapeError(
                    f"must be of the shape {spec.shape} of its InputSpec, with {size}="
                    f"{named[size]}", op=who, got=f"{x.shape}",
                )  # fmt: skip


def example_arguments(args: Any, kwargs: Any) -> tuple[Any, Any, list[InputSpec]]:
    """Arguments with a tensor without elements in the place of each spec; the specs."""
    sizes: dict[Any, int] = {}
    specs = [x for x in leaves_of((args, kwargs)) if isinstance(x, InputSpec)]
    made_args, made_kwargs = map_tree(
        lambda x: x.example(sizes) if isinstance(x, InputSpec) else x, (args, kwargs)
    )
    return made_args, made_kwargs, specs
