"""PyTorch's database of operators, run on our functions: values, gradients, errors.

A check is an operator with a dtype, all of whose samples must give PyTorch's value; an operator
whose samples must have PyTorch's gradients in double precision; an operator whose wrong inputs must
raise. Numbers without dimensions have no axis here, as the Array API has it; PyTorch's axis 0 of
them is left out.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import tensorlike as tl
from tensorlike import functional as F

from .pytorch_names import (
    BUT_FOR_SIGNS,
    OTHER_GRADIENTS,
    OTHER_VALUES,
    REFUSED,
    RENAMED,
    TAKEN,
    VALUES_ALONE,
    reason,
)
from .pytorch_report import Report
from .pytorch_table import CALLS

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.int64)
SAMPLES, GRADIENTS = 60, 15
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-6, "complex128": 1e-6}


class MissingError(Exception):
    """We have no such function, or it has no such option."""


def ours_of(name: str) -> Callable[..., Any] | None:
    if name in CALLS:
        return CALLS[name]
    *room, last = name.split(".")
    rooms: list[Any] = [F, tl.linalg]
    if room and room[-1] != "functional":
        rooms.insert(0, getattr(tl, room[-1], None) or getattr(F, room[-1], None))
    for place in rooms:
        if place is not None and callable(getattr(place, last, None)):
            return getattr(place, last)  # type: ignore[no-any-return]
    return None


def parameters(function: Callable[..., Any]) -> list[tuple[str, bool]]:
    """The names of the parameters, and whether they can be given by position only."""
    text = getattr(function, "text_signature", None)
    if text is None:
        found = inspect.signature(function).parameters.values()
        return [(p.name, p.kind is p.POSITIONAL_ONLY) for p in found]
    inner = text[text.index("(") + 1 : -1]
    parts = re.findall(r"(\*?\w+)(?:=|,|$)", re.sub(r"=\([^)]*\)|='[^']*'", "=0", inner))
    return [(part, False) for part in parts if not part.isdigit()]


def fits(value: Any, kind: str) -> bool:
    if kind.startswith("Optional"):
        return value is None or fits(value, kind[9:-1])
    if kind == "Tensor":
        return isinstance(value, torch.Tensor)
    if kind.startswith("List"):
        return isinstance(value, (list, tuple, int, torch.Size))
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("float", "number", "Scalar"):
        return isinstance(value, (int, float, complex))
    return True


def named_arguments(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """PyTorch's names of what a sample gives, the values, and their defaults."""
    target: Any = torch
    for part in op.name.split("."):
        target = getattr(target, part, None)
    if inspect.isfunction(target) or inspect.isfunction(getattr(target, "__wrapped__", None)):
        signature = inspect.signature(target)
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            yield name, value, signature.parameters[name].default
        return
    aten = re.sub(r"^nn\.functional\.", "", op.aten_name or op.name).replace(".", "_")
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{aten}")
    for schema in schemas:
        own = schema.arguments
        places = [a for a in own if not a.kwarg_only]
        if len(args) > len(places) or not kwargs.keys() <= {a.name for a in own}:
            continue
        given = dict(zip((a.name for a in places), args, strict=False)) | kwargs
        known = {a.name: a for a in own}
        if not all(fits(value, str(known[name].type)) for name, value in given.items()):
            continue
        if any(a.default_value is None and a.name not in given and "Optional" not in str(a.type)
               and not a.has_default_value() for a in own):  # fmt: skip
            continue
        for name, value in given.items():
            yield name, value, known[name].default_value
        return
    raise MissingError(f"arguments of {op.name} are not known")


