"""Random models of all layers, on random tensor-likes, under random transforms, in whole steps.

The program is one step of an optimiser down the gradient of a loss, and the loss after it. Values
are held against a run on plain tensors, derivatives against finite differences; all in float64. A
failure prints the program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.long_runs import seeds
from support.random_models import KINDS, LEFT_OUT, LOSSES, RandomModel
from support.tensor_likes import worked

import tensorlike as tl
from tensorlike import nn, optim


class Passing(tl.Carrier):
    """A carrier that adds nothing."""


class Around(tl.Carrier, above=tl.Tracer):
    """The same around transforms."""


LIKES: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda x: x,
    "Passing": Passing,
    "Around": Around,
    "two carriers": lambda x: Passing(Around(x)),
    "flop_counter": lambda x: worked("flop_counter").Counted(x, {}),
    "nan_finder": lambda x: worked("nan_finder").Checked(x),
    "units": lambda x: worked("units").Measured(x),
    "sharded": lambda x: worked("sharded").Sharded(x, worked("processes").Group(0, 1, [])),
}
# What has no elements; the result is run afterwards, or of the right shape.
SHAPES = ("Listing", "ShapeTensor")

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda ps: optim.SGD(ps, lr=0.05),
    "momentum": lambda ps: optim.SGD(ps, lr=0.05, momentum=0.9),
    "Adam": lambda ps: optim.Adam(ps, lr=0.01, eps=1e-2),
    "AdamW": lambda ps: optim.Adam(ps, lr=0.01, eps=1e-2, decay=0.1),
}
Program = Callable[[Any], Any]


def program(model: RandomModel, optimizer: str, is_checkpointed: bool) -> Program:
    """The loss after a step, of a network whose input is scaled."""

    def loss_after(scale: Any) -> Any:
        tl.manual_seed(model.seed)
        network, x = model.make()
        run = tl.checkpoint(network) if is_checkpointed else network
        inputs = tl.tensor(x) * scale
        # A gradient by the parameters that a transform outside goes through.
        gradients = tl.grad(lambda layer: run(inputs))(network)
        for name, parameter in network.named_parameters():
            parameter.grad = gradients[name]
        OPTIMIZERS[optimizer](network.parameters()).step()
        tl.manual_seed(model.seed)
        return network(inputs)

    return loss_after


def slope_of(f: Program, at: float) -> tuple[float, float]:
    """A central difference, and how far another one is from it."""
    found = []
    for step in (1e-5, 2.5e-6):
        ends = [float(f(tl.tensor(at + s * step, dtype=tl.float64)).detach()) for s in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * step))
    return found[1], abs(found[0] - found[1])


TRANSFORMS: dict[str, Callable[[Program], Program]] = {
    "grad": tl.grad,
    "vjp": lambda f: lambda x: tl.vjp(f, x)[1](tl.ones_like(tl.stop_gradient(f(x))))[0],
    "jvp": lambda f: lambda x: tl.jvp(f, (x,), (tl.ones_like(x),))[1],
}


def mapped(f: Program) -> Program:
    """The second of three examples."""
    return lambda x: tl.vmap(f)(tl.stack([x * 0.9, x, x * 1.1]))[1]


def draw_case(seed: int) -> tuple[Any, ...]:
    """A model and what is done to it."""
    draw = random.Random(seed)
    model = RandomModel(seed)
    like = draw.choice([*LIKES, *SHAPES])
    names: list[str] = draw.choices([*TRANSFORMS, "vmap"], k=draw.choice([0, 1, 1, 2]))
    if like in SHAPES or model.is_random:  # examples draw numbers of their own
        names = [name for name in names if name != "vmap"]
    return model, draw.choice(list(OPTIMIZERS)), draw.random() < 0.3, like, names


def agree(what: str, found: Any, wanted: float, error: float = 0.0) -> None:
    value = float(np.asarray(tl.stop_gradient(found)))
    bound = 1e-7 * (1 + abs(wanted)) + 20 * error
    assert np.isfinite(value) and abs(value - wanted) <= bound, (
        f"{what} is {value}; {wanted} is right (within {bound})"
    )


def check(seed: int) -> str:
    """Runs a case; returns what it was."""
    model, optimizer, is_checkpointed, like, names = draw_case(seed)
    text = f"{model}; {optimizer}; {'checkpoint' if is_checkpointed else ''}; {like}; {names}"
    try:
        plain = program(model, optimizer, False)
        f = program(model, optimizer, is_checkpointed)
        reference = plain
        for name in names:
            f = mapped(f) if name == "vmap" else TRANSFORMS[name](f)
        slopes = [name for name in names if name != "vmap"]
        for _ in slopes[:-1]:
            reference = TRANSFORMS["grad"](reference)
        x = tl.tensor(0.8, dtype=tl.float64)
        if like == "ShapeTensor":
            y = f(tl.Tensor(tl.ShapeTensor((), tl.float64)))
            assert (y.shape, y.dtype) == ((), tl.float64)
            return text
        if slopes:
            wanted, error = slope_of(reference, 0.8)
        else:
            wanted, error = float(reference(x).detach()), 0.0
        if like == "Listing":
            listing = tl.Listing()
            y = f(tl.Tensor(listing.input("x", (), tl.float64)))
            agree("the run of the listing", listing.run(y, x), wanted, error)
        else:
            agree("the result", f(tl.Tensor(LIKES[like](x.__wrapped__))), wanted, error)
    except Exception as error_found:
        raise AssertionError(
            f"{text}: {type(error_found).__name__}: {error_found}"
        ) from error_found
    return text


@pytest.mark.parametrize("start", range(0, 120, 10))
def test_whole_steps_of_random_models_are_right(start: int) -> None:
    for seed in range(start, start + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_whole_steps_of_many_random_models_are_right() -> None:
    for seed in seeds(3600):
        check(seed)


def test_every_layer_and_loss_is_drawn() -> None:
    layers = {
        name
        for name, value in vars(nn).items()
        if isinstance(value, type) and issubclass(value, nn.Layer)
    }
    assert layers == set(KINDS) | set(LOSSES) | set(LEFT_OUT)
    drawn = {name for seed in range(1500) for name in RandomModel(seed).names}
    assert drawn >= set(KINDS)
