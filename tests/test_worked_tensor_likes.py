"""The tensor-likes of `examples/tensor_likes`: short, right on the op corpus and on all models."""

from __future__ import annotations

import doctest
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.declarations import BUILT_IN
from support.models import models
from support.tensor_likes import FOLDER, NAMES, worked

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.imperative.levels import Level
from tensorlike.testing import check_tensor_like

# Python 3.12 warns of any fork beside threads; our pool of them survives it.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

MODELS = list(models())
RNG = np.random.default_rng(5)


def agree(found: Any, wanted: Any, rtol: float = 1e-6) -> None:
    """Holds a loss and gradients against those without the tensor-like."""
    np.testing.assert_allclose(found[0], wanted[0], rtol=rtol)
    for x, y in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_each_is_a_program_of_under_sixty_lines(path: Any) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_what_their_documentation_shows_is_so(name: str) -> None:
    assert doctest.testmod(worked(name)).failed == 0


def single_group() -> Any:
    return worked("processes").Group(0, 1, [])


HOW: dict[str, dict[str, Any]] = {
    "flop_counter": {"make": lambda x: worked("flop_counter").Counted(x, {})},
    "nan_finder": {},
    "units": {},
    "fake_quantised": {"rtol": 0.1},
    "sharded": {"make": lambda x: worked("sharded").Sharded(x, single_group())},
    "intervals": {
        "make": lambda x: worked("intervals").Interval(x, x),
        "value": lambda x: x.low,
        "rtol": 1e-6,
        # Ops without a body that it does not know, complex numbers, and what is out of a domain.
        "refuses": (tl.DispatchError, tl.DTypeError, ArithmeticError),
    },
}
CLASSES = {
    "flop_counter": "Counted",
    "nan_finder": "Checked",
    "units": "Measured",
    "fake_quantised": "Quantised",
    "sharded": "Sharded",
    "intervals": "Interval",
}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_right_on_every_op_alone_and_with_the_others(name: str) -> None:
    cls = getattr(worked(name), CLASSES[name])
    report = check_tensor_like(cls, names=BUILT_IN, **HOW[name])
    refused = [finding for finding in report.findings if finding.detail.startswith("refused")]
    assert bool(refused) == (name == "intervals")


