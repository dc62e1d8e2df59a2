"""all-MiniLM-L6-v2 with its real weights, beside ONNX Runtime: `python benchmarks/minilm.py`.

It needs no PyTorch: the ONNX models are written here, from the same weights, in two forms. One is
in the standard's ops, as exporters write it; the other in ONNX Runtime's own fused ops, what its
optimiser for transformers makes. The better of the two counts. Contenders take turns, so that what
else the machine does meets all of them; medians are told, and how they compare.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
from compare import time_calls
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

import tensorlike as tl
from tensorlike import static
from tensorlike.__main__ import run_path

ROOT = Path(__file__).resolve().parents[1]
BAR = 0.8
THREADS = 2
WIDTH, HEADS, LAYERS = 384, 12, 6
Call = Callable[[], Any]
EAGER, COMPILED, COMMAND = "eager", "compiled", "tl-run --compile"
STANDARD, FUSED = "ONNX Runtime, standard ops", "ONNX Runtime, its fused ops"


def example() -> ModuleType:
    """examples/minilm.py."""
    spec = importlib.util.spec_from_file_location("minilm_example", ROOT / "examples/minilm.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Graph:
    """An ONNX graph that is written node by node."""

    def __init__(self, weights: dict[str, np.ndarray[Any, Any]]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, array: Any) -> str:
        """An initializer."""
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def weight(self, name: str, *, turned: bool = False) -> str:
        """One of the file."""
        array = self.weights[name]
        return self.constant(name, array.T if turned else array)

    def __call__(
        self, op: str, *inputs: str, domain: str = "", outputs: int = 1, **keys: Any
    ) -> Any:
        """A node; the names of what it makes."""
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **keys))
        return names[0] if outputs == 1 else names

    def affine(self, x: str, name: str) -> str:
        """x @ weight.T + bias."""
        product = self("MatMul", x, self.weight(f"{name}.weight", turned=True))
        return str(self("Add", product, self.weight(f"{name}.bias")))

    def norm(self, x: str, name: str) -> str:
        """A layer norm."""
        w, b = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return str(self("LayerNormalization", x, w, b, axis=-1, epsilon=1e-12))

    def integers(self, *values: int) -> str:
        """A constant of integers."""
        return self.constant(f"integers_{'_'.join(map(str, values))}", np.array(values, np.int64))

    def pooled(self, x: str) -> bytes:
        """The mean, with length 1; and the model."""
        there = self("Unsqueeze", self("Cast", "mask", to=TensorProto.FLOAT), self.integers(2))
        total = self("ReduceSum", self("Mul", x, there), self.integers(1), keepdims=0)
        mean = self("Div", total, self("ReduceSum", there, self.integers(1), keepdims=0))
        self.nodes.append(helper.make_node("LpNormalization", [mean], ["vectors"], axis=-1, p=2))
        given = [
            helper.make_tensor_value_info(name, kind, ["batch", "length"])
            for name, kind in (("tokens", TensorProto.INT64), ("mask", TensorProto.BOOL))
        ]
        made = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", WIDTH])]
        graph = helper.make_graph(self.nodes, "minilm", given, made, list(self.constants.values()))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def embedded(g: Graph) -> str:
    """Tokens to vectors."""
    word = g("Gather", g.weight("embeddings.word_embeddings.weight"), "tokens")
    length = g("Shape", "tokens", start=1, end=2)
    positions = g.weight("embeddings.position_embeddings.weight")
    place = g("Slice", positions, g.integers(0), length, g.integers(0))
    kind = g.constant("kind", g.weights["embeddings.token_type_embeddings.weight"][0])
    return g.norm(g("Add", g("Add", word, place), kind), "embeddings.LayerNorm")


def in_standard_ops(weights: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """As exporters write it, with LayerNormalization and Gelu of opset 20."""
    g = Graph(weights)
    x = embedded(g)
    lowest = g.constant("lowest", np.float32(np.finfo(np.float32).min))
    seen = g("Unsqueeze", "mask", g.integers(1, 2))
    added = g("Where", seen, g.constant("nothing", np.float32(0)), lowest)
    depth = g.constant("depth", np.float32((WIDTH // HEADS) ** 0.5))
    for i in range(LAYERS):
        name = f"encoder.layer.{i}"
        q, k, v = (
            g(
                "Transpose",
                g("Reshape", g.affine(x, f"{name}.attention.self.{part}"), split),
                perm=perm,
            )
            for part, perm, split in (
                ("query", [0, 2, 1, 3], g.integers(0, 0, HEADS, WIDTH // HEADS)),
                ("key", [0, 2, 3, 1], g.integers(0, 0, HEADS, WIDTH // HEADS)),
                ("value", [0, 2, 1, 3], g.integers(0, 0, HEADS, WIDTH // HEADS)),
            )
        )
        scores = g("Add", g("Div", g("MatMul", q, k), depth), added)
        heads = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        y = g.affine(g("Reshape", heads, g.integers(0, 0, WIDTH)), f"{name}.attention.output.dense")
        x = g.norm(g("Add", y, x), f"{name}.attention.output.LayerNorm")
        y = g.affine(g("Gelu", g.affine(x, f"{name}.intermediate.dense")), f"{name}.output.dense")
        x = g.norm(g("Add", y, x), f"{name}.output.LayerNorm")
    return g.pooled(x)


def in_fused_ops(weights: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """In ONNX Runtime's Attention, SkipLayerNormalization and BiasGelu."""
    g = Graph(weights)
    x, own = embedded(g), {"domain": "com.microsoft"}
    seen = g("Cast", "mask", to=TensorProto.INT32)
    for i in range(LAYERS):
        name = f"encoder.layer.{i}"
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        packed = g.constant(
            f"{name}.qkv.weight", np.hstack([weights[f"{part}.weight"].T for part in parts])
        )
        bias = g.constant(f"{name}.qkv.bias", np.hstack([weights[f"{p}.bias"] for p in parts]))
        heads = g("Attention", x, packed, bias, seen, num_heads=HEADS, **own)
        x = skipped(g, heads, x, f"{name}.attention.output")
        y = g("MatMul", x, g.weight(f"{name}.intermediate.dense.weight", turned=True))
        y = g("BiasGelu", y, g.weight(f"{name}.intermediate.dense.bias"), **own)
        x = skipped(g, y, x, f"{name}.output")
    return g.pooled(x)


