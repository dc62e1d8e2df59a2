"""What proves tensor-likes, and what finds the op where two meanings of a program part."""

from __future__ import annotations

from .compared import Compared as Compared
from .compared import ErrorReport as ErrorReport
from .compared import ErrorRow as ErrorRow
from .divergence import Divergence as Divergence
from .divergence import first_divergence as first_divergence
from .meanings import Reference as Reference
from .reports import LikeFinding as LikeFinding
from .reports import LikeReport as LikeReport
from .reports import TensorLikeError as TensorLikeError
from .tensor_likes import check_tensor_like as check_tensor_like

__all__ = [
    "Compared",
    "Divergence",
    "ErrorReport",
    "ErrorRow",
    "LikeFinding",
    "LikeReport",
    "Reference",
    "TensorLikeError",
    "check_tensor_like",
    "first_divergence",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
