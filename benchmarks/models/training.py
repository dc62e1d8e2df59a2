"""What the models' training steps share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def copy_weights(source: torch.nn.Module, target: tl.nn.Layer) -> None:
    """Gives our model the weights of PyTorch's, which has its parameters under the same names."""
    found = source.state_dict().items()
    state = {name: x.numpy() for name, x in found if x.dtype.is_floating_point}
    target.load_state_dict(state, layout="pytorch")


def shared(batch: np.ndarray[Any, Any]) -> Any:
    """A batch as a tensor in the same memory, as `torch.from_numpy` has it."""
    return F.asarray(batch, copy=False)


class Training(NamedTuple):
    """What is trained, on which batch: both models start from the same weights."""

    ours: Callable[[], tl.nn.Layer]
    theirs: Callable[[], torch.nn.Module]
    inputs: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    decay: float
    batch_axis: int

    def their_network(self) -> torch.nn.Module:
        """PyTorch's model, with the weights that all begin with."""
        torch.manual_seed(0)
        return self.theirs()

    def our_network(self) -> tl.nn.Layer:
        """Our model, with the same weights."""
        network = self.ours()
        copy_weights(self.their_network(), network)
        return network


def steps(
    ours: Callable[[], tl.nn.Layer],
    theirs: Callable[[], torch.nn.Module],
    inputs: np.ndarray[Any, Any],
    labels: np.ndarray[Any, Any],
    *,
    decay: float = 0.0,
    batch_axis: int = 0,
) -> Mapping[str, Callable[[], Callable[..., Any]]]:
    """Builders of both training steps, from the same weights; a step returns the loss before it."""
    training = Training(ours, theirs, inputs, labels, decay, batch_axis)
    return {
        "tensorlike": lambda: eager_step(training),
        "program": lambda: program_step(training),
        "program of any batch": lambda: any_batch_step(training),
        "PyTorch": lambda: their_step(training, compiles=False),
        "torch.compile": lambda: their_step(training, compiles=True),
    }


def eager_step(training: Training) -> Callable[[], Any]:
    """Our step, in calls that run at once."""
    network = training.our_network()
    optimizer = tl.optim.Adam(network.parameters(), lr=1e-4, decay=training.decay)
    x, wanted = shared(training.inputs), shared(training.labels.reshape(-1))

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(network(x), wanted)
        loss.backward()
        optimizer.step()
        tl.engine.sync()
        return loss

    return step


def program_step(training: Training) -> Callable[[], Any]:
    """Our step, as a program that is built first."""
    inputs, labels = training.inputs, training.labels
    step = _program(training, inputs.shape, labels.shape)
    feed = {"x": shared(inputs), "labels": shared(labels)}
    return lambda: step(feed)


def any_batch_step(training: Training) -> Callable[[int], Callable[[], Any]]:
    """Our step as one program for batches of any size: gives the step of a size."""
    inputs, labels = training.inputs, training.labels
    shape: list[int | str] = list(inputs.shape)
    shape[training.batch_axis] = "batch"
    step = _program(training, shape, ("batch", *labels.shape[1:]))

    def of(batch: int) -> Callable[[], Any]:
        rows = np.arange(batch) % len(labels)
        x = np.ascontiguousarray(inputs.take(rows, training.batch_axis))
        feed = {"x": shared(x), "labels": shared(labels[rows])}
        return lambda: step(feed)

    return of


def _program(
    training: Training, input_shape: Sequence[int | str], label_shape: Sequence[int | str]
) -> Callable[[Mapping[str, Any]], Any]:
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        network = training.our_network()
        static.keep(network)
        x = static.data("x", input_shape, training.inputs.dtype.name)
        wanted = static.data("labels", label_shape, training.labels.dtype.name)
        loss = F.cross_entropy(network(x), F.reshape(wanted, (-1,)))
        tl.optim.Adam(lr=1e-4, decay=training.decay).minimize(loss)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    compiled = static.CompiledProgram(main)

    def step(feed: Mapping[str, Any]) -> Any:
        (found,) = executor.run(
            compiled, feed, [loss], scope, return_numpy=False, donate_states=True
        )
        tl.engine.sync()
        return found

    return step


def their_step(training: Training, *, compiles: bool) -> Callable[[], Any]:
    """PyTorch's step."""
    network = training.their_network()
    # One kernel for all parameters: PyTorch's fastest.
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=1e-4, weight_decay=training.decay, fused=True
    )
    x = torch.from_numpy(training.inputs)
    wanted = torch.from_numpy(training.labels.reshape(-1))
    called = torch.compile(network, dynamic=False) if compiles else network

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(called(x), wanted)
        loss.backward()
        optimizer.step()
        return loss

    return step
