"""Calls at the corners of what is allowed: nothing to join, nothing between, nothing kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

F = tl.functional


def test_concat_without_an_axis_joins_the_elements() -> None:
    xs = [np.arange(6.0).reshape(2, 3).T, np.array(7.0), np.zeros((0, 2))]
    found = tl.concat([tl.tensor(x) for x in xs], axis=None)
    np.testing.assert_array_equal(found, np.concatenate([x.ravel() for x in xs]))
    slope = tl.grad(lambda x: F.sum(tl.concat([x, x * 2], axis=None)))(tl.ones((2, 2)))
    np.testing.assert_array_equal(slope, np.full((2, 2), 3.0))


@pytest.mark.parametrize("shape", [(0, 1), (3, 2), (0, 2), (3, 0)])
def test_a_mask_may_have_the_size_0_along_any_dimension(shape: tuple[int, int]) -> None:
    x = tl.ones(shape)
    for mask_shape in [(0, 0), (shape[0], 0), (0, shape[1])]:
        mask = tl.zeros(mask_shape, dtype=tl.bool)
        assert x[mask].shape == (0,)
        changed = tl.ones(shape)
        changed[mask] = 5.0
        np.testing.assert_array_equal(changed, np.ones(shape))
    with pytest.raises(tl.IndexRangeError, match="must have the size"):
        tl.ones((3, 2))[tl.zeros((3, 1), dtype=tl.bool)]


def test_vectors_of_vecdot_do_not_broadcast() -> None:
    message = r"^Vecdot: .* must hold; got shape\(x1\)\[\.\.\.\]=1, shape\(x2\)\[\.\.\.\]=4"
    with pytest.raises(tl.ShapeError, match=message):
        tl.vecdot(tl.ones((3, 1)), tl.ones((3, 4)))
    with pytest.raises(tl.IndexRangeError, match="axis must be in"):
        tl.vecdot(tl.ones((3, 4)), tl.ones((4,)), axis=0)
    assert tl.vecdot(tl.ones((2, 1, 4)), tl.ones((3, 4))).shape == (2, 3)
    for mode in ("lazy", "async"):
        with tl.engine.mode(mode, threshold=1), pytest.raises(tl.ShapeError):
            tl.vecdot(tl.ones((3, 1)), tl.ones((3, 4)))


def test_an_ellipsis_that_stands_for_nothing_stands_between_indices() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    x, i, j = tl.tensor(array), [0, 2, 1], [3, 0, 2]
    for key in [
        (slice(None), i, ..., j),
        (slice(None), i, j, ...),
        (..., i, j),
        (slice(None), i, slice(None), ...),
        (0, ..., i, j),
    ]:
        np.testing.assert_array_equal(x[key], array[key])
        changed, want = tl.tensor(array), array.copy()
        changed[key] = -1.0
        want[key] = -1.0
        np.testing.assert_array_equal(changed, want)


def test_windows_of_no_images_are_no_windows() -> None:
    assert F.unfold(tl.zeros((0, 1, 4, 4)), 2).shape == (0, 4, 9)
    assert F.unfold(tl.zeros((2, 0, 4, 4)), 2).shape == (2, 0, 9)
    assert F.fold(tl.zeros((0, 4, 9)), (4, 4), 2).shape == (0, 1, 4, 4)


@pytest.mark.parametrize(("stride", "dilation", "extra"), [(1, 3, 1), (1, 3, 2), (2, 3, 2)])
def test_output_padding_may_be_less_than_the_dilation(
    stride: int, dilation: int, extra: int
) -> None:
    rng = np.random.default_rng(4)
    x, weight = rng.normal(size=(2, 3, 5)), rng.normal(size=(3, 2, 2))
    attrs = {"stride": stride, "dilation": dilation, "output_padding": extra}
    want = np.zeros((2, 2, (5 - 1) * stride + dilation + 1 + extra))
    for place in range(5):
        for k in range(2):
            want[:, :, place * stride + k * dilation] += x[:, :, place] @ weight[:, :, k]
    found = F.conv_transpose1d(tl.tensor(x), tl.tensor(weight), **attrs)
    np.testing.assert_allclose(found, want, rtol=1e-12)

    def total(a: Any, b: Any) -> Any:
        y = F.conv_transpose1d(a, b, **attrs)
        return F.sum(y * tl.tensor(np.cos(np.arange(y.size)).reshape(y.shape)))

    for i in range(2):
        given = [tl.tensor(x), tl.tensor(weight)]
        slope = np.asarray(tl.grad(total, argnums=i)(*given))
        moved = [x.copy(), weight.copy()]
        moved[i].flat[1] += 1e-6
        step = float(total(*map(tl.tensor, moved))) - float(total(*given))
        assert slope.flat[1] == pytest.approx(step / 1e-6, rel=1e-4)
    with pytest.raises(tl.ShapeError, match="less than the stride or the dilation"):
        F.conv_transpose1d(tl.ones((1, 1, 3)), tl.ones((1, 1, 2)), dilation=3, output_padding=3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_least_squares_keep_no_singular_value_that_is_not_above_the_tolerance(dtype: str) -> None:
    x = tl.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]], dtype=dtype)
    for rtol in (1.0, 2, 1e30):
        np.testing.assert_array_equal(tl.linalg.pinv(x, rtol=rtol), np.zeros((2, 3)))
        solution, rank, _ = F.lstsq(x, tl.ones((3,), dtype=dtype), rtol=rtol)
        assert rank.item() == 0
        np.testing.assert_array_equal(solution, np.zeros(2))
    kept = np.asarray(tl.linalg.pinv(x, rtol=0.999))
    np.testing.assert_allclose(kept, [[0.5, 0, 0], [0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("call", [F.gather, F.scatter_set, F.scatter_add])
def test_indices_must_name_an_axis(call: Any) -> None:
    values = () if call is F.gather else (tl.ones(6),)
    with pytest.raises(tl.ShapeError, match=r": axes must name one axis or more; got axes=\(\)"):
        call(tl.ones(6), *values, axes=())


@pytest.mark.parametrize("call", [F.sumabs, F.sumsq, F.sum, F.prod])
def test_a_reduction_is_refused_or_made_in_any_dtype(call: Any) -> None:
    for name in ("bool", "int8", "uint64", "float16", "float64", "complex64", "complex128"):
        try:
            found = call(tl.tensor([1.0, 2.0]), dtype=name)
        except tl.DTypeError:
            assert call is F.sumabs or name == "bool"
        else:
            assert found.dtype.name == name
    with pytest.raises(tl.DTypeError, match=r"^sumabs: x must be real numeric; got complex64"):
        F.sumabs(tl.tensor([1.0, 2.0]), dtype="complex64")


def test_the_vectors_of_cosine_similarity_broadcast_before_they_are_measured() -> None:
    x1, x2 = np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([[1.0]])
    np.testing.assert_allclose(F.cosine_similarity(tl.tensor(x1), tl.tensor(x2)), [1.0])
    np.testing.assert_allclose(F.cosine_similarity(tl.tensor(x2), tl.tensor(x1)), [1.0])
    lower = F.cosine_similarity(tl.tensor([[1.0, -1.0], [2.0, 2.0]]), tl.tensor([1.0, 1.0]))
    np.testing.assert_allclose(lower, [0.0, 1.0], atol=1e-6)
    with pytest.raises(tl.ShapeError):
        F.cosine_similarity(tl.ones((2, 3)), tl.ones((2, 4)))


SEGMENTS = [F.segment_sum, F.segment_mean, F.segment_max, F.segment_min]


@pytest.mark.parametrize("call", SEGMENTS)
def test_segments_of_examples_may_differ_under_vmap(call: Any) -> None:
    rng = np.random.default_rng(6)
    x = tl.tensor(rng.normal(size=(3, 5, 2)))
    ids = tl.tensor([[0, 1, 1, 2, 0], [3, 3, 3, 3, 3], [2, 0, 2, 0, 1]])
    found = tl.vmap(lambda a, i: call(a, i, 4))(x, ids)
    shared = tl.vmap(lambda i: call(x[0], i, 4))(ids)
    for k in range(3):
        np.testing.assert_allclose(found[k], call(x[k], ids[k], 4))
        np.testing.assert_allclose(shared[k], call(x[0], ids[k], 4))
    for wrong in (-1, 4):
        with pytest.raises(tl.IndexRangeError):
            np.asarray(tl.vmap(lambda a, i: call(a, i, 4))(x, tl.where(ids == 3, wrong, ids)))


def test_labels_of_examples_may_differ_under_vmap() -> None:
    rng = np.random.default_rng(7)
    logs = F.log_softmax(tl.tensor(rng.normal(size=(3, 6, 2, 4))))
    labels = tl.tensor(rng.integers(1, 4, size=(3, 2, 3)))
    inputs, targets = tl.tensor([[6, 5], [4, 6], [6, 6]]), tl.tensor([[3, 1], [2, 0], [1, 3]])
    for reduction in ("mean", "sum", "none"):

        def loss(a: Any, b: Any, c: Any, d: Any, how: str = reduction) -> Any:
            return F.ctc_loss(a, b, c, d, reduction=how)

        found = tl.vmap(loss)(logs, labels, inputs, targets)
        for k in range(3):
            want = loss(logs[k], labels[k], inputs[k], targets[k])
            np.testing.assert_allclose(found[k], want, rtol=1e-6)
    slopes = tl.vmap(tl.grad(lambda a, b: F.ctc_loss(a, b, inputs[0], targets[0])))(logs, labels)
    for k in range(3):
        one = tl.grad(lambda a: F.ctc_loss(a, labels[k], inputs[0], targets[0]))(logs[k])  # noqa: B023
        np.testing.assert_allclose(slopes[k], one, rtol=1e-5, atol=1e-7)
    with pytest.raises((tl.IndexRangeError, tl.ShapeError)):
        np.asarray(tl.vmap(lambda b: F.ctc_loss(logs[0], b, inputs[0], targets[0]))(labels + 9))


CONSTANTS = {
    "sqrt(2)": np.sqrt(2.0),
    "exp(1)": np.e,
    "log(10)": np.log(10.0),
    "sin(1) / 3": np.sin(1.0) / 3,
    "1 / 3": 1 / 3,
    "where(1 < 2, sqrt(3), 0)": np.sqrt(3.0),
    "digamma(1)": -0.5772156649015329,
    "2 ** 0.5": np.sqrt(2.0),
    "sigmoid(1)": 1 / (1 + np.exp(-1.0)),
}


def test_constants_are_right_in_every_dtype() -> None:
    names = [f"constant_in_test_{i}" for i in range(len(CONSTANTS))]
    text = "\n".join(
        f"- scalar: {name}\n  args: [x: real floating-point]\n  expr: x * ({formula})\n  doc: d."
        for name, formula in zip(names, CONSTANTS, strict=True)
    )
    ops = tl.declare(text)
    for name, want in zip(names, CONSTANTS.values(), strict=True):
        call = getattr(ops, name)
        for dtype, units in (("float64", 4), ("float32", 1), ("float16", 1)):
            one = tl.tensor([1.0, 1.0], dtype=dtype)
            for found in (call(one), tl.grad(lambda x, f=call: F.sum(f(x)))(one)):
                unit = np.spacing(np.asarray(want, dtype=dtype)).astype(float)
                assert abs(np.asarray(found).astype(float) - want).max() <= units * abs(unit), name


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_integers_to_a_negative_power_are_refused_element_by_element(dtype: str, mode: str) -> None:
    x, powers = tl.tensor([2, 3, 1], dtype=dtype), tl.tensor([3, 0, 2], dtype=dtype)
    message = r"^pow: the exponent must not be negative where integers are raised; got -"
    with tl.engine.mode(mode):
        assert (x**powers).tolist() == [8, 1, 1]
        for base in (x, tl.ones(3, dtype=dtype), 2):
            with pytest.raises(tl.LiteralRangeError, match=message):
                (base ** (powers - 1)).tolist()
    assert (tl.astype(x, dtype=tl.float64) ** (powers - 1)).tolist() == [4, 1 / 3, 1]
    unsigned = tl.astype(x, dtype=tl.uint8) ** tl.astype(powers, dtype=tl.uint8)
    assert unsigned.tolist() == [8, 1, 1]


def test_matrix_exponentials_of_float32_are_right_to_the_last_digit() -> None:
    x = np.random.default_rng(0).normal(size=(4, 5, 5)).astype(np.float32) * 4
    wanted = np.asarray(tl.linalg.matrix_exp(tl.tensor(x.astype(np.float64))))
    found = np.asarray(tl.linalg.matrix_exp(tl.tensor(x)))
    np.testing.assert_array_equal(found, wanted.astype(np.float32))
    found = np.asarray(tl.linalg.matrix_exp(tl.tensor(x + 1j * x)))
    wanted = np.asarray(tl.linalg.matrix_exp(tl.tensor((x + 1j * x).astype(np.complex128))))
    np.testing.assert_allclose(found, wanted, rtol=2e-7)


def test_classes_are_not_ignored_among_probabilities() -> None:
    logits, shares = tl.ones((2, 3)), tl.full((2, 3), 1 / 3)
    assert F.cross_entropy(logits, shares, ignore_index=-100).shape == ()
    with pytest.raises(tl.ParameterError, match=r"^cross_entropy: ignore_index must be left out"):
        F.cross_entropy(logits, shares, ignore_index=0)


def test_variances_of_whole_rows_belong_to_the_rows() -> None:
    x, target = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.zeros((2, 2))
    found = F.gaussian_nll_loss(x, target, tl.tensor([1.0, 4.0]), reduction="none")
    each = F.gaussian_nll_loss(x, target, tl.tensor([[1.0], [4.0]]), reduction="none")
    np.testing.assert_array_equal(found, each)


def test_windows_are_floating_point() -> None:
    assert F.hann_window(4, dtype=tl.float16).dtype.name == "float16"
    for call in (F.hann_window, F.kaiser_window, F.bartlett_window):
        with pytest.raises(tl.DTypeError, match="dtype must be real floating-point; got int64"):
            call(4, dtype=tl.int64)


@pytest.mark.parametrize("divisor", [0, 2.5, True])
def test_a_divisor_of_means_is_an_integer_other_than_0(divisor: Any) -> None:
    x = tl.ones((1, 1, 4))
    assert F.avg_pool1d(x, 2, divisor_override=-1).tolist() == [[[-2, -2]]]
    with pytest.raises(tl.ParameterError, match="divisor_override must be an integer other than 0"):
        F.avg_pool1d(x, 2, divisor_override=divisor)


def test_no_images_are_pooled_into_none() -> None:
    x = tl.ones((0, 1, 4, 5))
    assert F.fractional_max_pool2d(x, 2, output_size=2).shape == (0, 1, 2, 2)
