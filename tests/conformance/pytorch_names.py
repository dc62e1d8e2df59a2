"""PyTorch's operators by our names and arguments.

Most need no entry: a function of the same name takes the arguments of the same names, those that
RENAMED lists under ours. CALLS has the others, in PyTorch's order of arguments. OUT_OF_SCOPE says
what a framework of immutable values on one device does not have, and why.
"""

from __future__ import annotations

import re

# Their arguments: ours.
RENAMED = {
    "dim": "axis", "dims": "axis", "dim1": "axis1", "dim2": "axis2", "dim0": "axis1",
    "keepdim": "keepdims", "negative_slope": "alpha", "start_dim": "start_axis",
    "end_dim": "end_axis", "diagonal": "k", "offset": "offset", "return_inverse": "inverse",
    "return_counts": "counts", "hidden_size": "hidden_size", "shifts": "shift",
    "return_complex": "return_complex", "exponent": "x2",
}  # fmt: skip

# Where PyTorch gives more than the values, or equal elements have no one place.
VALUES_ALONE = {"median", "nanmedian", "kthvalue", "topk", "mode", "sort"}
VALUES_ALONE |= {"linalg.lstsq"}
# Results that are determined but for signs or phases: absolute values are compared.
BUT_FOR_SIGNS = {"svd", "svd_lowrank", "pca_lowrank", "linalg.svd", "linalg.eig", "linalg.eigh"}

# Where PyTorch's gradient is not the derivative of what is read: that of a triangle goes to the
# whole matrix, that of CTC takes probabilities for granted, that of equal places counts all, that
# by weights of a covariance is rounded to float32.
OTHER_GRADIENTS = {
    "cholesky complex128", "cholesky_inverse", "cholesky_solve", "linalg.cholesky complex128",
    "cov float64", "cov complex128", "linalg.eigh", "linalg.eigvalsh", "linalg.pinv hermitian",
    "nn.functional.ctc_loss", "nn.functional.max_unpool1d", "nn.functional.max_unpool2d",
    "nn.functional.max_unpool3d",
}  # fmt: skip

# Where PyTorch gives another value by design: integers stay integers, whose means and products with
# fractions are cut off (ours are float32, as the Array API promotes); limits are cut off before the
# steps between them are counted (ours after, as NumPy's). By weights of float32 it sums in float32.
OTHER_VALUES = {
    "addbmm int64", "addmv int64", "arange int64", "baddbmm int64", "cov float64",
    "linspace int64", "linspace tensor_overload int64", "logspace int64",
    "logspace tensor_overload int64", "nn.functional.avg_pool1d int64",
    "nn.functional.avg_pool2d int64", "nn.functional.avg_pool3d int64",
    "nn.functional.hardtanh int64",
}  # fmt: skip

# What we refuse by design, and PyTorch does not: such samples are left out. An axis of a number
# without dimensions, and what it would have along one; numbers without a meaning; casts that lose
# imaginary parts; sums along axes of different sizes; weights that a call rescales in place;
# gradients of the vectors of a singular value decomposition that nothing determines; integers to a
# negative power, as NumPy refuses them.
REFUSED = re.compile(
    r"zero-dimensional tensor has no axis|x must have a dimension; got none"
    r"|vander: x must have one dimension or more|labels must have the shape of x.*x\.shape=\(\)"
    r"|eps >= 0 must hold|(?:Cast|astype): a complex number has no|writes in place"
    r"|tensordot: the sizes of the axes must agree|not determined; use full_matrices"
    r"|pow: the exponent must not be negative where integers"
)

# Wrong inputs of PyTorch's that have a meaning here, by operator and message. What gives PyTorch's
# own value once the operands have one dtype, and numbers are tensors, need not be named.
TAKEN = {
    "nn.functional.max_pool1d": (r"with optional 0 dim batch", "no channels: no elements"),
    "nn.functional.max_pool3d": (r"to have positive length", "no channels: no elements"),
    "nn.functional.rms_norm": (r"at least 1-dimensional", "each number by itself, as of no axes"),
    "narrow": (r"start out of range|non-negative|length .{1,3}-1", "no elements, as of a slice"),
    "multinomial": (r"1 or 2 dim|<= 0 samples|categories", "batches; no draws; many numbers"),
    "nn.functional.linear_cross_entropy": (r"requires batched", "one sample of several positions"),
    "arange": (r"bound inconsistent with step sign", "no elements, as NumPy and the Array API say"),
    "t": (r"<= 2", "a batch of matrices"),
    "trace": (r"expected a matrix", "a batch of matrices"),
    "dot": (r"1D tensors expected", "a batch of vectors"),
    "vdot": (r"1D tensors expected", "a batch of vectors"),
    "mean": (r"nput dtype must be|Optional dtype", "means of integers are fractions"),
    "repeat": (r"can not be smaller", "NumPy's tile"),
    "linalg.cross": (r"same number of dimensions", "operands broadcast, as the Array API says"),
    "roll": (r"shifts and dimensions must align", "several shifts of one axis, as NumPy adds them"),
    "nn.functional.embedding": (r"'weight' must be 2-D", "rows of several dimensions"),
    "masked_fill": (r"0-dimensional value tensor", "the value broadcasts"),
}  # fmt: skip

# What is not counted, and why: a whole name of the database matches.
OUT_OF_SCOPE = {
    "sparse, or scaled products of quantised matrices": r"sparse.*|to_sparse|torch\._scaled_mm.*",
    "strides, lazy bits and shared memory, which no value shows": (
        r"as_strided.*|(new_)?empty_strided|empty_permuted|alias_copy|contiguous|resolve_\w+"
    ),
    "writes in place, without a form that gives a value": (
        r"zero_|resize_(as_)?|(cauchy|exponential|geometric|log_normal|uniform|normal in_place)"
    ),
    "a private name, or one of a compiler's": (
        r"_(?!_).*|torch\.ops\..*|native_.*|.*_backward|jiterator.*|grid_sampler_\dd"
    ),
    "a prototype by PyTorch's own word: masked tensors, complex32, errors as numbers": (
        r"masked\..*|chalf|linalg\..*_ex"
    ),
}


def reason(name: str) -> str | None:
    """Why an operator (with its variant) is not counted, or None."""
    for why, pattern in OUT_OF_SCOPE.items():
        if re.fullmatch(pattern, name) or re.fullmatch(pattern, name.split(" ")[0]):
            return why
    return None


# Random numbers agree with nobody's: shapes and dtypes are compared.
RANDOM = {
    "bernoulli", "multinomial", "normal", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "rand_like", "randint", "randint_like", "randn", "randn_like",
}  # fmt: skip
# Memory whose values nobody set: likewise.
UNSET = {"empty", "empty_like", "new_empty"}
