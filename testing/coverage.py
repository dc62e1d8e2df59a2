"""coverage: what every functional call has, as a table without holes.

Nothing is taken from the declarations but the arguments of an example: each cell says what happened
when it was tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _C
from .. import functional as F
from ..imperative.autodiff import grad, vjp
from ..imperative.trees import leaves_of
from ..ops.declaring import known_declarations
from ..transforms import jvp, vmap
from ..transforms.batched_call import UnequalExamplesError
from .corpus import Example

if TYPE_CHECKING:  # the declarations are read when somebody asks, not on import
    from ..opdecl.compiler.model import Entry

YES, NONE, DEPENDS, LOOP = "yes", "none", "by elements", "loop"
_KINDS: Mapping[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "integers": (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    ),
    "floats": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}  # fmt: skip


class OpCoverage(NamedTuple):
    """What a functional call has: "yes", "none" where it is declared so, or what went wrong."""

    call: str
    op: str
    dtypes: str
    inference: str
    vjp: str
    jvp: str
    vmap: str
    second_order: str

    @property
    def holes(self) -> tuple[str, ...]:
        """The columns where something is missing."""
        fine = (YES, NONE, DEPENDS)
        return tuple(
            name for name, cell in zip(self._fields[3:], self[3:], strict=True) if cell not in fine
        )


class Coverage:
    """The rows of `coverage`; it prints as a table."""

    def __init__(self, rows: Sequence[OpCoverage]) -> None:
        """Keeps them."""
        self.rows = tuple(rows)

    @property
    def holes(self) -> tuple[OpCoverage, ...]:
        """The rows where something is missing."""
        return tuple(row for row in self.rows if row.holes)

    def __repr__(self) -> str:
        """The table, and how many rows have holes."""
        table = [OpCoverage._fields, *self.rows]
        widths = [max(len(row[i][:40]) for row in table) for i in range(len(table[0]))]
        lines = [
            "  ".join(cell[:40].ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in table
        ]
        return "\n".join([*(line.rstrip() for line in lines),
                          f"{len(self.rows)} calls, {len(self.holes)} with holes"])  # fmt: skip


def coverage(names: Sequence[str] | None = None) -> Coverage:
    """What every declared functional call has: tried out, not looked up.

    Args:
        names: the calls; None takes all, those that `declare` made included.

    Returns:
        A Coverage, which prints as a table: the dtypes that the kernel takes; inference; gradient,
        forward mode, batching and second order ("none": declared so; "by elements": the shape of
        the result depends on them; anything else is a hole).

    Raises:
        ParameterError: a name is not that of a functional call.

    Example:
        >>> import tensorlike as tl
        >>> print(tl.coverage(["exp", "argmax"]))
        call    op        dtypes                        inference  vjp   jvp   vmap  second_order
        exp     Elemwise  bool integers floats complex  yes        yes   yes   yes   yes
        argmax  Reduce    bool integers floats          yes        none  none  yes   none
        2 calls, 0 with holes
    """
    known = known_declarations().functions
    for name in names or ():
        if name not in known:
            raise _C.ParameterError(
                "names must be of functional calls", op="coverage", got=repr(name)
            )
    chosen = tuple(known.values()) if names is None else [known[name] for name in names]
    return Coverage([_row(entry) for entry in chosen])


def _row(entry: Entry) -> OpCoverage:
    op = {"scalar": "Elemwise", "reduction": "Reduce"}.get(entry.kind, entry.name)
    call = _Tried(entry)
    return OpCoverage(
        entry.function, op, call.dtypes(), call.inference(), call.vjp(), call.jvp(), call.vmap(),
        call.second_order(),
    )  # fmt: skip


class _Tried(Example):
    """What was found when it was tried."""

    def dtypes(self) -> str:
        """The kinds of dtypes that the call takes, each in full or dtype by dtype."""
        if not self.arrays:
            return ""
        words = []
        for kind, dtypes in _KINDS.items():
            taken = [name for name in dtypes if self._takes(name)]
            words += [kind] if len(taken) == len(dtypes) else taken
        return " ".join(words)

    def _takes(self, dtype: str) -> bool:
        xs = [
            x if category.text in ("boolean", "integer") and dtype[0] != "u"
            and not dtype.startswith("int") else F.astype(_C.tensor(x), dtype=dtype)
            for (category, _), x in zip(self.arrays, self.tensors(), strict=True)
        ]  # fmt: skip
        try:
            self(*xs)
        except (ValueError, TypeError, IndexError, ArithmeticError):
            return False
        return True

    def inference(self) -> str:
        def infer() -> str:
            plain = self(*self.tensors())
            if not self.arrays:
                return YES
            try:
                specs = self(*(_C.ShapeTensor(x.shape, x.dtype) for x in self.tensors()))
            except _C.ShapeError as error:
                return DEPENDS if error.missing == "elements" else str(error)
            pairs = zip(specs, plain, strict=True)
            return YES if all(s.shape == y.shape and s.dtype is y.dtype for s, y in pairs) else "?"

        return _tried(infer)

    def vjp(self) -> str:
        def pull() -> str:
            xs = [self.tensors()[i] for i in self.moving()]
            value, pull_back = vjp(self.of_moving, *xs)
            pull_back(value)
            return YES

        return _tried(pull) if self.has_gradient else NONE

    def jvp(self) -> str:
        def push() -> str:
            xs = tuple(self.tensors()[i] for i in self.moving())
            _, tangents = jvp(self.of_moving, xs, xs)
            return YES if any(dy is not None for dy in leaves_of(tangents)) else "nothing moves"

        return _tried(push) if self.has_gradient else NONE

    def second_order(self) -> str:
        def push() -> str:
            xs = tuple(self.tensors()[i] for i in self.moving())

            def total(*moved: Any) -> Any:
                terms = [
                    F.sum(F.real(y * y))
                    for y in self.of_moving(*moved)
                    if y.dtype.kind in ("floating", "complex")
                ]
                return sum(terms[1:], terms[0])

            jvp(grad(total, tuple(range(len(xs)))), xs, xs)
            return YES

        return _tried(push) if self.has_gradient else NONE

    def vmap(self) -> str:
        def over_examples() -> str:
            xs = [F.stack([x, x], axis=0) for x in self.tensors()]
            try:
                vmap(self)(*xs)
            except UnequalExamplesError:
                return DEPENDS
            return YES

        return _tried(over_examples) if self.arrays else NONE


def _tried(run: Callable[[], str]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return run()
        except UserWarning:
            return LOOP
        except (ValueError, TypeError, IndexError, ArithmeticError) as error:
            return f"{type(error).__name__}: {error}"
