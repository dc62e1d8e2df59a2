"""Low precision for programs that only infer: int8 products, or weights in half precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .. import _C, ops
from .. import functional as F
from ..imperative import Listing, Tensor, apply
from ..imperative.levels import stopped, unwrapped
from .compiled import CompiledProgram, Graph, Step
from .program_op import ProgramOp

How: TypeAlias = Literal["dynamic", "static", "bfloat16", "float16"]
_HOWS = ("dynamic", "static", "bfloat16", "float16")
_MOST_TERMS = 131072  # of a sum of products of bytes, in int32
_SMALLEST = 1e-30  # the largest of zeros: its scale can still be divided by


class QuantizedLayer(NamedTuple):
    """A layer that was quantised.

    Attributes:
        op: what it was.
        line: the user's.
        weight_shape: of its weight.
        error: of its result on the samples, of the largest absolute value there; None: no samples
            were given. Its input is that of the program as it was.
    """

    op: str
    line: str
    weight_shape: tuple[int, ...]
    error: float | None


class Quantized(NamedTuple):
    """A quantised program.

    Attributes:
        program: the new one, whose inputs are those of the source, in their order.
        results: its variables for what was asked.
        layers: what was quantised, in the order of the program.
    """

    program: Listing
    results: tuple[Any, ...]
    layers: tuple[QuantizedLayer, ...]

    def table(self) -> str:
        """The layers line by line, the largest error first."""
        rows = sorted(self.layers, key=lambda x: -(x.error or 0.0))
        lines = [
            f"{'' if x.error is None else f'{x.error:.5f}':>8}  {x.op} {x.weight_shape}  {x.line}"
            for x in rows
        ]
        return "\n".join(["   error  layer", *lines])


def quantize(
    program: Listing,
    results: Sequence[Any],
    how: How = "dynamic",
    *,
    samples: Sequence[Sequence[Any]] = (),
    percentile: float = 100.0,
    where: Callable[[Step], bool] | None = None,
    scope: _C.Scope | None = None,
) -> Quantized:
    """A program whose linear layers, convolutions and products have weights of low precision.

    Weights are int8 with a scale for each column, or channel of the result. "dynamic" rounds each
    row, or image, of what a layer reads in steps that reach to its largest element; "static" takes
    one step for all of all runs, from samples. "bfloat16" and "float16" keep weights in that dtype
    and compute in float32. Layers whose weights are no constants stay as they are, as does what is
    not float32, and, unless `where` takes them, convolutions that integers make slower: those
    whose groups have fewer than three channels, depthwise ones among them.

    Args:
        program: is left as it is.
        results: variables of it that are wanted.
        how: one of those words.
        samples: inputs of several runs, each in the order of the program's inputs; "static" needs
            one. With samples, each layer's error is told.
        percentile: of the absolute values in the samples, that the steps of "static" reach to.
        where: which steps are quantised, of those that can be; None: those that gain by it.
        scope: states with values there that the program leaves alone are constants.

    Returns:
        The program, its results, and a report.

    Raises:
        ArgumentError: an argument is not what it must be: `how` is no such word, "static" has no
            samples, the percentile is no number above 0 and up to 100, or a result is no variable
            of the program.

    Source:
        Jacob et al. 2017, https://arxiv.org/abs/1712.05877; Wu et al. 2020,
        https://arxiv.org/abs/2004.09602, for percentiles.

    Example:
        >>> import tensorlike as tl
        >>> layer, listing = tl.nn.Linear(4, 3, seed=0), tl.Listing()
        >>> y = layer(listing.input("x", (2, 4)))
        >>> made = tl.static.quantize(listing, [y], samples=[[tl.ones((2, 4))]])
        >>> made.layers[0].weight_shape, made.layers[0].error < 0.02
        ((4, 3), True)
        >>> made.program.run(made.results, tl.ones((2, 4)))[0].shape
        (2, 3)
    """
    _check(program, results, how, samples, percentile, where, scope)
    folded, numbers = _optimised(program, results, scope)
    graph = Graph(folded, numbers)
    layers = [
        layer
        for place, step in enumerate(graph.steps())
        if (where is None or where(step)) and (layer := _layer(place, step, folded, how))
        if where is not None or how in ("float16", "bfloat16") or layer.gains
    ]
    observed = _observed(folded, layers, samples, scope)
    reports, inserted = [], 0
    for layer, inputs in zip(layers, observed, strict=True):
        low = _low(layer, how, inputs, percentile)
        _put(graph, layer.place + inserted, layer, low)
        inserted += len(low.steps)
        error = _error(layer, low, inputs) if samples else None
        name, line = type(layer.step.op).__name__, layer.step.line
        reports.append(QuantizedLayer(name, line, tuple(layer.weight.shape), error))
    made, found = graph.finish()
    return Quantized(made, tuple(made.symbol(n) for n in found), tuple(reports))


class _Kind(NamedTuple):
    """How layers of a class are computed with integers.

    Attributes:
        axis: of a weight, whose elements each have a scale: that of the result's columns.
        dynamic: the op that finds the steps of what it reads.
        static: the op that is given them.
        attrs: attributes that both have from the layer.
        least: of the channels that a sum goes through, for integers to be faster. An instruction
            adds the products of four channels side by side, for one result; in float32 it has as
            many results, and with one or two channels integers take 1.2 to 2.1 of the time.
    """

    axis: int
    dynamic: Any
    static: Any
    attrs: tuple[str, ...]
    least: int = 0


_WINDOWS = ("stride", "padding", "dilation", "groups")
_KINDS = {
    ops.MatMul: _Kind(1, ops.DynamicQuantizedLinear, ops.QuantizedLinear, ()),
    ops.Linear: _Kind(1, ops.DynamicQuantizedLinear, ops.QuantizedLinear, ("activation",)),
    ops.Convolution: _Kind(
        0, ops.DynamicQuantizedConvolution, ops.QuantizedConvolution, _WINDOWS, least=3
    ),
}  # fmt: skip


class _Layer(NamedTuple):
    """A step that can be quantised."""

    place: int
    step: Step
    kind: _Kind
    weight: np.ndarray[Any, Any]
    scale: np.ndarray[Any, Any]  # of each column, of int8

    @property
    def gains(self) -> bool:
        """Whether integers are faster."""
        return bool(self.weight.shape[1 - self.kind.axis] >= self.kind.least)


class _Low(NamedTuple):
    """Ops in the place of a step: each reads what the one before made, and constants.

    Attributes:
        steps: the ops, with what they read: "x", "y" (what the last one made), "bias", a constant.
    """

    steps: tuple[tuple[Any, tuple[Any, ...]], ...]


def _layer(place: int, step: Step, program: Listing, how: How) -> _Layer | None:
    """The step as one that can be quantised; None: it can not."""
    kind = _KINDS.get(type(step.op))
    if kind is None:
        return None
    _, role, value = program.variables()[step.inputs[1]]
    if role != "captured" or not isinstance(value, _C.RawTensor) or 0 in value.shape:
        return None
    if kind.axis == 1 and len(value.shape) != 2:
        return None
    given = [program.symbol(n) for n in step.inputs]
    if any(x.dtype != _C.float32 for x in given) or len(given[0].shape) < 1:
        return None
    weight = np.asarray(Tensor(value))
    columns = weight.shape[kind.axis]
    bias = given[2] if len(given) == 3 else None
    if bias is not None and tuple(bias.shape) not in ((), (1,), (columns,)):
        return None
    if how in ("float16", "bfloat16"):  # what that dtype does not hold would be infinite
        if not np.isfinite(np.asarray(F.astype(Tensor(value), how).astype("float32"))).all():
            return None
    elif weight.size // columns > _MOST_TERMS or not np.isfinite(weight).all():
        return None
    others = tuple(axis for axis in range(weight.ndim) if axis != kind.axis)
    largest = np.abs(weight).max(others)
    scale = np.maximum(largest, np.float32(_SMALLEST)) / np.float32(127)
    return _Layer(place, step, kind, weight, scale)


def _observed(
    program: Listing,
    layers: Sequence[_Layer],
    samples: Sequence[Sequence[Any]],
    scope: Any,
) -> list[list[tuple[Any, ...]]]:
    """What each layer reads in each run, beside its weight."""
    asked = [program.symbol(n) for x in layers for n in (*x.step.inputs[:1], *x.step.inputs[2:])]
    seen: list[list[tuple[Any, ...]]] = [[] for _ in layers]
    if not asked or not samples:
        return seen
    has_states = any(role == "state" for _, role, _ in program.variables())
    run = ProgramOp(program, asked, scope) if has_states else partial(program.run, asked)
    for inputs in samples:
        values = iter(run(*inputs))
        for layer, found in zip(layers, seen, strict=True):
            found.append(tuple(next(values) for _ in layer.step.inputs[1:]))
    return seen


def _low(layer: _Layer, how: How, observed: Sequence[tuple[Any, ...]], percentile: float) -> _Low:
    """What computes the layer in low precision."""
    op = layer.step.op
    if how in ("bfloat16", "float16"):
        half = F.astype(layer.weight, how)
        rest = ("bias",) if len(layer.step.inputs) == 3 else ()
        return _Low(((ops.Cast(dtype=_C.float32), (half,)), (op, ("x", "y", *rest))))
    kind = layer.kind
    shape = [-1 if axis == kind.axis else 1 for axis in range(layer.weight.ndim)]
    steps = np.rint(layer.weight / layer.scale.reshape(shape)).clip(-127, 127).astype(np.int8)
    attrs = {name: getattr(op, name) for name in kind.attrs}
    bias: Any = "bias" if len(layer.step.inputs) == 3 else np.float32(0)
    if how == "dynamic":
        return _Low(((kind.dynamic(**attrs), ("x", steps, layer.scale, bias)),))
    sizes = np.concatenate([np.abs(np.asarray(found[0])).ravel() for found in observed])
    most = np.percentile(sizes, percentile) if sizes.size else 0
    step = np.float32(max(float(most), _SMALLEST) / 127)
    return _Low(((kind.static(**attrs), ("x", steps, step, layer.scale, bias)),))


def _put(graph: Graph, place: int, layer: _Layer, low: _Low) -> None:
    """Inserts the ops before the step, whose result is theirs from now on."""
    step = graph.steps()[place]  # as it is now: a layer before it may be another op already
    known = {"x": step.inputs[0], "bias": step.inputs[-1]}
    for i, (op, reads) in enumerate(low.steps):
        numbers = [
            known[x] if isinstance(x, str) else graph.capture(stopped(unwrapped(Tensor(x))))
            for x in reads
        ]
        (known["y"],) = graph.insert(place + i, op, numbers, layer.step.line)
    graph.replace(step.outputs[0], known["y"])


def _error(layer: _Layer, low: _Low, observed: Sequence[tuple[Any, ...]]) -> float:
    """The largest error of the layer's results, of the largest of them."""
    most, largest = 0.0, 0.0
    for x, *rest in observed:
        (exact,) = apply(layer.step.op, x, Tensor(layer.weight), *rest)
        known = {"x": x, "bias": rest[0] if rest else None}
        for op, reads in low.steps:
            given = [known[r] if isinstance(r, str) else Tensor(r) for r in reads]
            (known["y"],) = apply(op, *given)
        wanted, found = np.asarray(exact), np.asarray(known["y"])
        most = max(most, float(np.abs(found - wanted).max(initial=0)))
        largest = max(largest, float(np.abs(wanted).max(initial=0)))
    return most / largest if largest else most


