"""Solvers of linear equations in functional calls: elimination, as a scan over the columns; and
cofactors.
"""

from __future__ import annotations

from typing import Any

from .... import functional as F


def _places(n: Any) -> tuple[Any, Any]:
    """The number of each column, and where it is among all: what the scans go along."""
    numbers = F.arange(n)
    return numbers, numbers[:, None] == numbers


def eliminated(a: Any, b: Any) -> Any:
    """The solution of a x = b, by Gauss and Jordan, with the largest element of a column as pivot.

    Args:
        a: (..., n, n).
        b: (..., n, k), with the same leading sizes.
    """
    n = a.shape[-1]
    rows = F.arange(n)

    def step(m: Any, place: Any) -> Any:
        number, is_own = place
        column = _sum_where(is_own, m[..., :n], -1)
        sizes = F.where(rows >= number, F.abs(column), -1.0)
        best = F.argmax(sizes, axis=-1)[..., None] == rows
        pivot, other = _sum_where(best[..., None], m, -2), _sum_where(is_own[:, None], m, -2)
        m = F.where(best[..., None], other[..., None, :], m)
        unit = pivot / _sum_where(is_own, pivot[..., :n], -1)[..., None]
        factors = _sum_where(is_own, m[..., :n], -1)[..., None]
        m = F.where(is_own[:, None], unit[..., None, :], m - factors * unit[..., None, :])
        return m, number

    return F.scan(step, F.concat([a, b], axis=-1), _places(n))[0][..., n:]


def _sum_where(mask: Any, x: Any, axis: int) -> Any:
    """The elements that a mask picks: one in each line."""
    return F.sum(F.where(mask, x, 0), axis=axis)


def inverse(op: Any, x: Any) -> Any:
    """The solution for the unit matrix."""
    n = x.shape[-1]
    unit = F.broadcast_to(F.astype(_places(n)[1], x.dtype), x.shape)
    return eliminated(x, unit)


def solve(op: Any, a: Any, b: Any) -> Any:
    """After broadcasting; b is a matrix, or one vector."""
    return _solved(a, b)


def _solved(a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return _solved(a, b[:, None])[..., 0]
    ndim = max(a.ndim, b.ndim)
    shapes = [(*(1,) * (ndim - x.ndim), *x.shape) for x in (a, b)]
    lead = [n if type(m) is int and m == 1 else m for m, n in zip(*shapes, strict=True)][:-2]
    a, b = (F.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    return eliminated(a, b)


def solve_triangular(op: Any, a: Any, b: Any) -> Any:
    """With zeros in the other triangle, and ones on the diagonal where it says so."""
    numbers, unit = _places(a.shape[-1])
    kept = numbers[:, None] <= numbers if op.upper else numbers[:, None] >= numbers
    a = F.where(kept, a, 0)
    if op.unitriangular:
        a = F.where(unit, 1, a)
    if op.left:
        return _solved(a, b)
    if b.ndim == 1:
        return _solved(F.matrix_transpose(a), b)
    return F.matrix_transpose(_solved(F.matrix_transpose(a), F.matrix_transpose(b)))


def cofactors(x: Any) -> Any:
    """Each the determinant of x with a row of the unit matrix in the place of one of its own.

    Of singular matrices, too.
    """
    n = x.shape[-1]
    numbers, all_places = F.arange(n), F.arange(n * n)
    is_own = (all_places // n)[:, None] == numbers
    rows = F.astype((all_places % n)[:, None] == numbers, x.dtype)

    def step(carry: Any, place: Any) -> Any:
        return carry, F.linalg.det(F.where(place[0][:, None], place[1], x))

    found = F.moveaxis(F.scan(step, F.sum(numbers), (is_own, rows))[1], 0, -1)
    return F.reshape(found, x.shape)


def cholesky(op: Any, x: Any) -> Any:
    """A column after the other, from those before it and the symmetric part of x."""
    n = x.shape[-1]
    rows = F.arange(n)
    x = (x + F.matrix_transpose(x)) * 0.5

    def step(factor: Any, place: Any) -> Any:
        number, is_own = place
        row = _sum_where(is_own[:, None], factor, -2)
        left = _sum_where(is_own, x, -1) - F.sum(factor * row[..., None, :], axis=-1)
        column = left / F.sqrt(_sum_where(is_own, left, -1))[..., None]
        column = F.where(rows >= number, column, 0)
        return F.where(is_own, column[..., None], factor), number

    found = F.scan(step, F.zeros_like(x), _places(n))[0]
    return F.matrix_transpose(found) if op.upper else found
