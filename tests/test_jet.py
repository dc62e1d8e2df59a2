"""`examples/transforms/jet.py`: Taylor mode, written outside of the package, on every op."""

from __future__ import annotations

import doctest
import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.declarations import DECLARED
from support.models import models

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.testing.corpus import Example, examples

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "transforms"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))
worked = importlib.import_module("jet")
jet = worked.jet
RNG = np.random.default_rng(11)


def number(value: float) -> Any:
    return tl.tensor(np.float64(value))


def along(function: Callable[..., Any], xs: Any, slopes: Any, bends: Any, order: int) -> list[Any]:
    """Value and derivatives along x + t v + t^2 a / 2, by forward mode in forward mode."""

    def curve(t: Any) -> Any:
        return function(
            *(x + t * v + t * t * a / 2 for x, v, a in zip(xs, slopes, bends, strict=True))
        )

    found, step = [], curve
    for _ in range(order + 1):
        found.append(step(number(0.0)))
        step = pushed(step)
    return found


def pushed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: tl.jvp(function, (t,), (number(1.0),))[1]


def close(found: Any, wanted: Any, rtol: float) -> None:
    found, wanted = (np.asarray(tl.stop_gradient(tl.tensor(x))) for x in (found, wanted))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * abs(wanted).max(initial=1e-6))


def agrees(function: Callable[..., Any], *xs: Any, order: int = 4, rtol: float = 1e-9) -> None:
    """jet gives what nested jvp gives."""
    slopes = [tl.tensor(RNG.normal(size=x.shape)) for x in xs]
    bends = [tl.tensor(RNG.normal(size=x.shape)) for x in xs]
    series = [[v, a, *[tl.zeros_like(v)] * (order - 2)] for v, a in zip(slopes, bends, strict=True)]
    value, derivatives = jet(function, xs, series)
    for found, wanted in zip(
        [value, *derivatives], along(function, xs, slopes, bends, order), strict=True
    ):
        close(found, wanted, rtol)


def test_the_example_of_its_documentation_runs() -> None:
    assert doctest.testmod(worked).attempted == 2
    assert doctest.testmod(worked).failed == 0


SERIES: dict[str, tuple[Callable[[Any], Any], float, Callable[[int], float]]] = {
    "exp": (tl.exp, 0.3, lambda n: math.exp(0.3)),
    "sin": (tl.sin, 0.3, lambda n: math.sin(0.3 + n * math.pi / 2)),
    "cosh": (tl.cosh, 0.3, lambda n: math.sinh(0.3) if n % 2 else math.cosh(0.3)),
    "1 / (1 - x)": (lambda x: 1 / (1 - x), 0.0, math.factorial),
    "log": (tl.log, 1.0, lambda n: (-1) ** (n + 1) * math.factorial(n - 1) if n else 0.0),
    "sqrt": (tl.sqrt, 1.0, lambda n: math.prod(0.5 - i for i in range(n))),
    "x ** 2.5": (lambda x: x**2.5, 1.0, lambda n: math.prod(2.5 - i for i in range(n))),
    "x ** 3": (lambda x: x**3, 2.0, lambda n: [8.0, 12.0, 12.0, 6.0, 0.0, 0.0, 0.0][n]),
    "atan": (tl.atan, 0.0, lambda n: [0.0, 1.0, 0.0, -2.0, 0.0, 24.0, 0.0][n]),
    "a constant": (lambda x: tl.ones((), dtype="float64"), 2.0, lambda n: 1.0 if n == 0 else 0.0),
}


