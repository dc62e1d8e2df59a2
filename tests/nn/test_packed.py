"""Packed tensors: rows that are there give what they give in the whole; the others are 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.declarations import BUILT_IN

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import nn, static
from tensorlike.testing import check_tensor_like

RNG = np.random.default_rng(7)
MASKS = {
    "some": np.array([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 1, 1]], bool),
    "all": np.ones((3, 5), bool),
    "none": np.zeros((3, 5), bool),
    "empty": np.zeros((0, 4), bool),
}


def given(mask: Any, *row: int) -> Any:
    return tl.tensor(RNG.standard_normal((*mask.shape, *row)).astype(np.float32))


def packed_whole(x: Any) -> Any:
    """All rows, packed; what has no two axes, as a whole."""
    x = tl.Tensor(x)
    is_packed = len(x.shape) >= 2
    return nn.pack(x, tl.ones(x.shape[:2], dtype="bool")).__wrapped__ if is_packed else nn.Packed(x)


def test_it_is_right_on_every_op_alone_and_with_the_others() -> None:
    check_tensor_like(nn.Packed, names=BUILT_IN, make=packed_whole, value=lambda x: x.whole())


ROWS: dict[str, Any] = {
    "tanh": F.tanh,
    "linear": nn.Linear(4, 6, activation="gelu", seed=1),
    "norm": nn.LayerNorm(4),
    "root": nn.RMSNorm(4),
    "number": lambda x: 1.0 - x * 2,
    "itself": lambda x: x * x + x,
    "vector": lambda x: x * tl.tensor([1.0, 2.0, 3.0, 4.0]),
    "column": lambda x: x * F.astype(F.reshape(F.arange(5), (5, 1)), "float32"),
    "whole": lambda x: x - F.astype(F.arange(60), "float32").reshape(3, 5, 4),
    "sentence": lambda x: x + F.astype(F.arange(3), "float32").reshape(3, 1, 1),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("which", ["some", "all", "none"])
def test_rows_that_are_there_are_those_of_the_whole(name: str, which: str) -> None:
    mask = MASKS[which]
    x = given(mask, 4)
    got = ROWS[name](nn.pack(x, tl.tensor(mask))).detach()
    assert got.__wrapped__.value.shape[0] == mask.sum()  # no others were calculated
    wanted = np.where(mask[:, :, None], np.asarray(ROWS[name](x).detach()), 0)
    np.testing.assert_array_equal(np.asarray(nn.unpack(got)), wanted)


SEEING: dict[str, Any] = {
    "sum": lambda x: F.sum(x, axis=1),
    "softmax along rows": lambda x: F.softmax(x, axis=1),
    "norm of sentences": lambda x: F.layer_norm(x, tl.ones((5, 4)), tl.zeros((5, 4)), axes=(1, 2)),
    "turned": lambda x: F.permute_dims(x, (2, 0, 1)),
    "wider": lambda x: x + tl.ones((2, 3, 5, 4)),
    "product": lambda x: x @ tl.ones((4, 2)),
    "rows by vectors": lambda x: F.sum(x, axis=2) * F.astype(F.arange(5), "float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEING)
def test_ops_that_look_at_several_places_see_zeros_in_the_others(name: str) -> None:
    mask = MASKS["some"]
    x = given(mask, 4)
    got = nn.unpack(SEEING[name](nn.pack(x, tl.tensor(mask))))
    wanted = SEEING[name](x * tl.tensor(mask[:, :, None].astype(np.float32)))
    np.testing.assert_allclose(np.asarray(got), np.asarray(nn.unpack(wanted)), rtol=1e-6)


def test_two_masks_meet_in_the_whole() -> None:
    mask = MASKS["some"]
    x = given(mask, 4)
    both = nn.pack(x, tl.tensor(mask)) + nn.pack(x, tl.tensor(~mask))
    np.testing.assert_array_equal(np.asarray(nn.unpack(both)), np.asarray(x))


class Block(nn.Layer):
    """An encoder's layer."""

    def __init__(self) -> None:
        self.attention = nn.MultiHeadAttention(8, 2, seed=1)
        self.norm = nn.LayerNorm(8)
        self.widen, self.narrow = (
            nn.Linear(8, 16, activation="gelu", seed=2),
            nn.Linear(16, 8, seed=3),
        )

    def forward(self, x: Any, seen: Any) -> Any:
        x = self.norm(x + self.attention(x, mask=seen))
        return x + self.narrow(self.widen(x))