def _check(
    program: Any, results: Any, how: Any, samples: Any, percentile: Any, where: Any, scope: Any
) -> None:
    is_number = isinstance(percentile, int | float) and not isinstance(percentile, bool)
    are_runs = isinstance(samples, list | tuple) and all(
        isinstance(run, list | tuple) for run in samples
    )
    for argument, holds, must, got in (
        ("program", isinstance(program, Listing), "must be a program", program),
        ("results", isinstance(results, list | tuple), "must be a list of variables", results),
        ("how", isinstance(how, str) and how in _HOWS,
         f"must be one of {', '.join(_HOWS)}", how),
        ("samples", are_runs, "must be a list with a list of inputs for each run", samples),
        ("percentile", is_number and 0 < percentile <= 100, "must be above 0 and up to 100",
         percentile),
        ("where", where is None or callable(where), "must be a function of a step", where),
        ("scope", scope is None or isinstance(scope, _C.Scope), "must be a Scope", scope),
    ):  # fmt: skip
        if not holds:
            shown = repr(got) if isinstance(got, str | int | float) else type(got).__name__
            raise _C.ArgumentError(must, op="quantize", argument=argument, got=shown)
    if how == "static" and not samples:
        raise _C.ArgumentError(
            "must be inputs of at least one run", op="quantize", argument="samples", got="none",
            fix="give some, or take how=\"dynamic\", which needs none",
        )  # fmt: skip
    inputs = sum(role == "input" for _, role, _ in program.variables())
    for run in samples:
        if len(run) != inputs:
            raise _C.ArgumentError(
                f"must give each run the {inputs} inputs of the program", op="quantize",
                argument="samples", got=f"{len(run)} in one",
            )  # fmt: skip


def _optimised(
    program: Listing, results: Sequence[Any], scope: _C.Scope | None
) -> tuple[Listing, list[int]]:
    """The program, whose weights that are made of constants are constants, too."""
    compiled = CompiledProgram(program, ["fold"], scope=scope)
    try:
        return compiled.optimised(list(results))
    except _C.ArgumentError as error:
        raise _C.ArgumentError(
            "must be variables of the program", op="quantize", argument="results",
            got=", ".join(type(x).__name__ for x in results) or "none",
        ) from error  # fmt: skip