@pytest.mark.parametrize("name", SERIES)
def test_taylor_series_are_those_of_the_books(name: str) -> None:
    function, at, wanted = SERIES[name]
    value, derivatives = jet(function, (number(at),), ([number(1.0), *[number(0.0)] * 5],))
    for n, found in enumerate([value, *derivatives]):
        assert found.item() == pytest.approx(wanted(n), rel=1e-12, abs=1e-12)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "x / y": lambda x: x / (x * x + 2),
    "tanh": tl.tanh,
    "gelu": F.gelu,
    "softmax": F.softmax,
    "logsumexp": lambda x: F.logsumexp(x, axis=0),
    "where": lambda x: tl.where(x > 0, x * x, tl.sin(x)),
    "maximum": lambda x: tl.maximum(x, 0.2) * x,
    "sorted": lambda x: tl.sort(x, axis=1) ** 2,
    "products": lambda x: x @ x.T @ tl.exp(x),
    "indices": lambda x: x[[1, 0, 1]] * x[0],
    "constants beside": lambda x: tl.concat((x, tl.ones_like(x) * 2)) - tl.mean(x) + 3,
    "added at indices": lambda x: F.put_along_axis(
        x * x, tl.tensor([[2, 1, 1], [0, 0, 2]]), tl.sin(x), axis=1, mode="add"
    ),
    "segments": lambda x: F.segment_sum(x * x, tl.tensor([1, 0]), 2),
    "argmax": lambda x: x * tl.argmax(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_high_orders_are_those_of_nested_forward_mode(name: str) -> None:
    agrees(FUNCTIONS[name], tl.tensor(RNG.normal(size=(2, 3))))


def test_functions_of_several_arguments_and_trees_of_results() -> None:
    x, y = (tl.tensor(RNG.normal(size=(3,))) for _ in range(2))
    agrees(lambda a, b: tl.exp(a) * tl.sin(b) / (a * b + 9), x, y)
    one = [tl.ones_like(x), tl.zeros_like(x)]
    value, derivatives = jet(lambda a: {"a": a * a, "n": [3, tl.sum(a)]}, (x,), (one,))
    assert value["n"][0] == 3
    close(derivatives[1]["a"], 2 * np.ones(3), 1e-12)
    close(derivatives[0]["n"][1], np.float64(3.0), 1e-12)


DIFFERENTIABLE = [
    entry.function for entry in DECLARED.functions.values() if Example(entry).has_gradient
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_op_that_has_a_derivative_has_them_all(name: str) -> None:
    """Along a line, to the second order, as jvp of jvp gives them."""
    (example,) = examples([name])
    xs = [example.tensors()[i] for i in example.moving()]
    slopes = [x * 0.5 for x in xs]

    def moved(t: Any) -> Any:
        return example.of_moving(*(x + t * v for x, v in zip(xs, slopes, strict=True)))

    series = [[v, tl.zeros_like(v)] for v in slopes]
    _, derivatives = jet(example.of_moving, xs, series)
    first = pushed(moved)
    for found, wanted in zip(
        derivatives, [first(number(0.0)), pushed(first)(number(0.0))], strict=True
    ):
        for y, right in zip(found, wanted, strict=True):
            if right is not None:
                close(y, right, 1e-9)


@pytest.mark.parametrize("name", [name for name, model in models().items()])
def test_models_are_pushed_through(name: str) -> None:
    """Where they are smooth: second derivatives along a line through the inputs."""
    model = models()[name]
    if model.inputs.dtype.kind != "f":
        pytest.skip("tokens do not move")
    x = tl.tensor(model.inputs)
    v = tl.tensor(RNG.normal(size=model.inputs.shape).astype(model.inputs.dtype))
    _, (first, second) = jet(model.network, (x,), ([v, tl.zeros_like(v)],))

    def line(t: Any) -> Any:
        return model.network(x + t * v)

    def slope(t: Any) -> Any:
        return tl.jvp(line, (t,), (tl.ones(()),))[1]

    close(first, slope(tl.zeros(())), 1e-4)
    close(second, tl.jvp(slope, (tl.zeros(()),), (tl.ones(()),))[1], 1e-4)


def second(function: Callable[[Any], Any], x: Any) -> Any:
    one = tl.ones_like(x)
    return jet(function, (x,), ([one, tl.zeros_like(one)],))[1][1]


def cube(x: Any) -> Any:
    return tl.sum(tl.sin(x) * x**2)


def test_it_nests_in_the_other_transforms_and_they_in_it() -> None:
    x = tl.tensor(RNG.normal(size=(3,)))
    rows = tl.tensor(RNG.normal(size=(4, 3)))
    hessian = tl.hessian(cube)
    close(second(cube, x), tl.sum(hessian(x)), 1e-9)
    close(
        tl.vmap(lambda r: second(cube, r))(rows),
        np.array([second(cube, r).item() for r in rows]),
        1e-9,
    )
    whole = second(lambda r: tl.vmap(cube)(r), rows)
    close(whole, np.array([second(cube, r).item() for r in rows]), 1e-9)
    third = tl.grad(lambda v: second(cube, v))(x)
    close(third, tl.grad(lambda v: tl.sum(hessian(v)))(x), 1e-9)
    close(second(tl.grad(cube), x), third, 1e-9)
    inner = second(lambda v: second(cube, v), x)
    fourth = jet(cube, (x,), ([tl.ones_like(x), *[tl.zeros_like(x)] * 3],))[1][3]
    close(inner, fourth, 1e-9)
    close(second(tl.checkpoint(cube), x), second(cube, x), 1e-9)


def test_an_inner_one_takes_the_outer_one_for_a_constant() -> None:
    def outer(x: Any) -> Any:
        return x * jet(lambda y: x * y, (number(5.0),), ([number(1.0)],))[1][0]

    value, (first, second) = jet(outer, (number(3.0),), ([number(1.0), number(0.0)],))
    assert (value.item(), first.item(), second.item()) == (9.0, 6.0, 2.0)


def test_custom_derivatives_are_asked_for() -> None:
    @tl.custom_jvp
    def doubled(x: Any) -> Any:
        return x * 1.0

    doubled.defjvp(lambda x, dx: (x[0] * 1.0, 2.0 * dx[0]))
    assert jet(doubled, (number(3.0),), ([number(1.0)],))[1][0].item() == 2.0


class Around(tl.Carrier):
    """Adds nothing."""


class Above(tl.Carrier, above=tl.Tracer):
    """Adds nothing, around transforms."""


@pytest.mark.parametrize("kind", [Around, Above])
def test_carriers_come_through(kind: type) -> None:
    x = np.array([0.5, 1.5])
    value, (first,) = jet(tl.exp, (tl.Tensor(kind(x)),), ([np.ones(2)],))
    assert isinstance(value.__wrapped__, kind)
    assert isinstance(first.__wrapped__, kind)
    close(tl.stop_gradient(first).__wrapped__.value, np.exp(x), 1e-12)


def test_a_jet_that_was_kept_is_refused() -> None:
    kept: list[Any] = []
    jet(lambda x: kept.append(x) or x, (number(1.0),), ([number(1.0)],))
    with pytest.raises(tl.AutodiffError, match="a Jet must not outlive the transform"):
        kept[0] + 1


@pytest.mark.parametrize(
    "series", [([1.0], [1.0, 0.0]), ([1.0],), ([[1.0]], [1.0])], ids=["orders", "count", "shape"]
)
def test_series_must_fit_the_arguments(series: Any) -> None:
    with pytest.raises(ValueError, match="jet: derivatives must"):
        jet(tl.add, (1.0, 2.0), series)


def test_integers_do_not_move() -> None:
    with pytest.raises(ValueError, match="a floating-point one"):
        jet(tl.negative, (tl.tensor(1),), ([1],))


def test_the_value_of_a_transform_says_what_it_lacks() -> None:
    with pytest.raises(tl.ParameterError, match="must define inner, outside, with_inner"):
        type("Half", (tl.transforms.TransformValue,), {"shape": (), "dtype": tl.float32})
