"""Losses, as tables of calls."""

from __future__ import annotations

import numpy as np

from support.network_call import NetworkCall, integers, signs
from tensorlike import functional as F

REDUCTIONS = ("mean", "sum", "none")
LABELS = integers(0, 5, (7,))
IGNORED = np.where(np.arange(7) % 3 == 0, -100, LABELS)
# Labels end before the first -1: all classes, none, some, and what looks like more behind it.
SETS = np.array([[4, 0, 1, 2, 3], [-1, 2, 0, 1, 1], [3, 1, -1, -1, -1], [0, -1, 2, -1, 4]])
PLANES = integers(0, 4, (2, 3, 2))


def losses() -> list[NetworkCall]:
    found = []
    for reduction in REDUCTIONS:
        for name, attrs in [
            ("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {"beta": 0.5}),
            ("huber_loss", {"delta": 0.7}), ("poisson_nll_loss", {}),
        ]:  # fmt: skip
            given = {**attrs, "reduction": reduction}
            found.append(NetworkCall(
                f"{name}-{reduction}",
                lambda x, t, name=name, given=given: getattr(F, name)(x, t, **given),
                lambda T, x, t, name=name, given=given: getattr(T, name)(x, t, **given),
                ((5, 7), (5, 7)),
            ))  # fmt: skip
        for name, attrs, shapes in [
            ("binary_cross_entropy", {}, ((5, 7), (5, 7))),
            ("kl_div", {}, ((5, 7), (5, 7))),
            ("kl_div", {"log_target": True}, ((5, 7), (5, 7))),
            ("gaussian_nll_loss", {"full": True}, ((5, 7), (5, 7), (5, 7))),
            ("poisson_nll_loss", {"log_input": False}, ((5, 7), (5, 7))),
        ]:
            given = {**attrs, "reduction": reduction}
            found.append(NetworkCall(
                f"{name}-{len(shapes)}-{given}",
                lambda *xs, name=name, given=given: getattr(F, name)(*xs, **given),
                lambda T, *xs, name=name, given=given: getattr(T, name)(*xs, **given),
                shapes, positive=True,
            ))  # fmt: skip
        found += _margins(reduction)
    found.append(
        NetworkCall(
            "binary_cross_entropy-weight",
            F.binary_cross_entropy,
            lambda T, x, t, w: T.binary_cross_entropy(x, t, w.detach()),
            ((5, 7), (5, 7), (5, 7)),
            positive=True,
        )
    )
    found.append(NetworkCall(
        "kl_div-batchmean", lambda x, t: F.kl_div(x, t, reduction="batchmean"),
        lambda T, x, t: T.kl_div(x, t, reduction="batchmean"), ((5, 7), (5, 7)), positive=True,
    ))  # fmt: skip
    found.append(NetworkCall(
        "poisson_nll_loss-full",
        lambda x: F.poisson_nll_loss(x, np.arange(7.0), full=True),
        lambda T, x: T.poisson_nll_loss(x, x.new_tensor(np.arange(7.0)), full=True), ((7,),),
    ))  # fmt: skip
    found.append(NetworkCall(
        "binary_cross_entropy_with_logits",
        lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w, p),
        lambda T, x, t, w, p: T.binary_cross_entropy_with_logits(
                x, t, w.detach(), pos_weight=p.detach()
            ),
        ((5, 7), (5, 7), (5, 7), (7,)),
    ))  # fmt: skip
    return found


