"""tensorlike: a tensor framework of declared ops and of tensor-likes that say what applying means.

Ops are declared in YAML, one short entry each; everything else about them is derived. Applying an
op to tensor-likes is multiple dispatch: a RawTensor launches kernels, a Tracer records autodiff, a
Tensor is the mutable face that people hold, and yours is a class of twenty lines.
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from . import ops as ops
from ._C import AmbiguityError as AmbiguityError
from ._C import ArgumentError as ArgumentError
from ._C import AutodiffError as AutodiffError
from ._C import DeviceError as DeviceError
from ._C import DispatchError as DispatchError
from ._C import DTypeError as DTypeError
from ._C import IndexRangeError as IndexRangeError
from ._C import LiteralRangeError as LiteralRangeError
from ._C import MatrixError as MatrixError
from ._C import OutOfMemoryError as OutOfMemoryError
from ._C import ParameterError as ParameterError
from ._C import ShapeError as ShapeError
from ._C import TensorlikeError as TensorlikeError
from ._C import __version__ as __version__
from ._C import bool_ as bool_
from ._C import check_environment as _check_environment
from ._C import dtype as dtype
from ._C import float32 as float32
from ._C import float64 as float64
from ._C import int32 as int32
from ._C import int64 as int64
from ._C import int8 as int8
from ._C import int16 as int16
from ._C import uint8 as uint8
from ._C import uint16 as uint16
from ._C import uint32 as uint32
from ._C import uint64 as uint64
from ._C import float16 as float16
from ._C import bfloat16 as bfloat16
from ._C import complex64 as complex64
from ._C import complex128 as complex128
from ._C import num_threads as num_threads
from ._C import set_num_threads as set_num_threads
from .imperative import Carrier as Carrier
from .imperative import Parameter as Parameter
from .imperative import RawTensor as RawTensor
from .imperative import ShapeTensor as ShapeTensor
from .imperative import Tensor as Tensor
from .imperative import TensorBase as TensorBase
from .imperative import TensorWrapper as TensorWrapper
from .imperative import Tracer as Tracer
from .imperative import apply as apply
from .imperative import as_raw_tensor as as_raw_tensor
from .imperative import device as device
from .imperative import devices as devices
from .imperative import from_dlpack as from_dlpack
from .imperative import tensor as tensor

_check_environment()  # a variable that is wrong is told here, where it can be
bool = bool_

# What not every program uses is loaded when it is first asked for: importing all takes half as long
# again. Modules, and the modules that have the other names.
_LATE_MODULES = {
    "autograd": ".imperative.autograd",
    "engine": ".imperative.engine",
    "export": ".export",
    "fft": ".fft",
    "functional": ".functional",
    "jit": ".jit",
    "linalg": ".functional.linalg",
    "memory": ".memory",
    "nn": ".nn",
    "optim": ".optim",
    "random": ".random",
    "special": ".functional.special",
    "static": ".static",
    "testing": ".testing",
    "transforms": ".transforms",
    "viz": ".static.pictures",
}
_LATE_NAMES = {
    "enable_grad": ".imperative",
    "grad": ".imperative",
    "no_grad": ".imperative",
    "stop_gradient": ".imperative",
    "value_and_grad": ".imperative",
    "vjp": ".imperative",
    "Grad": ".imperative",
    "finfo": ".imperative",
    "iinfo": ".imperative",
    "isdtype": ".imperative",
    "manual_seed": ".imperative",
    "Listing": ".imperative",
    "SymbolicTensor": ".imperative",
    "declare": ".ops",
    "broadcast_shapes": ".functional.promotion",
    "build_info": ".installation",
    "can_cast": ".functional.promotion",
    "checkpoint": ".transforms.checkpoint",
    "coverage": ".testing.coverage",
    "GradManager": ".transforms.grad_manager",
    "guard": ".imperative.tape",
    "opcheck": ".testing.opcheck",
    "native_include": ".installation",
    "profile": ".inspection.profiler",
    "quantize": ".static",
    "result_type": ".functional.promotion",
    "Tape": ".imperative.tape",
    "to_variable": ".imperative.tape",
    "Function": ".transforms",
    "PyLayer": ".transforms",
    "custom_jvp": ".transforms",
    "custom_vjp": ".transforms",
    "hessian": ".transforms",
    "hvp": ".transforms",
    "jacfwd": ".transforms",
    "jacrev": ".transforms",
    "jvp": ".transforms",
    "linearize": ".transforms",
    "vmap": ".transforms",
}

if _typing.TYPE_CHECKING:
    from . import export as export
    from . import fft as fft
    from . import functional as functional
    from . import jit as jit
    from . import memory as memory
    from . import nn as nn
    from . import optim as optim
    from .functional.array_api import *  # noqa: F403
    from .functional.promotion import broadcast_shapes as broadcast_shapes
    from .functional.promotion import can_cast as can_cast
    from .functional.promotion import result_type as result_type
    from .functional import linalg as linalg
    from .functional import special as special
    from . import random as random
    from . import static as static
    from . import testing as testing
    from . import transforms as transforms
    from .static import pictures as viz
    from .installation import build_info as build_info
    from .installation import native_include as native_include
    from .imperative import autograd as autograd
    from .imperative import engine as engine
    from .imperative import Grad as Grad
    from .imperative import Listing as Listing
    from .imperative import SymbolicTensor as SymbolicTensor
    from .imperative import enable_grad as enable_grad
    from .imperative import finfo as finfo
    from .imperative import grad as grad
    from .imperative import iinfo as iinfo
    from .imperative import isdtype as isdtype
    from .imperative import manual_seed as manual_seed
    from .imperative import no_grad as no_grad
    from .imperative import stop_gradient as stop_gradient
    from .imperative import value_and_grad as value_and_grad
    from .imperative import vjp as vjp
    from .ops import declare as declare
    from .transforms import Function as Function
    from .transforms import PyLayer as PyLayer
    from .transforms import custom_jvp as custom_jvp
    from .transforms import custom_vjp as custom_vjp
    from .transforms import hessian as hessian
    from .transforms import hvp as hvp
    from .transforms import jacfwd as jacfwd
    from .transforms import jacrev as jacrev
    from .transforms import jvp as jvp
    from .transforms import linearize as linearize
    from .transforms import vmap as vmap
    from .transforms.checkpoint import checkpoint as checkpoint
    from .testing.coverage import coverage as coverage
    from .transforms.grad_manager import GradManager as GradManager
    from .static import quantize as quantize
    from .testing.opcheck import opcheck as opcheck
    from .inspection.profiler import profile as profile
    from .imperative.tape import Tape as Tape
    from .imperative.tape import guard as guard
    from .imperative.tape import to_variable as to_variable


def _load_standard() -> None:
    """Puts the functions and constants of the Array API here, beside what is here already."""
    names = globals()
    standard = _import_module(".functional.array_api", __name__)
    for name in standard.__all__:
        names.setdefault(name, getattr(standard, name))
    names["__all__"] = sorted([*standard.__all__, *_OWN])


def __getattr__(name: str) -> _typing.Any:
    """What is loaded late."""
    if name in _LATE_MODULES:
        value: _typing.Any = _import_module(_LATE_MODULES[name], __name__)
    elif name in _LATE_NAMES:
        value = getattr(_import_module(_LATE_NAMES[name], __name__), name)
    elif "__all__" not in globals() and (name == "__all__" or not name.startswith("_")):
        _load_standard()
        if name not in globals():
            return __getattr__(name)
        value = globals()[name]
    else:
        missing = _import_module(".imperative.missing_names", __name__).missing
        raise missing(__name__, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is public, whether it is loaded yet or not."""
    if "__all__" not in globals():
        _load_standard()
    return sorted(globals()["__all__"])


