"""What may be meant by a name that a module does not have: other libraries have other names."""

from __future__ import annotations

import functools
from difflib import get_close_matches
from importlib import import_module
from typing import Any

_PACKAGE = __package__.partition(".")[0]
# Where names are looked for, in this order.
_PLACES = ("", ".functional", ".functional.linalg", ".random", ".nn", ".optim", ".transforms")

# What PyTorch and JAX call otherwise, and nothing of ours is like.
_OTHERS = {
    "from_numpy": "asarray(x, copy=False)", "as_tensor": "asarray", "cat": "concat",
    "rand": "random.uniform", "randn": "random.normal", "randperm": "random.permutation",
    "PRNGKey": "random.key", "default_rng": "random.Generator", "index_select": "take",
    "take_along_dim": "take_along_axis", "scatter": "functional.put_along_axis",
    "repeat_interleave": "repeat", "movedim": "moveaxis", "bucketize": "searchsorted",
    "trapz": "functional.trapezoid", "histc": "functional.histogram", "is_tensor": "TensorBase",
    "set_grad_enabled": "enable_grad or no_grad", "inference_mode": "no_grad",
    "fori_loop": "functional.while_loop", "view_as_real": "real and imag",
}  # fmt: skip


class MissingName(AttributeError):
    """A module has no attribute of a name. What may be meant is looked for when its text is asked.

    Who only asks whether there is such an attribute does not wait for that.
    """

    def __init__(self, module: str, name: str) -> None:
        """Of `module.name`."""
        super().__init__(name=name)
        self._place = module, name

    @functools.cached_property
    def _text(self) -> str:
        module, name = self._place
        text = f"module '{module}' has no attribute '{name}'"
        meant = None if name.startswith("_") else _meant(name)
        return text if meant is None else f"{text}; use {meant}"

    def __str__(self) -> str:
        """It says where the name is, or one like it."""
        return self._text

    def __repr__(self) -> str:
        """As of any such error."""
        return f"AttributeError({self._text!r})"

    @property
    def args(self) -> tuple[str]:  # type: ignore[override]
        """The text alone."""
        return (self._text,)

    def __reduce__(self) -> Any:
        """By what it was made of."""
        return missing, self._place


# In tracebacks it is what it is to all others.
MissingName.__module__, MissingName.__qualname__ = "builtins", "AttributeError"


def missing(module: str, name: str) -> AttributeError:
    """The error of `module.name`, which is not there; it says where the name is, or one like it.

    Example:
        >>> import tensorlike as tl
        >>> tl.cumsum
        Traceback (most recent call last):
        AttributeError: module 'tensorlike' has no attribute 'cumsum'; use tensorlike.cumulative_sum
    """
    return MissingName(module, name)


def _meant(name: str) -> str | None:
    """What to write in its place; None where nothing is like it."""
    if name in _OTHERS:
        return f"{_PACKAGE}.{_OTHERS[name]}"
    names = _public()
    if name in names:
        return names[name]
    from .apply_numpy import our_name
    from .tensor import Tensor

    ours = our_name(name)
    if ours is not None and ours in names:
        return names[ours]
    if callable(getattr(Tensor, name, None)):
        return f"the method of tensors: x.{name}(...)"
    close = get_close_matches(name[:80], names, n=1, cutoff=0.85)
    return names[close[0]] if close else None


def _public() -> dict[str, str]:
    """All names, and where each is to be found."""
    found: dict[str, str] = {}
    for place in _PLACES:
        for name in dir(import_module(_PACKAGE + place)):
            if not name.startswith("_"):
                found.setdefault(name, f"{_PACKAGE}{place}.{name}")
    return found