def call_ours(
    op: Any,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    made: Callable[[Any], Any] | None = None,
) -> Any:
    """What our function gives; `made` makes tensors of PyTorch's tensors."""

    def convert(value: Any) -> Any:
        return converted(value, made)

    if op.name in CALLS:
        return function(*[convert(a) for a in args], **{k: convert(v) for k, v in kwargs.items()})
    own = parameters(function)
    names = [name for name, _ in own]
    by_position = {name for name, only in own if only}
    given: dict[str, Any] = {}
    free = [name for name in names if name not in ("self",)]
    stars: list[Any] = []
    for name, value, default in named_arguments(op, args, kwargs):
        target = RENAMED.get(name, name)
        target = name if name in names else target
        is_input = isinstance(value, (torch.Tensor, list, tuple, torch.Size)) or name in (
            "other",
            "exponent",
            "n",
        )
        if target not in names and is_input:
            left = [n for n in free if n not in given]
            if left and left[0].startswith("*"):
                stars.append(convert(value))
                continue
            if not left:
                raise MissingError(f"missing option {name}")
            target = left[0]
        if target not in names:
            if value is None or value == default:
                continue
            raise MissingError(f"missing option {name}")
        given[target] = convert(value)
    ahead = []
    for name in names:
        if name not in by_position or name not in given:
            break
        ahead.append(given.pop(name))
    return function(*ahead, *stars, **given)


