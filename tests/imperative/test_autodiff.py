"""Functions that differentiate functions: nesting, structures, views, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import AutodiffError, Tensor, grad, value_and_grad, vjp
from tensorlike import functional as F


def numeric(f: Callable[[Tensor], Tensor], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Central differences of a function to one element."""
    out = np.zeros_like(x)
    step = 1e-6
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = (f(Tensor(up)).item() - f(Tensor(down)).item()) / (2 * step)
    return out


def test_perturbations_are_not_confused() -> None:
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(2.0).item() == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(1.0))(2.0).item() == 4.0
    assert grad(lambda x: grad(lambda y: x * y * y)(x))(3.0).item() == 12.0


def test_gradients_nest_to_any_order() -> None:
    f: Any = F.sin
    for order, expected in enumerate([np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]):
        f = grad(f)
        assert f(0.7).item() == pytest.approx(expected(0.7), rel=1e-5), order


def test_an_inner_gradient_of_what_the_outer_one_traces_is_recorded() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return x * x * y * y * y

    mixed = grad(grad(f, argnums=0), argnums=1)(2.0, 3.0)
    assert mixed.item() == 2 * 2.0 * 3 * 3.0**2


def test_the_gradient_has_the_structure_of_the_arguments() -> None:
    def f(params: dict[str, Any], scale: Tensor) -> Tensor:
        first, (second,) = params["layers"]
        return F.sum(first * second) * scale + params["bias"]

    params = {"layers": [Tensor([1.0, 2.0]), (Tensor([3.0, 4.0]),)], "bias": Tensor(1.0)}
    by_params, by_scale = grad(f, argnums=(0, 1))(params, 2.0)
    assert by_params["layers"][0].tolist() == [6.0, 8.0]
    assert by_params["layers"][1][0].tolist() == [2.0, 4.0]
    assert by_params["bias"].item() == 1.0
    assert by_scale.item() == 11.0
    assert isinstance(by_params["layers"][1], tuple)


def test_a_named_tuple_is_a_structure_too() -> None:
    class Point(NamedTuple):
        x: Any
        y: Any

    slope = grad(lambda point: point.x * point.y)(Point(2.0, 3.0))
    assert type(slope) is Point
    assert (slope.x.item(), slope.y.item()) == (3.0, 2.0)


def test_an_argument_that_no_gradient_reaches_gets_zeros() -> None:
    first, second = grad(lambda a, b: F.sum(a * 2), argnums=(0, -1))(Tensor([1.0]), Tensor([5.0]))
    assert first.tolist() == [2.0]
    assert second.tolist() == [0.0]


def test_value_and_auxiliary_results_come_out_without_tracers() -> None:
    (value, aux), slope = value_and_grad(lambda x: (x * x, {"y": x + 1, "n": 3}), has_aux=True)(2.0)
    assert (value.item(), slope.item(), aux["y"].item(), aux["n"]) == (4.0, 4.0, 3.0, 3)
    assert not value.requires_grad
    assert not aux["y"].requires_grad
    assert isinstance(aux["y"].__wrapped__, tl.RawTensor)


def test_keyword_arguments_are_passed_on() -> None:
    assert grad(lambda x, *, power: x**power)(3.0, power=2).item() == 6.0


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "reshape": lambda x: x.reshape(4, 3) ** 2 * Tensor(np.arange(12.0).reshape(4, 3)),
    "transpose": lambda x: x.T**2 * Tensor(np.arange(12.0).reshape(4, 3)),
    "broadcast": lambda x: x.broadcast_to((2, 3, 4)) ** 2 * Tensor(np.arange(8.0).reshape(2, 1, 4)),
    "row": lambda x: x[1] ** 2,
    "slice": lambda x: x[1:, ::2] ** 2,
    "negative step": lambda x: x[::-1, ::-2] ** 2 * Tensor([1.0, 3.0]),
    "new axis": lambda x: x[None, ..., None] ** 2,
    "indices with duplicates": lambda x: x[[0, 0, 2, -1]] ** 2,
    "pairs of indices": lambda x: x[[0, 0, 1], [1, 1, 2]] ** 3,
    "mask": lambda x: x[Tensor(np.arange(12).reshape(3, 4) % 2 == 0)] ** 2,
    "index tensors and slices": lambda x: x[:, [3, 3]] ** 2,
    "squeeze": lambda x: x.reshape(3, 1, 4).squeeze(1) ** 2,
    "expand": lambda x: x.expand_dims(1) ** 2,
    "sum": lambda x: x.sum(axis=0) ** 2,
    "mean": lambda x: x.mean(axis=1, keepdims=True) ** 2,
    "max": lambda x: x.max(axis=1) ** 2,
    "min": lambda x: x.min(axis=0) ** 2,
    "prod": lambda x: x.prod(axis=1),
    "row times table": lambda x: x[0] * x,
    "column times table": lambda x: x[:, :1] / (x * x + 1),
    "scalar times table": lambda x: x.sum() * x,
    "matmul": lambda x: x @ x.T,
    "vector matmul": lambda x: x[0] @ x.T,
    "concat": lambda x: F.concat([x, x * x], axis=0) ** 2,
    "stack": lambda x: F.stack([x, x * x], axis=1) ** 2,
    "split": lambda x: F.split(x, (1, 2), axis=0)[1] ** 2,
    "where": lambda x: F.where(x > 0, x * x, x),
    "softmax": lambda x: F.softmax(x, axis=0) * Tensor(np.arange(12.0).reshape(3, 4)),
    "log softmax": lambda x: F.log_softmax(x) ** 2,
    "assignment": lambda x: with_assignment(x),
    "advanced assignment": lambda x: with_advanced_assignment(x),
    "in place": lambda x: with_in_place(x),
}


