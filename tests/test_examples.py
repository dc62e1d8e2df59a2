"""The examples do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "examples" / "digits.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the example on digits."""
    command = [sys.executable, str(DIGITS), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def digits() -> str:
    """What the whole example prints."""
    for needed in ("sklearn", "tqdm", "safetensors"):
        pytest.importorskip(needed)
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "training: 100%" in done.stderr
    return done.stdout


def test_digits_are_learnt_with_an_op_declared_at_run_time(digits: str) -> None:
    accuracy = re.search(r"accuracy on (\d+) held-out digits: ([\d.]+)%", digits)
    assert accuracy
    assert int(accuracy[1]) == 359
    assert float(accuracy[2]) >= 97.0


def test_the_trained_network_lists_its_ops_with_shapes(digits: str) -> None:
    assert "pixels: float32(64, 64)" in digits
    assert re.search(r"= Elemwise\(mode='squareplus'\)\(_\d+\)  # float32\(64, 128\)", digits)
    last = digits.partition("\n\nThe same network on a tensor-like that counts")[0].splitlines()[-1]
    assert last.endswith("# float32(64, 10)")


def test_the_trained_network_is_priced_per_op(digits: str) -> None:
    products = re.findall(r"([\d,]+) FLOP  Linear\(", digits)
    assert [int(n.replace(",", "")) for n in products] == [2 * 64 * 64 * 128, 2 * 64 * 128 * 10]
    assert "    8,192 FLOP  Elemwise(mode='squareplus')" in digits


def test_weights_that_were_saved_and_loaded_predict_the_same(digits: str) -> None:
    assert "saved and loaded: the predictions are equal" in digits


def test_digits_fail_when_the_accuracy_is_too_low(digits: str) -> None:
    done = run("--epochs", "1")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_digits_stay_short_enough_to_read() -> None:
    assert len(DIGITS.read_text(encoding="utf-8").splitlines()) < 120
