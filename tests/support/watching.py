"""What a call may not change, and what its error must say."""

from __future__ import annotations

import gc
import re
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import _C
from tensorlike.imperative import default_stream

# Texts that do not name what was called, and why that is right.
NAMELESS: dict[str, str] = {
    r"^literal: ": "a number is read beside tensors, before any op is there",
    r"^tensor: |^as_raw_tensor: ": "data become a tensor first, as tl.tensor says",
    r"^ShapeTensor: |^RawTensor: ": "a part is made, of what was given for it",
    r"^(Like|Liar|ForeignValue|Carrier|Plain|Array)\b": "a tensor-like is told of itself",
    r"^dtype: |^device: |^shape: ": "these are read for all calls alike",
    r"^apply: ": "tl.apply of what is no op",
    r"^memory: ": "memory ends anywhere",
    r"^a value is needed": "a tensor-like without elements is told of itself",
    r"^requires_grad: ": "what a constructor is asked for",
    r"^numpy: ": "NumPy asks for the elements, in whatever function",
    r"could not be had|^Unable to allocate": "memory ends anywhere",
    r"^(vjp|jvp|grad|backward): ": "the other transforms are made of these",
    r"^item: |only (a tensor with one element|an? integer)": "a tensor stands for a number",
    r"__init__\(\) (takes|got|missing)|positional argument": "Python's own, of a signature",
    r"^Broadcast: |^(add|multiply|subtract): ": "parameters meet as operands",
    r"\bmine\b": "an error of the value's own",
    r"a function of the user's": "an error of the function's own",
}


def live(known: Sequence[Any] = ()) -> int:
    """Tensor-likes that cycle collection knows: those that Python code could keep.

    Args:
        known: of which it is known who keeps them.
    """
    gc.collect()
    others = set(map(id, known))
    things = (thing for thing in gc.get_objects() if id(thing) not in others)
    return sum(isinstance(thing, tl.TensorBase) for thing in things)


def state() -> dict[str, Any]:
    """What no call may change, whether it works or not."""
    return {
        "engine options": tl.engine.options(),
        "no_grad": _C.paused_level(),
        "threads": tl.num_threads(),
        "memory's limit": tl.memory.stats()["limit"],
        "waiting ops": _C.waiting_ops(),
    }


def drawn() -> tuple[int, int]:
    """Where the process's random numbers are."""
    return default_stream.state()


def names_what_was_called(name: str, text: str) -> bool:
    """Whether the text of an error says which public call it is about.

    A layer is a call of its op, as `apply` is: where that refuses, its name is enough.
    """
    if name.endswith(("__call__", "functional_call", "apply")) and re.match(r"\w+: ", text):
        return True
    words = [word for word in name.split(".") if word and word != "__call__"]
    words = words[-2:] if len(words) > 1 and words[-2][0].isupper() else words[-1:]
    words = [word for word in words if word != "Tensor"] or words
    flat = _flat(text)
    return any(_flat(word) in flat for word in words) or any(
        re.search(pattern, text) for pattern in NAMELESS
    )


def is_of_a_given_function(error: BaseException) -> bool:
    """Whether a function that the call was given raised it, or Python inside of that."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = frame.tb_frame.f_globals.get("__name__", "") if frame is not None else ""
    is_caller = frame is not None and frame.tb_frame.f_code.co_name in ("attempt", "__call__")
    return not is_caller and module.partition(".")[0] not in ("tensorlike", "numpy", "opt_einsum")


def has_a_frame_of_ours(error: BaseException) -> bool:
    """Whether it came through the package: from what a call was given, not from what was called."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(f.f_globals.get("__name__", "").startswith("tensorlike") for f, _ in frames)


def _flat(text: str) -> str:
    return text.lower().replace("_", "").replace(" ", "")


def contents(values: Iterator[Any]) -> list[Any]:
    """The elements of tensors and arrays, and the gradients of leaves."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray) and value.dtype != object:
            found.append(value.tobytes())
        elif isinstance(value, tl.Tensor) and isinstance(value.detach().__wrapped__, tl.RawTensor):
            found.append((value.shape, repr(value.detach()), repr(value.grad)))
    return found
