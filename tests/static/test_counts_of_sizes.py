"""Gradients of what counts elements of unknown sizes: the count is the run's, never a witness."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

SHAPES: dict[str, tuple[Any, ...]] = {
    "rows": ("n", "m"),
    "known in the middle": ("n", 3, "w"),
    "known last": ("n", "h", 4),
    "images": ("n", "h", "w"),
    "channels": ("n", 2, "h", "w"),
}
SIZES = ({"n": 2, "m": 5, "h": 6, "w": 7}, {"n": 3, "m": 4, "h": 5, "w": 9})


def _crop(x: Any) -> Any:
    return x[..., 1:-1, 1:-1] if x.ndim > 2 else x[1:, 1:]


# Each makes sizes that are sums of others, or leaves them.
BEFORE: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda x: x,
    "cropped": _crop,
    "cropped once": lambda x: x[1:],
    "padded": lambda x: F.pad(x, ((0, 0),) * (x.ndim - 1) + ((1, 2),)),
    "joined": lambda x: F.concat([x, x[:1]], axis=0),
    "twice": lambda x: F.concat([x, x], axis=-1),
    "halved": lambda x: x[..., ::2],
    "turned": lambda x: _crop(F.permute_dims(x, axes=tuple(range(x.ndim))[::-1])),
    "flat": lambda x: F.reshape(_crop(x), (-1,)),
}
COUNTING: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "mean": lambda x, axes: F.mean(x, axis=axes),
    "var": lambda x, axes: F.var(x, axis=axes),
    "std": lambda x, axes: F.std(x, axis=axes, correction=1.0),
    "size": lambda x, axes: F.sum(x, axis=axes) / x.shape[axes[0]],
}


def _slopes(use: Callable[[Any], Any], x: Any) -> Any:
    x.requires_grad = True
    use(x).backward()
    return x.grad.numpy()


def _cases() -> list[tuple[str, str, str]]:
    return list(itertools.product(SHAPES, BEFORE, COUNTING))


@pytest.mark.parametrize(("shape", "before", "counting"), _cases())
def test_gradients_of_counts_are_those_of_the_run(shape: str, before: str, counting: str) -> None:
    gc.collect()  # numbers that stand for sizes are the larger the more programs live
    rank = 1 if before == "flat" else len(SHAPES[shape])
    refused = []
    for count in range(1, rank + 1):
        for axes in itertools.combinations(range(rank), count):

            def use(x: Any, axes: tuple[int, ...] = axes) -> Any:
                y = COUNTING[counting](BEFORE[before](x), axes)
                return F.sum(y * y)

            try:
                with static.program_guard(static.Program(), static.Program()) as main:
                    x = tl.Tensor(static.data("x", SHAPES[shape]))
                    x.requires_grad = True
                    (slope,) = tl.autograd.grad(use(x), [x])
            except tl.TensorlikeError as error:
                # Where many programs live, three sizes may be more than a double counts.
                if count < 3 or "than a double counts" not in str(error):
                    refused.append((axes, str(error)))
                continue
            for sizes in SIZES:
                given = [sizes.get(size, size) for size in SHAPES[shape]]
                value = np.random.default_rng(0).standard_normal(given).astype(np.float32)
                (found,) = static.Executor().run(main, {"x": value}, [slope])
                np.testing.assert_allclose(
                    found, _slopes(use, tl.tensor(value)), 1e-4, 1e-5, err_msg=str(axes)
                )
    assert not refused, refused
