"""What may be meant by a name that a module does not have: other libraries have other names."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

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


def missing(module: str, name: str) -> AttributeError:
    """The error of `module.name`, which is not there; it says where the name is, or one like it.

    Example:
        >>> import tensorlike as tl
        >>> tl.cumsum
        Traceback (most recent call last):
        AttributeError: module 'tensorlike' has no attribute 'cumsum'; use tensorlike.cumulative_sum
    """
    text = f"module '{module}' has no attribute '{name}'"
    meant = None if name.startswith("_") else _meant(name)
    return AttributeError(text if meant is None else f"{text}; use {meant}", name=name)


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
