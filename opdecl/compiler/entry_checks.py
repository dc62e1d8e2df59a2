"""The checks of one entry against all: its formulas, its rules, what it must say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .attr_types import ATTR_TYPES
from .checks import RANK_WORDS, Scope, check_formula, check_one_type, value_types
from .derivative import missing_gradients
from .errors import Place, Problems
from .expression import TOTAL, Call, Expr, Name, functions_called, names_read, topological
from .model import (
    NUMPY_NAME,
    Arg,
    DefinedOp,
    Entry,
    Formula,
    OpEntry,
    ReductionEntry,
    ScalarEntry,
    rule_names,
    takes_complex,
)
from .parse import parse_expression


class EntryChecks:
    """The checks of one entry against all."""

    def __init__(self, functions: Mapping[str, Entry], entry: Entry, problems: Problems) -> None:
        self.functions = functions
        self.entry = entry
        self.problems = problems

    def refuse(self, place: Place, text: str) -> None:
        self.problems.add(place, self.entry.name, text)

    def check_formulas(self) -> None:
        entry = self.entry
        if isinstance(entry, ScalarEntry):
            for output in entry.outputs:
                key = "expr" if len(entry.outputs) == 1 else f"expr {output.name}"
                self.check_scalar_formula(key, output.formula)
        elif isinstance(entry, ReductionEntry):
            self.check_reduction(entry)
        elif isinstance(entry, DefinedOp):
            attrs = {attr.name: attr.type for attr in entry.own_attrs}
            self.check_formula("define", entry.define, Scope(self.args(), self.functions, attrs))
        self.check_requires()
        if entry.numpy and not NUMPY_NAME.match(entry.numpy):
            self.check_oracle()
        self.check_rules()

    def check_oracle(self) -> None:
        entry = self.entry
        parsed = parse_expression(entry.numpy)
        if not parsed.mistakes:
            formula = Formula(entry.numpy, entry.place, parsed.results)
            self.check_formula("numpy", formula, Scope(self.args(), self.functions))

    def args(self) -> dict[str, int | None]:
        return {arg.name: arg.category.rank for arg in self.entry.args}

    def check_formula(self, key: str, formula: Formula, scope: Scope) -> bool:
        mistakes = check_formula(formula, scope)
        for mistake in mistakes:
            self.refuse(formula.place, f"{key}: {mistake}")
        return not mistakes

    def check_scalar_formula(self, key: str, formula: Formula) -> None:
        scope = Scope(self.args(), self.functions, is_scalar=True)
        if self.check_formula(key, formula, scope) and self.entry.args:
            for mistake in check_one_type(formula, self.entry, self.functions):
                self.refuse(formula.place, f"{key}: {mistake}")

    def check_requires(self) -> None:
        """Each condition is a scalar function, of numbers alone, whose result is boolean."""
        entry = self.entry
        args = entry.args
        if isinstance(entry, OpEntry):
            numbers = [(attr.name, ATTR_TYPES[attr.type].number) for attr in entry.own_attrs]
            args = tuple(Arg(name, number) for name, number in numbers if number is not None)
        names = {arg.name: arg.category.rank for arg in args}
        for formula in entry.requires:
            scope = Scope(names, self.functions, is_scalar=True)
            if not names_read(formula.results):
                self.refuse(formula.place, "requires: reads no number that a call gives")
            elif self.check_formula("requires", formula, scope):
                kind = value_types(formula.results, args, self.functions)[formula.results[0]]
                if kind != "bool":
                    self.refuse(formula.place, "requires: must be a condition, such as p >= 0")

    def check_reduction(self, entry: ReductionEntry) -> None:
        rank = entry.args[0].category.rank if entry.args else None
        scopes: list[tuple[str, Formula | None, dict[str, int | None]]] = [
            ("map", entry.map, self.args()),
            ("combine", entry.combine, {"a": rank, "b": rank}),
            ("finish", entry.finish, {"acc": rank, "n": 1}),
        ]
        if entry.result == "bool":
            scopes[1] = ("combine", entry.combine, {"a": 0, "b": 0})
        for key, formula, names in scopes:
            if formula is not None:
                self.check_formula(key, formula, Scope(names, self.functions, is_scalar=True))

    def check_rules(self) -> None:
        entry = self.entry
        each = entry.complex_grad.each if entry.complex_grad is not None else ()
        own = [rule for rules in each for rule in rules.rules]
        if own and not takes_complex(entry):
            text = "complex_grad: no argument takes complex numbers; write `grad:`"
            self.refuse(entry.place, text)
        for unknown in entry.args:
            if unknown.name in entry.unknown_slopes and not unknown.category.is_differentiable:
                words = RANK_WORDS[unknown.category.rank]
                text = f"grad {unknown.name}: {unknown.name} is {words}; it has no gradient"
                self.refuse(entry.place, text)
        for arg, formula in own:
            self.check_rule("complex_grad", arg, formula, self.rule_scope(3))
        rules = [each.rules for each in entry.grad.each] if entry.grad is not None else []
        for arg, formula in (rule for each in rules for rule in each):
            if self.check_rule("grad", arg, formula, self.rule_scope(2)) and arg not in dict(own):
                self.check_conjugated(arg, formula)

    def rule_scope(self, highest: int) -> Scope:
        """What a rule may read where dtypes up to this rank flow."""
        entry = self.entry
        outputs, cotangents = rule_names(entry)
        names = {name: rank and min(rank, highest) for name, rank in self.args().items()}
        is_complex = highest == 3 and takes_complex(entry) and entry.result != "real"
        flowing = 3 if is_complex else 2
        rank = {"bool": 0, "int64": 1}.get(entry.result, flowing)
        names |= dict.fromkeys(outputs, rank) | dict.fromkeys(cotangents, flowing)
        if isinstance(entry, OpEntry):
            names[TOTAL] = flowing
            for case in entry.shapes.cases:
                given = zip(outputs, case.results, strict=False)
                names |= {name: 1 for name, result in given if result.dtype == "int64"}
        attrs = {attr.name: attr.type for attr in entry.attrs}
        return Scope(names, self.functions, attrs, isinstance(entry, ScalarEntry), is_rule=True)

    def check_rule(self, key: str, arg: str, formula: Formula | None, scope: Scope) -> bool:
        if formula is None:
            return False
        category = next(a.category for a in self.entry.args if a.name == arg)
        if not category.is_differentiable:
            words = RANK_WORDS[category.rank]
            self.refuse(formula.place, f"{key} {arg}: {arg} is {words}; it has no gradient")
        result = formula.results[0]
        if Name(TOTAL) in topological([result]) and not is_one_call_with_total(result):
            text = (
                f"{key} {arg}: `{TOTAL}` may only be an argument of the one call that the rule is"
            )
            self.refuse(formula.place, text)
        return self.check_formula(f"{key} {arg}", formula, scope)

    def check_conjugated(self, arg: str, formula: Formula | None) -> None:
        """The rule of an entry that takes complex numbers holds for them too, or another does."""
        if formula is None or not takes_complex(self.entry):
            return
        for mistake in check_formula(formula, self.rule_scope(3)):
            text = f"grad {arg}: where complex numbers flow, {mistake}; write `complex_grad:`"
            self.refuse(formula.place, text)

    def check_completeness(self) -> None:
        entry = self.entry
        has_body = not entry.is_native or (isinstance(entry, OpEntry) and bool(entry.expand))
        missing = []
        for rules in entry.grad.each if entry.grad is not None else (None,):
            missing += [] if has_body else missing_gradients(replace(entry, grad=rules))
        if missing and entry.grad is None:
            text = "has no gradient; write `grad:` with a rule for each input, or `grad: none`"
            self.refuse(entry.place, text)
        elif missing:
            names = ", ".join(missing)
            self.refuse(entry.place, f"grad: no rule for {names}; write one, or `none`")


def is_one_call_with_total(result: Expr) -> bool:
    """Whether a rule is a call of names, the total among them."""
    if not isinstance(result, Call) or Name(TOTAL) not in result.args:
        return False
    return all(isinstance(node, Name) for node in topological([result])[:-1])


def functions_of(entry: Entry) -> list[str]:
    """The functions that the meaning of an entry depends on."""
    formulas: list[Formula | None] = []
    if isinstance(entry, ScalarEntry):
        formulas = [output.formula for output in entry.outputs]
    elif isinstance(entry, ReductionEntry):
        formulas = [entry.map, entry.combine, entry.finish]
    elif isinstance(entry, DefinedOp):
        formulas = [entry.define]
    results = [result for formula in formulas if formula for result in formula.results]
    return functions_called(results)
