"""Functions recorded with an unknown leading size, and run at several, against eager calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorlike as tl

SIZES = (1, 2, 5, 0, 3)
MISTAKES = (ValueError, TypeError, IndexError, tl.AutodiffError)
Call = Callable[..., Any]


def resized(x: Any, size: int) -> Any:
    """Of a leading size, made of the rows that there are."""
    return x[np.resize(np.arange(len(x)), size)]


def choices(arrays: list[Any]) -> Iterator[list[int]]:
    """Which arguments are resized together: those of the first one's size, or that alone."""
    first = next((i for i, x in enumerate(arrays) if x.ndim), None)
    if first is None:
        return
    size, ndim = len(arrays[first]), arrays[first].ndim
    sharing = [i for i, x in enumerate(arrays) if x.ndim and len(x) == size]
    yield from ([i for i in sharing if arrays[i].ndim == ndim], sharing, [first])


def eager(call: Call, arrays: list[Any], chosen: list[int]) -> dict[int, Any]:
    """What plain calls give, or the errors that they raise, by size."""
    found: dict[int, Any] = {}
    for size in SIZES:
        given = [tl.tensor(resized(x, size) if i in chosen else x) for i, x in enumerate(arrays)]
        try:
            found[size] = given, call(*given)
        except MISTAKES as error:
            found[size] = given, error
    return found


def record(call: Call, arrays: list[Any], chosen: list[int]) -> tuple[tl.Listing, Any]:
    """The listing of a call whose chosen arguments have the leading size "n"."""
    listing = tl.Listing()
    given = [
        tl.Tensor(
            listing.input(
                f"x{i}", ("n", *x.shape[1:]) if i in chosen else x.shape, tl.tensor(x).dtype
            )
        )
        for i, x in enumerate(arrays)
    ]
    return listing, call(*given)


def leaves(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def array(x: Any) -> Any:
    return np.asarray(x.detach() if isinstance(x, tl.Tensor) else x)


def refusals(call: Call, arrays: list[Any]) -> dict[int, Exception] | None:
    """Records a call, runs it at all sizes, and holds it against eager calls.

    Returns:
        The sizes for which the program was refused though the eager call works, with the errors;
        None where no choice of arguments can be resized.

    Raises:
        AssertionError: a value is another.
        Exception: it cannot be recorded.
    """
    failure: Exception | None = None
    for chosen in choices(arrays):
        wanted = eager(call, arrays, chosen)
        if sum(not isinstance(y, Exception) for _, y in wanted.values()) < 3:
            continue
        try:
            listing, results = record(call, arrays, chosen)
        except MISTAKES as error:
            failure = error
            continue
        refused = {}
        for size, (given, value) in wanted.items():
            try:
                found = listing.run(results, *given)
            except MISTAKES as error:
                if not isinstance(value, Exception):
                    refused[size] = error
                continue
            assert not isinstance(value, Exception), f"size {size}: an eager call raises {value!r}"
            for x, y in zip(leaves(found), leaves(value), strict=True):
                np.testing.assert_allclose(array(x), array(y), 1e-6, 1e-9, strict=True)
        return refused
    if failure is not None:
        raise failure
    return None


def gradients(call: Call, moving: list[int]) -> Call:
    """The gradients of a call, pulled back from ones, by the arguments of these numbers."""

    def of(*xs: Any) -> Any:
        def of_moving(*moved: Any) -> Any:
            given = list(xs)
            for i, x in zip(moving, moved, strict=True):
                given[i] = x
            outputs = leaves(call(*given))
            return tuple(y for y in outputs if y.dtype.kind in ("floating", "complex"))

        _, pull = tl.vjp(of_moving, *(xs[i] for i in moving))
        return pull(_)

    return of
