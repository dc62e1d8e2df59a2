"""first_divergence: a function under two meanings, and the first op where they part.

The function runs once, under the first meaning; what it applies is recorded, op by op. The record
is then replayed under the second one, and what each op gives there is held against it.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..imperative import (
    Listing,
    RawTensor,
    ShapeTensor,
    Tensor,
    TensorBase,
    apply,
    as_raw_tensor,
    engine,
)
from ..imperative.levels import stopped, unwrapped
from ..imperative.symbolic import Step
from ..imperative.trees import map_tree
from ..inspection.files import replace_file
from ..ops import OpBase
from ..ops.serializing import serialize
from .meanings import Meaning, as_text, name_of

Array = np.ndarray[Any, Any]
_EPS_ALLOWED = 256  # roundings of the less precise side, relative to the largest element


class _Recorded(TensorBase):
    """A value under the first meaning, and its number in the record."""

    def __init__(self, record: _Record, value: Any, number: int) -> None:
        self.record = record
        self.value = value
        self.number = number

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def elements(self) -> Any:
        return self.value

    def stopped(self) -> Any:
        return self

    def lift(self, other: Any) -> _Recorded:
        return self.record.given(other)


class _Record:
    """What a function applied, under a meaning: a program, and what its variables were."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.program = Listing()
        self.raws: dict[int, RawTensor] = {}  # what came from outside
        self.values: list[Any] = []  # by the numbers of the program's variables

    def _added(self, value: Any) -> _Recorded:
        self.values.append(value)
        return _Recorded(self, value, len(self.values) - 1)

    def given(self, x: Any) -> _Recorded:
        raw = as_raw_tensor(np.asarray(Tensor(stopped(unwrapped(x)))))
        self.raws[self.program.capture(raw)] = raw
        return self._added(self.meaning.take(raw))

    def applied(self, op: OpBase, xs: tuple[_Recorded, ...]) -> list[_Recorded]:
        outputs = self.meaning.apply(op, [x.value for x in xs])
        specs = [ShapeTensor(y.shape, y.dtype) for y in outputs]
        self.program.append(op, [x.number for x in xs], specs, apply.line())
        return [self._added(y) for y in outputs]


@apply.register
def apply_recorded(op: OpBase, *xs: _Recorded) -> list[_Recorded]:
    """Applies the op under the first meaning, and writes it down."""
    return xs[0].record.applied(op, xs)


class Divergence:
    """The first op whose results differ; it prints as a few lines.

    Attributes:
        op: the op.
        line: where the user's program applied it: "file:line".
        position: how many ops came before it.
        output: which of its outputs.
        index: the element that differs most.
        a, b: that element under both meanings; or the exceptions that were raised.
        error: the difference, relative to the largest element.
        ulps: the difference in units of the last place of the less precise side.
        own_error: how much the op alone differs, on the inputs that the first meaning has.
        inputs: the arrays that it was applied to, under the first meaning.
    """

    def __init__(self, step: Step, position: int, inputs: list[Array], sides: str) -> None:
        """Of a step of the record."""
        self.op, self.line, self.position = step.op, step.line, position
        self.inputs = inputs
        self.sides = sides
        self.output = 0
        self.index: tuple[int, ...] = ()
        self.a: Any = None
        self.b: Any = None
        self.error = self.ulps = float("inf")
        self.own_error: float | None = None
        self._meanings: tuple[Any, Any] = (None, None)
        self._rtol: float | None = None

    def __repr__(self) -> str:
        """What, where, how much, of what."""
        element = f"output {self.output}{list(self.index) if self.index else ''}"
        lines = [
            f"{self.op} at {self.line}, after {self.position} ops that agree ({self.sides})",
            f"  {element}: {self.a} and {self.b}",
        ]
        if np.isfinite(self.error):
            lines.append(
                f"  differ by {self.error:.3g} of the largest element, {self.ulps:.3g} ulp"
            )
        if self.own_error is not None:
            lines.append(f"  on the same inputs this op alone differs by {self.own_error:.3g}")
        for i, x in enumerate(self.inputs):
            lines.append(f"  input {i}: {_summary(x)}")
        return "\n".join(lines)

    def repro(self, path: str | os.PathLike[str]) -> None:
        """Writes a program that applies the op alone, to the same inputs, under both meanings.

        Raises:
            ValueError: a meaning is a function or class that a program of its own cannot import.
        """
        a, b = map(as_text, self._meanings)
        arrays = []
        for x in self.inputs:
            stream = io.BytesIO()
            np.save(stream, x, allow_pickle=False)
            arrays.append(f'    array("{base64.b64encode(stream.getvalue()).decode()}"),')
        imports = sorted({text[0] for text in (a, b) if text[0]})
        lines = [
            f'"""{self.op} differs ({self.sides}); it was applied at {self.line}."""',
            "import base64",
            "import io",
            "",
            "import numpy as np",
            "",
            "import tensorlike as tl",
            "from tensorlike.testing import first_divergence",
            *imports,
            "",
            "",
            "def array(text):",
            "    return np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)",
            "",
            "",
            f"op = tl.ops.deserialize({serialize(self.op)!r})  # {self.op}",
            "inputs = [",
            *arrays,
            "]",
            f"print(first_divergence(lambda *xs: op(*xs), *inputs, a={a[1]}, b={b[1]}, "
            f"rtol={self._rtol!r}))",
        ]
        replace_file(path, ("\n".join(lines) + "\n").encode())


