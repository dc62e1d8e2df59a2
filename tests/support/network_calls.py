"""Calls of neural networks, as one table: activations, losses, norms, images, formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.network_call import NetworkCall, integers
from support.network_losses import classification, losses
from tensorlike import functional as F


def _activations() -> list[NetworkCall]:
    one = [(5, 7)]
    found = [
        NetworkCall(name, getattr(F, name), lambda T, x, name=name: getattr(T, name)(x), tuple(one))
        for name in ("relu6", "selu", "celu", "hardswish", "hardshrink", "softshrink",
                     "tanhshrink", "leaky_relu", "hardtanh", "elu", "mish")
    ]  # fmt: skip
    found += [
        NetworkCall("celu-2", lambda x: F.celu(x, 2.0), lambda T, x: T.celu(x, 2.0), ((5, 7),)),
        NetworkCall("celu-minus", lambda x: F.celu(x, -0.5), lambda T, x: T.celu(x, -0.5), ((9,),)),
        NetworkCall("elu-alpha", F.elu, lambda T, x, a: (x > 0) * x + (x <= 0) * a * x.expm1(),
                    ((5, 7), (7,))),
        NetworkCall("elu-0.4", lambda x: F.elu(x, 0.4), lambda T, x: T.elu(x, 0.4), ((5, 7),)),
        NetworkCall("softplus-2", lambda x: F.softplus(x, beta=2.0),
                    lambda T, x: T.softplus(x, 2.0, 1e9), ((5, 7),)),
        NetworkCall("softplus-minus", lambda x: F.softplus(x, beta=-0.5),
                    lambda T, x: T.softplus(x, -0.5, 1e9), ((5, 7),)),
        NetworkCall("hardtanh-range", lambda x: F.hardtanh(x, -0.5, 0.25),
                    lambda T, x: T.hardtanh(x, -0.5, 0.25), ((5, 7),)),
        NetworkCall("rrelu", lambda x: F.rrelu(x, lower=0.1, upper=0.4),
                    lambda T, x: T.rrelu(x, 0.1, 0.4), ((5, 7),)),
        NetworkCall("gumbel_softmax", lambda x: F.gumbel_softmax(x, tau=0.7, seed=3, axis=0), None,
                    ((5, 7),)),
        NetworkCall("hardshrink-1", lambda x: F.hardshrink(x, 1.0),
                    lambda T, x: T.hardshrink(x, 1.0), ((5, 7),)),
        NetworkCall("softshrink-1", lambda x: F.softshrink(x, lambd=1.0),
                    lambda T, x: T.softshrink(x, 1.0), ((5, 7),)),
        NetworkCall("leaky_relu-0.3", lambda x: F.leaky_relu(x, negative_slope=0.3),
                    lambda T, x: T.leaky_relu(x, 0.3), ((5, 7),)),
        NetworkCall("threshold", lambda x: F.threshold(x, 0.25, -3.0),
                    lambda T, x: T.threshold(x, 0.25, -3.0), ((5, 7),)),
        NetworkCall("prelu-one", F.prelu, lambda T, x, w: T.prelu(x, w), ((5, 7), (1,))),
        NetworkCall("prelu-channels", F.prelu, lambda T, x, w: T.prelu(x, w), ((5, 3, 4), (3,))),
        NetworkCall("glu", F.glu, lambda T, x: T.glu(x), ((5, 8),)),
        NetworkCall("glu-0", lambda x: F.glu(x, axis=0), lambda T, x: T.glu(x, 0), ((6, 3),)),
        NetworkCall("softmin", lambda x: F.softmin(x, axis=0), lambda T, x: T.softmin(x, 0),
                    ((4, 3),)),
    ]  # fmt: skip
    return found


def _norms_and_distances() -> list[NetworkCall]:
    found = [
        NetworkCall("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b),
                    lambda T, x, w, b: T.group_norm(x, 2, w, b), ((3, 4, 5), (4,), (4,))),
        NetworkCall("instance_norm", F.instance_norm,
                    lambda T, x, w, b: T.instance_norm(x, weight=w, bias=b),
                    ((3, 4, 5, 2), (4,), (4,))),
        NetworkCall("local_response_norm",
                    lambda x: F.local_response_norm(x, 3, alpha=0.5, beta=0.6, k=2.0),
                    lambda T, x: T.local_response_norm(x, 3, 0.5, 0.6, 2.0), ((2, 5, 3, 2),)),
        NetworkCall("local_response_norm-even", lambda x: F.local_response_norm(x, 4),
                    lambda T, x: T.local_response_norm(x, 4), ((2, 5, 3),)),
        NetworkCall("normalize", F.normalize, lambda T, x: T.normalize(x), ((4, 3, 2),)),
        NetworkCall("normalize-3", lambda x: F.normalize(x, p=3, axis=-1),
                    lambda T, x: T.normalize(x, 3, -1), ((4, 3),)),
        NetworkCall("cosine_similarity", F.cosine_similarity,
                    lambda T, x, y: T.cosine_similarity(x, y), ((4, 3), (1, 3))),
        NetworkCall("pairwise_distance", F.pairwise_distance,
                    lambda T, x, y: T.pairwise_distance(x, y), ((4, 3), (4, 3))),
    ]  # fmt: skip
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        for rows in (4, 30):
            found.append(NetworkCall(
                f"cdist-{p}-{rows}", lambda x, y, p=p: F.cdist(x, y, p=p),
                lambda T, x, y, p=p: __import__("torch").cdist(x, y, p), ((2, rows, 3), (5, 3)),
            ))  # fmt: skip
    return found


def _pairs() -> list[NetworkCall]:
    found = [
        NetworkCall("bilinear", F.bilinear, lambda T, x, y, w, b: T.bilinear(x, y, w, b),
                    ((4, 5, 3), (4, 5, 2), (6, 3, 2), (6,))),
        NetworkCall("bilinear-rows", lambda x, y, w: F.bilinear(x, y, w),
                    lambda T, x, y, w: T.bilinear(x, y, w), ((5, 3), (5, 2), (1, 3, 2))),
        NetworkCall("bilinear-broadcast", F.bilinear, None, ((3,), (2, 4, 2), (6, 3, 2), (6,))),
    ]  # fmt: skip
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        found.append(NetworkCall(f"pdist-{p}", lambda x, p=p: F.pdist(x, p=p),
                                 lambda T, x, p=p: T.pdist(x, p), ((6, 3),)))  # fmt: skip
    return found


def _pools() -> list[NetworkCall]:
    found = []
    shapes: dict[int, tuple[int, ...]] = {1: (2, 3, 9), 2: (2, 3, 6, 7), 3: (1, 2, 4, 5, 6)}
    sliding: list[dict[str, Any]] = [
        {"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 2, "stride": 1, "dilation": 2}, {"kernel_size": 2, "ceil_mode": True},
    ]  # fmt: skip
    for n, shape in shapes.items():
        for p in (1.0, 2.0, 3.5):
            for given in ({}, {"stride": 1}, {"stride": 3, "ceil_mode": True}):
                found.append(NetworkCall(
                    f"lp_pool{n}d-{p}-{given}",
                    lambda x, n=n, p=p, g=given: getattr(F, f"lp_pool{n}d")(x, p, 2, **g),
                    lambda T, x, n=n, p=p, g=given: getattr(T, f"lp_pool{n}d")(x, p, 2, **g),
                    (shape,), positive=True,
                ))  # fmt: skip
        for given in sliding:
            name = f"max_pool{n}d_with_indices"
            found.append(NetworkCall(
                f"{name}-{given}", lambda x, c=name, g=given: _joined(getattr(F, c)(x, **g)),
                lambda T, x, c=name, g=given: _joined(getattr(T, c)(x, **g)), (shape,),
            ))  # fmt: skip
        name = f"adaptive_max_pool{n}d_with_indices"
        found.append(NetworkCall(
            name, lambda x, c=name: _joined(getattr(F, c)(x, 3)),
            lambda T, x, c=name, n=n: _joined(getattr(T, c)(x, (3,) * n)), (shape,),
        ))  # fmt: skip
        for given in ({"kernel_size": 2}, {"kernel_size": 2, "stride": 3, "padding": 1}):
            found.append(NetworkCall(
                f"max_unpool{n}d-{given}", lambda x, n=n, g=given: _there_and_back(F, x, n, g),
                lambda T, x, n=n, g=given: _there_and_back(T, x, n, g), (shape,),
            ))  # fmt: skip
    for n in (2, 3):
        name, count = f"fractional_max_pool{n}d_with_indices", shapes[n][0] * shapes[n][1]
        samples = np.random.default_rng(5).uniform(size=count * n).reshape(*shapes[n][:2], n)
        for given in ({"output_size": (2, 3, 2)[:n]}, {"output_ratio": (0.6,) * n}):
            found.append(NetworkCall(
                f"{name}-{given}",
                lambda x, c=name, g=given, u=samples: _joined(getattr(F, c)(x, 2, samples=u, **g)),
                # PyTorch's numbers for an image begin with the last dimension where there are two.
                lambda T, x, c=name, g=given, u=samples: _joined(getattr(T, c)(
                    x, 2, **g,
                    _random_samples=x.new_tensor(u[..., ::-1].copy() if u.shape[2] == 2 else u))),
                (shapes[n],),
            ))  # fmt: skip
    return found


def _joined(found: Any) -> Any:
    """The values, and the places as numbers without a gradient: one tensor shows both."""
    y, places = found
    return y + places * 10.0


def _there_and_back(library: Any, x: Any, n: int, given: dict[str, Any]) -> Any:
    y, places = getattr(library, f"max_pool{n}d_with_indices")(x, **given)
    return getattr(library, f"max_unpool{n}d")(y, places, **given, output_size=x.shape[2:])


def _images() -> list[NetworkCall]:
    found = [
        NetworkCall("unfold", lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=1, stride=2),
                    lambda T, x: T.unfold(x, (2, 3), (2, 1), 1, 2), ((2, 3, 5, 6),)),
        NetworkCall("fold",
                    lambda x: F.fold(x, (5, 6), (2, 3), dilation=(2, 1), padding=1, stride=2),
                    lambda T, x: T.fold(x, (5, 6), (2, 3), (2, 1), 1, 2), ((2, 12, 9),)),
        NetworkCall("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2),
                    lambda T, x: T.pixel_shuffle(x, 2), ((2, 8, 3, 2),)),
        NetworkCall("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2),
                    lambda T, x: T.pixel_unshuffle(x, 2), ((2, 2, 4, 6),)),
        NetworkCall("channel_shuffle", lambda x: F.channel_shuffle(x, 3),
                    lambda T, x: __import__("torch").channel_shuffle(x, 3), ((2, 6, 2),)),
    ]  # fmt: skip
    shapes = {1: (2, 3, 7), 2: (2, 3, 5, 7), 3: (1, 2, 3, 4, 5)}
    modes = [("nearest", 1), ("nearest", 2), ("nearest-exact", 2), ("linear", 1), ("bilinear", 2),
             ("trilinear", 3), ("bicubic", 2), ("area", 1), ("area", 2)]  # fmt: skip
    for mode, n in modes:
        corners = (False, True) if "linear" in mode or mode == "bicubic" else (False,)
        for aligned in corners:
            for given in ({"size": (3, 9, 4)[:n]}, {"scale_factor": (2.5, 0.6, 1.0)[:n]}):
                ours = {**given, "mode": mode, **({"align_corners": True} if aligned else {})}
                found.append(NetworkCall(
                    f"interpolate-{ours}", lambda x, ours=ours: F.interpolate(x, **ours),
                    lambda T, x, ours=ours: T.interpolate(x, **ours), (shapes[n],),
                ))  # fmt: skip
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for aligned in (False, True):
                given = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
                for n in (2, 3) if mode != "bicubic" else (2,):
                    places = (2, 4, 3, 2) if n == 2 else (2, 2, 3, 2, 3)
                    found.append(NetworkCall(
                        f"grid_sample-{n}-{given}",
                        lambda x, g, given=given: F.grid_sample(x, g, **given),
                        lambda T, x, g, given=given: T.grid_sample(x, g, **given),
                        ((2, 3, 5, 4, 3)[: n + 2], places),
                    ))  # fmt: skip
    for aligned in (False, True):
        for size in ((2, 3, 4, 5), (2, 3, 2, 4, 1)):
            n = len(size) - 2
            found.append(NetworkCall(
                f"affine_grid-{n}-{aligned}",
                lambda t, s=size, a=aligned: F.affine_grid(t, s, align_corners=a),
                lambda T, t, s=size, a=aligned: T.affine_grid(t, s, align_corners=a),
                ((2, n, n + 1),),
            ))  # fmt: skip
    return found


def _recurrences() -> list[NetworkCall]:
    found = []
    shapes = ((4, 3, 5), (5, 5), (3, 5))  # sums, weight, hidden
    for activation in ("tanh", "relu"):
        for reverse in (False, True):
            given = {"activation": activation, "reverse": reverse}
            found.append(NetworkCall(
                f"rnn-{activation}-{reverse}", lambda *xs, given=given: F.rnn(*xs, **given),
                lambda T, *xs, given=given: _torch_rnn(*xs, **given), shapes,
            ))  # fmt: skip
    found.append(
        NetworkCall(
            "rnn_cell",
            F.rnn_cell,
            lambda T, s, w, h: (s + h @ w.T).tanh(),
            ((3, 5), (5, 5), (3, 5)),
        )
    )
    for reverse in (False, True):
        found.append(NetworkCall(
            f"gru-{reverse}", lambda *xs, reverse=reverse: F.gru(*xs, reverse=reverse),
            lambda T, *xs, reverse=reverse: _torch_gru(*xs, reverse),
            ((4, 3, 6), (6, 2), (3, 2), (6,)),
        ))  # fmt: skip
    return found


def _torch_rnn(sums: Any, weight: Any, hidden: Any, activation: str, reverse: bool) -> Any:
    states = []
    for part in reversed(sums) if reverse else sums:
        hidden = getattr(part + hidden @ weight.T, activation)()
        states.append(hidden)
    return hidden.new_zeros(()) + __import__("torch").stack(states[::-1] if reverse else states)


def _torch_gru(sums: Any, weight: Any, hidden: Any, bias: Any, reverse: bool) -> Any:
    """By PyTorch's own cell, given the sums as inputs, which meet the identity."""
    torch = __import__("torch")
    states = []
    eye = torch.eye(sums.shape[-1], dtype=sums.dtype)
    for part in reversed(sums) if reverse else sums:
        hidden = torch.gru_cell(part, hidden, eye, weight, torch.zeros_like(bias), bias)
        states.append(hidden)
    return torch.stack(states[::-1] if reverse else states)


