"""Random functions of sizes, in all forms, at sizes other than those of their recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.functions_of_sizes import SHAPES, Generator, compare, drawn, made, wanted

import tensorlike as tl
from tensorlike import jit, static

_CONVERTED = ("to_static", "saved from to_static")
_SPECS = [jit.InputSpec(("n",), name="x"), jit.InputSpec(("m", "k"), name="y")]


def saved(function: Any, folder: Path) -> Callable[..., Any]:
    jit.save(function, folder / "function.tlp", _SPECS)
    return jit.load(folder / "function.tlp")


def static_program(function: Any, folder: Path) -> Callable[..., Any]:
    with static.program_guard(static.Program(), static.Program()) as main:
        found = function(*map(tl.Tensor, (static.data("x", ("n",)), static.data("y", ("m", "k")))))
    exe = static.Executor()
    return lambda x, y: exe.run(main, feed={"x": x, "y": y}, fetch_list=list(found))


def loaded(function: Any, folder: Path) -> Callable[..., Any]:
    with static.program_guard(static.Program(), static.Program()) as main:
        found = function(*map(tl.Tensor, (static.data("x", ("n",)), static.data("y", ("m", "k")))))
    static.save(main, folder / "program.tlp", list(found))
    again = static.load(folder / "program.tlp")
    exe = static.Executor()
    return lambda x, y: exe.run(
        again, feed={"x": x, "y": y}, fetch_list=list(again.results.values())
    )


FORMS: dict[str, Callable[[Any, Path], Callable[..., Any]]] = {
    "traced": lambda f, _: jit.trace(f),
    "traced with a spec": lambda f, _: jit.trace(input_spec=_SPECS)(f),
    "to_static": lambda f, _: jit.to_static(input_spec=_SPECS)(f),
    "saved": saved,
    "saved from to_static": lambda f, folder: saved(jit.to_static(f), folder),
    "static": static_program,
    "loaded": loaded,
}
_MAY_REFUSE = ("saved", "saved from to_static", "static", "loaded")


def run(form: str, function: Callable[..., Any], folder: Path, source: str) -> tuple[int, int, str]:
    """How many sizes gave what eager code gives, and how many were refused, and why."""
    answers = {sizes: wanted(function, sizes) for sizes in SHAPES}
    told = f"{form} of\n{source}"
    try:
        call = FORMS[form](function, folder)
    except tl.TensorlikeError as error:
        assert form in _MAY_REFUSE, told
        return 0, sum(answer is not None for answer in answers.values()), str(error)
    right, refused, why = 0, 0, ""
    for sizes in (*SHAPES, *SHAPES[::-1]):
        answer = answers[sizes]
        if answer is None:
            continue
        try:
            found = call(*drawn(sizes))
        except tl.TensorlikeError as error:
            assert form in _MAY_REFUSE, f"{told}\n{error}"
            refused, why = refused + 1, str(error)
            continue
        compare(found, answer, f"{told}at {sizes}")
        right += 1
    return right, refused, why


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("seed", range(30))
def test_functions_of_sizes_give_what_eager_code_gives(
    form: str, seed: int, tmp_path: Path
) -> None:
    source = Generator(seed, is_symbolic=form not in _CONVERTED).source()
    function = made(source, tmp_path, f"of_sizes_{seed}")
    run(form, function, tmp_path, source)
