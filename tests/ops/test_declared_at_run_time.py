"""Ops declared at run time: attributes as numbers, functions of Python, words, pickles."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl import DeclarationError
from tensorlike.ops import builtin

TEXT = """
- op: ScaledRows
  args: [x: real floating-point]
  attrs:
    k: {type: float, default: 2.0}
    n: {type: int, default: 1}
    also: {type: bool, default: true}
  define: sum(x * k + (k + 1) * x * also, axis=n - 1)
  doc: Rows, scaled and added.
- op: Windowed
  args: [x: real floating-point]
  attrs: {n: {type: int}}
  define: reshape(x, shape=(shape(x)[0] // n, n))
  doc: Rows of n.
- scalar: run_time_plus
  args: ["x: real floating-point", "k: real floating-point = 2.0"]
  expr: x * k + 1
  doc: Twice and one.
- op: OfPlus
  args: [x: real floating-point]
  define: run_time_plus(x, 3) / 2
  doc: Of another one.
"""
DECLARED = tl.declare(TEXT)

PYTHON = """
- op: PythonCube
  args: [x: real floating-point]
  attrs: {k: {type: float, default: 1.0}}
  kernel: {cpu: "test_kernels:cube"}
  infer: test_kernels:same
  grad: {x: dy * 3 * k * square(x)}
  doc: The third power.
- op: PythonParts
  args: [x: real floating-point]
  outputs: 2
  kernel: {cpu: "test_kernels:parts"}
  infer: test_kernels:two
  grad: none
  doc: The whole part and the rest.
- op: PythonMean
  args: [x: real floating-point]
  define: mean(x, axis=-1)
  kernel: {cpu: "test_kernels:mean"}
  doc: A body with a kernel beside it.
- op: PythonWrong
  args: [x: real floating-point]
  kernel: {cpu: "test_kernels:wrong"}
  infer: test_kernels:same_shape
  grad: none
  doc: A kernel that does not do what was inferred.
"""
KERNELS = """
import numpy as np
import tensorlike as tl

def cube(x, *, k):
    assert isinstance(x, np.ndarray) and not x.flags.writeable
    return x ** 3 * np.asarray(k, x.dtype)

def same(x, *, k):
    return tl.ShapeTensor(x.shape, x.dtype)

def same_shape(x):
    return tl.ShapeTensor(x.shape, x.dtype)

def two(x):
    return same_shape(x), same_shape(x)

def parts(x):
    if np.isnan(x).any():
        raise ArithmeticError("no parts")
    rest, whole = np.modf(x)
    return whole, rest

def mean(x):
    return x.mean(-1, dtype=x.dtype)

def wrong(x):
    return x[:1] if x.size > 2 else x.astype(np.int64)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The ops whose kernels are functions of a module."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "test_kernels.py").write_text(KERNELS, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield tl.declare(PYTHON, imports=True)
    finally:
        sys.path.remove(str(folder))


X = np.array([[1.5, 2.0], [3.0, 5.25]])


@pytest.mark.parametrize("k", [3.0, 0.5, -2.0])
def test_an_attribute_is_a_number_in_a_body(k: float) -> None:
    for n in (1, 2):
        found = DECLARED.scaled_rows(tl.tensor(X), k=k, n=n)
        np.testing.assert_allclose(found, np.sum(X * k + (k + 1) * X, axis=n - 1))
    off = DECLARED.scaled_rows(tl.tensor(X), k=k, also=False)
    np.testing.assert_allclose(off, np.sum(X * k, axis=0))


def test_attributes_are_calculated_from_others_and_from_shapes() -> None:
    assert DECLARED.windowed(tl.ones(6), n=2).shape == (3, 2)
    assert tl.ops.builtin.Windowed(n=3)(tl.ShapeTensor((9,)))[0].shape == (3, 3)  # type: ignore[attr-defined]
    with pytest.raises(tl.ParameterError, match=r"Windowed: .* must not divide by zero"):
        DECLARED.windowed(tl.ones(6), n=0)
    with pytest.raises(tl.ParameterError, match=r"ScaledRows: .* must stay within 64 bits"):
        DECLARED.scaled_rows(tl.tensor(X), n=-(2**63))


@pytest.mark.parametrize("name", ["scaled_rows", "of_plus", "run_time_plus"])
def test_every_rule_of_a_declared_op_agrees(name: str) -> None:
    report = tl.opcheck(DECLARED[name], tl.tensor(X))
    assert report.is_right, report


@pytest.mark.parametrize("name", ["python_cube", "python_parts", "python_mean"])
def test_every_rule_of_a_kernel_in_python_agrees(python: Any, name: str) -> None:
    report = tl.opcheck(python[name], tl.tensor(X))
    assert report.is_right, report


@pytest.mark.parametrize("mode", ["sync", "async", "lazy"])
def test_a_kernel_in_python_runs_in_every_mode(python: Any, mode: str) -> None:
    with tl.engine.mode(mode, threshold=1):
        x = tl.tensor(X) * 2
        np.testing.assert_allclose(python.python_cube(x, k=0.5) + 1, (2 * X) ** 3 / 2 + 1)
        whole, rest = python.python_parts(x.mT)
        np.testing.assert_allclose(whole + rest, 2 * X.T)
        with pytest.raises(ArithmeticError, match="no parts"):
            python.python_parts(x * float("nan"))


def test_a_class_that_is_derived_from_an_op_of_python_has_its_kernel(python: Any) -> None:
    class DerivedCube(builtin.PythonCube):  # type: ignore[attr-defined, misc, name-defined]
        """A class of the user's own."""

    np.testing.assert_allclose(DerivedCube(k=2.0)(tl.tensor(X))[0], 2 * X**3)


def test_a_kernel_in_python_is_batched_example_by_example(python: Any) -> None:
    found = tl.vmap(python.python_mean)(tl.tensor(X))
    np.testing.assert_allclose(found, X.mean(-1))
    whole, _ = tl.vmap(python.python_parts)(tl.tensor(X[:1]))
    np.testing.assert_allclose(whole, np.floor(X[:1]))
    none, _ = tl.vmap(python.python_parts)(tl.zeros((0, 3)))
    assert none.shape == (0, 3)


def test_a_kernel_in_python_is_held_to_what_was_inferred(python: Any) -> None:
    with pytest.raises(
        tl.ShapeError, match=r"PythonWrong: test_kernels:wrong must return what was inferred"
    ):
        python.python_wrong(tl.ones(3))
    with pytest.raises(tl.DTypeError, match=r"must return what was inferred.*; got int64"):
        python.python_wrong(tl.ones(2))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("no_such_module:f", "there must be a function no_such_module:f"),
        ("math:no_such", "there must be a function math:no_such"),
        ("math:pi", "math:pi must be a function"),
    ],
)
def test_a_function_that_is_not_there_declares_nothing(rule: str, message: str) -> None:
    text = PYTHON.replace("PythonCube", "PythonMissing").split("- op: PythonParts")[0]
    with pytest.raises(ValueError, match=message):
        tl.declare(text.replace("test_kernels:cube", rule), imports=True)
    assert not hasattr(builtin, "PythonMissing")