def _summary(x: Array) -> str:
    text = f"{x.dtype.name}{x.shape}"
    if x.size == 0 or x.dtype.kind not in "iuf":
        return text
    finite = x[np.isfinite(x)] if x.dtype.kind == "f" else x
    rest = f", {x.size - finite.size} not finite" if finite.size < x.size else ""
    return f"{text} from {finite.min():.6g} to {finite.max():.6g}{rest}" if finite.size else text


def first_divergence(
    function: Callable[..., Any],
    *args: Any,
    a: Any = None,
    b: Any = None,
    rtol: float | None = None,
) -> Divergence | None:
    """Runs a function under two meanings, and finds the first op where they part.

    A meaning is None (the kernels as they are), a dtype (floating-point values are of it: "float64"
    beside "float32"), an engine mode ("sync", "lazy", "async"), a tensor-like (its class, or what
    makes one of a value), or a `Reference`: what the ops should give, as a function of arrays.
    Python in the function sees the values of the first meaning. Gradients that it computes are ops
    like others, and are compared too.

    Args:
        function: what is looked into.
        args: its arguments: arrays, tensors, numbers, and trees of them, under both meanings.
        a: the meaning that it runs under.
        b: the meaning that is held against it.
        rtol: by how much elements may differ, relative to the largest of an output; by default
            256 roundings of the less precise side. What is not floating-point must be equal.

    Returns:
        A Divergence, which prints op, line, elements and inputs, and writes a program that shows it
        alone; None where all ops agree.

    Example:
        >>> import numpy as np
        >>> import tensorlike as tl
        >>> from tensorlike.testing import first_divergence
        >>> def variance(x):
        ...     return tl.mean(x * x) - tl.mean(x) ** 2
        >>> found = first_divergence(variance, np.array([1e4, 1e4 + 1]), a="float64", b="float32")
        >>> found.op, found.position
        (Elemwise(mode='subtract'), 5)
    """
    first, second = Meaning(a), Meaning(b)
    record = _Record(first)
    failure: BaseException | None = None
    with first.running():
        wrapped = map_tree(lambda x: Tensor(record.given(x)) if _is_data(x) else x, args)
        try:
            function(*wrapped)
        except Exception as error:  # what was applied before is compared all the same
            failure = error
        engine.sync()
    found = _replayed(record, second, rtol)
    if found is None and failure is not None:
        raise failure
    failure = None  # it holds this frame, which would hold it
    if found is not None:
        found._meanings, found._rtol = (first, second), rtol
    return found


def _is_data(x: Any) -> bool:
    return isinstance(x, (TensorBase, np.ndarray, np.generic))


