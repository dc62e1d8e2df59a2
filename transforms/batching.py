"""How ops go over the examples of a `Batched`: the rule of `apply`, and `vmap` of tensor-likes.

What an op does follows from the declaration: from the kind of op, the types of its attributes, the
word under `batch`, and else from the op's body. `batching_rules.py` has what the words mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .. import functional as F
from ..imperative.batch import Batch
from ..imperative.batched import Batched
from ..imperative.carrier import Carrier
from ..imperative.dispatch import apply
from ..imperative.levels import under_leaves
from ..imperative.rebinding import levels_in
from ..ops import Const, OpBase
from .batched_call import BatchedCall, UnequalExamplesError, declared_of
from .batching_rules import RULES, elementwise, reduction


@apply.register
def apply_batched(op: OpBase, *xs: Batched) -> tuple[Any, ...]:
    """Applies an op to all examples at once."""
    # Beside the examples there may be what is the same for all. Loops: half the time of lists.
    batch: Any = None
    for x in xs:
        if type(x) is Batched and (batch is None or x.batch.number > batch.number):
            batch = x.batch
    if not batch.is_open:
        batch.refuse(op, "Batched")
    values: list[Any] = []
    is_mapped: list[bool] = []
    for x in xs:
        is_own = type(x) is Batched and x.batch is batch
        is_mapped.append(is_own)
        values.append(x.value if is_own else x)
    kind = type(op)
    if kind is Const:  # one for all examples
        return op(*values)
    try:
        rule = _rules[kind]
    except KeyError:
        rule = _rules[kind] = _rule_of(op)
    if rule is None:
        return NotImplemented  # type: ignore[no-any-return]  # through the body
    call = BatchedCall(op, values, is_mapped, batch.size)
    try:
        outputs = op(*values) if rule is elementwise and len(values) == 1 else rule(call)
    except UnequalExamplesError:
        raise
    except Exception as error:
        _raise_as_of_one(call, error)
        raise
    if outputs is None:
        return NotImplemented  # type: ignore[no-any-return]
    return tuple([Batched(y, batch) for y in outputs])


Rule = Callable[[BatchedCall], "Sequence[Any] | None"]

# How ops of a class go over examples; None is their body.
_rules: dict[type, Rule | None] = {}


def _rule_of(op: OpBase) -> Rule | None:
    declared = declared_of(op)
    if declared.is_scalar:
        return elementwise
    if declared.is_reduction:
        return reduction
    if hasattr(op, "vjp") and hasattr(op, "define"):
        return _with_gradient
    if declared.batch:
        return RULES[declared.batch]
    return None if declared.has_body else loop


def loop(call: BatchedCall) -> Sequence[Any]:
    """One example after the other: for ops of which nothing is known."""
    warnings.warn(
        f"vmap: {call.op} is applied to one example after the other; give the op a body, or "
        "`batch` in its declaration",
        stacklevel=2,
    )
    return _one_by_one(call)


def _one_by_one(call: BatchedCall) -> Sequence[Any]:
    results = [
        call.op(*(v[i] if m else v for v, m in zip(call.values, call.is_mapped, strict=True)))
        for i in range(call.size)
    ]
    if not results:
        raise _C.ShapeError(f"{call.op} needs one example at least", op="vmap", got="none")
    return [F.stack(outputs, axis=0) for outputs in zip(*results, strict=True)]


def map_one_by_one(op: OpBase, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Applies an op to one example after the other: what has no other meaning."""
    batch = max((x.batch for x in xs if type(x) is Batched), key=lambda batch: batch.number)
    if not batch.is_open:
        batch.refuse(op, "Batched")
    is_mapped = [type(x) is Batched and x.batch is batch for x in xs]
    values = [x.value if own else x for x, own in zip(xs, is_mapped, strict=True)]
    outputs = _one_by_one(BatchedCall(op, values, is_mapped, batch.size))
    return tuple([Batched(y, batch) for y in outputs])


