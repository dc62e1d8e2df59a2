"""Names that a module does not have: the error says where the name is, or one like it."""

import pytest

import tensorlike as tl
from tensorlike import functional

MEANT = {
    "einsum": "tensorlike.functional.einsum",  # elsewhere in the package
    "Linear": "tensorlike.nn.Linear",
    "Adam": "tensorlike.optim.Adam",
    "norm": "tensorlike.functional.linalg.norm",
    "cumsum": "tensorlike.cumulative_sum",  # as NumPy calls it
    "concatenate": "tensorlike.concat",
    "arccos": "tensorlike.acos",
    "unsqueeze": "the method of tensors: x.unsqueeze(...)",
    "view": "the method of tensors: x.view(...)",
    "softmx": "tensorlike.functional.softmax",  # misspelt
    "resahpe": "tensorlike.reshape",
}


@pytest.mark.parametrize(("name", "meant"), MEANT.items())
@pytest.mark.parametrize("module", [tl, functional])
def test_what_may_be_meant_is_said(module, name, meant):
    if hasattr(module, name):
        pytest.skip("it is there")
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    said = f"module '{module.__name__}' has no attribute '{name}'; use {meant}"
    assert str(error.value) == said
    assert error.value.name == name


@pytest.mark.parametrize("name", ["xyzzy", "__wrapped__", "_cumsum", "a" * 10_000])
@pytest.mark.parametrize("module", [tl, functional])
def test_nothing_is_said_of_what_is_like_nothing(module, name):
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value) == f"module '{module.__name__}' has no attribute '{name}'"


def test_what_is_meant_is_there():
    for meant in MEANT.values():
        if meant.startswith("the method"):
            assert callable(getattr(tl.Tensor, meant.partition("x.")[2].partition("(")[0]))
        else:
            assert callable(eval(meant, {"tensorlike": tl}))
