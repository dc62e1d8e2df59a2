"""The standard's own node tests, through import: at least 92 % pass, and the rest is known."""

from __future__ import annotations

import pytest
from support.onnx_cases import FAILURES, Outcome, node_cases, outcome, reason_of


def unexpected(outcomes: list[Outcome]) -> list[str]:
    """Cases that fail and should not, and those that pass and were said to fail."""
    told = []
    for one in outcomes:
        if one.error and not one.is_ours:
            told.append(f"{one.name}: an error that is none of ours: {one.error}")
        elif one.error and reason_of(one.name) is None:
            told.append(f"{one.name}: {one.error}")
        elif not one.error and reason_of(one.name) is not None:
            told.append(f"{one.name} passes, though it is listed: {reason_of(one.name)}")
    return told


def test_a_quarter_of_the_standards_node_tests_pass_but_those_known() -> None:
    outcomes = [outcome(case) for case in node_cases()[::4]]
    assert len(outcomes) > 400
    # What draws random numbers may agree by chance.
    told = [line for line in unexpected(outcomes) if "draws" not in line]
    assert not told, "\n".join(told)


@pytest.mark.slow
def test_at_least_92_of_100_of_the_standards_node_tests_pass() -> None:
    outcomes = [outcome(case) for case in node_cases()]
    passed = sum(not one.error for one in outcomes)
    told = [line for line in unexpected(outcomes) if "draws" not in line]
    print(f"{passed} of {len(outcomes)} node tests pass")
    assert not told, "\n".join(told)
    assert passed / len(outcomes) >= 0.92


@pytest.mark.slow
def test_each_reason_for_failing_is_that_of_a_case() -> None:
    found = {reason_of(case.name) for case in node_cases()}
    assert set(FAILURES) <= found
