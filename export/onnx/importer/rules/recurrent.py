"""LSTM, GRU and RNN: our recurrences where ONNX's are they, else a scan over the cell's formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..... import _C
from ..... import functional as F
from ..element_types import converted
from ..entries import apply_entry, entry_for
from ..rule_table import rule

# From what the inputs add to the gates, and whether to go back, to the states after each step and
# an LSTM's cell states.
Stepper = Callable[[Any, bool], tuple[Any, Any]]

_USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# The places of ONNX's gates in ours: input, output, forget, candidate; update, reset, candidate.
_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


def _affine(x: Any, alpha: float, beta: float) -> Any:
    return x * alpha + beta


_ACTIVATIONS: dict[str, tuple[Callable[[Any, float, float], Any], float, float]] = {
    "relu": (lambda x, a, b: F.relu(x), 0.0, 0.0),
    "tanh": (lambda x, a, b: F.tanh(x), 0.0, 0.0),
    "sigmoid": (lambda x, a, b: F.sigmoid(x), 0.0, 0.0),
    "affine": (_affine, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: F.where(x < 0, x * a, x), 0.01, 0.0),
    "thresholdedrelu": (lambda x, a, b: F.where(x > a, x, 0), 1.0, 0.0),
    "scaledtanh": (lambda x, a, b: F.tanh(x * b) * a, 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: F.minimum(F.maximum(x * a + b, 0), 1), 0.2, 0.5),
    "elu": (lambda x, a, b: F.where(x < 0, F.expm1(x) * a, x), 1.0, 0.0),
    "softsign": (lambda x, a, b: F.softsign(x), 0.0, 0.0),
    "softplus": (lambda x, a, b: F.softplus(x), 0.0, 0.0),
}


def _activations(kind: str, names: Any, alphas: Any, betas: Any, directions: int) -> list[Any]:
    """For each direction its functions."""
    names = _USUAL[kind] * directions if names is None else names
    each = len(_USUAL[kind])
    if len(names) != each * directions:
        raise _C.ArgumentError(
            f"must be {each * directions} names", op=kind, argument="activations", got=str(names)
        )
    alphas, betas = list(alphas or ()), list(betas or ())
    found = []
    for name in names:
        if name.lower() not in _ACTIVATIONS:
            raise _C.ArgumentError(
                f"must be among {', '.join(_ACTIVATIONS)}", op=kind, argument="activations",
                got=repr(name),
            )  # fmt: skip
        function, alpha, beta = _ACTIVATIONS[name.lower()]
        alpha = alphas.pop(0) if alphas and alpha != 0 else alpha
        beta = betas.pop(0) if betas and beta != 0 else beta
        found.append(_bound(function, alpha, beta))
    return [found[i * each : (i + 1) * each] for i in range(directions)]


def _bound(function: Callable[[Any, float, float], Any], alpha: float, beta: float) -> Any:
    return lambda x: function(x, alpha, beta)


def _blocks(x: Any, order: Sequence[int], axis: int = 0) -> Any:
    """The gates along an axis in our order."""
    if tuple(order) == tuple(range(len(order))):
        return x
    size = x.shape[axis] // len(order)
    parts = F.split(x, (size,) * len(order), axis=axis)
    return F.concat([parts[i] for i in order], axis=axis)


class Rows:
    """Weights of reals, a row for each gate of each element of the state."""

    is_real = True

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.size: int = rows.shape[-1]

    def of(self, number: int) -> Rows:
        """Those of a direction."""
        return Rows(self.rows[number])

    def ordered(self, order: Sequence[int]) -> Rows:
        """Their gates in another order."""
        return Rows(_blocks(self.rows, order))

    def part(self, first: int | None, last: int | None) -> Rows:
        """Some of the rows."""
        return Rows(self.rows[first:last])

    def product(self, x: Any) -> Any:
        """What they make of an input or a state."""
        return F.matmul(x, F.permute_dims(self.rows, (1, 0)))


class Bytes:
    """Weights of 8-bit integers, a column for each gate of each element of the state.

    What they are multiplied by becomes bytes in a range of its own: an input of all steps, or the
    state before a step.
    """

    is_real = False

    def __init__(self, columns: Any, scale: Any, zero: Any) -> None:
        self.given = (columns, scale, zero)
        self.size: int = columns.shape[-2]

    def of(self, number: int) -> Bytes:
        """Those of a direction."""
        return Bytes(*(x[number] for x in self.given))

    def ordered(self, order: Sequence[int]) -> Bytes:
        """Their gates in another order."""
        return Bytes(*(_blocks(x, order, axis=-1) if x.ndim > 0 else x for x in self.given))

    def product(self, x: Any) -> Any:
        """What they make of an input or a state."""
        entry = entry_for("com.microsoft", "DynamicQuantizeMatMul", 1)
        assert entry is not None, "there is an entry of this op"
        columns, scale, zero = self.given
        values = {"a": x, "b": columns, "b_scale": scale, "b_zero": zero, "bias": None}
        return apply_entry(entry, values, 1)[0]


class Direction:
    """One direction of a recurrence, with the tensors that belong to it."""

    def __init__(self, kind: str, x: Any, given: dict[str, Any], number: int, **how: Any) -> None:
        self.kind = kind
        self.x = x
        self.reverse: bool = how["reverse"]
        self.before_reset: int = how["before_reset"]
        self.clip = how["clip"]
        self.input_forget: int = how["input_forget"]
        self.functions = how["functions"]
        self.lengths = given["lengths"]
        self.w, self.r = given["w"].of(number), given["r"].of(number)
        size = self.r.size
        self.size = size
        gates = _GATES[kind]
        if given["b"] is None:
            bias = F.full((2 * gates * size,), 0, dtype=x.dtype)
        else:
            bias = given["b"][number]
        self.b, self.rb = bias[: gates * size], bias[gates * size :]
        batch = x.shape[1]
        zeros = F.full((batch, size), 0, dtype=x.dtype)
        self.h = zeros if given["h"] is None else given["h"][number]
        self.c = zeros if given["c"] is None else given["c"][number]
        self.p = None if given["p"] is None else given["p"][number]

    def run(self, is_usual: bool) -> tuple[Any, Any, Any]:
        """The states after each step, the last one, and the last cell state."""
        plain = is_usual and self.clip is None and self.p is None and not self.input_forget
        if not plain or (self.kind == "GRU" and not self.before_reset):
            return self._stepped(self._scanned, self.w.product(self.x) + self.b)
        order = _ORDER[self.kind]
        own, bias = _blocks(self.rb, order), _blocks(self.b, order)
        if self.kind != "GRU":
            bias = bias + own
        sums, r = self.w.ordered(order).product(self.x) + bias, self.r.ordered(order)
        if isinstance(r, Rows):
            return self._stepped(self._by_op(r.rows, own), sums)
        columns, scale, zero = r.given
        rows = F.permute_dims(columns, (1, 0))
        every = F.full((), sums.shape[0], dtype="int64")
        lengths = every if self.lengths is None else self.lengths
        ys, h, c = F.dynamic_quantized_lstm(
            sums, rows, scale, zero, self.h, self.c, lengths, reverse=self.reverse
        )
        if self.lengths is None:
            return ys, h, c
        has_steps = F.reshape(lengths > 0, (-1, 1))
        return ys, F.where(has_steps, h, 0), F.where(has_steps, c, 0)

    def _by_op(self, r: Any, own: Any) -> Stepper:
        """By our op: the states after each step, and the cell states of an LSTM."""

        def stepped(sums: Any, reverse: bool) -> tuple[Any, Any]:
            if self.kind == "LSTM":
                return F.lstm(sums, r, self.h, self.c, reverse=reverse)[:2]
            if self.kind == "GRU":
                return F.gru(sums, r, self.h, own, reverse=reverse), None
            return F.rnn(sums, r, self.h, reverse=reverse), None

        return stepped

    def _stepped(self, stepper: Stepper, sums: Any) -> tuple[Any, Any, Any]:
        """All examples by all steps, or each up to its own length, back from there where it goes
        the other way: all go on to the longest, and what comes after an end is not looked at.
        """
        if self.lengths is None:
            ys, cells = stepper(sums, self.reverse)
            last = 0 if self.reverse else -1
            return ys, ys[last], self.c if cells is None else cells[last]
        lengths = converted(self.lengths, "int64")
        examples = F.reshape(F.arange(sums.shape[1]), (1, -1))
        steps = F.reshape(F.arange(sums.shape[0]), (-1, 1))
        is_on = steps < lengths
        turned = F.where(is_on, lengths - 1 - steps, steps)
        places = (turned, F.broadcast_to(examples, turned.shape))
        if self.reverse:
            sums = F.gather(sums, *places, axes=(0, 1))
        ys, cells = stepper(sums, False)
        ends = (lengths, F.reshape(examples, (-1,)))
        last = self._ended(ys, ends)
        last_cell = self.c if cells is None else self._ended(cells, ends)
        if self.reverse:
            ys = F.gather(ys, *places, axes=(0, 1))
        return F.where(F.expand_dims(is_on, -1), ys, 0), last, last_cell

    def _ended(self, states: Any, ends: Any) -> Any:
        """The states after so many steps of each example; after none 0, as ONNX Runtime has it."""
        none = F.expand_dims(F.zeros_like(self.h), 0)
        return F.gather(F.concat([none, states], axis=0), *ends, axes=(0, 1))

    def _scanned(self, sums: Any, reverse: bool) -> tuple[Any, Any]:
        """By the cell's formula. The states of examples that have ended are 0."""
        cell = {"LSTM": self._lstm, "GRU": self._gru, "RNN": self._rnn}[self.kind]

        def step(carry: Any, row: Any) -> Any:
            at, own = row
            h, c = cell(own, *carry)
            if self.lengths is not None:
                h = F.where(F.reshape(at < self.lengths, (-1, 1)), h, 0)
            return (h, c), (h, c) if self.kind == "LSTM" else (h,)

        steps = F.arange(sums.shape[0])
        found = F.scan(step, (self.h, self.c), (steps, sums), reverse=reverse)[1]
        return found if self.kind == "LSTM" else (found[0], None)

    def _clipped(self, x: Any) -> Any:
        return x if self.clip is None else F.minimum(F.maximum(x, -self.clip), self.clip)

    def _rnn(self, own: Any, h: Any, c: Any) -> tuple[Any, Any]:
        total = own + self.r.product(h) + self.rb
        return self.functions[0](self._clipped(total)), c

    def _gru(self, own: Any, h: Any, c: Any) -> tuple[Any, Any]:
        n = self.size
        both, last = self.r.part(None, 2 * n), self.r.part(2 * n, None)
        gates = own[:, : 2 * n] + both.product(h) + self.rb[: 2 * n]
        gates = self.functions[0](self._clipped(gates))
        update, reset = gates[:, :n], gates[:, n:]
        if self.before_reset:
            inner = reset * (last.product(h) + self.rb[2 * n :])
        else:
            inner = last.product(reset * h) + self.rb[2 * n :]
        candidate = self.functions[1](self._clipped(own[:, 2 * n :] + inner))
        return (1 - update) * candidate + update * h, c

    def _lstm(self, own: Any, h: Any, c: Any) -> tuple[Any, Any]:
        n = self.size
        total = own + self.r.product(h) + self.rb
        i, o, f, g = (total[:, k * n : (k + 1) * n] for k in range(4))
        if self.p is not None:
            i, f = i + self.p[:n] * c, f + self.p[2 * n :] * c
        gate, inner, outer = self.functions
        i, f = gate(self._clipped(i)), gate(self._clipped(f))
        if self.input_forget:
            f = 1 - i
        c = f * c + i * inner(self._clipped(g))
        if self.p is not None:
            o = o + self.p[n : 2 * n] * c
        return gate(self._clipped(o)) * outer(c), c


