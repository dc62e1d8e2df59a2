"""Programs whose sizes are divided, or taken for equal, within others whose sizes are unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static

KERNEL = np.random.default_rng(0).standard_normal((2, 2, 3, 3)).astype(np.float32)

DOWN: dict[str, Callable[[Any], Any]] = {
    "pool": lambda x: F.max_pool2d(x, 2),
    "ceil": lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    "stride": lambda x: F.conv2d(x, tl.tensor(KERNEL), stride=2, padding=1),
    "slice": lambda x: x[:, :, ::2, ::2],
}
UP: dict[str, Callable[[Any, Any], Any]] = {
    "twice": lambda y, x: F.repeat(F.repeat(y, 2, axis=2), 2, axis=3),
    "nearest": lambda y, x: F.interpolate(y, scale_factor=2),
    "to size": lambda y, x: F.interpolate(y, size=x.shape[2:], mode="bilinear"),
    "transpose": lambda y, x: F.conv_transpose2d(y, tl.tensor(KERNEL[..., :2, :2]), stride=2),
}
JOIN: dict[str, Callable[[Any, Any], Any]] = {
    "concat": lambda x, y: F.concat([x, y], axis=1),
    "product": lambda x, y: F.tanh(x) * y,
}
SIZES = ((1, 4, 6), (2, 8, 4), (3, 2, 2), (2, 6, 8))


def drawn(n: int, h: int, w: int) -> Any:
    rng = np.random.default_rng(n * h + w)
    return rng.standard_normal((n, 2, h, w)).astype(np.float32)


def within_a_program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function as an op of a program, its gradient too; sizes unknown in both."""
    listing = tl.Listing()
    y = function(tl.Tensor(listing.input("x", ("n", 2, "h", "w"))))
    op = static.program_op(listing, y)
    outer = tl.Listing()
    x = tl.Tensor(outer.input("x", ("m", 2, "a", "b")))
    x.requires_grad = True
    made = op(x * 1)
    results = [made, *tl.autograd.grad(F.sum(made * made), [x])]
    return lambda x: list(outer.run(results, x))


def eager(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        x = tl.tensor(x, requires_grad=True)
        y = function(x)
        return [y, *tl.autograd.grad(F.sum(y * y), [x])]

    return run


def in_a_loop(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Two steps of it, what is joined reduced to a number for each image."""

    def looped(x: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            scale = F.mean(F.mean(function(carry), axis=(2, 3)), axis=1)
            return carry * F.reshape(scale, (-1, 1, 1, 1)), scale

        return F.scan(step, x, None, 2)[0]

    return looped


FORMS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "program": within_a_program,
    "loop": lambda function: within_a_program(in_a_loop(function)),
    "traced": lambda function: eager(jit.trace(function)),
    "traced twice": lambda function: eager(jit.trace(lambda x: jit.trace(function)(x * 1))),
    "converted": lambda function: eager(jit.to_static(function)),
}


SLOW = ("traced twice", "converted")


@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=[pytest.mark.slow] * (form in SLOW)) for form in FORMS]
)
@pytest.mark.parametrize("up", UP)
@pytest.mark.parametrize("down", DOWN)
def test_programs_in_programs_are_right_for_all_sizes(down: str, up: str, form: str) -> None:
    join = list(JOIN)[(list(DOWN).index(down) + list(UP).index(up)) % 2]

    def function(x: Any) -> Any:
        return JOIN[join](x, UP[up](DOWN[down](x), x))

    made = FORMS[form](function)
    plain = eager(in_a_loop(function) if form == "loop" else function)
    for size in SIZES:
        x = drawn(*size)
        for found, wanted in zip(made(x), plain(x), strict=True):
            np.testing.assert_allclose(
                np.asarray(tl.Tensor(found).detach()), np.asarray(wanted.detach()), 1e-4, 1e-4
            )
