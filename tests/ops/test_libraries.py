"""Ops whose kernels are in a shared library: what they may, and what is refused."""

from __future__ import annotations

import ctypes
import pickle
import re
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.libraries import HEADER, SUPPORT, built

import tensorlike as tl
from tensorlike import functional as F
from tensorlike.opdecl import DeclarationError
from tensorlike.ops import builtin, deserialize, serialize

KERNELS = (SUPPORT / "library_kernels.c").read_text("utf-8")

DECLARATIONS = (SUPPORT / "library_ops.yaml").read_text("utf-8")
BROKEN = """
- op: Library{name}
  args: [x: real floating-point]
  kernel: {{cpu: {kernel}}}
  grad: none
  doc: A test.
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in C."""
    return built(KERNELS, tmp_path_factory.mktemp("library") / "test_kernels.c")


@pytest.fixture(scope="module")
def ops(library: Path) -> Any:
    """The ops whose kernels it has."""
    return tl.declare(DECLARATIONS, library=library)


X = np.array([[1.5, 2.0, -1.0], [3.0, 5.25, 0.5]])
MODES = pytest.mark.parametrize("mode", ["sync", "async", "lazy"])


def broken(library: Path, kernel: str) -> Any:
    """The call of an op with a kernel that does what it must not."""
    name = kernel.title().replace("_", "")
    (call,) = tl.declare(BROKEN.format(name=name, kernel=kernel), library=library).values()
    return call


@MODES
def test_a_kernel_of_a_library_runs_in_every_mode(ops: Any, mode: str) -> None:
    with tl.engine.mode(mode, threshold=1):
        x = tl.tensor(X) * 2
        y = ops.library_mixed(x, k=0.5, n=3, also=True, word="four", axes=(1, -2, 5)) + 1
        np.testing.assert_allclose(y, X + 3 + 1 + 4 + 4 + 1)
        whole, rest = ops.library_split(x.mT)
        np.testing.assert_allclose(whole + rest, 2 * X.T)
        np.testing.assert_allclose(ops.library_mean(x), 2 * X.mean(-1))


@pytest.mark.parametrize("name", ["library_mixed", "library_mean", "library_strided_sum"])
def test_every_rule_of_an_op_of_a_library_agrees(ops: Any, name: str) -> None:
    report = tl.opcheck(ops[name], tl.tensor(X))
    assert report.is_right, report


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "bool_"])
def test_inputs_come_as_the_declaration_asks(ops: Any, dtype: str) -> None:
    x = tl.tensor(X, dtype=getattr(tl, dtype))
    y = ops.library_mixed(x.mT, k=2.0)
    assert y.dtype == (x.dtype if tl.isdtype(x.dtype, "real floating") else tl.float32)
    np.testing.assert_allclose(y.astype(tl.float64), x.astype(tl.float64).numpy().T * 2)
    assert ops.library_strided_sum(tl.tensor(X).mT[::-1, 1:]).item() == X[1:].sum()


def test_what_the_kernel_is_not_declared_to_read_does_not_reach_it(ops: Any) -> None:
    words = "LibraryStridedSum: x must be real floating-point; got {}; {}."
    for dtype, fix in (
        (tl.int64, "cast it: x.astype(float32)"),
        (tl.complex64, "take one of its parts: real(x), imag(x), abs(x)"),
    ):
        with pytest.raises(tl.DTypeError, match=re.escape(words.format(dtype.name, fix))):
            ops.library_strided_sum(tl.ones((2, 2), dtype=dtype))


def test_nothing_is_computed_where_nothing_comes_out(ops: Any) -> None:
    assert ops.library_mean(tl.ones((0, 3))).shape == (0,)
    assert ops.library_split(tl.ones((2, 0)))[1].shape == (2, 0)


