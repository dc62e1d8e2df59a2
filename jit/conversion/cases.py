"""`match` with guards: a guard that a tensor decides is a branch like any other."""

from __future__ import annotations

import ast

from .templates import Pass, statements


class Cases(Pass):
    """Each case with a guard is a ``match`` by itself, behind a flag that says if one was taken.

    Cases without guards are Python's: patterns look at what is no tensor.
    """

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self._count = 0

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if all(case.guard is None for case in node.cases):
            return node
        self._count += 1
        subject, taken = f"_jit_subject_{self._count}", f"_jit_taken_{self._count}"
        text = f"{subject} = value\n{taken} = False"
        made = statements(text, node, value=node.subject)
        for number, cases in enumerate(_groups(node.cases)):
            for case in cases:
                case.body = self._body(case, taken)
                case.guard = None
            (one,) = statements(f"match {subject}:\n    case _: pass", node)
            one.cases = cases  # type: ignore[attr-defined]
            made += statements(f"if not {taken}:\n    rest", node, rest=[one]) if number else [one]
        return made

    @staticmethod
    def _body(case: ast.match_case, taken: str) -> list[ast.stmt]:
        body = statements(f"{taken} = True", case.body[0]) + case.body
        if case.guard is None:
            return body
        return statements("if guard:\n    body", case.guard, guard=case.guard, body=body)


def _groups(cases: list[ast.match_case]) -> list[list[ast.match_case]]:
    """The cases, in runs of which only the last one may have a guard."""
    found: list[list[ast.match_case]] = [[]]
    for case in cases:
        found[-1].append(case)
        if case.guard is not None:
            found.append([])
    return [group for group in found if group]
