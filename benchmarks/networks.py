"""Training steps of whole models; models/ has them."""

from __future__ import annotations

from collections.abc import Iterator

from cases import Case
from models import cnn, gpt, lstm, mlp
from peers import OURS, TORCH


def networks() -> Iterator[Case]:
    """Each from the same weights as PyTorch's; a step ends with the optimiser's."""
    compared = dict(mlp.builds())
    del compared["program"]  # programs.py has it
    yield Case(
        name="MLP 784-1024-1024-10, batch 256, Adam step",
        bar=0.9,
        builds=lambda: compared,
        tolerance=1e-3,
    )
    for title, model in (
        ("CNN, 32 and 64 channels, batch 64 of 28 x 28, step", cnn),
        ("LSTM, 2 layers of 256, batch 32, 64 steps in time, step", lstm),
        ("GPT, 4 layers of 128, batch 8, 128 tokens, AdamW step", gpt),
    ):
        both = {name: build for name, build in model.builds().items() if name in (OURS, TORCH)}
        yield Case(name=title, bar=0.8, against=(TORCH,), builds=lambda b=both: b, tolerance=1e-3)