def _raise_as_of_one(call: BatchedCall, error: Exception) -> None:
    """Raises what one example would raise, in the shapes that the function sees."""
    try:
        call.inferred()
    except type(error) as of_one:
        raise of_one from None
    except Exception:
        return


class _OfExamples(OpBase):
    """A Python op with a gradient of its own, over examples: body and gradient are both mapped."""

    def __init__(self, call: BatchedCall) -> None:
        self.op = call.op
        self.is_mapped = call.is_mapped
        self.size = call.size

    def define(self, *xs: Any) -> tuple[Any, ...]:
        def body(*args: Any) -> tuple[Any, ...]:
            out = self.op.define(*args)
            return tuple(out) if isinstance(out, (tuple, list)) else (out,)

        return over_examples(body, self.size, self.is_mapped)(*xs)

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
        flows = [c is not None for c in cotangents]
        given = [c for c in cotangents if c is not None]
        count = len(inputs) + len(outputs)

        def pull(*args: Any) -> tuple[Any, ...]:
            xs, ys = args[: len(inputs)], args[len(inputs) : count]
            dys = iter(args[count:])
            found = self.op.vjp(xs, ys, tuple(next(dys) if flow else None for flow in flows))
            found = found if isinstance(found, (tuple, list)) else (found,)
            return tuple(
                _zeros(x.shape, x.dtype) if g is None else g for g, x in zip(found, xs, strict=True)
            )

        mapped = (*self.is_mapped, *[True] * (len(outputs) + len(given)))
        found = over_examples(pull, self.size, mapped)(*inputs, *outputs, *given)
        return tuple(
            g if m else F.sum(g, axis=0) for g, m in zip(found, self.is_mapped, strict=True)
        )


def _with_gradient(call: BatchedCall) -> Sequence[Any]:
    return _OfExamples(call)(*call.values)


def over_examples(
    function: Callable[..., Sequence[Any]], size: int, is_mapped: Sequence[bool]
) -> Callable[..., tuple[Any, ...]]:
    """A function of tensor-likes over examples: `vmap` for values with the axis in front."""

    def mapped(*values: Any) -> tuple[Any, ...]:
        with Batch(size) as batch:
            given = [
                Batched(value, batch) if m else value
                for value, m in zip(values, is_mapped, strict=True)
            ]
            return tuple(examples(y, batch) for y in function(*given))

    return mapped


def examples(y: Any, batch: Batch) -> Any:
    """The value of all examples, with their axis in front; repeated where it is one for all."""
    if isinstance(y, _C.TensorWrapper):
        inner = examples(y.__wrapped__, batch)
        return type(y)(inner)
    own = under_leaves(y, batch.number)
    if isinstance(own, Batched) and own.batch is batch:
        return own.value
    if isinstance(y, Carrier):
        return y.around(examples(y.value, batch))
    return F.broadcast_to(y, (batch.size, *y.shape))


def mean_over_examples(x: Any, like: Any) -> Any:
    """The mean over the examples of each `vmap` in which `like` has one value for all.

    Args:
        x: a tensor, in which examples may differ; without history.
        like: what x is to be like.

    Returns:
        A tensor in which only those examples differ that do in `like`.
    """
    kept = [part.level for part in levels_in(like)]

    def mean(value: Any) -> Any:
        if isinstance(value, _C.TensorWrapper):
            return type(value)(mean(value.__wrapped__))
        if isinstance(value, Carrier):
            return value.around(mean(value.value))
        if not isinstance(value, Batched):
            return value
        if value.batch in kept:
            return Batched(mean(value.value), value.batch)
        return mean(F.mean(value.value, axis=0))

    return mean(x)


def _zeros(shape: tuple[int, ...], dtype: _C.dtype) -> Any:
    return F.full(shape, 0, dtype=dtype).__wrapped__
