"""Models that nobody tested before, in every form: results and gradients are eager code's."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from support.forms_of_models import FORMS, assert_close, eager, transformed
from support.strangers import STRANGERS

import tensorlike as tl

# What records values needs values; a loop that tensors decide about is converted.
_DECIDED = ("traced_symbolically",)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", STRANGERS)
def test_a_model_is_the_same_in_every_form(name: str, form: str, tmp_path: Path) -> None:
    model = STRANGERS[name]
    if form in model.without or (model.decides and form in _DECIDED):
        return
    gc.collect()  # programs hold each other, and their sizes stand for large numbers meanwhile
    feeds = model.feeds()
    wanted = eager(model, feeds, tmp_path)
    found = FORMS[form](model, feeds, tmp_path)
    for got, want, sizes in zip(found, wanted, model.sizes, strict=True):
        assert_close(got, want, model.tolerance, f"{sizes}")


@pytest.mark.parametrize("make", [tl.jit.trace, tl.jit.to_static])
@pytest.mark.parametrize("name", [name for name, one in STRANGERS.items() if one.has_gradient])
def test_transforms_go_around_programs(name: str, make: Any) -> None:
    model = STRANGERS[name]
    if model.decides:
        return  # vmap of Python's branches
    feed = model.feeds()[0]
    wanted = transformed(model, feed, lambda function: function)
    found = transformed(model, feed, lambda function: make(lambda *given: function(*given)))
    for key, want in wanted.items():
        assert_close(found[key], want, model.tolerance, key)
