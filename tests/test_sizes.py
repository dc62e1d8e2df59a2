"""What is written by hand stays readable: the lengths of files and of functions.

It reads the source and imports nothing of the package, as test_rooms.py does.
"""

from __future__ import annotations

from pathlib import Path

from structure.rooms import cpp_lengths, python_lengths

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 400  # of a file
MOST_OF_A_FUNCTION = 60  # without its docstring
# Those that are longer, and how long: one that grows, or is mended, is told.
LONG = {
    "csrc/op/infer.cpp: select": 75,  # what a place in an index selects, by the kinds of items
    "csrc/op/tile_program.cpp: finish": 66,  # writes a program's instructions out in one sweep
    "csrc/bind/functions.cpp: parse": 67,  # on the way of every call, in one piece for its speed
    # PyTorch's 26 arguments, a line each.
    "functional/multi_head.py: multi_head_attention_forward": 67,
}
FOLDERS = (
    "benchmarks", "csrc", "docs", "examples", "export", "functional", "imperative", "inspection",
    "jit", "nn", "opdecl", "ops", "optim", "static", "testing", "tests", "tools", "transforms",
)  # fmt: skip
NOT_OURS = {"third_party", "generated", "build"}


def sources(*suffixes: str) -> list[Path]:
    """The files with these endings that people wrote."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    return [
        path
        for path in found
        if path.suffix in suffixes and not NOT_OURS & set(path.relative_to(ROOT).parts)
    ]


def long_functions(source: str, suffix: str = ".py") -> dict[str, int]:
    """The functions that are too long, and how long they are."""
    lengths = python_lengths if suffix == ".py" else cpp_lengths
    return {name: lines for name, _, lines in lengths(source) if lines > MOST_OF_A_FUNCTION}


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    files = sources(".py", ".cpp", ".h")
    assert len(files) > 300
    counts = {path.relative_to(ROOT): len(path.read_text("utf-8").splitlines()) for path in files}
    long = [f"{path}: {count} lines" for path, count in counts.items() if count > MOST_LINES]
    assert not long, "\n".join(long)


def test_no_function_is_longer_than_sixty_lines_but_those_known() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}": lines
        for path in sources(".py", ".cpp", ".h")
        for name, lines in long_functions(path.read_text("utf-8"), path.suffix).items()
    }
    assert found == LONG


def test_a_function_that_is_too_long_is_found() -> None:
    body = "    x = 1\n" * MOST_OF_A_FUNCTION
    assert long_functions(f"def f():\n{body}") == {"f": 61}
    assert long_functions(f'def f():\n    """Words.\n\n    More.\n    """\n{body[10:]}') == {}


def test_a_function_of_cpp_that_is_too_long_is_found() -> None:
    body = "  x = 1;\n" * MOST_OF_A_FUNCTION
    for head in (
        "int f(int x)",
        "template <class T>\nA::A(T x) : x_{x}, y_(x)",
        "void A::f() const",
    ):
        source = f"namespace n {{\n{head} {{\n{body}}}\nint g() {{ return 0; }}\n}}\n"
        assert list(long_functions(source, ".cpp").values()) == [62 + head.count("\n")]
