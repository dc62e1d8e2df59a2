"""What functional calls say when they are called wrongly: the function, the argument, the fix."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from support.attr_values import refused
from support.cases import TESTED_BY_INDEXING, cases_of
from support.declarations import OPS, REDUCTIONS, SCALARS, function_of, inputs_of, name_of

import tensorlike as tl
from tensorlike import _C
from tensorlike.functional import generated
from tensorlike.opdecl.compiler.attr_types import ATTR_TYPES
from tensorlike.opdecl.compiler.model import Entry

ENTRIES: list[Entry] = [*SCALARS, *REDUCTIONS, *OPS]
NOT_TENSORS = [None, "a", b"a", object(), {"a": 1}, len]
DOCUMENTED = (tl.TensorlikeError, TypeError, ValueError, IndexError, OverflowError, MemoryError)


def arguments(entry: Entry) -> tuple[list[Any], dict[str, Any]]:
    """Tensors and attributes that the call takes."""
    if entry.function in TESTED_BY_INDEXING:
        items = (0, 1, 0, 0)
        return [tl.tensor([1.0, 2.0]), tl.tensor(3.0)][: len(entry.args)], {"items": items}
    if entry in OPS:
        case = cases_of(entry)[0]  # type: ignore[arg-type]
        return [tl.tensor(x) for x in case.inputs], dict(case.attrs)
    dtype = "int64" if entry.args[0].category.rank < 2 else "float32"
    rng = np.random.default_rng(1)
    return [tl.tensor(x) for x in inputs_of(entry, [(2,)] * len(entry.args), dtype, rng)], {}


def is_variadic(entry: Entry) -> bool:
    return bool(entry.args) and entry.args[-1].is_variadic


def signature(entry: Entry) -> str:
    return function_of(entry).text_signature


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_the_signature_is_that_of_the_declaration(entry: Entry) -> None:
    names = []
    for arg in entry.args:
        default = "" if arg.default is None else f"={arg.default}"
        default = "=None" if arg.is_optional else default
        names.append("*" * (arg.is_variadic and not arg.is_optional) + arg.name + default)
    names += [a.name if a.is_required else f"{a.name}={a.default!r}" for a in entry.attrs]
    assert signature(entry) == f"{entry.function}({', '.join(names)})"
    parameters = inspect.signature(function_of(entry)).parameters
    assert list(parameters)[-len(entry.attrs) or len(parameters) :] == [a.name for a in entry.attrs]


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_a_call_with_too_little_or_too_much_is_refused(entry: Entry) -> None:
    call = getattr(generated, entry.function)  # without what extends it
    tensors, attrs = arguments(entry)
    usage = re.escape(f"; the call is {signature(entry)}.")
    name = re.escape(entry.function)
    with pytest.raises(tl.ParameterError, match=f"^{name}: unknown argument 'zzz'{usage}$"):
        call(*tensors, **attrs, zzz=1)
    if not is_variadic(entry):
        positional = [*tensors, *(attrs.get(a.name, a.default) for a in entry.attrs)]
        count = len(positional) + 1
        with pytest.raises(
            tl.ParameterError, match=f"^{name}: too many arguments: got {count}{usage}$"
        ):
            call(*positional, 1)
    if tensors and not is_variadic(entry):
        needed = [arg.name for arg in entry.args if arg.default is None]
        with pytest.raises(
            tl.ParameterError, match=f"^{name}: the argument '{needed[-1]}' is missing{usage}$"
        ):
            call(*tensors[: len(needed) - 1], **attrs)
        first = entry.args[0].name
        with pytest.raises(tl.ParameterError, match=f"^{name}: '{first}' was given twice{usage}$"):
            call(*tensors, **attrs, **{first: tensors[0]})
    for attr in entry.attrs:
        if attr.is_required:
            rest = {key: value for key, value in attrs.items() if key != attr.name}
            with pytest.raises(tl.ParameterError, match=f"^{name}: the argument '{attr.name}' is"):
                call(*tensors, **rest)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.args], ids=name_of)
def test_what_is_no_tensor_is_refused_by_name(entry: Entry) -> None:
    tensors, attrs = arguments(entry)
    for position in range(len(tensors)):
        arg = entry.args[min(position, len(entry.args) - 1)]
        for wrong in NOT_TENSORS:
            if wrong is None and arg.is_optional:
                continue
            changed = [*tensors[:position], wrong, *tensors[position + 1 :]]
            with pytest.raises((tl.ParameterError, tl.DTypeError)) as caught:
                function_of(entry)(*changed, **attrs)
            text = str(caught.value)
            assert type(wrong).__name__ in text
            if wrong is None or isinstance(wrong, (str, bytes)):
                assert re.match(
                    rf"{entry.function}: {arg.name} must be a tensor or data; got ", text
                )


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.attrs], ids=name_of)
def test_attributes_of_the_wrong_type_are_refused_by_name(entry: Entry) -> None:
    tensors, attrs = arguments(entry)
    for attr in entry.attrs:
        for wrong in refused(ATTR_TYPES[attr.type]):
            if wrong is None and not attr.is_required and attr.default is None:
                continue
            with pytest.raises(DOCUMENTED) as caught:
                function_of(entry)(*tensors, **attrs | {attr.name: wrong})
            pattern = rf"(?i)({entry.function}|{entry.name}): {attr.name} must (be|fit) .*; got "
            assert re.match(pattern, str(caught.value)), (attr.name, wrong, str(caught.value))


@pytest.mark.parametrize("entry", [e for e in SCALARS if len(e.args) > 1], ids=name_of)
def test_shapes_that_do_not_broadcast_are_shown(entry: Entry) -> None:
    dtype = "int64" if entry.args[0].category.rank < 2 else "float32"
    shapes: list[tuple[int, ...]] = [(2, 3), *[(4,)] * (len(entry.args) - 1)]
    tensors = [tl.tensor(x) for x in inputs_of(entry, shapes, dtype, np.random.default_rng(2))]
    with pytest.raises(tl.ShapeError) as caught:
        function_of(entry)(*tensors)
    assert str(caught.value).startswith(f"{entry.name}: ")
    assert "(2, 3)" in str(caught.value)
    assert "(4,)" in str(caught.value)


@pytest.mark.parametrize("entry", [*SCALARS, *REDUCTIONS], ids=name_of)
def test_ops_count_their_tensors(entry: Entry) -> None:
    cls = tl.ops.Elemwise if entry in SCALARS else tl.ops.Reduce
    op = cls(mode=entry.name)
    wanted = len(entry.args)
    for count in (wanted + 1, wanted - 1):
        if count == 0:
            continue
        with pytest.raises(tl.DispatchError) as caught:
            op(*[tl.RawTensor([1.0])] * count)
        plural = "tensor" if wanted == 1 else "tensors"
        assert str(caught.value) == f"{entry.name}: takes {wanted} {plural}; got {count}."
    with pytest.raises(tl.DispatchError):
        op()


@pytest.mark.parametrize("cls", [tl.ops.Elemwise, tl.ops.Reduce], ids=lambda cls: cls.__name__)
def test_an_unknown_mode_is_refused_with_what_was_meant(cls: Any) -> None:
    known = "sqrt" if cls is tl.ops.Elemwise else "sumsq"
    with pytest.raises(
        tl.ParameterError, match=f"mode must be a declared .*{known}x.*did you mean"
    ):
        cls(mode=f"{known}x")


def test_a_nonexistent_function_is_refused() -> None:
    with pytest.raises((tl.ParameterError, tl.DispatchError, KeyError, AttributeError, ValueError)):
        _C.Function("no_such_function")
    assert sorted(_C.function_names())


def test_an_extended_call_says_what_it_takes() -> None:
    usage = re.escape("; the call is round(x, decimals=0).")
    with pytest.raises(tl.ParameterError, match=f"^round: unknown argument 'zzz'{usage}$"):
        tl.round(tl.ones(2), zzz=1)
    with pytest.raises(tl.ParameterError, match=f"^round: too many positional arguments{usage}$"):
        tl.round(tl.ones(2), 1, 2)