def _bags() -> list[NetworkCall]:
    flat, starts = integers(0, 6, (9,), 4), np.array([0, 3, 3, 7])
    found = []
    for mode in ("mean", "sum", "max"):
        found += [
            NetworkCall(
                f"embedding_bag-{mode}",
                lambda w, mode=mode: F.embedding_bag(flat, w, starts, mode=mode),
                lambda T, w, mode=mode: T.embedding_bag(
                    w.new_tensor(flat).long(), w, w.new_tensor(starts).long(), mode=mode),
                ((6, 3),),
            ),
            NetworkCall(
                f"embedding_bag-rows-{mode}",
                lambda w, mode=mode: F.embedding_bag(
                    flat.reshape(3, 3), w, mode=mode, padding_idx=int(flat[1])),
                lambda T, w, mode=mode: T.embedding_bag(
                    w.new_tensor(flat.reshape(3, 3)).long(), w, mode=mode,
                    padding_idx=int(flat[1])),
                ((6, 3),),
            ),
        ]  # fmt: skip
    found.append(NetworkCall(
        "embedding_bag-weights",
        lambda w, p: F.embedding_bag(flat, w, starts, p, mode="sum"),
        lambda T, w, p: T.embedding_bag(
            w.new_tensor(flat).long(), w, w.new_tensor(starts).long(), mode="sum",
            per_sample_weights=p),
        ((6, 3), (9,)),
    ))  # fmt: skip
    return found


