"""Traced functions that keep tensors themselves: in attributes, containers, globals, arguments."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn

from ..support.control_programs import module_of
from ..support.keeping_programs import change, shown, source

KINDS = [jit.trace, jit.to_static]
CALLS = 9


def _x(seed: int, *shape: int) -> Any:
    return tl.tensor(np.random.default_rng(seed).standard_normal(shape or (3,)).astype(np.float32))


def _run(module: ModuleType, kind: Callable[[Any], Any], seed: int) -> tuple[list[Any], Any]:
    """What there is after each of some calls, between which others change things, too."""
    rng = np.random.default_rng(seed + 1)
    keeper, seen = module.Keeper(), []
    step = kind(keeper.step)
    shared = [tl.ones(3)]
    for call in range(CALLS):
        x = tl.tensor(rng.standard_normal(3).astype(np.float32))
        x.requires_grad = seed % 4 > 1
        box = [[], [tl.tensor([0.5, 0.0, 1.0])], shared][rng.integers(3)]
        try:
            with tl.no_grad() if seed % 4 == 3 and call % 2 else contextlib.nullcontext():
                y = step(x, box) if seed % 3 == 0 else step(x)
            _pull_back(y)
        except Exception as error:
            seen.append(("raises", type(error).__name__))
            break
        seen.append([shown(keeper, module, y, box), None if x.grad is None else x.grad.tolist()])
        change(keeper, module, rng)
    return seen, step


def _pull_back(y: Any) -> None:
    """Gradients of all that is returned."""
    leaves = list(y.values()) if isinstance(y, dict) else y if isinstance(y, (tuple, list)) else [y]
    moving = [x.sum() for x in leaves if isinstance(x, tl.Tensor) and x.requires_grad]
    if moving:
        sum(moving[1:], moving[0]).backward(retain_graph=True)


def _is_close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 2e-3 * max(1.0, abs(a))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_is_close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_close(a[key], b[key]) for key in a)
    return bool(a == b)


def _compare(seeds: range, path: Path) -> None:
    served = 0
    for seed in seeds:
        text = source(seed, has_box=seed % 3 == 0)
        expected, _ = _run(module_of(path / f"plain_{seed}.py", {"": text}), lambda f: f, seed)
        for kind in KINDS:
            module = module_of(path / f"{kind.__name__}_{seed}.py", {"": text})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", jit.RetraceWarning)
                found, step = _run(module, kind, seed)
            assert _is_close(expected, found), (seed, kind, text)
            served += sum(program.calls for program in step.programs())
    assert served > 2 * len(seeds)  # by programs


def test_random_functions_that_keep_tensors_keep_the_same(tmp_path: Path) -> None:
    _compare(range(60), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_functions_that_keep_tensors_keep_the_same(tmp_path: Path) -> None:
    _compare(range(60, 1500), tmp_path)


class Cell(nn.Layer):
    """A recurrent layer that keeps its last output."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.h = tl.zeros((2, 3))

    def forward(self, x: Any) -> Any:
        """One step."""
        self.h = F.tanh(self.a(x) + self.b(self.h))
        return self.h


