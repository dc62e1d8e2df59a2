"""Applying ops: multiple dispatch, the tensor-likes, Tensor, and autodiff."""

from __future__ import annotations

import typing as _typing

from .._C import ArgumentError as ArgumentError
from .._C import DeviceError as DeviceError
from .._C import DispatchError as DispatchError
from .._C import DTypeError as DTypeError
from .._C import IndexRangeError as IndexRangeError
from .._C import ParameterError as ParameterError
from .._C import RawTensor as RawTensor
from .._C import ShapeError as ShapeError
from .._C import ShapeTensor as ShapeTensor
from .._C import TensorBase as TensorBase
from .._C import TensorWrapper as TensorWrapper
from .._C import Tracer as Tracer
from .._C import dtype as dtype
from ..ops.late import late as _late
from . import rebinding as rebinding
from .calls import TensorLike as TensorLike
from .calls import complex_form as complex_form
from .calls import extended as extended
from .calls import native as native
from .carrier import Carrier as Carrier
from .constructors import as_raw_tensor as as_raw_tensor
from .constructors import from_dlpack as from_dlpack
from .constructors import tensor as tensor
from .devices import default_device as default_device
from .devices import device as device
from .devices import devices as devices
from .dispatch import Apply as Apply
from .dispatch import apply as apply
from .sizes import Size as Size
from .tensor import Parameter as Parameter
from .tensor import Tensor as Tensor
from .tensor import replace as replace

if _typing.TYPE_CHECKING:
    from . import engine as engine
    from .autodiff import enable_grad as enable_grad
    from .autodiff import grad as grad
    from .autodiff import no_grad as no_grad
    from .autodiff import stop_gradient as stop_gradient
    from .autodiff import value_and_grad as value_and_grad
    from .autodiff import vjp as vjp
    from .backward import Grad as Grad
    from .batched import Batched as Batched
    from .data_types import as_dtype as as_dtype
    from .data_types import finfo as finfo
    from .data_types import iinfo as iinfo
    from .data_types import isdtype as isdtype
    from .dual import Dual as Dual
    from .hooks import HookHandle as HookHandle
    from .random import Stream as Stream
    from .random import as_int64 as as_int64
    from .random import default_stream as default_stream
    from .random import derived_key as derived_key
    from .random import manual_seed as manual_seed
    from .random import next_seed as next_seed
    from .symbolic import Listing as Listing
    from .symbolic import SymbolicTensor as SymbolicTensor

# What not every program uses.
_LATE = {
    "enable_grad": ".autodiff",
    "grad": ".autodiff",
    "no_grad": ".autodiff",
    "stop_gradient": ".autodiff",
    "value_and_grad": ".autodiff",
    "vjp": ".autodiff",
    "Grad": ".backward",
    "Batched": ".batched",
    "as_dtype": ".data_types",
    "finfo": ".data_types",
    "iinfo": ".data_types",
    "isdtype": ".data_types",
    "Dual": ".dual",
    "HookHandle": ".hooks",
    "engine": "",
    "Stream": ".random",
    "as_int64": ".random",
    "default_stream": ".random",
    "derived_key": ".random",
    "manual_seed": ".random",
    "next_seed": ".random",
    "Listing": ".symbolic",
    "SymbolicTensor": ".symbolic",
}
__getattr__ = _late(__name__, _LATE)

__all__ = [
    "Apply",
    "ArgumentError",
    "Batched",
    "Carrier",
    "DTypeError",
    "DeviceError",
    "DispatchError",
    "Dual",
    "Grad",
    "HookHandle",
    "IndexRangeError",
    "Listing",
    "Parameter",
    "ParameterError",
    "RawTensor",
    "ShapeError",
    "ShapeTensor",
    "Size",
    "Stream",
    "SymbolicTensor",
    "Tensor",
    "TensorBase",
    "TensorLike",
    "TensorWrapper",
    "Tracer",
    "apply",
    "as_dtype",
    "as_int64",
    "as_raw_tensor",
    "complex_form",
    "default_device",
    "default_stream",
    "derived_key",
    "device",
    "devices",
    "dtype",
    "enable_grad",
    "engine",
    "extended",
    "finfo",
    "from_dlpack",
    "grad",
    "iinfo",
    "isdtype",
    "manual_seed",
    "native",
    "next_seed",
    "no_grad",
    "replace",
    "stop_gradient",
    "tensor",
    "value_and_grad",
    "vjp",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
