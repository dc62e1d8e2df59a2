"""The node tests that ship in the package onnx: a model of one op each, inputs, and results."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx

import tensorlike as tl

# Those that fail, by a pattern of their names, with the reason.
FAILURES = {
    "strings, which no dtype holds": (
        "ai_onnx_ml_label_encoder.*|equal_string.*|identity_string|string.*|regex.*"
        "|string_(concat|split).*|strnormalizer.*|strnorm_.*|unique_string|cast_.*STRING.*"
    ),
    "decodes images, which is no computation on tensors": "image_decoder.*",
    "counts n-grams of words": "tfidfvectorizer.*",
    "trees of decisions": "ai_onnx_ml_tree_ensemble.*",
    "draws by a generator that the standard leaves open": (
        "bernoulli.*|training_dropout(_default)?(_mask)?"
    ),
    "results differ by one or two of the last places of bfloat16 or float16, over the tolerance": (
        "attention_[34]d_(causal|padded_kv|causal_padded_kv|attn_mask_causal)_bf16(_expanded)?"
    ),
    "zeros that the reference computes in float32 to 1e-7": "dft_inverse(_opset19)?",
}
# What fails in `tl-run` beside those, or of those for another reason.
CORE_FAILURES = {
    "results differ by two of the last places of float16, ours are nearer to float64's": (
        "attention_4d_causal_fp16_expanded"
    ),
    "a recurrence of another formula than ours, which is a scan in Python": (
        "linear_attention_(?!.*_expanded).*"
    ),
    "draws by a generator that the standard leaves open": "bernoulli.*|training_dropout.*",
    "a value that may be missing, which no file holds": (
        "optional_get_element_optional_tensor|optional_has_element_(tensor|optional)_input"
    ),
}


class Outcome(NamedTuple):
    """What became of a case: "" where it passed."""

    name: str
    error: str
    is_ours: bool


@cache
def node_cases() -> list[Any]:
    """All cases, in the order of the package."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own arithmetic overflows on purpose
        return list(load_model_tests(kind="node"))


def reason_of(name: str, failures: Mapping[str, str] = FAILURES) -> str | None:
    """Why a case fails that does."""
    short = name.removeprefix("test_")
    return next((why for why, text in failures.items() if re.fullmatch(text, short)), None)


def outcome(case: Any) -> Outcome:
    """Runs a case through the importer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = tl.export.onnx.load(case.model)
            for inputs, wanted in case.data_sets:
                found = model(*inputs)
                found = found if isinstance(found, tuple) else (found,)
                assert len(found) == len(wanted), "as many results as the model has"
                for ours, theirs in zip(found, wanted, strict=True):
                    check_same(ours, theirs, case.rtol, case.atol)
    except Exception as error:
        is_ours = isinstance(error, (tl.TensorlikeError, AssertionError, OSError))
        return Outcome(case.name, f"{type(error).__name__}: {str(error)[:300]}", is_ours)
    return Outcome(case.name, "", True)


def check_same(ours: Any, theirs: Any, rtol: float, atol: float) -> None:
    """Holds a result against the package's: dtype, shape, elements."""
    if isinstance(theirs, (list, tuple)):
        assert isinstance(ours, list) and len(ours) == len(theirs), "a sequence as long"
        for one, other in zip(ours, theirs, strict=True):
            check_same(one, other, rtol, atol)
        return
    if theirs is None:
        assert ours is None, "nothing"
        return
    if isinstance(theirs, onnx.TensorProto):
        theirs = onnx.numpy_helper.to_array(theirs)
    found, wanted = np.asarray(ours), np.asarray(theirs)
    if wanted.dtype.type.__module__ == "ml_dtypes":
        # bfloat16, and types narrower than our dtypes, whose numbers a wider one holds.
        assert found.dtype.name == held_in(wanted.dtype.name), (found.dtype, wanted.dtype)
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def held_in(name: str) -> str:
    """The dtype that holds the numbers of a narrow type."""
    if name == "bfloat16":
        return "bfloat16"
    return "float32" if name.startswith("float") else "uint8" if name[0] == "u" else "int8"
