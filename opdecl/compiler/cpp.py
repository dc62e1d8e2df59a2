"""Literals of C++ and expressions of scalar functions as C++.

Where all values are floating-point, sums, differences, products, quotients and negation print as
operators; every other function prints as a call of the C++ function with its functional name. On
integers these wrap around, where C++'s operators would have no meaning. A subexpression that is
read more than once becomes a `const auto`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from .checks import computes_in_bool, is_condition, leading_category, value_types
from .expression import AttrLiteral, Call, Expr, Name, Num, Value, children, topological
from .model import Arg, Category, Entry

OPERATORS: Mapping[str, tuple[str, int]] = {
    "add": ("+", 1),
    "subtract": ("-", 1),
    "multiply": ("*", 2),
    "divide": ("/", 2),
}
UNARY, ATOM = 3, 4


def text_literal(text: str) -> str:
    """A string literal."""
    escaped = "".join(
        char if " " <= char <= "~" and char not in '"\\' else _escape(char) for char in text
    )
    return f'"{escaped}"'


def _escape(char: str) -> str:
    return f"\\{char}" if char in '"\\' else "".join(f"\\{b:03o}" for b in char.encode())


def number_literal(value: Value, kind: str = "double") -> str:
    """A number; `kind` is the type whose infinity is meant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == -(2**63):
        return "std::numeric_limits<int64_t>::min()"
    if isinstance(value, int):
        return str(value) if value != -(2**63) else "std::numeric_limits<int64_t>::min()"
    if math.isnan(value):
        return f"std::numeric_limits<{kind}>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' * (value < 0)}std::numeric_limits<{kind}>::infinity()"
    text = f"{value:.17g}"
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def attr_literal(value: AttrLiteral) -> str:
    """A value of the variant `Attr`."""
    if value is None:
        return "Nothing{}"
    if isinstance(value, str):
        return f"std::string{{{text_literal(value)}}}"
    if isinstance(value, tuple):
        return f"std::vector<int64_t>{{{', '.join(map(number_literal, value))}}}"
    text = number_literal(value)
    return f"int64_t{{{text}}}" if type(value) is int else text


class ScalarPrinter:
    """Prints the expressions of one scalar function (or of one part of a reduction)."""

    def __init__(
        self, results: Sequence[Expr], args: tuple[Arg, ...], functions: Mapping[str, Entry]
    ) -> None:
        self.results = tuple(results)
        self.functions = functions
        self.types = value_types(self.results, args, functions)
        self.has_operators = leading_category(args) in (
            Category.REAL_FLOATING,
            Category.FLOATING,
        )
        self.uses_type = False
        self.names: dict[Expr, str] = {}

    def statements(self) -> list[str]:
        """The shared subexpressions, as declarations of constants."""
        order = topological(self.results)
        uses = Counter(child for node in order for child in children(node))
        uses.update(self.results)
        lines = []
        for node in order:
            if isinstance(node, Call) and uses[node] > 1:
                text = self.print(node)
                self.names[node] = f"t{len(self.names)}"
                lines.append(f"const auto {self.names[node]} = {text};")
        return lines

    def result(self, node: Expr, result: str = "same") -> str:
        """A result, of the type that the function promises ("any": as it comes)."""
        if result in ("same", "real"):
            return self.as_type(node)
        text = self.print(node)
        return f"int64_t({text})" if result == "int64" else text

    def as_type(self, node: Expr) -> str:
        """A value of type T."""
        if self.types[node] == "T":
            return self.print(node)
        self.uses_type = True
        if isinstance(node, Num):
            return f"T({number_literal(node.value, 'T')})"
        return f"T({self.print(node)})"

    def print(self, node: Expr) -> str:
        """A value of its own type."""
        if node in self.names:
            return self.names[node]
        if isinstance(node, Name):
            return node.id
        if isinstance(node, Num):
            return number_literal(node.value)
        if not isinstance(node, Call):
            raise TypeError(f"{node!r} is no expression")
        parts = self.arguments(node)
        if node.function == "negative" and self.has_operators:
            return f"-{self.bracket(node.args[0], parts[0], UNARY)}"
        if node.function in OPERATORS and self.has_operators:
            sign, level = OPERATORS[node.function]
            left = self.bracket(node.args[0], parts[0], level)
            right = self.bracket(node.args[1], parts[1], level + 1)
            return f"{left} {sign} {right}"
        return f"{node.function}({', '.join(parts)})"

    def arguments(self, node: Call) -> list[str]:
        entry = self.functions[node.function]
        in_bool = computes_in_bool(node, entry, self.types)
        return [
            self.print(value) if in_bool or is_condition(arg, entry.args) else self.as_type(value)
            for value, arg in zip(node.args, entry.args, strict=True)
        ]

    def bracket(self, node: Expr, text: str, level: int) -> str:
        """`text`, in brackets where the operator around it binds more tightly."""
        return f"({text})" if self.level(node, text) < level else text

    def level(self, node: Expr, text: str) -> int:
        if not isinstance(node, Call) or node in self.names or self.types[node] != "T":
            return ATOM
        if not self.has_operators:
            return ATOM
        if node.function == "negative":
            return UNARY - 1 if text.startswith("-") else ATOM
        return OPERATORS[node.function][1] if node.function in OPERATORS else ATOM
