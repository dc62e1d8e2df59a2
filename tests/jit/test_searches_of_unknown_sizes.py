"""Loops whose carries have sizes that follow from one another: beam search, and a transducer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, nn, static

BEAMS, WORDS, WIDTH = 3, 7, 6


class BeamSearch(nn.Layer):
    """The most probable sequences of a recurrent decoder, whose states are (n * beams, ...)."""

    def __init__(self) -> None:
        self.words = nn.Embedding(WORDS, WIDTH, seed=1)
        self.cell = nn.GRUCell(WIDTH, WIDTH, seed=2)
        self.out = nn.Linear(WIDTH, WORDS, seed=3)

    def forward(self, x: Any) -> Any:
        n = x.shape[0]
        state = F.reshape(F.broadcast_to(x[:, None, :], (n, BEAMS, WIDTH)), (n * BEAMS, WIDTH))
        scores = F.broadcast_to(tl.tensor([0.0, -1e9, -1e9]), (n, BEAMS))
        tokens = tl.zeros((n, BEAMS), dtype="int64")

        def step(carry: Any) -> Any:
            state, scores, tokens, i = carry
            state = self.cell(self.words(F.reshape(tokens, (n * BEAMS,))), state)
            found = F.reshape(F.log_softmax(self.out(state), axis=-1), (n, BEAMS, WORDS))
            total = F.reshape(scores[:, :, None] + found, (n, BEAMS * WORDS))
            best, places = F.topk(total, BEAMS, axis=-1)
            rows = F.reshape(places // WORDS + F.arange(n)[:, None] * BEAMS, (n * BEAMS,))
            return F.take(state, rows, axis=0), best, places % WORDS, i + 1

        found = F.while_loop(lambda c: c[3] < 4, step, (state, scores, tokens, tl.tensor(0)))
        return found[1], found[2]


class Transducer(nn.Layer):
    """The logarithms of the probabilities of all alignments of frames and labels, row by row."""

    def __init__(self) -> None:
        self.frames = nn.Linear(WIDTH, 4, seed=1)
        self.blank = nn.Linear(4, 1, seed=2)

    def forward(self, x: Any) -> Any:
        length = x.shape[0]
        hidden = self.frames(x)
        joint = F.tanh(hidden[:, None, :] + hidden[None, : length // 2 + 1, :])
        blank = F.log_sigmoid(self.blank(joint))[..., 0]
        label = F.log_sigmoid(-self.blank(joint))[..., 0]
        first = F.concat([tl.zeros((1,)), tl.zeros((length // 2,)) - 1e9])

        def along(alpha: Any, row: Any) -> Any:
            stay, move = row

            def across(before: Any, column: Any) -> Any:
                above, step = column
                now = F.logaddexp(above, before + step)
                return now, now

            last = F.concat([tl.zeros((1,)) - 1e9, move[:-1]])
            _, alpha = F.scan(across, tl.tensor(-1e9), (alpha, last))
            return alpha + stay, alpha[-1]

        _, ends = F.scan(along, first, (blank, label))
        return F.sum(ends) / length, ends


def of_saved(layer: Any, folder: Path) -> Callable[..., Any]:
    jit.save(layer, folder / "layer.tlp", [jit.InputSpec((None, WIDTH))])
    loaded: Callable[..., Any] = jit.load(folder / "layer.tlp")
    return loaded


def of_static(layer: Any, folder: Path) -> Callable[..., Any]:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        results = type(layer)()(tl.Tensor(static.data("x", (None, WIDTH))))
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    return lambda x: exe.run(main, feed={"x": x.numpy()}, fetch_list=list(results), scope=scope)


FORMS: dict[str, Callable[[Any, Path], Callable[..., Any]]] = {
    "traced": lambda layer, _: jit.trace(layer),
    "converted": lambda layer, _: jit.to_static(layer, input_spec=[jit.InputSpec((None, WIDTH))]),
    "saved": of_saved,
    "static": of_static,
}


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("kind", [BeamSearch, Transducer])
def test_a_loop_knows_how_sizes_of_its_carries_follow(kind: Any, form: str, tmp_path: Path) -> None:
    layer = kind()
    call = FORMS[form](layer, tmp_path)
    for size in (2, 5, 3, 6, 2):
        x = tl.tensor(np.random.default_rng(size).standard_normal((size, WIDTH), np.float32))
        for found, wanted in zip(call(x), layer(x), strict=True):
            found = np.asarray(found.detach() if isinstance(found, tl.Tensor) else found)
            np.testing.assert_allclose(found, np.asarray(wanted.detach()), 1e-4, 1e-5)
