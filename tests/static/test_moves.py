"""The pass "moves": transposes and reshapes pass elementwise steps to where they cancel, or cost
nothing, to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def same_bits(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def recorded(
    f: Callable[..., Any], *shapes: Any, passes: Any = ("moves", "identities")
) -> tuple[Any, Any, Any]:
    listing = tl.Listing()
    xs = [tl.Tensor(listing.input(f"x{i}", s, tl.float32)) for i, s in enumerate(shapes)]
    results = f(*xs)
    results = list(results) if isinstance(results, tuple) else [results]
    return listing, static.CompiledProgram(listing, list(passes)), results


def draw(shape: tuple[int, ...], seed: int = 0) -> Any:
    return tl.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def ops_in(compiled: Any, results: Any) -> list[str]:
    program, numbers = compiled.optimised(results)
    tl._C.verify_program(program, numbers)
    return [str(op).partition("(")[0] for op in program.ops]


def check(listing: Any, compiled: Any, results: Any, *xs: Any) -> None:
    for a, b in zip(compiled.run(results, *xs), listing.run(results, *xs), strict=True):
        assert same_bits(a, b)


def test_a_transpose_meets_its_inverse_behind_elementwise_steps() -> None:
    def f(x: Any) -> Any:
        y = F.permute_dims(x, (2, 0, 1))
        return F.permute_dims(F.tanh(y * 2.0) + F.exp(y), (1, 2, 0))

    listing, compiled, results = recorded(f, ("n", 4, 5))
    assert "Transpose" not in ops_in(compiled, results)
    assert compiled.report()[0].changes == 5  # four steps, and two transposes that are none
    for n in (1, 3):
        check(listing, compiled, results, draw((n, 4, 5)))


def test_transposes_are_one() -> None:
    def f(x: Any) -> Any:
        y = F.permute_dims(F.permute_dims(x, (1, 2, 0)), (0, -1, 1))
        return (
            y,
            F.permute_dims(F.permute_dims(y, (1, 0, 2)), (0, 2, 1)),
            F.permute_dims(x, (0, 1, 2)),
        )

    listing, compiled, results = recorded(f, (3, 4, 5))
    assert ops_in(compiled, results) == ["Transpose", "Transpose"]
    check(listing, compiled, results, draw((3, 4, 5)))


def test_two_operands_that_are_transposed_alike_are_moved_and_others_are_not() -> None:
    def alike(x: Any, y: Any) -> Any:
        return F.permute_dims(
            F.maximum(F.permute_dims(x, (1, 0)), F.permute_dims(y, (1, 0))), (1, 0)
        )

    def other(x: Any, y: Any) -> Any:
        return F.permute_dims(F.maximum(F.permute_dims(x, (1, 0)), y), (1, 0))

    listing, compiled, results = recorded(alike, (3, 4), (3, 4))
    assert ops_in(compiled, results) == ["Elemwise"]
    check(listing, compiled, results, draw((3, 4)), draw((3, 4), 1))
    listing, compiled, results = recorded(other, (3, 4), (4, 3))
    assert ops_in(compiled, results) == ["Transpose", "Elemwise", "Transpose"]
    check(listing, compiled, results, draw((3, 4)), draw((4, 3), 1))


def test_one_of_two_squares_that_is_not_transposed_stays() -> None:
    """Shapes do not tell these apart."""

    def f(x: Any, y: Any) -> Any:
        return F.permute_dims(F.permute_dims(x, (1, 0)) - y, (1, 0))

    listing, compiled, results = recorded(f, (4, 4), (4, 4))
    assert compiled.optimised(results) and compiled.report()[0].changes == 0
    check(listing, compiled, results, draw((4, 4)), draw((4, 4), 1))


def test_a_product_takes_what_is_transposed() -> None:
    def f(x: Any, y: Any) -> Any:
        return F.matmul(F.relu(F.permute_dims(x, (1, 0)) * 0.5), y)

    listing, compiled, results = recorded(f, ("n", 40), ("n", 30))
    found = ops_in(compiled, results)
    assert found[-2:] == ["Transpose", "MatMul"]
    assert found.count("Transpose") == 1
    for n in (1, 50):
        check(listing, compiled, results, draw((n, 40)), draw((n, 30), 1))


def test_what_is_read_as_it_lies_stays() -> None:
    def f(x: Any) -> Any:
        y = F.exp(F.permute_dims(x, (1, 0)))
        return F.sum(y, axis=0), F.permute_dims(F.tanh(y), (1, 0)), y

    listing, compiled, results = recorded(f, (30, 40))
    ops_in(compiled, results)
    assert compiled.report()[0].changes == 0
    check(listing, compiled, results, draw((30, 40)))


def test_a_reshape_goes_on_so_that_steps_are_one_chain() -> None:
    def f(x: Any, y: Any) -> Any:
        z = F.tanh(x + y)
        return F.exp(F.reshape(z, (-1, 6)) * 3.0) + 1.0

    passes = ("moves", "identities", "chains")
    listing, compiled, results = recorded(f, ("n", 2, 3), ("n", 2, 3), passes=passes)
    assert compiled.text(results).count(", chain 0") == 5
    assert ", chain 1" in compiled.without("moves").text(results)
    for n in (1, 4):
        check(listing, compiled, results, draw((n, 2, 3)), draw((n, 2, 3), 1))


def test_reshapes_cancel_behind_elementwise_steps() -> None:
    def f(x: Any) -> Any:
        return F.reshape(F.sin(F.reshape(x, (-1,))) * 2.0, x.shape)

    listing, compiled, results = recorded(f, ("n", 3))
    assert "Reshape" not in ops_in(compiled, results)
    check(listing, compiled, results, draw((5, 3)))


def test_a_reshape_that_may_not_copy_stays_where_it_is() -> None:
    def f(x: Any) -> Any:
        return F.reshape(F.exp(F.reshape(F.permute_dims(x, (1, 0)), (12,), copy=False)), (4, 3))

    listing, compiled, results = recorded(f, (3, 4))
    for program in (listing, compiled):
        with pytest.raises(tl.TensorlikeError):
            program.run(results, draw((3, 4)))


def test_broadcasts_are_one() -> None:
    def f(x: Any) -> Any:
        return F.broadcast_to(F.broadcast_to(x, (4, 3)), (2, 4, 3))

    listing, compiled, results = recorded(f, (1, 3))
    assert ops_in(compiled, results) == ["Broadcast"]
    check(listing, compiled, results, draw((1, 3)))


def test_gradients_and_examples_of_what_was_moved() -> None:
    def f(x: Any) -> Any:
        y = F.permute_dims(x, (1, 0))
        return F.permute_dims(F.tanh(y) * y, (1, 0))

    _, compiled, results = recorded(f, (3, 4))
    x = draw((3, 4))
    found = tl.grad(lambda x: F.sum(compiled.run(results, x)[0]))(x)
    np.testing.assert_allclose(np.asarray(found), np.asarray(tl.grad(lambda x: F.sum(f(x)))(x)))
    many = tl.vmap(lambda x: compiled.run(results, x)[0])(F.stack([x, x * 2]))
    assert same_bits(many, tl.vmap(f)(F.stack([x, x * 2])))


STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: F.tanh(x), lambda x, y: x * 0.5, lambda x, y: x - y, lambda x, y: F.maximum(x, y),
    lambda x, y: F.permute_dims(x, (1, 0)), lambda x, y: F.permute_dims(x, (1, 0)),
    lambda x, y: F.reshape(x, (2, 18)), lambda x, y: F.reshape(x, (6, 6)),
    lambda x, y: F.matmul(F.reshape(x, (6, 6)), F.permute_dims(F.reshape(y, (6, 6)), (1, 0))) * 0.1,
    lambda x, y: F.flip(x, axis=0), lambda x, y: F.where(x > 0.0, x, y), lambda x, y: 1.0 - x,
)  # fmt: skip


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_moves_give_the_same_bits(first: int) -> None:
    changes = 0
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        lines = [(int(rng.integers(len(STEPS))), *rng.random(2)) for _ in range(16)]

        def f(*xs: Any, lines: Any = lines) -> Any:
            values = list(xs)
            for kind, a, b in lines:
                x = values[-1 - int(a * min(3, len(values)))]
                alike = [y for y in values if tuple(y.shape) == tuple(x.shape)]
                values.append(STEPS[kind](x, alike[int(b * len(alike))]))
            return tuple(values[-2:])

        passes = (
            ("moves", "identities", "chains") if seed % 2 else ("cse", "moves", "moves", "rows")
        )
        listing, compiled, results = recorded(f, (6, 6), (6, 6), passes=passes)
        ops_in(compiled, results)
        changes += sum(report.changes for report in compiled.report() if report.name == "moves")
        check(listing, compiled, results, draw((6, 6), seed), draw((6, 6), seed + 1))
    assert changes > 0


def test_a_wrong_move_is_caught() -> None:
    """One that leaves a transpose out where the shapes allow it, as a pass of Python."""

    def wrong(graph: Any) -> None:
        for step in graph.steps():
            if str(step.op).startswith("Transpose"):
                graph.replace(step.outputs[0], step.inputs[0])
                return

    def f(x: Any) -> Any:
        return F.permute_dims(F.exp(F.permute_dims(x, (1, 0))), (1, 0))

    listing, _, results = recorded(f, (4, 4))
    compiled = static.CompiledProgram(listing, [wrong, "moves"])
    x = draw((4, 4))
    assert not same_bits(compiled.run(results, x)[0], listing.run(results, x)[0])