def test_examples_go_through_one_by_one_unless_the_entry_says_how(ops: Any) -> None:
    x = np.arange(12.0).reshape(3, 2, 2)
    np.testing.assert_allclose(tl.vmap(ops.library_trace)(tl.tensor(x)), [3.0, 11.0, 19.0])
    np.testing.assert_allclose(tl.vmap(ops.library_mixed)(tl.tensor(x)), 2 * x)


def test_gradients_are_as_declared_or_through_the_body(ops: Any) -> None:
    x = tl.tensor(X)
    np.testing.assert_allclose(tl.grad(lambda x: F.sum(ops.library_mixed(x, k=3.0)))(x), 3.0)
    np.testing.assert_allclose(tl.grad(lambda x: F.sum(ops.library_mean(x)))(x), 1 / 3)
    slope = tl.hvp(lambda x: F.sum(ops.library_mean(x) ** 2), (x,), (tl.ones_like(x),))
    np.testing.assert_allclose(slope, 2 / 3)


def test_a_class_that_is_derived_from_an_op_of_a_library_has_its_kernel(ops: Any) -> None:
    class DerivedMean(builtin.LibraryMean):  # type: ignore[attr-defined, misc, name-defined]
        """A class of the user's own."""

    np.testing.assert_allclose(DerivedMean()(tl.tensor(X))[0], X.mean(-1))


def flags() -> tuple[Any, int]:
    """Two numbers that a kernel and a test see, and where they lie."""
    made = (ctypes.c_int64 * 2)()
    return made, ctypes.addressof(made)


def test_a_kernel_runs_without_the_interpreters_lock(ops: Any) -> None:
    shared, address = flags()
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(ops.library_wait(tl.ones(1), flags=address))
    )
    thread.start()
    while shared[0] == 0 and thread.is_alive():
        pass  # a thread that kept the lock would keep it from us
    shared[1] = 1
    thread.join()
    assert found[0].tolist() == [2.0]


def test_the_asynchronous_mode_does_not_wait_for_a_kernel(ops: Any) -> None:
    shared, address = flags()
    with tl.engine.mode("async", threshold=1):
        y = ops.library_wait(tl.ones(1), flags=address) * 2
        shared[1] = 1
        assert y.tolist() == [4.0]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (1, tl.ShapeError), (2, tl.DTypeError), (3, tl.IndexRangeError), (4, tl.ArgumentError),
        (5, tl.OutOfMemoryError), (6, tl.MatrixError), (-5, tl.ArgumentError),
    ],
)  # fmt: skip
def test_a_kernel_says_why_it_refuses(ops: Any, kind: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"LibraryReasons: x must be another; got 7\.?$") as caught:
        ops.library_reasons(tl.ones(3), kind=kind)
    assert caught.value.op == "LibraryReasons"  # type: ignore[attr-defined]


