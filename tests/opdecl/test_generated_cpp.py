"""The generated C++ scalar functions, compiled and run, against the reference in NumPy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tensorlike.opdecl import load_builtin
from tensorlike.opdecl.compiler.checks import is_condition
from tensorlike.opdecl.compiler.emit_coefficients import emit_coefficients
from tensorlike.opdecl.compiler.emit_scalars import emit_scalars
from tensorlike.opdecl.compiler.expression import Call, Expr, Name
from tensorlike.opdecl.compiler.formula_reader import load_formulas
from tensorlike.opdecl.compiler.model import Arg, Category, ScalarEntry
from tensorlike.opdecl.oracle.reference import Reference

BUILTIN = load_builtin()
SOURCES = Path(__file__).resolve().parents[2] / "csrc"
POINTS = 24
MAX_ARGS = 18

# A table that calls every function on the inputs and prints the results.
PROGRAM = """
#include <cmath>
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/math_special.h"
#include "kernels/scalar.h"
namespace tensorlike {
namespace {
const double kInputs[%(args)d][%(points)d] = {%(inputs)s};
struct B {};
struct V {};
template <class T>
struct Kind {};
struct Types {
  static constexpr Kind<double> kAll{}, kNumeric{}, kRealNumeric{}, kRealOrBoolean{},
      kFloating{}, kRealFloating{};
  static constexpr Kind<int64_t> kInteger{}, kIntegerOrBoolean{};
  static constexpr Kind<bool> kBoolean{};
};
template <class Mark, class T>
auto input(size_t i, int k) {
  if constexpr (std::is_same_v<Mark, B> || std::is_same_v<T, bool>) return kInputs[i][k] > 1;
  else return static_cast<T>(kInputs[i][k]);
}
void show(double value) { std::printf(" %%.17g", value); }
void show(Complex<double> value) { show(value.re), show(value.im); }
template <class... T>
void show(const std::tuple<T...>& values) {
  std::apply([](auto... value) { (show(static_cast<double>(value)), ...); }, values);
}
struct Table {
  template <class... M, class T, class F>
  void add(const char* name, Kind<T>, F f) {
    std::printf("%%s", name);
    for (int k = 0; k < %(points)d; ++k) {
      [&]<size_t... I>(std::index_sequence<I...>) {
        show(f(input<M, T>(I, k)...));
      }(std::index_sequence_for<M...>{});
    }
    std::printf("\\n");
  }
  template <class... M, class T, class F>
  void add_native(const char* name, Kind<T> types, F f) {
    add<M...>(name, types, f);
  }
};
%(includes)s
}  // namespace
}  // namespace tensorlike
int main() {
  tensorlike::Table table;
%(calls)s
}
"""


def inputs() -> np.ndarray:
    random = np.random.default_rng(7)
    # Multiples of 1/64, so that quotients do not lie within rounding of an integer.
    values = random.integers(6, 192, (MAX_ARGS, POINTS)) / 64
    values[:, ::3] *= -1
    return values


def arrays(args: tuple[Arg, ...]) -> dict[str, np.ndarray]:
    named = {}
    for arg, values in zip(args, inputs(), strict=False):
        if arg.category is Category.BOOLEAN or is_condition(arg, args):
            named[arg.name] = values > 1
        elif arg.category in (Category.INTEGER, Category.INTEGER_OR_BOOLEAN):
            named[arg.name] = values.astype(np.int64)
        else:
            named[arg.name] = values
    return named


def expected() -> dict[str, np.ndarray]:
    reference = Reference(BUILTIN)
    results: dict[str, np.ndarray] = {}

    def evaluate(name: str, result: Expr, args: tuple[Arg, ...]) -> None:
        with np.errstate(all="ignore"):
            value = reference.evaluate([result], arrays(args))[0]
        outputs = value if isinstance(value, tuple) else (value,)
        if np.iscomplexobj(value):
            outputs = (value.real, value.imag)
        columns = [np.broadcast_to(output, POINTS).astype(float) for output in outputs]
        results[name] = np.stack(columns, 1).ravel()

    for entry in BUILTIN.entries:
        if isinstance(entry, ScalarEntry):
            names = tuple(Name(arg.name) for arg in entry.args)
            evaluate(entry.name, Call(entry.name, names), entry.args)
            for derived in BUILTIN.derived_scalars(entry):
                if not derived.is_complex:  # those are programs of their steps
                    evaluate(derived.name, derived.result, derived.args)
    return results


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_generated_scalars_compute_what_the_reference_does(tmp_path: Path) -> None:
    stems = [stem for stem in BUILTIN.stems if emit_scalars(BUILTIN, stem)]
    for stem in stems:
        (tmp_path / f"{stem}.inc").write_text(emit_scalars(BUILTIN, stem))
    (tmp_path / "coefficients.inc").write_text(emit_coefficients(load_formulas()))
    rows = ("{" + ", ".join(map(repr, row)) + "}" for row in inputs().tolist())
    # A namespace each: a file repeats those functions of other files that it calls.
    includes = (f'namespace {stem} {{\n#include "{stem}.inc"\n}}' for stem in stems)
    calls = (f"  tensorlike::{stem}::add_scalars_{stem}(table);" for stem in stems)
    program = PROGRAM % {
        "args": MAX_ARGS,
        "points": POINTS,
        "inputs": ",\n".join(rows),
        "includes": "\n".join(includes),
        "calls": "\n".join(calls),
    }
    (tmp_path / "main.cpp").write_text(program)
    command = ["g++", "-std=c++20", "-O0", "-w", f"-I{SOURCES}", f"-I{tmp_path}"]
    binary = tmp_path / "main"
    subprocess.run([*command, str(tmp_path / "main.cpp"), "-o", str(binary)], check=True)
    output = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    wanted = expected()
    lines = {line.split()[0]: line.split()[1:] for line in output.splitlines()}
    assert set(lines) == set(wanted)
    for name, numbers in lines.items():
        got = np.array(numbers, dtype=float)
        np.testing.assert_allclose(got, wanted[name], rtol=1e-9, atol=1e-12, err_msg=name)
