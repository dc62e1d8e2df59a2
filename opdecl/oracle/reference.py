"""The oracle: declarations evaluated on NumPy arrays, for tests and the examples of documentation.

What `Evaluator` finds in formulas and in NumPy is so here too; the native ops that NumPy has not,
or spells otherwise, have their own function below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..compiler.evaluate import Evaluator
from ..compiler.model import Entry
from .reference_alignment import ALIGNMENT
from .reference_fft import FFT
from .reference_gamma import digamma, lgamma, trigamma
from .reference_linear import LINEAR
from .reference_order import ORDER
from .reference_random import RANDOM
from .reference_recurrent import RECURRENT
from .reference_special import SPECIAL
from .reference_windows import WINDOWS

Array: TypeAlias = Any  # numpy.ndarray; NumPy is imported where it is used


class Reference(Evaluator):
    """Calls the functions of a set of declarations, every one."""

    def _native(self, entry: Entry, args: Sequence[Array], attrs: Mapping[str, Any]) -> Any:
        own = OWN.get(entry.name)
        return super()._native(entry, args, attrs) if own is None else own(*args, **attrs)

    def _unknown(self, entry: Entry, args: Sequence[Array], attrs: Mapping[str, Any]) -> Any:
        raise NotImplementedError(f"{entry.name} has no oracle; give it the key `numpy`")


def _complex(re: Array, im: Array) -> Array:
    """Part by part: 1j * inf would be NaN."""
    import numpy as np

    result = np.empty(np.broadcast(re, im).shape, np.result_type(re, im, np.complex64))
    result.real, result.imag = re, im
    return result


def _gather(x: Array, *indices: Array, axes: Sequence[int], last_only: bool = False) -> Array:
    import numpy as np

    found = x[_index(x, indices, axes)]
    if not last_only:
        return found
    joint = np.broadcast_arrays(*indices)
    number = np.arange(joint[0].size).reshape(joint[0].shape)
    table = np.zeros([x.shape[axis] for axis in axes], int)
    table[tuple(joint)] = number
    is_last = table[tuple(joint)] == number
    return np.where(is_last.reshape(is_last.shape + (1,) * (x.ndim - len(axes))), found, 0)


def _index(x: Array, indices: Sequence[Array], axes: Sequence[int]) -> tuple[Any, ...]:
    """NumPy's index that picks by `indices` along `axes`, which come together and first."""
    place: list[Any] = [slice(None)] * x.ndim
    for index, axis in zip(indices, axes, strict=True):
        place[axis] = index
    return tuple(place)


def _scatter(x: Array, value: Array, *indices: Array, axes: Sequence[int], adds: bool) -> Array:
    import numpy as np

    result = np.array(x, copy=True)
    place = _index(result, indices, axes)
    if adds:
        np.add.at(result, place, value)
    else:
        result[place] = value
    return result


def _put_along_axis(x: Array, indices: Array, value: Array, axis: int, mode: str) -> Array:
    import numpy as np

    result = np.array(x, copy=True)
    if mode == "set":
        np.put_along_axis(result, indices, value, axis)
        return result
    shape = list(result.shape)
    shape[axis] = indices.shape[axis]
    place = np.indices(shape, sparse=True)
    index = [*place]
    index[axis] = np.broadcast_to(indices, shape)
    np.add.at(result, tuple(index), np.broadcast_to(value, shape))
    return result


def _masked_scatter(x: Array, mask: Array, value: Array) -> Array:
    import numpy as np

    result = np.array(x, copy=True)
    result[np.asarray(mask)] = value
    return result


def _pad(x: Array, widths: Sequence[int], mode: str, value: Any) -> Array:
    import numpy as np

    if not widths:  # np.pad does not know tensors without dimensions
        return np.asarray(x)
    pairs = np.reshape(np.asarray(widths, dtype=int), (-1, 2))
    if mode == "constant":
        return np.pad(x, pairs, constant_values=value)
    modes = {"edge": "edge", "reflect": "reflect", "circular": "wrap"}
    return np.pad(x, pairs, mode=modes[mode])  # type: ignore[call-overload]


def _split(x: Array, sizes: Sequence[int], axis: int) -> tuple[Array, ...]:
    import numpy as np

    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


def _one_hot(labels: Array, depth: int) -> Array:
    import numpy as np

    return np.equal(np.asarray(labels)[..., None], np.arange(depth))


def _full(shape: Sequence[int], fill_value: Any, dtype: Any = None, device: Any = None) -> Array:
    import numpy as np

    return np.full(shape, fill_value, dtype)


def _arange(start: Any, stop: Any, step: Any, dtype: Any = None, device: Any = None) -> Array:
    import numpy as np

    return np.arange(start, stop, step, dtype)  # type: ignore[call-overload]


def _cast(x: Array, dtype: Any, copy: bool = True, device: Any = None) -> Array:
    import numpy as np

    return np.asarray(x).astype(dtype)


def _attention_weights(query: Array, key: Array, mask: Sequence[Array], attrs: Any) -> Array:
    """The softmax of the scores; 0 where a query sees no key."""
    import numpy as np

    scores = query @ np.swapaxes(key, -1, -2) * _attention_scale(query, attrs["scale"])
    if attrs["is_causal"]:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    for added in mask:
        is_seen = np.asarray(added)
        scores = np.where(is_seen, scores, -np.inf) if is_seen.dtype == bool else scores + added
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def _attention_scale(query: Array, scale: float | None) -> Array:
    import numpy as np

    width = np.sqrt(np.asarray(max(np.shape(query)[-1], 1), dtype=query.dtype))
    return 1 / width if scale is None else scale


def _attention(query: Array, key: Array, value: Array, *mask: Array, **attrs: Any) -> Array:
    return _attention_weights(query, key, mask, attrs) @ value


def _attention_grad(
    query: Array, key: Array, value: Array, cotangent: Array, *mask: Array, **attrs: Any
) -> tuple[Array, ...]:
    import numpy as np

    weights = _attention_weights(query, key, mask, attrs)
    slopes = cotangent @ np.swapaxes(value, -1, -2)
    slopes = (slopes - (slopes * weights).sum(axis=-1, keepdims=True)) * weights
    slopes = slopes * _attention_scale(query, attrs["scale"])
    return (
        slopes @ key,
        np.swapaxes(slopes, -1, -2) @ query,
        np.swapaxes(weights, -1, -2) @ cotangent,
    )


OWN: Mapping[str, Callable[..., Any]] = {
    **WINDOWS,
    **FFT,
    **ORDER,
    **RANDOM,
    **LINEAR,
    **RECURRENT,
    **ALIGNMENT,
    **SPECIAL,
    "complex": _complex,
    "Fill": _full,
    "Arange": _arange,
    "Cast": _cast,
    "Reshape": lambda x, shape, copy=None: x.reshape(shape),
    "Copy": lambda x, device: x,
    "Split": _split,
    "OneHot": _one_hot,
    "PutAlongAxis": _put_along_axis,
    "MaskedSelect": lambda x, mask: x[mask],
    "MaskedScatter": _masked_scatter,
    "Pad": _pad,
    "Attention": _attention,
    "AttentionGrad": _attention_grad,
    "Gather": _gather,
    "ScatterSet": lambda *args, axes: _scatter(*args, axes=axes, adds=False),
    "ScatterAdd": lambda *args, axes: _scatter(*args, axes=axes, adds=True),
    "lgamma": lgamma,
    "digamma": digamma,
    "trigamma": trigamma,
}
