"""Memory that runs out: every allocation of a training step fails once, and nothing is lost."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _C, nn, optim
from tensorlike import functional as F


@pytest.fixture(autouse=True)
def no_failure_is_left() -> Iterator[None]:
    yield
    _C.fail_allocation_after(-1)
    tl.memory.set_limit(None)


class Training:
    """A small model, its data, and one step that can be taken again from the same state."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.model = nn.Sequential(nn.Linear(6, 8), F.relu, nn.Linear(8, 3))
        self.x = tl.tensor(rng.standard_normal((5, 6)).astype("float32"))
        self.labels = tl.tensor(rng.integers(0, 3, 5))
        self.start = [np.array(p.detach()) for p in self.model.parameters()]
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.1)

    def reset(self) -> None:
        for parameter, value in zip(self.model.parameters(), self.start, strict=True):
            with tl.no_grad():
                parameter[...] = tl.tensor(value)
            parameter.grad = None
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.1)

    def step(self) -> float:
        loss = F.cross_entropy(self.model(self.x), self.labels)
        loss.backward()
        self.optimizer.step()
        return float(loss.item())


@pytest.mark.parametrize("mode", ["sync", "lazy", "async"])
def test_every_allocation_of_a_training_step_may_fail(mode: str) -> None:
    with tl.engine.mode(mode, threshold=1):
        training = Training()
        training.reset()
        wanted = training.step()
        after = [np.array(p.detach()) for p in training.model.parameters()]
        training.reset()
        gc.collect()
        tl.engine.sync()
        held = tl.memory.stats()["allocated"]
        failures = 0
        for count in range(100_000):
            _C.fail_allocation_after(count)
            try:
                training.step()
                tl.engine.sync()
            except tl.OutOfMemoryError as error:
                failures += 1
                assert "bytes" in str(error)
            finally:
                is_over = _C.allocations_before_failure() >= 0
                _C.fail_allocation_after(-1)
            with contextlib.suppress(tl.OutOfMemoryError):
                tl.engine.sync()  # what failed behind the first failure
            training.reset()
            gc.collect()
            tl.engine.sync()
            assert tl.memory.stats()["allocated"] <= held + 4096
            if is_over:
                break
        assert failures > 20
        assert training.step() == pytest.approx(wanted)
        for parameter, value in zip(training.model.parameters(), after, strict=True):
            np.testing.assert_array_equal(np.asarray(parameter.detach()), value)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.cumulative_sum(x, axis=0, include_initial=True),
        lambda x: F.sort(x, axis=0),
        lambda x: F.topk(x, 3, axis=0),
        lambda x: F.searchsorted(x, x, F.argsort(x)),
        F.unique_all,
        F.unique_values,
        lambda x: F.fourier_transform(x, axes=[0, 1], kind="c2r", n=12),
        lambda x: F.max_pool(F.reshape(x, (1, 6, 7)), kernel_size=[2]),
        lambda x: F.random_from(F.abs(x), mode="gamma", key=1),
        lambda x: F.pad(x, [1, 2, 3, 0], mode="reflect"),
    ],
)
def test_a_kernel_that_finds_no_room_for_what_it_needs_leaves_memory_as_it_was(
    call: Callable[[tl.Tensor], object],
) -> None:
    x = F.astype(tl.tensor(np.random.default_rng(0).normal(size=(6, 7))), tl.float16)
    wanted = repr(call(x))
    gc.collect()
    held = tl.memory.stats()["allocated"]
    failures = 0
    is_over = False
    while not is_over:
        _C.fail_allocation_after(failures)
        with contextlib.suppress(tl.OutOfMemoryError):
            call(x)
        is_over = _C.allocations_before_failure() >= 0
        _C.fail_allocation_after(-1)
        gc.collect()
        assert tl.memory.stats()["allocated"] == held
        failures += not is_over
    assert failures > 0
    assert repr(call(x)) == wanted


def test_running_out_names_the_op_the_bytes_and_what_is_held() -> None:
    x = tl.tensor(np.ones((1000, 100), np.float32))
    tl.memory.set_limit(tl.memory.stats()["allocated"] + 1000)
    message = r"^exp: 400000 bytes could not be had; \d+ bytes are in use, the limit is \d+\.$"
    with pytest.raises(tl.OutOfMemoryError, match=message):
        F.exp(x)
    assert isinstance(tl.OutOfMemoryError(), MemoryError)


def test_more_than_any_machine_has_is_a_memory_error() -> None:
    with pytest.raises(tl.OutOfMemoryError, match=r"^full: \d+ bytes could not be had"):
        F.full(shape=(2**21, 2**20), fill_value=1.0)


def test_statistics_count_what_is_in_use_and_the_peak() -> None:
    before = tl.memory.stats()["allocated"]
    x = F.full(shape=(1 << 20,), fill_value=1.0)
    assert tl.memory.stats()["allocated"] - before >= 4 << 20
    tl.memory.reset_peak()
    y = x + 1
    del y
    stats = tl.memory.stats()
    assert stats["peak"] - before >= 8 << 20
    assert stats["allocated"] - before < 8 << 20
    tl.memory.empty_cache()
    assert tl.memory.stats()["cached"] == 0
