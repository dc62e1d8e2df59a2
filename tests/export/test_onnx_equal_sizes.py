"""Models of sizes that are divided, and of sizes that have to be equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tensorlike.export import onnx


def _session(use: Any, shape: tuple[Any, ...]) -> Any:
    with static.program_guard(static.Program(), static.Program()) as main:
        y = use(static.data("x", shape))
    model = onnx.to_model(main, results={"y": y})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # a refused run says so by its error
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def _drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def _skipped(x: Any) -> Any:
    y = F.interpolate(F.max_pool2d(F.tanh(x), 2), scale_factor=2, mode="nearest")
    return F.concat([x, y], axis=1)


def test_a_skip_connection_of_images_of_any_size_is_exported() -> None:
    use = _skipped
    session = _session(use, (1, 2, "h", "w"))
    for shape in ((1, 2, 4, 6), (1, 2, 8, 2)):
        x = _drawn(*shape)
        np.testing.assert_allclose(
            session.run(None, {"x": x})[0], use(tl.tensor(x)).numpy(), 1e-4, 1e-5
        )
    for shape in ((1, 2, 5, 6), (1, 2, 4, 3)):
        with pytest.raises(Exception, match=r"assumes|Concat|Expand|dimension|shape"):
            session.run(None, {"x": _drawn(*shape)})


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x * (x.shape[0] + 40), lambda x: x[: x.shape[0] // 2] * (x.shape[0] % 3),
        lambda x: F.pad(x, ((0, (4 - x.shape[0] % 4) % 4), (0, 0))),
        lambda x: F.sum(x[: -(-x.shape[0] // 3)]) / (x.shape[0] // 2 + 1),
        lambda x: tl.grad(lambda z: F.mean(z[::2] ** 2))(tl.Tensor(x)),
    ],
)  # fmt: skip
def test_what_is_calculated_of_a_size_is_calculated_by_the_model(use: Any) -> None:
    session = _session(use, (None, 3))
    for rows in (1, 2, 3, 7, 11):
        x = _drawn(rows, 3)
        np.testing.assert_allclose(
            session.run(None, {"x": x})[0], use(tl.tensor(x)).numpy(), 1e-5, 1e-6
        )


def test_a_question_is_asked_of_what_only_it_reads() -> None:
    def use(x: Any) -> Any:
        x = tl.Tensor(x)
        return x * (2 if F.masked_select(x, x > 0).shape[0] > 2 else 3)

    session = _session(use, (None,))
    given = np.float32([1, 2, 3, -4])
    np.testing.assert_array_equal(session.run(None, {"x": given})[0], given * 2)
    with pytest.raises(Exception, match="assumes"):
        session.run(None, {"x": -given})
