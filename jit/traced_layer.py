"""TracedLayer: a layer as the program that one call of it was."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from .. import _C
from ..imperative.trees import leaves_of
from ..static import save_inference_model
from .compiled_function import CompiledFunction


class TracedLayer:
    """A layer as a program, with the layer's own parameters; `TracedLayer.trace` makes it.

    Attributes:
        function: what runs. Where Python reads a value or a size, another call may take another
            program: `function.why()` names the lines.

    Source:
        Paddle, ``paddle.jit.TracedLayer``.
    """

    def __init__(self, function: CompiledFunction, inputs: Sequence[Any]) -> None:
        """Of what has been called with these inputs."""
        self.function = function
        self._inputs = tuple(inputs)

    @staticmethod
    def trace(layer: Any, inputs: Sequence[Any]) -> tuple[Any, TracedLayer]:
        """Calls a layer or a function once, and records it.

        Args:
            layer: the layer, or a function.
            inputs: its arguments.

        Returns:
            What the layer gives, and the `TracedLayer`.

        Example:
            >>> import tensorlike as tl
            >>> layer = tl.nn.Linear(3, 2)
            >>> x = tl.ones((1, 3))
            >>> out, traced = tl.jit.TracedLayer.trace(layer, inputs=[x])
            >>> traced([x])[0].tolist() == out.tolist()
            True
        """
        function = layer if isinstance(layer, CompiledFunction) else CompiledFunction(layer)
        return function(*inputs), TracedLayer(function, inputs)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """What the layer gives for these arguments, as a list of its tensors."""
        return leaves_of(self.function(*inputs))

    def save_inference_model(
        self,
        path: str | PathLike[str],
        feed: Sequence[int] | None = None,
        fetch: Sequence[int] | None = None,
    ) -> None:
        """Writes the program for inference, as `static.load_inference_model` reads it.

        Args:
            path: of a folder, which is made.
            feed: which arguments are fed; None: all. The results must not follow from others.
            fetch: which results are fetched; None: all.

        Raises:
            ArgumentError: there is no such argument or result.
            OSError: it cannot be written.
        """
        concrete = self.function.concrete(*self._inputs)
        names = _chosen(list(concrete.inputs), feed, "feed")
        results = _chosen(list(concrete.results.values()), fetch, "fetch")
        save_inference_model(path, names, results, concrete.program, scope=concrete.scope())


def _chosen(values: list[Any], indices: Sequence[int] | None, name: str) -> list[Any]:
    if indices is None:
        return values
    if not all(isinstance(i, int) and 0 <= i < len(values) for i in indices):
        raise _C.ArgumentError(
            f"must be indices below {len(values)}", op="save_inference_model", argument=name,
            got=repr(list(indices)),
        )  # fmt: skip
    return [values[i] for i in indices]
