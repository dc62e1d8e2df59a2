"""The operators that are called otherwise here, each with PyTorch's order of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl
from tensorlike import functional as F

from . import pytorch_calls as c
from . import pytorch_matrices as mat
from . import pytorch_networks as net
from .pytorch_making import MAKING

L = tl.linalg

CALLS: dict[str, Callable[..., Any]] = {
    **MAKING,
    # Operators of Python.
    "__getitem__": lambda x, key: x[key],
    "__radd__": lambda x, y: y + x,
    "__rand__": lambda x, y: y & x,
    "__rdiv__": lambda x, y: y / x,
    "__rmatmul__": lambda x, y: y @ x,
    "__rmod__": lambda x, y: y % x,
    "__rmul__": lambda x, y: y * x,
    "__ror__": lambda x, y: y | x,
    "__rpow__": lambda x, y: y**x,
    "__rsub__": lambda x, y: y - x,
    "__rxor__": lambda x, y: y ^ x,
    "add": lambda x, y, *, alpha=1: x + (y if alpha == 1 else alpha * y),
    "sub": lambda x, y, *, alpha=1: x - (y if alpha == 1 else alpha * y),
    "rsub": c._rsub,
    "mul": F.multiply,
    "div": c._div,
    "true_divide": F.divide,
    "neg": F.negative,
    "eq": F.equal,
    "ne": F.not_equal,
    "lt": F.less,
    "le": F.less_equal,
    "gt": F.greater,
    "ge": F.greater_equal,
    "bitwise_not": F.bitwise_invert,
    "clamp": c._clamp,
    "clamp_min": F.maximum,
    "clamp_max": F.minimum,
    "sgn": F.sign,
    "round": F.round,
    "equal": F.array_equal,
    "logical_not": c._as_bool(F.logical_not),
    "logical_and": c._as_bool(F.logical_and),
    "logical_or": c._as_bool(F.logical_or),
    "logical_xor": c._as_bool(F.logical_xor),
    "diff": lambda x, n=1, dim=-1, prepend=None, append=None: F.diff(
        x, n=n, axis=dim, prepend=prepend, append=append
    ),
    "atan2": F.atan2,
    "pow": F.pow,
    "float_power": F.float_power,
    "remainder": F.remainder,
    "clone": lambda x, **_: +x,
    "special.polygamma": lambda x, n: F.polygamma(n, x),
    "polygamma": lambda x, n: F.polygamma(n, x),
    "special.modified_bessel_i0": F.i0,
    "special.modified_bessel_i1": F.i1,
    "masked_fill": c._masked_fill,
    "logit": lambda x, eps=None: F.logit(x if eps is None else F.clip(x * 1.0, eps, 1 - eps)),
    "copysign": F.copysign,
    # Casts.
    "bfloat16": c._cast("bfloat16"),
    "bool": c._cast("bool"),
    "byte": c._cast("uint8"),
    "cdouble": c._cast("complex128"),
    "cfloat": c._cast("complex64"),
    "char": c._cast("int8"),
    "double": c._cast("float64"),
    "float": c._cast("float32"),
    "half": c._cast("float16"),
    "int": c._cast("int32"),
    "long": c._cast("int64"),
    "short": c._cast("int16"),
    "type_as": lambda x, y: F.astype(x, dtype=y.dtype),
    # Reductions.
    "amax": c._reduced(F.max),
    "amin": c._reduced(F.min),
    "aminmax": lambda x, *, dim=None, keepdim=False: (
        F.min(x, axis=dim, keepdims=keepdim),
        F.max(x, axis=dim, keepdims=keepdim),
    ),
    "all": c._reduced(F.all),
    "any": c._reduced(F.any),
    "sum": c._reduced(F.sum),
    "prod": c._reduced(F.prod),
    "mean": c._reduced(F.mean),
    "nansum": c._reduced(F.nansum),
    "nanmean": c._reduced(F.nanmean),
    "logsumexp": c._reduced(F.logsumexp),
    "count_nonzero": lambda x, dim=None: F.count_nonzero(x, axis=c.axes_or_all(dim)),
    "max": c._extreme(F.max, F.argmax, F.maximum),
    "min": c._extreme(F.min, F.argmin, F.minimum),
    "median": c._chosen(F.median),
    "nanmedian": c._chosen(F.nanmedian),
    "std": c._moments(F.std),
    "var": c._moments(F.var),
    "std_mean": c._with_mean(F.std),
    "var_mean": c._with_mean(F.var),
    "norm": mat._norm,
    "dist": lambda x, y, p=2: L.vector_norm(x - y, ord=p),
    "msort": lambda x: F.sort(x, axis=0),
    "cumsum": c._cumulative(F.cumulative_sum),
    "cumprod": c._cumulative(F.cumulative_prod),
    "sort": lambda x, dim=-1, descending=False, stable=False: (
        F.sort(x, axis=dim, descending=descending),
        F.argsort(x, axis=dim, descending=descending),
    ),
    "topk": lambda x, k, dim=-1, largest=True, sorted=True: F.topk(x, k, axis=dim, largest=largest),
    "kthvalue": lambda x, k, dim=-1, keepdim=False: F.kthvalue(x, k, axis=dim, keepdims=keepdim),
    "searchsorted": c._searchsorted,
    "bucketize": lambda x, b, *, out_int32=False, right=False: c._searchsorted(b, x, right=right),
    "unique": c._unique,
    "unique_consecutive": lambda x, return_inverse=False, return_counts=False, dim=None: (
        F.unique_consecutive(x, axis=dim, inverse=return_inverse, counts=return_counts)
    ),
    "sum_to_size": lambda x, *s: c._sum_to(x, s),
    # Shapes.
    "T": lambda x: F.permute_dims(x, tuple(range(len(x.shape)))[::-1]),
    "H": lambda x: F.conj(F.matrix_transpose(x)) if x.dtype.kind == "complex" else x.mT,
    "mT": F.matrix_transpose,
    "mH": lambda x: F.conj(F.matrix_transpose(x)) if x.dtype.kind == "complex" else x.mT,
    "t": lambda x: x if len(x.shape) < 2 else F.matrix_transpose(x),
    "transpose": F.swapaxes,
    "permute": lambda x, dims: F.permute_dims(x, tuple(dims)),
    "movedim": F.moveaxis,
    "ravel": F.flatten,
    "cat": c._cat,
    "stft": net._stft,
    "stack": lambda xs, dim=0: F.stack(xs, axis=dim),
    "expand": c._expand,
    "broadcast_tensors": F.broadcast_arrays,
    "unsqueeze": lambda x, dim: F.expand_dims(x, dim),
    "squeeze": lambda x, *dim: c._squeeze(x, *dim),
    "unbind": lambda x, dim=0: F.unstack(x, dim),
    "repeat": c._repeat,
    "tile": lambda x, *d: F.tile(x, tuple(d[0]) if isinstance(d[0], (list, tuple)) else d),
    "repeat_interleave": c._repeat_interleave,
    "split": c._split,
    "split_with_sizes": c._split,
    "hsplit": c._at(lambda x: 0 if len(x.shape) == 1 else 1),
    "vsplit": c._at(lambda x: 0),
    "dsplit": c._at(lambda x: 2),
    "tensor_split": lambda x, parts, dim=0: F.tensor_split(
        x, tuple(parts.tolist()) if getattr(parts, "shape", None) else parts, axis=dim
    ),
    "fliplr": lambda x: F.flip(x, 1),
    "flipud": lambda x: F.flip(x, 0),
    "flip": lambda x, dims: F.flip(x, tuple(dims)),
    "rot90": lambda x, k=1, dims=(0, 1): F.rot90(x, k=k, axes=tuple(dims)),
    "unfold": lambda x, dim, size, step: F.sliding_window_view(x, size, axis=dim, step=step),
    "unflatten": lambda x, dim, sizes: F.unflatten(x, dim, sizes),
    "atleast_1d": c._each(F.atleast_1d),
    "atleast_2d": c._each(F.atleast_2d),
    "atleast_3d": c._each(F.atleast_3d),
    "meshgrid": c._meshgrid,
    "cartesian_prod": c._listed(lambda *xs: mat._cartesian(*xs)),
    "block_diag": c._listed(F.block_diag),
    "narrow": c._part,
    "select": lambda x, dim, index: x[(slice(None),) * (dim % len(x.shape)) + (index,)],
    "slice": c._slice,
    "diag": lambda x, diagonal=0: F.diag(x, offset=diagonal),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: F.diagonal(
        x, offset=offset, axis1=dim1, axis2=dim2
    ),
    "diagonal_scatter": lambda x, src, offset=0, dim1=0, dim2=1: F.diagonal_scatter(
        x, src, offset=offset, axis1=dim1, axis2=dim2
    ),
    "tril_indices": lambda r, n, offset=0, **_: F.tril_indices(r, n, k=offset),
    "triu_indices": lambda r, n, offset=0, **_: F.triu_indices(r, n, k=offset),
    "trace": F.trace,
    # Places.
    "gather": c._gather,
    "scatter": c._scatter(c._put),
    "scatter_add": c._scatter(lambda x, d, i, s: F.put_along_axis(x, i, s, axis=d, mode="add")),
    "scatter_reduce": c._scatter(c._reduce),
    "index_select": lambda x, dim, index: F.take(x, index, dim),
    "index_add": lambda x, dim, index, src, *, alpha=1: F.index_add(
        x, index, src, axis=dim, alpha=alpha
    ),
    "index_copy": lambda x, dim, index, src: F.index_copy(x, index, src, axis=dim),
    "index_fill": lambda x, dim, index, value: F.index_fill(x, index, value, axis=dim),
    "index_put": c._index_put,
    "index_reduce": lambda x, dim, index, src, reduce, include_self=True: F.index_reduce(
        x, index, src, axis=dim, mode=reduce, include_self=include_self
    ),
    "select_scatter": c._select_scatter,
    "slice_scatter": c._slice_scatter,
    "take": c._take,
    "put": lambda x, i, v, accumulate=False: F.put(x, i, v, accumulate=accumulate),
    "gradient": lambda x, *, spacing=1.0, dim=None, edge_order=1: F.gradient(
        x, spacing=1.0 if spacing is None else spacing, axis=dim, edge_order=edge_order
    ),
    "take_along_dim": lambda x, index, dim=None: (
        F.take(x, F.flatten(index)) if dim is None else F.take_along_axis(x, index, axis=dim)
    ),
    "masked_scatter": c._masked_scatter,
    "masked_select": c._masked_select,
    "where": lambda x, condition, other: c._where(condition, x, other),
    "nonzero": lambda x, *, as_tuple=False: F.nonzero(x) if as_tuple else F.argwhere(x),
    # Products and matrices.
    "bmm": F.matmul,
    "mm": F.matmul,
    "mv": F.matmul,
    "dot": lambda x, y: F.vecdot(F.conj(x) if x.dtype.kind == "complex" else x, y),
    "vdot": F.vecdot,
    "inner": lambda x, y: (
        F.tensordot(x, y, axes=((-1,), (-1,))) if x.shape and y.shape else x * y
    ),
    "outer": L.outer,
    "einsum": lambda xs, equation: F.einsum(equation, *xs),
    "tensordot": mat._tensordot,
    "cross": lambda x, y, dim=None: L.cross(x, y, axis=mat._of_three(x, dim)),
    "linalg.cross": lambda x, y, *, dim=-1: L.cross(x, y, axis=dim),
    "linalg.norm": mat._linalg_norm,
    "linalg.vector_norm": mat._vector_norm,
    "linalg.matrix_norm": mat._matrix_norm,
    "linalg.vecdot": lambda x, y, *, dim=-1: F.vecdot(x, y, axis=dim),
    "linalg.diagonal": lambda x, *, offset=0, dim1=-2, dim2=-1: F.diagonal(
        x, offset=offset, axis1=dim1, axis2=dim2
    ),
    "linalg.vander": lambda x, *, N=None: L.vander(x, n=N),
    "linalg.multi_dot": lambda xs: L.multi_dot(xs),
    "linalg.matrix_power": L.matrix_power,
    "linalg.solve": mat._solve,
    "linalg.eigh": mat._triangle_of(L.eigh),
    "linalg.eigvalsh": mat._triangle_of(L.eigvalsh),
    "linalg.tensorsolve": lambda a, b, dims=None: L.tensorsolve(a, b, axes=dims),
    "linalg.solve_triangular": lambda a, b, *, upper, left=True, unitriangular=False: (
        L.solve_triangular(a, b, upper=upper, left=left, unitriangular=unitriangular)
    ),
    "linalg.lstsq": lambda a, b, rcond=None, *, driver=None: L.lstsq(a, b, rtol=rcond).solution,
    "linalg.lu": lambda a, *, pivot=True: L.lu(a, pivot=pivot),
    "linalg.pinv": lambda a, rcond=None, hermitian=False, *, atol=None, rtol=None: mat._pinv(
        a, rcond, hermitian, atol, rtol
    ),
    "pinverse": lambda a, rcond=1e-15: L.pinv(a, rtol=rcond),
    "linalg.matrix_rank": lambda a, tol=None, hermitian=False, *, atol=None, rtol=None: (
        L.matrix_rank(a, rtol=rtol, atol=tol if atol is None else atol)
    ),
    "lu": mat._lu,
    "linalg.lu_factor": L.lu_factor,
    "lu_unpack": lambda packed, pivots, unpack_data=True, unpack_pivots=True: (
        L.lu_unpack(packed, pivots)
    ),
    "lu_solve": lambda b, packed, pivots: L.lu_solve((packed, pivots), b),
    "linalg.lu_solve": lambda packed, pivots, b, **k: L.lu_solve((packed, pivots), b, **k),
    "svd_lowrank": mat._low_rank(L.svd_lowrank),
    "pca_lowrank": mat._low_rank(L.pca_lowrank),
    "svd": mat._svd,
    "cholesky_solve": lambda b, a, upper=False: L.cholesky_solve(a, b, upper=upper),
    "cholesky_inverse": L.cholesky_inverse,
    "cholesky": L.cholesky,
    "logdet": L.logdet,
    "qr": lambda x, some=True: L.qr(x, mode="reduced" if some else "complete"),
    "triangular_solve": lambda b, a, upper=True, transpose=False, unitriangular=False: (
        L.solve_triangular(
            F.matrix_transpose(a) if transpose else a, b,
            upper=upper != transpose, unitriangular=unitriangular,
        ),
        a,
    ),
    "matrix_exp": L.matrix_exp,
    "trapz": lambda y, x=None, *, dx=1.0, dim=-1: F.trapezoid(y, x, dx=dx, axis=dim),
    "trapezoid": lambda y, x=None, *, dx=1.0, dim=-1: F.trapezoid(y, x, dx=dx, axis=dim),
    "cumulative_trapezoid": lambda y, x=None, *, dx=1.0, dim=-1: F.cumulative_trapezoid(
        y, x, dx=dx, axis=dim
    ),
    "combinations": mat._combinations,
    "renorm": lambda x, p, dim, maxnorm: F.renorm(x, p=p, axis=dim, maxnorm=maxnorm),
    "quantile": lambda x, q, dim=None, keepdim=False, *, interpolation="linear": F.quantile(
        x, q, axis=dim, keepdims=keepdim, interpolation=interpolation
    ),
    "nanquantile": lambda x, q, dim=None, keepdim=False, *, interpolation="linear": F.nanquantile(
        x, q, axis=dim, keepdims=keepdim, interpolation=interpolation
    ),
    "histc": lambda x, bins=100, min=0, max=0: F.histogram(
        x, bins, range=None if min == max == 0 else (min, max)
    )[0],
    "bincount": lambda x, weights=None, minlength=0: F.bincount(x, weights, minlength=minlength),
    "view_as_complex": lambda x: F.complex(x[..., 0], x[..., 1]),
    "view_as_real": lambda x: F.stack([F.real(x), F.imag(x)], axis=-1),
    "isin": lambda a, b, *, assume_unique=False, invert=False: F.isin(a, b, invert=invert),
    # Networks.
    "nn.functional.cross_entropy": net._classes_last(F.cross_entropy),
    "nn.functional.nll_loss": net._classes_last(F.nll_loss),
    "nn.functional.linear": net._linear,
    "nn.functional.linear_cross_entropy": net._linear_cross_entropy,
    "nn.functional.embedding_bag": net._embedding_bag,
    "nn.functional.gelu": lambda x, *, approximate="none": (
        {"none": F.gelu, "tanh": F.gelu_tanh}[approximate](x)
    ),
    "nn.functional.triplet_margin_with_distance_loss": (
        lambda a, p, n, *, distance_function=None, **k: F.triplet_margin_with_distance_loss(
            a, p, n, distance_function=net._distance(distance_function), **k
        )
    ),
    "nn.functional.threshold": lambda x, threshold, value: F.threshold(x, threshold, value),
    "nn.functional.softplus": lambda x, beta=1, threshold=20: F.softplus(
        x, beta=beta, threshold=threshold
    ),
    "nn.functional.pad": net._pad,
    "constant_pad_nd": lambda x, pad, value=0: net._pad(x, pad, "constant", value),
    "nn.functional.interpolate": net._interpolate,
    "nn.functional.upsample_bilinear": lambda x, size=None, scale_factor=None: F.interpolate(
        x, size, scale_factor, "bilinear", align_corners=True
    ),
    "nn.functional.upsample_nearest": lambda x, size=None, scale_factor=None: F.interpolate(
        x, size, scale_factor
    ),
    "nn.functional.logsigmoid": F.log_sigmoid,
    "nn.functional.batch_norm": net._batch_norm,
    "nn.functional.instance_norm": net._instance_norm,
    "nn.functional.layer_norm": net._layer_norm,
    "nn.functional.rms_norm": net._rms_norm,
    "nn.functional.scaled_dot_product_attention": net._attention,
    "nn.functional.max_pool1d": net._pool(F.max_pool1d, 1, net.MAX),
    "nn.functional.max_pool2d": net._pool(F.max_pool2d, 2, net.MAX),
    "nn.functional.max_pool3d": net._pool(F.max_pool3d, 3, net.MAX),
    "nn.functional.avg_pool1d": net._pool(F.avg_pool1d, 1, net.AVG1),
    "nn.functional.avg_pool2d": net._pool(F.avg_pool2d, 2, net.AVG),
    "nn.functional.avg_pool3d": net._pool(F.avg_pool3d, 3, net.AVG),
    "nn.functional.max_unpool1d": net._max_unpool(1),
    "nn.functional.max_unpool2d": net._max_unpool(2),
    "nn.functional.max_unpool3d": net._max_unpool(3),
    "softmax": net._softmax(F.softmax),
    "log_softmax": net._softmax(F.log_softmax),
    "nn.functional.softmin": net._softmax(F.softmin),
    "nn.functional.multi_margin_loss": lambda x, labels, **k: F.multi_margin_loss(
        x, F.reshape(labels, tuple(x.shape[:-1])), **k
    ),
    "nn.functional.glu": lambda x, dim=-1: F.glu(x, axis=dim),
    "nn.functional.one_hot": lambda x, num_classes=-1: F.one_hot(
        x, depth=int(F.max(x)) + 1 if num_classes == -1 else num_classes
    ),
    "nn.functional.embedding": lambda w, i, padding_idx=None, **_: F.embedding(
        i, w, padding_idx=padding_idx
    ),
    "nn.functional.pdist": lambda x, p=2.0: F.pdist(x, p=p),
    "cdist": lambda x, y, p=2.0, compute_mode=None: F.cdist(x, y, p=p),
    "nn.functional.conv1d": net._conv(F.conv1d),
    "nn.functional.conv2d": net._conv(F.conv2d),
    "nn.functional.conv3d": net._conv(F.conv3d),
    "nn.functional.conv_transpose1d": net._conv_transpose(F.conv_transpose1d),
    "nn.functional.conv_transpose2d": net._conv_transpose(F.conv_transpose2d),
    "nn.functional.conv_transpose3d": net._conv_transpose(F.conv_transpose3d),
    **{f"nn.functional.adaptive_avg_pool{n}d": net._pool(
        getattr(F, f"adaptive_avg_pool{n}d"), n, "output_size"
    ) for n in (1, 2, 3)},
    **{f"nn.functional.adaptive_max_pool{n}d": net._pool(
        getattr(F, f"adaptive_max_pool{n}d"), n, "output_size return_indices"
    ) for n in (1, 2, 3)},
    **{f"fft.{name}": c._fft(name, name[-1] in "2n") for name in (
        "fft", "fftn", "fft2", "ifft", "ifftn", "ifft2", "rfft", "rfftn", "rfft2", "irfft",
        "irfftn", "irfft2", "hfft", "ihfft", "hfftn", "hfft2", "ihfftn", "ihfft2",
    )},
    "fft.fftshift": lambda x, dim=None: tl.fft.fftshift(x, axes=dim),
    "fft.ifftshift": lambda x, dim=None: tl.fft.ifftshift(x, axes=dim),
}  # fmt: skip

# The same values under other names: copies where PyTorch has views, and without its checks.
SAME = {name + "_copy": name for name in (
    "diagonal", "expand", "narrow", "permute", "split_with_sizes", "squeeze", "t", "transpose",
    "unbind", "unfold", "unsqueeze",
)} | {"unsafe_chunk": "chunk", "unsafe_split": "split"}  # fmt: skip