def _recurrence(kind: str, x: Any, given: dict[str, Any], how: dict[str, Any]) -> Any:
    direction, layout = how["direction"], how["layout"]
    reverses = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction not in reverses:
        raise _C.ArgumentError(
            f"must be one of {', '.join(reverses)}", op=kind, argument="direction",
            got=repr(direction),
        )  # fmt: skip
    if layout:
        x = F.permute_dims(x, (1, 0, 2))
        for name in ("h", "c"):
            if given[name] is not None:
                given[name] = F.permute_dims(given[name], (1, 0, 2))
    flags = reverses[direction]
    functions = _activations(
        kind, how["activations"], how["activation_alpha"], how["activation_beta"], len(flags)
    )
    named = how["activations"] or _USUAL[kind] * len(flags)
    is_usual = tuple(n.lower() for n in named) == tuple(
        n.lower() for n in _USUAL[kind] * len(flags)
    )
    found = []
    for i, flag in enumerate(flags):
        one = Direction(
            kind, x, given, i, reverse=flag, before_reset=how.get("linear_before_reset", 0),
            clip=how["clip"], input_forget=how.get("input_forget", 0), functions=functions[i],
        )  # fmt: skip
        found.append(one.run(is_usual))
    ys = F.stack([one[0] for one in found], axis=1)
    hs, cs = (F.stack([one[k] for one in found], axis=0) for k in (1, 2))
    if layout:
        ys = F.permute_dims(ys, (2, 0, 1, 3))
        hs, cs = F.permute_dims(hs, (1, 0, 2)), F.permute_dims(cs, (1, 0, 2))
    return (ys, hs, cs) if kind == "LSTM" else (ys, hs)


