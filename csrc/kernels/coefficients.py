"""Makes the constants and the polynomials of the kernels, and says how good each one is.

Float needs an error of about 2^-26 and double about 2^-55 to stay out of the way of rounding; that
is how the degrees were chosen. Coefficients are rounded to the type after they were found (see
remez.py), and the error is measured again with the rounded ones. What is for float goes into
math_coefficients.h, between the `coefficients.py` lines; what is for double, which formulas share,
into opdecl/formulas/coefficients.yaml.

    python3 csrc/kernels/coefficients.py            # print both
    python3 csrc/kernels/coefficients.py --check    # compare them with the files
    python3 csrc/kernels/coefficients.py erf        # only the fits whose name contains "erf"

Needs mpmath; it is not needed to build.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from gamma_fits import DIGAMMA_ZERO, HALF_LOG_2PI_OVER_E, gamma_fits
from mpmath import mp, mpf  # type: ignore[import-untyped]
from remez import Fit, Real, horner, remez, round_to, split


def literal(c_type: str, x: mpf) -> str:
    if c_type == "float":
        assert struct.unpack("f", struct.pack("f", float(x)))[0] == float(x)
    mantissa, _, exponent = float(x).hex().partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}{'f' if c_type == 'float' else ''}"


def wrapped(items: list[str], indent: str, end: str) -> list[str]:
    """The items with commas, in lines of at most 99 characters."""
    lines = [items[0]]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 4 > 100:
            lines[-1] += ","
            lines.append(indent + item)
        else:
            lines[-1] += ", " + item
    lines[-1] += end
    return lines


def emit(fit: Fit, c_type: str, degree: int) -> str:
    """A polynomial: a function of C++, or for double an entry of YAML."""
    exact, t, g, w = remez(fit, degree)
    c = [round_to(c_type, x) for x in exact]
    error = max(abs((horner(c, x) - gx) * wx) for x, gx, wx in zip(t, g, w, strict=True))
    bits = mp.nstr(mp.log(error, 2), 4)
    span = ", ".join(mp.nstr(end, 5) for end in fit.interval)
    items = [literal(c_type, x) for x in c]
    comments = [fit.formula, f"for t in [{span}], with an error of 2^{bits}."]
    if c_type == "double":
        return emit_entry(fit.name, comments, items)
    head = [*(f"// {line}" for line in comments), f"TL_INLINE float {fit.name}(float t) {{"]
    return "\n".join([*head, *wrapped(["  return poly(t", *items], " " * 14, ");"), "}"])


def emit_entry(name: str, comments: list[str], items: list[str]) -> str:
    """A polynomial in YAML."""
    head = [*(f"# {line}" for line in comments), f"- polynomial: {name}", "  coefficients: ["]
    return "\n".join([*head, *wrapped(["    " + items[0], *items[1:]], "    ", "]")])


def emit_shared(name: str, comment: str, parts: list[mpf]) -> str:
    """A constant in YAML, in one part or two."""
    lines = [f"# {comment}."]
    for suffix, part in zip([""] if len(parts) == 1 else ["_HI", "_LO"], parts, strict=True):
        lines += [f"- constant: {name}{suffix}", f"  value: {literal('double', part)}"]
    return "\n".join(lines)


def constant_rows(c_type: str) -> list[tuple[str, str, mpf, list[int]]]:
    """Name, reason for the split, value, and the bits of the parts but the last."""
    full = 24 if c_type == "float" else 53
    times_exponent = full - (9 if c_type == "float" else 12)
    rows: list[tuple[str, str, mpf, list[int]]] = [
        ("kLog2e", "log2(e)", LOG2E, []),
        ("kLn2", "log(2); n Hi is exact for every exponent n", LN2, [times_exponent]),
        ("kLog10e", "log10(e)", LOG10E, []),
        ("kLn2Rounded", "log(2)", LN2, []),
        ("kTwoOverPi", "2 / pi", 2 / mp.pi, []),
        ("kHalfPi", "pi / 2 in three full parts", mp.pi / 2, [full, full]),
        ("kQuarterPi", "pi / 4; n Hi is exact for n <= 4", mp.pi / 4, [full - 3]),
        ("kLog10Of2", "log10(2); n Hi is exact for every exponent n", LOG10_2, [times_exponent]),
    ]
    if c_type == "double":
        rows += [
            ("kLog2eSplit", "log2(e); f Hi is exact where f has 32 bits", LOG2E, [20]),
            ("kLog10eSplit", "log10(e); f Hi is exact where f has 32 bits", LOG10E, [20]),
            ("kHalfPiCut", "pi / 2; n times a part is exact for n < 2^20", mp.pi / 2, [33] * 3),
        ]
    return rows


def shared_constants() -> list[str]:
    """Those for double that formulas read, too."""
    rows: list[tuple[str, str, mpf, list[int]]] = [
        ("LN2", "log(2), whose n HI is exact for every exponent n", LN2, [41]),
        ("TWO_LOG2E", "2 log2(e)", 2 * LOG2E, [53]),
        ("THIRD", "1 / 3", mpf(1) / 3, [53]),
        ("PI", "pi", mp.pi, [53]),
        ("DIGAMMA_ZERO", "the positive zero of digamma", DIGAMMA_ZERO, [53]),
        ("HALF_LOG2_PI_OVER_E", "log(2 pi / e) / 2", HALF_LOG_2PI_OVER_E, []),
    ]
    return [emit_shared(name, text, split("double", x, bits)) for name, text, x, bits in rows]


def emit_constants(c_type: str) -> str:
    """Numbers which must be multiplied exactly (or nearly), split into parts."""
    lines = ["template <>", f"struct Constants<{c_type}> {{"]
    for name, comment, value, bits in constant_rows(c_type):
        parts = split(c_type, value, bits)
        numbers = [str(i + 1) for i in range(len(parts))]
        suffixes = {1: [""], 2: ["Hi", "Lo"]}.get(len(parts), numbers)
        lines.append(f"  // {comment}.")
        for suffix, part in zip(suffixes, parts, strict=True):
            lines.append(f"  static constexpr {c_type} {name}{suffix} = {literal(c_type, part)};")
    return "\n".join([*lines, "};"])


ONE, LN2, SQRT2 = mpf(1), mp.log(2), mp.sqrt(2)
LOG2E, LOG10E, LOG10_2 = 1 / LN2, 1 / mp.log(10), mp.log10(2)
TINY = mpf(2) ** -40  # stands for 0 in intervals of t = r^2
R_MAX = LN2 / 2 * mpf("1.0001")
S_MAX = (SQRT2 - 1) / (SQRT2 + 1)  # s = f / (2 + f)
F_LOW, F_HIGH = 1 / SQRT2 - 1, SQRT2 - 1
Z_TRIG = (mp.pi / 4) ** 2 * mpf("1.0002")


def odd_tail(f: Real) -> Real:
    """P where f(r) = r + r t P(t), t = r^2."""
    return lambda t: (f(mp.sqrt(t)) / mp.sqrt(t) - 1) / t


def odd_tail_weight(f: Real) -> Real:
    return lambda t: mp.sqrt(t) * t / f(mp.sqrt(t))


def exponential_fits() -> list[Fit]:
    def exp2_fit(c_type: str, degree: int) -> Fit:
        slope = round_to(c_type, LN2)
        return Fit(
            "exp2_tail",
            "exp2(t) = 1 + log(2) t + t^2 P(t)",
            lambda t: (mpf(2) ** t - 1 - slope * t) / t**2,
            lambda t: t**2 / mpf(2) ** t,
            (-mpf("0.50001"), mpf("0.50001")),
            {c_type: degree},
        )

    def exp_fit(name: str, formula: str, scale: Real, *degrees: int) -> Fit:
        return Fit(
            name,
            formula,
            lambda t: (mp.expm1(t) - t) / t**2,
            lambda t: t**2 / scale(t),
            (-R_MAX, R_MAX),
            dict(zip(("float", "double"), degrees, strict=True)),
        )

    return [
        exp_fit("exp_tail", "exp(t) = 1 + t + t^2 P(t)", mp.exp, 4, 9),
        exp_fit("expm1_tail", "exp(t) - 1 = t + t^2 P(t)", mp.expm1, 5, 10),
        exp2_fit("float", 4),
        exp2_fit("double", 10),
    ]


def logarithm_fits() -> list[Fit]:
    def scaled(name: str, scale: mpf) -> Fit:
        high = round_to("float", scale)
        return Fit(
            f"{name}_tail",
            f"{name}(1 + t) = {name}(e) t + t P(t)",
            lambda t: (mp.log1p(t) * scale - t * high) / t,
            lambda t: t / (mp.log1p(t) * scale),
            (F_LOW, F_HIGH),
            {"float": 9},
        )

    for_double = Fit(
        "log_tail",
        "log((1 + s) / (1 - s)) = 2 s + s t P(t), t = s^2",
        lambda t: (2 * mp.atanh(mp.sqrt(t)) / mp.sqrt(t) - 2) / t,
        lambda t: t / 2,
        (TINY, S_MAX**2),
        {"double": 6},
    )
    for_float = Fit(
        "log_tail",
        "log(1 + t) = t - t^2 / 2 + t^3 P(t)",
        lambda t: (mp.log1p(t) - t + t**2 / 2) / t**3,
        lambda t: t**3 / mp.log1p(t),
        (F_LOW, F_HIGH),
        {"float": 7},
    )
    return [for_double, for_float, scaled("log2", LOG2E), scaled("log10", LOG10E)]


def trigonometric_fits() -> list[Fit]:
    def odd(name: str, high: mpf, degrees: dict[str, int]) -> Fit:
        f = getattr(mp, name)
        formula = f"{name}(r) = r + r t P(t), t = r^2"
        return Fit(f"{name}_tail", formula, odd_tail(f), odd_tail_weight(f), (TINY, high), degrees)

    cos = Fit(
        "cos_tail",
        "cos(r) = 1 - t / 2 + t^2 P(t), t = r^2",
        lambda t: (mp.cos(mp.sqrt(t)) - 1 + t / 2) / t**2,
        lambda t: t**2 / mp.cos(mp.sqrt(t)),
        (TINY, Z_TRIG),
        {"float": 2, "double": 5},
    )
    return [
        odd("sin", Z_TRIG, {"float": 2, "double": 5}),
        cos,
        odd("atan", ONE, {"float": 8}),
        odd("atan", (SQRT2 - 1) ** 2 * mpf("1.00001"), {"double": 10}),
        odd("asin", ONE / 4, {"float": 4, "double": 11}),
    ]


def error_function_fits() -> list[Fit]:
    def erfc(center: mpf, x_max: mpf, degrees: dict[str, int]) -> Fit:
        """(1 + 2 x) exp(x^2) is about 1 / erfc(x), and t maps [0, inf) to [-1, 1)."""

        def scaled_erfc(t: mpf) -> mpf:
            x = center * (1 + t) / (1 - t)
            return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)

        c = mp.nstr(center, 3)
        return Fit(
            "erfc_scaled",
            f"erfc(x) = exp(-x^2) P(t) / (1 + 2 x), t = (x - {c}) / (x + {c})",
            scaled_erfc,
            lambda t: 1 / scaled_erfc(t),
            (-ONE, (x_max - center) / (x_max + center)),
            degrees,
        )

    small = Fit(
        "erf_small",
        "erf(x) = x + x P(t), t = x^2",
        lambda t: mp.erf(mp.sqrt(t)) / mp.sqrt(t) - 1,
        lambda t: mp.sqrt(t) / mp.erf(mp.sqrt(t)),
        (TINY, ONE),
        {"float": 6, "double": 12},
    )
    middle = mpf("2.5")
    large_float = Fit(
        "erf_large",
        "erf(2.5 + t) = 1 + P(t)",
        lambda t: mp.erf(t + middle) - 1,
        lambda t: 1 / mp.erf(t + middle),
        (1 - middle, mpf("3.93") - middle),
        {"float": 12},
    )
    large_double = Fit(
        "erf_large",
        "erf(t) = 1 - exp(P(t))",
        lambda t: mp.log(mp.erfc(t)),
        lambda t: mp.erfc(t) / mp.erf(t),
        (ONE, mpf("5.95")),
        {"double": 18},
    )
    erfc_float = erfc(mpf(2), mpf("10.1"), {"float": 9})
    erfc_double = erfc(mpf("3.5"), mpf("27.3"), {"double": 22})
    return [small, large_float, large_double, erfc_float, erfc_double]


def power_fits() -> list[Fit]:
    def atanh_ratio(t: mpf) -> mpf:
        return mp.atanh(mp.sqrt(t)) / mp.sqrt(t)

    cbrt = Fit(
        "inverse_cbrt",
        "(1 - t)^(-1/3) = 1 + t P(t)",
        lambda t: ((1 - t) ** (-ONE / 3) - 1) / t,
        lambda t: t * (1 - t) ** (ONE / 3),
        (-mpf("0.12"), mpf("0.12")),
        {"float": 2, "double": 4},
    )
    pow_log = Fit(
        "pow_log_tail",
        "atanh(s) = s + s t (1/3 + t P(t)), t = s^2",
        lambda t: ((atanh_ratio(t) - 1) / t - ONE / 3) / t,
        lambda t: t * t,
        (TINY, S_MAX**2),
        {"double": 7},
    )
    log2_for_float = Fit(
        "log2_for_float",
        "log2((1 + s) / (1 - s)) = s P(t), t = s^2",
        lambda t: 2 * LOG2E * atanh_ratio(t),
        lambda t: 1 / (2 * LOG2E * atanh_ratio(t)),
        (TINY, S_MAX**2),
        {"double": 4},
    )
    exp2_for_float = Fit(
        "exp2_for_float",
        "exp2(t) = 1 + t P(t)",
        lambda t: (mpf(2) ** t - 1) / t,
        lambda t: t / mpf(2) ** t,
        (-mpf("0.50001"), mpf("0.50001")),
        {"double": 5},
    )
    return [cbrt, pow_log, log2_for_float, exp2_for_float]


def fits() -> list[Fit]:
    smooth = exponential_fits() + logarithm_fits() + trigonometric_fits()
    return smooth + error_function_fits() + power_fits() + gamma_fits()


HERE = Path(__file__).parent
FORMULAS = HERE.parent.parent / "opdecl" / "formulas"


def report(blocks: dict[Path, list[str]], is_check: bool) -> int:
    """Prints the pieces, or says which file is without one of them."""
    if not is_check:
        print("\n\n".join(piece for pieces in blocks.values() for piece in pieces))
        return 0
    found = [
        (path, piece in path.read_text()) for path, pieces in blocks.items() for piece in pieces
    ]
    stale = [path for path, is_there in found if not is_there]
    print(f"{stale[0].name} differs from what this prints" if stale else "the same")
    return 1 if stale else 0


def main(arguments: list[str]) -> int:
    words = [a for a in arguments if not a.startswith("--")]
    chosen = [f for f in fits() if not words or any(word in f.name for word in words)]
    constants = [] if words else [emit_constants("float"), emit_constants("double")]
    made = [(t, emit(f, t, n)) for f in chosen for t, n in f.degrees.items()]
    shared = [] if words else shared_constants()
    blocks = {
        HERE / "math_coefficients.h": constants + [text for t, text in made if t == "float"],
        FORMULAS / "coefficients.yaml": shared + [text for t, text in made if t == "double"],
    }
    return report(blocks, "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
