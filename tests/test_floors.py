"""The floors of the C++ core: what is above is unknown below, to includes and to the linker.

It reads the source and imports nothing of the package, as test_rooms.py does for Python's rooms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatch

import pytest
from structure.cpp_source import functions, without_comments
from structure.floors import arrows_up, core_sources
from structure.sources import BACKEND_FLOORS, FLOORS, ROOT

SOURCES = core_sources()
NOT_OURS = {"third_party"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

# What a lower floor declares and only a higher one defines, each with the reason why it is still
# so. There may be fewer of them, never more: hand a table or a function up instead, as
# `OwnRules` in op/registry.h does.
KNOWN_ARROWS = {
    "tensor/body.h apply": "a body's ops are applied to any kind of value, by the dispatcher",
    "tensor/body.h apply_one": "the same, of one result",
    "dispatch/dispatcher.h apply_tracer": "the shortest way to the tape, without a lookup",
}
# Who is above the engine and asks in which mode it is, and how often.
KNOWN_MODES: dict[str, int] = {}  # `runs_at_once` is all that they need


def wrong_includes(floor: str, source: str) -> list[str]:
    """The includes of a file on a floor that go up, or do not name a floor."""
    below = BACKEND_FLOORS.get(floor, FLOORS[FLOORS.index(floor) :])
    wrong = []
    for name in INCLUDE.findall(source):
        first, _, rest = name.partition("/")
        is_generated = name.endswith(".inc") and not rest
        is_foreign = first == "third_party" and floor == "kernels"
        if first not in below and not is_generated and not is_foreign:
            wrong.append(name)
    return wrong


def modes_above(sources: Mapping[str, str]) -> dict[str, int]:
    """How often each file above the engine names its modes. The binding hands users' choice on."""
    above = FLOORS[: FLOORS.index("engine")]
    counts = {
        name: len(re.findall(r"\bEngineMode::", without_comments(text)))
        for name, text in sources.items()
        if name.partition("/")[0] in above and not name.startswith("bind/")
    }
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("floor", FLOORS)
def test_includes_go_down_the_floors_only(floor: str) -> None:
    own = {name: text for name, text in SOURCES.items() if name.startswith(f"{floor}/")}
    assert own, f"{floor} has no file"
    wrong = [f"{name}: {up}" for name, text in own.items() for up in wrong_includes(floor, text)]
    assert not wrong, "\n".join(wrong)


def test_python_is_known_on_the_floor_bind_alone() -> None:
    named = re.compile(r"#\s*include\s*[<\"](Python\.h|structmember\.h|pybind11/)")
    others = {name: text for name, text in SOURCES.items() if not name.startswith("bind/")}
    assert not [name for name, text in others.items() if named.search(text)]


def test_every_floor_is_listed() -> None:
    folders = {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()}
    assert folders - NOT_OURS == set(FLOORS)


def test_nothing_new_is_defined_above_the_floor_that_declares_it() -> None:
    arrows = list(arrows_up(SOURCES))
    new = [
        str(arrow)
        for arrow in arrows
        if not any(fnmatch(f"{arrow.header} {arrow.function}", known) for known in KNOWN_ARROWS)
    ]
    assert not new, "\n".join(new)
    names = [f"{arrow.header} {arrow.function}" for arrow in arrows]
    gone = [known for known in KNOWN_ARROWS if not any(fnmatch(name, known) for name in names)]
    assert not gone, f"no longer needed in KNOWN_ARROWS: {gone}"


def test_above_the_engine_nobody_new_knows_its_modes() -> None:
    assert modes_above(SOURCES) == KNOWN_MODES


@pytest.mark.parametrize(
    ("floor", "name"),
    [
        ("op", "tensor/value.h"), ("base", "op/spec.h"), ("kernels", "bind/objects.h"),
        ("op", "kernels/tile.h"), ("engine", "cpu/tiles.h"), ("cpu", "engine/engine.h"),
        ("kernels", "memory/array.h"), ("tape", "cpu/cpu.h"),
        ("op", "third_party/pocketfft/pocketfft_hdronly.h"), ("op", "spec.h"),
        ("op", "../base/pool.h"),
    ],
)  # fmt: skip
def test_an_include_that_goes_up_or_names_no_floor_is_found(floor: str, name: str) -> None:
    assert wrong_includes(floor, f'#pragma once\n#include "{name}"\n') == [name]


