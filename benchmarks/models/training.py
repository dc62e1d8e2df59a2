"""What the models' training steps share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def copy_weights(source: torch.nn.Module, target: tl.nn.Layer) -> None:
    """Gives our model the weights of PyTorch's, which has its parameters under the same names."""
    state = {name: p.detach().numpy() for name, p in source.named_parameters()}
    target.load_state_dict(state, layout="pytorch")


def steps(
    ours: Callable[[], tl.nn.Layer],
    theirs: Callable[[], torch.nn.Module],
    inputs: np.ndarray[Any, Any],
    labels: np.ndarray[Any, Any],
    *,
    decay: float = 0.0,
) -> Mapping[str, Callable[[], Callable[[], Any]]]:
    """Builders of both training steps, from the same weights; a step returns the loss before it."""

    def source() -> torch.nn.Module:
        torch.manual_seed(0)
        return theirs()

    def build_ours() -> Callable[[], Any]:
        network = ours()
        copy_weights(source(), network)
        optimizer = tl.optim.Adam(network.parameters(), lr=1e-4, decay=decay)
        x, wanted = tl.tensor(inputs), tl.tensor(labels)

        def step() -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(network(x), wanted)
            loss.backward()
            optimizer.step()
            tl.engine.sync()
            return loss

        return step

    def build_program() -> Callable[[], Any]:
        main, startup, scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(main, startup):
            network = ours()
            copy_weights(source(), network)
            static.keep(network)
            x = static.data("x", inputs.shape, inputs.dtype.name)
            wanted = static.data("labels", labels.shape, labels.dtype.name)
            loss = F.cross_entropy(network(x), wanted)
            tl.optim.Adam(lr=1e-4, decay=decay).minimize(loss)
        executor = static.Executor()
        executor.run(startup, scope=scope)
        feed = {"x": tl.tensor(inputs), "labels": tl.tensor(labels)}

        def step() -> Any:
            (found,) = executor.run(main, feed, [loss], scope, return_numpy=False)
            tl.engine.sync()
            return found

        return step

    def build_theirs(compiles: bool) -> Callable[[], Any]:
        network = source()
        # One kernel for all parameters: PyTorch's fastest.
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, weight_decay=decay, fused=True)
        x, wanted = torch.from_numpy(inputs), torch.from_numpy(labels)
        called = torch.compile(network, dynamic=False) if compiles else network

        def step() -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(called(x), wanted)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return {
        "tensorlike": build_ours,
        "program": build_program,
        "PyTorch": lambda: build_theirs(False),
        "torch.compile": lambda: build_theirs(True),
    }
