"""Scalar functions as straight-line code over the primitives, for devices that have no kernels.

A declared function means its `expr`, a native one its `formula`; both call others, down to the
primitives, which a device has by itself. `ScalarCode` makes the code of one function for one dtype:
every value has a dtype, every call says for which one, so that a printer only spells it. A dtype
whose formula is not given goes through the next wider one: float32 through float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .checks import KINDS, Scope, check_formula, is_condition, leading_category
from .errors import DeclarationError, Place, Problems
from .expression import Call, Expr, Name, Num, Value, topological
from .formula_reader import load_formulas, parse_formula
from .formula_text import COMPLEX_FLOATING, FormulaText
from .model import (
    CATEGORIES,
    NONE,
    Arg,
    Entry,
    Formula,
    GradRules,
    Output,
    ScalarEntry,
)
from .registry import Declarations

# The dtypes that scalar functions are computed in, with the rank of their kind.
RANKS: Mapping[str, int] = {
    "bool": 0, "int32": 1, "int64": 1, "uint64": 1,
    "float32": 2, "float64": 2, "complex64": 3, "complex128": 3,
}  # fmt: skip
# What stands before the names of functions in those of helpers, by the rank of the kind.
KIND_WORDS = (("boolean",), ("integer", "real_numeric"), ("real", "real_numeric"), ("complex",))
CATEGORY_NAMES = frozenset([*CATEGORIES, COMPLEX_FLOATING])
WIDER: Mapping[str, str] = {"float32": "float64", "complex64": "complex128"}
REAL_OF: Mapping[str, str] = {"complex64": "float32", "complex128": "float64"}
COMPLEX_OF: Mapping[str, str] = {real: both for both, real in REAL_OF.items()}
MOST_PRIMITIVES = 30
NO_GRADIENT = GradRules(NONE)  # of the gradients of scalar functions


@dataclass(frozen=True, slots=True)
class Operand:
    """A number, or the value of this index (arguments first, then steps); made `dtype` first."""

    dtype: str
    index: int = -1
    number: Value = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a function for a dtype."""

    function: str
    of: str
    operands: tuple[Operand, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Code:
    """A function for one dtype; a primitive has no steps."""

    name: str
    of: str
    source: str
    args: tuple[str, ...]
    steps: tuple[Step, ...]
    results: tuple[Operand, ...]
    is_primitive: bool = False

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The functions that it calls, each with the dtype, in the order of first use."""
        return list(dict.fromkeys((step.function, step.of) for step in self.steps))


class ScalarCode:
    """The code of the scalar functions of a set of declarations."""

    def __init__(self, declarations: Declarations) -> None:
        self.functions: Mapping[str, Entry] = {**declarations.functions, **_gradients(declarations)}
        self._made: dict[tuple[str, str], Code] = {}
        self._read: dict[FormulaText, tuple[Expr, ...]] = {}

    def code(self, name: str, dtype: str) -> Code:
        """A function's code; DeclarationError where it has no right formula for the dtype."""
        made = self._made.get((name, dtype))
        if made is None:
            entry = self.functions[name]
            if not isinstance(entry, ScalarEntry):
                raise TypeError(f"{name} is no scalar function")
            made = self._made[name, dtype] = self._make(entry, dtype)
        return made

    def wanted(self) -> list[tuple[str, str]]:
        """Every function, the gradients too, with each of its dtypes."""
        scalars = [entry for entry in self.functions.values() if isinstance(entry, ScalarEntry)]
        return [(entry.name, dtype) for entry in scalars for dtype in dtypes_of(entry)]

    def closure(self, wanted: Iterable[tuple[str, str]]) -> list[Code]:
        """The functions and all that they call, each after those that it calls."""
        order: dict[tuple[str, str], Code] = {}
        path: dict[tuple[str, str], None] = {}
        pending = [iter(wanted)]
        while pending:
            key = next(pending[-1], None)
            if key is None:
                pending.pop()
                if path:
                    done, _ = path.popitem()
                    order[done] = self.code(*done)
            elif key in path:
                chain = " -> ".join(name for name, _ in [*path, key])
                raise _error(self.functions[key[0]], f"formula: is defined by itself: {chain}")
            elif key not in order:
                path[key] = None
                pending.append(iter(self.code(*key).calls))
        return list(order.values())

    def _make(self, entry: ScalarEntry, dtype: str) -> Code:
        args = arg_dtypes(entry.args, dtype)
        if RANKS[dtype] in primitive_kinds(entry):
            result = Operand(result_dtype(entry, dtype))
            return Code(entry.name, dtype, entry.source, args, (), (result,), is_primitive=True)
        text = text_for(entry, dtype)
        if entry.outputs or text is not None:
            results = self.read(entry, text)
            made = _Lowering(self.functions, entry, dtype)
            return Code(entry.name, dtype, entry.source, args, *made.lower(results))
        wide = WIDER.get(dtype, "")
        if not wide:
            raise _error(entry, f"has no formula for {dtype}; write `formula:`")
        operands = tuple(
            Operand(wanted, i) for i, wanted in enumerate(arg_dtypes(entry.args, wide))
        )
        step = Step(entry.name, wide, operands, result_dtype(entry, wide))
        result = Operand(result_dtype(entry, dtype), len(args))
        return Code(entry.name, dtype, entry.source, args, (step,), (result,))

    def read(self, entry: ScalarEntry, text: FormulaText | None) -> tuple[Expr, ...]:
        """What `expr` says, or else the parsed and checked text of a formula."""
        if text is None:
            return tuple(output.formula.results[0] for output in entry.outputs)
        if text not in self._read:
            self._read[text] = read_formula(entry, text, self.functions)
        return self._read[text]


def primitive_kinds(entry: ScalarEntry) -> frozenset[int]:
    """The ranks of the dtypes for which a device has the function by itself."""
    category = load_formulas().primitives.get(entry.name)
    return frozenset() if category is None else kinds_of(category)


def text_for(entry: ScalarEntry, dtype: str) -> FormulaText | None:
    """The formula of a dtype: what is said of the dtype, of its kind, or of all.

    A helper with the name behind that of the dtype or kind says it where the entry does not; what
    is `unchanged` is itself.
    """
    rank, texts = RANKS[dtype], {text.of: text for text in entry.formulas}
    of_kind = [text for of, text in texts.items() if of in CATEGORY_NAMES and rank in kinds_of(of)]
    helpers = load_formulas().helpers
    found: list[FormulaText | None] = [texts.get(dtype), *of_kind]
    for word in (dtype, *KIND_WORDS[rank]):
        helper = helpers.get(f"{word}_{entry.name}")
        if helper is not None:
            call = f"{helper.name}({', '.join(arg.name for arg in entry.args)})"
            found.append(FormulaText(word, call, entry.place))
    if entry.unchanged is not None and rank in KINDS[entry.unchanged]:
        found.append(FormulaText("", entry.args[0].name, entry.place))
    return next((text for text in [*found, texts.get("")] if text is not None), None)


def read_formula(
    entry: ScalarEntry, text: FormulaText, functions: Mapping[str, Entry]
) -> tuple[Expr, ...]:
    """The results of a formula; DeclarationError with all that is wrong with it."""
    problems = Problems()
    parsed = parse_formula(text.text, [arg.name for arg in entry.args])
    for line, mistake in parsed.mistakes:
        place = Place(text.place.path, text.place.line + line)
        problems.add(place, entry.name, f"formula: {mistake}")
    if not parsed.mistakes:
        # Of no known kind: a complex number's parts are real, which is checked with the dtypes.
        names = dict.fromkeys((arg.name for arg in entry.args), None)
        formula = Formula(text.text, text.place, parsed.results)
        for mistake in check_formula(formula, Scope(names, functions, is_scalar=True)):
            problems.add(text.place, entry.name, f"formula: {mistake}")
        if len(parsed.results) != 1:
            told = f"formula: 1 result is expected; got {len(parsed.results)}"
            problems.add(text.place, entry.name, told)
    problems.raise_any()
    return parsed.results


def kinds_of(category: str) -> frozenset[int]:
    """The ranks of the dtypes in a category."""
    return frozenset([3]) if category == COMPLEX_FLOATING else KINDS[CATEGORIES[category]]


def _gradients(declarations: Declarations) -> dict[str, ScalarEntry]:
    """The fused gradients of all scalar functions, of real numbers, as functions themselves."""
    scalars = [entry for entry in declarations.entries if isinstance(entry, ScalarEntry)]
    derived = [one for entry in scalars for one in declarations.derived_scalars(entry)]
    return {
        one.name: ScalarEntry(
            name=one.name,
            place=one.of.place,
            args=one.args,
            doc="",
            outputs=(Output("y", Formula("", one.of.place, (one.result,))),),
            grad=NO_GRADIENT,
        )
        for one in derived
        if not one.is_complex
    }


def dtypes_of(entry: ScalarEntry) -> list[str]:
    """The dtypes that a function is computed in: a gradient in real floating-point ones."""
    kinds = frozenset([2]) if entry.grad is NO_GRADIENT else KINDS[leading_category(entry.args)]
    return [dtype for dtype, rank in RANKS.items() if rank in kinds]


def arg_dtypes(args: tuple[Arg, ...], dtype: str) -> tuple[str, ...]:
    """The dtypes of the arguments of a function for `dtype`."""
    return tuple("bool" if is_condition(arg, args) else dtype for arg in args)


def result_dtype(entry: Entry, dtype: str) -> str:
    """The dtype of what a function for `dtype` gives."""
    changed = {"bool": "bool", "int64": "int64"}.get(entry.result)
    if entry.result == "real":
        return REAL_OF.get(dtype, dtype)
    if entry.result == "complex":
        return COMPLEX_OF.get(dtype, dtype)
    return changed or dtype


def _error(entry: Entry, text: str) -> DeclarationError:
    problems = Problems()
    problems.add(entry.place, entry.name, text)
    return DeclarationError(problems)


class _Lowering:
    """One function for one dtype."""

    def __init__(self, functions: Mapping[str, Entry], entry: ScalarEntry, dtype: str) -> None:
        self.functions = functions
        self.entry = entry
        self.dtype = dtype
        self.dtypes = list(arg_dtypes(entry.args, dtype))
        self.index: dict[Expr, int] = {Name(arg.name): i for i, arg in enumerate(entry.args)}
        self.steps: list[Step] = []

    def lower(self, results: Sequence[Expr]) -> tuple[tuple[Step, ...], tuple[Operand, ...]]:
        """The steps and the results."""
        for node in topological(results):
            if isinstance(node, Call):
                self.index[node] = len(self.dtypes)
                step = self.step(node)
                self.steps.append(step)
                self.dtypes.append(step.dtype)
        wanted = result_dtype(self.entry, self.dtype)
        return tuple(self.steps), tuple(self.operand(node, wanted) for node in results)

    def step(self, node: Call) -> Step:
        """A call, for the dtype that its arguments have in common."""
        callee = self.functions[node.function]
        flowing = [
            self.rank(value)
            for value, arg in zip(node.args, callee.args, strict=True)
            if not is_condition(arg, callee.args)
        ]
        kinds = KINDS[leading_category(callee.args)]
        of = self.of_rank(max(*flowing, min(kinds)))
        if RANKS[of] not in kinds:
            words = leading_category(callee.args).text
            text = f"formula: {node.function} takes {words}; got {of} where {self.dtype} flows"
            raise _error(self.entry, text)
        wanted = arg_dtypes(callee.args, of)
        operands = map(self.operand, node.args, wanted)
        return Step(node.function, of, tuple(operands), result_dtype(callee, of))

    def rank(self, node: Expr) -> int:
        """The kind of a value; integers that are written stand for whatever number is needed."""
        if isinstance(node, Num):
            return (bool, int, float).index(type(node.value))
        return RANKS[self.dtypes[self.index[node]]]

    def of_rank(self, rank: int) -> str:
        """The dtype of a kind, beside values of the function's dtype."""
        real = REAL_OF.get(self.dtype, self.dtype)
        if rank == 3:
            return COMPLEX_OF.get(real, "complex128")
        if rank == 2 and RANKS[real] < 2:
            return "float64"
        return "bool" if rank == 0 else real if RANKS[real] else "int64"

    def operand(self, node: Expr, wanted: str) -> Operand:
        if self.rank(node) > RANKS[wanted]:
            if isinstance(node, Num):
                got = repr(node.value)
            else:
                got = f"a value of {self.dtypes[self.index[node]]}"
            raise _error(self.entry, f"formula: {got} stands where {wanted} is needed")
        if isinstance(node, Num):
            return Operand(wanted, number=node.value)
        return Operand(wanted, self.index[node])


def all_code(declarations: Declarations) -> list[Code]:
    """The code of every scalar function for all of its dtypes.

    Raises DeclarationError: a function has no formula, a wrong one, or is defined by itself.
    """
    code = ScalarCode(declarations)
    wanted = code.wanted()
    problems = Problems()
    for key in wanted:
        try:
            code.code(*key)
        except DeclarationError as error:
            for found in error.problems:
                problems.add(Place(found.path, found.line), found.entry, found.text)
    problems.raise_any()
    return code.closure(wanted)


def without_formula(declarations: Declarations) -> list[str]:
    """The scalar functions that a device cannot be given, for some dtype."""
    code = ScalarCode(declarations)
    missing: dict[str, None] = {}
    for name, dtype in code.wanted():
        try:
            code.code(name, dtype)
        except DeclarationError:
            missing[name] = None
    return list(missing)
