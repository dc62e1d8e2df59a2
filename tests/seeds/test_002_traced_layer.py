"""Seed 002, "Dygraph to Static Graph": its first example, and the one that it warns of.

The text has `SimpleFCLayer` for `SimpleFcLayer`, misses colons, and feeds a variable for a name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorlike as paddle
from tensorlike import static
from tensorlike.jit import TracedLayer


class SimpleFcLayer(paddle.nn.Layer):
    """A fully connected network."""

    def __init__(self, feature_size: int, batch_size: int, fc_size: int) -> None:
        super().__init__()
        self._linear = paddle.nn.Linear(feature_size, fc_size)
        self._offset = paddle.tensor(np.random.random((batch_size, fc_size)).astype("float32"))

    def forward(self, x: Any) -> Any:
        """Adds an offset."""
        fc = self._linear(x)
        return fc + self._offset


def test_the_first_example(tmp_path: Any) -> None:
    fc_layer = SimpleFcLayer(3, 4, 2)
    in_np = np.random.random([4, 3]).astype("float32")
    input_var = paddle.tensor(in_np)
    out_dygraph, static_layer = TracedLayer.trace(fc_layer, inputs=[input_var])
    save_dirname = tmp_path / "saved_infer_model"
    static_layer.save_inference_model(save_dirname, feed=[0], fetch=[0])

    exe = static.Executor(static.CPUPlace())
    with static.scope_guard(static.Scope()):
        program, feed_vars, fetch_vars = static.load_inference_model(save_dirname, exe)
        (fetch,) = exe.run(program, feed={feed_vars[0]: in_np}, fetch_list=fetch_vars)
    np.testing.assert_allclose(fetch, out_dygraph.detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(
        static_layer([input_var])[0].detach().numpy(), fc_layer(input_var).detach().numpy(),
        rtol=1e-6,
    )  # fmt: skip


def func(input_var: Any) -> Any:
    """A condition that depends on the shape of its argument."""
    if input_var.shape[0] > 1:
        return paddle.astype(input_var, "float64")
    return paddle.astype(input_var, "int64")


def test_a_branch_on_the_shape_is_not_recorded_for_other_shapes() -> None:
    in_np = np.array([-2]).astype("int")
    out, traced = TracedLayer.trace(func, inputs=[paddle.tensor(in_np)])
    assert out.dtype is paddle.int64
    assert traced([paddle.tensor([1, 2, 3])])[0].dtype is paddle.float64
    assert traced([paddle.tensor([1])])[0].dtype is paddle.int64