WRAPPERS: dict[str, Any] = {
    "flop_counter": lambda x: worked("flop_counter").Counted(x, {}),
    "nan_finder": lambda x: worked("nan_finder").Checked(x),
    "units": lambda x: worked("units").Measured(x),
    "fake_quantised": lambda x: worked("fake_quantised").Quantised(x),
    "sharded": lambda x: worked("sharded").Sharded(x, single_group()),
    "intervals": lambda x: worked("intervals").Interval(tl.tensor(x), tl.tensor(x)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", MODELS)
def test_all_models_take_a_whole_step_on_each(name: str, model: str) -> None:
    """Forward, backward, clipping, update and running statistics; nothing falls back to plain."""
    cls = getattr(worked(name), CLASSES[name])
    loss, found = models()[model].step(lambda x: tl.Tensor(WRAPPERS[name](x)))
    assert isinstance(loss.__wrapped__, cls)
    if name == "fake_quantised":  # gradients, and so what is learnt, are not
        assert all(np.isfinite(np.asarray(x)).all() for x in found)
        return
    assert all(isinstance(x.__wrapped__, cls) for x in found)
    if name != "intervals":  # which has no elements, but bounds
        agree((np.asarray(loss), list(map(np.asarray, found))), models()[model].stepped(), 1e-4)


def test_units_that_a_step_gives_no_meaning_are_refused_by_name() -> None:
    p = tl.Parameter([1.0, 2.0])
    F.sum(p * measured([1.0, 2.0], m=1)).backward()
    with pytest.raises(TypeError, match="units must be equal"):
        tl.optim.SGD([p], lr=0.1).step()  # a weight without unit minus metres


# The counter.


def costs_of(function: Any, *shapes: tuple[int, ...]) -> dict[str, list[int]]:
    """Calls, operations and bytes, by kind of op."""
    costs: dict[tuple[str, str], list[int]] = {}
    function(*(tl.Tensor(worked("flop_counter").Counted(tl.ones(s), costs)) for s in shapes))
    totals: dict[str, list[int]] = {}
    for (op, _), entry in costs.items():
        totals[op] = [a + b for a, b in zip(totals.get(op, [0, 0, 0]), entry, strict=True)]
    return totals


def test_counts_are_exact_for_products_convolutions_elements_and_reductions() -> None:
    assert costs_of(tl.matmul, (3, 4), (4, 5)) == {"MatMul": [1, 2 * 3 * 4 * 5, 4 * (12 + 20 + 15)]}
    assert costs_of(tl.matmul, (2, 3, 4), (4, 5))["MatMul"][1] == 2 * 2 * 3 * 4 * 5
    assert costs_of(tl.matmul, (4,), (4,))["MatMul"][1] == 2 * 4
    convolution = costs_of(lambda x, w: F.conv2d(x, w, padding=(1, 1)), (2, 3, 8, 8), (6, 3, 3, 3))
    moved = 4 * (2 * 3 * 64 + 6 * 3 * 9 + 2 * 6 * 64)
    assert convolution == {"Convolution": [1, 2 * (2 * 6 * 64) * 27, moved]}
    grouped = costs_of(lambda x, w: F.conv2d(x, w, groups=3), (1, 3, 5, 5), (3, 1, 3, 3))
    assert grouped["Convolution"][1] == 2 * (3 * 9) * 9
    assert costs_of(tl.add, (3, 1), (1, 4)) == {"Elemwise": [1, 12, 4 * (3 + 4 + 12)]}
    assert costs_of(tl.exp, (7,)) == {"Elemwise": [1, 7, 56]}
    assert costs_of(F.gelu, (7,))["Elemwise"][1] == 6 * 7  # 0.5 * max(x, m) * (1 + erf(x * c))
    assert costs_of(lambda x: tl.sum(x, axis=1), (3, 4)) == {"Reduce": [1, 9, 4 * (12 + 3)]}
    assert costs_of(tl.mean, (3, 4))["Reduce"][1] == 12
    assert costs_of(lambda x: tl.reshape(x, (12,)), (3, 4)) == {"Reshape": [1, 0, 96]}
    linear = costs_of(tl.nn.Linear(4, 5), (3, 4))
    assert linear["Linear"][1] == 2 * 3 * 4 * 5 + 3 * 5
    assert costs_of(F.softmax, (3, 4))["Softmax"][1] == 9 + 12 + 12 + 9 + 12


def test_costs_are_told_by_the_line_of_the_program() -> None:
    costs: dict[tuple[str, str], list[int]] = {}
    x = tl.Tensor(worked("flop_counter").Counted(tl.ones((2, 2)), costs))
    line = test_costs_are_told_by_the_line_of_the_program.__code__.co_firstlineno
    y = tl.exp(x)
    y = tl.exp(y)
    assert [place for _, place in costs] == [f"{__file__}:{line + 4}", f"{__file__}:{line + 5}"]


@pytest.mark.parametrize("name", MODELS)
def test_all_models_are_counted_forward_and_backward(name: str) -> None:
    model = models()[name]
    costs: dict[tuple[str, str], list[int]] = {}
    agree(
        model.gradients(lambda x: tl.Tensor(worked("flop_counter").Counted(x, costs))),
        model.gradients(),
    )
    kinds = {op for op, _ in costs}
    assert kinds & {"Linear", "Convolution", "Recurrence", "Attention"}
    assert sum(flops for _, flops, _ in costs.values()) > 1000


# The finder of NaNs.


def checked(x: Any) -> Any:
    return tl.Tensor(worked("nan_finder").Checked(x))


@pytest.mark.parametrize("name", MODELS)
def test_no_model_makes_a_nan_forward_or_backward(name: str) -> None:
    model = models()[name]
    agree(model.gradients(checked), model.gradients())


@pytest.mark.parametrize("name", [name for name in MODELS if name != "gpt"])
def test_the_first_infinity_of_every_model_is_found(name: str) -> None:
    model = models()[name]
    model.network.parameters()[0].set_value(
        np.full(model.network.parameters()[0].shape, 3e38, np.float32)
    )
    with pytest.raises(FloatingPointError) as caught:
        model.loss(checked)
    assert "support/models.py:" in str(caught.value)  # the line that calls the layer


def test_a_nan_of_the_forward_pass_is_found_on_its_line() -> None:
    line = test_a_nan_of_the_forward_pass_is_found_on_its_line.__code__.co_firstlineno
    x = checked([-1.0, 4.0])
    with pytest.raises(FloatingPointError) as caught:
        tl.log(x)
    assert str(caught.value) == f"Elemwise(mode='log'): the first NaN, at {__file__}:{line + 4}"


def test_a_nan_of_the_backward_pass_is_found_with_the_line_of_the_forward_pass() -> None:
    def norm(x: Any) -> Any:
        return tl.sum(tl.sqrt(x))

    line = norm.__code__.co_firstlineno
    with pytest.raises(FloatingPointError) as caught:
        tl.grad(norm)(checked([0.0, 4.0]))
    assert str(caught.value) == (
        f"Elemwise(mode='sqrt_dx'): the first infinity, at {__file__}:{line + 5}, of values "
        f"computed at {__file__}:{line + 1}"
    )
    with Level() as level:
        assert level.number == 1  # none was left open


# Units.


def measured(x: Any, **unit: float) -> Any:
    return tl.Tensor(worked("units").Measured(x, **unit))


def test_products_add_powers_and_roots_halve_them() -> None:
    length, time = measured([3.0, 8.0], m=1), measured([2.0, 4.0], s=1)
    assert (length / time).__wrapped__.unit == {"m": 1, "s": -1}
    assert (length * length).__wrapped__.unit == {"m": 2}
    assert tl.sqrt(length * length).__wrapped__.unit == {"m": 1}
    assert (length / length).__wrapped__.unit == {}
    assert (length @ time).__wrapped__.unit == {"m": 1, "s": 1}
    assert tl.sum(2 * length).__wrapped__.unit == {"m": 1}
    assert (length > length * 0.5).__wrapped__.unit == {}
    assert tl.exp(length / length).__wrapped__.unit == {}
    assert F.softmax(length / measured(1.0, m=1)).__wrapped__.unit == {}


def test_units_that_do_not_fit_are_refused_on_the_line() -> None:
    line = test_units_that_do_not_fit_are_refused_on_the_line.__code__.co_firstlineno
    length, time = measured([3.0], m=1), measured([2.0], s=1)
    with pytest.raises(TypeError) as caught:
        length + time
    assert "Elemwise(mode='add'): units must be equal" in str(caught.value)
    assert str(caught.value).endswith(f"at {__file__}:{line + 4}")
    with pytest.raises(TypeError, match="units must be equal"):
        length + 1.0
    with pytest.raises(tl.DispatchError, match="exp"):
        tl.exp(length)


def test_derivatives_have_units() -> None:
    slope = tl.grad(lambda x: tl.sum(x * x * x))(measured([2.0], m=1))
    assert slope.__wrapped__.unit == {"m": 2}
    assert slope.item() == 12.0


@pytest.mark.parametrize("name", MODELS)
def test_models_of_numbers_without_units_run(name: str) -> None:
    """A network's weights have no unit: neither may its inputs, or its bias says so."""
    model = models()[name]
    agree(model.gradients(measured), model.gradients())
    if name != "gpt":  # whose tokens are integers: they name rows, and have no unit
        with pytest.raises((TypeError, tl.DispatchError)):
            model.loss(lambda x: measured(x, m=1))


# Fake quantisation.


def steps_of(x: Any) -> Any:
    """The same grid, in NumPy."""
    step = np.abs(x).max() / np.float32(127)
    return np.round(x / step) * step


def test_quantised_products_and_their_gradients_are_those_of_rounded_factors() -> None:
    x, w = (RNG.normal(size=s).astype(np.float32) for s in ((3, 4), (4, 2)))
    weight = tl.tensor(w, requires_grad=True)
    y = tl.matmul(tl.Tensor(worked("fake_quantised").Quantised(x)), weight)
    np.testing.assert_allclose(np.asarray(y.detach()), steps_of(x) @ steps_of(w), rtol=1e-5)
    tl.sum(y * y).backward()
    expected = steps_of(x).T @ (2 * steps_of(x) @ steps_of(w))
    np.testing.assert_allclose(np.asarray(weight.grad), expected, rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_all_models_learn_quantised(name: str) -> None:
    model = models()[name]
    quantised = worked("fake_quantised").Quantised
    loss, gradients = model.gradients(lambda x: tl.Tensor(quantised(x)))
    exact_loss, exact = model.gradients()
    assert 0 < abs(loss - exact_loss) < 0.05
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    flat, exact_flat = (np.concatenate([g.ravel() for g in gs]) for gs in (gradients, exact))
    cosine = flat @ exact_flat / np.linalg.norm(flat) / np.linalg.norm(exact_flat)
    assert cosine > 0.98


# Shards.


def sharded_step(name: str, count: int) -> Any:
    """Loss and gradients of a model whose batch is divided among processes."""
    model, axis = models()[name], 1 if name == "lstm" else 0
    x = model.inputs

    def step(group: Any) -> Any:
        part = group.part(x, axis)
        like = worked("sharded").Sharded(part, group, axis - x.ndim, x.shape[axis])
        return model.gradients(lambda _: tl.Tensor(like))

    return worked("processes").run(step, count)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_processes_together_give_what_one_gives(name: str, count: int) -> None:
    agree(sharded_step(name, count), models()[name].gradients())


def test_layers_and_their_weights_gradients_stay_local() -> None:
    sharded = worked("sharded").Sharded

    def run(group: Any) -> Any:
        x, w = np.ones((4, 3), np.float32), tl.ones((3, 2))
        like = tl.Tensor(sharded(group.part(x, 0), group, -2, 4))
        y = tl.tanh(tl.matmul(like, w)).__wrapped__
        inner = tl.matmul(like.T, like).__wrapped__
        return y.value.shape, y.shape, y.axis, inner.axis, np.asarray(tl.Tensor(inner)).tolist()

    local, whole, axis, inner_axis, gram = worked("processes").run(run, 2)
    assert (local, whole, axis, inner_axis) == ((2, 2), (4, 2), -2, 0)
    assert gram == [[4.0] * 3] * 3


def test_a_process_that_fails_makes_nobody_wait() -> None:
    def failing(group: Any) -> Any:
        if group.rank == 1:
            raise SystemExit(3)
        return group.exchange(np.ones(1))

    with pytest.raises(EOFError):
        worked("processes").run(failing, 3)


def test_no_process_is_left_behind() -> None:
    import multiprocessing

    worked("processes").run(lambda group: group.total(np.ones(2)), 3)
    assert multiprocessing.active_children() == []
