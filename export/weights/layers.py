"""load_weights, save_weights: weights in files of others into our layers, and the other way."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import _C
from ...imperative.arrays import steady
from ...imperative.naming import named
from ...inspection.files import path_of
from ...nn import Layer
from ...nn.state import shapes
from .entries import Weights
from .names import Names, renamed
from .reading import read_weights


class Loaded(NamedTuple):
    """What did not fit in a load that was not strict.

    Attributes:
        missing: names of the layer that the file has not.
        surplus: names of the file, as they are there, that the layer has not.
    """

    missing: tuple[str, ...]
    surplus: tuple[str, ...]


@named
def load_weights(
    layer: Layer,
    source: str | os.PathLike[str] | Mapping[str, Any],
    names: Names = None,
    *,
    strict: bool = True,
    layout: str = "pytorch",
) -> Loaded:
    """Sets a layer's parameters and buffers from a file: all, or, where one cannot be, none.

    Args:
        layer: gets the weights.
        source: what `read_weights` reads, or a mapping of names to arrays.
        names: the layer's name for each of the file's: a function; a dict of prefixes, of which the
            longest counts; or pairs of a pattern (of `re`) and what takes its place, one after the
            other. None in the place of a name leaves a tensor out.
        strict: whether all names of both must meet.
        layout: "pytorch": weights of `Linear` are (out, in), as nearly all files have them;
            "tensorlike": they lie as in `Layer.state_dict`.

    Returns:
        The names that did not meet; none where `strict`.

    Raises:
        ArgumentError: names are missing or left over (when strict), or shapes differ: all at once.
        ParameterError: an argument is of another type.

    Example:
        >>> import numpy as np
        >>> import tensorlike as tl
        >>> layer = tl.nn.Linear(2, 3, bias=False)
        >>> theirs = {"encoder.dense.weight": np.ones((3, 2)), "version": np.array(1)}
        >>> tl.export.load_weights(layer, theirs, {"encoder.dense.": "", "version": None})
        Loaded(missing=(), surplus=())
        >>> layer.weight.shape
        (2, 3)
    """
    if not isinstance(layer, Layer):
        raise _C.ParameterError(
            "must be a layer", op="load_weights", argument="layer", got=type(layer).__name__
        )
    weights = source if isinstance(source, Mapping) else read_weights(source)
    theirs = renamed("load_weights", weights, names)
    own = shapes(layer, layout)
    missing = tuple(name for name in own if name not in theirs)
    marks = () if layout == "pytorch" else tuple(f"{name}.layout" for name in own)
    surplus = tuple(old for new, old in theirs.items() if new not in own and new not in marks)
    others = [
        f"{name} {_shape(weights, theirs[name])} instead of {shape}"
        for name, shape in own.items()
        if name in theirs and _shape(weights, theirs[name]) != shape
    ]
    if others or (strict and (missing or surplus)):
        raise _C.ArgumentError(
            "must have the layer's names and shapes", op="load_weights", argument="source",
            got=_listed(missing if strict else (), surplus if strict else (), others),
            fix="give names, a map of the file's names to the layer's",
        )  # fmt: skip
    state = {name: weights[theirs[name]] for name in (*own, *marks) if name in theirs}
    layer.load_state_dict(state, strict=strict, layout=layout)
    return Loaded(missing, surplus)


@named
def save_weights(
    layer: Layer, path: str | os.PathLike[str], names: Names = None, *, layout: str = "pytorch"
) -> None:
    """Writes a layer's parameters and buffers as a file of safetensors.

    The file is there when it is whole: it is written beside its place, and put there then.

    Args:
        layer: whose weights.
        path: the file.
        names: the file's name for each of the layer's; see `load_weights`.
        layout: "pytorch": weights of `Linear` are (out, in); "tensorlike": as `Layer.state_dict`
            has them.

    Raises:
        ArgumentError: two tensors get one name.
        OSError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> import tensorlike as tl
        >>> layer, again = tl.nn.Linear(2, 3), tl.nn.Linear(2, 3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "linear.safetensors")
        ...     tl.export.save_weights(layer, path, {"": "linear."})
        ...     _ = tl.export.load_weights(again, path, {"linear.": ""})
        >>> again.weight.tolist() == layer.weight.tolist()
        True
    """
    from safetensors.numpy import save_file

    if not isinstance(layer, Layer):
        raise _C.ParameterError(
            "must be a layer", op="save_weights", argument="layer", got=type(layer).__name__
        )
    target = path_of(path, "save_weights")
    state = layer.state_dict(layout=layout)
    made = renamed("save_weights", state, names)
    tensors = {new: state[old] for new, old in made.items()}
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        save_file(tensors, temporary, {"format": "pt"})
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _shape(weights: Mapping[str, Any], name: str) -> tuple[int, ...]:
    return weights.shape(name) if isinstance(weights, Weights) else np.shape(steady(weights[name]))


def _listed(missing: tuple[str, ...], surplus: tuple[str, ...], others: list[str]) -> str:
    parts = {"missing": missing, "left over": surplus, "of other shapes": others}
    return "; ".join(f"{what}: {', '.join(list_)}" for what, list_ in parts.items() if list_)
