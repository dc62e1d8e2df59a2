"""Functions that are traced: rows J2 to J14 of the acceptance list."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import _C, jit


def test_j2_the_first_call_records_and_later_ones_run_the_program() -> None:
    calls = []

    @jit.trace
    def scaled(x: Any) -> Any:
        calls.append(1)
        return F.exp(x) * 2 + 1

    x = tl.tensor([1.0, 2.0])
    expected = (F.exp(x) * 2 + 1).tolist()
    assert [scaled(x).tolist() for _ in range(3)] == [expected] * 3
    assert scaled(tl.tensor([0.0, 0.0])).tolist() == [3.0, 3.0]
    assert len(calls) == 1
    assert scaled.__wrapped__(x).tolist() == expected and len(calls) == 2
    assert scaled.__name__ == "scaled"


def test_j2_a_symbolic_trace_computes_nothing_before_the_program_runs() -> None:
    seen = []

    @jit.trace(symbolic=True)
    def total(x: Any) -> Any:
        y = F.sum(x * 2)
        try:
            y.item()
        except tl.DispatchError as error:
            seen.append(error.missing)
        return y

    assert total(tl.tensor([1.0, 2.0])).item() == 6.0
    assert seen == ["elements"]
    assert total(tl.tensor([2.0, 2.0])).item() == 8.0


def test_j3_a_strict_trace_says_what_differs() -> None:
    how = {"op": F.exp, "count": 1, "constant": 2.0, "swap": False, "dtype": "float32"}

    @jit.trace(strict=True)
    def chain(x: Any, y: Any) -> Any:
        if how["swap"]:
            x, y = y, x
        z = x - y * tl.tensor([how["constant"]])
        z = F.astype(z, how["dtype"])
        for _ in range(how["count"]):
            z = how["op"](z)
        return z

    x, y = tl.tensor([1.0]), tl.tensor([2.0])
    first = chain(x, y).item()
    assert chain(x, y).item() == first
    changes: dict[str, tuple[Any, str]] = {
        "op": (F.sin, "must be the one of last time"),
        "count": (2, "must end where it ended last time"),
        "constant": (3.0, "must be the constant of last time"),
        "swap": (True, "mis-wiring"),
        "dtype": ("float64", "as last time|last time"),
    }
    for name, (value, text) in changes.items():
        before, how[name] = how[name], value
        with pytest.raises(jit.TraceMismatchError, match=text) as caught:
            chain(x, y)
        assert "test_trace.py:" in str(caught.value)
        how[name] = before
        assert chain(x, y).item() == first
    how["count"] = 0
    with pytest.raises(jit.TraceMismatchError, match="must go on as last time"):
        chain(x, y)


def test_j4_what_python_reads_in_a_trace_is_right_in_every_call() -> None:
    @jit.trace
    def read(x: Any) -> Any:
        total = F.sum(x)
        return total.numpy().tolist(), float(total), x.shape, len(x), str(total), x * total.item()

    for values in ([1.0, 2.0], [3.0, 4.0], [1.0, 2.0]):
        x = tl.tensor(values)
        *found, y = read(x)
        total = sum(values)
        assert found == [total, total, (2,), 2, str(F.sum(x))]
        assert y.tolist() == [v * total for v in values]
    assert len(read.programs()) == 2


def test_j5_excluded_code_runs_in_every_call_and_may_differ() -> None:
    seen = []

    @jit.trace
    def logged(x: Any) -> Any:
        y = x * 2
        with jit.exclude_from_trace():
            seen.append(y.item())
            if len(seen) > 1:
                y = y + 100
        return y + 1

    assert [logged(tl.tensor(v)).item() for v in (1.0, 2.0, 3.0)] == [3.0, 105.0, 107.0]
    assert seen == [2.0, 4.0, 6.0]
    assert "excluded" in logged.why()


def test_j5_a_strict_trace_leaves_excluded_code_out() -> None:
    count = [0]

    @jit.trace(strict=True)
    def logged(x: Any) -> Any:
        y = x * 2
        with jit.exclude_from_trace():
            count[0] += 1
            for _ in range(count[0]):
                F.exp(x)
        return y + 1

    assert [logged(tl.tensor(v)).item() for v in (1.0, 2.0, 3.0)] == [3.0, 5.0, 7.0]


def test_j6_captured_constants_are_noticed_when_they_change() -> None:
    weight = tl.tensor([2.0])

    @jit.trace(capture_as_const=True)
    def constant(x: Any) -> Any:
        return x * weight

    @jit.trace
    def read_anew(x: Any) -> Any:
        return x * weight

    x = tl.tensor([3.0])
    assert constant(x).item() == read_anew(x).item() == 6.0
    assert "captured" in str(constant.programs()[0].listing)
    weight.set_value([5.0])
    assert constant(x).item() == read_anew(x).item() == 15.0
    assert len(constant.programs()) == 2 and len(read_anew.programs()) == 1


def test_j7_an_error_in_a_trace_leaves_nothing_behind() -> None:
    buffer, parameter = tl.nn.Buffer([1.0]), tl.Parameter([2.0])

    @jit.trace
    def failing(x: Any, fails: bool) -> Any:
        buffer.set_value(buffer + x)
        y = F.sum(parameter * x)
        y.backward()
        if fails:
            raise RuntimeError("on purpose")
        return y

    x = tl.tensor([3.0])
    for _ in range(100):
        with pytest.raises(RuntimeError, match="on purpose"):
            failing(x, True)
    assert buffer.item() == 1.0 and parameter.grad is None and parameter.is_leaf
    assert _C.paused_level() == -1 and tl.tensor([1.0]).tolist() == [1.0]
    assert failing.programs() == []
    assert not any(
        row[0] == "apply_while_recording" and row[3] for row in _C.resolution(tl.ops.Copy(), x)
    )
    failing(x, False)
    assert buffer.item() == 4.0 and parameter.grad.item() == 3.0


def test_j8_a_dump_says_what_it_holds_and_gives_the_same(tmp_path: Any) -> None:
    layer = tl.nn.Linear(3, 2, seed=0)
    traced = jit.trace(lambda x: {"y": F.relu(layer(x)), "z": (x.sum(),)})
    x = tl.tensor([[1.0, -2.0, 3.0]])
    found = traced(x)
    info = traced.dump(tmp_path / "f.tlp")
    assert info.inputs == ("x",) and info.outputs == ("result['y']", "result['z'](0)")
    assert info.operators > 2 and set(info.parameters) == {"layer.weight", "layer.bias"}
    again = jit.load(tmp_path / "f.tlp")(x)
    assert again["y"].tolist() == found["y"].tolist()
    assert again["z"][0].item() == found["z"][0].item()


def test_j9_opt_level_2_knows_identities_of_real_numbers() -> None:
    @jit.trace(opt_level=2)
    def there_and_back(x: Any) -> Any:
        return F.log(F.exp(x))

    @jit.trace(opt_level=2)
    def log_sum_exp(x: Any) -> Any:
        return F.log(F.sum(F.exp(x), axis=-1))

    x = tl.tensor([[1000.0, 1000.0]])
    there_and_back(x), log_sum_exp(x)
    assert there_and_back(x).tolist() == x.tolist()
    assert log_sum_exp(x).tolist() == F.logsumexp(x, axis=-1).tolist()


def test_j10_profiles_and_recomputation() -> None:
    @jit.trace(profiling=True)
    def chain(x: Any) -> Any:
        return F.matmul(x, x)

    chain(tl.ones((2, 2))), chain(tl.ones((2, 2)))
    profile = chain.get_profile()
    assert profile is not None and any("MatMul" in e.name for e in profile.events)

    def deep(x: Any) -> Any:
        for _ in range(8):
            x = F.sin(F.cosh(x) * x)
        return F.sum(x)

    x = tl.tensor(np.linspace(0, 1, 7, dtype=np.float32), requires_grad=True)
    deep(x).backward()
    expected, x.grad = x.grad, None
    again = jit.trace(recompute=True)(deep)
    again(x)
    again(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-5)


def test_j11_sizes_that_follow_from_elements_differ_between_calls() -> None:
    @jit.trace
    def chosen(x: Any) -> Any:
        y = x[x > 0]
        return F.sum(y * 2), y, F.topk(x, 2)[0]

    for values in ([1.0, -2.0, 3.0], [-1.0, -1.0, -1.0], [1.0, 2.0, 3.0]):
        x = tl.tensor(values)
        total, y, top = chosen(x)
        kept = [v for v in values if v > 0]
        assert y.tolist() == kept and total.item() == 2 * sum(kept)
        assert top.tolist() == sorted(values, reverse=True)[:2]
    assert len(chosen.programs()) == 1


def test_j12_tensors_that_escape_a_failed_trace_are_refused() -> None:
    escaped: list[Any] = []

    @jit.trace
    def leaking(x: Any, fails: bool) -> Any:
        escaped.append(x * 2)
        if fails:
            raise RuntimeError("on purpose")
        return x + 1

    with pytest.raises(RuntimeError, match="on purpose"):
        leaking(tl.tensor([1.0]), True)
    leaking(tl.tensor([1.0]), False)
    failed, kept = escaped
    assert kept.tolist() == [2.0]
    for use in (lambda y: y + 1, lambda y: y.numpy(), lambda y: y.tolist(), F.exp):
        with pytest.raises(tl.AutodiffError, match="broken due to misuse of tracing"):
            use(failed)


def test_j13_the_listing_is_a_line_for_each_op() -> None:
    @jit.trace
    def added(x: Any, y: Any) -> Any:
        return x + y * x

    added(tl.ones(2), tl.ones(2))
    assert str(added.programs()[0].listing).splitlines() == [
        "x: float32(2,)",
        "y: float32(2,)",
        "_1 = Elemwise(mode='multiply')(y, x)  # float32(2,)",
        "_2 = Elemwise(mode='add')(x, _1)  # float32(2,)",
    ]


def test_j14_a_traced_function_in_another_is_a_part_of_its_program() -> None:
    @jit.trace
    def inner(x: Any) -> Any:
        return F.exp(x) * 2

    @jit.trace
    def outer(x: Any) -> Any:
        return inner(x) + inner(x * 2)

    x = tl.tensor([0.5])
    expected = outer.__wrapped__(x).item()
    assert outer(x).item() == outer(x).item() == pytest.approx(expected, rel=1e-6)
    assert len(outer.programs()) == 1
    inner.programs().clear()
    inner_count = len(inner.programs())
    outer(tl.tensor([1.0]))
    assert len(inner.programs()) == inner_count


def test_an_op_that_has_a_gradient_of_its_own_is_not_found_in_what_others_wrote() -> None:
    tl.declare(
        """