def with_assignment(x: Tensor) -> Tensor:
    """Overwrites a part by a function of another one."""
    y = x * x
    y[0] = x[1] * 3
    y[1:, 0] = 0
    return y * y


def with_advanced_assignment(x: Tensor) -> Tensor:
    """Overwrites chosen elements."""
    y = x * x
    y[[0, 2], [1, 3]] = x[1, :2] * 3
    return y * y


def with_in_place(x: Tensor) -> Tensor:
    """Changes a copy in place."""
    y = x * x
    y *= y
    y += x
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_equals_finite_differences(name: str) -> None:
    array = np.random.default_rng(3).standard_normal((3, 4)) + 0.1

    def f(x: Tensor) -> Tensor:
        return F.sum(FUNCTIONS[name](x))

    np.testing.assert_allclose(
        grad(f)(Tensor(array)).numpy(), numeric(f, array), rtol=1e-6, atol=1e-6
    )

    def g(x: Tensor) -> Tensor:
        return F.sum(F.sin(grad(f)(x)))

    np.testing.assert_allclose(
        grad(g)(Tensor(array)).numpy(), numeric(g, array), rtol=1e-4, atol=1e-4
    )


def test_a_gradient_comes_back_in_the_dtype_of_its_input() -> None:
    x = Tensor([1.0, 2.0], dtype="float64")
    slope = grad(lambda x: F.sum(x.astype("float32") * Tensor([2.0, 3.0])))(x)
    assert slope.dtype is tl.float64
    assert slope.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "shapes", [((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (4, 1)), ((1,), (1, 1))]
)
@pytest.mark.parametrize("op", [F.add, F.subtract, F.multiply, F.divide, F.pow, F.maximum])
def test_a_gradient_of_a_broadcast_has_the_shape_of_its_input(
    op: Callable[..., Tensor], shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.uniform(0.5, 2.0, shape) for shape in shapes)
    by_a, by_b = grad(lambda a, b: F.sum(op(a, b)), argnums=(0, 1))(Tensor(a), Tensor(b))
    assert (by_a.shape, by_b.shape) == shapes
    np.testing.assert_allclose(
        by_a.numpy(), numeric(lambda x: F.sum(op(x, Tensor(b))), a), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(
        by_b.numpy(), numeric(lambda x: F.sum(op(Tensor(a), x)), b), rtol=1e-5, atol=1e-7
    )


def test_where_takes_no_gradient_from_the_branch_not_chosen() -> None:
    slope = grad(lambda x: F.sum(F.where(x > 0, F.sqrt(x), x)))(Tensor([0.0, 4.0]))
    assert slope.tolist() == [1.0, 0.25]


def test_vjp_pulls_back_nested_outputs_once() -> None:
    value, pull_back = vjp(lambda x, y: (x * y, [x + y]), Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    assert value[0].tolist() == [3.0, 8.0]
    assert value[1][0].tolist() == [4.0, 6.0]
    by_x, by_y = pull_back((Tensor([1.0, 0.0]), [Tensor([0.0, 1.0])]))
    assert by_x.tolist() == [3.0, 1.0]
    assert by_y.tolist() == [1.0, 1.0]
    with pytest.raises(AutodiffError, match="was released by an earlier backward pass"):
        pull_back((Tensor([1.0, 0.0]), [Tensor([0.0, 1.0])]))


def test_a_cotangent_must_have_the_shape_of_its_output() -> None:
    _, pull_back = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
    with pytest.raises(tl.ShapeError) as caught:
        pull_back(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert str(caught.value) == (
        "backward: a cotangent must have its output's shape (2,); got (2, 2)."
    )


def test_a_leaked_tracer_is_an_error() -> None:
    kept: list[Tensor] = []
    grad(lambda x: (kept.append(x), x * x)[1])(1.0)
    with pytest.raises(AutodiffError) as caught:
        _ = kept[0] + 1
    assert str(caught.value) == (
        "add: a tracer must not outlive its tape; got one of a tape that is closed; return values "
        "from the differentiated function instead of keeping them."
    )


def test_an_exception_in_the_function_closes_its_tape() -> None:
    def fails(x: Tensor) -> Tensor:
        grad(lambda y: y * x)(1.0)
        raise KeyError("from the function")

    for _ in range(3):
        with pytest.raises(KeyError):
            grad(fails)(1.0)
    levels: list[int] = []
    grad(lambda x: (levels.append(x.__wrapped__.level), x)[1])(1.0)
    assert levels == [1]


def test_what_does_not_depend_on_the_arguments_has_the_gradient_zero() -> None:
    assert grad(lambda x: Tensor(1.0))(2.0).item() == 0.0
    assert grad(lambda x: Tensor(1.0))(Tensor([float("inf"), 1.0])).tolist() == [0.0, 0.0]
    assert grad(lambda x, y: y, argnums=(0, 1))(2.0, 3.0)[0].item() == 0.0
    value, pull_back = tl.vjp(lambda x: Tensor([1.0, 2.0]), Tensor(1.0))
    assert pull_back(value)[0].item() == 0.0


@pytest.mark.parametrize(
    "function",
    [F.relu, F.abs, F.max, lambda x: F.maximum(x, 1.0), lambda x: x * (x > 0)],
)
def test_what_has_a_slope_of_steps_has_the_second_derivative_zero(
    function: Callable[[Tensor], Tensor],
) -> None:
    assert grad(grad(function))(2.0).item() == 0.0


def test_the_gradient_of_a_constant_slope_is_zero_at_every_depth() -> None:
    third = grad(grad(grad(lambda x: 3 * x)))
    assert third(2.0).item() == 0.0
    # The inner value hangs on the outer argument alone; the outer graph is not walked for it.
    assert grad(lambda x: x * grad(lambda y: x * x)(1.0) + x * x)(3.0).item() == 6.0


def test_an_op_that_cuts_the_tape_is_named_though_the_tape_is_closed() -> None:
    with pytest.raises(AutodiffError, match=r"floor \(.*test_autodiff\.py:\d+\) is not"):
        tl.vjp(lambda x: tl.functional.floor(x), Tensor([1.5]))
    with pytest.raises(AutodiffError, match="argmax"):
        grad(lambda x: tl.functional.argmax(x))(Tensor([1.0, 2.0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: grad(lambda x: x)(Tensor([1.0, 2.0])),
            "backward: a cotangent is needed for an output of shape (2,); pass one, or reduce the "
            "output to one element.",
        ),
        (
            lambda: grad(lambda x: 3.0)(1.0),
            "grad: the function must return a tensor with one element; got float",
        ),
        (
            lambda: grad(lambda x: Tensor([1.0, 2.0]))(1.0),
            "grad: the function must return a tensor with one element; got (2,)",
        ),
        (
            lambda: grad(lambda x: x, argnums=2)(1.0),
            "grad: argnums must name positional arguments; got 2 for 1",
        ),
    ],
)
def test_what_cannot_be_differentiated_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        call()
    assert str(caught.value) == message


def test_an_integer_has_no_gradient() -> None:
    with pytest.raises(tl.DTypeError) as caught:
        grad(lambda x: x)(3)
    assert str(caught.value) == (
        "requires_grad: only floating-point tensors carry gradients; got int64; cast it: "
        "x.astype(float32)."
    )


def test_an_undifferentiable_op_is_named_with_the_users_line() -> None:
    def f(x: Tensor) -> Tensor:
        return F.argmax(x) * 1.0  # the line that is named

    with pytest.raises(AutodiffError) as caught:
        grad(f)(Tensor([1.0, 2.0]))
    line = f.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"backward: the value carries no gradient; argmax ({__file__}:{line}) is not "
        "differentiable and cut the tape; differentiate a value that does not go through it."
    )
