"""Text of the expression language -> tree.

The language is a subset of Python's expressions. Python's own parser reads the text; then every
node must be on the whitelist below, and what is not is reported by name. Nothing is evaluated,
and caps on length, nesting and size hold before anything recurses, so hostile text costs no more
than a message.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from textwrap import dedent

from .errors import did_you_mean, shorten
from .expression import (
    CONSTANTS,
    ELEMWISE,
    LISTS,
    SIZE,
    Attr,
    AttrLiteral,
    Attrs,
    Call,
    Expr,
    Name,
    Num,
)
from .operators import ARITHMETIC, BINARY, COMPARE, UNARY

MAX_LENGTH = 4_000
MAX_DEPTH = 64
MAX_NODES = 1_000
INT64_MAX = 2**63 - 1

REFUSED: dict[type[ast.AST], str] = {
    ast.Attribute: "attribute access with a dot",
    ast.Lambda: "lambda",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "the operator :=",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.Tuple: "a tuple",
    ast.Subscript: "indexing",
    ast.Starred: "*unpacking",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.IfExp: "`if`/`else` (write where(condition, a, b))",
    ast.BoolOp: "`and`/`or` (write & and |)",
}
FORMS = ("shape", "dtype")
# flow(e) is e, and zero where no cotangent flows though the slope has no value there.
FLOW = "flow"
# zeros(x) are those of its shape; transposed(x) is the transpose of matrices.
ZEROS = "zeros"
TRANSPOSED = "transposed"
MACROS = (FLOW, ZEROS, TRANSPOSED)


@dataclass(slots=True)
class Parsed:
    """The results of a body, and what is wrong with it: (line of the text from 0, message)."""

    results: tuple[Expr, ...] = ()
    mistakes: list[tuple[int, str]] = field(default_factory=list)


def parse_body(
    text: str,
    taken: Collection[str] = (),
    reader: Callable[[Parsed, Collection[str]], Reader] | None = None,
) -> Parsed:
    """Parses assignments `name = expression` and a last line: the result, or a tuple of them.

    `taken` are the names of inputs and attributes, which an assignment must not hide; `reader` is
    another class than Reader where the text may say more.
    """
    parsed = Parsed()
    text = dedent(text).strip("\n")
    refusal = _refuse_text(text)
    if refusal:
        parsed.mistakes.append((0, refusal))
        return parsed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(text).body
    except SyntaxError as error:
        line = min(max((error.lineno or 1) - 1, 0), text.count("\n"))
        source = (text.splitlines() or [""])[line].strip()
        parsed.mistakes.append((line, f"cannot read {shorten(source)} as an expression"))
        return parsed
    except (RecursionError, MemoryError, ValueError):
        parsed.mistakes.append((0, f"nested more than {MAX_DEPTH} deep"))
        return parsed
    (reader or Reader)(parsed, taken).read(statements)
    return parsed


def parse_expression(text: str) -> Parsed:
    """Parses one expression."""
    parsed = parse_body(text)
    if not parsed.mistakes and len(parsed.results) != 1:
        parsed.mistakes.append((0, "must be one expression, not a tuple"))
    return parsed


def _refuse_text(text: str) -> str:
    if len(text) > MAX_LENGTH:
        return f"is {len(text)} characters long; at most {MAX_LENGTH} are allowed"
    if not text.strip():
        return "is empty; an expression is expected"
    strange = next((char for char in text if not (char == "\n" or " " <= char <= "~")), "")
    if strange:
        return f"holds the character {strange!a}; only printable ASCII is allowed"
    depth = deepest = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH or re.search(rf"[-+~\s]{{{MAX_DEPTH * 4}}}", text):
        return f"nested more than {MAX_DEPTH} deep"
    return ""


class Reader:
    """Walks Python's tree and makes ours; a refused part becomes a mistake and the number 0."""

    most_nodes = MAX_NODES

    def __init__(self, parsed: Parsed, taken: Collection[str]) -> None:
        self.parsed = parsed
        self.taken = frozenset(taken)
        self.locals: dict[str, Expr] = {}
        self.unread: dict[str, int] = {}
        self.nodes = 0

    def read(self, statements: list[ast.stmt]) -> None:
        """Reads the lines of a body."""
        if not statements:
            self.parsed.mistakes.append((0, "is empty; an expression is expected"))
            return
        *assignments, last = statements
        for statement in assignments:
            self.read_assignment(statement)
        if not isinstance(last, ast.Expr):
            self.refuse(last, "the last line must be an expression, the result")
            return
        elements = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        self.parsed.results = tuple(self.expr(element, 1) for element in elements)
        for name, line in self.unread.items():
            self.parsed.mistakes.append((line, f"{name!r} is assigned but never read"))

    def read_assignment(self, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Assign):
            self.refuse(statement, "only lines `name = expression` may stand before the last line")
            return
        value = self.expr(statement.value, 1)
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            self.refuse(statement, "an assignment needs one plain name on its left")
            return
        name = target.id
        if self.means(name):
            self.refuse(statement, f"{name!r} already means something here; choose a new name")
        elif name.startswith("_"):
            self.refuse(statement, f"{name!r}: names must not begin with an underscore")
        else:
            self.locals[name] = value
            self.unread[name] = statement.lineno - 1

    def means(self, name: str) -> bool:
        """Whether a name has a meaning already."""
        return name in self.taken or name in CONSTANTS or name in self.locals or name in FORMS

    def refuse(self, node: ast.AST, text: str) -> Num:
        mistake = (getattr(node, "lineno", 1) - 1, text)
        if mistake not in self.parsed.mistakes:
            self.parsed.mistakes.append(mistake)
        return Num(0)

    def expr(self, node: ast.expr, depth: int) -> Expr:
        """One node of the whitelist."""
        self.nodes += 1
        if depth > MAX_DEPTH:
            return self.refuse(node, f"nested more than {MAX_DEPTH} deep")
        if self.nodes > self.most_nodes:
            return self.refuse(node, f"larger than {self.most_nodes} numbers, names and calls")
        match node:
            case ast.Constant():
                return self.number(node)
            case ast.Name():
                return self.name(node)
            case ast.UnaryOp(op=ast.UAdd()):
                return self.expr(node.operand, depth + 1)
            case ast.UnaryOp() if type(node.op) in UNARY:
                return self.unary(node, depth)
            case ast.UnaryOp():
                return self.refuse(node, "`not` is not part of the language (write logical_not)")
            case ast.BinOp():
                return self.binary(node, depth)
            case ast.Compare():
                return self.compare(node, depth)
            case ast.Call():
                return self.call(node, depth)
        what = REFUSED.get(type(node), type(node).__name__)
        return self.refuse(node, f"{what} is not part of the expression language")

    def number(self, node: ast.Constant) -> Expr:
        value = node.value
        if not isinstance(value, (bool, int, float)):
            what = "text" if isinstance(value, (str, bytes)) else shorten(repr(value))
            return self.refuse(node, f"{what} is not a number that an expression may hold")
        if isinstance(value, int) and value > INT64_MAX:
            return self.refuse(node, "an integer does not fit in 64 bits")
        return Num(value)

    def name(self, node: ast.Name) -> Expr:
        if node.id in self.locals:
            self.unread.pop(node.id, None)
            return self.locals[node.id]
        if node.id in CONSTANTS:
            return Num(CONSTANTS[node.id], node.id)
        if node.id.startswith("_"):
            return self.refuse(node, f"{node.id!r}: names must not begin with an underscore")
        return Name(node.id)

    def binary(self, node: ast.BinOp, depth: int) -> Expr:
        """A chain `a + b - c` is as deep as its parts, however many it has."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        self.nodes += len(chain) - 1
        found = self.expr(chain[-1].left, depth + 1)
        for link in reversed(chain):
            found = Call(BINARY[type(link.op)], (found, self.expr(link.right, depth + 1)))
        return found

    def unary(self, node: ast.UnaryOp, depth: int) -> Expr:
        operand = self.expr(node.operand, depth + 1)
        negates = isinstance(node.op, ast.USub)
        if negates and isinstance(operand, Num) and not isinstance(operand.value, bool):
            return Num(-operand.value, f"-{operand.name}" if operand.name else "")
        return Call(UNARY[type(node.op)], (operand,))

    def compare(self, node: ast.Compare, depth: int) -> Expr:
        if len(node.ops) != 1:
            return self.refuse(node, "comparisons cannot be chained (write (a < b) & (b < c))")
        function = COMPARE.get(type(node.ops[0]))
        if function is None:
            return self.refuse(node, "`is` and `in` are not part of the expression language")
        return Call(
            function, (self.expr(node.left, depth + 1), self.expr(node.comparators[0], depth + 1))
        )

    def call(self, node: ast.Call, depth: int) -> Expr:
        if not isinstance(node.func, ast.Name):
            return self.refuse(node, "only a function's plain name can be called")
        function = node.func.id
        if function.startswith("_"):
            return self.refuse(node, f"{function!r}: names must not begin with an underscore")
        if function in FORMS:
            text = f"{function}() may only stand as the value of a keyword argument"
            return self.refuse(node, text)
        args = tuple(self.expr(arg, depth + 1) for arg in node.args)
        if function in MACROS and (len(args) != 1 or node.keywords):
            return self.refuse(node, f"{function} takes exactly one argument")
        if function == ZEROS:
            return Call("broadcast_to", (Num(0),), (("shape", Attr("shape", of=args[0])),))
        if function == TRANSPOSED:
            swapped = Attr("list", name="swapped", parts=(Attr("rank", of=args[0]),))
            return Call("permute_dims", args, (("axes", swapped),))
        if function == FLOW:
            is_still = Call("equal", (Name("dy"), Num(0)))
            nothing = Call("bitwise_and", (is_still, Call("isnan", args)))
            return Call("where", (nothing, Num(0), *args))
        attrs: Attrs = tuple(
            (keyword.arg, self.attribute(keyword.value, depth + 1))
            for keyword in node.keywords
            if keyword.arg is not None
        )
        if len(attrs) != len(node.keywords):
            self.refuse(node, "**unpacking is not part of the expression language")
        if function == SIZE and (len(args) != 1 or attrs):
            self.refuse(node, "size takes exactly one argument")
        modes = [(name, attr.kind) for name, attr in attrs]
        if function == ELEMWISE and (len(args) != 1 or modes != [("mode", "attr")]):
            return self.refuse(
                node, "elemwise takes one argument and mode=, an attribute of the op"
            )
        return Call(function, args, attrs)

    def attribute(self, node: ast.expr, depth: int) -> Attr:
        """The value of a keyword argument."""
        match node:
            case ast.Name():
                return Attr("attr", name=node.id)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="shape")) as call):
                return self.dim(node, call, depth)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in LISTS:
                parts = tuple(self.attribute(arg, depth + 1) for arg in args)
                if len(parts) != LISTS[name]:
                    self.refuse(node, f"{name} takes {LISTS[name]} arguments; got {len(parts)}")
                return Attr("list", name=name, parts=parts)
            case ast.Call(func=ast.Name(id="size")):
                return Attr("size", of=self.form_of(node, depth))
            case ast.Call(func=ast.Name(id=("shape" | "dtype") as form)):
                return Attr(form, of=self.form_of(node, depth))
            case ast.BinOp() if type(node.op) in ARITHMETIC:
                return self.arithmetic(node, depth)
            case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
                operands = (Attr("literal", literal=-1), self.attribute(node.operand, depth + 1))
                return Attr("arithmetic", name="multiply", parts=operands)
            case ast.Tuple() if not all(map(_is_integer, node.elts)):
                parts = tuple(self.attribute(element, depth + 1) for element in node.elts)
                return Attr("tuple", parts=parts)
        return Attr("literal", literal=self.literal(node))

    def dim(self, node: ast.Subscript, call: ast.Call, depth: int) -> Attr:
        """`shape(x)[0]`, or `shape(x)[axis]`."""
        of = self.form_of(call, depth)
        if isinstance(node.slice, ast.Name):
            return Attr("dim", of=of, parts=(Attr("attr", name=node.slice.id),))
        dim = self.literal(node.slice)
        if isinstance(dim, int) and not isinstance(dim, bool):
            return Attr("dim", of=of, dim=dim)
        self.refuse(node, "shape(x)[i] needs an integer i")
        return Attr("literal")

    def arithmetic(self, node: ast.BinOp, depth: int) -> Attr:
        """Numbers and attributes, calculated when the body runs."""
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > self.most_nodes:
            self.refuse(node, f"nested more than {MAX_DEPTH} deep")
            return Attr("literal")
        parts = (self.attribute(node.left, depth + 1), self.attribute(node.right, depth + 1))
        return Attr("arithmetic", name=BINARY[type(node.op)], parts=parts)

    def form_of(self, call: ast.Call, depth: int) -> Expr:
        if len(call.args) != 1 or call.keywords:
            return self.refuse(call, "shape and dtype take exactly one argument")
        return self.expr(call.args[0], depth + 1)

    def literal(self, node: ast.expr) -> AttrLiteral:
        match node:
            case ast.Constant(value=None | bool() | float() | str() as value):
                return value
            case ast.Constant(value=int(value)) if value <= INT64_MAX:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Tuple():
                elements = [self.literal(element) for element in node.elts]
                integers = tuple(element for element in elements if type(element) is int)
                if len(integers) == len(elements):
                    return integers
        text = (
            "a keyword argument must be a literal, an attribute of the op, shape(x), dtype(x) or "
            "arithmetic on such"
        )
        self.refuse(node, text)
        return None


def _is_integer(node: ast.expr) -> bool:
    operand = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(operand, ast.Constant)


def suggest_function(name: str, known: Collection[str]) -> str:
    """The message for a function that does not exist."""
    return f"unknown function {name!r}{did_you_mean(name, known)}"
