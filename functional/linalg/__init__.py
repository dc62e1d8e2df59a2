"""Linear algebra: the Array API's `linalg` extension, and what else is solved with matrices.

The last two dimensions of a tensor are a matrix, the others a batch of them. LAPACK does the work
(the package scipy-openblas32, loaded at first use); integers become float32. All have
gradients of any order; those of vectors exist where the values are distinct. Complex vectors of
factors, which are determined but for a phase, have the one that makes the first of the (nearly)
largest elements of each real and positive; R of QR has a real diagonal.

Ctrl-C waits for LAPACK: it comes between two matrices of a batch, not inside of one.
"""

from __future__ import annotations

from ..algebra import matrix_transpose as matrix_transpose
from ..algebra import tensordot as tensordot
from ..diagonals import diagonal as diagonal
from ..diagonals import trace as trace
from ..generated import matmul as matmul
from ..generated import vecdot as vecdot
from .equations import LstsqResult as LstsqResult
from .equations import SlogdetResult as SlogdetResult
from .equations import det as det
from .equations import inv as inv
from .equations import logdet as logdet
from .equations import lstsq as lstsq
from .equations import pinv as pinv
from .equations import slogdet as slogdet
from .equations import solve as solve
from .equations import solve_triangular as solve_triangular
from .factored import cholesky_inverse as cholesky_inverse
from .factored import cholesky_solve as cholesky_solve
from .factored import lu_solve as lu_solve
from .factored import tensorinv as tensorinv
from .factored import tensorsolve as tensorsolve
from .factors import EighResult as EighResult
from .factors import EigResult as EigResult
from .factors import LUResult as LUResult
from .factors import QRResult as QRResult
from .factors import SVDResult as SVDResult
from .factors import cholesky as cholesky
from .factors import eig as eig
from .factors import eigh as eigh
from .factors import eigvals as eigvals
from .factors import eigvalsh as eigvalsh
from .factors import lu as lu
from .factors import qr as qr
from .factors import svd as svd
from .factors import svdvals as svdvals
from .low_rank import pca_lowrank as pca_lowrank
from .low_rank import svd_lowrank as svd_lowrank
from .norms import cond as cond
from .norms import matrix_norm as matrix_norm
from .norms import matrix_rank as matrix_rank
from .norms import norm as norm
from .norms import vector_norm as vector_norm
from .packed import LUFactorResult as LUFactorResult
from .packed import lu_factor as lu_factor
from .packed import lu_unpack as lu_unpack
from .products import cross as cross
from .products import matrix_exp as matrix_exp
from .products import matrix_power as matrix_power
from .products import multi_dot as multi_dot
from .products import outer as outer
from .products import vander as vander
from .reflections import ReflectionsResult as ReflectionsResult
from .reflections import geqrf as geqrf
from .reflections import householder_product as householder_product
from .reflections import ormqr as ormqr

__all__ = [
    "EigResult",
    "EighResult",
    "LUFactorResult",
    "LUResult",
    "LstsqResult",
    "QRResult",
    "ReflectionsResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "geqrf",
    "householder_product",
    "inv",
    "logdet",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "lu_unpack",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "ormqr",
    "outer",
    "pca_lowrank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svd_lowrank",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vander",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