@pytest.mark.parametrize(
    ("declared", "defined"),
    [
        ("int f(int x, Map<int, int> y = {});", "int f(int x, Map<int, int> y) { return x; }"),
        ("class A {\n public:\n  ~A();\n};", "A::~A() { close(); }"),
        ("struct A { bool get(int i) const; };", "bool A::get(int) const { return true; }"),
        ("[[nodiscard]] const std::vector<T>& all();", "const std::vector<T>& all() { throw; }"),
        ("void f();", 'void f() try { g("{"); } catch (const E&) { }  // {'),
    ],
)  # fmt: skip
def test_a_function_that_a_higher_floor_defines_is_found(declared: str, defined: str) -> None:
    sources = {
        "op/a.h": f"namespace tensorlike {{\n{declared}\n}}\n",
        "tensor/b.cpp": f"namespace tensorlike {{\n{defined}\n}}\n",
    }
    (arrow,) = arrows_up(sources)
    assert (arrow.header, arrow.definer) == ("op/a.h", "tensor")
    assert not list(arrows_up({**sources, "op/a.cpp": sources["tensor/b.cpp"]}))


@pytest.mark.parametrize(
    "defined",
    [
        "int f(int x, int y) { return x; }",  # another function
        "namespace { int f(int x) { return x; } }",
        "static int f(int x) { return x; }",
        "namespace other { int f(int x) { return x; } }",
        "struct A { int f(int x) { return x; } };",
    ],
)
def test_another_function_of_the_name_is_no_arrow(defined: str) -> None:
    declared = "namespace tensorlike {\nint f(int x);\n}\n"
    above = f"namespace tensorlike {{\n{defined}\n}}\n"
    assert not list(arrows_up({"op/a.h": declared, "tensor/b.cpp": above}))


def test_a_mode_that_is_asked_for_above_the_engine_is_found() -> None:
    asks = "if (engine_options().mode == EngineMode::kSync) run();  // EngineMode::kLazy\n"
    sources = {"dispatch/a.cpp": asks, "engine/b.cpp": asks, "bind/c.cpp": asks}
    assert modes_above(sources) == {"dispatch/a.cpp": 1}


def test_the_functions_of_the_core_are_read() -> None:
    found = [f for text in SOURCES.values() for f in functions(text)]
    names = {f.name.removeprefix("tensorlike::") for f in found if f.lines}
    assert {"apply", "Registry::link", "small_launch", "bind::call_function"} <= names
    assert sum(f.lines > 0 for f in found) > 2500


# What a file names for itself: constants, variables, classes, functions with bodies.
OWN_NAME = re.compile(
    r"^(?:(?:inline |static )*(?:constexpr|const|thread_local) [^=;({]*?\b(\w+)(?:\[\w*\])?"
    r"(?: =|;|\{)"
    r"|(?:class|struct|enum class|enum) (\w+)(?= (?:final )?(?:\{|:))"
    r"|(?!using|return|namespace|template|class|struct|enum|extern|friend)[A-Za-z_][\w:<>,* ]*[ *&]"
    r"(\w+)(?:\[\w*\])?(?: = [^;\n]*|\{[^;\n]*\})?;$"
    r"|((?!namespace|return|else|extern)[A-Za-z_][\w:<>,&* ]*?\b\w+\([^;]*?\)) (?:const )?\{)",
    re.MULTILINE,
)


def own_names(text: str) -> set[str]:
    """What a file names; functions with the types of what they take, as the compiler tells them."""
    names = {next(filter(None, groups)) for groups in OWN_NAME.findall(text)}
    return {overload(name) for name in names if "::" not in name.partition("(")[0]}


def overload(function: str) -> str:
    """`f(int, T*)` of `int f(int x, T* all = {})`: what results and parameters are called is left
    out. A type without a name, `f(const T)`, is not told from a name; no file writes that."""
    head, is_function, taken = function.partition("(")
    if not is_function:
        return head
    types = [re.sub(r"\s+", " ", part) for part in re.split(r",(?![^<(]*[>)])", taken[:-1])]
    bare = [
        re.sub(r"(?<=[\w>&*]) ?\b\w+(?:\[\w*\])?(?: = .*)?$", "", part.strip()) for part in types
    ]
    return f"{head.split()[-1].lstrip('*&')}({', '.join(bare)})"


@pytest.mark.parametrize("floor", FLOORS)
def test_files_of_a_floor_name_different_things(floor: str) -> None:
    """Without a cache of results the build compiles several of them together."""
    owners: dict[str, list[str]] = {}
    for file, text in SOURCES.items():
        if re.fullmatch(rf"{floor}/\w+(?<!_tu)\.cpp", file):
            for name in own_names(text):
                owners.setdefault(name, []).append(file)
    assert not {name: files for name, files in owners.items() if len(files) > 1}


def test_a_function_is_known_by_what_it_takes() -> None:
    one = own_names("Object* f(Object* self, const Map<int, Op>& all) {\n}\n")
    assert one == own_names("void f(Object* it,\n       const Map<int, Op>& by_id = {}) {\n}\n")
    assert one == {"f(Object*, const Map<int, Op>&)"}
    assert one != own_names("void f(Object* self, Map<int, Op>& all) {\n}\n")
    assert own_names("void f() {\n}\nint* f(size_t n) {\n}\n") == {"f()", "f(size_t)"}
