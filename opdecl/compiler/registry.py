"""All declarations by name, checked against each other.

`load_builtin` reads the files beside this one; `declare_text` adds a text at run time by the same
checks. Whatever is wrong in any of the files is reported at once.
"""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Iterable, Mapping
from pathlib import Path

from .derivative import Differentiator, UnknownSlopeError
from .entry_checks import EntryChecks, functions_of
from .errors import DeclarationError, Place, Problems
from .evaluate import Evaluator
from .expression import Expr, functions_called, topological
from .lower import DerivedScalar, Lowering
from .model import Entry, OpEntry, RawOp, ReductionEntry, ScalarEntry
from .places import CheckPlace, check_built_in, check_importing, check_run_time, with_library
from .read import read_file, read_text
from .reductions import reduction_mistakes
from .specs import Spec

MAX_GRADIENT = 2_000
ROOM = Path(__file__).resolve().parent.parent  # where the declarations lie


class Declarations:
    """A checked set of entries. `extended` makes a larger one, which `absorb` makes part of this.

    A larger one looks up what it has not in the smaller: making it takes no longer for many.
    """

    def __init__(self, entries: Iterable[Entry], *, base: Declarations | None = None) -> None:
        entries = tuple(entries)
        self.new = tuple(entry for entry in entries if entry.is_newest)
        # Older versions of ops, and ops written by hand: nothing is generated from them.
        self.older = tuple(e for e in entries if isinstance(e, OpEntry) and not e.is_newest)
        self.raw = tuple(entry for entry in entries if isinstance(entry, RawOp))
        self.base = base
        self.functions: ChainMap[str, Entry] = ChainMap(
            {call.function: call for entry in self.new for call in (entry, *entry.variants)}
        )
        self.by_name: ChainMap[str, Entry] = ChainMap({entry.name: entry for entry in entries})
        self._derived: ChainMap[str, ScalarEntry] | None = None
        if base is not None:
            self.functions.maps += base.functions.maps
            self.by_name.maps += base.by_name.maps
        self._differentiator = Differentiator(self.functions)
        self._complex = Differentiator(self.functions, is_complex=True)
        if base is not None:
            self._differentiator.know(base._differentiator)
            self._complex.know(base._complex)
        self._lowering = Lowering(self._differentiator, self._complex)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order of their declaration."""
        return (*(self.base.entries if self.base is not None else ()), *self.new)

    @property
    def derived(self) -> ChainMap[str, ScalarEntry]:
        """The names of all fused gradients, with the scalar function of each."""
        if self._derived is None:
            self._derived = ChainMap(
                {
                    derived.name: entry
                    for entry in self.new
                    if isinstance(entry, ScalarEntry)
                    for derived in self.derived_scalars(entry)
                }
            )
            if self.base is not None:
                self._derived.maps += self.base.derived.maps
        return self._derived

    def absorb(self, larger: Declarations) -> None:
        """Takes in the entries by which a set that `extended` made of this one is larger."""
        self.derived.update(larger.derived.maps[0])
        self.new += larger.new
        self.older += larger.older
        self.functions.update(larger.functions.maps[0])
        self.by_name.update(larger.by_name.maps[0])
        self._differentiator.merge(larger._differentiator)
        self._complex.merge(larger._complex)

    @property
    def stems(self) -> list[str]:
        """The files' names without suffix, in the order of reading."""
        return list(dict.fromkeys(entry.stem for entry in self.entries))

    def of_stem(self, stem: str) -> list[Entry]:
        """The entries of one file."""
        return [entry for entry in self.entries if entry.stem == stem]

    def older_of_stem(self, stem: str) -> list[OpEntry]:
        """The older versions of the ops of one file."""
        return [entry for entry in self.older if entry.stem == stem]

    def calls_of_stem(self, stem: str) -> list[Entry]:
        """The functional calls of one file: an entry for each."""
        return [call for entry in self.of_stem(stem) for call in (entry, *entry.variants)]

    def lower(self, entry: Entry) -> list[Spec]:
        """The specs of an entry."""
        return self._lowering.lower(entry)

    def derived_scalars(self, entry: ScalarEntry) -> list[DerivedScalar]:
        """The fused gradients of a scalar function."""
        return self._lowering.derived_scalars(entry)

    def differentiate(self, order: Iterable[str], problems: Problems) -> None:
        """Makes all gradients, those of called functions first, so that none recurses deeply.

        Gradients contain those of the functions called, so that their size needs a cap.
        """
        for name in order:
            entry = self.functions[name]
            if not isinstance(entry, ScalarEntry):
                continue
            for differentiator in (self._differentiator, self._complex):
                try:
                    gradients = differentiator.gradients(entry)
                except UnknownSlopeError as error:
                    text = f"has no gradient: {error}; write `grad:`"
                    return problems.add(entry.place, entry.name, text)
                if len(topological(gradients.values())) > MAX_GRADIENT:
                    text = f"its gradient has more than {MAX_GRADIENT} steps; write `grad:`"
                    return problems.add(entry.place, entry.name, text)

    def check_reductions(self, problems: Problems) -> None:
        """Reductions must keep their laws, and have a gradient or say that they have none."""
        evaluator = Evaluator(self)
        for entry in self.new:
            for text in reduction_mistakes(entry, evaluator, self._differentiator):
                problems.add(entry.place, entry.name, text)

    def gradients(self, entry: ScalarEntry) -> Mapping[str, Expr]:
        """The symbolic gradients of a scalar function, by argument."""
        return self._differentiator.gradients(entry)

    def extended(
        self, text: str, path: str = "<string>", imports: bool = False, library: str = ""
    ) -> Declarations:
        """These declarations and those of `text`, which may not redefine any of these.

        `imports` says that functions of Python may be named, which are imported then; `library` is
        the file that has the kernels which are named without a module.
        """
        problems = Problems()
        entries = read_text(text, path, problems, self.entries)
        if library:
            entries = [with_library(entry, library) for entry in entries]
        check = check_importing if imports else check_run_time
        return _checked(entries, problems, self, check)


