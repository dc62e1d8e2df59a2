"""tl.autograd: gradients of tensors by tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F

grad = tl.autograd.grad


def leaf(data: Any) -> tl.Tensor:
    return tl.tensor(data, requires_grad=True)


def test_gradients_by_leaves_and_by_what_was_computed() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    z = (y * y).sum()
    by_x, by_y, by_w, again = grad(z, [x, y, w, x])
    assert by_y.tolist() == [6.0, 16.0]
    assert by_x.tolist() == again.tolist() == [18.0, 64.0] and by_w.tolist() == [6.0, 32.0]
    assert x.grad is None and w.grad is None


def test_several_outputs_with_cotangents_add_up() -> None:
    x = leaf([1.0, 2.0])
    (found,) = grad([x * 2, x * x], x, [tl.tensor([1.0, 10.0]), [1.0, 1.0]])
    assert found.tolist() == [4.0, 24.0]


def test_only_what_leads_to_the_inputs_is_computed() -> None:
    class Tracked(tl.Function):
        def forward(self, x: Any) -> Any:
            return x * 1

        def backward(self, dy: Any) -> Any:
            ran.append(1)
            return dy

    ran: list[int] = []
    x, w = leaf([1.0]), leaf([2.0])
    y = x * 2
    loss = y * Tracked()(w)
    grad(loss, x, retain_graph=True)
    assert not ran
    grad(loss, y, retain_graph=True)
    assert not ran
    grad(loss, w)
    assert ran == [1]


def test_many_inputs_of_one_op_beyond_what_is_told_apart() -> None:
    xs = [leaf([float(i)]) for i in range(100)]
    y = (F.concat(xs) * np.arange(100, dtype=np.float32)).sum()
    for i in (0, 31, 63, 64, 99):
        assert grad(y, xs[i], retain_graph=True)[0].tolist() == [float(i)]
    assert [g.item() for g in grad(y, xs)] == [float(i) for i in range(100)]


def test_create_graph_gives_gradients_of_gradients() -> None:
    x = leaf(2.0)
    y = x**4
    for wanted in (32.0, 48.0, 48.0, 24.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == wanted


def test_unused_inputs_are_errors_unless_allowed() -> None:
    x, unused, constant = leaf(1.0), leaf(1.0), tl.tensor(1.0)
    with pytest.raises(tl.AutodiffError, match="input 1; pass allow_unused=True"):
        grad(x * 2, [x, unused])
    with pytest.raises(tl.AutodiffError, match="input 0 has no requires_grad"):
        grad(x * 2, constant)
    assert [g and g.item() for g in grad(x * 2, [x, unused, constant], allow_unused=True)] == [
        2.0,
        None,
        None,
    ]
    assert grad(x * constant, [unused], allow_unused=True) == (None,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: grad(x * 2, [x], [1.0, 2.0]), tl.AutodiffError, "one cotangent per output"),
        (lambda x: grad(x * 2, [3.0]), TypeError, "xs must be tensors; got float"),
        (lambda x: grad([3.0], [x]), TypeError, "outputs must be tensors; got float"),
        (lambda x: grad(tl.tensor(1.0), [x]), tl.AutodiffError, "carries no gradient"),
        (lambda x: grad(x * tl.tensor([1.0, 2.0]), [x]), tl.AutodiffError, "a cotangent is needed"),
        (lambda x: tl.autograd.backward([x], [1.0, 1.0]), tl.AutodiffError, "one cotangent"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(leaf(1.0))


def test_the_graph_is_used_up_unless_it_is_retained() -> None:
    x = leaf(2.0)
    y = x * x
    assert grad(y, x, retain_graph=True)[0].item() == 4.0
    assert grad(y, x)[0].item() == 4.0
    with pytest.raises(tl.AutodiffError, match="retain_graph=True"):
        grad(y, x)


def test_gradients_equal_pulling_back_by_the_function() -> None:
    rng = np.random.default_rng(0)
    w = leaf(rng.normal(size=(4, 3)))
    x = leaf(rng.normal(size=(5, 4)))
    hidden = F.tanh(x @ w)
    loss = F.logsumexp(hidden)
    by_hidden, by_x = grad(loss, [hidden, x])
    wanted = tl.grad(lambda x: F.logsumexp(F.tanh(x @ w.detach())))(x.detach())
    np.testing.assert_allclose(by_x.numpy(), wanted.numpy(), rtol=1e-12)
    wanted = tl.grad(F.logsumexp)(hidden.detach())
    np.testing.assert_allclose(by_hidden.numpy(), wanted.numpy(), rtol=1e-12)


def test_backward_of_several_outputs() -> None:
    x = leaf([1.0, 2.0])
    tl.autograd.backward([x * x, x.sum()], [tl.tensor([1.0, 1.0]), None])
    assert x.grad.tolist() == [3.0, 5.0]


def test_zero_grad_forgets() -> None:
    x = leaf([1.0])
    (x * 2).sum().backward()
    x.zero_grad()
    assert x.grad is None
    for without in (tl.tensor([1.0]), x * 2):
        without.zero_grad()
        with pytest.raises(tl.AutodiffError, match="only a tensor that requires_grad holds"):
            without.grad = tl.tensor([1.0])


def test_anomalies_are_looked_for_under_every_transform() -> None:
    x = tl.tensor([1.0, 2.0])
    with tl.autograd.detect_anomaly():
        _, along = tl.jvp(tl.grad(lambda x: F.sum(x**3)), (x,), (tl.ones(2),))
        assert along.tolist() == [6.0, 12.0]
        zero = tl.tensor(0.0)
        with pytest.raises(tl.AutodiffError, match="gradients must be numbers"):
            tl.jvp(tl.grad(lambda x: F.sqrt(x * 0)), (zero,), (tl.tensor(1.0),))


def test_a_bare_value_is_refused_with_what_to_do_and_that_works() -> None:
    main = tl.static.Program()
    with tl.static.program_guard(main, tl.static.Program()):
        bare = tl.static.data("x", (None, 2))
        for x, y in ((bare, F.sum(bare * bare)), (tl.as_raw_tensor([2.0]), tl.tensor(1.0))):
            with pytest.raises(tl.ParameterError, match=r"got a bare .* compute .* tl.Tensor") as e:
                tl.autograd.grad(y, [x])
            assert "t.requires_grad = True" in str(e.value)
        t = tl.Tensor(bare)
        t.requires_grad = True
        (slope,) = tl.autograd.grad(F.sum(t * t), t)
    feed = {"x": np.array([[1, 2]], np.float32)}
    assert tl.static.Executor().run(main, feed, [slope])[0].tolist() == [[2, 4]]
