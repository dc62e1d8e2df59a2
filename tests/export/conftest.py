"""An older Python has an older ONNX Runtime, which lacks opsets and kernels: what it refuses is
skipped, so that the rest is still held against it."""

from __future__ import annotations

from collections.abc import Generator
from importlib import metadata

import pytest

NEEDED = (1, 24)
# What an older one computes wrongly, which newer ones have mended.
WRONG = {"test_random_attributes_mean_what_onnxruntime_means[pooling]"}


def older_runtime() -> str:
    """The version that is installed, where it is older than the tests were written for."""
    try:
        version = metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:
        return ""
    return version if tuple(map(int, version.split(".")[:2])) < NEEDED else ""


OLDER = older_runtime()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skips what an older runtime refuses."""
    if OLDER and item.name in WRONG:
        pytest.skip(f"ONNX Runtime {OLDER} averages over uneven margins wrongly")
    try:
        return (yield)
    except Exception as error:
        if OLDER and "[ONNXRuntimeError]" in str(error):
            pytest.skip(f"ONNX Runtime {OLDER} refuses it")
        raise
