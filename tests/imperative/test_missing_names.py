"""Names that a module does not have: the error says what may be meant, and that is there."""

from __future__ import annotations

import copy
import pickle
import re
import traceback
from functools import reduce
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.imperative import missing_names
from tensorlike.imperative.missing_names import _OTHERS


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        (tl, "cumsum", "tensorlike.cumulative_sum"),
        (tl.functional, "concatenate", "tensorlike.concat"),
        (tl, "unsqueeze", "the method of tensors: x.unsqueeze(...)"),
        (tl, "softmaxx", "tensorlike.functional.softmax"),
        (tl, "cat", "tensorlike.concat"),
        (tl.functional, "randn", "tensorlike.random.normal"),
    ],
)
def test_another_librarys_name_is_told_ours(module: Any, name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"; use {re.escape(meant)}$"):
        getattr(module, name)


def test_a_name_that_nothing_is_like_is_refused_plainly() -> None:
    for name in ("quite_something_else", "_private", "x" * 10_000):
        with pytest.raises(AttributeError, match=r"has no attribute '\w+'$"):
            getattr(tl, name)


@pytest.mark.parametrize("name", sorted(_OTHERS))
def test_what_is_told_is_there(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(tl, name)
    (meant,) = re.findall(r"; use tensorlike\.(.*)$", str(caught.value))
    for one in re.split(r" (?:or|and) ", meant.partition("(")[0]):
        reduce(getattr, one.split("."), tl)


def test_who_only_asks_whether_a_name_is_there_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(missing_names, "_meant", lambda name: pytest.fail(f"{name} is looked for"))
    for module in (tl, tl.functional):
        assert not hasattr(module, "softmaxx")
        assert getattr(module, "cumsum", None) is None


def test_the_error_is_as_any_other_of_its_kind() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = tl.cumsum
    error = caught.value
    said = "module 'tensorlike' has no attribute 'cumsum'; use tensorlike.cumulative_sum"
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(same), same.args, same.name) == (said, (said,), "cumsum")
        assert repr(same) == repr(AttributeError(said))
    assert traceback.format_exception_only(error) == [f"AttributeError: {said}\n"]
