"""Arguments that are objects, or containers of tensors: what of them counts, and what does not."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit


def test_attributes_of_objects_among_the_arguments_are_guarded() -> None:
    class Settings:
        scale = 2.0

    class Owner:
        def __init__(self) -> None:
            self.settings = Settings()

    @jit.trace
    def scaled(owner: Any, x: Any, other: Any = None) -> Any:
        settings = owner.settings
        return x * settings.scale + (0 if other is None else other.scale)

    owner, other, x = Owner(), Settings(), tl.tensor([1.0])
    for scale in (2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 2.0):
        owner.settings.scale = scale
        assert scaled(owner, x).item() == scale
        assert scaled(owner, x, other).item() == scale + 2.0
    assert sum(quick.calls for quick in scaled._quick) > 0
    owner.settings = Settings()
    other.scale = 7.0
    assert scaled(owner, x, other).item() == 9.0
    assert scaled(Owner(), x).item() == 2.0


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_tensors_in_containers_are_others_in_each_call(kind: Any) -> None:
    shared = tl.tensor([10.0])

    @kind
    def total(xs: Any, named: Any) -> Any:
        return xs[0] + xs[1][0] * 2 + named["z"] * 3 + shared

    for n in range(8):
        x, y, z = (tl.tensor([float(n + i)]) for i in range(3))
        assert total([x, (y,)], {"z": z}).item() == n + 2 * (n + 1) + 3 * (n + 2) + 10
    assert len(total.programs()) == 1 and "at once" not in total.why()
    assert total([shared, (shared,)], {"z": shared}).item() == 70.0
    shared.set_value([1.0])
    assert total([shared, (x,)], {"z": z}).item() == 1 + 2 * 7 + 3 * 9 + 1


@pytest.mark.parametrize("kind", [jit.trace, jit.to_static])
def test_arguments_of_calls_long_ago_are_let_go(kind: Any) -> None:
    class Settings:
        scale = 2.0

    @kind(cache_size=4)
    def scaled(x: Any, settings: Any, number: int) -> Any:
        return x * settings.scale + number

    x, held = tl.tensor([1.0]), []
    for number in range(50):
        settings = Settings()
        held.append(weakref.ref(settings))
        assert scaled(x, settings, number).item() == 2.0 + number
    del settings
    gc.collect()
    assert sum(settings() is not None for settings in held) <= 16
    assert len(scaled.programs()) == 4
