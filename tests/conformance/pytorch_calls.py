"""Our calls for PyTorch's of elements, places and shapes, in PyTorch's order of arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import functional as F

L = tl.linalg


def axes_or_all(dim: Any) -> Any:
    return None if dim is None or dim == () or dim == [] else dim


def pick(index: int, f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: f(*args, **kwargs)[index]


def _cast(dtype: str) -> Callable[..., Any]:
    return lambda x, **_: F.astype(x, dtype=dtype)


def _reduced(f: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        x = x if dtype is None else F.astype(x, dtype=dtype)
        return f(x, axis=axes_or_all(dim), keepdims=keepdim)

    return call


def _extreme(reduce: Any, place: Any, binary: Any) -> Callable[..., Any]:
    def call(x: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if hasattr(dim, "shape") or other is not None:
            return binary(x, dim if other is None else other)
        if dim is None:
            return reduce(x)
        if not hasattr(x, "shape"):
            return binary(x, dim)
        index = place(x, axis=dim, keepdims=True) if len(x.shape) else F.zeros((), dtype="int64")
        values = F.take_along_axis(x, index, axis=dim) if len(x.shape) else x
        if keepdim or not len(x.shape):
            return values, index
        return F.squeeze(values, dim), F.squeeze(index, dim)

    return call


def _chosen(f: Any) -> Callable[..., Any]:
    """Of functions that say the place too, the values."""

    def call(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return f(x, axis=dim, keepdims=keepdim)

    return call


def _moments(f: Any) -> Callable[..., Any]:
    def call(
        x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False,
        *, correction: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased in (None, True) else 0
        return f(x, axis=axes_or_all(dim), correction=correction, keepdims=keepdim)

    return call


def _with_mean(f: Any) -> Callable[..., Any]:
    def call(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **k: Any) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return (
            _moments(f)(x, dim, unbiased, keepdim, **k),
            F.mean(x, axis=axes_or_all(dim), keepdims=keepdim),
        )

    return call


def _rsub(x: Any, other: Any, alpha: Any = 1) -> Any:
    return other - alpha * x if alpha != 1 else other - x


def _div(x: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode == "floor":
        return F.floor_divide(x, other)
    quotient = F.divide(x, other)
    return F.trunc(quotient) if rounding_mode == "trunc" else quotient


def _fft(name: str, many: bool) -> Callable[..., Any]:
    f = getattr(tl.fft, name.replace("2", "n"))

    def one(x: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
        return f(x, n=n, axis=dim, norm=norm or "backward")

    def several(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
        dim = (-2, -1) if name.endswith("2") and dim is None else dim
        dim = (dim,) if isinstance(dim, int) else dim
        return f(x, s=s, axes=dim, norm=norm or "backward")

    return several if many else one


def _split(x: Any, size: Any, dim: int = 0) -> Any:
    if isinstance(size, int):
        n = x.shape[dim]
        size = [min(size, n - i) for i in range(0, n, size)] if n else [0]
    return F.split(x, tuple(size), axis=dim)


def _at(axis_of: Callable[[Any], int]) -> Callable[..., Any]:
    return lambda x, parts: F.tensor_split(x, parts, axis=axis_of(x))


def _aligned(x: Any, index: Any, dim: int) -> tuple[Any, Any]:
    """The part of x beside an index that is smaller in the other dimensions."""
    if not x.shape:
        return F.reshape(x, (1,)), F.reshape(index, (1,))
    dim %= len(x.shape)
    key = tuple(slice(None) if i == dim else slice(n) for i, n in enumerate(index.shape))
    return x[key], index


def _gather(x: Any, dim: int, index: Any, **_: Any) -> Any:
    if not index.size:
        return F.zeros(tuple(index.shape), dtype=x.dtype)
    if not x.shape:
        return F.broadcast_to(x, tuple(index.shape))
    part, index = _aligned(x, index, dim)
    return F.take_along_axis(part, index, axis=dim)


def _scatter(how: Callable[..., Any]) -> Callable[..., Any]:
    """Into the part of x beside an index, which may be smaller."""

    def call(x: Any, dim: int, index: Any, src: Any = 0, *args: Any, **kwargs: Any) -> Any:
        shape = x.shape
        if not index.size:
            return +x
        if not shape:
            x, index = F.reshape(x, (1,)), F.reshape(index, (-1,))
            src = F.reshape(src, (-1,)) if hasattr(src, "shape") else src
        dim %= len(x.shape)
        key = tuple(slice(None) if i == dim else slice(n) for i, n in enumerate(index.shape))
        if hasattr(src, "shape") and src.shape:
            src = src[tuple(slice(n) for n in index.shape)]
        part = how(x[key], dim, index, src, *args, **kwargs)
        if tuple(part.shape) == tuple(x.shape):
            return F.reshape(part, tuple(shape))
        whole = +x
        whole[key] = part
        return whole

    return call


def _put(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None, value: Any = None) -> Any:
    src = value if value is not None else src
    if reduce in ("multiply", "prod"):
        src = F.broadcast_to(F.asarray(src, dtype=x.dtype), tuple(index.shape))
        return F.scatter_reduce(x, index, src, axis=dim, mode="prod")
    mode = "add" if reduce in ("add", "sum") else "set"
    return F.put_along_axis(x, index, src, axis=dim, mode=mode)


def _reduce(
    x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    return F.scatter_reduce(x, index, src, axis=dim, mode=reduce, include_self=include_self)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    whole = +x
    key = tuple(indices)
    whole[key] = values if not accumulate else whole[key] + values
    return whole


def _select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    whole = +x
    whole[(slice(None),) * (dim % len(x.shape)) + (index,)] = src
    return whole


def _slice_scatter(
    x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    whole = +x
    whole[(slice(None),) * (dim % len(x.shape)) + (slice(start, end, step),)] = src
    return whole


def _part(x: Any, dim: int, start: Any, length: int) -> Any:
    return F.take(x, F.arange(0, length) + operator.index(start), dim)


def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % len(x.shape)) + (slice(start, end, step),)]


def _cumulative(f: Any) -> Any:
    return lambda x, dim, dtype=None: f(x, axis=dim, dtype=dtype)


def _meshgrid(*xs: Any, indexing: str = "ij") -> Any:
    xs = tuple(xs[0]) if isinstance(xs[0], (list, tuple)) else xs
    return F.meshgrid(*xs, indexing=indexing)


def _listed(f: Any) -> Any:
    """Of several tensors, or of a list of them."""
    return lambda *xs: f(*xs[0]) if isinstance(xs[0], (list, tuple)) else f(*xs)


def _each(f: Any) -> Any:
    return lambda *xs: (
        tuple(f(x) for x in (xs[0] if isinstance(xs[0], (list, tuple)) else xs))
        if len(xs) > 1 or isinstance(xs[0], (list, tuple))
        else f(xs[0])
    )


def _repeat(x: Any, *sizes: Any) -> Any:
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return F.tile(x, sizes)


def _repeat_interleave(x: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Any:
    repeats = (
        [int(r) for r in np.asarray(repeats).reshape(-1)] if hasattr(repeats, "shape") else repeats
    )
    return F.repeat(x, repeats, dim)


def _expand(x: Any, *sizes: Any) -> Any:
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    old = (1,) * (len(sizes) - len(x.shape)) + tuple(x.shape)
    return F.broadcast_to(x, tuple(m if n == -1 else n for n, m in zip(sizes, old, strict=True)))


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    dtype = tl.result_type(*(v for v in (x, min, max) if v is not None))
    x = F.astype(x, dtype=dtype)
    x = x if min is None else F.maximum(x, min)
    return x if max is None else F.minimum(x, max)


def _searchsorted(
    seq: Any,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    side = ("right" if right else "left") if side is None else side
    given = () if sorter is None else (sorter,)
    if not hasattr(x, "shape"):
        x = tl.tensor(x)
    return F.searchsorted(seq, x, *given, side=side)


def _unique(
    x: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    return F.unique(x, axis=dim, indices=False, inverse=return_inverse, counts=return_counts)


def _take(x: Any, index: Any) -> Any:
    return F.take(x, index)


def _where(condition: Any, x: Any = None, other: Any = None) -> Any:
    if x is None:
        return F.nonzero(condition)
    return F.where(condition if condition.dtype.name == "bool" else condition != 0, x, other)


def _sum_to(x: Any, given: Any) -> Any:
    size = tuple(given[0]) if given and isinstance(given[0], (list, tuple)) else tuple(given)
    lead = len(x.shape) - len(size)
    gone = [i for i in range(lead)]
    gone += [i + lead for i, m in enumerate(size) if m == 1 and i + lead >= 0]
    return F.reshape(F.sum(x, axis=tuple(gone)) if gone else x, size)


def _squeeze(x: Any, *dim: Any) -> Any:
    if not dim:
        return F.squeeze(x)
    axes = tuple(dim[0]) if isinstance(dim[0], (list, tuple)) else tuple(dim)
    ndim = max(1, len(x.shape))
    kept = tuple(a for a in axes if not -ndim <= a < ndim or (x.shape and x.shape[a] == 1))
    return F.squeeze(x, kept) if kept else x


def _as_bool(f: Any) -> Any:
    def truth(x: Any) -> Any:
        return x if getattr(getattr(x, "dtype", None), "name", "") == "bool" else F.not_equal(x, 0)

    return lambda *xs: f(*(truth(x) for x in xs))


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return x.masked_fill(mask, value)


def _masked_select(x: Any, mask: Any) -> Any:
    return F.masked_select(*F.broadcast_arrays(x, mask))


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    x, mask = F.broadcast_arrays(x, mask)
    return F.masked_scatter(x, mask, F.flatten(source)[: int(F.count_nonzero(mask))])


def of_one(f: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Of an image alone, which has no first dimension."""
    y = f(F.expand_dims(x, 0), *args, **kwargs)
    return tuple(part[0] for part in y) if isinstance(y, tuple) else y[0]


def _cat(xs: Any, dim: int = 0) -> Any:
    """PyTorch leaves out empty vectors."""
    kept = [x for x in xs if getattr(x, "shape", None) != (0,)]
    return F.concat(kept if kept else list(xs), axis=dim)
