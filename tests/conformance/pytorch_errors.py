"""PyTorch's wrong inputs, which must raise an error of ours.

Some have a meaning here. That is not believed: what we give must be PyTorch's own value once the
operands have one dtype and numbers are tensors, or `TAKEN` names the message and says why.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import tensorlike as tl

from .pytorch_arguments import MissingError, call_ours, converted, converted_options
from .pytorch_names import TAKEN
from .pytorch_report import Checked


def errors(op: Any, function: Callable[..., Any]) -> Checked:
    checked = Checked()
    for case in op.error_inputs("cpu"):
        sample = case.sample_input
        kwargs = {k: v for k, v in sample.kwargs.items() if k not in ("device", "requires_grad")}
        if "out" in kwargs or kwargs.get("layout", torch.strided) is not torch.strided:
            continue  # written in place, or sparse
        args = (sample.input, *sample.args)
        try:
            try:
                found = call_ours(op, function, args, kwargs)
            except MissingError:  # numbers, of which nothing says which arguments they are
                found = function(*converted(args), **converted_options(kwargs))
        except (tl.TensorlikeError, TypeError):
            checked.add(None, sample)
            continue
        except Exception as error:
            problem = f"an error that is not ours, {type(error).__name__}: {error}"
        else:
            if is_taken(op.name, case.error_regex) or is_extension(op, args, kwargs, found):
                continue
            problem = f"no error: {case.error_regex[:80]}"
        if checked.add(problem, sample):
            break
    return checked


def is_taken(name: str, message: str) -> bool:
    name = name.removesuffix("_copy")
    return name in TAKEN and re.search(TAKEN[name][0], message) is not None


def is_extension(op: Any, args: Any, kwargs: Any, found: Any) -> bool:
    """Whether it is PyTorch's value of the same operands in one dtype."""
    for same_args, same_kwargs in alike(args, kwargs):
        try:
            wanted = op.op(*same_args, **same_kwargs)
        except Exception:  # still wrong
            continue
        if wanted is NotImplemented:
            continue
        ours = [in_numpy(y) for y in (found if isinstance(found, (tuple, list)) else (found,))]
        theirs = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
        pairs = list(zip(ours, [np.asarray(torch.as_tensor(y)) for y in theirs], strict=False))
        if len(ours) == len(theirs) and all(
            a.shape == b.shape and np.allclose(a, b, 1e-2, 1e-2, equal_nan=True) for a, b in pairs
        ):
            return True
    return False


def in_numpy(y: Any) -> Any:
    return np.asarray(tl.astype(y, dtype="float32") if "bfloat" in str(y) else y)


def alike(args: Any, kwargs: Any) -> Iterator[Any]:
    """The same values: of one dtype, with and without the integers; halves in single precision."""
    for with_numbers, with_integers in itertools.product((False, True), (False, True)):
        read = functools.partial(_read, with_numbers)
        same, same_kwargs = [read(v) for v in args], {k: read(v) for k, v in kwargs.items()}
        chosen = {
            id(v): v.dtype for v in (*same, *same_kwargs.values())
            if isinstance(v, torch.Tensor)
            and (with_integers or v.is_floating_point() or v.is_complex())
        }  # fmt: skip
        common = functools.reduce(torch.promote_types, chosen.values(), torch.bool)
        for dtype in (common, torch.float32):

            def moved(v: Any, dtype: Any = dtype, chosen: Any = chosen) -> Any:
                return v.to(dtype) if id(v) in chosen else v

            yield [moved(v) for v in same], {k: moved(v) for k, v in same_kwargs.items()}


def _read(with_numbers: bool, value: Any) -> Any:
    if value in (torch.float16, torch.bfloat16):
        return torch.float32
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool) and with_numbers:
        return torch.tensor(value)
    return value
