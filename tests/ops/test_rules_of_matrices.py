"""What declared rules say beside expressions: calls with several results, choices, absent
cotangents, one text for several arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F

NOTHING = {"Const", "Arange", "Fill", "Broadcast"}

DECLARATIONS = """
- op: RulesGram
  args: ["x: real floating-point"]
  attrs:
    wide: {type: bool, default: false, doc: the product of rows rather than of columns.}
    part: {type: int, default: 1, doc: how many columns are left out.}
  define: |
    n = shape(x)[-1]
    kept = x[..., part:] if part < n else x
    kept @ transposed(kept) if wide or n == 1 else transposed(kept) @ kept
  doc: Products of columns, or of rows.

- op: RulesSwitch
  args: ["x: real floating-point"]
  attrs: {open: {type: bool, default: false, doc: let x through.}}
  define: x * (1 if open else 0) + 1
  doc: x and one, or one.

- op: RulesFactor
  args: ["x: real floating-point"]
  define: |
    q, r = qr(x)
    q @ (2 * r)
  doc: Twice x, by way of its factors.

- op: RulesTwo
  args: ["x: real floating-point", "y: real floating-point"]
  define: x * y, sum(x * y)
  outputs: 2
  grad:
    x, y: |
      flow = exp(dy0 + dy1) if flows(dy0) and flows(dy1) else dy0 + dy1
      sum(flow) * y, flow * x
  doc: Products and their sum; the rules are not theirs, but tell what flows.

- op: RulesRefuse
  args: ["x: real floating-point"]
  attrs: {strict: {type: bool, default: true, doc: refuse.}}
  define: x + x
  grad: {x: "refused('no slope; be lax.') if strict else 2 * dy"}
  doc: Twice x.
"""


DECLARED = tl.declare(DECLARATIONS)


def normal(*shape: int, seed: int = 0) -> Any:
    return tl.tensor(np.random.default_rng(seed).normal(size=shape))


def names_of(pull: Callable[[Any], Any], cotangent: Any) -> list[str]:
    with tl.profile() as profile:
        pull(cotangent)
    return [event.name for event in profile.events if event.name not in NOTHING]


def test_bodies_choose_by_attributes_and_shapes() -> None:
    x = normal(3, 4)
    gram = DECLARED.rules_gram
    kept = np.asarray(x)[:, 1:]
    np.testing.assert_allclose(gram(x), kept.T @ kept)
    np.testing.assert_allclose(gram(x, wide=True), kept @ kept.T)
    np.testing.assert_allclose(gram(x[:, :1]), np.asarray(x)[:, :1] @ np.asarray(x)[:, :1].T)
    for attrs in ({}, {"wide": True}, {"part": 7}):
        tl.opcheck(lambda x, attrs=attrs: gram(x, **attrs), x)


def test_a_zero_of_a_choice_keeps_the_shape_of_the_result() -> None:
    x = normal(2, 3)
    np.testing.assert_array_equal(DECLARED.rules_switch(x), np.zeros((2, 3)) + 1)
    np.testing.assert_array_equal(DECLARED.rules_switch(x, open=True), np.asarray(x) + 1)
    np.testing.assert_array_equal(tl.grad(lambda x: F.sum(DECLARED.rules_switch(x)))(x), x * 0)


def test_bodies_call_what_has_several_results() -> None:
    x = normal(4, 3)
    np.testing.assert_allclose(DECLARED.rules_factor(x), 2 * np.asarray(x))
    tl.opcheck(DECLARED.rules_factor, x)


def test_rules_are_told_what_flows() -> None:
    x, y = normal(2, 3), normal(2, 3, seed=1)

    def gradients(*weights: float | None) -> list[np.ndarray[Any, Any]]:
        def loss(x: Any, y: Any) -> Any:
            parts = zip(weights, DECLARED.rules_two(x, y), strict=True)
            return sum(F.sum(part) * weight for weight, part in parts if weight is not None)

        return [np.asarray(part) for part in tl.grad(loss, argnums=(0, 1))(x, y)]

    a, b = np.asarray(x), np.asarray(y)
    np.testing.assert_allclose(gradients(2.0, None), [2 * 6 * b, 2 * a])
    # A sum with what is absent has the shape of both.
    np.testing.assert_allclose(gradients(None, 2.0), [2 * 6 * b, 2 * a])
    flow = np.exp(3.0)
    np.testing.assert_allclose(gradients(2.0, 1.0), [6 * flow * b, flow * a])


def test_a_rule_may_refuse() -> None:
    x = normal(2)
    value = tl.grad(lambda x: F.sum(DECLARED.rules_refuse(x, strict=False)))(x)
    np.testing.assert_array_equal(value, [2, 2])
    with pytest.raises(tl.AutodiffError) as caught:
        tl.grad(lambda x: F.sum(DECLARED.rules_refuse(x)))(x)
    assert str(caught.value) == "RulesRefuse: no slope; be lax."


def test_what_flows_into_one_result_costs_nothing_for_the_others() -> None:
    x = normal(3, 3)
    values, pull = tl.vjp(lambda x: F.svd(x)[1], x)
    assert names_of(pull, values) == ["Reshape", "multiply", "MatMul"]
    values, pull = tl.vjp(lambda x: F.eigh(x)[0], x)
    assert "divide" not in names_of(pull, values)


def test_solving_for_both_arguments_solves_once() -> None:
    a, b = normal(3, 3), normal(3, 2)
    value, pull = tl.vjp(F.solve, a, b)
    assert names_of(pull, value).count("Solve") == 1
    value, pull = tl.vjp(lambda b: F.solve(a, b), b)
    assert names_of(pull, value) == ["Transpose", "Solve"]


def test_real_numbers_do_not_pay_for_complex_ones() -> None:
    value, pull = tl.vjp(lambda x: F.eigh(x)[1], normal(3, 3))
    assert not {"conj", "real", "imag", "argmax"} & set(names_of(pull, value))
