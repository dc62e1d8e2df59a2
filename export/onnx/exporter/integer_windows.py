"""A convolution of integers in functional calls that runtimes of ONNX have for integers.

They convolve no float64, which would hold the sums, and ConvInteger takes bytes alone. So it is a
product of int32 for each place of the kernel, whose sums wrap as ours do.
"""

from __future__ import annotations

import itertools
from typing import Any

from .... import functional as F


def convolve_integers(op: Any, x: Any, weight: Any, x_zero: Any, weight_zero: Any) -> Any:
    """Sums over places of the kernel of what lies there, in matrices of channels by positions."""
    count = len(x.shape) - 2
    kernel = weight.shape[2:]
    stride, dilation = (_each(value, count) for value in (op.stride, op.dilation))
    reaches = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    x = F.astype(x, "int32") - F.astype(F.reshape(x_zero, ()), "int32")
    weight = F.astype(weight, "int32") - F.reshape(
        F.astype(weight_zero, "int32"), (-1, *[1] * (count + 1))
    )
    x = F.pad(x, (0, 0, 0, 0, *_margins(op.padding, reaches)))
    width, rows = x.shape[1] // op.groups, weight.shape[0] // op.groups
    found = []
    for group in range(op.groups):
        own = x[:, group * width : (group + 1) * width]
        total = None
        for place in itertools.product(*(range(k) for k in kernel)):
            starts = [at * d for at, d in zip(place, dilation, strict=True)]
            items = [
                slice(start, start - reach or None, step)
                for start, reach, step in zip(starts, reaches, stride, strict=True)
            ]
            whole = [slice(None), slice(None)]
            seen = own[tuple(whole + items)]
            block = [slice(group * rows, (group + 1) * rows), slice(None)]
            matrix = weight[tuple([*block, *place])]
            sums = F.matmul(matrix, F.reshape(seen, (seen.shape[0], width, -1)))
            total = sums if total is None else total + sums
        found.append(F.reshape(total, (seen.shape[0], rows, *seen.shape[2:])))
    return found[0] if op.groups == 1 else F.concat(found, axis=1)


def _each(value: Any, count: int) -> list[int]:
    numbers = list(value) if isinstance(value, tuple) else [value]
    return numbers * count if len(numbers) == 1 else numbers


def _margins(padding: Any, reaches: list[int]) -> list[int]:
    """What stands in front of each dimension, and what is behind it."""
    if padding == "valid":
        return [0] * (2 * len(reaches))
    if padding == "same":
        return [n for reach in reaches for n in (reach // 2, reach - reach // 2)]
    return [n for n in _each(padding, len(reaches)) for _ in range(2)]
