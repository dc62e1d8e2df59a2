"""Trial: the checks of a tensor-like on the example of one op, a method each.

They know nothing of ops and nothing of the tensor-like: its results are held against those of plain
tensors. So what a rule forgets, drops or leaves behind shows, whichever op it concerns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..imperative import (
    Carrier,
    DispatchError,
    Listing,
    RawTensor,
    ShapeError,
    Tensor,
    Tracer,
    apply,
    engine,
    vjp,
)
from ..imperative.levels import Level, unwrapped
from ..imperative.sizes import Size
from ..ops import OpBase
from ..transforms import jvp, vmap
from ..transforms.batched_call import UnequalExamplesError
from .corpus import Example
from .subject import Passing, Subject

_DERIVED_RTOL = 1e-9  # derivatives of tensor-likes are summed up in another order


class _Injected(Exception):
    """What is raised on purpose."""


class Skipped(Exception):
    """A check has nothing to compare."""


class Trial:
    """The checks on one example."""

    def __init__(self, subject: Subject, example: Example) -> None:
        self.subject = subject
        self.example = example
        self.tensors = example.tensors()
        self.plain = example(*self.tensors)

    def made(self, x: Any) -> Any:
        return self.subject.make(unwrapped(x))

    def bare(self) -> list[Any]:
        return [self.made(x) for x in self.tensors]

    def alone(self) -> None:
        found = self.example(*self.bare())
        self.subject.compare(found, self.plain, 0.0)
        self.subject.all_are(found)

    def in_tensor(self) -> None:
        found = self.example(*map(Tensor, self.bare()))
        self.subject.compare(found, self.plain, 0.0)
        self.subject.all_are(found, Tensor)

    def mixed(self) -> None:
        """Beside plain tensors, each argument in turn; beside numbers."""
        if len(self.tensors) < 2:
            raise Skipped
        for i in range(len(self.tensors)):
            tensors = [self.made(x) if i == j else x for j, x in enumerate(self.tensors)]
            found = self.example(*(Tensor(x) for x in tensors))
            self.subject.compare(found, self.plain, 0.0)
            self.subject.all_are(found, Tensor)
            found = self.example(*(x if i == j else unwrapped(x) for j, x in enumerate(tensors)))
            self.subject.compare(found, self.plain, 0.0)
            self.subject.all_are(found)

    def numbers(self) -> None:
        """Beside a Python number on either side."""
        example = self.example
        kinds = {x.dtype.kind for x in self.tensors}
        if example.entry.kind != "scalar" or len(self.tensors) != 2 or kinds != {"floating"}:
            raise Skipped
        x, y = self.tensors
        numbers = [float(np.asarray(z).flat[0]) for z in (x, y)]  # what the op takes in this place
        for args in ((x, numbers[1]), (numbers[0], y)):
            wrapped = [a if isinstance(a, float) else Tensor(self.made(a)) for a in args]
            self.subject.compare(example(*wrapped), example(*args), 0.0)

    def moving(self) -> list[Any]:
        if not self.example.has_gradient:
            raise Skipped
        return [self.tensors[i] for i in self.example.moving()]

    def gradient(self) -> None:
        """Reverse mode: the tensor-like under what records."""
        xs = self.moving()
        self._compare_pulled(self.example.of_moving, xs, [Tensor(self.made(x)) for x in xs])

    def made_inside(self) -> None:
        """The tensor-like around what records, made inside of the function."""
        if not issubclass(self.subject.cls, Carrier):
            raise Skipped
        xs = self.moving()
        self._compare_pulled(self._on_made, xs, xs)

    def _on_made(self, *xs: Any) -> tuple[Any, ...]:
        return self.example.of_moving(*(Tensor(self.made(x)) for x in xs))

    def _compare_pulled(self, function: Any, xs: list[Any], given: list[Any]) -> None:
        wanted, pull = vjp(self.example.of_moving, *xs)
        seeds = tuple(Tensor(np.ones(y.shape, np.asarray(y).dtype)) for y in wanted)
        value, pull_like = vjp(function, *given)
        self.subject.compare(value, wanted, 0.0)
        self.subject.compare(pull_like(seeds), pull(seeds), _DERIVED_RTOL)

    def tangent(self) -> None:
        """Forward mode: the tensor-like as value and as tangent."""
        xs = tuple(self.moving())
        wanted, moved = jvp(self.example.of_moving, xs, xs)
        given = tuple(Tensor(self.made(x)) for x in xs)
        found, like_moved = jvp(self.example.of_moving, given, given)
        self.subject.compare(found, wanted, _DERIVED_RTOL)
        self.subject.compare(like_moved, moved, _DERIVED_RTOL)

    def batching(self) -> None:
        """The tensor-like under what maps over examples."""
        xs = [Tensor(np.stack([np.asarray(x)] * 2)) for x in self.tensors]
        try:
            wanted = vmap(self.example)(*xs)
        except UnequalExamplesError:
            raise Skipped from None
        found = vmap(self.example)(*(Tensor(self.made(x)) for x in xs))
        self.subject.compare(found, wanted, _DERIVED_RTOL)

    def listing(self) -> None:
        """Around what has no elements: shapes and dtypes go through."""
        listing = Listing()
        inputs = [listing.input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(self.tensors)]
        try:
            found = self.example(*(self.subject.make(x) for x in inputs))
        except (DispatchError, ShapeError) as error:
            if error.missing == "elements":
                raise Skipped from None
            raise
        for y, right in zip(found, self.plain, strict=True):
            # Sizes that follow from elements are not known there.
            shape = tuple(
                known if isinstance(size, Size) else size
                for size, known in zip(y.shape, right.shape, strict=True)
            )
            if (shape, y.dtype) != (right.shape, right.dtype):
                raise AssertionError(f"says {y.dtype.name}{y.shape} of {right.dtype}{right.shape}")

    def another(self) -> None:
        """With another user's tensor-like: inside, outside and beside it."""
        raws = [unwrapped(x) for x in self.tensors]
        make, around = self.subject.make, self.subject.around
        nested = [[make(Passing(x)) for x in raws], [Passing(make(x)) for x in raws]]
        # Beside it: the other goes around by its class, or the one under test by its value.
        for turn in range(2 if len(raws) > 1 else 0):
            for kinds in ((make, around), (lambda x: make(Passing(x)), Passing)):
                nested.append([kinds[(i + turn) % 2](x) for i, x in enumerate(raws)])
        for xs in nested:
            self.subject.compare(self.example(*map(Tensor, xs)), self.plain, 0.0)

    def exception(self) -> None:
        """What is raised below comes out, and nothing is left behind."""

        def apply_failing(op: OpBase, *xs: RawTensor) -> Any:
            raise _Injected

        xs, before = self.bare(), state()
        with apply.registered(apply_failing):
            try:
                self.example(*xs)
            except _Injected:
                pass
            else:
                raise AssertionError("swallows an exception that is raised below")
        if state() != before:
            raise AssertionError(f"leaves (recording, level, engine) as {state()}, not {before}")
        self.alone()


CHECKS: dict[str, Callable[[Trial], None]] = {
    "alone": Trial.alone,
    "Tensor": Trial.in_tensor,
    "mixed": Trial.mixed,
    "numbers": Trial.numbers,
    "vjp": Trial.gradient,
    "inside": Trial.made_inside,
    "jvp": Trial.tangent,
    "vmap": Trial.batching,
    "Listing": Trial.listing,
    "another": Trial.another,
    "raising": Trial.exception,
}


def state() -> tuple[Any, ...]:
    """What a transform or a mode that did not end would have changed."""
    probe = Tensor(Tracer(RawTensor(1.0))) * 1.0  # recorded, unless recording is still paused
    with Level() as level:
        return probe.requires_grad, level.number, tuple(sorted(engine.options().items()))
