"""A compiled function within another program: called on its variables, and exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static
from tensorlike.export import onnx

KINDS = [jit.trace, jit.to_static]
SHAPES: list[tuple[Any, ...]] = [("n",), ("n", 3), (2, "n"), ("n", "m"), ("n", "n"), (None, None)]


def _scores(x: Any) -> Any:
    rows = F.reshape(x, (x.shape[0], -1))
    return F.softmax(rows * 2, axis=-1) + x.shape[0]


def _drawn(shape: tuple[int, ...], seed: int) -> Any:
    return tl.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def _known(shape: tuple[Any, ...], first: int) -> tuple[int, ...]:
    sizes: dict[Any, int] = {}
    return tuple(
        size if isinstance(size, int) else sizes.setdefault(size or index, first + len(sizes))
        for index, size in enumerate(shape)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_function_takes_variables_of_unknown_size_at_its_first_call_and_later(
    kind: Callable[[Any], Any], shape: tuple[Any, ...]
) -> None:
    function = kind(_scores)
    for _ in range(2):
        listing = tl.Listing()
        y = function(tl.Tensor(listing.input("x", shape)))
        for first in (1, 3, 4):
            x = _drawn(_known(shape, first), first)
            np.testing.assert_array_equal(listing.run(y, x), _scores(x))
    x = _drawn(_known(shape, 2), 0)
    np.testing.assert_array_equal(function(x), _scores(x))
    assert len(function.programs()) == 1  # of the call at once: the others are the listings'


def test_control_flow_on_a_bare_variable_of_unknown_size_is_recorded() -> None:
    @jit.to_static
    def halved(x: Any) -> Any:
        if F.sum(x) > 0:
            x = x - 1
        while F.max(F.abs(x)) > 1:
            x = x / 2
        return x

    main = static.Program()
    with static.program_guard(main):
        y = halved(static.data("x", (None, 2)))
    for rows in (1, 4, 2):
        x = np.random.default_rng(rows).standard_normal((rows, 2)).astype(np.float32) * 9
        (found,) = static.Executor().run(main, {"x": x}, [y])
        np.testing.assert_array_equal(found, halved(tl.tensor(x)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_learns_within_a_static_program_of_unknown_batch(
    kind: Callable[[Any], Any],
) -> None:
    losses = []
    for function in (_scores, kind(_scores)):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", (None, 4))
            loss = F.mean(function(static.fc(x, 3, seed=1)) ** 2)
            tl.optim.SGD(lr=0.1).minimize(loss)
        scope, executor = static.Scope(), static.Executor()
        executor.run(startup, scope=scope)
        run = [
            executor.run(main, {"x": np.ones((rows, 4), np.float32)}, [loss], scope=scope)[0].item()
            for rows in (2, 5, 2)
        ]
        losses.append(run)
    assert losses[0] == losses[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_that_was_never_called_is_exported_with_unknown_sizes(
    kind: Callable[[Any], Any],
) -> None:

    def looked_up(ids: Any, table: Any) -> Any:
        return F.gelu(F.embedding(ids, table))

    function = kind(looked_up)
    specs = [jit.InputSpec(("n",), "int64", name="ids"), jit.InputSpec((5, 2), name="table")]
    model = onnx.to_model(function, inputs=specs)
    assert [one.name for one in model.graph.input] == ["ids", "table"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    table = _drawn((5, 2), 0)
    for ids in ([1, 4, 0], [2]):
        (found,) = session.run(None, {"ids": np.array(ids), "table": table.numpy()})
        wanted = F.gelu(F.embedding(tl.tensor(ids), table))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
