"""Complex numbers between the real inputs and results of a model: spectra, for the most part.

ONNX has no ops for complex numbers, but Fourier transforms of pairs: of the real and the imaginary
part, along an axis that comes last. So a complex value is such a tensor here, for the ops that are
listed below; all others of complex numbers are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .... import _C
from .graph import Graph, Value
from .numbers import Number
from .site import Rule, Site, Spec, UnsupportedError

REAL_OF: Mapping[str, str] = {"complex64": "float32", "complex128": "float64"}
# Ops that move elements, or add them up: they are the same of both parts.
OF_PARTS = {
    "Transpose", "Reshape", "Broadcast", "Subtensor", "SetSubtensor", "Concat", "Stack", "Split",
    "Gather", "ScatterSet", "ScatterAdd", "TakeAlongAxis", "PutAlongAxis",
}  # fmt: skip
Pair = tuple[str, "str | None"]  # names of both parts; None: the imaginary one is 0


def is_complex(dtype: _C.dtype) -> bool:
    """Whether it is one of complex numbers."""
    return dtype.name in REAL_OF


def real_of(dtype: _C.dtype) -> _C.dtype:
    """The dtype of its parts; a real one is its own."""
    found: _C.dtype = getattr(_C, REAL_OF.get(dtype.name, dtype.name))
    return found


def in_pairs(array: Any) -> Any:
    """The elements of a complex array, or a number, as pairs."""
    import numpy as np

    return np.stack([np.real(array), np.imag(array)], axis=-1)


def write_complex(site: Site) -> list[str]:
    """The nodes of an op of which something is complex.

    Raises:
        UnsupportedError: it is none of the ops that go by pairs.
    """
    name = type(site.op).__name__
    mode = str(site.attrs.get("mode")) if name == "Elemwise" else ""
    if name == "Const":
        return [site.graph.constant(in_pairs(site.op.value), real_of(site.y.dtype).name)]
    if name == "FourierTransform":
        return [_transformed(site)]
    if name == "Cast" and is_complex(site.y.dtype):
        return [_joined(site.graph, *_parts(site.graph, site.x, real_of(site.y.dtype)), site.y)]
    if name in OF_PARTS or (name == "Reduce" and site.attrs.get("mode") in ("sum", "mean")):
        return _of_both_parts(site)
    if mode in ELEMENTWISE:
        parts = [_parts(site.graph, value, real_of(site.y.dtype)) for value in site.inputs]
        return [_joined(site.graph, *ELEMENTWISE[mode](site.graph, *parts), site.y)]
    dtypes = [*(x.dtype for x in site.inputs), *(y.dtype for y in site.outputs)]
    raise UnsupportedError(f"ONNX has no ops for {next(filter(is_complex, dtypes)).name}")


def _parts(graph: Graph, value: Value, dtype: _C.dtype) -> Pair:
    if not is_complex(value.dtype):
        return graph.cast(value.name, value.dtype, dtype), None
    if isinstance(value.literal, (int, float)):
        return graph.constant(value.literal, dtype.name), None
    real, imaginary = (
        graph.one("Gather", value.name, graph.constant(i, "int64"), axis=-1) for i in range(2)
    )
    own = real_of(value.dtype)
    return graph.cast(real, own, dtype), graph.cast(imaginary, own, dtype)


def _joined(graph: Graph, real: str, imaginary: str | None, spec: Spec) -> str:
    """A pair, or the real part where a real number is wanted."""
    if not is_complex(spec.dtype):
        return real
    if imaginary is None:
        imaginary = graph.one("Sub", real, real)
    last = graph.ints([-1])
    both = [graph.one("Unsqueeze", part, last) for part in (real, imaginary)]
    return graph.one("Concat", *both, axis=-1)


def _of_both_parts(site: Site) -> list[str]:
    """The op of both parts, each written as of real numbers."""
    from .writer import write_op

    columns = [_parts(site.graph, x, real_of(x.dtype)) for x in site.inputs]
    outputs = [Spec(real_of(y.dtype), y.shape) for y in site.outputs]
    found = []
    for part in range(2):
        inputs = [
            value._replace(name=_part(site.graph, names, part, value), dtype=real_of(value.dtype))
            for value, names in zip(site.inputs, columns, strict=True)
        ]
        found.append(write_op(replace(site, inputs=inputs, outputs=outputs)))
    return [
        _joined(site.graph, real, imaginary, spec)
        for real, imaginary, spec in zip(*found, site.outputs, strict=True)
    ]


def _part(graph: Graph, names: Pair, part: int, value: Value) -> str:
    """One part of a value, of which both are the same where it is an index."""
    found = names[part]
    if found is not None:
        return found
    return _zeros(graph, names[0]) if value.dtype.kind == "floating" else names[0]


def _sum(op: str) -> Callable[..., Pair]:
    def write(graph: Graph, a: Pair, b: Pair) -> Pair:
        real = graph.one(op, a[0], b[0])
        if b[1] is None:
            # The parts have one shape where both are broadcast.
            imaginary = None if a[1] is None else graph.one("Add", a[1], _zeros(graph, b[0]))
        elif a[1] is None:
            imaginary = graph.one(op, _zeros(graph, a[0]), b[1])
        else:
            imaginary = graph.one(op, a[1], b[1])
        return real, imaginary

    return write


def _zeros(graph: Graph, name: str) -> str:
    return graph.one("Sub", name, name)


def _multiply(graph: Graph, a: Pair, b: Pair) -> Pair:
    real = graph.one("Mul", a[0], b[0])
    if a[1] is None and b[1] is None:
        return real, None
    if a[1] is None or b[1] is None:
        return real, graph.one("Mul", a[1] or a[0], b[1] or b[0])
    cross = graph.one("Mul", a[0], b[1]), graph.one("Mul", a[1], b[0])
    return graph.one("Sub", real, graph.one("Mul", a[1], b[1])), graph.one("Add", *cross)


def _divide(graph: Graph, a: Pair, b: Pair) -> Pair:
    if b[1] is not None:
        raise UnsupportedError("it divides by complex numbers")
    return graph.one("Div", a[0], b[0]), None if a[1] is None else graph.one("Div", a[1], b[0])


def _abs(graph: Graph, a: Pair) -> Pair:
    """The root of the squares, of parts that are made small before."""
    assert a[1] is not None, "of a real number it is another op"
    sizes = [graph.one("Abs", part) for part in (a[0], a[1])]
    most = graph.one("Max", *sizes)
    # Where both are 0, or one is infinite, the larger one is it.
    quotients = [graph.one("Div", size, most) for size in sizes]
    squares = [graph.one("Mul", each, each) for each in quotients]
    found = graph.one("Mul", most, graph.one("Sqrt", graph.one("Add", *squares)))
    is_lost = graph.one("IsNaN", found)
    return graph.one("Where", is_lost, most, found), None


def _negative(graph: Graph, a: Pair) -> Pair:
    return graph.one("Neg", a[0]), None if a[1] is None else graph.one("Neg", a[1])


def _conj(graph: Graph, a: Pair) -> Pair:
    return a[0], None if a[1] is None else graph.one("Neg", a[1])


def _complex(graph: Graph, a: Pair, b: Pair) -> Pair:
    return graph.one("Add", a[0], _zeros(graph, b[0])), graph.one("Add", b[0], _zeros(graph, a[0]))


def _imag(graph: Graph, a: Pair) -> Pair:
    return a[1] or _zeros(graph, a[0]), None


ELEMENTWISE: Mapping[str, Callable[..., Pair]] = {
    "add": _sum("Add"), "subtract": _sum("Sub"), "multiply": _multiply, "divide": _divide,
    "negative": _negative, "conj": _conj, "complex": _complex, "abs": _abs,
    "real": lambda graph, a: (a[0], None), "imag": _imag,
}  # fmt: skip


def write_transform(site: Site) -> list[str] | None:
    """A Fourier transform, of real numbers too."""
    return [_transformed(site)]


def _transformed(site: Site) -> str:
    """DFT along one axis after the other; ONNX's inverse divides by the sizes."""
    graph, kind, inverse = site.graph, site.known("kind"), site.known("inverse")
    x, y, ndim = site.x, site.y, len(site.x.shape)
    axes = [axis % ndim for axis in site.known("axes")]
    own = real_of(y.dtype if is_complex(y.dtype) else x.dtype)
    if own.name not in ("float32", "float64"):
        raise UnsupportedError(f"ONNX transforms no {own.name}")
    real, imaginary = _parts(graph, x, own)
    spec = Spec(_C.complex128, x.shape)
    value = _joined(graph, real, imaginary, spec)
    factors: list[Any] = [site.known("scale")]
    sizes = graph.shape(x)
    # Of real numbers the inverse is the conjugate, which is all that ONNX has of one side.
    is_turned, inverse = kind == "r2c" and inverse, kind != "r2c" and inverse
    last = axes[-1]
    if kind == "c2r":
        sizes[last] = site.attrs["n"]
    if inverse:
        factors += [sizes[axis] for axis in axes]
    # Half a spectrum is made of real numbers first, and made whole when these come next.
    for axis in [last, *axes[:-1]] if kind == "r2c" else axes:
        if kind == "c2r" and axis == last:
            value = _whole_spectrum(graph, value, axis, site.attrs["n"])
        is_half = kind == "r2c" and axis == last
        value = _along(site, value, axis, inverse=inverse, onesided=is_half)
    for factor in factors:
        value = _scaled(graph, value, factor, own)
    if is_turned:
        value = graph.one("Mul", value, graph.constant(_conjugate(), own.name))
    if is_complex(y.dtype):
        return value
    return graph.cast(graph.one("Gather", value, graph.constant(0, "int64"), axis=-1), own, y.dtype)