def test_a_declaration_runs_no_code_unless_that_is_said() -> None:
    with pytest.raises(DeclarationError, match="imports=True"):
        tl.declare(PYTHON.replace("Python", "Unsaid"))


def test_what_comes_back_has_a_name_words_and_a_signature() -> None:
    function: Any = DECLARED.run_time_plus
    assert function.__name__ == function.__qualname__ == "run_time_plus"
    assert function.__doc__.startswith("Twice and one.\n\n``x * k + 1``\n\nArgs:\n")
    assert str(inspect.signature(function)) == "(x, k=2.0)"
    assert str(inspect.signature(DECLARED.windowed)) == "(x, n)"
    assert DECLARED.windowed.__doc__ is not None
    assert builtin.Windowed.__doc__ == "Rows of n."  # type: ignore[attr-defined]


def test_declared_ops_classes_and_functions_pickle() -> None:
    for thing in (
        builtin.OfPlus(),  # type: ignore[attr-defined]
        builtin.OfPlus,  # type: ignore[attr-defined]
        tl.ops.Elemwise(mode="run_time_plus"),
    ):
        assert pickle.loads(pickle.dumps(thing)) == thing
    function = pickle.loads(pickle.dumps(DECLARED.of_plus))
    assert function(tl.tensor([1.0])).tolist() == [2.0]


UNPICKLE = """
import pickle, sys
import tensorlike as tl
if sys.argv[2]:
    tl.declare(open(sys.argv[2]).read())
op = pickle.load(open(sys.argv[1], "rb"))
op = op() if isinstance(op, type) else op
made = op(tl.tensor([1.0]))
print((made[0] if isinstance(made, tuple) else made).tolist())
"""


