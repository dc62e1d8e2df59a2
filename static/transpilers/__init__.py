"""Programs made of programs: each function leaves the ones that it is given as they are."""

from __future__ import annotations

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .gradient_accumulation import gradient_accumulation as gradient_accumulation
from .mixed_precision import half_products as half_products
from .mixed_precision import mixed_precision as mixed_precision
from .pipeline import Part as Part
from .pipeline import Stage as Stage
from .pipeline import pipeline_cut as pipeline_cut
from .recompute import recompute as recompute

__all__ = [
    "DataParallel",
    "Part",
    "Stage",
    "data_parallel",
    "gradient_accumulation",
    "half_products",
    "mixed_precision",
    "pipeline_cut",
    "recompute",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