# What is here beside the Array API.
_OWN = sorted(
    [
        "bool",
        "AmbiguityError",
        "ArgumentError",
        "AutodiffError",
        "Carrier",
        "DTypeError",
        "DeviceError",
        "DispatchError",
        "Grad",
        "GradManager",
        "IndexRangeError",
        "Listing",
        "LiteralRangeError",
        "MatrixError",
        "OutOfMemoryError",
        "Parameter",
        "ParameterError",
        "RawTensor",
        "ShapeError",
        "ShapeTensor",
        "SymbolicTensor",
        "Tape",
        "Tensor",
        "TensorBase",
        "TensorWrapper",
        "TensorlikeError",
        "Tracer",
        "apply",
        "as_raw_tensor",
        "autograd",
        "bool_",
        "declare",
        "device",
        "devices",
        "dtype",
        "engine",
        "fft",
        "float32",
        "float64",
        "from_dlpack",
        "functional",
        "int8",
        "int16",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "complex64",
        "complex128",
        "grad",
        "guard",
        "int32",
        "int64",
        "linalg",
        "hessian",
        "hvp",
        "jacfwd",
        "jacrev",
        "export",
        "jit",
        "static",
        "jvp",
        "linearize",
        "vmap",
        "checkpoint",
        "custom_jvp",
        "custom_vjp",
        "enable_grad",
        "Function",
        "PyLayer",
        "stop_gradient",
        "opcheck",
        "coverage",
        "manual_seed",
        "memory",
        "native_include",
        "nn",
        "no_grad",
        "num_threads",
        "ops",
        "optim",
        "profile",
        "quantize",
        "random",
        "set_num_threads",
        "special",
        "tensor",
        "testing",
        "to_variable",
        "transforms",
        "value_and_grad",
        "viz",
        "vjp",
        "result_type",
        "isdtype",
        "iinfo",
        "finfo",
        "build_info",
        "can_cast",
        "broadcast_shapes",
    ]
)
