"""Makes calls, simplified.

`simplify` is the constructor that derivatives are built with: it drops what multiplies by one,
adds zero, negates twice. Each rule holds for floats too, but for one that calculus needs: 0 * x is
0 even where x is infinite. `simplify_forward` is what declared expressions are built with; it
changes no dtype and no special value, so it only turns constant powers into products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from .expression import Attrs, Call, Expr, Num, Value

ZERO = Num(0)
MAX_FOLDED = 2**53

FOLD: Mapping[str, Callable[[Value, Value], Value]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
}


def is_zero(expr: Expr) -> bool:
    """Whether it is the number 0."""
    return isinstance(expr, Num) and expr.value == 0


def _is(expr: Expr, value: float) -> bool:
    return isinstance(expr, Num) and not isinstance(expr.value, bool) and expr.value == value


def _call(expr: Expr, function: str) -> tuple[Expr, ...] | None:
    """The arguments, where `expr` calls `function`."""
    return expr.args if isinstance(expr, Call) and expr.function == function else None


def _fold(function: str, args: tuple[Expr, ...]) -> Expr | None:
    operation = FOLD.get(function)
    if operation is None or len(args) != 2:
        return None
    a, b = args
    if not isinstance(a, Num) or not isinstance(b, Num):
        return None
    if isinstance(a.value, bool) or isinstance(b.value, bool):
        return None
    if function == "divide" and b.value == 0:
        return None
    if function == "pow" and not _is_plain_power(a.value, b.value):
        return None
    value = operation(a.value, b.value)
    is_safe = math.isfinite(value) and abs(value) <= MAX_FOLDED
    return Num(value) if is_safe else None


def _is_plain_power(a: Value, b: Value) -> bool:
    """Whether a**b is real, of moderate size, and an integer where a and b are."""
    if not 0 < abs(a) <= MAX_FOLDED or abs(b) > 64:
        return False
    return b >= 0 if isinstance(a, int) and isinstance(b, int) else a > 0


COMPARE: Mapping[str, Callable[[Value, Value], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}


def _compare(function: str, args: tuple[Expr, ...]) -> Expr | None:
    """A comparison of two numbers."""
    match args:
        case (Num(value=a), Num(value=b)) if function in COMPARE:
            return Num(COMPARE[function](a, b))
    return None


def _through_where(function: str, args: tuple[Expr, ...]) -> Expr | None:
    """-where(c, a, 0), where(c, a, 0) * b and where(c, a, 0) / b, done inside the branch.

    So nothing that b is where the branch is not taken, infinite or NaN, can spoil the zero. Only
    the outermost of nested branches is entered, lest hostile nesting recurse.
    """
    if function not in ("negative", "multiply", "divide"):
        return None
    for i, arg in enumerate(args[: 1 if function == "divide" else 2]):
        parts = _call(arg, "where")
        if parts is None or not (is_zero(parts[1]) or is_zero(parts[2])):
            continue
        condition, a, b = parts
        if _call(b if is_zero(a) else a, "where") is not None:
            continue
        inner = simplify(function, (*args[:i], b if is_zero(a) else a, *args[i + 1 :]))
        branches = (ZERO, inner) if is_zero(a) else (inner, ZERO)
        return simplify("where", (condition, *branches))
    return None


def _add_wheres(a: Expr, b: Expr) -> Expr | None:
    """where(c, x, 0) + where(c, z, y) -> where(c, x + z, y)."""
    first, second = _call(a, "where"), _call(b, "where")
    if first is None or second is None or first[0] != second[0]:
        return None
    if not any(is_zero(part) for part in (*first[1:], *second[1:])):
        return None
    sums = (simplify("add", (first[i], second[i])) for i in (1, 2))
    return simplify("where", (first[0], *sums))


def simplify(function: str, args: tuple[Expr, ...], attrs: Attrs = ()) -> Expr:
    """A call in a derivative."""
    folded = _fold(function, args) or _compare(function, args)
    if folded is not None:
        return folded
    rule = RULES.get(function)
    simpler = rule(*args) if rule is not None else None
    if simpler is None:
        simpler = _through_where(function, args)
    return Call(function, args, attrs) if simpler is None else simpler


def simplify_forward(function: str, args: tuple[Expr, ...], attrs: Attrs = ()) -> Expr:
    """A call in a declared expression."""
    simpler = _fold(function, args)
    match function, args:
        case "pow", (base, Num(value=exponent)) if not isinstance(base, Num):
            if exponent in (2, 3, 4, 0.5, -1) and not isinstance(exponent, bool):
                simpler = _pow(*args)
        case "negative", (Num(value=value),) if value != 0 and not isinstance(value, bool):
            simpler = Num(-value)
        case "divide", (a, b):
            simpler = simpler or _scale(a, b)
    return Call(function, args, attrs) if simpler is None else simpler


def _scale(a: Expr, b: Expr) -> Expr | None:
    """a / 2^n -> 2^-n * a, which is the same number; where 2^-n is a normal float32."""
    if not isinstance(b, Num) or isinstance(b.value, bool) or not math.isfinite(b.value):
        return None
    mantissa, exponent = math.frexp(b.value)
    if abs(mantissa) != 0.5 or not -120 < exponent < 120:
        return None
    return Call("multiply", (Num(1 / b.value), a))


def negate(a: Expr) -> Expr:
    """-a."""
    return simplify("negative", (a,))


def _negative(a: Expr) -> Expr | None:
    if isinstance(a, Num) and not isinstance(a.value, bool):
        return Num(-a.value)
    inner = _call(a, "negative")
    if inner is not None:
        return inner[0]
    inner = _call(a, "subtract")
    return simplify("subtract", (inner[1], inner[0])) if inner is not None else None


def _add(a: Expr, b: Expr) -> Expr | None:
    if is_zero(a):
        return b
    if is_zero(b):
        return a
    if a == b:
        return simplify("multiply", (Num(2), a))
    minus_b, minus_a = _call(b, "negative"), _call(a, "negative")
    if minus_b is not None:
        return simplify("subtract", (a, minus_b[0]))
    if minus_a is not None:
        return simplify("subtract", (b, minus_a[0]))
    return _add_wheres(a, b)


def _subtract(a: Expr, b: Expr) -> Expr | None:
    if is_zero(b):
        return a
    if is_zero(a):
        return negate(b)
    minus_b = _call(b, "negative")
    return simplify("add", (a, minus_b[0])) if minus_b is not None else None


def _multiply(a: Expr, b: Expr) -> Expr | None:
    if is_zero(a) or is_zero(b):
        return ZERO
    if _is(b, 1):
        return a
    if isinstance(b, Num) and not isinstance(a, Num):
        return simplify("multiply", (b, a))
    if _is(a, 1):
        return b
    if _is(a, -1):
        return negate(b)
    for x, other, swapped in ((a, b, False), (b, a, True)):
        inner = _call(x, "negative")
        if inner is not None:
            pair = (other, inner[0]) if swapped else (inner[0], other)
            return negate(simplify("multiply", pair))
    return _gather_constant(a, b)


def _gather_constant(a: Expr, b: Expr) -> Expr | None:
    """c * (d * x) -> (c * d) * x, and constants to the front."""
    scaled = _scaled(b)
    if scaled is not None and isinstance(a, Num):
        product = _fold("multiply", (a, scaled[0]))
        return simplify("multiply", (product, scaled[1])) if product is not None else None
    if scaled is not None:
        return simplify("multiply", (scaled[0], simplify("multiply", (a, scaled[1]))))
    scaled = _scaled(a)
    if scaled is not None:
        return simplify("multiply", (scaled[0], simplify("multiply", (scaled[1], b))))
    return None


def _scaled(expr: Expr) -> tuple[Num, Expr] | None:
    """The parts of c * x, unless x is such a product too: its constants were too large to join."""
    parts = _call(expr, "multiply")
    if parts is None or not isinstance(parts[0], Num):
        return None
    inner = _call(parts[1], "multiply")
    if isinstance(parts[1], Num) or (inner is not None and isinstance(inner[0], Num)):
        return None
    return parts[0], parts[1]


def _divide(a: Expr, b: Expr) -> Expr | None:
    if is_zero(a):
        return ZERO
    if _is(b, 1):
        return a
    minus_a, minus_b = _call(a, "negative"), _call(b, "negative")
    if minus_a is not None:
        return negate(simplify("divide", (minus_a[0], b)))
    if minus_b is not None:
        return negate(simplify("divide", (a, minus_b[0])))
    scaled = _scale(a, b)
    return simplify("multiply", (Num(1 / b.value), a)) if isinstance(b, Num) and scaled else None


def _pow(a: Expr, b: Expr) -> Expr | None:
    square = Call("square", (a,))
    if _is(b, 0):
        return Num(1)
    if _is(b, 1):
        return a
    if _is(b, 2):
        return square
    if _is(b, 3):
        return Call("multiply", (square, a))
    if _is(b, 4):
        return Call("square", (square,))
    if _is(b, 0.5):
        return Call("sqrt", (a,))
    return Call("reciprocal", (a,)) if _is(b, -1) else None


def _conj(a: Expr) -> Expr | None:
    if isinstance(a, Num):
        return a
    inner = _call(a, "conj")
    return inner[0] if inner is not None else None


def _where(condition: Expr, a: Expr, b: Expr) -> Expr | None:
    if isinstance(condition, Num) and isinstance(condition.value, bool):
        return a if condition.value else b
    return a if a == b else None


RULES: Mapping[str, Callable[..., Expr | None]] = {
    "negative": _negative,
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "pow": _pow,
    "conj": _conj,
    "where": _where,
}