def _replayed(record: _Record, meaning: Meaning, rtol: float | None) -> Divergence | None:
    """Applies what was recorded under another meaning; the first step whose results differ."""
    values: dict[int, Any] = {}
    sides = f"{name_of(record.meaning)} and {name_of(meaning)}"
    compared = 0
    steps = record.program.applied()
    with meaning.running():
        for number, raw in record.raws.items():
            values[number] = meaning.take(raw)
        for position, step in enumerate(steps):
            try:
                outputs = meaning.apply(step.op, [values[number] for number in step.inputs])
            except Exception as error:
                found = Divergence(step, position, _arrays(record, step), sides)
                found.a, found.b = "computes", f"raises {type(error).__name__}: {error}"
                return found
            values.update(zip(step.outputs, outputs, strict=False))
            if meaning.kind == "mode" and position + 1 < len(steps):
                continue  # reading would run what waits: chains are compared as they run
            for later in range(compared, position + 1):
                found_here = _compared(record, steps[later], later, values, meaning, rtol, sides)
                if found_here is not None:
                    return found_here
            compared = position + 1
    return None


def _compared(
    record: _Record,
    step: Step,
    position: int,
    values: dict[int, Any],
    meaning: Meaning,
    rtol: float | None,
    sides: str,
) -> Divergence | None:
    for output, number in enumerate(step.outputs):
        left = _array(record.values[number])
        right = _array(values[number]) if number in values else None
        found = _difference(left, right, rtol)
        if found is None:
            continue
        made = Divergence(step, position, _arrays(record, step), sides)
        made.output = output
        made.index, made.a, made.b, made.error, made.ulps = found
        made.own_error = _own_error(record, step, output, meaning, left)
        return made
    return None


def _own_error(
    record: _Record, step: Step, output: int, meaning: Meaning, left: Array
) -> float | None:
    """How much the op differs on the first side's inputs: the rest came with the inputs."""
    if meaning.kind == "mode" or left.dtype.kind not in "fc":
        return None
    xs = [meaning.take(as_raw_tensor(x)) for x in _arrays(record, step)]
    right = _array(meaning.apply(step.op, xs)[output])
    return _relative(left, right) if right.shape == left.shape else None


def _arrays(record: _Record, step: Step) -> list[Array]:
    return [_array(record.values[number]) for number in step.inputs]


def _array(value: Any) -> Array:
    return np.asarray(Tensor(stopped(value)))


def _relative(left: Array, right: Array) -> float:
    scale = float(np.max(np.abs(left), initial=0.0, where=np.isfinite(left)))
    error = float(np.max(_errors(left, right), initial=0.0))
    return error / scale if scale else error


def _errors(left: Array, right: Array) -> Array:
    """Differences; 0 where both are the same infinity or NaN, infinite where one is."""
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    x, y = left.astype(wide), right.astype(wide)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        errors = np.where(same, 0.0, np.abs(x - y))
    return np.asarray(np.where(np.isnan(errors), np.inf, errors))


def _difference(
    left: Array, right: Array | None, rtol: float | None
) -> tuple[tuple[int, ...], Any, Any, float, float] | None:
    infinite = float("inf")
    if right is None:
        return (), "an output", "none", infinite, infinite
    if left.shape != right.shape or (left.dtype.kind == "f") != (right.dtype.kind == "f"):
        first, second = (f"{x.dtype.name}{x.shape}" for x in (left, right))
        return (), first, second, infinite, infinite
    if left.dtype.kind not in "fc":
        where = np.argwhere(left != right)
        if not len(where):
            return None
        index = tuple(int(i) for i in where[0])
        return index, left[index], right[index], infinite, infinite
    errors = _errors(left, right)
    if not errors.size:
        return None
    eps = max(float(np.finfo(x.dtype).eps) for x in (left, right))
    finite = np.isfinite(left)
    scale = float(np.max(np.abs(left), initial=0.0, where=finite))
    allowed = (_EPS_ALLOWED * eps if rtol is None else rtol) * scale
    position = np.unravel_index(int(np.argmax(errors)), errors.shape)
    index = tuple(int(i) for i in position)
    error = float(errors[index])
    if error <= allowed:
        return None
    size = float(abs(left[index])) or scale or 1.0
    return index, left[index], right[index], error / (scale or 1.0), error / (eps * size)
