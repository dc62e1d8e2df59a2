"""Convolutions: padding that is not the same on both sides, and transposes of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..... import functional as F
from ..attribute_functions import ones_like
from ..rule_table import rule


@rule
def convolution_transpose(
    x: Any, w: Any, b: Any, *, auto_pad: str, pads: Any, strides: Any, dilations: Any, group: int,
    kernel_shape: Any, output_padding: Any, output_shape: Any,
) -> Any:  # fmt: skip
    """The transpose of a convolution, cut or widened to what pads or the output's shape say."""
    count = len(x.shape) - 2
    strides, dilations = ones_like(strides, count), ones_like(dilations, count)
    more = (0,) * count if output_padding is None else tuple(output_padding)
    full = [
        (size - 1) * stride + (kernel - 1) * dilation + 1
        for size, kernel, stride, dilation in zip(
            x.shape[2:], w.shape[2:], strides, dilations, strict=True
        )
    ]
    wanted = None if output_shape is None else output_shape[-count:]
    if wanted is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * stride for size, stride in zip(x.shape[2:], strides, strict=True)]
    if wanted is not None:
        before, after, missing = _cut(
            [a + b for a, b in zip(full, more, strict=True)], wanted, auto_pad
        )
        more = tuple(a + b for a, b in zip(more, missing, strict=True))
    else:
        around = (0,) * (2 * count) if pads is None or auto_pad == "VALID" else tuple(pads)
        before, after = list(around[:count]), list(around[count:])
    is_usual = before == after and min(before, default=0) >= 0
    if is_usual and all(n < max(s, d) for n, s, d in zip(more, strides, dilations, strict=True)):
        return F.convolution_transpose(
            x, w, b, stride=strides, padding=tuple(before), output_padding=more, groups=group,
            dilation=dilations,
        )  # fmt: skip
    y = F.convolution_transpose(x, w, stride=strides, groups=group, dilation=dilations)
    ends = [extra - end for extra, end in zip(more, after, strict=True)]
    y = _resized(y, [-n for n in before], ends)
    return y if b is None else y + F.reshape(b, (1, -1, *[1] * count))


def _cut(
    full: Sequence[int], wanted: Sequence[int], auto_pad: str
) -> tuple[list[int], list[int], list[int]]:
    """What is cut before and after each axis to have the wanted sizes, and what is missing."""
    before, after, missing = [], [], []
    for size, one in zip(full, wanted, strict=True):
        total = max(size - one, 0)
        small, large = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else large)
        after.append(large if auto_pad == "SAME_UPPER" else small)
        missing.append(max(one - size, 0))
    return before, after, missing


def _resized(y: Any, before: Sequence[int], after: Sequence[int]) -> Any:
    """Cut where a number is negative, with zeros where it is positive."""
    items: list[Any] = [slice(None), slice(None)]
    widths = [0, 0, 0, 0]
    for first, last in zip(before, after, strict=True):
        items.append(slice(max(-first, 0), last if last < 0 else None))
        widths += [max(first, 0), max(last, 0)]
    y = y[tuple(items)]
    return F.pad(y, widths) if any(widths) else y
