"""What Python code can hand over, and be wrong: text, sequences, booleans, classes, buffers.

Each case ends in an error that says what must hold, or in the right result.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C
from tensorlike import functional as F

HALF = "\ud800"  # of a surrogate pair: UTF-8 cannot hold it


class Clears:
    """A number whose reading empties the list that it is in."""

    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner

    def __index__(self) -> int:
        self.owner.clear()
        gc.collect()
        return 0

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.owner.clear()
        gc.collect()
        return np.zeros(2)


TEXTS: list[Callable[[], object]] = [
    lambda: tl.ops.deserialize(b'{"op":"Reduce","params":{"\\ud800":1}}'),
    lambda: tl.ops.Elemwise(**{HALF: 1}),
    lambda: tl.ops.Elemwise(mode=HALF),
    lambda: tl.ops.Elemwise(mode="add", config={HALF: 3}),
    lambda: tl.ops.Elemwise(mode="add", config={1: "a"}),
    lambda: tl.ones(2, dtype=HALF),
    lambda: tl.ones(2).to(HALF),
    lambda: tl.ones(2, device=HALF),
    lambda: tl.Tensor(1.0, **{HALF: 1}),
    lambda: F.sum(tl.ones(2), **{HALF: 1}),
    lambda: F.concat([tl.ones(2)], **{HALF: 1}),
    lambda: F.cumulative(tl.ones(2), mode=HALF),
    lambda: tl.num_threads(**{HALF: 1}),
    lambda: tl.set_num_threads(**{HALF: 1}),
    lambda: tl.memory.stats(**{HALF: 1}),
    lambda: tl.engine.mode(HALF),
    lambda: _C.Function(HALF),
    lambda: tl.opcheck(HALF, tl.ones(2)),
]


@pytest.mark.parametrize("call", TEXTS)
def test_text_that_is_no_utf8_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert "std::" not in str(caught.value)
    assert "basic_string" not in str(caught.value)


def test_an_op_has_no_attribute_of_such_a_name() -> None:
    assert not hasattr(tl.ops.Elemwise(mode="add"), HALF)


def test_a_program_whose_name_is_no_utf8_is_named_escaped() -> None:
    program = """
with tl.engine.mode("lazy", threshold=1):
    y = tl.ones(2) * 2
    shown.append(tl.engine.explain())
def apply_shapes(op: tl.ops.OpBase, *xs: Some): pass
with tl.apply.registered(apply_shapes):
    shown.append(tl.apply.explain(tl.ops.Elemwise(mode="exp"), Some()))
