"""Wrong declarations: every file in bad/ is refused with exactly the messages in its .txt.

What is too large, too deep or too many for a file in the repository is made here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest

from tensorlike.opdecl import DeclarationError, Declarations, load_builtin, load_files, load_text
from tensorlike.opdecl.oracle.reference import Reference

BAD = Path(__file__).parent / "bad"
NAMES = sorted(path.stem for path in BAD.glob("*.yaml"))
SCALAR = '- scalar: f\n  args: ["x: real floating-point"]\n  doc: A test.\n'


@cache
def builtin() -> Declarations:
    return load_builtin()


def messages(text: str) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        load_text(text, "bad.yaml", base=builtin())
    return str(caught.value).splitlines()


def scalar(expression: str) -> str:
    return f'{SCALAR}  expr: "{expression}"\n'


def test_there_are_many_ways_to_be_wrong() -> None:
    assert len(NAMES) >= 45
    assert sorted(path.stem for path in BAD.glob("*.txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_file_is_refused_with_its_message(name: str) -> None:
    path = BAD / f"{name}.yaml"
    with pytest.raises(DeclarationError) as caught:
        load_files([(path, f"bad/{path.name}")], base=builtin())
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text("utf-8")


def test_problems_carry_their_place_as_fields() -> None:
    with pytest.raises(DeclarationError) as caught:
        load_files([(BAD / "unknown_key.yaml", "bad/unknown_key.yaml")], base=builtin())
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.entry) == ("bad/unknown_key.yaml", 4, "f")
    assert problem.text == "unknown key 'grads'; did you mean 'grad'?"
    assert isinstance(caught.value, ValueError)


def test_a_redefined_builtin_is_refused_with_its_place() -> None:
    add = builtin().functions["add"]
    text = '- scalar: add\n  args: ["x: numeric"]\n  expr: x\n  doc: A test.\n'
    assert messages(text) == [f"bad.yaml:1: add: 'add' is declared already, at {add.place}"]


def test_duplicates_across_files_show_both_places(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(f"{SCALAR}  expr: x\n", "utf-8")
    with pytest.raises(DeclarationError) as caught:
        load_files([(tmp_path / name, name) for name in ("a.yaml", "b.yaml")])
    assert str(caught.value) == "b.yaml:1: f: 'f' is declared already, at a.yaml:1"


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"^none\.yaml:1: cannot be read: No such file"):
        load_files([(tmp_path / "none.yaml", "none.yaml")])


@pytest.mark.parametrize(
    "text",
    [
        "- " * 100_000,
        "[" * 100_000,
        "{a: " * 100_000,
        "- ? " * 50_000,
        "\n".join(" " * i + f"k{i}:" for i in range(500)),
        f"- scalar: f\n  expr: {'[' * 1_000}",
    ],
)
def test_deep_nesting_is_refused_before_it_recurses(text: str) -> None:
    (message,) = messages(text)
    assert message.endswith("is nested more than 64 deep")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    assert messages("#" * (1 << 20) + "\n") == ["bad.yaml:1: is larger than 1048576 bytes"]
    assert messages("é" * (1 << 19) + "\n") == ["bad.yaml:1: is larger than 1048576 bytes"]
    path = tmp_path / "large.yaml"
    path.write_bytes(b"\xff" * ((1 << 20) + 1))
    with pytest.raises(DeclarationError, match=r"^large\.yaml:1: is larger than 1048576 bytes$"):
        load_files([(path, "large.yaml")])


def test_many_values_are_refused() -> None:
    (message,) = messages("- [" + "a," * 200_000 + "]")
    assert message == "bad.yaml:1: holds more than 50000 values"


@pytest.mark.parametrize(
    "expression",
    [
        "-" * 3_900 + "x",
        "~" * 3_900 + "x",
        "(" * 1_900 + "x" + ")" * 1_900,
        "exp(" * 900 + "x" + ")" * 900,
        "+".join(["x"] * 1_900),
        "**".join(["x"] * 1_300),
        "x" + ".a" * 1_900,
        "x" + "[0]" * 1_200,
        "x if x else " * 300 + "x",
        "lambda: " * 450 + "x",
        "not " * 900 + "x",
        "await " * 600 + "x",
        "x < " * 900 + "x",
        "where(x > 0, x, " * 200 + "x" + ")" * 200,
    ],
)
def test_deep_expressions_are_refused(expression: str) -> None:
    assert all(
        message.startswith("bad.yaml:4: f: expr: ") for message in messages(scalar(expression))
    )


def test_long_expressions_are_refused() -> None:
    text = " + ".join(["x"] * 2_000)
    expected = f"bad.yaml:4: f: expr: is {len(text)} characters long; at most 4000 are allowed"
    assert messages(scalar(text)) == [expected]


def test_wide_expressions_are_refused() -> None:
    # Nested two at a time: many nodes, little depth.
    text = "x"
    for _ in range(9):
        text = f"({text}+{text})"
    assert "f: expr: larger than 1000 numbers, names and calls" in messages(scalar(text))[0]


def test_a_body_that_doubles_itself_stays_small() -> None:
    lines = ["a0 = x * x", *(f"a{i} = a{i - 1} * a{i - 1}" for i in range(1, 100)), "a99"]
    body = "\n".join(f"    {line}" for line in lines)
    declarations = load_text(f"{SCALAR}  expr: |\n{body}\n", base=builtin())
    specs = declarations.lower(declarations.functions["f"])
    assert len(specs) == 3


def test_a_long_chain_of_definitions_does_not_recurse() -> None:
    entries = ['- scalar: f0\n  args: ["x: numeric"]\n  expr: x * x\n  doc: A test.\n']
    for i in range(1, 400):
        expression = f"f{i - 1}(x) + x"
        entries.append(
            f'- scalar: f{i}\n  args: ["x: numeric"]\n  expr: {expression}\n  doc: A test.\n'
        )
    declarations = load_text("".join(reversed(entries)), base=builtin())
    assert len(declarations.new) == 400


def test_a_gradient_that_grows_without_bound_is_refused() -> None:
    entries = []
    for i in range(40):
        inner = f"f{i - 1}" if i else "exp"
        terms = " + ".join(f"{inner}(x * {j}.5)" for j in range(30))
        entries.append(f"{SCALAR}  expr: {terms}\n".replace("scalar: f", f"scalar: f{i}"))
    (message,) = messages("".join(entries))
    assert message.endswith("its gradient has more than 2000 steps; write `grad:`")


DAMAGE = """
scalar op y dy grad none { } [ ] : - | expr where(x>0,x,1) exp sum(x,axis=axis) shape(x) size(x)
dtype(x) n out ** -1 1e400 0.5 ' " ( ) , # integer *xs: axis null softmax(x) ~ ! & * x=x
"""
WORDS = DAMAGE.split()


@pytest.mark.parametrize("seed", range(150))
def test_damaged_declarations_give_problems_or_entries(seed: int) -> None:
    """Nothing but a DeclarationError comes out, and what is accepted lowers."""
    random = Random(seed)
    entries = (Path(__file__).parent / "golden/small.yaml").read_text("utf-8").split("\n\n")
    words = "\n\n".join(random.sample(entries, 2)).split(" ")
    for _ in range(random.randint(1, 5)):
        words[random.randrange(len(words))] = random.choice(WORDS)
    try:
        declarations = load_text(" ".join(words), base=builtin())
    except DeclarationError as error:
        assert error.problems
    else:
        assert all(declarations.lower(entry) for entry in declarations.new)


RUN_TIME = {
    SCALAR: "the key 'expr' is missing: the function has no meaning",
    '- reduction: f\n  args: ["x: numeric"]\n  native: true\n  grad: none\n  doc: A test.\n': (
        "a native reduction needs the compiler; write `map`"
    ),
    '- op: F\n  args: ["x: numeric"]\n  define: x * x\n  kernel: {cpu: softmax}\n'
    "  doc: A test.\n": "a kernel needs the compiler, or is a function of Python; write `define`",
    '- op: F\n  args: ["x: numeric"]\n  define: x * x\n  grad: handwritten\n  doc: A test.\n': (
        "has no gradient; write `grad:` with a rule for each input, or `grad: none`"
    ),
    '- op: F\n  args: ["x: numeric"]\n  define: x\n  infer: softmax\n  doc: A test.\n': (
        "infer: inference needs the compiler, or is a function of Python: module:function"
    ),
    '- op: F\n  args: ["x: numeric"]\n  define: x\n  memory: {contiguous: [x]}\n  doc: A test.\n': (
        "memory: that is for kernels of the core; NumPy's arrays come as they lie"
    ),
    '- op: F\n  args: ["x: numeric"]\n  define: x\n  infer: m:f\n  doc: A test.\n': (
        "infer: the body says it; leave it out, or write `kernel` too"
    ),
    '- op: F\n  args: ["x: numeric"]\n  kernel: {cpu: m:f}\n  infer: m:g\n  expand: f\n'
    "  doc: A test.\n": "expand: a body in C++ needs the compiler; write `define`",
    '- op: F\n  args: ["x: numeric"]\n  kernel: {cpu: m:f}\n  grad: none\n  doc: A test.\n': (
        "the key 'shapes' is missing: x(...) -> (...)"
    ),
    '- op: F\n  args: ["x: numeric"]\n  define: x\n  kernel: {cpu: m:f}\n  doc: A test.\n': (
        "kernel: m:f is code; declare(..., imports=True) imports it"
    ),
    '- op: F\n  args: ["x: numeric"]\n  define: x\n  kernel: {cuda: f}\n  doc: A test.\n': (
        "cuda: kernels run on the cpu alone; leave it out"
    ),
}


def test_what_is_built_in_names_no_function_of_python() -> None:
    text = '- op: F\n  args: ["x: numeric"]\n  define: x\n  kernel: {cpu: m:f}\n  doc: A test.\n'
    (message,) = messages(text)
    assert message.endswith("kernel: m:f is a function of Python; those are for tensorlike.declare")


def test_a_flat_sum_is_as_deep_as_its_terms() -> None:
    declared = load_text(scalar(" + ".join(["x"] * 400)), base=builtin())
    assert Reference(declared).call("f", 1.0) == 400.0
    deep = "(x + " * 63 + "x" + ")" * 63
    load_text(scalar(deep), base=builtin())
    assert messages(scalar(f"x * (x + {deep})")) == [
        "bad.yaml:4: f: expr: nested more than 64 deep"
    ]


# Reductions whose parts NumPy cannot compute: found by mutating declarations.
UNCOMPUTABLE = [
    ("integer or boolean", "x > 1", "a << b", "0"),
    ("real floating-point", "x", "where(a, a, b)", "0"),
    ("boolean", "x", "a - b", "false"),
]


@pytest.mark.parametrize(("category", "mapped", "combine", "init"), UNCOMPUTABLE)
def test_a_reduction_that_cannot_be_computed_is_refused(
    category: str, mapped: str, combine: str, init: str
) -> None:
    text = (
        f'- reduction: f\n  args: ["x: {category}"]\n  map: "{mapped}"\n  combine: "{combine}"\n'
        f"  init: {init}\n  grad: none\n  doc: A test.\n"
    )
    assert messages(text)


@pytest.mark.parametrize(("text", "expected"), RUN_TIME.items())
def test_what_needs_a_compiler_cannot_be_declared_at_run_time(text: str, expected: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        builtin().extended(text)
    assert expected in str(caught.value)


PARTS = """
- op: Parts
  args: ["x: floating-point"]
  attrs: {{whole: {{type: bool, default: true}}}}
  outputs: -1
  infer: parts
  kernel: {{cpu: parts}}
  grad: none
  function: parts
  calls:
    first_part: {{fixed: {{whole: false}}, outputs: {outputs}}}
  batch: each
  doc: One part or two.
"""


def test_a_call_says_how_many_outputs_its_fixed_attributes_leave() -> None:
    functions = load_text(PARTS.format(outputs=1), "parts.yaml").functions
    assert functions["parts"].output_count == -1
    assert functions["first_part"].output_count == 1
    assert messages(PARTS.format(outputs=99)) == [
        "bad.yaml:11: Parts: outputs: a number from 1 to 16, or -1, is expected; got '99'"
    ]
