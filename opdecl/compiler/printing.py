"""Expression trees -> text: infix for docstrings and messages, LaTeX for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .expression import CHOICE, RESULT, Attr, AttrLiteral, Call, Expr, Name, Num, topological

MAX_PRINTED = 2_000

INFIX: Mapping[str, tuple[str, int]] = {
    "equal": ("==", 1), "not_equal": ("!=", 1), "less": ("<", 1), "less_equal": ("<=", 1),
    "greater": (">", 1), "greater_equal": (">=", 1), "bitwise_or": ("|", 2),
    "bitwise_xor": ("^", 3), "bitwise_and": ("&", 4), "bitwise_left_shift": ("<<", 5),
    "bitwise_right_shift": (">>", 5), "add": ("+", 6), "subtract": ("-", 6),
    "multiply": ("*", 7), "divide": ("/", 7), "floor_divide": ("//", 7), "remainder": ("%", 7),
    "matmul": ("@", 7),
}  # fmt: skip
CONDITIONS: Mapping[str, str] = {
    "logical_and": "{} and {}", "logical_or": "{} or {}", "logical_not": "not {}",
}  # fmt: skip
PREFIX: Mapping[str, str] = {"negative": "-", "bitwise_invert": "~"}
UNARY, POWER, ATOM = 8, 9, 10

LATEX_INFIX: Mapping[str, str] = {
    "==": "=", "!=": r"\ne", "<": "<", "<=": r"\le", ">": ">", ">=": r"\ge", "|": r"\lor",
    "^": r"\oplus", "&": r"\land", "<<": r"\ll", ">>": r"\gg", "+": "+", "-": "-", "*": r"\,",
    "//": r"\mathbin{//}", "%": r"\bmod", "@": r"\,",
}  # fmt: skip
LATEX_NAMES: Mapping[str, str] = {
    "exp": r"\exp", "log": r"\ln", "sin": r"\sin", "cos": r"\cos", "tan": r"\tan",
    "sinh": r"\sinh", "cosh": r"\cosh", "tanh": r"\tanh", "asin": r"\arcsin",
    "acos": r"\arccos", "atan": r"\arctan", "minimum": r"\min", "maximum": r"\max",
    "max": r"\max", "min": r"\min", "sum": r"\sum",
}  # fmt: skip
LATEX_CONSTANTS: Mapping[str, str] = {
    "PI": r"\pi", "E": "e", "SQRT2": r"\sqrt{2}", "SQRT1_2": r"\frac{1}{\sqrt{2}}",
    "LN2": r"\ln 2", "LN10": r"\ln 10", "LOG2_E": r"\frac{1}{\ln 2}",
    "LOG10_E": r"\frac{1}{\ln 10}", "SQRT_2_OVER_PI": r"\sqrt{\frac{2}{\pi}}",
    "TWO_OVER_SQRT_PI": r"\frac{2}{\sqrt{\pi}}", "INF": r"\infty", "NAN": r"\mathrm{NaN}",
}  # fmt: skip
GREEK = frozenset(["alpha", "beta", "gamma", "delta", "epsilon", "lambda", "mu", "sigma"])


class _Printer:
    """What both notations share: one text and one binding strength for each node."""

    def __init__(self) -> None:
        self.done: dict[Expr, tuple[str, int]] = {}

    def run(self, result: Expr) -> str:
        for node in topological([result]):
            text, level = self.node(node)
            self.done[node] = (text if len(text) < MAX_PRINTED else "...", level)
        return self.done[result][0]

    def node(self, node: Expr) -> tuple[str, int]:
        if isinstance(node, Name):
            return self.name(node.id), ATOM
        if isinstance(node, Num):
            is_negative = not isinstance(node.value, bool) and str(node.value).startswith("-")
            return self.number(node), UNARY if is_negative else ATOM
        if isinstance(node, Call):
            return self.call(node)
        raise TypeError(f"{node!r} is no expression")

    def at(self, node: Expr, level: int) -> str:
        """A node's text, in brackets where it binds less tightly than `level`."""
        text, own = self.done[node]
        return text if own >= level else self.brackets(text)

    def attrs(self, node: Call) -> list[str]:
        texts = []
        for name, attr in node.attrs:
            texts.append(f"{name}={self.attr(attr)[0]}")
        return texts

    def attr(self, attr: Attr) -> tuple[str, int]:
        """An attribute's text and how tightly it binds."""
        if attr.kind == "arithmetic" and attr.name in CONDITIONS:
            parts = [f"({text})" for text, _ in map(self.attr, attr.parts)]
            return CONDITIONS[attr.name].format(*parts), 0
        if attr.kind == "arithmetic" and attr.name not in INFIX:
            return f"{attr.name[:3]}({', '.join(self.attr(part)[0] for part in attr.parts)})", ATOM
        if attr.kind == "arithmetic":
            sign, level = INFIX[attr.name]
            left, right = (self.attr(part) for part in attr.parts)
            first = left[0] if left[1] >= level else f"({left[0]})"
            second = right[0] if right[1] > level else f"({right[0]})"
            return f"{first} {sign} {second}", level
        if attr.kind == "list":
            return f"{attr.name}({', '.join(self.attr(part)[0] for part in attr.parts)})", ATOM
        if attr.kind == "tuple":
            parts = [self.attr(part)[0] for part in attr.parts]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})", ATOM
        if attr.of is not None:
            form = {"dim": "shape", "rank": "ndim"}.get(attr.kind, attr.kind)
            dim = self.attr(attr.parts[0])[0] if attr.parts else str(attr.dim)
            index = f"[{dim}]" if attr.kind == "dim" else ""
            return f"{form}({self.done[attr.of][0]}){index}", ATOM
        if attr.kind == "literal":
            text = literal(attr.literal)
            return text, UNARY if text.startswith("-") else ATOM
        return attr.name, ATOM

    def brackets(self, text: str) -> str:
        raise NotImplementedError

    def name(self, name: str) -> str:
        raise NotImplementedError

    def number(self, node: Num) -> str:
        raise NotImplementedError

    def call(self, node: Call) -> tuple[str, int]:
        raise NotImplementedError