def load_files(
    paths: Iterable[tuple[Path, str]], *, base: Declarations | None = None
) -> Declarations:
    """The declarations of files, given with the names that messages show, on top of `base`."""
    problems = Problems()
    entries: list[Entry] = []
    for path, shown in paths:
        entries += read_file(path, shown, problems, [*(base.entries if base else ()), *entries])
    return _checked(entries, problems, base)


@functools.cache
def load_builtin() -> Declarations:
    """The built-in declarations: one set for the process, which is the base of what is added."""
    paths = sorted(ROOM.glob("*.yaml"), key=_reading_order)
    return load_files((path, f"{ROOM.name}/{path.name}") for path in paths)


def _reading_order(path: Path) -> tuple[bool, str]:
    # Elementwise functions first, since the generated C++ of all others calls them.
    return not path.name.startswith("elementwise"), path.name


def load_text(
    text: str, path: str = "<string>", *, base: Declarations | None = None
) -> Declarations:
    """The declarations of a text, by the rules of files: its functions may be native."""
    problems = Problems()
    return _checked(read_text(text, path, problems, base.entries if base else ()), problems, base)


def declare_text(text: str, *, path: str = "<string>", base: Declarations) -> list[Spec]:
    """The specs of new entries: what the core needs to run them, and their functional calls."""
    declarations = base.extended(text, path)
    entries = (*declarations.older, *declarations.new)
    return [spec for entry in entries for spec in declarations.lower(entry)]


def _checked(
    entries: list[Entry],
    problems: Problems,
    base: Declarations | None,
    check_place: CheckPlace = check_built_in,
) -> Declarations:
    kept = _without_duplicates(entries, problems, base)
    declarations = Declarations(kept, base=base)
    broken = {(found.path, found.entry) for found in problems}
    for entry in entries:
        is_broken = (entry.place.path, entry.name) in broken
        checker = EntryChecks(declarations.functions, entry, problems)
        checker.check_formulas()
        if not is_broken:
            checker.check_completeness()
            for text in check_place(entry):
                checker.refuse(entry.place, text)
    if not len(problems):
        order = _check_cycles(declarations, problems)
    if not len(problems):
        declarations.differentiate(order, problems)
    if not len(problems):
        declarations.check_reductions(problems)
    if not len(problems):
        _check_derived_names(declarations, problems)
        _check_shadowing(declarations, problems)
    problems.raise_any()
    return declarations


def _without_duplicates(
    entries: list[Entry], problems: Problems, base: Declarations | None
) -> list[Entry]:
    places: dict[str, Place] = {}
    for name in (name for entry in entries for name in _names(entry)):
        known = (base.by_name.get(name) or base.functions.get(name)) if base is not None else None
        if known is not None:
            places[name] = known.place
    kept = []
    for entry in entries:
        taken = [name for name in dict.fromkeys(_names(entry)) if name in places]
        for name in taken:
            text = f"{name!r} is declared already, at {places[name]}"
            problems.add(entry.place, entry.name, text)
        if not taken:
            places |= dict.fromkeys(_names(entry), entry.place)
            kept.append(entry)
    return kept


def _names(entry: Entry) -> list[str]:
    if not entry.is_newest:
        return [entry.name]
    return [entry.name, entry.function, *(call.function for call in entry.variants)]


def _check_cycles(declarations: Declarations, problems: Problems) -> list[str]:
    """Definitions must not chase their tails. Returns the functions, each after those it calls."""
    order: list[str] = []
    calls = {entry.function: functions_of(entry) for entry in declarations.new}
    state: dict[str, int] = {}
    for start in calls:
        if start in state:
            continue
        path: list[str] = [start]
        pending = [iter(calls[start])]
        state[start] = 1
        while pending:
            callee = next(pending[-1], None)
            if callee is None:
                pending.pop()
                order.append(path.pop())
                state[order[-1]] = 2
            elif state.get(callee) == 1:
                cycle = " -> ".join([*path[path.index(callee) :], callee])
                entry = declarations.functions[callee]
                problems.add(entry.place, entry.name, f"is defined by itself: {cycle}")
            elif callee in calls and callee not in state:
                state[callee] = 1
                path.append(callee)
                pending.append(iter(calls[callee]))
    return order


def _check_derived_names(declarations: Declarations, problems: Problems) -> None:
    new = {*declarations.derived.maps[0], *declarations.functions.maps[0]}
    for name in sorted(new):
        taken, entry = declarations.functions.get(name), declarations.derived.get(name)
        if taken is not None and entry is not None:
            text = f"is taken: the gradient of {entry.name} ({entry.place}) has this name"
            problems.add(taken.place, taken.name, text)


def _check_shadowing(declarations: Declarations, problems: Problems) -> None:
    """In C++ an argument hides the function of its name, so the two cannot both be used."""
    for entry in declarations.new:
        if not isinstance(entry, (ScalarEntry, ReductionEntry)):
            continue
        called = {entry.name, *functions_of(entry)}
        if isinstance(entry, ScalarEntry):
            results = [derived.result for derived in declarations.derived_scalars(entry)]
            called.update(functions_called(results))
        for arg in entry.args:
            if arg.name in called:
                text = f"args: {arg.name!r} is also a function that is called here; rename it"
                problems.add(entry.place, entry.name, text)


__all__ = [
    "DeclarationError",
    "Declarations",
    "declare_text",
    "load_builtin",
    "load_files",
    "load_text",
]
