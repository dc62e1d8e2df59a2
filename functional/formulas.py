"""Calls that work out a formula or a rule over tensors: contractions, interpolation."""

from __future__ import annotations

import math
from typing import Any

from ..imperative import DTypeError, ParameterError, ShapeError, Tensor, TensorLike, isdtype
from .arguments import integer, named
from .arranging import as_tensor, moveaxis
from .creation import asarray
from .generated import (
    arange,
    astype,
    broadcast_to,
    clip_between,
    gather,
    isnan,
    lgamma,
    matmul,
    permute_dims,
    reshape,
    searchsorted,
    sum,
    where,
)
from .picking import take

__all__ = ["bilinear", "einsum", "interp", "kron", "mvlgamma"]

_MOST_DIMENSIONS = 10_000  # of the matrices that the multivariate gamma function is about


@named
def einsum(equation: str, *operands: TensorLike) -> Tensor:
    """Products summed over named dimensions.

    Args:
        equation: for each operand a letter for each dimension, separated by commas, and after "->"
            those of the result; without "->" it has those that occur once, in alphabetic order.
            "..." stands for leading dimensions, which broadcast; a letter twice in an operand
            takes the diagonal.
        operands: tensors, numeric.

    Raises:
        ShapeError: a letter stands for different sizes.
        ParameterError: the equation has no meaning, or not as many parts as there are operands.

    Source:
        Order of contraction: opt_einsum, https://doi.org/10.21105/joss.00753.

    Example:
        >>> import tensorlike as tl
        >>> x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tl.functional.einsum("ij,jk->ik", x, x).tolist()
        [[7.0, 10.0], [15.0, 22.0]]
    """
    tensors = [as_tensor(x) for x in operands]
    parts, result = _letters(equation, tensors)
    sizes: dict[str, int] = {}
    for letters, x in zip(parts, tensors, strict=True):
        for letter, size in zip(letters, x.shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == size:
                continue
            if 1 not in (known, size):
                raise ShapeError(
                    f"{letter!r} must stand for one size.",
                    op="einsum",
                    got=f"{known} and {size} in {equation!r}",
                )
            sizes[letter] = size if known == 1 else known
    terms = [_simple(letters, x, sizes) for letters, x in zip(parts, tensors, strict=True)]
    for chosen in _order([letters for letters, _ in terms], result, sizes):
        taken = [terms.pop(i) for i in sorted(chosen, reverse=True)]
        kept = set(result).union(*(letters for letters, _ in terms))
        term = taken.pop()
        while taken:
            later = set().union(*(letters for letters, _ in taken[:-1])) | kept
            term = _contracted(term, taken.pop(), later, sizes)
        terms.append(_summed(term, kept))
    letters, x = terms[0]
    x = permute_dims(x, tuple(letters.index(letter) for letter in result))
    return broadcast_to(x, tuple(sizes[letter] for letter in result))


def _letters(equation: str, tensors: list[Any]) -> tuple[list[str], str]:
    """The letters of operands and result, those that "..." stands for included."""
    if not isinstance(equation, str):
        raise ParameterError(
            "the equation must be a str, such as 'ij,jk->ik'.",
            op="einsum",
            got=type(equation).__name__,
        )
    text = "".join(equation.split())
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise ParameterError(
            "the equation must have a part for each operand.",
            op="einsum",
            got=f"{equation!r} for {len(tensors)}",
        )
    for part in (*parts, right):
        plain = part.replace("...", "", 1)
        if plain and not (plain.isascii() and plain.isalpha()):
            raise ParameterError(
                "must be letters.", op="einsum", argument="dimensions", got=repr(equation)
            )
    # Letters that nobody can write, the last for the last dimension.
    extra = 0
    for part, x in zip(parts, tensors, strict=True):
        named = len(part.replace("...", ""))
        more = len(x.shape) - named
        if more < 0 or (more > 0 and "..." not in part):
            raise ParameterError(
                "a part must name each dimension.", op="einsum", got=f"{part!r} for shape {x.shape}"
            )
        extra = max(extra, more)
    dots = "".join(chr(0x3B1 + i) for i in range(extra))
    full = []
    for part, x in zip(parts, tensors, strict=True):
        more = len(x.shape) - len(part.replace("...", ""))
        full.append(part.replace("...", dots[extra - more :]))
    if arrow:
        result = right.replace("...", dots)
    else:
        once = sorted(
            letter for letter in set(left) if left.count(letter) == 1 and letter.isalpha()
        )
        result = dots + "".join(once)
    unknown = set(result) - set("".join(full)) - set(dots)
    if unknown or len(set(result)) != len(result):
        raise ParameterError(
            "the result must name dimensions of operands, each once.",
            op="einsum",
            got=repr(equation),
        )
    return full, result


def _simple(letters: str, x: Any, sizes: dict[str, int]) -> tuple[str, Any]:
    """The operand with each letter once: diagonals taken."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            steps = arange(sizes[letter])
            index = [steps if x.shape[i] == sizes[letter] else steps * 0 for i in (first, second)]
            x = moveaxis(gather(x, *index, axes=(first, second)), 0, first)
            letters = letters[:second] + letters[second + 1 :]
    return letters, x


def _order(parts: list[str], result: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """Which operands to contract, step by step."""
    if len(parts) <= 2:
        return [tuple(range(len(parts)))]
    import opt_einsum

    shapes = [tuple(sizes[letter] for letter in part) for part in parts]
    path, _ = opt_einsum.contract_path(
        f"{','.join(parts)}->{result}", *shapes, shapes=True, optimize="auto"
    )
    return [tuple(step) for step in path]


def _summed(term: tuple[str, Any], kept: set[str]) -> tuple[str, Any]:
    letters, x = term
    gone = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    if not gone:
        return term
    return "".join(letter for letter in letters if letter in kept), sum(x, axis=gone)


def _contracted(
    first: tuple[str, Any], second: tuple[str, Any], kept: set[str], sizes: dict[str, int]
) -> tuple[str, Any]:
    """The product of two operands, summed over what neither others nor the result name."""
    (a, x), (b, y) = _summed(first, kept | set(second[0])), _summed(second, kept | set(first[0]))
    batch = [letter for letter in a if letter in b and letter in kept]
    inner = [letter for letter in a if letter in b and letter not in kept]
    rows = [letter for letter in a if letter not in b]
    columns = [letter for letter in b if letter not in a]
    x = _arranged(a, x, [batch, rows, inner], sizes)
    y = _arranged(b, y, [batch, inner, columns], sizes)
    letters = "".join(batch + rows + columns)
    return letters, reshape(matmul(x, y), tuple(sizes[letter] for letter in letters))


def _arranged(letters: str, x: Any, groups: list[list[str]], sizes: dict[str, int]) -> Any:
    """Groups of dimensions in order, the last two of them as one dimension each."""
    order = [letter for group in groups for letter in group]
    x = permute_dims(x, tuple(letters.index(letter) for letter in order))
    x = broadcast_to(x, tuple(sizes[letter] for letter in order))
    lead = [sizes[letter] for letter in groups[0]]
    joined = [math.prod(sizes[letter] for letter in group) for group in groups[1:]]
    return reshape(x, (*lead, *joined))


@named
def kron(x1: TensorLike, x2: TensorLike) -> Tensor:
    """The Kronecker product: a copy of x2, multiplied, in place of each element of x1.

    Args:
        x1: any shape, numeric.
        x2: any shape, numeric; the one with fewer dimensions gets leading ones of size 1.

    Source:
        NumPy, ``numpy.kron``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.kron(tl.tensor([1, 10]), tl.tensor([1, 2])).tolist()
        [1, 2, 10, 20]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    ndim = max(len(x1.shape), len(x2.shape))
    big = (1,) * (ndim - len(x1.shape)) + tuple(x1.shape)
    small = (1,) * (ndim - len(x2.shape)) + tuple(x2.shape)
    apart = [size for n in big for size in (n, 1)], [size for n in small for size in (1, n)]
    product = reshape(x1, tuple(apart[0])) * reshape(x2, tuple(apart[1]))
    return reshape(product, tuple(n * m for n, m in zip(big, small, strict=True)))


@named
def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    *,
    left: float | None = None,
    right: float | None = None,
) -> Tensor:
    """Values between given ones, on straight lines.

    Args:
        x: where, any shape, real floating-point.
        xp: the places of given values, one dimension, increasing.
        fp: the given values, as many.
        left: the value before all places; None is the first one.
        right: the value after all places; None is the last one.

    Raises:
        ShapeError: xp and fp are not of one dimension and one size, or are empty.
        DTypeError: a tensor is complex.

    Source:
        NumPy, ``numpy.interp``.

    Example:
        >>> import tensorlike as tl
        >>> tl.functional.interp(tl.tensor([0.5, 5.0]), [0.0, 1.0], [10.0, 30.0]).tolist()
        [20.0, 30.0]
    """
    x, xp, fp = (_real(asarray(each)) for each in (x, xp, fp))
    if len(xp.shape) != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ShapeError(
            "xp and fp must have one dimension of one size, which is not 0.",
            op="interp",
            got=f"{xp.shape} and {fp.shape}",
        )
    last = xp.shape[0] - 1
    after = clip_between(searchsorted(xp, x, side="right"), min(1, last), last)
    before = after - min(1, last)
    low, high = take(xp, before), take(xp, after)
    start, end = take(fp, before), take(fp, after)
    width = high - low
    share = where(width == 0, 0, (x - low) / where(width == 0, 1, width))
    value = start + share * (end - start)
    value = where(x < xp[0], fp[0] if left is None else left, value)
    value = where(x > xp[last], fp[last] if right is None else right, value)
    return where(isnan(x), x, value)


