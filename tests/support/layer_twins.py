"""Layers that PyTorch has under the same names, with inputs to try them on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

SEQUENCE, IMAGE, VOLUME = (2, 4, 6), (2, 4, 6, 4), (1, 4, 4, 2, 6)
LABELS = np.array([1, 0, 3, 2, 2])
SIGNS = np.array([1.0, -1.0, -1.0, 1.0, 1.0])
SETS = LABELS[:, None] * [[1, 0, 0, 0]] - [[0, 1, 1, 1]]  # one label for each row
PROBABILITIES = np.random.default_rng(7).uniform(0.1, 0.9, (5, 4))


@dataclass(frozen=True, eq=False)
class Twin:
    """A layer of both libraries: arguments, shapes of normal inputs, and constant ones."""

    name: str
    args: tuple[Any, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ((5, 4),)
    constants: tuple[Any, ...] = ()
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    is_positive: bool = False

    def __str__(self) -> str:
        return f"{self.name}{self.args}-{len(self.shapes[0])}"


def _activations() -> list[Twin]:
    plain = (
        "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU "
        "ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"
    )
    given = [
        ("CELU", (0.5,)), ("ELU", (0.5,)), ("GELU", ()), ("Hardshrink", (0.2,)),
        ("Hardtanh", (-0.3, 0.7)), ("LeakyReLU", (0.2,)), ("PReLU", (4,)), ("Softplus", (2.0,)),
        ("Softshrink", (0.2,)), ("Threshold", (0.1, 3.0)),
    ]  # fmt: skip
    found = [Twin(name) for name in plain.split()] + [Twin(*pair) for pair in given]
    for name in ("Softmax", "LogSoftmax", "Softmin", "GLU"):
        found.append(Twin(name, theirs={"dim": -1}))
    found.append(Twin("GELU", ours={"approximate": "tanh"}, theirs={"approximate": "tanh"}))
    return found


def _losses() -> list[Twin]:
    pair = ((5, 4), (5, 4))
    found = [Twin(name, shapes=pair) for name in
             ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss")]  # fmt: skip
    found += [Twin(name, constants=(LABELS,)) for name in
              ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")]  # fmt: skip
    weight = np.array([0.5, 1.0, 2.0, 0.25])
    found += [
        Twin("BCELoss", constants=(PROBABILITIES,), is_positive=True),
        Twin("BCEWithLogitsLoss", constants=(PROBABILITIES,)),
        Twin("KLDivLoss", constants=(PROBABILITIES,), ours={"reduction": "batchmean"},
             theirs={"reduction": "batchmean"}),
        Twin("GaussianNLLLoss", shapes=(*pair, (5, 4)), is_positive=True),
        Twin("CrossEntropyLoss", constants=(LABELS,), ours={"weight": weight},
             theirs={"weight": weight}),
        Twin("HingeEmbeddingLoss", (0.7,), ((5,),), (SIGNS,)),
        Twin("SoftMarginLoss", (), ((5,),), (SIGNS,)),
        Twin("MarginRankingLoss", (0.3,), ((5,), (5,)), (SIGNS,)),
        Twin("CosineEmbeddingLoss", (0.1,), pair, (SIGNS,)),
        Twin("TripletMarginLoss", (), (*pair, (5, 4))),
        Twin("MultiLabelMarginLoss", (), constants=(SETS,)),
        Twin("MultiLabelSoftMarginLoss", constants=(np.round(PROBABILITIES),)),
    ]  # fmt: skip
    return found


def _others() -> list[Twin]:
    found = []
    for n, shape in ((1, SEQUENCE), (2, IMAGE), (3, VOLUME)):
        found += [Twin(f"{kind}Pad{n}d", (1,), (shape,)) for kind in
                  ("Zero", "Replication", "Reflection", "Circular")]  # fmt: skip
        sides = tuple(range(2 * n))
        found += [Twin(f"ConstantPad{n}d", (sides, 2.5), (shape,))]
        found += [Twin(f"InstanceNorm{n}d", (4,), (shape,)), Twin(f"BatchNorm{n}d", (4,), (shape,))]
        affine = {"affine": True}
        found += [Twin(f"InstanceNorm{n}d", (4,), (shape,), ours=affine, theirs=affine)]
        kept = {"affine": True, "track_running_stats": True, "momentum": 0.3}
        found += [Twin(f"InstanceNorm{n}d", (4,), (shape,), ours=kept, theirs=kept)]
        found += [Twin("GroupNorm", (2, 4), (shape,)), Twin("LocalResponseNorm", (3,), (shape,))]
        found += [Twin("Upsample", (None, 2.0), (shape,))]
    found += [
        Twin("PixelShuffle", (2,), (IMAGE,)), Twin("PixelUnshuffle", (2,), (IMAGE,)),
        Twin("ChannelShuffle", (2,), (IMAGE,)), Twin("Unfold", (2,), (IMAGE,)),
        Twin("Fold", ((3, 4), 2), ((2, 8, 6),)), Twin("LayerNorm", (4,)),
        Twin("RMSNorm", (4, 1e-5)), Twin("Identity"), Twin("Flatten", (), (IMAGE,)),
        Twin("Flatten", (0, 1), (IMAGE,)),
        Twin("Bilinear", (4, 3, 2), ((2, 5, 4), (2, 5, 3))),
        Twin("Bilinear", (4, 3, 2, False), ((5, 4), (5, 3))),
        Twin("LSTMCell", (4, 3)), Twin("GRUCell", (4, 3)), Twin("RNNCell", (4, 3)),
        Twin("RNNCell", (4, 3), ours={"nonlinearity": "relu"}, theirs={"nonlinearity": "relu"}),
    ]  # fmt: skip
    for name in ("LSTM", "GRU", "RNN"):
        both = {"bidirectional": True, "batch_first": True}
        found.append(Twin(name, (4, 3), ((2, 4, 4),)))
        found.append(Twin(name, (4, 3, 2), ((2, 4, 4),), ours=both, theirs=both))
    return found


TWINS = [*_activations(), *_losses(), *_others()]
