"""Every declared function over examples: `vmap` against a loop, whichever arguments differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from support.cases import Case
from support.declarations import DECLARED, function_of
from support.examples_of_batches import CALLS, COUNT, depends_on_elements, is_random, of_examples

import tensorlike as tl
from tensorlike.opdecl.compiler.model import OpEntry
from tensorlike.opdecl.compiler.read_op import BATCHES
from tensorlike.transforms.batching_rules import RULES


def call(case: Case, xs: Any) -> Any:
    return function_of(case.entry)(*xs, **case.attrs)


def tuple_of(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def one_by_one(
    case: Case, given: list[Any], chosen: tuple[bool, ...]
) -> list[np.ndarray[Any, Any]]:
    rows = [
        tuple_of(
            call(case, [tl.tensor(x[i] if m else x) for x, m in zip(given, chosen, strict=True)])
        )
        for i in range(COUNT)
    ]
    return [np.stack([np.asarray(y) for y in column]) for column in zip(*rows, strict=True)]


def compare(found: Any, wanted: list[np.ndarray[Any, Any]], is_first: bool = False) -> None:
    for y, expected in zip(tuple_of(found), wanted, strict=True):
        got = np.asarray(y)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        if is_first:
            got, expected = got[:1], expected[:1]
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("case", "chosen"), CALLS, ids=str)
def test_all_examples_at_once_give_what_each_gives(case: Case, chosen: tuple[bool, ...]) -> None:
    given = [of_examples(x) if m else x for x, m in zip(case.inputs, chosen, strict=True)]
    in_axes = tuple(0 if m else None for m in chosen)
    tensors = [tl.tensor(x) for x in given]
    mapped = tl.vmap(lambda *xs: call(case, xs), in_axes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no op goes one by one
        try:
            found = mapped(*tensors)
        except tl.ShapeError as error:
            assert depends_on_elements(case), error
            assert "under vmap" in str(error)
            return
    # Of random numbers, examples have different parts of one draw, the first one as if alone.
    compare(found, one_by_one(case, given, chosen), is_first=is_random(case))
    if is_random(case):
        return
    last = [tl.tensor(np.moveaxis(x, 0, -1)) if m else tl.tensor(x)
            for x, m in zip(given, chosen, strict=True)]  # fmt: skip
    in_axes = tuple(-1 if m else None for m in chosen)
    again = tl.vmap(lambda *xs: call(case, xs), in_axes)(*last)
    for y, z in zip(tuple_of(found), tuple_of(again), strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(z), rtol=1e-12, atol=1e-14)


def test_every_word_under_batch_is_a_rule() -> None:
    words = {e.batch for e in DECLARED.entries if isinstance(e, OpEntry) and e.batch}
    assert words == set(RULES)


def test_declarations_may_say_every_rule_and_no_other() -> None:
    assert sorted(BATCHES) == sorted(RULES)