@rule
def lstm(
    x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, c: Any, p: Any, *, hidden_size: Any,
    **how: Any,
) -> Any:  # fmt: skip
    """A long short-term memory."""
    given = {"w": Rows(w), "r": Rows(r), "b": b, "lengths": lengths, "h": h, "c": c, "p": p}
    return _recurrence("LSTM", x, given, how)


@rule
def gru(
    x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, *, hidden_size: Any, **how: Any
) -> Any:
    """A gated recurrent unit."""
    given = {"w": Rows(w), "r": Rows(r), "b": b, "lengths": lengths, "h": h, "c": None, "p": None}
    return _recurrence("GRU", x, given, how)


@rule
def rnn(
    x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, *, hidden_size: Any, **how: Any
) -> Any:
    """A plain recurrence."""
    given = {"w": Rows(w), "r": Rows(r), "b": b, "lengths": lengths, "h": h, "c": None, "p": None}
    return _recurrence("RNN", x, given, how)


@rule
def quantized_lstm(
    x: Any, w: Any, r: Any, b: Any, lengths: Any, h: Any, c: Any, p: Any, w_scale: Any, w_zero: Any,
    r_scale: Any, r_zero: Any, *, hidden_size: Any, **how: Any,
) -> Any:  # fmt: skip
    """A long short-term memory whose weights are bytes, in the other order of axes."""
    given = {"w": Bytes(w, w_scale, w_zero), "r": Bytes(r, r_scale, r_zero)}
    if lengths is not None:  # steps of no example are not in the range
        is_any = F.any(F.reshape(F.arange(x.shape[0]), (-1, 1)) < lengths, axis=1)
        x = F.where(F.reshape(is_any, (-1, 1, 1)), x, 0)
    given |= {"b": b, "lengths": lengths, "h": h, "c": c, "p": p}
    return _recurrence("LSTM", x, given, {**how, "layout": 0})
