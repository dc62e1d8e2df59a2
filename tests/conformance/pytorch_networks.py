"""Our calls for PyTorch's functions of networks and signals, in PyTorch's order of arguments."""

from __future__ import annotations

import math
from typing import Any

import tensorlike as tl
from tensorlike import functional as F

from . import pytorch_calls as c

L = tl.linalg


def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    pairs = [(0, 0)] * (len(x.shape) - len(pad) // 2)
    pairs += list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    grow = tuple((max(0, a), max(0, b)) for a, b in pairs)
    mode = {"replicate": "edge"}.get(mode, mode)
    extra = {} if value is None else {"value": value}
    if mode == "circular":  # what is cut off does not come around
        return F.pad(_cut(x, pairs), grow, mode=mode, **extra)
    return _cut(F.pad(x, grow, mode=mode, **extra), pairs)


def _cut(x: Any, pairs: Any) -> Any:
    """Without what negative widths take away."""
    sizes = zip(x.shape, pairs, strict=True)
    return x[tuple(slice(max(0, -a), n - max(0, -b)) for n, (a, b) in sizes)]


def _interpolate(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: Any = None, recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    if recompute_scale_factor:
        spatial = x.shape[2:]
        given = (
            scale_factor
            if isinstance(scale_factor, (list, tuple))
            else [scale_factor] * len(spatial)
        )
        size = tuple(math.floor(n * s) for n, s in zip(spatial, given, strict=True))
        scale_factor = None
    return F.interpolate(
        x, size, scale_factor, mode, align_corners=bool(align_corners), antialias=antialias
    )


def _conv(f: Any) -> Any:
    def call(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        is_one = len(x.shape) == len(weight.shape) - 1
        x = F.expand_dims(x, 0) if is_one else x
        given = () if bias is None else (bias,)
        y = f(x, weight, *given, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return y[0] if is_one else y

    return call


def _conv_transpose(f: Any) -> Any:
    def call(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        is_one = len(x.shape) == len(weight.shape) - 1
        x = F.expand_dims(x, 0) if is_one else x
        given = () if bias is None else (bias,)
        y = f(
            x,
            weight,
            *given,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            dilation=dilation,
        )
        return y[0] if is_one else y

    return call


def _pool(f: Any, n: int, names: str) -> Any:
    """Of an image alone, too."""
    keys = names.split()

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = dict(zip(keys, args, strict=False)) | kwargs
        if "return_indices" in kwargs and kwargs.pop("return_indices"):
            g = getattr(F, f.__name__ + "_with_indices")
        else:
            g = f
        kwargs = {k: v for k, v in kwargs.items() if v is not None and v != [] and v != ()}
        size = kwargs.get("output_size")
        if isinstance(size, (list, tuple)):
            sizes = zip(size, x.shape[-n:], strict=True)
            kwargs["output_size"] = tuple(old if new is None else new for new, old in sizes)
        return c.of_one(g, x, **kwargs) if len(x.shape) == n + 1 else g(x, **kwargs)

    return call


MAX = "kernel_size stride padding dilation ceil_mode return_indices"
AVG = "kernel_size stride padding ceil_mode count_include_pad divisor_override"
AVG1 = "kernel_size stride padding ceil_mode count_include_pad"


def _max_unpool(n: int) -> Any:
    f = getattr(F, f"max_unpool{n}d")

    def call(
        x: Any,
        indices: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Any:
        is_one = len(x.shape) == n + 1
        if is_one:
            x, indices = F.expand_dims(x, 0), F.expand_dims(indices, 0)
        stride = None if stride == [] else stride
        size = None if output_size is None else tuple(output_size)[-n:]
        y = f(x, indices, kernel_size, stride=stride, padding=padding, output_size=size)
        return y[0] if is_one else y

    return call


def _batch_norm(
    x: Any,
    mean: Any,
    var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    shape = (1, -1, *([1] * (len(x.shape) - 2))) if len(x.shape) > 1 else (-1,)
    if training:
        given = (d if v is None else F.reshape(v, shape) for v, d in ((weight, 1.0), (bias, 0.0)))
        return F.batch_norm(x, *given, axes=(0, *range(2, len(x.shape))), eps=eps)[0]
    y = (x - F.reshape(mean, shape)) / F.sqrt(F.reshape(var, shape) + eps)
    y = y if weight is None else y * F.reshape(weight, shape)
    return y if bias is None else y + F.reshape(bias, shape)


def _instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    given = {} if use_input_stats else {"running_mean": running_mean, "running_var": running_var}
    return F.instance_norm(x, weight, bias, eps=eps, **given)


def _layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    n = len(normalized_shape)
    return F.layer_norm(
        x,
        F.ones(tuple(normalized_shape), dtype=x.dtype) if weight is None else weight,
        0.0 if bias is None else bias,
        axes=tuple(range(-n, 0)),
        eps=eps,
    )


def _rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    n = len(normalized_shape)
    if eps is None:
        eps = 2.0**-52 if x.dtype.name == "float64" else 2.0**-23
    weight = F.ones(tuple(normalized_shape), dtype=x.dtype) if weight is None else weight
    return F.rms_norm(x, weight, axes=tuple(range(-n, 0)), eps=eps)


def _attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    return F.attention(q, k, v, attn_mask, scale, is_causal, dropout_p=dropout_p)


def _softmax(f: Any) -> Any:
    def call(x: Any, dim: int = -1, dtype: Any = None, **_: Any) -> Any:
        return f(x if dtype is None else F.astype(x, dtype=dtype), axis=dim)

    return call


def _stft(x: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, **k: Any) -> Any:
    return_complex = k.pop("return_complex", True)
    y = F.stft(x, n_fft, hop_length=hop_length, win_length=win_length, **k)
    return y if return_complex else F.stack([F.real(y), F.imag(y)], axis=-1)


def _classes_last(f: Any) -> Any:
    """PyTorch has the classes second, we have them last."""

    def call(x: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        names = ("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing")
        kwargs = dict(zip(names, args, strict=False)) | kwargs
        kwargs = {k: v for k, v in kwargs.items() if v is not None}
        if len(x.shape) > 1:
            is_soft = tuple(target.shape) == tuple(x.shape)
            x = F.moveaxis(x, 1, -1)
            target = F.moveaxis(target, 1, -1) if is_soft else target
        return f(x, target, **kwargs)

    return call


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """PyTorch has weights of (out, in), we of (in, out)."""
    y = F.matmul(x, F.matrix_transpose(weight) if len(weight.shape) > 1 else weight)
    return y if bias is None else y + bias


def _linear_cross_entropy(
    x: Any,
    weights: Any,
    target: Any,
    /,
    *,
    linear_bias: Any = None,
    ignore_index: Any = None,
    options: Any = None,
    **k: Any,
) -> Any:
    """Two calls; the options say in how many pieces PyTorch computes it."""
    given = k if ignore_index is None else k | {"ignore_index": ignore_index}
    scores = F.tensordot(x, weights, axes=((-1,), (-1,)))
    scores = scores if linear_bias is None else scores + linear_bias
    return F.cross_entropy(scores, target, axis=len(x.shape) - 1, **given)


def _embedding_bag(
    weight: Any,
    i: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: Any = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    if max_norm is not None:
        raise NotImplementedError("max_norm writes in place")
    offsets = offsets[:-1] if include_last_offset else offsets
    return F.embedding_bag(
        i, weight, offsets, per_sample_weights, mode=mode, padding_idx=padding_idx
    )


def _distance(given: Any) -> Any:
    """A distance of PyTorch's by name, as ours."""
    if given is None:
        return F.pairwise_distance
    name = getattr(given, "__name__", type(given).__name__)
    return {"cosine_similarity": F.cosine_similarity, "PairwiseDistance": F.pairwise_distance}.get(
        name, lambda x, y: L.vector_norm(x - y, axis=-1)
    )
