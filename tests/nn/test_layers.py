"""Layers: parameters, what is found among attributes, state and its errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import Listing, Parameter, Tensor, nn
from tensorlike import functional as F


class Block(nn.Layer):
    """Parameters everywhere: direct, shared, in lists, dicts and sublayers."""

    def __init__(self) -> None:
        self.first = nn.Linear(2, 3, seed=0)
        self.scale = Parameter([2.0])
        self.many = [nn.Linear(3, 3, bias=False, seed=1), Parameter([1.0])]
        self.named = {"a": nn.Linear(3, 1, seed=2), "again": self.scale}
        self.size = 7

    def forward(self, x: Any) -> Any:
        h = F.relu(self.first(x)) * self.scale
        return self.named["a"](self.many[0](h) + self.many[1])


NAMES = [
    "first.weight",
    "first.bias",
    "scale",
    "many.0.weight",
    "many.1",
    "named.a.weight",
    "named.a.bias",
]


def test_parameters_are_found_in_the_order_of_their_making_and_each_once() -> None:
    block = Block()
    assert [name for name, _ in block.named_parameters()] == NAMES
    assert len(block.parameters()) == len(NAMES)
    assert all(parameter.requires_grad for parameter in block.parameters())


def test_every_parameter_gets_a_gradient() -> None:
    block = Block()
    F.sum(block(Tensor([[1.0, 2.0], [3.0, 4.0]])) ** 2).backward()
    for name, parameter in block.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.shape == parameter.shape


def test_linear_is_a_product_and_a_bias() -> None:
    layer = nn.Linear(3, 2, seed=0)
    x = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)
    layer.bias.set_value([1.0, 2.0])
    expected = x @ layer.weight.detach().numpy() + np.array([1.0, 2.0], np.float32)
    np.testing.assert_allclose(layer(Tensor(x)).detach().numpy(), expected, rtol=1e-5, atol=1e-5)
    assert nn.Linear(3, 2, bias=False).bias is None


def test_linear_starts_within_its_bound_and_the_seed_fixes_it() -> None:
    weight = nn.Linear(24, 1000, seed=5).weight
    assert weight.shape == (24, 1000)
    assert np.abs(weight.detach().numpy()).max() <= 0.5
    assert np.std(weight.detach().numpy()) == pytest.approx(0.5 / np.sqrt(3), rel=0.02)
    assert weight.tolist() == nn.Linear(24, 1000, seed=5).weight.tolist()
    assert weight.tolist() != nn.Linear(24, 1000, seed=6).weight.tolist()
    assert nn.Linear(24, 10).bias.tolist() == [0.0] * 10


def test_linear_refuses_sizes_that_are_not_positive() -> None:
    with pytest.raises(ValueError) as caught:
        nn.Linear(0, 2)
    assert str(caught.value) == (
        "Linear: sizes must be positive; got in_features=0, out_features=2"
    )


def test_linear_refuses_a_wrong_last_dimension() -> None:
    with pytest.raises(tl.ShapeError) as caught:
        nn.Linear(3, 2)(Tensor([[1.0, 2.0]]))
    assert str(caught.value) == (
        "Linear: x.shape[-1] must equal weight.shape[-2]; got x.shape=(1, 2), weight.shape=(3, 2)."
    )


def test_sequential_calls_layers_and_functions_in_order() -> None:
    net = nn.Sequential(nn.Linear(2, 3, seed=0), F.relu, nn.Sequential(nn.Linear(3, 1, seed=1)))
    x = Tensor([[1.0, -2.0]])
    first, last = net.parts[0], net.parts[2].parts[0]
    assert net(x).tolist() == last(F.relu(first(x))).tolist()
    assert [name for name, _ in net.named_parameters()] == [
        "parts.0.weight",
        "parts.0.bias",
        "parts.2.parts.0.weight",
        "parts.2.parts.0.bias",
    ]
    assert nn.Sequential()(3) == 3


def test_state_goes_out_as_copies_and_comes_back() -> None:
    source, target = Block(), Block()
    for parameter in source.parameters():
        parameter.set_value(np.asarray(parameter.detach()) + 1)
    state = source.state_dict()
    assert [name for name in state if not name.endswith(".layout")] == NAMES
    assert all(type(value) is np.ndarray and value.flags.writeable for value in state.values())
    held = target.parameters()
    target.load_state_dict(state)
    x = Tensor([[1.0, 2.0]])
    assert target(x).tolist() == source(x).tolist()
    # The parameters stay the same objects, and still require gradients.
    assert all(a is b for a, b in zip(held, target.parameters(), strict=True))
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in held)
    state["scale"][...] = 99
    assert source.scale.tolist() == target.scale.tolist() == [3.0]


def test_names_that_do_not_match_are_refused_and_nothing_is_set() -> None:
    block = Block()
    state = block.state_dict()
    before = {name: value.copy() for name, value in state.items()}
    wrong = {name: value + 1 for name, value in state.items() if name != "scale"}
    wrong["other"] = np.zeros(1)
    with pytest.raises(KeyError) as caught:
        block.load_state_dict(wrong)
    assert caught.value.args[0] == (
        "load_state_dict: names must match; missing ['scale'], unknown ['other']"
    )
    for name, value in block.state_dict().items():
        assert np.array_equal(value, before[name])
    block.load_state_dict(wrong, strict=False)
    assert np.array_equal(block.state_dict()["many.1"], before["many.1"] + 1)
    assert block.scale.tolist() == [2.0]


def test_a_shape_that_differs_is_refused_and_nothing_is_set() -> None:
    block = Block()
    before = block.state_dict()
    wrong = {name: value + 1 for name, value in before.items()}
    wrong["named.a.bias"] = np.zeros((2, 2), np.float32)
    with pytest.raises(tl.ShapeError) as caught:
        block.load_state_dict(wrong)
    assert str(caught.value) == ("load_state_dict: named.a.bias must have shape (1,); got (2, 2)")
    for name, value in block.state_dict().items():
        assert np.array_equal(value, before[name])


def test_a_layer_without_forward_says_so() -> None:
    class Empty(nn.Layer):
        pass

    with pytest.raises(TypeError) as caught:
        Empty()(Tensor([1.0]))
    assert str(caught.value) == "Empty: a layer must define forward()"


def test_the_repr_shows_the_parts() -> None:
    assert repr(nn.Linear(2, 3)) == "Linear(weight: (2, 3), bias: (3,))"
    assert repr(Block()).startswith("Block(first=Linear(weight: (2, 3), bias: (3,)), scale: (1,)")


def test_layers_copy_and_pickle() -> None:
    block = Block()
    x = Tensor([[1.0, 2.0]])
    for again in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert again(x).tolist() == block(x).tolist()
        assert again.named["again"] is again.scale
        again.scale += 1.0
        assert block.scale.tolist() == [2.0]


def test_functions_in_a_sequential_copy_and_pickle() -> None:
    net = nn.Sequential(nn.Linear(2, 3, seed=0), F.relu)
    x = Tensor([[1.0, 2.0]])
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert again.parts[1] is F.relu
        assert again(x).tolist() == net(x).tolist()


def test_a_layer_that_holds_itself_is_walked_once() -> None:
    block = Block()
    block.me = block  # type: ignore[attr-defined]
    assert [name for name, _ in block.named_parameters()] == NAMES


def test_another_tensor_like_gives_the_same_model_another_meaning() -> None:
    net = nn.Sequential(nn.Linear(2, 3, seed=0), F.relu, nn.Linear(3, 1, seed=1))
    assert net(Tensor(tl.ShapeTensor((5, 2)))).shape == (5, 1)
    listing = Listing()
    y = net(listing.input("x", (5, 2)))
    assert y.shape == (5, 1)
    assert [str(op).partition("(")[0] for op in listing.ops] == [
        "Linear",
        "Elemwise",
        "Linear",
    ]


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu", "softplus", "leaky_relu", "celu"])
@pytest.mark.parametrize("bias", [True, False])
def test_an_activation_of_linear_is_the_function_after_it(activation: str, bias: bool) -> None:
    """Values and gradients; of these, some rules read the output, some the input, some both."""
    fused = nn.Linear(5, 3, bias=bias, activation=activation, seed=0)
    plain = nn.Linear(5, 3, bias=bias, seed=0)
    x = Tensor(np.random.default_rng(1).standard_normal((2, 4, 5)).astype(np.float32))
    function = getattr(F, activation)
    wanted = function(plain(x)).detach().numpy()
    np.testing.assert_allclose(fused(x).detach().numpy(), wanted, 1e-6, 1e-6)
    F.sum(fused(x) ** 2).backward()
    F.sum(function(plain(x)) ** 2).backward()
    for own, other in zip(fused.parameters(), plain.parameters(), strict=True):
        np.testing.assert_allclose(own.grad.numpy(), other.grad.numpy(), 1e-5, 1e-5)


def test_linear_names_an_activation_that_is_none() -> None:
    with pytest.raises(tl.ParameterError) as caught:
        nn.Linear(2, 2, activation="rulu")(Tensor([[1.0, 2.0]]))
    assert str(caught.value) == (
        "Linear: activation must be a declared scalar function that can take one argument; "
        "got 'rulu'"
        "; did you mean 'relu'?."
    )


def test_linear_refuses_gradients_through_an_activation_that_has_none() -> None:
    layer = nn.Linear(2, 2, activation="floor", seed=0)
    with pytest.raises(tl.AutodiffError, match=r"^Linear: activation must have a derivative"):
        F.sum(layer(Tensor([[1.0, 2.0]]))).backward()


def test_the_bias_of_linear_must_not_enlarge_the_product() -> None:
    with pytest.raises(tl.ShapeError, match=r"^Linear: bias must broadcast to"):
        F.linear(Tensor([[1.0]]), Tensor([[1.0]]), Tensor([1.0, 2.0]))


def test_linear_of_any_size_and_layout_is_the_function_of_the_product() -> None:
    """Every way through the product: few rows, a column, tiles, several blocks, any strides."""
    rng = np.random.default_rng(2)
    for m, k, n in [(1, 1000, 1000), (8, 600, 1200), (64, 784, 256), (300, 40, 1), (70, 9000, 33)]:
        x, w, b = (rng.standard_normal(shape) for shape in [(m, k), (k, n), (n,)])
        wanted = np.tanh((x @ w) / 100 + b)
        for layout in (np.ascontiguousarray, np.asfortranarray):
            found = F.linear(*map(tl.RawTensor, (layout(x), layout(w / 100), b)), activation="tanh")
            np.testing.assert_allclose(np.asarray(found), wanted, 1e-10, 1e-11)


MADE = {
    "Linear": lambda: nn.Linear(3, 2),
    "Bilinear": lambda: nn.Bilinear(2, 3, 2),
    "Conv2d": lambda: nn.Conv2d(2, 3, 3),
    "ConvTranspose1d": lambda: nn.ConvTranspose1d(2, 3, 3),
    "Embedding": lambda: nn.Embedding(4, 3),
    "EmbeddingBag": lambda: nn.EmbeddingBag(4, 3),
    "LSTM": lambda: nn.LSTM(3, 2),
    "GRUCell": lambda: nn.GRUCell(3, 2),
    "MultiHeadAttention": lambda: nn.MultiHeadAttention(4, 2),
}


@pytest.mark.parametrize("name", MADE)
def test_manual_seed_decides_the_initial_weights(name: str) -> None:
    def two() -> list[list[np.ndarray]]:
        tl.manual_seed(7)
        return [[p.detach().numpy() for p in MADE[name]().parameters()] for _ in range(2)]

    first, second = two(), two()
    for layer, same in zip(first, second, strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(layer, same, strict=True))
    assert not np.array_equal(first[0][0], first[1][0])


class Watched(nn.Layer):
    """Notes what is set."""

    def __init__(self) -> None:
        self.scale = Parameter([2.0])

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.setdefault("noted", []).append(name)
        super().__setattr__(name, value)


def test_a_layer_sees_its_own_attributes_being_set_and_no_others() -> None:
    layer = Watched()
    assert layer.noted == ["scale"]
    for other in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert list(vars(other)) == ["noted", "scale"]
        assert [name for name, _ in other.named_parameters()] == ["scale"]