def _along(site: Site, value: str, axis: int, *, inverse: bool, onesided: bool) -> str:
    """With an axis in front, which ONNX counts as that of examples."""
    graph = site.graph
    given = graph.one("Unsqueeze", value, graph.ints([0]))
    if onesided:  # of real numbers alone
        first = graph.one("Gather", given, graph.ints([0]), axis=-1)
        given = first
    flags = {"inverse": int(inverse), "onesided": int(onesided)}
    if site.writer.opset < 20:
        found = graph.one("DFT", given, axis=axis + 1, **flags)
    else:
        found = graph.one("DFT", given, "", graph.scalar(axis + 1), **flags)
    return graph.one("Squeeze", found, graph.ints([0]))


def _whole_spectrum(graph: Graph, half: str, axis: int, n: Number) -> str:
    """With the conjugates of what is left out, in the opposite order."""
    kept = n // 2 + 1
    begin, end = n - kept, 0
    if isinstance(begin, int) and begin <= 0:
        return half
    ends = (graph.ints([begin]), graph.ints([end]), graph.ints([axis]), graph.ints([-1]))
    turned = graph.one("Slice", half, *ends)
    signs = graph.one("CastLike", graph.constant(_conjugate(), "float32"), half)
    return graph.one("Concat", half, graph.one("Mul", turned, signs), axis=axis)


def _conjugate() -> Any:
    """What a pair is multiplied by to be its conjugate."""
    import numpy as np

    return np.array([1, -1])


def _scaled(graph: Graph, value: str, factor: Any, dtype: _C.dtype) -> str:
    if type(factor) in (int, float):
        if factor == 1:
            return value
        return graph.one("Mul", value, graph.constant(factor, dtype.name))
    count = graph.cast(graph.scalar(factor), _C.int64, dtype)
    return graph.one("Mul", value, count)


SPECTRUM_RULES: Mapping[str, Rule] = {"FourierTransform": write_transform}
