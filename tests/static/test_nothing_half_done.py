"""What is fetched twice is saved twice, and what refuses its argument has made no parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static


def test_what_is_fetched_twice_is_saved_twice(tmp_path: Path) -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = static.data("x", (None,))
        y = tl.Tensor(x) * 2
    static.save(main, tmp_path / "twice.tlp", [y, x, y, y])
    again = static.load(tmp_path / "twice.tlp")
    found = static.Executor().run(
        again, feed={"x": np.ones(3, np.float32)}, fetch_list=list(again.results.values())
    )
    assert [part.tolist() for part in found] == [[2.0] * 3, [1.0] * 3, [2.0] * 3, [2.0] * 3]
    assert len(set(again.results)) == 4


# Each fails when its layer is there already.
REFUSED: dict[str, Any] = {
    "fc": lambda x: static.fc(x, 2, act="fold"),
    "conv2d": lambda x: static.conv2d(F.reshape(x, (1, 4, 1, -1)), 2, (2, 1)),
    "batch_norm": lambda x: static.batch_norm(x, act="fold"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_refuses_its_argument_has_made_no_parameters(name: str) -> None:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = tl.Tensor(static.data("x", (None, 4)))
        before = str(startup)
        with pytest.raises((tl.TensorlikeError, TypeError)):
            REFUSED[name](x)
    assert main.all_parameters() == [] and str(startup) == before
    assert not [name for name, role, _ in main.variables() if role == "state"]


def test_what_is_accepted_has_the_parameters_that_it_had() -> None:
    found = []
    for _ in range(2):
        tl.manual_seed(3)
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            y = static.fc(tl.Tensor(static.data("x", (None, 4))), 2, act="relu")
        exe, scope = static.Executor(), static.Scope()
        exe.run(startup, scope=scope)
        x = np.ones((3, 4), np.float32)
        found.append(exe.run(main, feed={"x": x}, fetch_list=[y], scope=scope)[0])
    np.testing.assert_array_equal(*found)
    tl.manual_seed(3)
    layer = tl.nn.Linear(4, 2)
    np.testing.assert_allclose(found[0], F.relu(layer(tl.ones((3, 4)))).detach().numpy(), 1e-6)


def test_programs_show_what_they_assume() -> None:
    with static.program_guard(static.Program(), static.Program()) as main:
        x = tl.Tensor(static.data("x", ("n", 4)))
        _ = x * 2 if x.shape[0] > 3 else x
    (asked,) = main.block.desc()["assumptions"]
    assert asked.startswith("3 < n  # ") and f"assumes {asked}" in str(main)