class Cache(nn.Layer):
    """Keys of all calls so far."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: Any = None

    def forward(self, k: Any) -> Any:
        """Appends."""
        self.keys = k if self.keys is None else F.concat([self.keys, k], axis=0)
        return F.sum(self.keys * k[0])


def _twins(cls: Any) -> tuple[Any, Any]:
    one, other = cls(), cls()
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        q.set_value(p)
    return one, other


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_keeps_its_last_output_is_one_program(kind: Callable[[Any], Any]) -> None:
    plain, layer = _twins(Cell)
    traced = kind(layer.forward)
    with tl.no_grad():
        for call in range(6):
            if call == 4:
                plain.h = layer.h = tl.zeros((2, 3))
            x = _x(call, 2, 3)
            expected, found = plain(x), traced(x)
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
            assert layer.h is found
    (program,) = traced.programs()
    assert program.calls >= 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_that_grows_is_a_program_of_unknown_sizes(kind: Callable[[Any], Any]) -> None:
    plain, layer = Cache(), Cache()
    traced = kind(layer.forward)
    for call in range(8):
        x = _x(call, 1, 3)
        np.testing.assert_allclose(traced(x).item(), plain(x).item(), rtol=1e-5)
        assert layer.keys.shape == (call + 1, 3)
    assert len(traced.programs()) == 2
    assert traced.programs()[-1].calls >= 5


OPTIONS: list[dict[str, Any]] = [
    {"symbolic": True}, {"strict": True}, {"recompute": True}, {"profiling": True},
    {"capture_as_const": True}, {"opt_level": 0}, {"on_change": "error"}, {"cache_size": 1},
    {"input_spec": [jit.InputSpec((None, 3))]},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_kept_with_all_options(options: dict[str, Any]) -> None:
    plain, layer = _twins(Cell)
    traced = jit.trace(layer, **options)
    for call in range(5):
        x = _x(call, 2, 3)
        np.testing.assert_allclose(traced(x).tolist(), plain(x).tolist(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(layer.h.tolist(), plain.h.tolist(), rtol=1e-5, atol=1e-6)


def test_gradients_go_through_what_was_kept() -> None:
    plain, layer = _twins(Cell)
    traced = jit.trace(layer)
    for one, f in ((plain, plain), (layer, traced)):
        losses = [F.sum(f(_x(step, 2, 3)) ** 2) for step in range(4)]
        sum(losses[1:], losses[0]).backward()
        assert one.b.weight.grad is not None
    for p, q in zip(plain.parameters(), layer.parameters(), strict=True):
        np.testing.assert_allclose(q.grad.numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_what_is_only_appended_to_is_not_read() -> None:
    kept: list[Any] = []

    @jit.trace
    def step(x: Any) -> Any:
        kept.append(x * 2)
        return x + 1

    for call in range(5):
        step(tl.tensor([float(call)]))
    assert [y.tolist() for y in kept] == [[0.0], [2.0], [4.0], [6.0], [8.0]]
    assert len(step.programs()) == 1


def test_a_flag_that_is_turned_each_time_is_turned_by_programs() -> None:
    class Turning:
        def __init__(self) -> None:
            self.on = False

        def step(self, x: Any) -> Any:
            self.on = not self.on
            return x * 2 if self.on else x * 3

    turning = Turning()
    step = jit.trace(turning.step)
    assert [step(tl.tensor(1.0)).item() for _ in range(6)] == [2.0, 3.0] * 3
    assert len(step.programs()) == 2


def test_a_container_of_the_arguments_is_that_of_each_call() -> None:
    @jit.trace
    def step(x: Any, box: dict[str, list[Any]]) -> Any:
        box["y"].append(x * 2)
        return x

    for call in range(4):
        box: dict[str, list[Any]] = {"y": []}
        step(tl.tensor([float(call)]), box)
        assert [y.tolist() for y in box["y"]] == [[2.0 * call]]
    assert len(step.programs()) == 1


def test_containers_that_were_there_are_returned_themselves() -> None:
    class Holder:
        def __init__(self) -> None:
            self.items: list[Any] = [tl.zeros(1)]

        def step(self, x: Any, box: list[Any]) -> Any:
            self.items[0] = x * 2
            box.append(x)
            return x, {"items": self.items, "box": box}

    holder = Holder()
    step = jit.trace(holder.step)
    for call in range(4):
        box: list[Any] = []
        x, found = step(tl.tensor([float(call)]), box)
        assert found["items"] is holder.items and found["box"] is box
        assert box[0].tolist() == x.tolist() and holder.items[0].tolist() == [2.0 * call]
    same = holder.items
    same.clear()
    same.append(tl.ones(1))
    _, found = step(tl.tensor([7.0]), same)  # as an argument, too
    assert [y.tolist() for y in holder.items] == [[14.0], [7.0]] and found["box"] is same


def test_two_places_have_one_tensor() -> None:
    class Holder:
        first: Any = None
        second: Any = None

        def step(self, x: Any) -> Any:
            y = x * 2
            self.first, self.second = y, [y]
            return y, y

    holder = Holder()
    step = jit.trace(holder.step)
    for _ in range(4):
        one, other = step(tl.tensor([1.0]))
        assert one is other is holder.first is holder.second[0]


@functools.lru_cache
def _mask(count: int) -> Any:
    return F.tril(F.ones((count, count)))


def test_what_is_kept_out_of_reach_has_its_value() -> None:
    _mask.cache_clear()
    step = jit.trace(lambda x: _mask(x.shape[0]) @ x)
    for _ in range(4):
        assert step(tl.ones((3, 1))).tolist() == [[1.0], [2.0], [3.0]]
    assert _mask(3).tolist() == [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    assert [program.calls for program in step.programs()] == [2]


class Opaque:
    """An object that no program takes apart."""

    def __init__(self, y: Any) -> None:
        self.y = y


def test_a_function_that_returns_tensors_in_objects_runs_at_once() -> None:
    step = jit.trace(lambda x: Opaque(x * 2))
    with pytest.warns(jit.RetraceWarning, match="keeps tensors where no program reaches"):
        found = [step(tl.tensor([float(call)])).y.tolist() for call in range(9)]
    assert found == [[2.0 * call] for call in range(9)]


def test_a_list_that_is_read_and_grows_runs_at_once_after_some_calls() -> None:
    kept: list[Any] = []

    def step(x: Any) -> Any:
        kept.append(x)
        return F.sum(F.stack(kept))

    traced = jit.trace(step)
    with pytest.warns(jit.RetraceWarning, match="of another kind in each call"):
        found = [traced(tl.tensor(1.0)).item() for _ in range(14)]
    assert found == [float(call + 1) for call in range(14)]


def test_a_leaf_that_is_written_into_has_a_history_afterwards() -> None:
    def step(x: Any) -> Any:
        y = x * 1.0
        x[1] = F.sum(x)
        return y

    traced = jit.trace(step)
    x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.warns(jit.RetraceWarning, match="whose gradient is wanted"):
        traced(x).sum().backward()
    assert not x.is_leaf and x.grad is None


def test_a_saved_layer_goes_on_from_what_it_kept(tmp_path: Path) -> None:
    layer = Cell()
    with tl.no_grad():
        traced = jit.trace(layer)
        traced.dump(tmp_path / "first.tl", _x(0, 2, 3))
        assert layer.h.tolist() == [[0.0] * 3] * 2  # nothing is changed by it
        for call in range(3):
            traced(_x(call, 2, 3))
        traced.dump(tmp_path / "later.tl")  # of the last call
        loaded = jit.load(tmp_path / "later.tl")
        for call in range(3):
            x = _x(call + 7, 2, 3)
            np.testing.assert_allclose(loaded(x).numpy(), layer(x).numpy(), rtol=1e-5)
        fresh, first = Cell(), jit.load(tmp_path / "first.tl")
        for p, q in zip(fresh.parameters(), layer.parameters(), strict=True):
            p.set_value(q)
        for call in range(3):
            x = _x(call + 7, 2, 3)
            np.testing.assert_allclose(first(x).numpy(), fresh(x).numpy(), rtol=1e-5)


def test_what_changes_its_kind_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(tl.ArgumentError, match=r"must be of one kind.*self\.keys"):
        jit.trace(Cache()).dump(tmp_path / "cache.tl", _x(0, 1, 3))


def test_names_of_arguments_are_theirs_in_any_order(tmp_path: Path) -> None:
    def step(x: Any, b: Any, a: Any) -> Any:
        return x - b * 2 + a

    concrete = jit.trace(step).concrete(tl.ones(1), b=tl.ones(2), a=tl.ones(2))
    assert sorted(concrete.inputs) == ["a", "b", "x"]
    shapes = {name: concrete.program.shape(concrete.program.find(name)) for name in concrete.inputs}
    assert shapes["x"] == (1,)
    jit.trace(step).dump(tmp_path / "step.tl", tl.ones(1), b=tl.ones(2), a=tl.ones(2))
    loaded = jit.load(tmp_path / "step.tl")
    found = loaded(x=tl.ones(1), b=tl.ones(2), a=tl.full((2,), 5.0))
    assert found.tolist() == [4.0, 4.0]
