"""What a function returns, from a file: the same containers, with what is no tensor in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import jit
from tensorlike.jit.result_names import path_of


@dataclasses.dataclass
class Outcome:
    """As models return."""

    loss: Any
    cache: Any = None


FORMS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: (x,),
    lambda x: (x, None),
    lambda x: (None, x * 2, 3, x),
    lambda x: {0: x, 1: x * 2},
    lambda x: {True: x, None: x * 3, ("a", 1): x * 2},
    lambda x: {"a]|b'\"\\": x, "c": "z|]", "d": [1, {"e": 2.5}]},
    lambda x: [None, [x, ("a|b", x * 2)], ()],
    lambda x: [{"a": [x]}, ({2: (x * 2,)},), []],
    lambda x: [x * i for i in range(12)],
]


def _said(x: Any) -> Any:
    if isinstance(x, tl.Tensor):
        return x.tolist()
    if isinstance(x, dict):
        return {key: _said(value) for key, value in x.items()}
    return type(x)(map(_said, x)) if isinstance(x, list | tuple) else x


@pytest.mark.parametrize("for_inference", [False, True])
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_results_come_back_as_they_were(form: int, for_inference: bool, tmp_path: Path) -> None:
    path = tmp_path / "form.tlp"
    jit.save(FORMS[form], path, [jit.InputSpec((None,))], for_inference=for_inference)
    x = tl.tensor([1.0, 2.0, 3.0])
    assert _said(jit.load(path)(x)) == _said(FORMS[form](x))


def test_fields_of_a_dataclass_come_back_as_fields(tmp_path: Path) -> None:
    path = tmp_path / "outcome.tlp"
    info = jit.save(lambda x: Outcome(x * 2), path, [jit.InputSpec((2,))])
    found = jit.load(path)(tl.tensor([1.0, 2.0]))
    assert info.outputs == ("result(.loss|{'cache': None})",)
    assert isinstance(found, SimpleNamespace) and found.cache is None
    assert found.loss.tolist() == [2.0, 4.0]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    spec = [jit.InputSpec((2,))]
    with pytest.raises(tl.ArgumentError, match="beside tensors must be None, numbers and text"):
        jit.save(lambda x: (x, tl.float32), tmp_path / "a", spec)
    with pytest.raises(tl.ArgumentError, match="must return a tensor; got 3"):
        jit.save(lambda x: 3, tmp_path / "b", spec)
    with pytest.raises(tl.ArgumentError, match="input_spec must be a list of InputSpec"):
        jit.save(lambda x: x, tmp_path / "c", jit.InputSpec((2,)))  # type: ignore[arg-type]


def test_names_of_others_are_names() -> None:
    for name in ("loss", "result_2", "result(", "result[a]", "result(0|"):
        assert [part[:2] for part in path_of(name)] == [("dict", name)]


def test_arguments_of_a_loaded_program_have_names(tmp_path: Path) -> None:
    jit.save(lambda x, y: x - y, tmp_path / "f", [jit.InputSpec((2,)), jit.InputSpec((2,))])
    loaded = jit.load(tmp_path / "f")
    a, b = tl.tensor([3.0, 4.0]), tl.tensor([1.0, 1.0])
    for found in (loaded(a, b), loaded(a, y=b), loaded(y=b, x=a)):
        assert found.tolist() == [2.0, 3.0]
    for args, named in (((a,), {}), ((a, b), {"y": b}), ((a,), {"z": b})):
        with pytest.raises(tl.ArgumentError, match="takes x, y; got"):
            loaded(*args, **named)


class Converted(tl.nn.Layer):
    """A layer whose forward is a program."""

    def __init__(self) -> None:
        self.linear = tl.nn.Linear(3, 2, seed=0)

    @jit.to_static
    def forward(self, x: Any) -> Any:
        """A branch on what it computes."""
        y = self.linear(x)
        return y if y.sum() > 0 else -y


def test_a_layer_whose_forward_was_called_is_saved_without_more(tmp_path: Path) -> None:
    layer = Converted()
    for n in (2, 4):
        layer(tl.ones((n, 3)))
    info = jit.save(layer, tmp_path / "layer")
    assert info.parameters == ("linear.weight", "linear.bias")
    loaded = jit.load(tmp_path / "layer")
    for x in (tl.ones((5, 3)), -tl.ones((2, 3))):
        assert loaded(x).detach().tolist() == layer(x).detach().tolist()