@MODES
def test_an_error_of_a_kernel_names_the_op_and_the_users_line(ops: Any, mode: str) -> None:
    with tl.engine.mode(mode, threshold=1):
        line = test_an_error_of_a_kernel_names_the_op_and_the_users_line.__code__.co_firstlineno + 5
        with pytest.raises(tl.ArgumentError, match="LibrarySplit: x must be a number") as caught:
            whole, _ = ops.library_split(tl.tensor([1.0, float("nan")]))  # the line
            whole.tolist()
    assert caught.value.op == "LibrarySplit"
    frames = [frame.lineno for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert line in frames or caught.value.place == f"{__file__}:{line}"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("silent", "the library's kernel must say why it fails, by tl_fail; got status 3"),
        ("undeclared", "must read an attribute that is declared so; got missing"),
        ("infers_nothing", "must give as many results as the op has outputs, 1; got 0"),
        ("infers_nonsense", "each a dtype and sizes that are not negative"),
        ("infers_no_dtype", "each a dtype and sizes that are not negative"),
        ("gives_late", "must give results in inference alone"),
    ],
)
def test_a_kernel_that_breaks_the_contract_is_told(
    library: Path, kernel: str, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        broken(library, kernel)(tl.ones((2, 3)))


def test_a_kernel_that_finds_no_memory_says_so(library: Path) -> None:
    with pytest.raises(MemoryError):
        broken(library, "greedy")(tl.ones((2, 3)))


THROWS = r"""
#include <stdexcept>
#include <vector>
#include "tensorlike_native.h"
static int32_t same(tl_call* call) {
  return call->result(call, call->inputs[0].dtype, call->inputs[0].ndim, call->inputs[0].shape);
}
static int32_t throws(tl_call*) { throw std::runtime_error("seven"); }
static int32_t throws_in_parts(tl_call* call) {
  return tl_parallel(call, 1000, 1, [](int64_t begin, int64_t end) {
    if (begin < 500 && end >= 500) throw std::runtime_error("eight");
  });
}
static int32_t throws_oddly(tl_call*) { throw 9; }
static int32_t throws_for_memory(tl_call* call) {
  std::vector<char> large(size_t{1} << 60);
  return call->output_count - static_cast<int32_t>(large.size() % 2);
}
static const tl_kernel kernels[] = {{"throws", throws, same},
                                    {"throws_in_parts", throws_in_parts, same},
                                    {"throws_oddly", throws_oddly, same},
                                    {"throws_for_memory", throws_for_memory, same}};
TL_LIBRARY(kernels);
"""


def test_what_a_library_in_cpp_throws_is_an_error_of_the_op(tmp_path: Path) -> None:
    library = built(THROWS, tmp_path / "throws.cpp")
    for kernel, got in (("throws", "seven"), ("throws_in_parts", "eight"), ("throws_oddly", "no")):
        with pytest.raises(
            tl.ArgumentError, match=f"the library's kernel must not throw; got {got}"
        ):
            broken(library, kernel)(tl.ones(3))
    with pytest.raises(MemoryError):
        broken(library, "throws_for_memory")(tl.ones(3))


# What is no library, or not ours.

NO_ENTRY = "int something_else(void);\nint something_else(void) { return 1; }\n"
OTHER_VERSION = KERNELS.replace(
    '#include "tensorlike_native.h"',
    '#include "tensorlike_native.h"\n#undef TENSORLIKE_ABI_VERSION\n'
    "#define TENSORLIKE_ABI_VERSION 2077",
)
NO_KERNELS = """
#include "tensorlike_native.h"
const tl_library* tensorlike_library(void) { return NULL; }
"""
NULL_KERNELS = """
#include "tensorlike_native.h"
const tl_library* tensorlike_library(void) {
  static const tl_library library = {TENSORLIKE_ABI_VERSION, 7, NULL};
  return &library;
}
"""
EMPTY_KERNELS = """
#include "tensorlike_native.h"
static const tl_kernel kernels[] = {{NULL, NULL, NULL}, {"mixed", NULL, NULL}};
TL_LIBRARY(kernels);
"""
UNDEFINED = "int missing(void);\nint found(void);\nint found(void) { return missing(); }\n"
ONE = BROKEN.format(name="Refused", kernel="mixed")


def refused(text: str, library: Any) -> str:
    """Why a library is refused; nothing is declared then."""
    with pytest.raises((ValueError, TypeError)) as caught:
        tl.declare(text, library=library)
    assert not hasattr(builtin, "LibraryRefused")
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (NO_ENTRY, r"must export tensorlike_library; got .*refused\.so, which does not; list"),
        (OTHER_VERSION, r"must be built for version 1 of .*; got .*refused\.so of version 2077; "
                        r"build it again, with the header in tensorlike\.native_include\(\)"),
        (NO_KERNELS, r"must list its kernels; got .*refused\.so, which gives none"),
        (NULL_KERNELS, r"must list its kernels; got .*refused\.so, which has no list"),
        (EMPTY_KERNELS, r"must have the kernel 'mixed' of .*; got .*refused\.so with none"),
        (UNDEFINED, r"must be a shared library that loads; got .*undefined symbol: missing"),
    ],
)  # fmt: skip
def test_a_library_that_is_none_of_ours_is_refused(
    source: str, message: str, tmp_path: Path
) -> None:
    library = built(source, tmp_path / "refused.c")
    assert re.match(rf"declare: library {message}", refused(ONE, library))


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not a library", encoding="utf-8")
    assert "library must be a shared library that loads; got" in refused(ONE, text)
    for path in (tmp_path, tmp_path / "missing.so"):
        assert "declare: library must be a file; got" in refused(ONE, path)
    assert refused(ONE, 5) == "declare: library must be a path; got int"