def _real(x: Any) -> Any:
    if isdtype(x.dtype, "complex floating"):
        raise DTypeError("tensors must be real.", op="interp", got=x.dtype.name)
    return x if isdtype(x.dtype, "real floating") else astype(x, dtype="float32")


@named
def bilinear(
    x1: TensorLike, x2: TensorLike, weight: TensorLike, bias: TensorLike | None = None
) -> Tensor:
    """Products of the features of two tensors, weighed and summed.

    ``x1 @ weight[o] @ x2 + bias[o]`` for each feature o of the result.

    Args:
        x1: (..., features 1), numeric.
        x2: (..., features 2); leading dimensions broadcast.
        weight: (out features, features 1, features 2).
        bias: (out features,); None is 0.

    Returns:
        One tensor of shape (..., out features).

    Raises:
        ShapeError: the features are not those of the weight.

    Source:
        PyTorch, ``torch.nn.functional.bilinear``.

    Example:
        >>> import tensorlike as tl
        >>> x1, x2, weight = tl.tensor([2.0]), tl.tensor([3.0]), tl.tensor([[[4.0]]])
        >>> tl.functional.bilinear(x1, x2, weight).tolist()
        [24.0]
    """
    x1, x2, weight = as_tensor(x1), as_tensor(x2), as_tensor(weight)
    fits = len(weight.shape) == 3 and len(x1.shape) >= 1 and len(x2.shape) >= 1
    if not fits or (x1.shape[-1], x2.shape[-1]) != tuple(weight.shape[1:]):
        raise ShapeError(
            "must be (out features, features of x1, features of x2).",
            op="bilinear",
            argument="weight",
            got=f"x1.shape={x1.shape}, x2.shape={x2.shape}, weight.shape={weight.shape}",
        )
    out, first, second = weight.shape
    if bias is not None and tuple(as_tensor(bias).shape) != (out,):
        raise ShapeError(
            f"bias.shape must be ({out},).", op="bilinear", got=f"{as_tensor(bias).shape}"
        )
    columns = reshape(permute_dims(weight, (1, 0, 2)), (first, out * second))
    rows = matmul(x1, columns)
    pairs = reshape(rows, (*rows.shape[:-1], out, second))
    y = matmul(pairs, reshape(x2, (*x2.shape, 1)))
    y = reshape(y, tuple(y.shape[:-1]))
    return y if bias is None else y + as_tensor(bias)


@named
def mvlgamma(x: TensorLike, p: int) -> Tensor:
    """The logarithms of the multivariate gamma function.

    ``p * (p - 1) / 4 * log(pi) + sum(lgamma(x - j / 2) for j in range(p))``.

    Args:
        x: any shape, real floating-point, above (p - 1) / 2; NaN elsewhere.
        p: the dimension, 1 or more.

    Raises:
        ParameterError: p is not positive.

    Source:
        PyTorch, ``torch.mvlgamma``; SciPy, ``scipy.special.multigammaln``.

    Example:
        >>> import tensorlike as tl
        >>> round(tl.functional.mvlgamma(tl.tensor(2.0), 2).item(), 4)
        0.4516
    """
    x, p = as_tensor(x), integer("mvlgamma", "p", p, least=1)
    if p > _MOST_DIMENSIONS:
        raise ParameterError(
            f"must be at most {_MOST_DIMENSIONS}.", op="mvlgamma", argument="p", got=f"p={p}"
        )
    total: Any = lgamma(x)
    for j in range(1, p):
        total = total + lgamma(x - j / 2)
    total = total + p * (p - 1) / 4 * math.log(math.pi)
    return where(x > (p - 1) / 2, total, math.nan)
