"""Applying ops: multiple dispatch, the tensor-likes, Tensor, and autodiff."""

from __future__ import annotations

from .._C import IndexRangeError as IndexRangeError
from .._C import RawTensor as RawTensor
from .._C import ShapeError as ShapeError
from .._C import ShapeTensor as ShapeTensor
from .._C import TensorBase as TensorBase
from .._C import TensorWrapper as TensorWrapper
from .._C import Tracer as Tracer
from . import engine as engine
from .autodiff import Grad as Grad
from .autodiff import grad as grad
from .autodiff import no_grad as no_grad
from .autodiff import value_and_grad as value_and_grad
from .autodiff import vjp as vjp
from .dispatch import Apply as Apply
from .dispatch import apply as apply
from .profiler import profile as profile
from .random import manual_seed as manual_seed
from .random import next_seed as next_seed
from .symbolic import Listing as Listing
from .symbolic import SymbolicTensor as SymbolicTensor
from .tensor import Parameter as Parameter
from .tensor import Tensor as Tensor
from .tensor import TensorLike as TensorLike
from .tensor import as_raw_tensor as as_raw_tensor
from .tensor import from_dlpack as from_dlpack
from .tensor import native as native
from .tensor import tensor as tensor
from .tensor import update as update

__all__ = [
    "Apply",
    "Grad",
    "IndexRangeError",
    "Listing",
    "Parameter",
    "RawTensor",
    "ShapeError",
    "ShapeTensor",
    "SymbolicTensor",
    "Tensor",
    "TensorBase",
    "TensorLike",
    "TensorWrapper",
    "Tracer",
    "apply",
    "as_raw_tensor",
    "engine",
    "from_dlpack",
    "grad",
    "manual_seed",
    "native",
    "next_seed",
    "no_grad",
    "profile",
    "tensor",
    "update",
    "value_and_grad",
    "vjp",
]
