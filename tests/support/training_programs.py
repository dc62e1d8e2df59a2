"""Training programs: of the models, and of random chains of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static
from tests.support.models import models

NAMES = ("mlp", "cnn", "residual", "lstm", "gpt")
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: tl.optim.SGD(lr=0.1),
    "momentum": lambda: tl.optim.SGD(lr=0.1, momentum=0.9),
    "adam": lambda: tl.optim.Adam(lr=0.01, eps=1e-3),
}


class Training(NamedTuple):
    """A training program, and what it is run on."""

    main: Any
    startup: Any
    loss: Any
    feed: dict[str, Any]

    def run(self, steps: int = 3, **changes: Any) -> tuple[list[Any], dict[str, Any]]:
        """The losses of so many runs, and the states after them."""
        changed = self._replace(**changes)
        scope, exe = static.Scope(), static.Executor()
        exe.run(changed.startup, scope=scope)
        fetched = [changed.loss]
        losses = [exe.run(changed.main, changed.feed, fetched, scope)[0] for _ in range(steps)]
        return losses, states_of(scope)


def states_of(scope: Any) -> dict[str, Any]:
    """All values of a scope, as arrays."""
    return {name: np.array(scope.find_var(name)) for name in scope.names()}


def training(
    name: str,
    optimizer: str = "sgd",
    *,
    batch: Any = None,
    dtype: str = "float32",
    dropout: float = 0.0,
) -> Training:
    """The program that trains a model of `models`, on the batch that it has there."""
    main, startup = static.Program(), static.Program()
    made = models()[name]
    if dtype == "float64":
        _double(made.network)
    with static.program_guard(main, startup):
        static.keep(made.network)
        shape = list(made.inputs.shape)
        axis = 1 if name == "lstm" else 0
        size = batch or shape[axis]
        shape[axis] = size
        is_whole = made.inputs.dtype.kind == "i"
        inputs = made.inputs if is_whole else made.inputs.astype(dtype)
        x = static.data("x", shape, inputs.dtype.name)
        classes = made.classes.reshape(4, -1) if name == "gpt" else made.classes
        target = static.data("target", (size, *classes.shape[1:]), "int64")
        y = made.network(F.dropout(x, p=dropout) if dropout and not is_whole else x)
        if dropout:
            y = F.dropout(y, p=dropout)
        loss = F.cross_entropy(y, F.reshape(target, -1))
        OPTIMIZERS[optimizer]().minimize(loss)
    return Training(main, startup, loss, {"x": inputs, "target": classes})


def _double(network: Any) -> None:
    """Gives a network parameters of double precision."""
    for layer in {id(x): x for _, x in network.named_layers()}.values():
        for key, value in list(vars(layer).items()):
            if isinstance(value, tl.Parameter):
                setattr(layer, key, tl.Parameter(np.array(value.detach(), np.float64)))


def random_training(seed: int, dtype: str = "float32", *, draws: bool = True) -> Training:
    """A chain of random steps over the rows of a batch, with values that are read late.

    Args:
        seed: which one.
        dtype: of all values.
        draws: whether random numbers may be among the steps.
    """
    rng = np.random.default_rng(seed)
    width = int(rng.integers(2, 5))
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", ("batch", width), dtype)
        values = [x]
        for number in range(int(rng.integers(3, 9))):
            values.append(_random_step(rng, values, width, dtype, number, draws))
        loss = F.mean((values[1] + sum(values[-3:])) ** 2)
        OPTIMIZERS[str(rng.choice(list(OPTIMIZERS)))]().minimize(loss)
    return Training(main, startup, loss, {"x": rng.standard_normal((4, width)).astype(dtype)})


def _random_step(
    rng: Any, values: list[Any], width: int, dtype: str, number: int, draws: bool
) -> Any:
    x, other = (values[int(rng.integers(len(values)))] for _ in range(2))
    choices: Mapping[str, Callable[[], Any]] = {
        "linear": lambda: F.matmul(x, _parameter(rng, (width, width), dtype)),
        "bias": lambda: x + _parameter(rng, (width,), dtype),
        "tanh": lambda: F.tanh(x),
        "sum": lambda: x + other,
        "product": lambda: F.tanh(x) * F.sigmoid(other),
        "moved": lambda: F.reshape(F.reshape(x, -1), (-1, width)),
        "norm": lambda: F.softmax(x, axis=-1),
        "drop": lambda: F.dropout(x, p=0.3, seed=number),
    }
    names = list(choices)[: 2 if number < 1 else None if draws else -1]
    return choices[str(rng.choice(names))]()


def _parameter(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return tl.Parameter(rng.standard_normal(shape).astype(dtype) * 0.5)
