"""Every level of the processor that the build has: the tests of all dtypes, in a process each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike import _C

TESTS = Path(__file__).resolve().parent
REPRESENTATIVE = [
    "ops/test_every_dtype.py",
    "ops/test_declared_reductions.py",
    "functional/test_batches_of_small_products.py",
    "functional/test_blocks_of_channels.py",
    "functional/test_columns_in_strips.py",
    "functional/test_columns_of_extremes.py",
    "functional/test_counted_numbers.py",
    "functional/test_divided_integers.py",
    "functional/test_extremes.py",
    "functional/test_few_elements.py",
    "functional/test_half_products.py",
    "functional/test_integer_windows.py",
    "functional/test_long_steps.py",
    "functional/test_norms_of_short_rows.py",
    "functional/test_operands_in_steps.py",
    "functional/test_padding_left_out.py",
    "functional/test_picked_rows.py",
    "functional/test_programs_over_rows.py",
    "functional/test_quantization.py",
    "functional/test_selections.py",
    "functional/test_short_rows.py",
]
PICK = [
    "are_counted",
    "columns_in_strips",
    "columns_of_any_number",
    "copies_of_every_step",
    "depthwise_results",
    "deviations_of",
    "every_axis_of_small_shapes",
    "every_dtype",
    "every_number_of_two_bytes",
    "every_table",
    "few_columns",
    "half_products",
    "in_rows_are",
    "of_a_short_row",
    "one_long_row",
    "over_rows_of_any_width",
    "padding_left_out",
    "places_in_rows",
    "products_of_bytes",
    "rows_of_any_length",
    "rows_of_any_width",
    "test_extremes",
    "the_first_k_are",
    "those_one_by_one",
    "what_the_definition_gives",
]


def level_given(wanted: str) -> str:
    """What the core runs at when the level is asked for."""
    program = "from tensorlike import _C; print(_C.isa())"
    environment = os.environ | {"TENSORLIKE_ISA": wanted}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("level", [pytest.param("v2", marks=pytest.mark.slow), "v3", "v4"])
def test_every_level_computes_the_same_dtypes(level: str) -> None:
    if os.environ.get("TENSORLIKE_ISA"):
        pytest.skip("runs at one level already")
    if _C.isa().endswith(level):
        pytest.skip("the other tests run at it")
    given = level_given(level)
    if not given.endswith(level):
        pytest.skip(f"the machine and the build give {given}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-k",
        " or ".join(PICK),
    ]
    command += [str(TESTS / name) for name in REPRESENTATIVE]
    environment = os.environ | {"TENSORLIKE_ISA": level}
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
