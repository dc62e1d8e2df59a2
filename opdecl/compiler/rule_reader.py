"""The language of bodies and gradient rules: that of expressions, and what tensors need beside it.

Calls with several results (`u, s, vh = svd(x)`), parts of tensors (`x[..., :k]`), choices between
two values by attributes and shapes (`y if upper else transposed(y)`), names for sizes
(`k = min(shape(x)[-2], shape(x)[-1])`), and the words of words/*.yaml, which are written out while
the text is read.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from .errors import Place, Problems
from .expression import CHOICE, REFUSAL, RESULT, Attr, Call, Expr
from .formula_reader import Helper
from .loader import Mapping as MappingNode
from .loader import Node, Scalar, load_file
from .loader import Sequence as SequenceNode
from .operators import COMPARE
from .parse import Parsed, Reader, parse_body

FOLDER = Path(__file__).resolve().parent.parent / "words"
EXTREMES = {"min": "minimum", "max": "maximum"}
REFUSED = "refused"
FLOWS = "flows"
WORD_KEYS = {"word", "args", "gives"}
# An item between brackets is four integers (csrc/op/index.h): its kind, start, stop and step.
INTEGER, SLICE, NEW_AXIS, ELLIPSIS = range(4)
NO_BOUND = -(2**63)


class RuleReader(Reader):
    """Reads bodies and rules; `words` are those read before."""

    def __init__(
        self, parsed: Parsed, taken: Collection[str], words: Mapping[str, Helper] | None = None
    ) -> None:
        super().__init__(parsed, taken)
        self.words = load_words() if words is None else words
        self.numbers: dict[str, Attr] = {}  # names of sizes and conditions

    def means(self, name: str) -> bool:
        return super().means(name) or name in self.numbers or name in self.words

    def read_assignment(self, statement: ast.stmt) -> None:
        """`a = ...`, `a, b = ..., ...`, or `a, b, _ = call(...)`."""
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            super().read_assignment(statement)
            return
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Tuple):
            self.bind(statement, target, value)
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            for one, own in zip(target.elts, value.elts, strict=True):
                self.bind(statement, one, own)
        elif isinstance(value, ast.Call):
            self.bind_results(statement, target.elts, value)
        else:
            self.refuse(statement, "several names stand for the results of a call, or for a tuple")

    def bind(self, statement: ast.Assign, target: ast.expr, value: ast.expr) -> None:
        """One name for one value, or for a number that is known before any tensor is."""
        if self.is_number(value):
            found = self.attribute(value, 1)
            if (name := self.new_name(statement, target)) is not None:
                self.numbers[name] = found
            return
        expr = self.expr(value, 1)
        if (name := self.new_name(statement, target)) is not None:
            self.locals[name] = expr

    def bind_results(self, statement: ast.Assign, targets: list[ast.expr], value: ast.Call) -> None:
        call = self.expr(value, 1)
        count = Attr("literal", literal=len(targets))
        if not isinstance(call, Call) or call.function in (CHOICE, RESULT, REFUSAL):
            self.refuse(statement, "several names stand for the results of a call, or for a tuple")
            return
        for i, target in enumerate(targets):
            if isinstance(target, ast.Name) and target.id == "_":
                continue
            if (name := self.new_name(statement, target)) is not None:
                attrs = (("number", Attr("literal", literal=i)), ("count", count))
                self.locals[name] = Call(RESULT, (call,), attrs)

    def new_name(self, statement: ast.Assign, target: ast.expr) -> str | None:
        if not isinstance(target, ast.Name):
            self.refuse(statement, "an assignment needs plain names on its left")
            return None
        name = target.id
        if self.means(name):
            self.refuse(statement, f"{name!r} already means something here; choose a new name")
        elif name.startswith("_"):
            self.refuse(statement, f"{name!r}: names must not begin with an underscore")
        else:
            self.unread[name] = statement.lineno - 1
            return name
        return None

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is calculated from sizes and attributes alone."""
        match node:
            case ast.Name(id=name):
                return name in self.numbers
            case ast.Subscript(value=ast.Call(func=ast.Name(id="shape"))):
                return True
            case ast.Call(func=ast.Name(id="ndim" | "flows")):
                return True
            case ast.Call(func=ast.Name(id=name), args=args) if name in EXTREMES:
                return self.are_numbers(args)
            case ast.BinOp(left=left, right=right):
                return self.are_numbers([left, right])
            case ast.Compare(left=left, comparators=[right]):
                is_word = isinstance(right, ast.Constant) and isinstance(right.value, str)
                return is_word or self.is_number(left) or self.is_number(right)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return True
        return False

    def are_numbers(self, nodes: list[ast.expr]) -> bool:
        known = [self.is_number(node) for node in nodes]
        literals = [isinstance(node, ast.Constant) for node in nodes]
        return any(known) and all(a or b for a, b in zip(known, literals, strict=True))

    def expr(self, node: ast.expr, depth: int) -> Expr:
        match node:
            case ast.IfExp():
                sides = (self.expr(node.body, depth + 1), self.expr(node.orelse, depth + 1))
                return Call(CHOICE, sides, (("when", self.attribute(node.test, depth + 1)),))
            case ast.Subscript(value=value) if not _is_call_of(value, "shape"):
                return self.part(node, depth)
        return super().expr(node, depth)

    def name(self, node: ast.Name) -> Expr:
        if node.id in self.numbers:
            text = f"{node.id!r} is a size: it may only be read by conditions and keyword arguments"
            return self.refuse(node, text)
        return super().name(node)

    def call(self, node: ast.Call, depth: int) -> Expr:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if function == REFUSED:
            return self.refusal(node)
        word = self.words.get(function)
        if word is None:
            return super().call(node, depth)
        args = [self.expr(arg, depth + 1) for arg in node.args]
        if len(args) != len(word.args) or node.keywords:
            return self.refuse(
                node, f"{function} takes {len(word.args)} arguments; got {len(args)}"
            )
        return word.expand(args)[0]

    def refusal(self, node: ast.Call) -> Expr:
        """`refused("text")`: an error, where it is asked for."""
        match node:
            case ast.Call(args=[ast.Constant(value=str(text))], keywords=[]):
                return Call(REFUSAL, (), (("text", Attr("literal", literal=text)),))
        return self.refuse(node, f'{REFUSED}("why") is expected')

    def part(self, node: ast.Subscript, depth: int) -> Expr:
        """`x[..., :k]`: what the items between brackets select."""
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        numbers = tuple(number for item in items for number in self.item(item, depth + 1))
        literals = tuple(number.literal for number in numbers)
        if all(number.kind == "literal" for number in numbers):
            found = Attr("literal", literal=tuple(n for n in literals if isinstance(n, int)))
        else:
            found = Attr("tuple", parts=numbers)
        return Call("subtensor", (self.expr(node.value, depth + 1),), (("items", found),))

    def item(self, node: ast.expr, depth: int) -> list[Attr]:
        none = Attr("literal", literal=NO_BOUND)
        kind, bounds = INTEGER, [node]
        match node:
            case ast.Constant(value=None):
                kind, bounds = NEW_AXIS, []
            case ast.Constant(value=value) if value is ...:
                kind, bounds = ELLIPSIS, []
            case ast.Slice(lower=lower, upper=upper, step=step):
                kind = SLICE
                found = [none if b is None else self.bound(b, depth) for b in (lower, upper, step)]
                return [Attr("literal", literal=kind), *found]
        found = [self.bound(bound, depth) for bound in bounds]
        return [Attr("literal", literal=kind), *found, *[none] * (3 - len(found))]

    def bound(self, node: ast.expr, depth: int) -> Attr:
        found = self.attribute(node, depth)
        if found.kind == "literal" and type(found.literal) is not int:
            self.refuse(node, "the items between brackets are integers, slices, None and `...`")
            return Attr("literal", literal=0)
        return found

    def attribute(self, node: ast.expr, depth: int) -> Attr:
        match node:
            case ast.Name(id=name) if name in self.numbers:
                self.unread.pop(name, None)
                return self.numbers[name]
            case ast.Call(func=ast.Name(id="ndim")):
                return Attr("rank", of=self.form_of(node, depth))
            case ast.Call(func=ast.Name(id="flows"), args=[ast.Name() as value]):
                return Attr("flows", of=self.expr(value, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in EXTREMES:
                return self.calculated(EXTREMES[name], [left, right], depth)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                return self.calculated(COMPARE[type(op)], [left, right], depth)
            case ast.BoolOp(op=op, values=[*values]):
                both = "logical_and" if isinstance(op, ast.And) else "logical_or"
                found = self.attribute(values[0], depth + 1)
                for more in values[1:]:
                    parts = (found, self.attribute(more, depth + 1))
                    found = Attr("arithmetic", name=both, parts=parts)
                return found
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.calculated("logical_not", [operand], depth)
            case ast.Tuple(elts=elements) if any(isinstance(e, ast.Starred) for e in elements):
                return Attr("tuple", parts=tuple(self.element(e, depth + 1) for e in elements))
        return super().attribute(node, depth)

    def element(self, node: ast.expr, depth: int) -> Attr:
        """An element of a tuple; `*shape(x)[:-1]` stands for several."""
        match node:
            case ast.Starred(value=ast.Subscript(value=value, slice=ast.Slice() as bounds)):
                none = Attr("literal", literal=NO_BOUND)
                ends = [bounds.lower, bounds.upper]
                found = [none if end is None else self.bound(end, depth) for end in ends]
                return Attr("list", name="sliced", parts=(self.attribute(value, depth), *found))
            case ast.Starred(value=value):
                return self.attribute(value, depth)
        return self.attribute(node, depth)

    def calculated(self, function: str, nodes: list[ast.expr], depth: int) -> Attr:
        self.nodes += 1
        parts = tuple(self.attribute(node, depth + 1) for node in nodes)
        return Attr("arithmetic", name=function, parts=parts)


def _is_call_of(node: ast.expr, function: str) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == function


@cache
def load_words() -> Mapping[str, Helper]:
    """The words of words/*.yaml; DeclarationError with all that is wrong there."""
    words: dict[str, Helper] = {}
    problems = Problems()
    for path in sorted(FOLDER.glob("*.yaml")):
        tree = load_file(path, f"{FOLDER.parent.name}/{FOLDER.name}/{path.name}", problems)
        for node in tree.items if tree is not None else ():
            _read_word(node, words, problems)
    problems.raise_any()
    return words


def reserved_words() -> Collection[str]:
    """What no function may be called: bodies mean something else by it."""
    return {REFUSED, FLOWS, *load_words()}


def _read_word(node: Node, words: dict[str, Helper], problems: Problems) -> None:
    """`word: adjoint`, its `args`, and the expression that it `gives`."""
    items = node.items if isinstance(node, MappingNode) else {}
    name, args, gives = (items.get(key) for key in ("word", "args", "gives"))
    if (
        set(items) != WORD_KEYS
        or not isinstance(name, Scalar)
        or not isinstance(args, SequenceNode)
        or not isinstance(gives, Scalar)
    ):
        problems.add(node.place, "", "a word has the keys word, args and gives")
        return
    names = tuple(arg.text for arg in args.items if isinstance(arg, Scalar))
    known = dict(words)
    parsed = parse_body(gives.text, names, lambda found, taken: RuleReader(found, taken, known))
    for line, text in parsed.mistakes:
        place = Place(gives.place.path, gives.place.line + gives.is_block + line)
        problems.add(place, name.text, text)
    if name.text in words:
        problems.add(node.place, name.text, "this name is taken already")
    if len(parsed.results) == 1:
        words[name.text] = Helper(name.text, names, parsed.results)
