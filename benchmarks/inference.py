"""Models that only infer, as compiled programs: beside ONNX Runtime and PyTorch."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from cases import Case
from models import encoder, resnet
from models.training import copy_weights
from peers import COMPILED, OURS, TORCH, Build, Call

import tensorlike as tl
from tensorlike import static

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

EAGER = "tensorlike, at once"
WRITTEN = "tensorlike, in small ops"
ONNX = "ONNX Runtime"


def inference() -> Iterator[Case]:
    """Each from the same weights; ours is a compiled program, from Python."""
    for title, model, shape, bar in (
        ("ResNet-18, batch 1", resnet, (1, 3, 224, 224), 0.9),
        ("ResNet-18, batch 8", resnet, (8, 3, 224, 224), 0.9),
        ("Encoder, 6 layers of 384, 128 tokens, batch 1", encoder, (1, 128, 384), 0.7),
        ("Encoder, 6 layers of 384, 128 tokens, batch 16", encoder, (16, 128, 384), 0.7),
    ):
        yield Case(
            name=f"{title}, inference",
            bar=bar,
            against=(ONNX, TORCH, COMPILED),
            builds=lambda model=model, shape=shape: _contenders(model, shape),
            given=lambda model=model, shape=shape: _ours_otherwise(model, shape),
            tolerance=1e-3,
        )


def _input(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _source(model: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    found: torch.nn.Module = model.Theirs().eval()
    with torch.no_grad():  # as if it were trained
        for name, x in found.named_buffers():
            if x.dtype.is_floating_point:
                is_variance = name.endswith("var")
                x.copy_(0.2 * torch.rand_like(x) + 0.2 if is_variance else torch.randn_like(x) / 10)
    return found


def _network(model: Any, **how: bool) -> tl.nn.Layer:
    source, network = _source(model), model.Ours(**how)
    copy_weights(source, network)
    network.eval()
    return network


def _at_once(model: Any, shape: tuple[int, ...]) -> Call:
    network, x = _network(model), tl.tensor(_input(shape))

    def call() -> Any:
        with tl.no_grad():
            return network(x)

    return call


def _compiled(network: tl.nn.Layer, shape: tuple[int, ...]) -> Call:
    listing = tl.Listing()
    with tl.no_grad():
        y = network(tl.Tensor(listing.input("x", shape)))
    program, x = static.CompiledProgram(listing), tl.tensor(_input(shape))
    return lambda: program.run(y, x)


def _theirs(model: Any, shape: tuple[int, ...], *, compiles: bool) -> Call:
    network, x = _source(model), torch.from_numpy(_input(shape))
    called = torch.compile(network, dynamic=False) if compiles else network

    def call() -> Any:
        with torch.inference_mode():
            return called(x)

    return call


def _onnx(model: Any, shape: tuple[int, ...]) -> Call:
    file, x = io.BytesIO(), _input(shape)
    torch.onnx.export(_source(model), (torch.from_numpy(x),), file, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(file.getvalue(), options, ["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, feed)[0]


def _contenders(model: Any, shape: tuple[int, ...]) -> dict[str, Build]:
    made: dict[str, Build] = {
        OURS: lambda: _compiled(_network(model), shape),
        TORCH: lambda: _theirs(model, shape, compiles=False),
        COMPILED: lambda: _theirs(model, shape, compiles=True),
    }
    if onnxruntime is not None:
        made[ONNX] = lambda: _onnx(model, shape)
    return made


def _ours_otherwise(model: Any, shape: tuple[int, ...]) -> dict[str, Callable[[], Call]]:
    made: dict[str, Callable[[], Call]] = {EAGER: lambda: _at_once(model, shape)}
    if model is encoder:
        made[WRITTEN] = lambda: _compiled(_network(model, in_small_ops=True), shape)
    return made
