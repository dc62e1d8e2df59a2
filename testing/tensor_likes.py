"""check_tensor_like: a tensor-like on the example of every declared op, alone and with the others.

The checks know nothing of ops and nothing of the tensor-like: its results are held against those of
plain tensors. So what a rule forgets, drops or leaves behind shows, whichever op it concerns.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
    stop_gradient,
    vjp,
)
from ..imperative.levels import Level, unwrapped
from ..imperative.sizes import Size
from ..ops import OpBase
from ..transforms import jvp, vmap
from ..transforms.batched_call import UnequalExamplesError
from .agreement import differ
from .corpus import Example, examples
from .reports import LikeFinding, LikeReport, TensorLikeError
from .training import training_programs

_TRAINED_RTOL = 1e-4  # of float32, after steps that go by signs of gradients
_DERIVED_RTOL = 1e-9  # derivatives of tensor-likes are summed up in another order


class Passing(Carrier):
    """The other tensor-like that the one under test meets: it adds nothing."""


class _Injected(Exception):
    """What is raised on purpose."""


class _Skipped(Exception):
    """A check has nothing to compare."""


class _Subject:
    """A tensor-like under test."""

    def __init__(
        self, cls: type, make: Callable[[Any], Any], value: Callable[[Any], Any], rtol: float | None
    ) -> None:
        self.cls = cls
        self.make = make
        self.value = value
        self.rtol = rtol
        self.around = type("Around", (Passing,), {}, above=cls)

    def array(self, y: Any) -> Any:
        """The elements under everything that may be around them."""
        y = stop_gradient(y)
        while not isinstance(y, RawTensor):
            y = unwrapped(y)
            if isinstance(y, self.cls):
                y = self.value(y)
            elif isinstance(y, Passing):
                y = y.value
            elif isinstance(y, Tracer):
                y = y.primal
            elif not isinstance(y, RawTensor):
                y = y.elements
        return np.asarray(y)

    def compare(self, found: Sequence[Any], wanted: Sequence[Any], rtol: float | None) -> None:
        """Holds results against plain ones: how many, shapes, dtypes, elements."""
        if len(found) != len(wanted):
            raise AssertionError(f"gave {len(found)} outputs; {len(wanted)} are right")
        for i, (y, right) in enumerate(zip(found, wanted, strict=True)):
            if (y is None) != (right is None):
                raise AssertionError(f"output {i}: got {y!r} where {right!r} is right")
            if y is None:
                continue
            expected = np.asarray(right)
            if (tuple(y.shape), y.dtype.name) != (expected.shape, expected.dtype.name):
                raise AssertionError(
                    f"output {i}: says {y.dtype.name}{tuple(y.shape)}; "
                    f"{expected.dtype.name}{expected.shape} is right"
                )
            got = self.array(y)
            if self.rtol is None:
                text = "" if got.shape == expected.shape else f"elements of shape {got.shape}"
            elif max(self.rtol, rtol or 0.0) == 0.0:
                same = np.array_equal(got, expected, equal_nan=got.dtype.kind in "fc")
                text = "" if same else differ(got, expected, 0.0) or "elements differ"
            else:
                text = differ(got, expected, max(self.rtol, rtol or 0.0))
            if text:
                raise AssertionError(f"output {i}: {text}")

    def all_are(self, found: Sequence[Any], kind: type | None = None) -> None:
        """Whether the results are of the kind under test, in wrappers or not."""
        for i, y in enumerate(found):
            inner = y if kind is None else getattr(y, "__wrapped__", None)
            if type(inner) is not self.cls:
                is_bare = inner is None or inner is y
                got = type(y).__name__ if is_bare else f"Tensor of a {type(inner).__name__}"
                raise AssertionError(f"output {i}: is a {got}, not a {self.cls.__name__}")


class _Trial:
    """The checks on one example."""

    def __init__(self, subject: _Subject, example: Example) -> None:
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
            raise _Skipped
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
            raise _Skipped
        x, y = self.tensors
        numbers = [float(np.asarray(z).flat[0]) for z in (x, y)]  # what the op takes in this place
        for args in ((x, numbers[1]), (numbers[0], y)):
            wrapped = [a if isinstance(a, float) else Tensor(self.made(a)) for a in args]
            self.subject.compare(example(*wrapped), example(*args), 0.0)

    def moving(self) -> list[Any]:
        if not self.example.has_gradient:
            raise _Skipped
        return [self.tensors[i] for i in self.example.moving()]

    def gradient(self) -> None:
        """Reverse mode: the tensor-like under what records."""
        xs = self.moving()
        self._compare_pulled(self.example.of_moving, xs, [Tensor(self.made(x)) for x in xs])

    def made_inside(self) -> None:
        """The tensor-like around what records, made inside of the function."""
        if not issubclass(self.subject.cls, Carrier):
            raise _Skipped
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
            raise _Skipped from None
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
                raise _Skipped from None
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

        xs, before = self.bare(), _state()
        with apply.registered(apply_failing):
            try:
                self.example(*xs)
            except _Injected:
                pass
            else:
                raise AssertionError("swallows an exception that is raised below")
        if _state() != before:
            raise AssertionError(f"leaves (recording, level, engine) as {_state()}, not {before}")
        self.alone()


_CHECKS: dict[str, Callable[[_Trial], None]] = {
    "alone": _Trial.alone,
    "Tensor": _Trial.in_tensor,
    "mixed": _Trial.mixed,
    "numbers": _Trial.numbers,
    "vjp": _Trial.gradient,
    "inside": _Trial.made_inside,
    "jvp": _Trial.tangent,
    "vmap": _Trial.batching,
    "Listing": _Trial.listing,
    "another": _Trial.another,
    "raising": _Trial.exception,
}


def check_tensor_like(
    cls: type,
    *,
    make: Callable[[Any], Any] | None = None,
    value: Callable[[Any], Any] | None = None,
    names: Sequence[str] | None = None,
    rtol: float | None = 0.0,
    refuses: type[Exception] | tuple[type[Exception], ...] = (),
    raises: bool = True,
    training: bool = True,
) -> LikeReport:
    """Proves a tensor-like on the whole op corpus, alone and with the others.

    Each declared call is tried on its example: on the tensor-like alone, inside `Tensor`, beside
    plain tensors and numbers; under `vjp`, `jvp` and `vmap`, and made inside of a differentiated
    function; around a symbolic tensor-like; inside, outside and beside another user's one; and with
    an exception raised below it. Then whole training steps are tried: forward and backward passes,
    clipped gradients, updates and running statistics. Results must be as many as they are for plain
    tensors, of the same shapes, dtypes and elements, and of the class; modes, levels and instances
    must not stay behind.

    Args:
        cls: the class of the tensor-like.
        make: makes one of a tensor-like value; by default ``cls(value)``.
        value: what one stands for, to be compared; by default its `value`, else its `elements`.
        names: the functional calls to try; None takes all.
        rtol: how much elements may differ, relative to the largest; 0: not at all; None: they are
            not compared.
        refuses: exceptions by which it says that it does not take an op; that is no failure.
        raises: whether failures raise.
        training: whether to try training steps.

    Returns:
        A LikeReport, which prints as a table.

    Raises:
        TensorLikeError: an AssertionError that lists the failures: call, check, what is wrong.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.testing import check_tensor_like
        >>> class Halved(tl.Carrier):
        ...     pass
        >>> @tl.apply.register
        ... def apply_halved(op: tl.ops.OpBase, *xs: Halved):
        ...     return tl.apply.super(op, *xs)[:1]
        >>> report = check_tensor_like(Halved, names=["exp", "split"], raises=False)
        >>> [failure.call for failure in report.failures if failure.check == "alone"]
        ['split']
        >>> report.failures[0].detail
        'gave 1 outputs; 2 are right'
    """
    subject = _Subject(cls, make or cls, value or _value_of, rtol)
    findings: list[LikeFinding] = []
    before, alive = _state(), _alive(cls)
    for example in examples(names):
        findings += _findings(subject, example, refuses)
        if _state() != before:
            text = f"left behind (recording, level, engine): {_state()}; it was {before}"
            findings.append(LikeFinding(example.entry.function, "state", False, text))
            break  # what follows would only fail because of it
    findings += [_trained(subject, name, refuses) for name in training_programs() if training]
    left = _alive(cls) - alive
    if left > 0:
        text = f"{left} instances are still held by something after all calls have ended"
        findings.append(LikeFinding("(all)", "leaks", False, text))
    report = LikeReport(cls.__name__, findings)
    if raises and not report.is_right:
        raise TensorLikeError(report)
    return report


def _findings(subject: _Subject, example: Example, refuses: Any) -> Iterator[LikeFinding]:
    trial = _Trial(subject, example)
    for name, check in _CHECKS.items():
        yield _found(example.entry.function, name, partial(check, trial), refuses)


def _trained(subject: _Subject, name: str, refuses: Any) -> LikeFinding:
    """A whole program: what it gives, and that the tensor-like has come through."""

    def check() -> None:
        program = training_programs()[name]
        found = program(lambda x: Tensor(subject.make(RawTensor(x))))
        subject.compare(found, program(Tensor), _TRAINED_RTOL)
        # Gradients, and so what is learnt, are computed under what goes around transforms.
        is_above = (
            issubclass(subject.cls, Carrier) and subject.make(RawTensor(1.0)).is_above_transforms
        )
        subject.all_are(found[:2] if is_above else found, Tensor)

    return _found(name, "training", check, refuses)


def _found(call: str, name: str, check: Callable[[], None], refuses: Any) -> LikeFinding:
    is_right: bool | None = True
    detail = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check()
        except _Skipped:
            is_right = None
        except AssertionError as error:
            is_right, detail = False, str(error)
        except refuses as error:
            is_right, detail = None, f"refused: {error}"
        except Exception as error:  # whatever a rule raises is a finding
            is_right, detail = False, f"{type(error).__name__}: {error}"
    return LikeFinding(call, name, is_right, detail)


def _value_of(x: Any) -> Any:
    return x.value if hasattr(x, "value") else x.elements


def _state() -> tuple[Any, ...]:
    """What a transform or a mode that did not end would have changed."""
    probe = Tensor(Tracer(RawTensor(1.0))) * 1.0  # recorded, unless recording is still paused
    with Level() as level:
        return probe.requires_grad, level.number, tuple(sorted(engine.options().items()))


def _alive(cls: type) -> int:
    gc.collect()
    return sum(type(x) is cls for x in gc.get_objects())