def _unpickled(tmp_path: Path, thing: Any, text: str = "") -> subprocess.CompletedProcess[str]:
    (tmp_path / "op.pickle").write_bytes(pickle.dumps(thing))
    (tmp_path / "op.yaml").write_text(text, encoding="utf-8")
    declared = str(tmp_path / "op.yaml") if text else ""
    return subprocess.run(
        [sys.executable, "-c", UNPICKLE, str(tmp_path / "op.pickle"), declared],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pickle_of_a_declared_op_brings_its_declaration(tmp_path: Path) -> None:
    of_plus = builtin.OfPlus()  # type: ignore[attr-defined]
    assert _unpickled(tmp_path, of_plus).stdout == "[2.0]\n"
    assert _unpickled(tmp_path, of_plus, TEXT).stdout == "[2.0]\n"
    other = _unpickled(tmp_path, of_plus, TEXT.replace("/ 2", "/ 4"))
    assert "OfPlus: must be declared as it was; it is declared otherwise here" in other.stderr


def test_a_pickle_of_a_kernel_in_python_says_what_to_declare(python: Any, tmp_path: Path) -> None:
    cube = builtin.PythonCube()  # type: ignore[attr-defined]
    assert "PythonCube: must be declared here" in _unpickled(tmp_path, cube).stderr


def test_pickles_of_declared_classes_and_functions_bring_their_declarations(
    tmp_path: Path,
) -> None:
    things = {"class OfPlus": builtin.OfPlus, "function of_plus": DECLARED.of_plus}  # type: ignore[attr-defined]
    for name, thing in things.items():
        assert _unpickled(tmp_path, thing).stdout == "[2.0]\n"
        other = _unpickled(tmp_path, thing, TEXT.replace("/ 2", "/ 4"))
        assert "OfPlus: must be declared as it was; it is declared otherwise here" in other.stderr
        assert f"the {name} was declared in <string>" in other.stderr


def test_a_pickle_of_a_class_with_a_kernel_in_python_says_which_file_declares_it(
    python: Any, tmp_path: Path
) -> None:
    file = tmp_path / "cubes.yaml"
    text = PYTHON.split("- op: PythonParts")[0].replace("PythonCube", "PythonOfFile")
    file.write_text(text, encoding="utf-8")
    tl.declare(file, imports=True)
    found = _unpickled(tmp_path, builtin.PythonOfFile)  # type: ignore[attr-defined]
    assert "PythonOfFile: must be declared here" in found.stderr
    assert f"the class PythonOfFile was declared in {file}" in found.stderr


class DerivedOfPlus(builtin.OfPlus):  # type: ignore[attr-defined, misc, name-defined]
    """A class of the reader's own."""


def test_a_class_that_is_derived_from_a_declared_one_pickles_by_its_place() -> None:
    assert pickle.loads(pickle.dumps(DerivedOfPlus)) is DerivedOfPlus


@pytest.mark.parametrize("key", ["nmae", "Name", "anything", 3])
def test_an_unknown_key_of_config_is_refused(key: Any) -> None:
    with pytest.raises(tl.ParameterError, match="Elemwise: config: the keys must be name, device"):
        tl.ops.Elemwise(mode="exp", config={key: "x"})
    with pytest.raises(tl.ParameterError, match="Reduce: config: ") as caught:
        tl.ops.Reduce(mode="sum", config={key: "x"})
    assert ("did you mean 'name'?" in str(caught.value)) == (key in ("nmae", "Name"))


def test_gradients_of_rules_that_read_attributes_hold(python: Any) -> None:
    x = tl.tensor(X)
    found = tl.grad(lambda x: F.sum(python.python_cube(x, k=2.0)))(x)
    np.testing.assert_allclose(found, 6 * X**2)


def test_the_oracle_is_not_loaded_to_declare() -> None:
    """What tests and documentation rest on is no part of a program that declares an op."""
    program = """
import sys
import tensorlike as tl
tl.declare('''
- reduction: most_of_twice
  args: ["x: real numeric"]
  map: 2 * x
  combine: maximum(a, b)
  init: lowest
  grad: none
  doc: Twice the largest.
- op: TwiceTanh
  args: ["x: real floating-point"]
  define: 2 * tanh(x)
  doc: Twice the hyperbolic tangent.
''')
print(*(name for name in sys.modules if ".oracle" in name))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_a_reduction_may_be_made_of_what_numpy_lacks() -> None:
    made = tl.declare("""
- reduction: total_lgamma
  args: ["x: real floating-point"]
  map: lgamma(x)
  combine: a + b
  init: 0
  doc: The sum of the logarithms of gamma.
""")
    assert made.total_lgamma(tl.tensor([3.0, 4.0])).item() == pytest.approx(2.4849066)
