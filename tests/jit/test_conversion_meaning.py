"""What converted code means: Python's own meaning, and that of the branch that is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.jit import to_static

F = tl.functional
HIGH, LOW = tl.tensor([1.0, 2.0]), tl.tensor([-1.0, -2.0])


def same(function: Any, *arguments: Any) -> None:
    """Holds a converted function against the function itself, for all arguments, twice."""
    converted = to_static(function)
    for _ in range(2):
        for x in arguments:
            got, wanted = converted(tl.tensor(x)), function(tl.tensor(x))
            assert flat(got) == flat(wanted)
    assert len(converted.programs()) == 1


def flat(result: Any) -> Any:
    """A result with lists in the place of tensors."""
    if isinstance(result, dict):
        return {key: flat(x) for key, x in result.items()}
    if isinstance(result, (list, tuple)):
        return [flat(x) for x in result]
    return result.tolist() if hasattr(result, "tolist") else result


X = ([1.0, 2.0], [-1.0, -2.0], [0.25, 30.0])


def test_y4_lists_and_dicts_are_what_the_branch_that_is_taken_makes_of_them() -> None:
    def f(x: Any) -> Any:
        found, named = [x], {"a": x}
        alias = found
        if x.sum() > 0:
            found.append(x * 2)
            found.insert(0, x - 1)
            named["b"] = x * 3
            named["a"] = x + 1
            last = found.pop(0)
            local = []
            local.append(x)
        else:
            found[0] = x * 5
            found.append(x)
            named["b"] = x
            last = x
        found.append(last)
        return found, named, alias, last

    same(f, *X)


def test_objects_and_nested_lists_are_changed_by_one_branch_only() -> None:
    class Holder:
        def __init__(self, x: Any) -> None:
            self.x = x
            self.rows = [[x, x], [x]]

    def change(holder: Any, x: Any) -> None:
        holder.x = holder.x + x
        holder.rows[1][0] = x * 7

    def f(x: Any) -> Any:
        holder = Holder(x)
        if x.sum() > 0:
            change(holder, x)
        elif x[0] < -5:
            holder.rows[0][1] = x * 2
        return holder.x, holder.rows

    same(f, *X, [-9.0, 1.0])


def test_tensors_that_are_changed_in_place_keep_their_aliases() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = y
        if x.sum() > 0:
            y += 1
        else:
            y[0] = 7.0
        steps = 0
        while y.sum() < 20:
            y += 5
            steps += 1
        return y, z, steps

    same(f, *X)


def test_what_only_one_branch_does_happens_in_that_branch_only() -> None:
    def f(x: Any) -> Any:
        y = x
        if x[0] > 0:
            while y.sum() < 100.0:  # without end where the branch is not taken
                y = y * 2
        return y

    same(f, [1.0, 2.0], [-1.0, -2.0])


def test_y4_casts_len_and_comparisons() -> None:
    def f(x: Any) -> Any:
        whole, part, flag = int(x.sum()), float(x[0]), bool(x[0] > 1)
        if flag or (0 < whole < 5 and len(x) == 2):
            return whole * 2, max(part, 1.5), not flag
        return whole + 1, min(part, 1.5), flag

    same(f, *X)


def test_and_or_are_pythons_where_no_tensor_decides() -> None:
    seen: list[str] = []

    def tell(name: str, value: Any) -> Any:
        seen.append(name)
        return value

    def f(x: Any) -> Any:
        empty = tell("a", []) or tell("b", "text")
        none = tell("c", None) and tell("d", 1)
        chain = tell("e", 3) < tell("f", 2) < tell("g", 5)
        chosen = tell("h", 1) if x.ndim == 1 else tell("i", 2)
        return x + chosen, empty, none, chain

    expected = f(HIGH)[1:]
    order, seen[:] = list(seen), []
    assert to_static(f)(HIGH)[1:] == expected
    assert seen == order == ["a", "b", "c", "e", "f", "h"]


def test_and_evaluates_its_second_part_only_where_it_must() -> None:
    def f(x: Any) -> Any:
        index = (x[0] * 3).astype("int64")
        if index < 2 and x[index] > 0:  # out of range otherwise
            return x * 2
        return x

    same(f, [0.1, 2.0], [5.0, 1.0])


def test_conditional_expressions_and_lambdas() -> None:
    def f(x: Any) -> Any:
        pick = lambda y: y * 2 if y.sum() > 0 else -y  # noqa: E731
        return [pick(part) for part in (x, x - 5)], (x if x[0] > 0 else x * 9)

    same(f, *X)
    double = to_static(lambda x: x * 2 if x.sum() > 0 else x)
    assert double(HIGH).tolist() == [2.0, 4.0]
    assert double(LOW).tolist() == [-1.0, -2.0]


def test_helpers_are_converted_and_recursion_ends() -> None:
    def halved(x: Any, depth: int) -> Any:
        if depth == 0:
            return x
        if x.sum() > 1:
            return halved(x / 2, depth - 1)
        return x

    def f(x: Any) -> Any:
        return halved(x, 4)

    same(f, *X)


def test_closures_share_their_cells() -> None:
    factor = 2.0

    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x * factor
        return x

    converted = to_static(f)
    assert converted(HIGH).tolist() == [2.0, 4.0]
    factor = 3.0
    assert converted(HIGH).tolist() == [3.0, 6.0]


def test_print_happens_when_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    @to_static
    def f(x: Any) -> Any:
        print("sum", x.sum())
        if x.sum() > 0:
            print("positive", 1, sep=": ")
        for row in x:
            print(row, end=";")
        return x

    for x in (HIGH, LOW, HIGH):
        f(x)
    high = "sum tensor(3.)\npositive: 1\ntensor(1.);tensor(2.);"
    low = "sum tensor(-3.)\ntensor(-1.);tensor(-2.);"
    assert capsys.readouterr().out == high + low + high
    assert len(f.programs()) == 1


def test_loops_over_unknown_numbers_of_rows_are_scans() -> None:
    @to_static
    def f(x: Any) -> Any:
        total = x[0] * 0
        for i, (row, other) in enumerate(zip(x, x * 2, strict=True)):
            if row.sum() > 100:
                break
            total = total + row * i + other
        for _ in range(x.shape[0]):
            total = total + 1
        return total

    for rows in (3, 5, 7, 9):
        x = tl.tensor(np.arange(2.0 * rows, dtype="float32").reshape(rows, 2))
        np.testing.assert_allclose(f(x).numpy(), f.__wrapped__(x).numpy(), rtol=1e-6)
    assert len(f.programs()) == 2  # of three rows, and of any number


def test_a_loop_may_begin_as_pythons_and_go_on_as_an_op() -> None:
    def f(x: Any) -> Any:
        steps = 0
        while steps < 10:
            if x.sum() > 20:
                break
            x = x * 2
            steps += 1
        else:
            steps = -1
        return x, steps

    same(f, [1.0, 2.0], [0.001, 0.002], [90.0, 1.0])


def test_walrus_in_a_loop_test_is_bound_in_each_step() -> None:
    def f(x: Any) -> Any:
        while (total := x.sum()) < 50:
            x = x * 2
        return x, total

    same(f, [1.0, 2.0], [60.0, 1.0])


def test_with_and_try_around_and_inside() -> None:
    def f(x: Any) -> Any:
        for i in range(3):
            with tl.no_grad():
                if x.sum() > 10:
                    break
                x = x + i
            try:
                x = x * 2
                if x[0] > 4:
                    continue
            finally:
                x = x + 1
            x = x - 0.5
        return x

    same(f, *X)


def test_what_is_raised_and_caught_in_one_branch_is_pythons() -> None:
    def f(x: Any) -> Any:
        try:
            size = {}["size"]
        except KeyError:
            size = 3
        if x.sum() > 0:
            x = x * size
        return x

    same(f, *X)


def test_a_recursion_that_a_tensor_ends_is_refused() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 9:
            return x
        return f(x * 2)

    with pytest.raises(tl.ParameterError, match="a recursion must not end by what a tensor says"):
        to_static(f)(HIGH)


def test_a_match_statement_is_pythons() -> None:
    def f(x: Any, kind: str) -> Any:
        match kind:
            case "double":
                if x.sum() > 0:
                    return x * 2
            case str() as other:
                x = x + len(other)
        return x

    converted = to_static(f)
    for kind in ("double", "abc"):
        for x in (HIGH, LOW):
            assert converted(x, kind).tolist() == f(x, kind).tolist()


def test_defaults_and_keywords_stay() -> None:
    @to_static
    def f(x: Any, *rest: Any, scale: float = 2.0, **more: Any) -> Any:
        if x.sum() > 0:
            x = x * scale
        return x + sum(rest) + more.get("shift", 0)

    assert f(HIGH).tolist() == [2.0, 4.0]
    assert f(HIGH, 1, 2, scale=3.0, shift=4).tolist() == [10.0, 13.0]


def test_y5_one_program_serves_all_values_of_a_signature() -> None:
    @to_static
    def f(x: Any, n: int) -> Any:
        if x.sum() > n:
            return x
        return -x

    for x in (HIGH, LOW, HIGH):
        f(x, 1)
    assert len(f.programs()) == 1
    f(HIGH, 2)
    f(HIGH.astype("float64"), 1)
    assert len(f.programs()) == 3


def halved(x: Any, depth: int) -> Any:
    """Calls itself by a global name."""
    if depth == 0:
        return x
    return [halved(x * 0.5, depth - 1) for _ in range(2)][1]


def emptied(x: Any, depth: int) -> Any:
    """The same, with a branch on tensors."""
    if x.sum() > 0:
        x = x * 0.5
    return x if depth == 0 else emptied(x - 1, depth - 1)


def test_global_functions_may_call_themselves() -> None:
    same(halved_twice, *X)
    same(lambda x: emptied(x, 3), *X)


def halved_twice(x: Any) -> Any:
    """Calls a function that calls itself."""
    return halved(x, 2) + (halved_twice(x[:1]) if x.shape[0] > 1 else 0)
