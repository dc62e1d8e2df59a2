"""The pass "channels": scales and shifts of a product's channels become part of its weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.errors import DeclarationError
from tensorlike.opdecl.compiler.model import OpEntry

RNG = np.random.default_rng(0)
CHANNELS = 6


def drawn(*shape: int, dtype: str = "float64") -> Any:
    return tl.tensor(RNG.normal(size=shape)).astype(dtype)


def compiled(f: Callable[[Any], Any], x: Any) -> tuple[Any, str]:
    """The value, and the program after constants are folded and the pass has run."""
    listing = tl.Listing()
    y = f(tl.Tensor(listing.input("x", ("n", *x.shape[1:]), x.dtype)))
    program = static.CompiledProgram(listing, ["fold", "channels", "dead_code"])
    return program.run(y, x), program.text(y)


def convolve(x: Any, groups: int = 1, bias: Any = None) -> Any:
    weight = F.reshape(F.sin(F.arange(0, CHANNELS * (4 // groups) * 9) * 1.0), (CHANNELS, -1, 3, 3))
    return F.conv2d(x, weight.astype(x.dtype), bias, groups=groups, padding=1)


SCALE, SHIFT = drawn(CHANNELS, 1, 1), drawn(1, CHANNELS, 1, 1)
BIAS, NUMBER = drawn(CHANNELS), drawn()
FOLDED: dict[str, Callable[[Any], Any]] = {
    "scale": lambda x: convolve(x, bias=BIAS) * SCALE,
    "scale without bias": lambda x: SCALE * convolve(x),
    "shift": lambda x: convolve(x) + SHIFT,
    "shift beside a bias": lambda x: convolve(x, bias=BIAS) - SHIFT,
    "minus": lambda x: convolve(x) - SHIFT,
    "both": lambda x: F.multiply_add(convolve(x), SCALE, SHIFT),
    "both, a number": lambda x: F.multiply_add(convolve(x, bias=BIAS), NUMBER, SHIFT),
    "divided": lambda x: convolve(x, bias=BIAS) / SCALE,
    "in groups": lambda x: F.multiply_add(convolve(x, groups=2), SCALE, SHIFT),
    "written out": lambda x: (
        (convolve(x, bias=BIAS) - SHIFT) / F.sqrt(SCALE * SCALE + 1e-5) * SCALE + SHIFT
    ),
    "a product's columns": lambda x: (F.reshape(x, (x.shape[0], 100)) @ drawn_once) * BIAS,
}
drawn_once = drawn(100, CHANNELS)


@pytest.mark.parametrize("name", FOLDED)
def test_it_fires_and_keeps_the_value(name: str) -> None:
    x = drawn(3, 4, 5, 5)
    found, text = compiled(FOLDED[name], x)
    assert "Elemwise" not in text
    np.testing.assert_allclose(np.asarray(found), np.asarray(FOLDED[name](x)), 1e-12, 1e-12)


STATE = drawn(CHANNELS, 1, 1)
KEPT: dict[str, Callable[[Any], Any]] = {
    "along rows": lambda x: convolve(x) * drawn(5, 1),
    "along columns of as many": lambda x: (
        convolve(F.concat([x, x[..., :1]], axis=3)) * drawn(CHANNELS)
    ),
    "examples": lambda x: convolve(x) * F.sum(x, axis=(1, 2, 3), keepdims=True),
    "read twice": lambda x: (lambda y: y * SCALE + F.tanh(y))(convolve(x)),
    "wider": lambda x: convolve(x) * drawn(2, 1, CHANNELS, 1, 1),
    "another dtype": lambda x: convolve(x.astype("float32")) * SCALE,
    "a weight that is fed": lambda x: (
        F.conv2d(x, F.reshape(x[:1, :, :3, :3], (1, 4, 3, 3))) * NUMBER
    ),
    "a result": lambda x: convolve(x) ** SCALE,
    "from the other side": lambda x: SHIFT - convolve(x),
    "divides": lambda x: SCALE / convolve(x),
    "a vector": lambda x: (F.reshape(x, (x.shape[0], 100)) @ drawn_once[:, 0]) * drawn(1),
}


@pytest.mark.parametrize("name", KEPT)
def test_it_leaves_alone_what_is_something_else(name: str) -> None:
    x = drawn(3, 4, 5, 5)
    global RNG
    RNG = np.random.default_rng(5)
    found, text = compiled(KEPT[name], x)
    RNG = np.random.default_rng(5)
    np.testing.assert_allclose(np.asarray(found), np.asarray(KEPT[name](x)), 1e-6, 1e-6)
    assert "Elemwise" in text


def test_a_batch_norm_that_infers_is_part_of_the_convolution() -> None:
    layers = tl.nn.Sequential(
        tl.nn.Conv2d(3, 8, 3, bias=False), tl.nn.BatchNorm2d(8), tl.nn.ReLU(), tl.nn.Conv2d(8, 4, 1)
    )
    for _ in range(3):
        layers(drawn(4, 3, 9, 9, dtype="float32"))
    layers.eval()
    x = drawn(2, 3, 9, 9, dtype="float32")
    listing = tl.Listing()
    y = layers(tl.Tensor(listing.input("x", x.shape, x.dtype)))
    program = static.CompiledProgram(listing)
    found, wanted = np.asarray(program.run(y, x).detach()), np.asarray(layers(x).detach())
    np.testing.assert_allclose(found, wanted, 0, 3e-6 * np.abs(wanted).max())
    assert {r.name: r.changes for r in program.report()}["channels"] == 1


def test_a_wrong_scale_would_be_seen() -> None:
    def wrong(graph: Any) -> None:
        """Takes the scale for a shift."""
        for place, step in enumerate(graph.steps()):
            if str(step.op) == "Elemwise(mode='multiply')":
                (made,) = graph.insert(place, tl.ops.Elemwise(mode="add"), step.inputs)
                graph.replace(step.outputs[0], made)

    x, listing = drawn(3, 4, 5, 5), tl.Listing()
    y = FOLDED["scale"](tl.Tensor(listing.input("x", x.shape, x.dtype)))
    found = static.CompiledProgram(listing, ["fold", wrong, "channels"]).run(y, x)
    assert not np.allclose(np.asarray(found), np.asarray(FOLDED["scale"](x)))


def test_large_weights_stay_as_they_are_and_are_there_once() -> None:
    weight, scale = drawn(512, 64, 3, 3, dtype="float32"), drawn(512, 1, 1, dtype="float32")
    x, shift = drawn(2, 64, 6, 6, dtype="float32"), drawn(512, 1, 1, dtype="float32")
    before = tl.memory.stats()["allocated"]

    def f(x: Any) -> Any:
        return F.relu(F.multiply_add(F.conv2d(x, weight), scale, shift))

    found, text = compiled(f, x)
    assert "multiply_add" in text
    assert tl.memory.stats()["allocated"] - before < 1 << 20
    assert np.asarray(found).tobytes() == np.asarray(f(x)).tobytes()


def test_a_training_program_is_left_alone() -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        layers = tl.nn.Sequential(tl.nn.Conv2d(3, 8, 3), tl.nn.BatchNorm2d(8))
        loss = F.mean(F.square(layers(static.data("x", (2, 3, 5, 5)))))
        tl.optim.SGD(lr=0.1).minimize(loss)
    compiled_program = static.CompiledProgram(main)
    compiled_program.optimised([loss])
    assert {r.name: r.changes for r in compiled_program.report()}["channels"] == 0


DECLARED = [
    entry for entry in load_builtin().entries if isinstance(entry, OpEntry) and entry.channels
]
CALLS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "Convolution": (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, groups=2), ((2, 4, 7, 7), (6, 2, 3, 3), (6,))
    ),
    "MatMul": (F.matmul, ((2, 3, 4), (2, 4, 6))),
}  # fmt: skip


@pytest.mark.parametrize("entry", DECLARED, ids=lambda entry: entry.name)
def test_what_is_declared_is_so(entry: OpEntry) -> None:
    """Scaling the result along its axis is scaling the arguments along theirs."""
    function, shapes = CALLS[entry.name]
    args, axes = [drawn(*shape) for shape in shapes], dict(entry.channels)
    y = np.asarray(function(*args))
    scale = RNG.normal(size=y.shape[axes["y"]])

    def scaled(x: Any, axis: int) -> Any:
        return np.moveaxis(np.moveaxis(np.asarray(x), axis, -1) * scale, -1, axis)

    names = [arg.name for arg in entry.args]
    for name, axis in entry.channels:
        if name != "y":
            args[names.index(name)] = tl.tensor(scaled(args[names.index(name)], axis))
    np.testing.assert_allclose(np.asarray(function(*args)), scaled(y, axes["y"]), 1e-12, 1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{weight: 0}", "an axis of y"),
        ("{y: 1}", "one of an argument"),
        ("{wieght: 0, y: 1}", "there is no 'wieght'"),
        ("{weight: first, y: 1}", "weight: an axis is expected; got 'first'"),
        ("[0, 1]", "axes by name are expected"),
    ],
)
def test_wrong_channels_are_refused(text: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        tl.declare(
            f"""
- op: WrongChannels
  args: ["x: real floating-point", "weight: real floating-point"]
  function: wrong_channels
  channels: {text}
  define: matmul(x, weight)
  doc: Of a test.
  example: {{x: [[1.0]], weight: [[1.0]]}}
"""
        )