def _formulas() -> list[NetworkCall]:
    equations = [
        ("ij,jk->ik", ((3, 4), (4, 2))), ("ij,jk,kl,l->i", ((3, 4), (4, 2), (2, 5), (5,))),
        ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))), ("ii->i", ((4, 4),)),
        ("ii", ((4, 4),)), ("ij->", ((3, 4),)), ("ij->ji", ((3, 4),)), ("i,j", ((3,), (4,))),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))), ("b...,b...->...", ((2, 3), (2, 3))),
        ("iij,jk->ki", ((3, 3, 4), (4, 2))), ("ij,ij,ij->j", ((3, 4), (3, 4), (3, 4))),
        ("abc,cd,a->bd", ((2, 3, 4), (4, 5), (2,))), ("ba", ((2, 3),)),
    ]  # fmt: skip
    found = [
        NetworkCall(
            f"einsum-{text}", lambda *xs, text=text: F.einsum(text, *xs),
            lambda T, *xs, text=text: __import__("torch").einsum(text, *xs), shapes)
        for text, shapes in equations
    ]  # fmt: skip
    found += [
        NetworkCall("kron", F.kron, lambda T, x, y: __import__("torch").kron(x, y),
                    ((2, 3), (4, 2))),
        NetworkCall("kron-3", F.kron, lambda T, x, y: __import__("torch").kron(x, y),
                    ((2,), (3, 1, 2))),
        NetworkCall("trapezoid", F.trapezoid, lambda T, y, x: __import__("torch").trapezoid(y, x),
                    ((3, 4), (4,))),
        NetworkCall("trapezoid-0", lambda y: F.trapezoid(y, dx=0.5, axis=0),
                    lambda T, y: __import__("torch").trapezoid(y, dx=0.5, dim=0), ((3, 4),)),
    ]  # fmt: skip
    ids = np.array([2, 0, 2, 4, 0, 2])
    for name in ("sum", "mean", "max", "min"):
        found.append(NetworkCall(
            f"segment_{name}",
            lambda x, name=name: getattr(F, f"segment_{name}")(x, ids, 5)[np.array([0, 2, 4])],
            lambda T, x, name=name: x.new_zeros(5, 3).index_reduce(
                0, x.new_tensor(ids).long(), x, {"max": "amax", "min": "amin"}[name],
                include_self=False)[[0, 2, 4]] if name in ("max", "min")
            else (x.new_zeros(5, 3).index_add(0, x.new_tensor(ids).long(), x) / (
                1 if name == "sum" else x.new_tensor([2.0, 1, 3, 1, 1])[:, None]))[[0, 2, 4]],
            ((6, 3),),
        ))  # fmt: skip
    return found


CALLS = [*_activations(), *losses(), *classification(), *_norms_and_distances(), *_images(),
         *_pairs(), *_pools(), *_recurrences(), *_bags(), *_formulas()]  # fmt: skip
