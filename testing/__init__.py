"""What proves tensor-likes and finds where meanings part: for tests, and for looking into a fault."""

from __future__ import annotations

from .divergence import Divergence as Divergence
from .divergence import Reference as Reference
from .divergence import first_divergence as first_divergence
from .tensor_likes import LikeFinding as LikeFinding
from .tensor_likes import LikeReport as LikeReport
from .tensor_likes import TensorLikeError as TensorLikeError
from .tensor_likes import check_tensor_like as check_tensor_like

__all__ = [
    "Divergence",
    "LikeFinding",
    "LikeReport",
    "Reference",
    "TensorLikeError",
    "check_tensor_like",
    "first_divergence",
]
