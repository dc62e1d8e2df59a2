"""Programs in low precision: what is quantised, how large the errors are, what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike import static

BOUNDS = {"dynamic": 0.02, "static": 0.03, "bfloat16": 0.01, "float16": 1e-3}


def encoder_like(batch: Any = 16) -> tuple[Any, Any, Any]:
    """Two layers with a norm between, and a product without a bias: the program and its result."""
    layers = tl.nn.Linear(48, 96, seed=0), tl.nn.Linear(96, 48, seed=1)
    out = tl.tensor(np.random.default_rng(3).standard_normal((20, 48), dtype=np.float32))
    listing = tl.Listing()
    x = listing.input("x", (batch, 48))
    hidden = F.gelu(layers[0](x))
    y = F.layer_norm(layers[1](hidden), F.ones(48), F.zeros(48)) @ F.matrix_transpose(out)
    return listing, x, y


def batch_of(rows: int, seed: int = 5) -> Any:
    return tl.tensor(np.random.default_rng(seed).standard_normal((rows, 48), dtype=np.float32))


def names(program: Any) -> list[str]:
    return [type(step.op).__name__ for step in program.applied()]


@pytest.mark.parametrize("how", sorted(BOUNDS))
def test_a_quantised_program_gives_nearly_the_same(how: Any) -> None:
    listing, _, y = encoder_like()
    before = str(listing)
    made = static.quantize(listing, [y], how, samples=[[batch_of(16)], [batch_of(16, 6)]])
    assert str(listing) == before
    x = batch_of(16, 7)
    (wanted,), (found,) = listing.run([y], x), made.program.run(made.results, x)
    assert F.max(abs(found - wanted)).item() < 2 * BOUNDS[how] * F.max(abs(wanted)).item()
    assert not np.array_equal(found, wanted)
    assert [layer.weight_shape for layer in made.layers] == [(48, 96), (96, 48), (48, 20)]
    assert all(0 < layer.error < BOUNDS[how] for layer in made.layers)
    assert made.table().count("\n") == 3 and "test_quantize.py" in made.table()
    (again,) = static.CompiledProgram(made.program).run(list(made.results), x)
    np.testing.assert_allclose(again, found, rtol=1e-4, atol=1e-4)


def test_integers_stand_in_the_place_of_products() -> None:
    listing, _, y = encoder_like()
    made = static.quantize(listing, [y])
    assert names(made.program).count("DynamicQuantizedLinear") == 3
    assert not {"Linear", "MatMul"}.intersection(names(made.program))
    dtypes = {value.dtype.name for _, role, value in made.program.variables() if role == "captured"}
    assert "int8" in dtypes and all(layer.error is None for layer in made.layers)


@pytest.mark.parametrize("how", ["dynamic", "bfloat16"])
def test_layers_that_read_each_other_are_all_replaced(how: Any) -> None:
    layers = [
        tl.nn.Linear(8, 16, seed=0, activation="gelu"), tl.nn.Linear(16, 12, seed=1),
        tl.nn.Linear(12, 4, seed=2),
    ]  # fmt: skip
    listing = tl.Listing()
    y = listing.input("x", (3, 8))
    for layer in layers:
        y = layer.eval(record=False)(y)
    made = static.quantize(listing, [y], how)
    assert len(made.layers) == 3
    read = [step for step in made.program.text().splitlines() if "Linear(" in step]
    assert len(read) == 3, "no layer is computed twice"
    if how == "dynamic":
        assert all("DynamicQuantizedLinear(" in step for step in read)


def test_a_batch_of_any_size_runs_through_a_quantised_program() -> None:
    main = static.Program()
    layer = tl.nn.Linear(48, 8, seed=0)
    x = main.input("x", ("rows", 48))
    y = layer(tl.Tensor(x))
    made = static.quantize(main, [y])
    for rows in (1, 7, 33):
        (found,) = made.program.run(made.results, batch_of(rows))
        np.testing.assert_allclose(found, layer(batch_of(rows)).detach(), atol=0.05)


def test_a_predicate_chooses_the_layers() -> None:
    listing, _, y = encoder_like()
    made = static.quantize(listing, [y], where=lambda step: type(step.op).__name__ == "Linear")
    assert len(made.layers) == 2 and names(made.program).count("MatMul") == 1


def test_what_is_no_constant_weight_of_float32_stays() -> None:
    listing = tl.Listing()
    x = listing.input("x", (4, 48))
    products = [
        x @ F.matrix_transpose(x),
        F.astype(x, "float64") @ F.ones((48, 2), dtype="float64"),
    ]
    made = static.quantize(listing, products)
    assert made.layers == () and names(made.program).count("MatMul") == 2


def test_a_percentile_leaves_rare_large_values_out() -> None:
    listing, _, y = encoder_like()
    sample = np.array(batch_of(400))
    sample[0, 0] = 1000.0
    usual = batch_of(16, 7)
    (wanted,) = listing.run([y], usual)

    def error(percentile: float) -> float:
        listing, _, y = encoder_like(400)
        made = static.quantize(
            listing, [y], "static", samples=[[tl.tensor(sample)]], percentile=percentile
        )
        whole = F.concat([usual] * 25, axis=0)
        (found,) = made.program.run(made.results, whole)
        return float(F.mean(abs(found[:16] - wanted)).item())

    assert error(99.9) < 0.2 * error(100.0)


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"how": "int4"}, "how"),
        ({"how": ["static"]}, "how"),
        ({"how": "static"}, "samples"),
        ({"samples": [1.0]}, "samples"),
        ({"samples": [[]]}, "samples"),
        ({"percentile": 0.0}, "percentile"),
        ({"percentile": "99"}, "percentile"),
        ({"where": 3}, "where"),
        ({"scope": 3}, "scope"),
    ],
)
def test_mistakes_are_told(given: Any, argument: str) -> None:
    listing, _, y = encoder_like()
    with pytest.raises(tl.ArgumentError) as caught:
        static.quantize(listing, [y], **given)
    assert caught.value.argument == argument


@pytest.mark.parametrize("how", sorted(BOUNDS))
def test_a_program_with_states_is_quantised_from_samples(how: Any) -> None:
    layer = tl.nn.Linear(48, 48, seed=0)
    with static.program_guard(static.Program(), static.Program()) as main:
        static.keep(layer)
        y = layer(F.tanh(layer(static.data("x", (None, 48)))))  # one weight, twice
    scope = static.Scope()
    for name, value in layer.named_parameters():
        scope.set(name, value.detach())
    x = np.asarray(batch_of(16))
    made = static.quantize(main, [y], how, samples=[[x]], scope=scope)
    executor = static.Executor()
    (wanted,) = executor.run(main, {"x": x}, [y], scope)
    (found,) = executor.run(made.program, {"x": x}, list(made.results), scope)
    assert len(made.layers) == 2 and all(0 < one.error < BOUNDS[how] for one in made.layers)
    assert abs(found - wanted).max() < 2 * BOUNDS[how] * abs(wanted).max()
