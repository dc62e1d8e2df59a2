"""ForInference: what a program becomes that is written to infer alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from .. import _C
from ..imperative import Listing
from ..imperative.levels import stopped, unwrapped
from ..static import Program, quantize
from ..static.compiled import CompiledProgram
from ..static.copying import Copier
from ..static.transpilers import half_products
from .concrete_program import ConcreteProgram


class ForInference(NamedTuple):
    """How a program is written that only infers; `save` and `dump` take it.

    Its parameters and buffers are constants, from which all that follows from them alone is
    computed beforehand, and it goes through the passes of a compiled program.

    Args:
        compute: in what precision products (those of matrices, convolutions, attention) are
            computed; None: in that of the function.
        weights: what constant weights of linear layers are kept as, as `static.quantize` takes it:
            int8 ("dynamic" or "static"), "bfloat16" or "float16"; None: as they are.
        samples: inputs of several runs, from which "static" takes its steps.

    Source:
        MegEngine 1.0, ``optimize_for_inference`` of ``megengine.jit.trace.dump``.

    Example:
        >>> import os, tempfile
        >>> import tensorlike as tl
        >>> layer = tl.nn.Linear(64, 64, seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "linear.tlp")
        ...     spec = [tl.jit.InputSpec((None, 64))]
        ...     _ = tl.jit.save(layer, path, spec, for_inference=tl.jit.ForInference("bfloat16"))
        ...     found = tl.jit.load(path)(tl.ones((1, 64)))
        >>> float(abs(found - layer(tl.ones((1, 64)))).max()) < 0.03
        True
    """

    compute: Literal["bfloat16", "float16"] | None = None
    weights: Literal["dynamic", "static", "bfloat16", "float16"] | None = None
    samples: Sequence[Sequence[Any]] = ()

    def apply(self, concrete: ConcreteProgram) -> tuple[Listing, dict[str, int]]:
        """The program, and its results by their names.

        Raises:
            ArgumentError: the function changes something, or an option is none of those above.
        """
        source = getattr(concrete, "program", None)
        if source is None:
            raise _C.ParameterError(
                "must be a ConcreteProgram", op="apply", argument="concrete",
                got=type(concrete).__name__, fix="make one by the function's concrete()",
            )  # fmt: skip
        if source.assigned():
            changed = ", ".join(source.names(n) for n in source.assigned())
            raise _C.ArgumentError(
                "a function that only infers must change nothing", op="save",
                argument="for_inference", got=f"one that sets {changed}",
                fix="call eval() of its layers before",
            )  # fmt: skip
        frozen = _Frozen(concrete)
        program: Listing = frozen.copied()
        numbers = [frozen.number(y.number) for y in concrete.results.values()]
        results: Sequence[Any] = tuple(map(program.symbol, numbers))
        if self.compute is not None:
            program, results = half_products(frozen.target, results, self.compute)
        if self.weights is not None:
            program, results, _ = quantize(program, results, self.weights, samples=self.samples)
        made, found = CompiledProgram(program).optimised(list(results))
        return made, dict(zip(concrete.results, found, strict=True))


class _Frozen(Copier):
    """Copies a program, with constants in the place of its states."""

    def __init__(self, concrete: ConcreteProgram) -> None:
        super().__init__(concrete.program)
        self._states = concrete.states

    def copied(self) -> Program:
        """The program."""
        for at in range(len(self.steps)):
            self.step(at)
        return self.finish()

    def number(self, old: int) -> int:
        """A state is what it is by now."""
        tensor = self._states.get(self.source.names(old))
        if tensor is None or old in self.numbers:
            return super().number(old)
        made = self.target.capture(stopped(unwrapped(tensor)))
        self.numbers[old] = self.results[old] = made
        return made
