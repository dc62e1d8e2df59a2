"""What a C++ file defines and declares, read from its text.

Not a compiler: comments, strings and preprocessor lines are blanked, then braces are matched, and
the text before a brace says what it opens. That is enough for this project's own style, which
clang-format holds; macros that expand to whole functions are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_BLANKED = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"\((?:.*?)\)" | "(?:\\.|[^"\\\n])*" | (?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'
      | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*""",  # noqa: E501
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b(?:\s+class)?\s*((?:\w|::)*)")
_ATTRIBUTE = re.compile(
    r"\[\[.*?\]\]|\b(?:alignas|__attribute__)\s*\([^()]*(?:\([^()]*\))?[^()]*\)"
)
_NAME = re.compile(
    r"((?:[A-Za-z_]\w*(?:<[^()]*>)?::)*(?:operator\s*(?:\(\)|[^\s(]+)|~?[A-Za-z_]\w*))\s*$"
)
_MACROS = re.compile(
    r"\s*(?:[A-Z][A-Z0-9_]+\([^()]*\)\s*)+(?=\w)"
)  # calls of them before a function
_POINTER = re.compile(r"\(\s*(?:\w+::)*\*")  # to a function
_NOT_NAMES = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "defined"}


@dataclass(frozen=True)
class Function:
    """A function with a body, or the declaration of one (then `lines` is 0)."""

    name: str  # with the names of its namespaces and classes
    params: int
    line: int
    lines: int = 0
    body: str = ""  # without comments and strings
    is_hidden: bool = False  # static, or in an anonymous namespace


def without_comments(source: str) -> str:
    """The text without comments; strings stay."""
    return _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else "", source)


def comment_lines(source: str) -> int:
    """How many lines hold a comment and nothing else."""
    bare = _COMMENT.sub(
        lambda f: f[0] if f[0][0] == '"' else "\n" * f[0].count("\n") + "\0", source
    )
    return sum(line.strip(" \t\0") == "" and "\0" in line for line in bare.split("\n"))


@cache
def functions(source: str) -> tuple[Function, ...]:
    """The functions that a file defines or declares outside of other functions, in order."""
    text = _BLANKED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    return tuple(_read(text, 0, len(text), "", False))


def _read(text: str, start: int, end: int, outer: str, is_hidden: bool) -> Iterator[Function]:
    """What stands between two places on one level: in a file, a namespace or a class."""
    begin = place = start
    depth = 0  # of parentheses
    while place < end:
        char = text[place]
        depth += (char == "(") - (char == ")")
        if char == ";" and depth == 0:
            yield from _declared(text, begin, place, outer, is_hidden)
            begin = place + 1
        elif char == "{":
            close = _matching(text, place)
            header = text[begin:place]
            if depth > 0 or _is_value(header):
                place = close
            else:
                yield from _opened(text, begin, place, close, outer, is_hidden)
                begin, place = close + 1, close
        elif char == ":" and re.fullmatch(r"\s*(public|private|protected)\s*", text[begin:place]):
            begin = place + 1
        place += 1


def _opened(
    text: str, begin: int, place: int, close: int, outer: str, is_hidden: bool
) -> Iterator[Function]:
    """What the brace at `place` opens, after a header that begins at `begin`."""
    if (macros := _MACROS.match(text, begin, place)) is not None:
        begin = macros.end()
    header = _plain(text[begin:place])
    scope = _SCOPE.search(header)
    if scope is not None and "(" not in header:
        if scope[1] != "enum":
            inner = "::".join(filter(None, (outer, scope[2])))
            yield from _read(text, place + 1, close, inner, is_hidden or scope[2] == "")
    elif "(" not in header:  # extern "C", or an initializer
        if header.strip() == "extern":
            yield from _read(text, place + 1, close, outer, is_hidden)
    elif (made := _named(header, outer, is_hidden)) is not None:
        line = text.count("\n", 0, begin + _indent(text[begin:place])) + 1
        lines = text.count("\n", 0, close) + 2 - line
        yield Function(made[0], made[1], line, lines, text[place : close + 1], made[2])


def _declared(text: str, begin: int, end: int, outer: str, is_hidden: bool) -> Iterator[Function]:
    header = _plain(text[begin:end])
    words = header.split()
    if "(" not in header or not words or words[0] in ("using", "typedef", "friend", "return"):
        return
    if re.search(r"=\s*(default|delete)\s*$", header) or "=" in header.split("(")[0]:
        return
    if (made := _named(header, outer, is_hidden)) is not None:
        line = text.count("\n", 0, begin + _indent(text[begin:end])) + 1
        yield Function(made[0], made[1], line, is_hidden=made[2])


def _named(header: str, outer: str, is_hidden: bool) -> tuple[str, int, bool] | None:
    """The full name and the number of parameters of a function with this header."""
    call = re.search(r"operator\s*\(\s*\)", header)
    opening = header.find("(", call.end() if call else 0)
    found = _NAME.search(header[:opening])
    if found is None or found[1] in _NOT_NAMES or _POINTER.match(header, opening):
        return None
    if "=" in re.sub(r"operator\s*\S+", "", header[:opening]):
        return None
    inner = header[opening + 1 : _matching(header, opening)]
    full = "::".join(filter(None, (outer, re.sub(r"<[^()]*?>(?=::)", "", found[1]))))
    is_static = "static" in header[:opening].split() and not _is_class(outer)
    return full, _count(inner), is_hidden or is_static


def _is_class(scope: str) -> bool:
    """Classes begin with a capital letter here, namespaces do not."""
    return scope.rpartition("::")[2][:1].isupper()


def _plain(header: str) -> str:
    """Without attributes and template parameters."""
    header = _ATTRIBUTE.sub(" ", header)
    while found := re.match(r"\s*template\s*<", header):
        depth, place = 1, found.end()
        while depth and place < len(header):
            depth += (header[place] == "<") - (header[place] == ">" and header[place - 1] != "-")
            place += 1
        header = header[place:]
    return re.sub(r"^\s*requires\s+\w+(<[^()]*>)?", "", header)


def _is_value(header: str) -> bool:
    """Whether what follows in braces is a member's value: `Name() : member_{...} {`."""
    is_listing = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", header) is not None
    return is_listing and re.search(r"[\w>]\s*$", header) is not None


def _matching(text: str, place: int) -> int:
    """Where the bracket at `place` is closed."""
    opens = text[place]
    closes = {"{": "}", "(": ")"}[opens]
    depth = 0
    for found in re.compile(rf"[{re.escape(opens + closes)}]").finditer(text, place):
        depth += 1 if found[0] == opens else -1
        if depth == 0:
            return found.start()
    return len(text)


def _count(params: str) -> int:
    """How many parameters there are; commas within brackets separate none."""
    depth, commas = 0, 0
    for char in params.replace("->", "  "):
        depth += (char in "(<[{") - (char in ")>]}")
        commas += char == "," and depth == 0
    return commas + 1 if params.strip() not in ("", "void") else 0


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
