"""Every way to change or read a tensor, in a function that is traced: as at once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit


def _add(s: Any, x: Any) -> Any:
    s += x
    return s * 2


def _item_of_tensor(s: Any, x: Any) -> Any:
    s[0] = x[1]
    return s * 2


def _item_of_number(s: Any, x: Any) -> Any:
    s[0] = 5.0
    return x + 1


def _own_value(s: Any, x: Any) -> Any:
    s.set_value(s * 2 + x)
    return x


def _constant(s: Any, x: Any) -> Any:
    s.set_value([7.0, 8.0])
    return s + x


def _argument(s: Any, x: Any) -> Any:
    x += 1
    return x


def _both(s: Any, x: Any) -> Any:
    x[0] = s[1]
    s[1] = x[0] * 2
    return x * s


def _alone(s: Any, x: Any) -> Any:
    s *= 2
    return x


def _chain(s: Any, x: Any) -> Any:
    s -= 1
    s /= 2.0
    return s


def _read_before(s: Any, x: Any) -> Any:
    v = s.numpy()
    s += 1
    return x + v


def _reset(s: Any, x: Any) -> Any:
    s._reset(x)
    return s


def _set_to_argument(s: Any, x: Any) -> Any:
    s.set_value(x)
    x += 10
    return s


def _other_name(s: Any, x: Any) -> Any:
    t = s
    t += x
    return t


def _alias(s: Any, x: Any) -> Any:
    y = s.alias()
    y += x
    return y + s


def _copy(s: Any, x: Any) -> Any:
    y = copy.copy(s)
    y += x
    return y + s


def _deep_copy(s: Any, x: Any) -> Any:
    y = copy.deepcopy(s)
    y += x
    return y + s


def _branch(s: Any, x: Any) -> Any:
    if s[0] > 3:
        s -= 3
    s += x
    return s.sum()


def _loop(s: Any, x: Any) -> Any:
    while F.sum(s) < 20:
        s += x + 1
    return s * 1


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "add": _add,
    "alias": _alias,
    "alone": _alone,
    "argument": _argument,
    "array": lambda s, x: np.asarray(s) + np.asarray(x),
    "astype": lambda s, x: x.astype("float64") + s,
    "both": _both,
    "branch": _branch,
    "chain": _chain,
    "constant": _constant,
    "copy": _copy,
    "deepcopy": _deep_copy,
    "float": lambda s, x: x * float(s[0]),
    "held": lambda s, x: s,
    "item_of_number": _item_of_number,
    "item_of_tensor": _item_of_tensor,
    "iteration": lambda s, x: next(iter(s)) + x,
    "list": lambda s, x: (s.tolist(), x),
    "loop": _loop,
    "other_name": _other_name,
    "own_value": _own_value,
    "read_before": _read_before,
    "reset": _reset,
    "set_to_argument": _set_to_argument,
    "stack": lambda s, x: F.stack([s, x]),
    "tensor": lambda s, x: tl.tensor(s) + tl.Tensor(x),
    "ufunc": lambda s, x: np.add(s, x),
}


class Hidden:
    """Gives a tensor in a way that byte code does not show."""

    def __init__(self) -> None:
        self.held = {"s": tl.tensor([1.0, 2.0])}

    def __getitem__(self, name: str) -> Any:
        return self.held[name]


@pytest.mark.filterwarnings("ignore::tensorlike.jit.RetraceWarning")
@pytest.mark.parametrize("is_hidden", [False, True], ids=["seen", "hidden"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_what_a_function_does_to_tensors_is_done_by_its_program(name: str, is_hidden: bool) -> None:
    found = []
    for is_traced in (False, True):
        hidden = Hidden()
        state = hidden.held["s"]
        case = CASES[name]

        def seen(x: Any, state: Any = state, case: Any = case) -> Any:
            return case(state, x)

        def unseen(x: Any, hidden: Any = hidden, case: Any = case) -> Any:
            return case(getattr(hidden, "".join(["__get", "item__"]))("s"), x)

        function = unseen if is_hidden else seen
        traced = jit.trace(function) if is_traced else function
        rows = []
        for value in (1.0, 2.0, 3.0, 2.0, 4.0):
            if value == 4.0:
                state.set_value([3.0, -1.0])
            x = tl.tensor([value, value + 1])
            result = traced(x)
            rows.append((str(result), str(state), str(x), result is state, result is x))
        found.append(rows)
    assert found[0] == found[1]


def test_control_flow_of_the_library_is_a_part_of_the_program() -> None:
    w = tl.Parameter([2.0])

    def branch(x: Any) -> Any:
        y = F.cond(F.sum(x) > 0, lambda a: a * w, lambda a: a - 1, x)
        _, z = F.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 1.5), (tl.tensor(0), y), max_steps=5
        )
        carry, rows = F.scan(lambda c, r: (c + r * w, c * 2), tl.zeros(1), F.reshape(z, (2, 1)))
        return F.sum(rows) + F.sum(carry)

    traced = jit.trace(branch)
    for values in ([1.0, 2.0], [-1.0, -2.0], [3.0, 4.0], [-5.0, 1.0]):
        found = []
        for function in (branch, traced):
            w.grad = None
            x = tl.tensor(values, requires_grad=True)
            y = function(x)
            y.backward()
            found.append((y.item(), *x.grad.tolist(), w.grad.item()))
        assert found[0] == pytest.approx(found[1], rel=1e-5)
    assert len(traced.programs()) == 1
