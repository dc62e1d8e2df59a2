"""`fold` refuses what does not fit before it makes anything of the output's size."""

from __future__ import annotations

import pytest

import tensorlike as tl
import tensorlike.functional as F


def test_a_huge_output_that_does_not_fit_is_refused_at_once() -> None:
    with pytest.raises(tl.ShapeError, match=r"^fold: x must be \(images, channels \* 4, "):
        F.fold(tl.ones((1, 4, 4)), (2**31, 2**31), 2)
