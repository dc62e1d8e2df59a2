"""What reductions must keep, and the gradients that follow from their parts.

A reduction folds in an order of its own, by halves, lanes and threads, and starts each part with
`init`. So `combine` must be associative and commutative, and `init` must not change what it meets:
this is tried on a few numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .derivative import Differentiator, UnknownSlopeError
from .errors import Place
from .evaluate import Evaluator, first_value
from .expression import SIZE, Attr, Call, Expr, Name, Num, names_read, rebuild
from .model import (
    Arg,
    Category,
    Entry,
    Formula,
    Output,
    ReductionEntry,
    ScalarEntry,
    is_differentiable,
    rule_names,
)
from .simplify import simplify

SAMPLES = {0: [False, True], 1: [-3, 0, 2, 5], 2: [-1.5, 0.25, 2.0, 3.0]}
COMBINE = ("a", "b")


def reduction_mistakes(
    entry: Entry, evaluator: Evaluator, differentiator: Differentiator
) -> Iterator[str]:
    """What is wrong with a reduction that its parts alone do not show, in words."""
    if not isinstance(entry, ReductionEntry):
        return
    try:
        yield from broken_laws(entry, evaluator)
    except (TypeError, ValueError):  # NumPy's words would name neither the key nor the dtype
        kind = entry.args[0].category.text
        yield f"map, combine, finish: cannot be computed on {kind} numbers; see their dtypes"
    needs_rule = is_differentiable(entry) and entry.grad is None
    try:
        found = derived_rule(entry, differentiator) if needs_rule else None
    except UnknownSlopeError as error:
        yield f"has no gradient: {error}; write `grad:`"
        return
    if needs_rule and found is None:
        yield "has no gradient; write `grad:` with a rule for each input, or `grad: none`"


def broken_laws(entry: ReductionEntry, evaluator: Evaluator) -> Iterator[str]:
    """What `combine` and `init` do that no reduction may do, in words."""
    if entry.map is None or entry.combine is None:
        return
    import numpy as np

    category = entry.args[0].category
    if entry.init in ("lowest", "highest") and category.takes_complex:
        yield f"init: complex numbers have no {entry.init} one; args: take real ones"
        return
    samples = np.array(SAMPLES[min(category.rank, 2)])

    def combine(a: Any, b: Any) -> Any:
        return evaluator.evaluate(results, {"a": a, "b": b})[0]

    results = entry.combine.results
    with np.errstate(all="ignore"):
        mapped = np.broadcast_to(
            evaluator.evaluate(entry.map.results, {entry.args[0].name: samples})[0], samples.shape
        )
        a, b, c = np.array(list(itertools.product(mapped, repeat=3)), dtype=mapped.dtype).T
        first = np.asarray(first_value(entry.init, mapped)).astype(mapped.dtype)
        found = [
            ("be associative", combine(combine(a, b), c), combine(a, combine(b, c))),
            ("be commutative", combine(a, b), combine(b, a)),
            (f"leave a as it is where b is init, {entry.init}", combine(a, first), a),
        ]
    for law, left, right in found:
        wrong = ~np.isclose(left, right, rtol=1e-9, atol=0, equal_nan=True)
        if np.any(wrong):
            at = int(np.argmax(wrong))
            where = f"a={a[at]!s}, b={b[at]!s}, c={c[at]!s}"
            got = f"{np.broadcast_to(left, a.shape)[at]!s} and {right[at]!s}"
            yield f"combine: must {law}; got {got} with {where}"
            return


def derived_rule(entry: ReductionEntry, differentiator: Differentiator) -> Expr | None:
    """The gradient of the input: of sums through `map` and `finish`, of the largest and smallest.

    None where it does not follow: write `grad:`.
    """
    if entry.map is None or entry.combine is None:
        return None
    parts = entry.combine.results[0]
    if not isinstance(parts, Call) or {Name(name) for name in COMBINE} != set(parts.args):
        return None
    mapped = entry.map.results[0]
    if parts.function == "add":
        flow = _through_finish(entry, differentiator)
    elif parts.function in ("maximum", "minimum") and entry.finish is None:
        flow = _to_the_best(mapped, Name(rule_names(entry)[0][0]))
    else:
        return None
    if flow is None:
        return None
    return _slope(entry.place, entry.map, entry.args, mapped, flow, differentiator)


def _slope(
    place: Place,
    formula: Formula,
    args: tuple[Arg, ...],
    output: Expr,
    flow: Expr,
    differentiator: Differentiator,
) -> Expr:
    """What flows through a part, as if it were a scalar function, to its first argument."""
    part = ScalarEntry(name="part", place=place, args=args, doc="", outputs=(Output("y", formula),))
    gradient = differentiator.differentiate(part, [args[0].name])[args[0].name]
    (name,), (cotangent,) = rule_names(part)
    return rebuild([gradient], {name: output, cotangent: flow}, simplify)[0]


def _through_finish(entry: ReductionEntry, differentiator: Differentiator) -> Expr | None:
    """What flows into the sum; None where that depends on the sum itself, which is not kept."""
    if entry.finish is None:
        return Name("dy")
    args = (Arg("acc", entry.args[0].category), Arg("n", Category.INTEGER))
    output = Name(rule_names(entry)[0][0])
    flow = _slope(entry.place, entry.finish, args, output, Name("dy"), differentiator)
    if "acc" in names_read([flow]):
        return None
    # A quotient of integers: of sizes that are not known a double does not count all elements.
    several = Call("maximum", (Call(SIZE, (output,)), Num(1)))
    count = Call("floor_divide", (Call(SIZE, (Name(entry.args[0].name),)), several))
    return rebuild([flow], {"n": count}, simplify)[0]


def _to_the_best(mapped: Expr, best: Name) -> Expr:
    """The cotangent, shared by the elements that equal the result."""
    attrs = (("axis", Attr("attr", name="axis")), ("keepdims", Attr("literal", literal=True)))
    is_best = Call("equal", (mapped, best))
    share = Call("divide", (Name("dy"), Call("count_nonzero", (is_best,), attrs)))
    return Call("where", (is_best, share, Num(0)))
