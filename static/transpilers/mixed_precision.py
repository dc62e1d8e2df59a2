"""Products in half precision, over weights in single precision."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np

from ... import _C, ops
from ... import functional as F
from ...imperative import Tensor
from ...ops.entries import entry_of
from ..copying import Copier, copy, number_of, without_unread
from ..numbers import number_in
from ..phases import check_trains, check_update, check_updates, gradients, phases
from ..program import Program

_FIRST_SCALE, _GROWTH, _BACKOFF = 65536.0, 2.0, 0.5


def mixed_precision(
    main: Program,
    startup: Program,
    dtype: Literal["bfloat16", "float16"] = "bfloat16",
    loss_scale: float | Literal["dynamic"] | None = None,
    keep: Collection[str] = (),
    *,
    growth_interval: int = 2000,
) -> tuple[Program, Program]:
    """A program that computes its products in half precision; all states keep their dtype.

    Products are the ops whose declaration says `flops`: those of matrices, convolutions, attention,
    recurrences, and their gradients. What they read of float32 is cast once, wherever it is read;
    what only moves their results (reshapes, transposes) moves halves; everything else reads
    float32; so does what branches and loops run. Whoever asks for the result of a product gets
    halves.

    With a loss scale the gradients are those of so many times the loss while they are halves, and
    are divided by it before anybody sees them; a run in which one of them is infinite or NaN
    updates nothing. A "dynamic" scale begins with 65536, is halved by such runs, and doubled after
    `growth_interval` others in a row.

    Args:
        main: a program with gradients; it stays as it is.
        startup: its startup program; it stays as it is.
        dtype: the half precision.
        loss_scale: a positive number, "dynamic", or None: the loss is not scaled.
        keep: types of ops that are computed in float32 all the same, such as ``"Attention"``.
        growth_interval: so many runs double a dynamic scale.

    Returns:
        The program, and its startup program, which gives the scale its first value, too.

    Raises:
        ArgumentError: there are no gradients, an argument is none of those above, or a loss is to
            be scaled that is scaled already, or whose gradients update nothing.

    Source:
        Micikevicius et al. 2017, https://arxiv.org/abs/1710.03740; the scale changes as that of
        PyTorch's ``torch.amp.GradScaler`` does.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     y = tl.nn.Linear(2, 1)(static.data("x", (None, 2)))
        ...     _ = tl.optim.SGD().minimize(tl.functional.mean(y * y))
        >>> half, start = static.transpilers.mixed_precision(main, startup)
        >>> half.block.ops[1]
        _18 = cast(parameter_0)
    """
    who = "mixed_precision"
    check_trains(main, who)
    _check(who, dtype, loss_scale, keep, growth_interval)
    found = phases(main)
    check_update(main, found, who)
    if loss_scale is not None:
        check_updates(found, who, "which runs that overflow leave out")
    copier, first = Copier(main), copy(startup)
    lowered = _Lowered(copier, getattr(_C, dtype), keep)
    scale = None if loss_scale is None else _Scale(copier, first, loss_scale, growth_interval)
    update = set(found.update)
    for at in (at for at in range(len(copier.steps)) if at not in update):
        lowered.step(at)
        if scale is not None:
            scale.scale_seed(copier.steps[at][2])
    if scale is not None:
        scale.unscale(gradients(main))
    for at in found.update:
        lowered.plain(at)
    for state, value in main.assigned().items():
        new = lowered.full(value)
        if scale is not None and state in found.updated:
            old = copier.value(copier.number(state))
            new = number_of(F.where(scale.is_finite, copier.value(new), old))
        copier.assign(state, new)
    program = copier.finish()
    if scale is not None:
        scale.assign(program)
    return without_unread(program, lowered.moved()), first


def half_products(
    program: Program,
    results: Sequence[Any],
    dtype: Literal["bfloat16", "float16"] = "bfloat16",
    keep: Collection[str] = (),
) -> tuple[Program, tuple[Any, ...]]:
    """The same for a program that only infers: its products are computed in half precision.

    Args:
        program: stays as it is.
        results: variables of it, which keep their dtype.
        dtype: the half precision.
        keep: types of ops that are computed in float32 all the same.

    Returns:
        The program, and its variables for the results.

    Raises:
        ArgumentError: an argument is none of those above.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     y = tl.nn.Linear(2, 1)(static.data("x", (None, 2)))
        >>> half, (made,) = static.transpilers.half_products(main, [y])
        >>> half.block.ops[0], made.dtype
        (_3 = cast(x), tl.float32)
    """
    _check("half_products", dtype, None, keep, 1)
    copier = Copier(program)
    lowered = _Lowered(copier, getattr(_C, dtype), keep)
    for at in range(len(copier.steps)):
        lowered.step(at)
    numbers = [lowered.full(number_in(program, y, "half_products", "results")) for y in results]
    made = copier.finish()
    return made, tuple(made.symbol(number) for number in numbers)


def _check(who: str, dtype: Any, loss_scale: Any, keep: Collection[str], interval: int) -> None:
    if dtype not in ("bfloat16", "float16"):
        raise _C.ArgumentError(
            "must be bfloat16 or float16", op=who, argument="dtype", got=repr(dtype)
        )
    is_number = isinstance(loss_scale, (int, float)) and 0 < loss_scale < float("inf")
    if loss_scale is not None and loss_scale != "dynamic" and not is_number:
        raise _C.ArgumentError(
            'must be a positive number, "dynamic" or None', op=who, argument="loss_scale",
            got=repr(loss_scale),
        )  # fmt: skip
    if interval < 1:
        raise _C.ArgumentError(
            "must be positive", op=who, argument="growth_interval", got=str(interval)
        )
    for name in [keep] if isinstance(keep, str) else keep:
        if not isinstance(getattr(ops, name, None), type):
            raise _C.ArgumentError(
                "must be types of ops, as tl.ops has them", op=who, argument="keep", got=repr(name)
            )


class _Lowered:
    """Copies steps, each with inputs of the precision that it is computed in."""

    def __init__(self, copier: Copier, low: _C.dtype, keep: Collection[str]) -> None:
        self.copier = copier
        self.low = low
        self.kept = {keep} if isinstance(keep, str) else set(keep)
        self._casts: dict[tuple[int, _C.dtype], int] = {}
        self._step_of = {n: at for at, step in enumerate(copier.steps) for n in step[2]}

    def step(self, at: int) -> None:
        """A step of the forward or of the backward pass."""
        op, reads, outputs, _, _ = self.copier.steps[at]
        self.copier.begin(at)
        entry = entry_of(op)
        if entry.is_product and type(op).__name__ not in self.kept:
            with self.copier.as_backward(outputs[0]):
                inputs = [self.halved(n) for n in reads]
            self.copier.step(at, inputs)
        elif self._moves(at) and all(self._is_low(self.copier.number(n)) for n in reads):
            self.copier.step(at)
        else:
            self.plain(at)

    def plain(self, at: int) -> None:
        """A step in the precision of the source."""
        with self.copier.as_backward(self.copier.steps[at][2][0]):
            inputs = [self.full(n) for n in self.copier.steps[at][1]]
        self.copier.step(at, inputs)

    def full(self, old: int) -> int:
        """A variable of the source in its own dtype."""
        new = self.copier.number(old)
        wanted = self.copier.source.dtype(old)
        return new if self.copier.target.dtype(new) == wanted else self._cast(old, new, wanted)

    def halved(self, old: int) -> int:
        """A variable of the source in half precision, where it is float32 there."""
        new = self.copier.number(old)
        if self.copier.source.dtype(old) != _C.float32 or self._is_low(new):
            return new
        at = self._step_of.get(old)
        if at is None or not self._moves(at) or (old, self.low) in self._casts:
            return self._cast(old, new, self.low)
        # What was moved is cast before it is: whoever reads it unmoved needs the same cast.
        inputs = [self.halved(n) for n in self.copier.steps[at][1]]
        made = self.copier.step_again(at, inputs)
        for output, value in zip(self.copier.steps[at][2], made, strict=True):
            self._casts[output, self.low] = value
        return self._casts[old, self.low]

    def moved(self) -> set[int]:
        """Results that were moved in float32, and may have been in halves alone for all readers."""
        moved = (at for at in range(len(self.copier.steps)) if self._moves(at))
        return {self.copier.results[n] for at in moved for n in self.copier.steps[at][2]}

    def _moves(self, at: int) -> bool:
        op, reads, *_ = self.copier.steps[at]
        is_view = entry_of(op).is_view and "dtype" not in op.params()
        return is_view and all(self.copier.source.dtype(n) == _C.float32 for n in reads)

    def _is_low(self, new: int) -> bool:
        return self.copier.target.dtype(new) == self.low

    def _cast(self, old: int, new: int, dtype: _C.dtype) -> int:
        if (old, dtype) not in self._casts:
            self._casts[old, dtype] = number_of(F.astype(self.copier.value(new), dtype))
        return self._casts[old, dtype]


class _Scale:
    """The scale of the loss, and whether the gradients of a run are finite."""

    def __init__(self, copier: Copier, startup: Program, first: Any, interval: int) -> None:
        if any(backward.scale >= 0 for backward in copier.source.backwards):
            raise _C.ArgumentError(
                "must be None where the loss is scaled already", op="mixed_precision",
                argument="loss_scale", got=repr(first), fix="leave it out",
            )  # fmt: skip
        self.copier = copier
        self.is_finite: Any = None
        self._interval = interval
        self._is_dynamic = first == "dynamic"
        value = np.float32(_FIRST_SCALE if self._is_dynamic else first)
        self._scale = copier.add_state("loss_scale", value, startup)
        if self._is_dynamic:
            self._runs = copier.add_state("finite_runs", np.zeros((), np.int64), startup)
        self._seeds = {backward.seed for backward in copier.source.backwards}
        if -1 in self._seeds:
            raise _C.ArgumentError(
                "must be differentiated by ops of the program, for its gradient to be scaled",
                op="mixed_precision", argument="loss", got="one that is a parameter",
                fix="leave out loss_scale",
            )  # fmt: skip

    def scale_seed(self, outputs: tuple[int, ...]) -> None:
        """Multiplies the loss's own gradient, where a step has made it."""
        for old in self._seeds.intersection(outputs):
            seed = self.copier.value(self.copier.number(old))
            with self.copier.as_backward(old):
                scaled = F.multiply(seed, self._scale_in(seed))
            self.copier.numbers[old] = number_of(scaled)

    def unscale(self, found: Collection[int]) -> None:
        """Divides gradients, and looks whether all are finite."""
        for old in found:
            scaled = self.copier.value(self.copier.number(old))
            name = self.copier.source.names(old)
            self.copier.target.rename(number_of(scaled), f"{name}@SCALED")
            with self.copier.as_backward(old):
                wanted = self.copier.source.dtype(old)
                whole = scaled if scaled.dtype == wanted else F.astype(scaled, wanted)
                gradient = F.divide(whole, self._scale_in(whole))
            number = number_of(gradient)
            self.copier.target.rename(number, name)
            self.copier.numbers[old] = self.copier.results[old] = number
            is_finite = F.all(F.isfinite(gradient))
            both = is_finite if self.is_finite is None else F.logical_and(self.is_finite, is_finite)
            self.is_finite = both

    def assign(self, program: Program) -> None:
        """The scale after a run."""
        for backward in program.backwards:
            backward.scale = self._scale
        if not self._is_dynamic:
            return
        scale, runs = (self.copier.value(state) for state in (self._scale, self._runs))
        more = F.add(runs, 1)
        is_time = F.equal(more, self._interval)
        grown = F.where(is_time, F.multiply(scale, _GROWTH), scale)
        after = F.where(self.is_finite, grown, F.multiply(scale, _BACKOFF))
        count = F.where(F.logical_or(is_time, F.logical_not(self.is_finite)), 0, more)
        _C.assign_state(program, self._scale, number_of(after))
        _C.assign_state(program, self._runs, number_of(count))

    def _scale_in(self, x: Tensor) -> Tensor:
        scale = self.copier.value(self._scale)
        return scale if x.dtype == scale.dtype else F.astype(scale, x.dtype)
