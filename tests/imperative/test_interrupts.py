"""Ctrl-C anywhere around a block leaves no mode, no level and no `no_grad` on.

Python looks at signals when a call of a function in Python begins and when any call has returned; a
`with` statement enters and leaves a block with none in between if that is done in C. So the
interrupt is raised at every such place in turn: by a profile function, and at the instruction that
enters the block.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import _C
from tensorlike.imperative import default_stream

F = tl.functional


def assigned() -> None:
    p = tl.Parameter([1.0, 2.0])
    p.set_value([3.0, 4.0])


def unrecorded() -> None:
    with tl.no_grad():
        tl.tensor([1.0]) * 2


def recorded_inside() -> None:
    with tl.no_grad(), tl.enable_grad():
        tl.tensor([1.0]) * 2


def lazy() -> None:
    with tl.engine.mode("lazy", threshold=1):
        tl.tensor([1.0]) * 2


def nested() -> None:
    with tl.engine.mode("async", threshold=1), tl.engine.mode("lazy", threshold=1):
        tl.tensor([1.0]) * 2


@tl.no_grad()
def decorated() -> None:
    tl.tensor([1.0]) * 2


def differentiated() -> None:
    tl.grad(lambda x: x * x)(2.0)


def profiled() -> None:
    with tl.profile() as p:
        tl.tensor([1.0]) * 2
    assert len(p.events) == 1


def on_a_tape() -> None:
    with tl.Tape() as tape:
        tl.tensor([1.0], requires_grad=True) * 2
    assert len(tape) == 1


def mapped() -> None:
    tl.vmap(lambda x: x * tl.random.normal((2,)))(tl.ones((3, 2)))


def pushed_forward() -> None:
    tl.jvp(lambda x: x * x, (2.0,), (1.0,))


def watched() -> None:
    with tl.autograd.detect_anomaly():
        tl.grad(tl.exp)(1.0)


@tl.autograd.detect_anomaly()
def watched_by_a_decorator() -> None:
    tl.grad(tl.exp)(1.0)


class Noted(tl.Carrier):
    """For a rule."""


def apply_noted(op: tl.ops.OpBase, *xs: Noted) -> Any:
    return tl.apply.super(op, *xs)


def ruled() -> None:
    with tl.apply.registered(apply_noted):
        tl.tensor([1.0]) * 2


LAYER = tl.nn.Linear(2, 2, seed=0)
NORM = tl.nn.BatchNorm1d(2)


def recomputed() -> None:
    def dropped(x: tl.Tensor, layer: Any, norm: Any) -> tl.Tensor:
        return F.sum(F.dropout(norm(layer(x)), p=0.5))

    tl.grad(tl.checkpoint(dropped))(tl.ones((3, 2)), LAYER, NORM)
    tl.checkpoint(LAYER)(tl.tensor([[1.0, 2.0]], requires_grad=True)).sum().backward()


def called_with_others() -> None:
    tl.nn.functional_call(LAYER, {"weight": tl.zeros((2, 2))}, (tl.ones((3, 2)),))


def differentiated_by_a_layer() -> None:
    tl.grad(lambda layer: F.sum(layer(tl.ones((3, 2)))))(LAYER)


PROGRAMS = [
    assigned,
    unrecorded,
    recorded_inside,
    lazy,
    nested,
    decorated,
    differentiated,
    profiled,
    on_a_tape,
    mapped,
    pushed_forward,
    watched,
    watched_by_a_decorator,
    ruled,
    recomputed,
    called_with_others,
    differentiated_by_a_layer,
]


def set_options(options: dict[str, Any]) -> None:
    tl.engine.mode(options.pop("mode"), **options)


def state() -> tuple[Any, ...]:
    probe = _C.open_tape()
    level = probe.level
    probe.close()
    drawn = type(tl.random.normal((2,)).__wrapped__)
    return (
        level,
        _C.paused_level(),
        _C.engine_options(),
        drawn,
        _C.is_profiling(),
        looks_for_anomalies(),
        _C.set_rule_enabled(apply_noted, True),
        default_stream.state()[0],
        [(type(p.__wrapped__), p.tolist()) for p in LAYER.parameters()],
    )


def looks_for_anomalies() -> bool:
    try:
        tl.grad(lambda x: tl.sqrt(x * 0))(1.0)
    except tl.AutodiffError:
        return True
    return False


def interrupted_at(place: int, program: Callable[[], None]) -> bool:
    """Runs it and interrupts at a call or return; False where there are not so many."""
    left = place

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event == "c_call" or argument is sys.setprofile:
            return  # there Python looks at signals when the call has returned
        del argument  # the frame of this function, and so the error, would hold it
        if left == 0:
            left -= 1
            raise KeyboardInterrupt
        left -= 1

    sys.setprofile(watch)
    try:
        program()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return left < 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_an_interrupt_at_every_call_leaves_nothing_on(program: Callable[[], None]) -> None:
    program()
    before = state()
    place = 0
    taken = 0
    while interrupted_at(place, program):
        assert state() == before, place
        assert default_stream.state()[1] > taken, "draws are not taken again"
        taken = default_stream.state()[1]
        place += 1
    assert place > 3
    assert state() == before


@pytest.mark.parametrize(
    "program", [unrecorded, recorded_inside, lazy, nested, profiled, on_a_tape, watched, ruled]
)
def test_an_interrupt_before_a_block_is_entered_leaves_nothing_on(
    program: Callable[[], None],
) -> None:
    before = state()
    entries = [
        instruction.offset
        for instruction in dis.get_instructions(program)
        if instruction.opname in ("BEFORE_WITH", "SETUP_WITH")
    ]
    assert entries
    for entry in entries:

        def watch(frame: FrameType, event: str, _: Any, entry: int = entry) -> Any:
            frame.f_trace_opcodes = True
            if event == "opcode" and frame.f_lasti == entry:
                raise KeyboardInterrupt
            return watch if frame.f_code is program.__code__ else None

        sys.settrace(watch)
        try:
            with pytest.raises(KeyboardInterrupt):
                program()
        finally:
            sys.settrace(None)
        assert state() == before


def test_a_mode_that_is_set_outside_of_a_block_stays_and_a_block_gives_it_back() -> None:
    before = tl.engine.options()
    try:
        tl.engine.mode("lazy", threshold=5)
        assert tl.engine.options()["threshold"] == 5
        with tl.engine.mode("async", threshold=6) as block:
            tl.engine.mode("sync", threshold=7)  # for the rest of the block
            assert tl.engine.options()["threshold"] == 7
        assert tl.engine.options()["mode"] == "lazy"
        with block:
            assert tl.engine.options()["threshold"] == 6
        assert tl.engine.options()["threshold"] == 5
    finally:
        set_options(before)


def test_blocks_may_overlap() -> None:
    tl.engine.mode("sync")
    before = tl.engine.options()
    first = tl.engine.mode("lazy", threshold=11)
    second = tl.engine.mode("async", threshold=12)
    with first:
        second.__enter__()
        assert tl.engine.options()["threshold"] == 12
    assert tl.engine.options()["threshold"] == 12
    second.__exit__(None, None, None)
    assert tl.engine.options() == before


def test_a_state_is_loaded_whole_or_not_at_all() -> None:
    layer = tl.nn.Linear(2, 3, seed=0)
    state = {name: tl.ones(p.shape) for name, p in layer.named_parameters()}
    old, new = ([p.tolist() for p in held] for held in (layer.parameters(), state.values()))
    kept = {name: p.detach().numpy().copy() for name, p in layer.named_parameters()}
    place = 0
    while interrupted_at(place, lambda: layer.load_state_dict(state)):
        assert [p.tolist() for p in layer.parameters()] in (old, new), place
        layer.load_state_dict(kept)
        place += 1
    assert place > 3


def test_blocks_that_look_for_anomalies_may_overlap() -> None:
    first, second = tl.autograd.detect_anomaly(), tl.autograd.detect_anomaly()
    with first:
        second.__enter__()
    assert looks_for_anomalies()
    second.__exit__(None, None, None)
    assert not looks_for_anomalies()


def test_what_is_computed_again_draws_again_and_other_threads_go_on() -> None:
    drawn: list[Any] = []

    def function(x: tl.Tensor) -> tl.Tensor:
        drawn.append(tl.random.normal((3,)).tolist())
        if len(drawn) == 2:  # the second time
            thread = threading.Thread(target=lambda: others.append(default_stream.state()))
            thread.start()
            thread.join()
        return x * 2

    others: list[Any] = []
    y = tl.checkpoint(function)(tl.tensor([1.0, 2.0], requires_grad=True)).sum()
    tl.random.normal((3,))
    before = default_stream.state()
    y.backward()
    assert drawn[0] == drawn[1]
    assert others == [before]
    assert default_stream.state() == before
