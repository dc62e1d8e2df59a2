"""The language of `formula:`: that of expressions, and what long formulas need beside it.

Loops of fixed count (`for k in range(12):`, `for c in (0.5, 0.25):`), several names on the left of
an assignment, `poly(t, c0, c1, ...)` for c0 + c1 t + ..., and the helpers, polynomials and
constants of formulas/*.yaml. All of it is written out while the text is read: the tree holds
numbers, names and calls of scalar functions alone, so whoever prints it learns nothing new.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .errors import Place, Problems, did_you_mean
from .expression import Call, Expr, Name, Num, rebuild
from .loader import Mapping as MappingNode
from .loader import Node, Scalar, load_file
from .loader import Sequence as SequenceNode
from .parse import Parsed, Reader, parse_body

FOLDER = Path(__file__).resolve().parent.parent / "formulas"
MOST_NODES = 20_000  # after loops are written out
MOST_ROUNDS = 256
# Each may read what the files before it hold.
FILES = ("primitives", "coefficients", "special_coefficients", "pieces", "real", "complex")
POLY = "poly"
KINDS: Mapping[str, tuple[str, ...]] = {
    "constant": ("value",),
    "polynomial": ("coefficients",),
    "helper": ("args", "gives"),
    "primitive": ("of",),
}


@dataclass(frozen=True, slots=True)
class Helper:
    """A named piece of formulas: calls of it are replaced by its results."""

    name: str
    args: tuple[str, ...]
    results: tuple[Expr, ...]

    def expand(self, args: Sequence[Expr]) -> tuple[Expr, ...]:
        """Its results of these arguments."""
        return rebuild(self.results, dict(zip(self.args, args, strict=True)), Call)


@dataclass(frozen=True, slots=True)
class Formulas:
    """What formulas/*.yaml hold, by name: helpers, the numbers of those that are constants and
    polynomials, and the categories that primitives are of."""

    helpers: dict[str, Helper]
    coefficients: dict[str, tuple[float, ...]]
    primitives: dict[str, str]


def horner(t: Expr, coefficients: Sequence[Expr]) -> Expr:
    """c0 + t (c1 + t (c2 + ...))."""
    *rest, value = coefficients
    for coefficient in reversed(rest):
        value = Call("multiply_add", (t, value, coefficient))
    return value


class FormulaReader(Reader):
    """Reads formulas; `helpers` are those read before."""

    most_nodes = MOST_NODES

    def __init__(
        self, parsed: Parsed, taken: Collection[str], helpers: Mapping[str, Helper] | None = None
    ) -> None:
        super().__init__(parsed, taken)
        self.helpers = load_formulas().helpers if helpers is None else helpers
        self.rounds = 0  # of loops that are being read, one inside the other

    def read_assignment(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.For):
            self.read_loop(statement)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self.assign(statement, statement.targets[0])
        else:
            super().read_assignment(statement)

    def assign(self, statement: ast.Assign, target: ast.expr) -> None:
        """`a = ...`, or `a, b = ...`: all values are calculated before any name changes."""
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = self.values(statement.value)
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        if len(names) != len(targets) or len(names) != len(values):
            text = f"{len(values)} plain names are expected on the left; got {ast.unparse(target)}"
            self.refuse(statement, text)
            return
        for name, value in zip(names, values, strict=True):
            may_change = self.rounds > 0 and name in self.locals
            if not may_change and self.has_meaning(name):
                text = f"{name!r} already means something here; choose a new name"
                self.refuse(statement, text)
            self.locals[name] = value
            if not self.rounds and len(names) == 1:
                self.unread[name] = statement.lineno - 1

    def values(self, node: ast.expr) -> tuple[Expr, ...]:
        """The values of a tuple or of a helper with several results."""
        if isinstance(node, ast.Tuple):
            return tuple(self.expr(element, 1) for element in node.elts)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            helper = self.helpers.get(node.func.id)
            if helper is not None and len(helper.results) > 1:
                return self.expand(node, helper, 1)
        return (self.expr(node, 1),)

    def read_loop(self, loop: ast.For) -> None:
        """Reads the lines of a loop once for each round."""
        rounds = self.rounds_of(loop.iter)
        if not isinstance(loop.target, ast.Name) or loop.orelse or rounds is None:
            text = "a loop is `for k in range(n):`, with a literal n, or `for c in (a, b, ...):`"
            self.refuse(loop, text)
            return
        name = loop.target.id
        if self.has_meaning(name):
            self.refuse(loop, f"{name!r} already means something here; choose a new name")
        self.rounds += 1
        for value in rounds:
            if self.parsed.mistakes:
                break  # what is wrong, or too large, would be so in each round
            self.locals[name] = value
            for statement in loop.body:
                self.read_assignment(statement)
        self.rounds -= 1
        self.locals.pop(name, None)

    def rounds_of(self, node: ast.expr) -> list[Expr] | None:
        if isinstance(node, ast.Tuple):
            return [self.expr(element, 1) for element in node.elts]
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]):
                return [Num(k) for k in range(count)] if count <= MOST_ROUNDS else None
        return None

    def has_meaning(self, name: str) -> bool:
        return self.means(name) or name in self.helpers or name == POLY

    def name(self, node: ast.Name) -> Expr:
        helper = None if node.id in self.locals else self.helpers.get(node.id)
        if helper is not None and not helper.args:
            return helper.results[0]
        return super().name(node)

    def call(self, node: ast.Call, depth: int) -> Expr:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        helper = self.helpers.get(function)
        if function == POLY and len(node.args) > 1:
            t, *coefficients = (self.expr(arg, depth + 1) for arg in node.args)
            return horner(t, coefficients)
        if helper is None:
            return super().call(node, depth)
        results = self.expand(node, helper, depth)
        if len(results) != 1:
            return self.refuse(node, f"{function} gives {len(results)} values; assign them first")
        return results[0]

    def expand(self, node: ast.Call, helper: Helper, depth: int) -> tuple[Expr, ...]:
        args = [self.expr(arg, depth + 1) for arg in node.args]
        if len(args) != len(helper.args) or node.keywords:
            text = f"{helper.name} takes {len(helper.args)} arguments; got {len(args)}"
            return (self.refuse(node, text),) * len(helper.results)
        return helper.expand(args)


def parse_formula(text: str, taken: Collection[str] = ()) -> Parsed:
    """Parses the text of a formula."""
    return parse_body(text, taken, FormulaReader)


@cache
def load_formulas() -> Formulas:
    """What formulas/*.yaml hold; DeclarationError with all that is wrong there."""
    formulas = Formulas({}, {}, {})
    problems = Problems()
    for path in (FOLDER / f"{name}.yaml" for name in FILES):
        tree = load_file(path, f"{FOLDER.parent.name}/{FOLDER.name}/{path.name}", problems)
        for node in tree.items if tree is not None else ():
            _read_helper(node, formulas, problems)
    problems.raise_any()
    return formulas


def _read_helper(node: Node, formulas: Formulas, problems: Problems) -> None:
    helpers = formulas.helpers
    items = node.items if isinstance(node, MappingNode) else {}
    kind = next((kind for kind in KINDS if kind in items), "")
    named = items.get(kind)
    if not isinstance(items, dict) or not isinstance(named, Scalar):
        problems.add(
            node.place, "", "a primitive, a constant, a polynomial or a helper is expected"
        )
        return
    name = named.text
    keys = (kind, *KINDS[kind])
    for key in (*items, *keys):
        if key not in keys or key not in items:
            text = f"the keys {', '.join(keys)} are expected{did_you_mean(key, keys)}"
            problems.add(node.place, name, text)
            return
    if name in helpers:
        problems.add(node.place, name, "is declared already")
    if kind == "primitive":
        of = items["of"]
        formulas.primitives[name] = of.text if isinstance(of, Scalar) else ""
    elif kind == "helper":
        helpers[name] = _read_body(name, items, helpers, problems)
    else:
        numbers = _numbers(items[KINDS[kind][0]])
        formulas.coefficients[name] = numbers
        value = horner(Name("t"), [Num(number) for number in numbers])
        helpers[name] = Helper(name, () if kind == "constant" else ("t",), (value,))


def _read_body(
    name: str, items: Mapping[str, Node], helpers: Mapping[str, Helper], problems: Problems
) -> Helper:
    body, given = items["gives"], items["args"]
    words = given.items if isinstance(given, SequenceNode) else ()
    args = tuple(word.text for word in words if isinstance(word, Scalar))
    text = body.text if isinstance(body, Scalar) else ""

    def reader(parsed: Parsed, taken: Collection[str]) -> FormulaReader:
        return FormulaReader(parsed, taken, helpers)

    parsed = parse_body(text, args, reader)
    for line, mistake in parsed.mistakes:
        problems.add(Place(body.place.path, body.place.line + 1 + line), name, mistake)
    return Helper(name, args, parsed.results or (Num(0),))


def _numbers(node: Node) -> tuple[float, ...]:
    """Hexadecimal numbers, so that no digit is lost."""
    words = node.items if isinstance(node, SequenceNode) else (node,)
    return tuple(float.fromhex(word.text) for word in words if isinstance(word, Scalar))
