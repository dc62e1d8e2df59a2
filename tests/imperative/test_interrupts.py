"""Ctrl-C anywhere around a block leaves no mode, no level and no `no_grad` on.

Python looks at signals when a call of a function in Python begins and when any call has returned; a
`with` statement enters and leaves a block with none in between if that is done in C. So the
interrupt is raised at every such place in turn: by a profile function, and at the instruction that
enters the block.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import _C


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
]


def set_options(options: dict[str, Any]) -> None:
    tl.engine.mode(options.pop("mode"), **options)


def state() -> tuple[Any, ...]:
    probe = _C.open_tape()
    level = probe.level
    probe.close()
    drawn = type(tl.random.normal((2,)).__wrapped__)
    return level, _C.paused_level(), _C.engine_options(), drawn, _C.is_profiling()


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
    while interrupted_at(place, program):
        assert state() == before, place
        place += 1
    assert place > 3
    assert state() == before


@pytest.mark.parametrize(
    "program", [unrecorded, recorded_inside, lazy, nested, profiled, on_a_tape]
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
