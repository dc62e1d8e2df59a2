"""Where gradients end, they end in every program: `detach` and `no_grad` are steps of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static


def without_tape(x: Any) -> Any:
    with tl.no_grad():
        return F.sin(x) * 1


STOPS: dict[str, Callable[[Any], Any]] = {
    "detach": lambda x: F.sin(x).detach(),
    "stop_gradient": lambda x: tl.stop_gradient(F.sin(x)),
    "no_grad": without_tape,
}
Body = Callable[[Any], Any]
NESTS: dict[str, Callable[[Body], Body]] = {
    "plain": lambda body: body,
    "scan": lambda body: lambda x: F.scan(lambda c, _: (body(c), None), x, None, 2)[0],
    "while": lambda body: (
        lambda x: F.while_loop(
            lambda c: c[1] < 2, lambda c: (body(c[0]), c[1] + 1), (x, tl.tensor(0)), max_steps=3
        )[0]
    ),
    "cond": lambda body: lambda x: F.cond(F.sum(x) > 0, body, lambda y: y * 2, x),
    "closure": lambda body: lambda x: F.cond(F.sum(x) > 0, lambda: body(x), lambda: x * 2),
    "cond in scan": lambda body: NESTS["scan"](NESTS["cond"](body)),
    "vmap in scan": lambda body: NESTS["scan"](tl.vmap(body)),
    "grad in scan": lambda body: NESTS["scan"](tl.grad(lambda x: F.sum(body(x)))),
}


def as_op(function: Body, folder: Path) -> Body:
    listing = tl.Listing()
    y = function(tl.Tensor(listing.input("x", ("n",))))
    return static.program_op(listing, y)


def saved(function: Body, folder: Path) -> Body:
    class Network(tl.nn.Layer):
        def forward(self, x: Any) -> Any:
            return function(x)

    jit.save(Network(), folder / "network.tlp", [jit.InputSpec((None,))])
    loaded: Body = jit.load(folder / "network.tlp")
    return loaded


def run_before(make: Callable[[Body], Any]) -> Callable[[Body, Path], Body]:
    """What has been recorded before anybody wanted derivatives."""

    def made(function: Body, folder: Path) -> Body:
        found: Body = make(function)
        found(tl.tensor([0.5, 1.5]))
        return found

    return made


FORMS: dict[str, Callable[[Body, Path], Body]] = {
    "op": as_op, "saved": saved, "traced": run_before(jit.trace),
    "converted": run_before(jit.to_static),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("nest", NESTS)
def test_gradients_end_in_programs_where_they_end_at_once(
    nest: str, stop: str, form: str, tmp_path: Path
) -> None:
    if nest == "grad in scan" and stop == "no_grad":
        return  # what is differentiated there is cut off as a whole

    def body(x: Any) -> Any:
        return x * STOPS[stop](x) + F.cos(x)

    function = NESTS[nest](body)
    x = tl.tensor([1.0, 0.25, 2.0])
    wanted = tl.grad(lambda x: F.sum(function(x) ** 2))(x)
    made = FORMS[form](function, tmp_path)
    found = tl.grad(lambda x: F.sum(made(x) ** 2))(x)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("nest", NESTS)
def test_gradients_within_a_program_end_there(nest: str, stop: str) -> None:
    if nest == "grad in scan" and stop == "no_grad":
        return

    def body(x: Any) -> Any:
        return x * STOPS[stop](x) + F.cos(x)

    function = NESTS[nest](body)
    given = np.float32([1.0, 0.25, 2.0])
    wanted = tl.grad(lambda x: F.sum(function(x) ** 2))(tl.tensor(given))
    listing = tl.Listing()
    x = tl.Tensor(listing.input("x", ("n",)))
    x.requires_grad = True
    found = listing.run(tl.autograd.grad(F.sum(function(x) ** 2), [x]), given)[0]
    np.testing.assert_allclose(np.asarray(tl.Tensor(found)), wanted.numpy(), 1e-5, 1e-5)
