"""Symbolic reverse differentiation of scalar functions.

A cotangent is pushed from the outputs to the inputs through the rules of the functions called. A
rule is itself an expression, in the argument names of its function, its output and its cotangent;
a defined function without a rule is differentiated in turn, so derivatives exist of any order.
What a function declared `grad: none` reads gets nothing from it.

Where complex numbers flow, a cotangent is the conjugate Wirtinger derivative: a function that is
holomorphic pulls dy back to dy * conj(f'(x)). Its rules are written as those of real numbers, and
`conjugated` makes them hold: f' of conjugated inputs and outputs is the conjugate of f'. Functions
that are not holomorphic (abs, real, conj) have a `complex_grad`.

A rule may be guarded, `where((dy == 0) & isnan(flow), 0, flow)`: a cotangent of zero gives zero
where the slope is infinite or NaN, too. In a derivative the guards of the functions called stay
where their cotangent may be zero by itself (that of sqrt(x) in a * sqrt(x) is, where a is 0); the
others are left out, and the derivative gets one of its own where it needs any.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from .expression import (
    CHOICE,
    SIZE,
    Attr,
    Attrs,
    Call,
    Expr,
    Name,
    Num,
    names_read,
    rebuild,
    topological,
)
from .model import (
    Entry,
    Formula,
    ScalarEntry,
    complex_names,
    is_differentiable,
    rule_names,
)
from .simplify import ZERO, is_zero, simplify


class UnknownSlopeError(ValueError):
    """A formula whose slope needs one that its function's declaration calls unknown."""


class Differentiator:
    """Derivatives of the scalar functions of one set of declarations, each made once.

    The definitions must be free of cycles. `is_complex` asks for those of complex numbers, which
    need a `conj` among the functions.
    """

    def __init__(self, functions: Mapping[str, Entry], is_complex: bool = False) -> None:
        self.functions = functions
        self.is_complex = is_complex and "conj" in functions
        self._gradients: ChainMap[str, Mapping[str, Expr]] = ChainMap()

    def know(self, other: Differentiator) -> None:
        """Takes over the derivatives that another set of declarations has made already."""
        self._gradients = ChainMap({}, other._gradients)

    def merge(self, other: Differentiator) -> None:
        """Takes over what another set made that knew all these."""
        self._gradients.update(ChainMap(*other._gradients.maps[:1]))

    def gradients(self, entry: ScalarEntry) -> Mapping[str, Expr]:
        """The gradient of each input in the names of inputs, outputs and cotangents.

        An input whose gradient is zero everywhere is absent.
        """
        found = self._gradients.get(entry.name)
        if found is None:
            found = self._make_gradients(entry)
            self._gradients[entry.name] = found
        return found

    def _make_gradients(self, entry: ScalarEntry) -> Mapping[str, Expr]:
        if not (is_differentiable(entry) or (self.is_complex and entry.complex_grad is not None)):
            return {}
        rules = declared_rules(entry, self.is_complex)
        wanted = [
            arg.name
            for arg in entry.args
            if arg.category.is_differentiable
            and arg.name not in rules
            and arg.name not in entry.unknown_slopes
        ]
        derived = self.differentiate(entry, wanted) if wanted and entry.outputs else {}
        gradients: dict[str, Expr] = {}
        for arg in entry.args:
            rule = rules.get(arg.name)
            gradient = rule if rule is not None else derived.get(arg.name, ZERO)
            (gradient,) = rebuild([gradient], {}, simplify)
            if rule is None and self._is_singular(gradient):
                gradient = _guard(gradient, rule_names(entry)[1])
            if not is_zero(gradient):
                gradients[arg.name] = gradient
        return gradients

    def _is_singular(self, gradient: Expr) -> bool:
        """Whether it calls what may be infinite or NaN: a function whose own rule is guarded."""
        for node in topological([gradient]):
            if not isinstance(node, Call):
                continue
            entry = self.functions[node.function]
            if not isinstance(entry, ScalarEntry) or entry.grad is None:
                continue
            rules = [rule.results[0] for _, rule in entry.grad.rules if rule is not None]
            if not _is_regular(node) and any(_unguarded(rule) is not rule for rule in rules):
                return True
        return False

    def differentiate(self, entry: ScalarEntry, wanted: list[str]) -> dict[str, Expr]:
        """The gradients of a defined function through its expressions.

        Raises:
            UnknownSlopeError: one of them needs what nobody has written.
        """
        roots = tuple(output.formula.results[0] for output in entry.outputs)
        output_names, cotangent_names = rule_names(entry)
        cotangents: dict[Expr, Expr] = {}
        for root, name in zip(roots, cotangent_names, strict=True):
            cotangents[root] = simplify("add", (cotangents.get(root, ZERO), Name(name)))
        # The result itself is at hand in a gradient, so its own rule need not compute it again.
        at_hand = {
            root: Name(name)
            for root, name in zip(roots, output_names, strict=True)
            if entry.output_count == 1
        }
        for node in reversed(topological(roots)):
            cotangent = cotangents.get(node, ZERO)
            if isinstance(node, Call) and not is_zero(cotangent):
                self._push(node, cotangent, at_hand.get(node, node), cotangents)
        for name, slope in self._unknown(cotangents).items():
            if name in wanted:
                raise UnknownSlopeError(f"the slope of {slope} is not known")
        return {name: cotangents.get(Name(name), ZERO) for name in wanted}

    def _unknown(self, reached: Iterable[Expr]) -> dict[str, str]:
        """The inputs below slopes that are declared to be unknown, with one such slope of each."""
        found: dict[str, str] = {}
        for node in reached:
            entry = self.functions[node.function] if isinstance(node, Call) else None
            if isinstance(node, Call) and isinstance(entry, ScalarEntry):
                for arg, value in zip(entry.args, node.args, strict=True):
                    if arg.name in entry.unknown_slopes:
                        found |= dict.fromkeys(names_read([value]), f"{entry.name} by {arg.name}")
        return found

    def _push(
        self, node: Call, cotangent: Expr, output: Expr, cotangents: dict[Expr, Expr]
    ) -> None:
        entry = self.functions[node.function]
        if not isinstance(entry, ScalarEntry):
            return
        (output_name,), (cotangent_name,) = rule_names(entry)
        names = {arg.name: value for arg, value in zip(entry.args, node.args, strict=True)}
        if self.is_complex and entry.result == "real":
            cotangent = simplify("real", (cotangent,))
        names |= {output_name: output, cotangent_name: cotangent}
        gradients = self.gradients(entry)
        for arg, value in zip(entry.args, node.args, strict=True):
            if arg.name in gradients and names_read([value]):
                rule = gradients[arg.name]
                rule = _unguarded(rule) if _is_multiple(cotangent) else rule
                (pushed,) = rebuild([rule], names, simplify)
                cotangents[value] = simplify("add", (cotangents.get(value, ZERO), pushed))