def loss_of(block: Any, x: Any, mask: Any, is_packed: bool) -> Any:
    seen = mask[:, None, None, :]
    y = nn.unpack(block(nn.pack(x, mask), seen)) if is_packed else block(x, seen)
    return F.sum(F.tanh(y) * F.astype(mask, "float32")[:, :, None])


@pytest.mark.parametrize("which", MASKS)
def test_an_encoder_layer_learns_the_same(which: str) -> None:
    block, mask = Block(), MASKS[which]
    x, found = given(mask, 8), []
    for is_packed in (False, True):
        leaf = tl.tensor(np.asarray(x), requires_grad=True)
        for parameter in block.parameters():
            parameter.grad = None
        loss = loss_of(block, leaf, tl.tensor(mask), is_packed)
        loss.backward()
        gradients = [leaf.grad, *(p.grad for p in block.parameters())]
        found.append([np.asarray(loss.detach()), *map(np.asarray, gradients)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_program_of_any_sizes_is_packed() -> None:
    block = Block().eval(record=False)
    program = tl.Listing()
    x = tl.Tensor(program.input("x", ("batch", "length", 8), "float32"))
    mask = tl.Tensor(program.input("mask", ("batch", "length"), "bool"))
    y = nn.unpack(block(nn.pack(x, mask), mask[:, None, None, :]))
    for which in ("some", "all", "none"):
        there = MASKS[which]
        values = given(there, 8), tl.tensor(there)
        wanted = np.asarray(block(values[0], values[1][:, None, None, :]))
        wanted = np.where(there[:, :, None], wanted, 0)
        for run in (program, static.CompiledProgram(program)):
            np.testing.assert_allclose(np.asarray(run.run(y, *values)), wanted, atol=1e-6)


def test_traced_mapped_and_differentiated_functions_take_them() -> None:
    mask = tl.tensor(MASKS["some"])
    x = given(MASKS["some"], 4)
    layer = ROWS["linear"]

    def loss(x: Any) -> Any:
        return F.sum(nn.unpack(layer(nn.pack(x, mask))))

    np.testing.assert_allclose(
        np.asarray(tl.grad(loss)(x).detach()),
        np.asarray(tl.grad(tl.jit.trace(loss))(x).detach()),
        rtol=1e-6,
    )
    many = F.stack([x, x * 2])
    each = [loss(many[0]).item(), loss(many[1]).item()]
    np.testing.assert_allclose(np.asarray(tl.vmap(loss)(many).detach()), each, rtol=1e-5)
    packed = nn.pack(x, mask)
    assert not np.asarray(nn.unpack(tl.grad(lambda p: F.sum(p * p))(packed)))[~MASKS["some"]].any()


def test_masks_of_other_shapes_are_refused() -> None:
    for mask in (tl.ones((3, 4), dtype="bool"), tl.ones(3, dtype="bool")):
        with pytest.raises(tl.ShapeError, match=r"^pack: mask must be \(sequences, length\) of x"):
            nn.pack(tl.ones((3, 5, 4)), mask)
    with pytest.raises(tl.ShapeError, match=r"^pack: mask"):
        nn.pack(tl.ones(3), tl.ones(3, dtype="bool"))


def test_another_tensor_is_unpacked_as_it_is() -> None:
    x = tl.ones((2, 3))
    assert nn.unpack(x).tolist() == x.tolist()
