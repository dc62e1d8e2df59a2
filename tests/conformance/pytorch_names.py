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
VALUES_ALONE |= {"linalg.lstsq", "lu", "linalg.lu_factor"}
# Results that are determined but for signs or phases: absolute values are compared.
BUT_FOR_SIGNS = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh"}

# Where PyTorch's gradient is not the derivative of what is read: that of a triangle goes to the
# whole matrix, that of CTC takes probabilities for granted, that of equal places counts all.
OTHER_GRADIENTS = {
    "cholesky_inverse", "cholesky_solve", "linalg.eigh", "linalg.eigvalsh", "linalg.pinv hermitian",
    "nn.functional.ctc_loss", "nn.functional.max_unpool1d", "nn.functional.max_unpool2d",
    "nn.functional.max_unpool3d",
}  # fmt: skip

# Where PyTorch gives another value by design: integers stay integers, whose means and products with
# fractions are cut off (ours are float32, as the Array API promotes); limits are cut off before the
# steps between them are counted (ours after, as NumPy's). By weights of float32 it sums in float32.
OTHER_VALUES = {
    "addbmm int64", "addmv int64", "arange int64", "baddbmm int64", "cov float64",
    "linspace int64", "logspace int64", "nn.functional.avg_pool1d int64",
    "nn.functional.avg_pool2d int64", "nn.functional.avg_pool3d int64",
    "nn.functional.hardtanh int64",
}  # fmt: skip

# What we refuse by design, and PyTorch does not: such samples are left out. An axis of a number
# without dimensions; numbers without a meaning; casts that lose imaginary parts; sums along axes of
# different sizes.
REFUSED = re.compile(
    r"zero-dimensional tensor has no axis|x must have a dimension; got none"
    r"|eps must not be negative"
    r"|a complex number has no|not determined; use full_matrices|must have one dimension or more"
    r"|random: |writes in place|labels must have the shape of x"
    r"|tensordot: the sizes of the axes must agree"
)
# What we take by design, and PyTorch refuses: operands of several dtypes or kinds, which promote;
# batches of matrices; numbers in place of tensors; names of dtypes.
TAKEN = re.compile(
    r"dtype|scalar type|same type|to be equal to src|combination of arguments|inputs to be|"
    r"should be the same|must be Tensor|expected a matrix|tensor with <= 2|bool tensor|"
    r"0-dim integral|^$",
    re.IGNORECASE,
)

OUT_OF_SCOPE = {
    "shares memory, which values here do not show": (
        r"as_strided.*|.*_copy|alias_copy|view|view_as|view_copy|contiguous|resize_|resize_as_|"
        r"empty.*|new_empty.*|zero_|fill|expand_as|reshape_as|resolve_.*|unsafe_.*|set_"
    ),
    "a private or internal name": (
        r"_.*|torch\..*|native_.*|.*_backward|jiterator.*|grid_sampler_.*|hash_tensor|chalf|"
        r"nonzero_static|scalar_tensor|conj_physical|.*_ex"
    ),
    "sparse, or a prototype": r"sparse.*|to_sparse|masked\..*|to",
    "random numbers, which agree with nobody's": (
        r"bernoulli|cauchy|exponential|geometric|log_normal|multinomial|normal|rand.*|uniform|"
        r"nn\.functional\.(alpha_|feature_alpha_)?dropout.*|nn\.functional\.rrelu|.*_lowrank|"
        r"nn\.functional\.fractional.*"
    ),
    "no tensor goes in or comes out": r"item|broadcast_shapes|new_.*",
}


def reason(name: str) -> str | None:
    """Why an operator is not counted, or None."""
    for why, pattern in OUT_OF_SCOPE.items():
        if re.fullmatch(pattern, name) and not re.fullmatch(r"__r\w+__|__getitem__", name):
            return why
    return None