- scalar: own_slope_of_a_trace
  args: [x: real floating-point]
  expr: tanh(x) * x + 0.628
  grad: {x: 5 * dy}
  doc: Of a test.
"""
    )

    def written(x: Any) -> Any:
        return F.tanh(x) * x + 0.628

    x = tl.tensor([0.5, -1.0])
    wanted = tl.grad(lambda x: F.sum(written(x)))(x)
    traced = jit.trace(written)
    for _ in range(3):
        found = tl.grad(lambda x: F.sum(traced(x)))(x)
        assert found.tolist() == pytest.approx(wanted.tolist(), rel=1e-6)


def test_sizes_that_a_function_returns_are_numbers_of_each_call() -> None:
    @jit.trace
    def measured(x: Any) -> Any:
        y = x * 2
        return y, y.shape, {"rows": y.shape[0] * 3}

    for n in (2, 3, 5, 0, 3):
        y, shape, other = measured(tl.zeros((n, 2)))
        assert (y.shape, shape, other) == ((n, 2), (n, 2), {"rows": 3 * n})
        assert list(map(type, (*shape, other["rows"]))) == [int, int, int]


def test_what_finalizers_do_is_not_recorded() -> None:
    """Garbage of others may be found at any time; what it did with tensors became each call's."""
    elsewhere = tl.tensor([1.0, 2.0])

    class Link:
        itself: Any
        block: Any

    turns = [None]  # garbage of a later recording, if there is one, does nothing

    def block() -> Any:
        acts = bool(turns) and turns.pop() is None
        try:
            yield
        finally:
            if acts:
                elsewhere.set_value(tl.tensor([5.0, 5.0]))

    @jit.trace
    def f(x: Any) -> Any:
        link = Link()
        link.itself, link.block = link, block()
        next(link.block)
        del link
        made = [[] for _ in range(100_000)]  # the collector runs for so many
        return x * 2 + len(made)

    f(tl.tensor([1.0]))
    gc.collect()
    elsewhere.set_value(tl.tensor([7.0, 7.0]))
    f(tl.tensor([1.0]))
    assert elsewhere.tolist() == [7.0, 7.0]