class _Infix(_Printer):
    def brackets(self, text: str) -> str:
        return f"({text})"

    def name(self, name: str) -> str:
        return name

    def number(self, node: Num) -> str:
        return node.name or repr(node.value)

    def call(self, node: Call) -> tuple[str, int]:
        if node.function in PREFIX and len(node.args) == 1 and not node.attrs:
            return PREFIX[node.function] + self.at(node.args[0], UNARY), UNARY
        if len(node.args) == 2 and not node.attrs:
            a, b = node.args
            if node.function == "pow":
                return f"{self.at(a, POWER + 1)} ** {self.at(b, UNARY)}", POWER
            if node.function in INFIX:
                sign, level = INFIX[node.function]
                left = self.at(a, level + (level == 1))  # comparisons do not chain
                return f"{left} {sign} {self.at(b, level + 1)}", level
        if node.function == CHOICE:
            then, other = (self.at(arg, UNARY) for arg in node.args)
            return f"{then} if {self.attr(node.attrs[0][1])[0]} else {other}", 0
        if node.function == RESULT:
            return f"{self.done[node.args[0]][0]}[{node.attrs[0][1].literal}]", ATOM
        parts = [self.done[arg][0] for arg in node.args] + self.attrs(node)
        return f"{node.function}({', '.join(parts)})", ATOM


class _Latex(_Printer):
    def brackets(self, text: str) -> str:
        return rf"\left({text}\right)"

    def name(self, name: str) -> str:
        head = name.rstrip("0123456789")
        base = rf"\{head}" if head in GREEK else head
        if len(head) > 1 and head not in GREEK:
            escaped = head.replace("_", r"\_")
            base = rf"\mathrm{{{escaped}}}"
        tail = name[len(head) :]
        return f"{base}_{{{tail}}}" if tail else base

    def number(self, node: Num) -> str:
        sign = "-" if node.name.startswith("-") else ""
        constant = LATEX_CONSTANTS.get(node.name.removeprefix("-"))
        if constant is not None:
            return sign + constant
        mantissa, _, exponent = repr(node.value).partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def call(self, node: Call) -> tuple[str, int]:
        name, args = node.function, node.args
        plain = [self.done[arg][0] for arg in args]
        if name == RESULT:
            return rf"{{{plain[0]}}}_{{{node.attrs[0][1].literal}}}", ATOM
        match name, len(args):
            case "divide", 2:
                return rf"\frac{{{plain[0]}}}{{{plain[1]}}}", ATOM
            case "sqrt", 1:
                return rf"\sqrt{{{plain[0]}}}", ATOM
            case "abs", 1:
                return rf"\left|{plain[0]}\right|", ATOM
            case "square", 1:
                return rf"{self.at(args[0], ATOM)}^{{2}}", POWER
            case "pow", 2:
                return rf"{self.at(args[0], ATOM)}^{{{plain[1]}}}", POWER
            case ("floor" | "ceil") as side, 1:
                return rf"\l{side} {plain[0]} \r{side}", ATOM
            case "where", 3:
                rows = rf"{plain[1]} & \text{{if }} {plain[0]} \\ {plain[2]} & \text{{else}}"
                return rf"\begin{{cases}} {rows} \end{{cases}}", ATOM
        if name in PREFIX and len(args) == 1:
            sign = "-" if name == "negative" else r"\lnot "
            return sign + self.at(args[0], UNARY), UNARY
        if name in INFIX and len(args) == 2 and not node.attrs:
            sign, level = INFIX[name]
            left = self.at(args[0], level + (level == 1))
            right = self.at(args[1], level + 1)
            if sign == "*" and right[:1].isdigit():
                return rf"{left} \cdot {right}", level
            return f"{left} {LATEX_INFIX[sign]} {right}", level
        escaped = name.replace("_", r"\_")
        head = LATEX_NAMES.get(name, rf"\operatorname{{{escaped}}}")
        return rf"{head}\left({', '.join(plain)}\right)", ATOM


def literal(value: AttrLiteral) -> str:
    """A literal as Python."""
    return repr(value)


def to_infix(result: Expr) -> str:
    """Text of the expression language, which parses back to the same tree."""
    return _Infix().run(result)


def to_latex(result: Expr) -> str:
    """LaTeX for mathematics mode."""
    return _Latex().run(result)


def body_text(results: Iterable[Expr]) -> str:
    """The results of a body on one line."""
    return ", ".join(to_infix(result) for result in results)