def converted(value: Any, made: Callable[[Any], Any] | None = None) -> Any:
    if isinstance(value, torch.Tensor):
        return (made or as_ours)(value)
    if isinstance(value, (list, tuple)):
        parts = [converted(part, made) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return value


def as_ours(value: torch.Tensor, **options: Any) -> Any:
    array = value.detach().resolve_conj().resolve_neg()
    if array.dtype == torch.bfloat16:
        return F.astype(tl.tensor(array.float().numpy()), dtype="bfloat16")
    return tl.tensor(array.numpy().copy(), **options)


def flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def as_array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy(force=True)
    if getattr(getattr(value, "dtype", None), "name", "") == "bfloat16":
        value = F.astype(value, dtype="float32")
    return np.asarray(value)


def differ(found: Any, wanted: Any, dtype: str) -> str | None:
    ours, theirs = flat(found), flat(wanted)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for a, b in zip(map(as_array, ours), map(as_array, theirs), strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape}, not {b.shape}"
        bound = TOLERANCE.get(dtype, 2e-4)
        with np.errstate(all="ignore"):
            if not np.allclose(a, b, bound, bound, equal_nan=True):
                return f"value {a.ravel()[:4]}, not {b.ravel()[:4]}"
    return None


def is_axis_of_number(sample: Any) -> bool:
    """Whether it names an axis of a number without dimensions."""
    x = sample.input
    if not isinstance(x, torch.Tensor) or x.ndim:
        return False
    given = (*sample.args, sample.kwargs.get("dim"), sample.kwargs.get("dims"))
    return any(isinstance(v, (int, tuple, list)) and not isinstance(v, bool) for v in given)


def samples_of(op: Any, dtype: Any, count: int, **options: Any) -> list[Any]:
    torch.manual_seed(0)
    made = op.sample_inputs("cpu", dtype, **options)
    return [s for s in itertools.islice(made, count) if not is_axis_of_number(s)]


def problem_of(error: Exception) -> str:
    text = str(error).split("\n")[0][:150]
    return text if isinstance(error, MissingError) else f"{type(error).__name__}: {text}"


def value_problem(op: Any, function: Any, dtype: Any) -> str | None:
    name = str(dtype).removeprefix("torch.")
    for sample in samples_of(op, dtype, SAMPLES):
        args = (sample.input, *sample.args)
        wanted = compared(op, op.op(*args, **sample.kwargs))
        try:
            found = call_ours(op, function, args, sample.kwargs)
            if isinstance(found, tuple):
                found = found[0] if op.name in VALUES_ALONE else found
            problem = differ(compared(op, found), wanted, name)
        except Exception as error:  # whatever it is, it is not the value
            problem = problem_of(error)
        if problem is not None and not REFUSED.search(problem):
            return f"{problem} [{shown(args)} {sample.kwargs}]"
    return None


def compared(op: Any, results: Any) -> Any:
    """Of what a call gives, what is compared."""
    if op.name in VALUES_ALONE and isinstance(results, tuple):
        return results[0]
    if op.name in ("svd", "linalg.svd"):  # without the vectors that nothing determines
        u, s, v = results
        count = s.shape[-1]
        results = (u[..., :count], s, v[..., :count] if op.name == "svd" else v[..., :count, :])
    if op.name in BUT_FOR_SIGNS:
        return tuple(abs(y) if hasattr(y, "__abs__") else F.abs(y) for y in results)
    return results


def shown(args: tuple[Any, ...]) -> str:
    parts = (str(tuple(a.shape)) if isinstance(a, torch.Tensor) else str(a)[:40] for a in args)
    return ", ".join(parts)


def gradient_problem(op: Any, function: Any) -> str | None:
    for sample in samples_of(op, torch.float64, GRADIENTS, requires_grad=True):
        args = (sample.input, *sample.args)
        leaves = [a for a in flat(args) if isinstance(a, torch.Tensor) and a.requires_grad]
        leaves += [
            v for v in sample.kwargs.values() if isinstance(v, torch.Tensor) and v.requires_grad
        ]
        if not leaves:
            continue
        results = [
            y for y in flat(compared(op, op.op(*args, **sample.kwargs)))
            if isinstance(y, torch.Tensor) and y.requires_grad and y.is_floating_point()
        ]  # fmt: skip
        if not results:
            continue
        wanted = torch.autograd.grad(
            sum((weights(y.shape) * y).sum() for y in results), leaves, allow_unused=True
        )
        try:
            problem = differ(*gradients(op, function, sample, args, leaves, wanted), "float64")
        except Exception as error:
            problem = problem_of(error)
        if problem is not None and not REFUSED.search(problem):
            return f"{problem} [{shown(args)} {sample.kwargs}]"
    return None


def weights(shape: Any) -> torch.Tensor:
    """Different ones for each element of a result."""
    count = int(np.prod(tuple(shape)))
    return torch.linspace(0.5, 1.5, max(1, count), dtype=torch.float64)[:count].reshape(shape)


def gradients(op: Any, function: Any, sample: Any, args: Any, leaves: Any, wanted: Any) -> Any:
    """Ours and PyTorch's, where it has one."""
    replaced: dict[int, Any] = {}

    def made(value: torch.Tensor) -> Any:
        if not any(value is leaf for leaf in leaves):
            return as_ours(value)
        return replaced.setdefault(id(value), as_ours(value, requires_grad=True))

    found = compared(op, call_ours(op, function, args, sample.kwargs, made))
    results = [
        y for y in flat(found) if getattr(y, "requires_grad", False) and y.dtype.kind == "floating"
    ]
    total = sum(
        (F.sum(tl.tensor(weights(y.shape).numpy()) * y) for y in results),
        tl.tensor(0.0, dtype="float64"),
    )
    if total.requires_grad:
        total.backward()
    ours, theirs = [], []
    for leaf, gradient in zip(leaves, wanted, strict=True):
        own = replaced.get(id(leaf))
        ours.append(np.zeros(tuple(leaf.shape)) if own is None or own.grad is None else own.grad)
        theirs.append(torch.zeros_like(leaf) if gradient is None else gradient)
    return ours, theirs


def error_problem(op: Any, function: Any) -> str | None:
    for case in op.error_inputs("cpu"):
        sample = case.sample_input
        given = {"out", "device", "layout", "generator"} & sample.kwargs.keys()
        args = (sample.input, *sample.args)
        is_number = not isinstance(sample.input, (torch.Tensor, list, tuple))
        if given or is_number or is_axis_of_number(sample) or TAKEN.search(case.error_regex):
            continue
        try:
            call_ours(op, function, args, sample.kwargs)
        except MissingError as error:
            return str(error)
        except Exception:
            continue
        return f"no error: {case.error_regex[:80]} [{shown(args)} {sample.kwargs}]"
    return None


def run(database: list[Any]) -> Report:
    report = Report()
    for op in database:
        if reason(op.name):
            continue
        label = f"{op.name} {op.variant_test_name}".strip()
        function = ours_of(op.name)
        for dtype in DTYPES:
            if op.supports_dtype(dtype, "cpu"):
                check = f"{label} {str(dtype).removeprefix('torch.')}"
                if check in OTHER_VALUES:
                    continue
                report.note(
                    "value",
                    check,
                    "missing name" if function is None else value_problem(op, function, dtype),
                )
        has_gradient = op.supports_autograd and op.supports_dtype(torch.float64, "cpu")
        if has_gradient and label not in OTHER_GRADIENTS:
            report.note(
                "gradient",
                label,
                "missing name" if function is None else gradient_problem(op, function),
            )
        if op.error_inputs_func is not None:
            report.note(
                "error", label, "missing name" if function is None else error_problem(op, function)
            )
    return report