def declared_rules(entry: Entry, is_complex: bool) -> dict[str, Expr | None]:
    """The gradients that an entry declares; None where it says that there is none.

    Those of complex numbers: `complex_grad`, else the others, conjugated.
    """
    own = entry.grad.rules if entry.grad is not None else ()
    rules = {name: _result(rule) for name, rule in own}
    if not is_complex:
        return rules
    names = complex_names(entry)
    found = {
        name: None if rule is None else conjugated(rule, names) for name, rule in rules.items()
    }
    others = entry.complex_grad.rules if entry.complex_grad is not None else ()
    return found | {name: _result(rule) for name, rule in others}


def _result(rule: Formula | None) -> Expr | None:
    return rule.results[0] if rule is not None else None


def conjugated(rule: Expr, names: frozenset[str]) -> Expr:
    """The rule with these names conjugated; their shapes and dtypes are as they were."""

    def build(function: str, args: tuple[Expr, ...], attrs: Attrs) -> Expr:
        if function == SIZE:
            args = tuple(_plain(arg) for arg in args)
        return Call(function, args, tuple((name, _plain_attr(attr)) for name, attr in attrs))

    (found,) = rebuild([rule], {name: Call("conj", (Name(name),)) for name in names}, build)
    return found


def of_real_numbers(rule: Expr) -> Expr:
    """What a rule for complex numbers is where all are real: they are their own conjugates."""

    def build(function: str, args: tuple[Expr, ...], attrs: Attrs) -> Expr:
        if function in ("conj", "real"):
            return args[0]
        if function == "imag":
            return ZERO
        if function in ("subtract", CHOICE) and args[0] == args[1]:
            return ZERO if function == "subtract" else args[0]
        if function == "matmul" and any(map(is_zero, args)):
            return ZERO
        is_short = function in ("add", "subtract", "multiply", "divide") and any(map(is_zero, args))
        return simplify(function, args, attrs) if is_short else Call(function, args, attrs)

    (found,) = rebuild([rule], {}, build)
    return found


def _plain(expr: Expr) -> Expr:
    return expr.args[0] if isinstance(expr, Call) and expr.function == "conj" else expr


def _plain_attr(attr: Attr) -> Attr:
    return attr if attr.of is None else replace(attr, of=_plain(attr.of))


def _is_regular(call: Call) -> bool:
    """x / 3 and x ** 2 are as harmless as products."""
    if call.function not in ("divide", "pow") or not isinstance(call.args[1], Num):
        return False
    number = call.args[1].value
    return number != 0 if call.function == "divide" else number >= 1 and number == int(number)


def _is_multiple(cotangent: Expr) -> bool:
    """Whether it is a multiple of the one that it came from, so that it is zero where that is.

    What `where` chooses of it counts as well: slopes are multiplied inside of `where`.
    """
    while isinstance(cotangent, Call):
        args: Sequence[Expr] = ()
        if cotangent.function in ("negative", "multiply") or _is_regular(cotangent):
            args = cotangent.args
        elif cotangent.function == "where" and any(map(is_zero, cotangent.args)):
            args = cotangent.args[1:]
        found = [arg for arg in args if not isinstance(arg, Num)]
        if len(found) != 1:
            return False
        (cotangent,) = found
    return isinstance(cotangent, Name)


def _guard(flow: Expr, cotangents: Sequence[str]) -> Expr:
    """The gradient, zero where it is NaN and every cotangent is zero."""
    condition: Expr = Call("isnan", (flow,))
    for name in reversed(cotangents):
        condition = Call("bitwise_and", (Call("equal", (Name(name), ZERO)), condition))
    return Call("where", (condition, ZERO, flow))


def _unguarded(gradient: Expr) -> Expr:
    """What a guard guards; the gradient itself where it has none."""
    if isinstance(gradient, Call) and gradient.function == "where" and is_zero(gradient.args[1]):
        condition, _, flow = gradient.args
        while isinstance(condition, Call) and condition.function == "bitwise_and":
            condition = condition.args[1]
        if condition == Call("isnan", (flow,)):
            return flow
    return gradient


def missing_gradients(entry: Entry) -> list[str]:
    """The differentiable inputs of a native function that `grad` says nothing about."""
    if not is_differentiable(entry) or (entry.grad is not None and entry.grad.kind != "rules"):
        return []
    return [
        arg.name
        for arg in entry.args
        if arg.category.is_differentiable and not entry.has_rule_for(arg.name)
    ]
