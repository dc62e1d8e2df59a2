"""What moves or resizes pixels, as layers: each is the function of its name."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functional as F
from .functional_layer import Functional, Ints, held


class ChannelShuffle(Functional):
    """`functional.channel_shuffle`: channels of all groups, in turn.

    Args:
        groups: how many groups there are.

    Source:
        Zhang et al. 2017, https://arxiv.org/abs/1707.01083.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.ChannelShuffle(2)(tl.ones((1, 4, 2, 2))).shape
        (1, 4, 2, 2)
    """

    call = staticmethod(F.channel_shuffle)

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)


class Fold(Functional):
    """`functional.fold`: sums the columns that `Unfold` made where they overlap.

    Args:
        output_size: (height, width).
        kernel_size: the size of the window, one number or two.
        dilation: the distance between elements of the window.
        padding: what was added on either side.
        stride: the step of the window.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Fold((2, 2), 2)(tl.ones((1, 4, 1))).shape
        (1, 1, 2, 2)
    """

    call = staticmethod(F.fold)

    def __init__(
        self,
        output_size: Sequence[int],
        kernel_size: Ints,
        dilation: Ints = 1,
        padding: Ints = 0,
        stride: Ints = 1,
    ) -> None:
        super().__init__(
            output_size=tuple(output_size),
            kernel_size=held(kernel_size),
            dilation=held(dilation),
            padding=held(padding),
            stride=held(stride),
        )


class PixelShuffle(Functional):
    """`functional.pixel_shuffle`: channels moved to pixels.

    Args:
        upscale_factor: how many times height and width grow.

    Source:
        Shi et al. 2016, https://arxiv.org/abs/1609.05158.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.PixelShuffle(2)(tl.ones((1, 4, 2, 3))).shape
        (1, 1, 4, 6)
    """

    call = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)


class PixelUnshuffle(Functional):
    """`functional.pixel_unshuffle`: pixels moved to channels.

    Args:
        downscale_factor: how many times height and width shrink.

    Source:
        Shi et al. 2016, https://arxiv.org/abs/1609.05158.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.PixelUnshuffle(2)(tl.ones((1, 1, 4, 6))).shape
        (1, 4, 2, 3)
    """

    call = staticmethod(F.pixel_unshuffle)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)


class Unfold(Functional):
    """`functional.unfold`: windows of images as columns.

    Args:
        kernel_size: the size of the window, one number or two.
        dilation: the distance between elements of the window.
        padding: what is added on either side.
        stride: the step of the window.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Unfold(2)(tl.ones((1, 1, 2, 2))).shape
        (1, 4, 1)
    """

    call = staticmethod(F.unfold)

    def __init__(
        self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
    ) -> None:
        super().__init__(
            kernel_size=held(kernel_size),
            dilation=held(dilation),
            padding=held(padding),
            stride=held(stride),
        )


class Upsample(Functional):
    """`functional.interpolate`: images of another size.

    Args:
        size: the new spatial sizes; or else
        scale_factor: how many times they grow.
        mode: "nearest", "linear", "bilinear", "trilinear", "bicubic", "area", "nearest-
            exact".
        align_corners: whether the middles of corner pixels stay in their places.

    Example:
        >>> import tensorlike as tl
        >>> tl.nn.Upsample(scale_factor=2.0)(tl.ones((1, 1, 2, 2))).shape
        (1, 1, 4, 4)
    """

    call = staticmethod(F.interpolate)

    def __init__(
        self,
        size: Ints | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool = False,
    ) -> None:
        super().__init__(
            size=None if size is None else held(size),
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
        )
