"""PyTorch's database of operators, run on our functions: values, gradients, errors.

A check is an operator with a dtype, all of whose samples must give PyTorch's value; an operator
whose samples must have PyTorch's gradients in double precision, real and complex; an operator whose
wrong inputs must raise an error of ours. A check none of whose samples is compared does not count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import tensorlike as tl
from tensorlike import functional as F

from .pytorch_arguments import MissingError, as_ours, call_ours, ours_of
from .pytorch_errors import errors
from .pytorch_names import (
    BUT_FOR_SIGNS,
    OTHER_GRADIENTS,
    OTHER_VALUES,
    RANDOM,
    REFUSED,
    UNSET,
    VALUES_ALONE,
    reason,
)
from .pytorch_report import Checked, Report

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.int64)
SAMPLES, GRADIENTS = 1000, 200
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-6, "complex128": 1e-6}


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


def samples_of(op: Any, dtype: Any, count: int, **options: Any) -> list[Any]:
    torch.manual_seed(0)
    made = op.sample_inputs("cpu", dtype, **options)
    return list(itertools.islice(made, count))


def is_random(op: Any, sample: Any) -> bool:
    """Whether PyTorch's result depends on the numbers that it draws."""
    if op.name == "nn.functional.scaled_dot_product_attention":
        return sample.kwargs.get("dropout_p", 0.0) > 0
    if op.name == "nn.functional.multi_head_attention_forward":
        return sample.kwargs.get("training", True) and sample.args[9] > 0
    if op.name in ("svd_lowrank", "pca_lowrank"):  # exact where the rank is small
        return sample.kwargs.get("M") is not None
    is_certain = sample.kwargs.get("training") is False or sample.kwargs.get("p") in (0.0, 1.0)
    if op.name == "nn.functional.rrelu":
        is_certain = not sample.kwargs.get("training", False)
    return op.name in UNSET or (op.name in RANDOM and not is_certain)


def problem_of(error: Exception) -> str:
    text = str(error).split("\n")[0][:150]
    return text if isinstance(error, MissingError) else f"{type(error).__name__}: {text}"


def values(op: Any, function: Any, dtype: Any) -> Checked:
    name = str(dtype).removeprefix("torch.")
    checked = Checked()
    for sample in samples_of(op, dtype, SAMPLES):
        args = (sample.input, *sample.args)
        wanted = compared(op, op.op(*args, **sample.kwargs))
        try:
            found = compared(op, call_ours(op, function, args, sample.kwargs))
            problem = (differ_in_kind if is_random(op, sample) else differ)(found, wanted, name)
            if problem is not None and name in ("float32", "complex64"):
                problem = differ(found, in_double(op, sample), name) and problem
        except Exception as error:  # whatever it is, it is not the value
            problem = problem_of(error)
        if checked.add(problem, sample, REFUSED):
            break
    return checked


def in_double(op: Any, sample: Any) -> Any:
    """PyTorch's value in double precision, which decides where that in single precision is off."""

    def wide(x: Any) -> Any:
        return x.to(torch.promote_types(x.dtype, torch.float64)) if is_fraction(x) else x

    def is_fraction(x: Any) -> bool:
        return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())

    wider = sample.transform(wide)
    return compared(op, op.op(wider.input, *wider.args, **wider.kwargs))


def differ_in_kind(found: Any, wanted: Any, _: str) -> str | None:
    ours = [(a.shape, a.dtype) for a in map(as_array, flat(found))]
    theirs = [(a.shape, a.dtype) for a in map(as_array, flat(wanted))]
    return None if ours == theirs else f"shapes and dtypes {ours}, not {theirs}"


def compared(op: Any, results: Any) -> Any:
    """Of what a call gives, what is compared."""
    if op.name in VALUES_ALONE and isinstance(results, tuple):
        return results[0]
    if op.name in ("svd", "linalg.svd"):  # without the vectors that nothing determines
        u, s, v = results
        count = s.shape[-1]
        results = (u[..., :count], s, v[..., :count] if op.name == "svd" else v[..., :count, :])
    if op.name in BUT_FOR_SIGNS:
        return (*(abs(y) for y in results), composed(op, *results))
    return results


def composed(op: Any, *results: Any) -> Any:
    """The matrix that its factors make, whatever their signs are."""
    if len(results) == 3:
        u, s, v = results
        v = v if op.name == "linalg.svd" else adjoint(v)
        return (u * s[..., None, :]) @ v
    if op.name == "linalg.eigh":
        w, v = results
        return (v * w[..., None, :]) @ adjoint(v)
    w, v = results
    inverse = torch.linalg.inv if isinstance(v, torch.Tensor) else tl.linalg.inv
    return (v * w[..., None, :]) @ inverse(v)


def adjoint(x: Any) -> Any:
    return x.mH if isinstance(x, torch.Tensor) else tl.conj(x.mT) if is_complex(x) else x.mT


def is_complex(x: Any) -> bool:
    return x.dtype.kind == "complex"


def slopes(op: Any, function: Any, dtype: Any) -> Checked:
    checked = Checked()
    for sample in samples_of(op, dtype, GRADIENTS, requires_grad=True):
        args = (sample.input, *sample.args)
        leaves = [a for a in flat(args) if isinstance(a, torch.Tensor) and a.requires_grad]
        leaves += [
            v for v in sample.kwargs.values() if isinstance(v, torch.Tensor) and v.requires_grad
        ]
        if not leaves or is_random(op, sample):
            continue
        results = [
            y for y in flat(compared(op, op.op(*args, **sample.kwargs)))
            if isinstance(y, torch.Tensor) and y.requires_grad
        ]  # fmt: skip
        if not results:
            continue
        total = sum((weights(y.shape) * parts_of(y)).sum() for y in results)
        wanted = torch.autograd.grad(total, leaves, allow_unused=True)
        try:
            problem = differ(*gradients(op, function, sample, args, leaves, wanted), "float64")
        except Exception as error:
            problem = problem_of(error)
        if checked.add(problem, sample, REFUSED):
            break
    return checked


def parts_of(y: Any) -> Any:
    """A real number of each element, in which both parts of a complex one count."""
    if isinstance(y, torch.Tensor):
        return y.real + 0.7 * y.imag if y.is_complex() else y
    return F.real(y) + 0.7 * F.imag(y) if is_complex(y) else y


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
    results = [y for y in flat(found) if getattr(y, "requires_grad", False)]
    total = sum(
        (F.sum(tl.tensor(weights(y.shape).numpy()) * parts_of(y)) for y in results),
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


def run(database: list[Any]) -> Report:
    report = Report()
    for op in database:
        label = f"{op.name} {op.variant_test_name}".strip()
        if reason(label):
            continue
        function = ours_of(op.name)

        def note(kind: str, name: str, check: Callable[..., Checked], *args: Any) -> None:
            if function is None:  # noqa: B023
                report.note(kind, name, "missing name")
                return
            checked = check(op, function, *args)  # noqa: B023
            if checked.count:
                report.note(kind, name, checked.problem)

        for dtype in DTYPES:
            name = f"{label} {str(dtype).removeprefix('torch.')}"
            if op.supports_dtype(dtype, "cpu") and name not in OTHER_VALUES:
                note("value", name, values, dtype)
        for dtype in (torch.float64, torch.complex128):
            has_gradient = op.supports_autograd and op.supports_dtype(dtype, "cpu")
            name = f"{label} {str(dtype).removeprefix('torch.')}"
            if has_gradient and not {label, name} & OTHER_GRADIENTS:
                note("gradient", name, slopes, dtype)
        if op.error_inputs_func is not None:
            note("error", label, errors)
    return report