def skipped(g: Graph, y: str, x: str, name: str) -> str:
    """The norm of x and an affine map of y."""
    y = g("MatMul", y, g.weight(f"{name}.dense.weight", turned=True))
    norm = [g.weight(f"{name}.LayerNorm.{part}") for part in ("weight", "bias")]
    bias = g.weight(f"{name}.dense.bias")
    return str(
        g("SkipLayerNormalization", y, x, *norm, bias, domain="com.microsoft", epsilon=1e-12)
    )


def session(model: bytes, feed: dict[str, Any]) -> Call:
    """A call of ONNX Runtime's."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    made = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    return lambda: made.run(None, feed)[0]


def contenders(module: ModuleType, feed: dict[str, Any]) -> tuple[dict[str, Call], Any, Any]:
    """Calls by name, whose results are compared; the program, and its result."""
    network = module.load()
    weights = load_file(module.folder() / "model.safetensors")
    tokens, mask = tl.tensor(feed["tokens"]), tl.tensor(feed["mask"])
    program, y = module.record(network, *feed["tokens"].shape)
    compiled = static.CompiledProgram(program)
    made: dict[str, Call] = {
        COMPILED: lambda: compiled.run(y, tokens, mask),
        EAGER: lambda: network(tokens, mask),
        STANDARD: session(in_standard_ops(weights), feed),
        FUSED: session(in_fused_ops(weights), feed),
    }
    results = {name: np.asarray(call()) for name, call in made.items()}
    for name, result in results.items():
        np.testing.assert_allclose(result, results[EAGER], atol=1e-5, rtol=0, err_msg=name)
    return made, program, y


def command(folder: Path, program: Any, y: Any, feed: dict[str, Any]) -> float:
    """Seconds of a run by tl-run, without Python."""
    (folder / "minilm.tlp").write_bytes(program.to_bytes(y))
    for name, array in feed.items():
        np.save(folder / f"{name}.npy", array)
    words = [run_path(), "minilm.tlp", "--compile", "--bench", "3", "--threads", str(THREADS)]
    for name in feed:
        words += ["--input", f"{name}={name}.npy"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    found = re.search(r"median (\S+) us", done.stdout)
    assert found, done.stdout
    return float(found[1]) / 1e6


def measured(
    module: ModuleType, batch: int, tokens: int, rounds: int, *, padded: bool
) -> dict[str, list[float]]:
    """Seconds of rounds in which each has its turn; then those of `tl-run`."""
    random = np.random.default_rng(batch)
    lengths = random.integers(tokens // 4, tokens + 1, batch) if padded else np.full(batch, tokens)
    lengths[0] = tokens
    mask = np.arange(tokens) < lengths[:, None]
    words = random.integers(999, 30522, (batch, tokens))
    feed = {"tokens": np.where(mask, words, 0), "mask": mask}
    calls, program, y = contenders(module, feed)
    times = dict(time_calls(calls, rounds=rounds, turn=0.02).rounds)
    with tempfile.TemporaryDirectory() as folder:
        runs = [command(Path(folder), program, y, feed) for _ in range(rounds)]
    return {**times, COMMAND: runs}


def main() -> None:
    """Prints a table; fails where the bar is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, nargs="+", default=[128])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    asked = parser.parse_args()
    tl.set_num_threads(THREADS)
    module, load = example(), os.getloadavg()[0]
    print(f"ONNX Runtime {onnxruntime.__version__}, {THREADS} threads, load {load:.1f}")
    missed = False
    for tokens in asked.tokens:
        for batch in asked.batch:
            times = measured(module, batch, tokens, asked.rounds, padded=batch > 1)
            print(f"\nbatch {batch}, {tokens} tokens: median and least, of ONNX Runtime's best")
            medians, least = (
                {name: float(of(found)) for name, found in times.items()} for of in (np.median, min)
            )
            for name in times:
                print(
                    f"  {name:28}", *(f"{1000 * x[name]:8.2f} ms" for x in (medians, least)), end=""
                )
                print(*(f"{x[name] / min(x[STANDARD], x[FUSED]):5.2f}" for x in (medians, least)))
            missed |= medians[COMPILED] > BAR * min(medians[STANDARD], medians[FUSED])
    print(f"\nbar {BAR}: {'MISSED' if missed else 'met'}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
