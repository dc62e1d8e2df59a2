"""Methods of Tensor: each is the functional call that the declarations say it is."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from support.cases import cases_of
from support.declarations import DECLARED, OPS, SCALARS, function_of, inputs_of, name_of
from support.oracle import tuple_of

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.opdecl.compiler.methods import COMPOSED, SYNONYMS

METHODS = [entry for entry in DECLARED.functions.values() if entry.is_method]
SCALAR_METHODS = [entry for entry in SCALARS if entry.is_method]
# What NumPy's arrays and PyTorch's tensors both have, or either's users write daily.
NAMES = """
abs add all allclose amax amin any argmax argmin argsort asin atan ceil clamp clip clone conj
copy cos cosh cumprod cumsum diagonal diff div dot dtype eq erf exp expand expand_dims expm1
flatten flip floor fmod ge gt imag isclose isfinite isinf isnan item le lerp log log1p
logical_and logsumexp lt masked_fill matmul max mean min mm moveaxis mul ndim ne neg nonzero
norm numpy permute pow prod ravel real reciprocal relu repeat reshape roll round rsqrt shape
sigmoid sign sin sinh size softmax sort sqrt square squeeze std sub sum swapaxes take tan tanh
tile tolist topk trace transpose tril triu trunc unbind unique unsqueeze var view where bmm dim
numel
"""
SHARED = sorted(set(NAMES.split()))


def as_functional(name: str) -> Any:
    """The call of a dotted name."""
    found: Any = F
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", SHARED)
def test_names_that_numpy_and_pytorch_share_are_there(name: str) -> None:
    assert hasattr(tl.Tensor, name)


@pytest.mark.parametrize("entry", SCALAR_METHODS, ids=name_of)
def test_a_declared_method_is_the_call_with_the_tensor_first(entry: Any) -> None:
    rng = np.random.default_rng(3)
    dtype = "int64" if entry.args[0].category.rank < 2 else "float64"
    first, *rest = map(tl.tensor, inputs_of(entry, [(2, 3)] * len(entry.args), dtype, rng))
    if entry.args[0].category.rank == 0:
        first, rest = first != 0, [x != 0 for x in rest]
    found = tuple_of(getattr(first, entry.function)(*rest))
    for y, want in zip(found, tuple_of(function_of(entry)(first, *rest)), strict=True):
        np.testing.assert_array_equal(y, want, strict=True)


@pytest.mark.parametrize("entry", [e for e in OPS if e.is_method], ids=name_of)
def test_a_method_takes_the_attributes_of_its_op(entry: Any) -> None:
    for case in cases_of(entry):
        first, *rest = map(tl.tensor, case.inputs)
        if entry.function in ("reshape", "broadcast_to"):
            continue  # by sizes, below
        found = tuple_of(getattr(first, entry.function)(*rest, **case.attrs))
        for y, want in zip(found, tuple_of(case.call()), strict=True):
            np.testing.assert_array_equal(y, want, strict=True)


@pytest.mark.parametrize("name", [*COMPOSED, *SYNONYMS])
def test_a_method_has_the_parameters_of_its_call(name: str) -> None:
    call = as_functional(SYNONYMS.get(name, name))
    wanted = inspect.signature(getattr(call, "__wrapped__", call)).parameters
    method = getattr(tl.Tensor, name)
    found = inspect.signature(getattr(method, "__wrapped__", method)).parameters
    assert list(found)[1:] == list(wanted)[1:]
    assert [p.default for p in found.values()][1:] == [p.default for p in wanted.values()][1:]


@pytest.mark.parametrize("name", [entry.function for entry in METHODS])
def test_a_method_says_what_it_does(name: str) -> None:
    method = getattr(tl.Tensor, name)
    assert len(method.__doc__) > 20
    assert method.__name__ == name


def test_squeeze_and_expand_dims_refuse_axes_that_are_not_there() -> None:
    with pytest.raises(tl.IndexRangeError, match="squeeze: axis must be in"):
        tl.zeros((2, 1)).squeeze(axis=5)
    with pytest.raises(tl.IndexRangeError, match="squeeze"):
        tl.tensor(1.0).squeeze(axis=0)
    with pytest.raises(tl.IndexRangeError, match="expand_dims: axis must be in"):
        tl.zeros((2, 3)).expand_dims(9)
    assert tl.zeros((2, 1)).squeeze(-1).shape == (2,)
    assert tl.zeros((2, 3)).unsqueeze(1).shape == (2, 1, 3)


def test_sizes_come_one_by_one_or_together() -> None:
    x = tl.arange(24)
    for y in (
        x.reshape(2, 3, 4),
        x.reshape((2, 3, 4)),
        x.view([2, -1, 4]),
        x.reshape(np.int64(24)),
    ):
        assert y.ravel().tolist() == list(range(24))
    y = x.reshape(2, 3, 4)
    assert y.permute(2, 0, 1).shape == y.transpose((2, 0, 1)).shape == (4, 2, 3)
    assert y.flatten().shape == (24,)
    assert y.flatten(0, 1).shape == (6, 4)
    assert y.flatten(-2).shape == (2, 12)
    assert tl.tensor(1.0).flatten().shape == (1,)
    assert tl.ones((3, 1)).expand(2, -1, 4).shape == (2, 3, 4)
    assert tl.ones((3, 1)).tile(2, 2).shape == tl.ones((3, 1)).tile((2, 2)).shape == (6, 2)
    assert (y.dim(), y.numel(), y.size, y.element_size()) == (3, 24, 24, 8)


def test_wrong_axes_of_methods_are_refused_by_name() -> None:
    x = tl.ones((2, 3))
    with pytest.raises(tl.IndexRangeError, match="swapaxes: axis must be in"):
        x.swapaxes(0, 2)
    with pytest.raises(tl.ShapeError, match="flatten: start_dim"):
        x.flatten(1, 0)
    with pytest.raises(tl.ShapeError, match="expand: -1 must not stand"):
        x.expand(-1, 2, 3)
    with pytest.raises(tl.ShapeError, match="t: at most two"):
        tl.ones((1, 1, 1)).t()
    with pytest.raises(tl.ParameterError):
        x.reshape(2.9, 2)


def test_methods_keep_gradients_and_tensor_likes() -> None:
    x = tl.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    (
        x.relu().mul(2).flatten().clip(None, 5).masked_fill(tl.tensor([False] * 4), 0)
    ).sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    listing = tl.Listing()
    y = tl.Tensor(listing.input("x", (2, 3)))
    assert y.softmax().unsqueeze(0).transpose().shape == (3, 2, 1)


def test_dot_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    for a, b in [((), (2,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (4, 3, 2)),
                 ((2, 3), (5, 3, 2)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2))]:  # fmt: skip
        x, y = rng.normal(size=a), rng.normal(size=b)
        np.testing.assert_allclose(tl.tensor(x).dot(tl.tensor(y)), np.dot(x, y), rtol=1e-12)


def test_a_clone_is_a_value_of_its_own_with_the_gradient() -> None:
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    y[0] = 5
    assert x.tolist() == [1.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]
    assert not y.is_leaf
