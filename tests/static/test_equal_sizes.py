"""Sizes that are equal only for some values: a program takes them for equal, and says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import jit, static


def halved_and_doubled(x: Any) -> Any:
    return F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="nearest")


def skipped(x: Any) -> Any:
    """A U-Net's skip connections, two levels deep."""
    deep = halved_and_doubled(F.tanh(halved_and_doubled(x * 2)))
    return F.concat([x, deep, F.sin(deep)], axis=1)


# Each wants the sizes of x to be even.
USES: dict[str, Callable[[Any], Any]] = {
    "concat": skipped,
    "add": lambda x: x + halved_and_doubled(x),
    "where": lambda x: F.where(halved_and_doubled(x) > 0, x, 0.0),
    "stack": lambda x: F.stack([x, halved_and_doubled(x)]),
    "product": lambda x: F.matmul(F.matrix_transpose(halved_and_doubled(x)), x),
    "slope": lambda x: tl.grad(lambda z: F.sum(skipped(z) ** 3))(x),
    "slope of a sum": lambda x: tl.grad(
        lambda z: F.sum(F.mean((z + halved_and_doubled(z)) ** 2, axis=(-2, -1)))
    )(x),
    "last": lambda x: F.sum(x * halved_and_doubled(x)) * x.shape[2],
}


def built(use: Callable[[Any], Any], shape: Any) -> tuple[static.Program, Any]:
    with static.program_guard(static.Program(), static.Program()) as main:
        y = use(tl.Tensor(static.data("x", shape)))
    return main, y


def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("name", sorted(USES))
def test_they_are_taken_for_equal_and_runs_for_which_they_are_not_are_refused(
    name: str, tmp_path: Path
) -> None:
    use = USES[name]
    main, y = built(use, (None, 2, "h", "w"))
    assert "assumes h == 2 * " in str(main)
    exe = static.Executor()
    compiled = static.CompiledProgram(main)
    path = tmp_path / "skipped.tlp"
    static.save(main, path, [y])
    loaded = static.load(path)
    for other in (loaded, main.clone()):
        assumed = [
            {line for line in str(one).splitlines() if line.startswith("assumes")}
            for one in (main, other)
        ]
        assert assumed[0] == assumed[1]
    copied = main.clone()
    for shape in ((1, 2, 4, 8), (2, 2, 2, 6), (0, 2, 4, 2)):
        x = drawn(*shape)
        wanted = use(tl.tensor(x)).numpy()
        for found in (
            exe.run(main, {"x": x}, [y])[0], exe.run(compiled, {"x": x}, [y])[0],
            exe.run(copied, {"x": x}, [y])[0],
            exe.run(loaded, {"x": x}, list(loaded.results.values()))[0],
        ):  # fmt: skip
            np.testing.assert_allclose(np.asarray(found), wanted, 1e-4, 1e-5, strict=True)
    for shape in ((1, 2, 5, 8), (1, 2, 7, 6), (1, 2, 3, 3)):
        for program in (main, compiled, copied, loaded):
            results = list(loaded.results.values()) if program is loaded else [y]
            with pytest.raises(tl.ShapeError, match=r"applied at|as it was"):
                exe.run(program, {"x": drawn(*shape)}, results)


def test_what_broadcasts_for_another_reason_is_refused() -> None:
    """One column beside none is none: but the program was built for as many as there are."""
    main, y = built(lambda x: x + x[: x.shape[0] // 2 * 2], ("w",))
    assert static.Executor().run(main, {"x": drawn(4)}, [y])[0].shape == (4,)
    with pytest.raises(tl.ShapeError, match="as it was when the program was recorded"):
        static.Executor().run(main, {"x": drawn(1)}, [y])


@pytest.mark.parametrize(
    "use",
    [
        lambda x: F.concat([x, x[:, 1:]], axis=0),
        lambda x: x + F.concat([x, x], axis=1),
        lambda x: x + F.max_pool1d(x[None], 2)[0],
        lambda x: F.stack([x, F.pad(x, ((0, 0), (1, 2)))]),
    ],
)
def test_what_is_equal_for_no_size_or_for_one_is_refused_at_once(use: Any) -> None:
    with pytest.raises(tl.ShapeError, match="must"):
        built(use, (2, "n"))


def test_sizes_of_inputs_are_equal_by_name_alone_and_none_is_a_number() -> None:
    for other in (("m",), (4,)):
        with (
            static.program_guard(static.Program(), static.Program()),
            pytest.raises(tl.ShapeError, match="broadcast"),
        ):
            static.data("x", ("n",)) + static.data("y", other)


def test_what_follows_from_different_inputs_may_be_equal() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        frames, tokens = static.data("frames", (1, 1, "n")), static.data("tokens", (1, 1, "m"))
        y = F.avg_pool1d(frames, 2) * tokens
    assert "assumes m == " in str(main)
    exe = static.Executor()
    x, z = drawn(1, 1, 7), drawn(1, 1, 3)
    found = exe.run(main, {"frames": x, "tokens": z}, [y])[0]
    np.testing.assert_allclose(found, F.avg_pool1d(x, 2) * tl.tensor(z), 1e-6)
    with pytest.raises(tl.ShapeError, match="as it was when the program was recorded"):
        exe.run(main, {"frames": x, "tokens": drawn(1, 1, 1)}, [y])


def test_traced_functions_are_recorded_again_where_sizes_differ() -> None:
    def padded(x: Any) -> Any:
        y = halved_and_doubled(x)
        if y.shape != x.shape:
            y = F.pad(
                y, ((0, 0), (0, 0), (0, x.shape[2] - y.shape[2]), (0, x.shape[3] - y.shape[3]))
            )
        return F.concat([x, y], axis=1)

    for make in (jit.trace, jit.to_static):
        traced = make(padded)
        for shape in ((1, 2, 4, 4), (1, 2, 6, 8), (1, 2, 5, 8), (2, 2, 7, 3), (1, 2, 8, 5)):
            x = tl.tensor(drawn(*shape))
            np.testing.assert_allclose(traced(x), padded(x), 1e-6, err_msg=str(shape))