def test_a_kernel_that_a_library_has_not_is_refused_with_those_it_has(library: Path) -> None:
    message = refused(ONE.replace("mixed", "mixd"), library)
    assert message.startswith("declare: library must have the kernel 'mixd' of LibraryRefused; got")
    assert "with mixed, library_mean, strided_sum" in message
    both = ONE + BROKEN.format(name="RefusedToo", kernel="no_such_kernel")
    refused(both, library)


def test_an_op_without_a_body_needs_inference(library: Path) -> None:
    message = refused(ONE.replace("mixed", "library_mean"), library)
    assert "must infer what LibraryRefused gives, since no body says it" in message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("infer: mixed", "infer: the library lists inference beside the kernel; leave it out"),
        ("view: true", "view: that is for kernels of the core; leave it out"),
    ],
)
def test_keys_that_a_library_has_no_use_for_are_refused(
    library: Path, line: str, message: str
) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        tl.declare(ONE.replace("  grad: none", f"  grad: none\n  {line}"), library=library)


def test_a_kernel_without_a_library_says_what_to_give() -> None:
    with pytest.raises(DeclarationError, match=r"name its library: declare\(\.\.\., library="):
        tl.declare(ONE)


def test_a_kernels_name_may_be_one_of_the_core(tmp_path: Path) -> None:
    source = KERNELS.replace('{"mixed", mixed, same}', '{"cumulative_sum", mixed, same}')
    library = built(source, tmp_path / "same_name.c")
    text = DECLARATIONS.split("- op: LibraryMean")[0].replace("LibraryMixed", "LibraryNamesake")
    op = tl.declare(text.replace("cpu: mixed", "cpu: cumulative_sum"), library=library)
    np.testing.assert_allclose(op.library_namesake(tl.tensor(X), k=2.0), 2 * X)


# Ops that go elsewhere.

READ = """
import pickle, sys
import tensorlike as tl
if sys.argv[2]:
    tl.declare(sys.argv[2], library=sys.argv[3])
op = pickle.load(open(sys.argv[1], "rb"))
print(op(tl.tensor([1.0]))[0].tolist())
"""


def test_an_op_of_a_library_says_what_it_needs_where_it_is_read(
    ops: Any, library: Path, tmp_path: Path
) -> None:
    op = builtin.LibraryMixed(k=3.0)  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(op)) == op
    assert deserialize(serialize(op)) == op
    (tmp_path / "op.pickle").write_bytes(pickle.dumps(op))
    (tmp_path / "op.yaml").write_text(DECLARATIONS, encoding="utf-8")

    def read(*declared: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", READ, str(tmp_path / "op.pickle"), *declared]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert read(str(tmp_path / "op.yaml"), str(library)).stdout == "[3.0]\n"
    lost = read("", "").stderr
    assert (
        "LibraryMixed: must be declared here; got an op whose kernel is in test_kernels.so" in lost
    )
    assert "declare(..., library=...)" in lost


def test_the_header_is_installed_and_is_that_of_the_sources() -> None:
    installed = Path(tl.native_include()) / HEADER.name
    assert installed.read_text("utf-8") == HEADER.read_text("utf-8")
    printed = subprocess.run(
        [sys.executable, "-m", "tensorlike", "native-include"], capture_output=True, text=True
    )
    assert printed.stdout == f"{tl.native_include()}\n"