"""

    class Some(tl.TensorBase):
        pass

    shown: list[str] = []
    exec(compile(program, "/tmp/\udcff.py", "exec"), {"tl": tl, "shown": shown, "Some": Some})
    assert all(r"\udcff.py" in text for text in shown)


SEQUENCES: list[Callable[[list[Any]], object]] = [
    lambda items: F.sum(tl.ones((2, 3)), axis=items),
    lambda items: F.reshape(tl.ones(2), items),
    lambda items: tl.ones(items),
    lambda items: tl.ShapeTensor(items),
    lambda items: F.concat(items),
    lambda items: F.stack(items),
    lambda items: tl.tensor(items),
    lambda items: tl.ones((2, 3))[items],
    lambda items: tl.ops.Reduce(mode="sum", axis=items, keepdims=False, dtype=None),
    lambda items: tl.broadcast_to(tl.ones(1), items),
    lambda items: tl.einsum("i->i", *items) if hasattr(tl, "einsum") else F.flip(tl.ones(2), items),
]


@pytest.mark.parametrize("call", SEQUENCES)
def test_a_list_that_changes_while_it_is_read_is_read_as_it_was(
    call: Callable[[list[Any]], object],
) -> None:
    items: list[Any] = []
    items += [Clears(items), *(np.full(2, 10.0**i) for i in range(20))]
    try:
        call(items)
    except (TypeError, ValueError, IndexError, MemoryError) as error:
        assert str(error)


def test_a_dict_that_changes_while_it_is_read_is_read_as_it_was() -> None:
    config: dict[str, Any] = {}

    class Name:
        @property
        def name(self) -> str:
            config.clear()
            gc.collect()
            return "float32"

    config |= {"dtype": Name(), "name": "a", **{f"x{i}": str(i) for i in range(20)}}
    try:
        op = tl.ops.Elemwise(mode="add", config=config)
    except TypeError as error:
        assert str(error)
    else:
        assert op.config["name"] == "a"


ODD = np.array([[255, 2, 0, 0], [0, 128, 1, 0]], np.uint8)
MASKS = [
    pytest.param(lambda: tl.tensor(ODD.view(bool)), id="buffer"),
    pytest.param(lambda: tl.tensor(ODD.view(bool).T.copy().T), id="strided"),
    pytest.param(lambda: tl.tensor(np.array(ODD, order="F").view(np.bool_)), id="transposed"),
    pytest.param(lambda: tl.from_dlpack(ODD.view(bool)), id="dlpack"),
    pytest.param(lambda: tl.from_dlpack(ODD.view(bool)[:, ::-1][:, ::-1]), id="dlpack strides"),
]


@pytest.mark.parametrize("make", MASKS)
def test_booleans_that_are_neither_0_nor_1_are_true(make: Callable[[], tl.Tensor]) -> None:
    mask, wanted = make(), ODD != 0
    x = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(tl.tensor(x)[mask], x[wanted])
    np.testing.assert_array_equal(F.masked_select(tl.tensor(x), mask), x[wanted])
    np.testing.assert_array_equal(F.argwhere(mask), np.argwhere(wanted))
    np.testing.assert_array_equal(F.logical_not(mask), ~wanted)
    np.testing.assert_array_equal(mask.astype("int32"), wanted.astype("int32"))
    np.testing.assert_array_equal(F.where(mask, 1.0, 2.0), np.where(wanted, 1.0, 2.0))
    assert F.sum(mask).item() == wanted.sum()
    assert F.all(F.equal(mask, tl.tensor(wanted))).item()
    y = tl.tensor(x)
    y[mask] = -1.0
    np.testing.assert_array_equal(y, np.where(wanted, -1, x))


def test_a_shared_mask_that_others_write_to_later_selects_no_more_than_there_is() -> None:
    memory = np.zeros(20_000, np.uint8)
    mask = tl.from_dlpack(memory.view(bool))
    memory[:] = 255
    assert F.argwhere(mask).shape == (20_000, 1)
    assert F.masked_select(tl.ones(20_000), mask).shape == (20_000,)


class Lying(tl.TensorBase):
    """A tensor-like whose properties are given from outside."""

    answers: ClassVar[dict[str, Any]] = {}

    @property
    def shape(self) -> Any:
        return self._answer("shape")

    @property
    def dtype(self) -> Any:
        return self._answer("dtype")

    @property
    def priority(self) -> Any:
        return self._answer("priority")

    def _answer(self, name: str) -> Any:
        answer = self.answers[name]
        if isinstance(answer, BaseException):
            raise answer
        return answer


USES: list[Callable[[Any], object]] = [
    len,
    list,
    lambda x: x.ndim,
    lambda x: x.size,
    lambda x: x + 1,
    lambda x: 2 - x,
    lambda x: F.where(True, x, 1.0),
    lambda x: tl.Tensor(x) * 2,
    lambda x: tl.Tensor(x).shape,
    lambda x: F.concat([x, 3.0]),
    lambda x: tl.Tracer(x),
    repr,
    lambda x: tl.ones(2) * x,
]


@pytest.mark.parametrize("use", range(len(USES)))
@pytest.mark.parametrize(
    "shape", (7, None, "ab", (2.5,), (-3,), (2**70,), [None], len, (2,) * 100, {1: 2}), ids=str
)
def test_a_shape_that_is_none_is_refused_as_that(use: int, shape: Any) -> None:
    x = Lying()
    Lying.answers = {"shape": shape, "dtype": tl.float32, "priority": 10}
    try:
        USES[use](x)
    except (TypeError, ValueError, OverflowError) as error:
        assert str(error)
        assert "std::" not in str(error)


@pytest.mark.parametrize("what", ("shape", "dtype", "priority"))
@pytest.mark.parametrize("error", (ZeroDivisionError("mine"), KeyboardInterrupt("mine")), ids=repr)
def test_what_a_property_of_a_tensor_like_raises_comes_through(
    what: str, error: BaseException
) -> None:
    Lying.answers = {"shape": (2,), "dtype": tl.float32, "priority": 10, what: error}
    raised = 0
    for use in USES:
        try:
            use(Lying())
        except type(error) as found:
            assert found is error
            raised += 1
        except tl.TensorlikeError:
            pass  # something else is wrong, which was seen before
    assert raised >= 2


def test_what_the_attributes_of_other_operands_raise_comes_through() -> None:
    class Operand:
        @property
        def __dlpack__(self) -> Any:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        tl.ones(2) + Operand()


def test_no_object_becomes_one_of_another_class_of_the_core() -> None:
    class Raw(tl.RawTensor):
        pass

    class Shape(tl.ShapeTensor):
        pass

    class Wrapper(tl.TensorWrapper):
        pass

    class Traced(tl.Tracer):
        pass

    class Own(tl.TensorBase):
        pass

    made = [Raw([1.0]), Shape((2,)), Wrapper(1.0), Traced(tl.RawTensor([1.0])), Own()]
    for x, y in itertools.permutations(made, 2):
        with pytest.raises(TypeError):
            x.__class__ = type(y)  # type: ignore[assignment]
    for x, y in itertools.combinations((tl.RawTensor, tl.ShapeTensor, tl.TensorWrapper), 2):
        with pytest.raises(TypeError):
            type("Both", (x, y), {})


@pytest.mark.parametrize(
    "cls", (tl.RawTensor, tl.ShapeTensor, tl.TensorBase, tl.TensorWrapper, tl.Tracer, tl.dtype)
)
def test_the_core_s_classes_do_not_change(cls: type) -> None:
    with pytest.raises(TypeError):
        cls.shape = 5  # type: ignore[attr-defined]


def test_a_subclass_with_a_shape_that_is_none_has_no_length() -> None:
    class Odd(tl.Tensor):
        shape = 5  # type: ignore[assignment]

    with pytest.raises(tl.ParameterError, match="Odd: shape must be a tuple"):
        len(Odd([1.0]))


def test_every_op_refuses_too_few_and_too_many_tensors() -> None:
    """Whatever its kind: native, with a body, scalar, reduction."""
    calls: Iterator[Any] = (getattr(tl.ops, name) for name in dir(tl.ops))
    classes = [c for c in calls if isinstance(c, type) and issubclass(c, tl.ops.OpBase)]
    params = {"mode": "sum", "axis": 0, "axes": (0,), "shape": (2,), "dtype": "float32"}
    params |= {"keepdims": False, "value": 1, "fill_value": 1}
    tried = 0
    for cls in classes:
        names = [{}, *({k: v} for k, v in params.items()), params]
        names += [{"mode": "add"}, {"mode": "exp"}, {"mode": "softplus"}]
        for given in names:
            try:
                op = cls(**given)
            except (TypeError, ValueError):
                continue
            for count in (0, 1, 2, 3, 4, 5, 7, 40):
                for x in (tl.ones(2), tl.ones(2)._raw(), tl.ShapeTensor((2,)), 1.0):
                    tried += 1
                    try:
                        op(*[x] * count)
                    except (TypeError, ValueError, IndexError, OverflowError) as error:
                        assert str(error)
                        assert "std::" not in str(error)
    assert tried > 1000


class Changes:
    """Something like an array, whose reading changes another number of the list that it is in."""

    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.owner[1:] = [99.0] * 1000
        return np.zeros((), np.float32)

    def __float__(self) -> float:
        return 0.0


def _changing(is_nested: bool) -> list[Any]:
    """NumPy reads beyond the end of such a list, or what is no longer there."""
    items: list[Any] = [0.0, *range(1, 40)]
    items[0] = Changes(items)
    return [items] if is_nested else items


def _loaded_layer(is_nested: bool) -> Any:
    layer = tl.nn.Linear(40, 1)
    layer.load_state_dict({"weight": _changing(True), "bias": [0.0]}, layout="pytorch")
    weight = layer.weight.detach().mT
    return weight if is_nested else weight[0]


def _loaded_optimizer(is_nested: bool) -> Any:
    p = tl.Parameter(np.zeros((1, 40) if is_nested else 40, np.float32))
    optimizer = tl.optim.SGD([p], lr=0.1, momentum=0.9)
    (p.sum() * 1.0).backward()
    optimizer.step()
    state = optimizer.state_dict()
    name = next(name for name in state if np.size(state[name]) == 40)
    optimizer.load_state_dict({**state, name: _changing(is_nested)})
    return optimizer.state_dict()[name]


def _onnx_model(is_nested: bool) -> Any:
    pytest.importorskip("onnx")
    given = (1, 40) if is_nested else (40,)
    model = tl.export.onnx.to_model(lambda x: x * 1, inputs={"x": given})
    return tl.export.onnx.load(model)(_changing(is_nested))


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("read", [tl.tensor, _loaded_layer, _loaded_optimizer, _onnx_model])
def test_a_list_is_what_it_was_when_it_was_given(read: Any, is_nested: bool) -> None:
    found = tl.tensor(_changing(is_nested)) if read is tl.tensor else read(is_nested)
    wanted = [float(i) for i in range(40)]
    assert np.asarray(found).tolist() == ([wanted] if is_nested else wanted)
