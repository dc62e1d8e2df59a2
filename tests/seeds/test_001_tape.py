"""Acceptance rows L8 and L11: seed 001's program in Python, and the picture of a tape.

The rows L1 to L11 in C++ are `tests/csrc/test_seed_001*.cpp`; `tests/test_cpp_package.py` builds
the program of `examples/cpp` against the installed package.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.inspection.graph import read_dot

SVG = "{http://www.w3.org/2000/svg}"


class Linear(tl.nn.Layer):
    """The seed's: all weights and biases are 1."""

    def __init__(self, in_dim: int, out_dim: int, act: str) -> None:
        super().__init__()
        self.weight = tl.Parameter(np.ones((in_dim, out_dim), np.float32))
        self.bias = tl.Parameter(np.ones(out_dim, np.float32))
        self.act = getattr(tl.functional, act)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        return self.act(x @ self.weight + self.bias)


def test_l8_the_seeds_program_in_python_has_the_same_numbers() -> None:
    linear1, linear2 = Linear(3, 3, "relu"), Linear(3, 3, "relu")
    parameters = [linear1.weight, linear1.bias, linear2.weight, linear2.bias]
    sgd = tl.optim.SGD(parameters, lr=0.001)
    losses = []
    for step in range(3):
        loss = tl.mean(linear2(linear1(tl.ones((3, 3)))))
        losses.append(loss.item())
        sgd.zero_grad()
        loss.backward()
        if step == 0:
            for parameter, slope in zip(parameters, (1, 1, 4 / 3, 1 / 3), strict=True):
                expected = np.full(parameter.shape, slope, np.float32)
                np.testing.assert_allclose(parameter.grad, expected, rtol=1e-6)
        sgd.step()
    assert losses == pytest.approx([13.0, 12.9716826667, 12.9434292587], abs=2e-6)


def test_l11_a_tape_is_drawn_with_its_slots(tmp_path: Path) -> None:
    linear = Linear(3, 2, "relu")
    with tl.Tape() as tape:
        loss = tl.mean(linear(tl.ones((4, 3))))
    loss.backward()
    tape.draw(tmp_path / "tape.svg")
    texts = [text.text for text in ElementTree.parse(tmp_path / "tape.svg").iter(f"{SVG}text")]
    types = [str(text).partition("(")[0] for text in texts if str(text).startswith("type: ")]
    assert types == ["type: MatMul", "type: Elemwise", "type: Elemwise", "type: Reduce"]
    assert {"x1", "float32(3, 2)", "_1: float32(4, 2)", "_4: float32()"} <= set(texts)
    tape.draw(tmp_path / "tape.dot")
    graph = read_dot((tmp_path / "tape.dot").read_text(encoding="utf-8"))
    assert [(arrow.source, arrow.target, arrow.target_slot) for arrow in graph.arrows] == [
        ("v1", "op0_0", 1),
        ("op0_0", "op0_1", 0),
        ("v3", "op0_1", 1),
        ("op0_1", "op0_2", 0),
        ("op0_2", "op0_3", 0),
    ]