def _margins(reduction: str) -> list[NetworkCall]:
    given = {"reduction": reduction}
    sides = signs((5,))
    return [
        NetworkCall(
            f"soft_margin_loss-{reduction}",
            lambda x: F.soft_margin_loss(x, sides, **given),
            lambda T, x: T.soft_margin_loss(x, x.new_tensor(sides), **given), ((5,),),
        ),
        NetworkCall(
            f"multilabel_soft_margin_loss-{reduction}",
            lambda x, t, w: F.multilabel_soft_margin_loss(x, t, w, **given),
            lambda T, x, t, w: T.multilabel_soft_margin_loss(x, t, w, **given),
            ((5, 7), (5, 7), (7,)),
        ),
        NetworkCall(
            f"hinge_embedding_loss-{reduction}",
            lambda x: F.hinge_embedding_loss(x, sides, margin=0.7, **given),
            lambda T, x: T.hinge_embedding_loss(x, x.new_tensor(sides), margin=0.7, **given),
            ((5,),),
        ),
        NetworkCall(
            f"margin_ranking_loss-{reduction}",
            lambda x, y: F.margin_ranking_loss(x, y, sides, margin=0.3, **given),
            lambda T, x, y: T.margin_ranking_loss(x, y, x.new_tensor(sides), margin=0.3, **given),
            ((5,), (5,)),
        ),
        NetworkCall(
            f"multi_margin_loss-{reduction}",
            lambda x, w: F.multi_margin_loss(x, LABELS, w, p=2, margin=0.8, **given),
            lambda T, x, w: T.multi_margin_loss(
                x, x.new_tensor(LABELS).long(), p=2, margin=0.8, weight=w.detach(), **given),
            ((7, 5), np.full(5, 0.5)),
        ),
        NetworkCall(
            f"multilabel_margin_loss-{reduction}",
            lambda x: F.multilabel_margin_loss(x, SETS, **given),
            lambda T, x: T.multilabel_margin_loss(x, x.new_tensor(SETS).long(), **given),
            ((4, 5),),
        ),
        NetworkCall(
            f"triplet_margin_loss-{reduction}",
            lambda *xs: F.triplet_margin_loss(*xs, swap=True, **given),
            lambda T, *xs: T.triplet_margin_loss(*xs, swap=True, **given),
            ((5, 7), (5, 7), (5, 7)),
        ),
        NetworkCall(
            f"cosine_embedding_loss-{reduction}",
            lambda x, y: F.cosine_embedding_loss(x, y, sides, margin=0.1, **given),
            lambda T, x, y: T.cosine_embedding_loss(
                x, y, x.new_tensor(sides), margin=0.1, **given),
            ((5, 7), (5, 7)),
        ),
    ]  # fmt: skip


def classification() -> list[NetworkCall]:
    found = []
    weight = np.array([0.5, 1.0, 2.0, 0.25, 1.5])
    for reduction in REDUCTIONS:
        for smoothing in (0.0, 0.2):
            for labels in (LABELS, IGNORED):
                for with_weight in (False, True):
                    given = {"reduction": reduction, "label_smoothing": smoothing}
                    found.append(NetworkCall(
                        f"cross_entropy-{given}-{with_weight}-{labels.min()}",
                        lambda x, given=given, labels=labels, w=with_weight: F.cross_entropy(
                            x, labels, weight if w else None, **given),
                        lambda T, x, given=given, labels=labels, w=with_weight: T.cross_entropy(
                            x, x.new_tensor(labels).long(), x.new_tensor(weight) if w else None,
                            **given),
                        ((7, 5),),
                    ))  # fmt: skip
        given = {"reduction": reduction}
        found += [
            NetworkCall(
                f"cross_entropy-planes-{reduction}",
                lambda x, given=given: F.cross_entropy(
                    x, PLANES, axis=1, ignore_index=2, label_smoothing=0.1, **given),
                lambda T, x, given=given: T.cross_entropy(
                    x, x.new_tensor(PLANES).long(), ignore_index=2, label_smoothing=0.1, **given),
                ((2, 4, 3, 2),),
            ),
            NetworkCall(
                f"nll_loss-{reduction}",
                lambda x, w, given=given: F.nll_loss(x, PLANES, w, axis=1, **given),
                lambda T, x, w, given=given: T.nll_loss(
                    x, x.new_tensor(PLANES).long(), w.detach(), **given),
                ((2, 4, 3, 2), np.array([0.5, 1.0, 2.0, 0.25])),
            ),
        ]  # fmt: skip
        if reduction != "none":
            found.append(NetworkCall(
                f"cross_entropy-soft-{reduction}",
                lambda x, t, w, given=given: F.cross_entropy(
                    x, t, w, label_smoothing=0.3, **given),
                lambda T, x, t, w, given=given: T.cross_entropy(
                    x, t, w.detach(), label_smoothing=0.3, **given),
                ((7, 5), (7, 5), weight),
            ))  # fmt: skip
        found += _ctc(reduction)
    return found


def _ctc(reduction: str) -> list[NetworkCall]:
    given = {"reduction": reduction, "zero_infinity": True}
    targets = integers(1, 4, (3, 4))
    inputs, lengths = np.array([9, 5, 7]), np.array([3, 4, 0])
    joined = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
    return [
        NetworkCall(
            f"ctc_loss-{kind}-{reduction}",
            lambda x, labels=labels: F.ctc_loss(
                F.log_softmax(x), labels, inputs, lengths, **given),
            lambda T, x, labels=labels: T.ctc_loss(
                T.log_softmax(x, -1), x.new_tensor(labels).long(), tuple(inputs.tolist()),
                tuple(lengths.tolist()), **given),
            ((9, 3, 4),),
        )
        for kind, labels in (("rows", targets), ("joined", joined))
    ]  # fmt: skip
