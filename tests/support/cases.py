"""Calls of declared ops, as tests make them: the declared example, and variations of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.opdecl.compiler.model import Category, Entry, OpEntry

from .declarations import Array, function_of


@dataclass(frozen=True)
class Case:
    """A call: arrays and attributes."""

    entry: Entry
    inputs: tuple[Array, ...]
    attrs: dict[str, Any] = field(default_factory=dict)

    def call(self, wrap: Any = tl.tensor) -> tuple[Any, ...]:
        """The outputs, given what makes tensor-likes of arrays."""
        out = function_of(self.entry)(*(wrap(x) for x in self.inputs), **self.attrs)
        return out if isinstance(out, tuple) else (out,)

    def __str__(self) -> str:
        shapes = ",".join(str(x.shape).replace(" ", "") for x in self.inputs)
        return f"{self.entry.function}-{shapes}-{self.attrs}"


def _tensors_of_example(entry: Entry, floating: str) -> list[Array]:
    values = dict(entry.example)
    arrays = []
    for arg in entry.args:
        value: Any = values[arg.name]
        for part in value if arg.is_variadic else [value]:
            array = np.asarray(part)
            is_real = arg.category is Category.REAL_FLOATING or array.dtype.kind == "f"
            arrays.append(array.astype(floating) if is_real else array)
    return arrays


def example_case(entry: OpEntry, floating: str = "float32") -> Case:
    """The declared example of an op as a call."""
    values = dict(entry.example)
    attrs = {
        attr.name: tuple(value) if isinstance(value := values[attr.name], list) else value
        for attr in entry.attrs
        if attr.name in values
    }
    return Case(entry, tuple(_tensors_of_example(entry, floating)), attrs)


# More calls of ops whose arguments depend on each other: for each function, shapes and attributes.
# An op that is not named here is tested by its example.
_MORE: dict[str, list[tuple[list[tuple[int, ...]], dict[str, Any]]]] = {
    "reshape": [([(2, 3, 4)], {"shape": (4, -1)}), ([(2, 0)], {"shape": (0, 5)}),
                ([()], {"shape": (1, 1)}), ([(1,)], {"shape": ()})],
    "permute_dims": [([(2, 3, 4)], {"axes": (2, 0, 1)}), ([(2, 0, 3)], {"axes": (-1, 0, 1)}),
                     ([()], {"axes": ()})],
    "broadcast_to": [([(3, 1)], {"shape": (2, 3, 4)}), ([()], {"shape": (2, 0)})],
    "concat": [([(2, 3), (2, 0), (2, 1)], {"axis": -1}), ([(0, 3), (2, 3)], {"axis": 0})],
    "stack": [([(2, 3), (2, 3)], {"axis": -1}), ([(), (), ()], {"axis": 0}),
              ([(0, 2), (0, 2)], {"axis": 1})],
    "split": [([(2, 5)], {"sizes": (2, 0, 3), "axis": -1}), ([(0, 2)], {"sizes": (0, 0)})],
    "matmul": [([(4,), (4,)], {}), ([(2, 3), (3,)], {}), ([(3,), (3, 2)], {}),
               ([(2, 1, 3, 4), (5, 4, 2)], {}), ([(2, 0), (0, 3)], {}), ([(0, 2), (2, 3)], {})],
    "linear": [([(5, 7), (7, 3), (3,)], {"activation": "tanh"}),
               ([(5, 7), (7, 3), ()], {"activation": "gelu"}),
               ([(2, 5, 7), (7, 3), (2, 1, 3)], {"activation": "softplus"}),
               ([(5, 7), (7,), (5,)], {"activation": "elu"}),
               ([(5, 7), (7, 3), (3,)], {"activation": "hardtanh"}),
               ([(2, 5, 7), (7, 3), (3,)], {}), ([(5, 7), (7,), (5,)], {}),
               ([(7,), (7, 3), (1,)], {"activation": "silu"}), ([(2, 0), (0, 3), (3,)], {}),
               ([(0, 2), (2, 3), (3,)], {}), ([(4, 1, 5, 2), (2, 2, 3), (2, 1, 1)], {})],
    "vecdot": [([(3, 4), (4,)], {}), ([(3, 1, 2), (3, 5, 2)], {"axis": 0}), ([(0,), (0,)], {})],
    "softmax": [([(3, 4)], {"axis": 0}), ([(2, 3, 5)], {"axis": -2}), ([(0, 3)], {}),
                ([(2, 1100)], {}), ([(1100, 2)], {"axis": 0})],
    "log_softmax": [([(3, 4)], {"axis": 0}), ([(2, 3, 5)], {"axis": -2}), ([(0, 3)], {}),
                    ([(2, 1100)], {}), ([(1100, 2)], {"axis": 0})],
    "softmax_grad": [([(3, 4), (3, 4)], {"axis": 0}), ([(0, 3), (0, 3)], {}),
                     ([(2, 1100), (2, 1100)], {}), ([(1100, 2), (1100, 2)], {"axis": 0})],
    "log_softmax_grad": [([(3, 4), (3, 4)], {"axis": 0}), ([(2, 3, 5), (2, 3, 5)], {"axis": -2}),
                         ([(2, 1100), (2, 1100)], {})],
    "logsumexp": [([(3, 4)], {}), ([(3, 4, 2)], {"axis": (0, -1)}), ([(2, 1100)], {"axis": -1}),
                  ([(3, 4)], {"axis": 0, "keepdims": True}), ([()], {}), ([(0, 3)], {"axis": 1})],
    "layer_norm": [([(3, 7), (7,), (7,)], {}), ([(2, 3, 4), (3, 4), (3, 1)], {"axes": (1, 2)}),
                   ([(3, 4, 5), (3, 1, 1), ()], {"axes": (0, -1), "eps": 0.5}),
                   ([(2, 3, 4), (3, 4), (4,)], {"axes": (0,)}), ([(0, 3), (3,), (3,)], {}),
                   ([(3, 0), (0,), (0,)], {}), ([(2, 1100), (1100,), (1100,)], {})],
    "layer_norm_grad": [([(40, 7), (7,), (40, 7)], {"sum_axes": (0,)}),
                        ([(4, 3, 5), (3, 1), (4, 3, 5)], {"axes": (0, 2), "sum_axes": (0, 2)}),
                        ([(2, 3, 4), (3, 4), (2, 3, 4)], {"axes": (1, 2), "sum_axes": (0,)}),
                        ([(0, 3), (3,), (0, 3)], {"sum_axes": (0,)}),
                        ([(2, 1100), (1100,), (2, 1100)], {"sum_axes": (-2,)})],
    "rms_norm": [([(3, 7), (7,)], {}), ([(2, 3, 4), (3, 1)], {"axes": (0, 2)}),
                 ([(2, 3, 4), (3, 4)], {"axes": (-2, -1), "eps": 0.5}), ([(0, 3), ()], {}),
                 ([(2, 1100), (1100,)], {})],
    "rms_norm_grad": [([(40, 7), (7,), (40, 7)], {"sum_axes": (0,)}),
                      ([(4, 3, 5), (3, 1), (4, 3, 5)], {"axes": (0, 2), "sum_axes": (0, 2)}),
                      ([(2, 3, 4), (3, 4), (2, 3, 4)], {"axes": (1, 2), "sum_axes": (0,)})],
    "batch_norm": [([(4, 3), (3,), (3,)], {}), ([(2, 3, 4), (3, 1), (3, 1)], {"axes": (0, 2)}),
                   ([(20, 50, 2), (50, 1), ()], {"axes": (0, -1), "eps": 0.5}),
                   ([(3, 4), (4,), (4,)], {"axes": (1,)})],
    "attention": [([(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 3)], {}),
                  ([(3, 5, 4), (3, 5, 4), (3, 5, 4)], {"is_causal": True, "scale": 0.5}),
                  ([(2, 5, 4), (1, 3, 4), (3, 2), (5, 3)], {"is_causal": True}),
                  ([(2, 1, 5, 4), (2, 6, 4), (6, 3), (2, 1, 1, 6)], {"scale": -2.0}),
                  ([(7, 3), (4, 3), (4, 2), (7, 1)], {}), ([(5, 4), (0, 4), (0, 3)], {}),
                  ([(0, 4), (3, 4), (3, 2)], {}), ([(2, 0), (3, 0), (3, 2)], {})],
    "attention_grad": [([(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 3), (2, 3, 5, 3)], {}),
                       ([(2, 5, 4), (1, 3, 4), (3, 2), (2, 5, 2), (5, 3)], {"is_causal": True})],
    "recurrence": [
        *[([(3, 2, 8), (8, 2), (2, 2), (2, 2)], {"cell": "lstm"}),
          ([(4, 1, 12), (12, 3), (1, 3), (1, 3)], {"cell": "lstm", "reverse": True}),
          ([(1, 2, 4), (4, 1), (2, 1), (2, 1)], {"cell": "lstm"}),
          ([(0, 2, 4), (4, 1), (2, 1), (2, 1)], {"cell": "lstm"}),
          ([(2, 0, 4), (4, 1), (0, 1), (0, 1)], {"cell": "lstm"})],
        *[([(3, 2, 6), (6, 2), (2, 2), (6,)], {"cell": "gru"}),
          ([(4, 1, 9), (9, 3), (1, 3), (9,)], {"cell": "gru", "reverse": True}),
          ([(0, 2, 3), (3, 1), (2, 1), (3,)], {"cell": "gru"}),
          ([(2, 0, 3), (3, 1), (0, 1), (3,)], {"cell": "gru"})],
        *[([(3, 2, 4), (4, 4), (2, 4)], {"cell": "tanh"}),
          ([(4, 1, 3), (3, 3), (1, 3)], {"cell": "tanh", "reverse": True}),
          ([(3, 2, 4), (4, 4), (2, 4)], {"cell": "relu"}),
          ([(0, 2, 3), (3, 3), (2, 3)], {"cell": "relu"})]],
    "recurrence_grad": [
        ([(8, 2), (3, 2), *[(4, 3, 2)] * 2, (3, 2), (4, 3, 2), (4, 3, 8), (4, 3, 2)],
         {"cell": "lstm"}),
        ([(8, 2), (1, 2), *[(4, 1, 2)] * 2, (1, 2), (4, 1, 2), (4, 1, 8), (4, 1, 2), (4, 1, 8)],
         {"cell": "lstm", "reverse": True}),
        ([(6, 2), (3, 2), *[(4, 3, 2)] * 2, (4, 3, 8)], {"cell": "gru"}),
        ([(6, 2), (1, 2), *[(4, 1, 2)] * 2, *[(4, 1, 8)] * 2], {"cell": "gru", "reverse": True}),
        ([(2, 2), (3, 2), *[(4, 3, 2)] * 2], {"cell": "tanh"}),
        ([(2, 2), (3, 2), *[(0, 3, 2)] * 2], {"cell": "tanh"}),
        ([(2, 2), (3, 2), *[(4, 3, 2)] * 2], {"cell": "relu", "reverse": True})],
    "dropout": [([(3, 700)], {"p": 0.25, "seed": -3}), ([(5,)], {"p": 0.0}),
                ([(5,)], {"p": 1.0}), ([(0, 3)], {}), ([()], {"seed": 2**63 - 1})],
    "convolution": [
        ([(2, 4, 9), (6, 2, 3), (6,)], {"stride": (2,), "padding": (1,), "groups": 2}),
        ([(2, 3, 5, 4), (2, 3, 3, 2)], {"padding": "same", "dilation": (1, 2)}),
        ([(1, 4, 3, 4, 2), (4, 1, 2, 3, 1)], {"groups": 4, "stride": (1, 2, 1)}),
        ([(0, 2, 3), (1, 2, 2)], {}), ([(2, 0, 3), (2, 0, 2), (2,)], {}),
        ([(2, 3, 4, 4), (2, 3, 4, 4), (2,)], {}), ([(2, 3, 4), (2, 3, 1), (2,)], {})],
    "conv2d": [([(1, 2, 6, 5), (3, 2, 3, 3), (3,)], {"stride": (2, 1), "padding": (1, 2)})],
    "convolution_transpose": [
        ([(2, 4, 4), (4, 3, 3), (6,)],
         {"stride": (3,), "padding": (1,), "output_padding": (2,), "groups": 2}),
        ([(2, 3, 3, 2), (3, 2, 2, 3)], {"dilation": (2, 1), "stride": (1, 2)}),
        ([(1, 4, 2, 3, 2), (4, 1, 2, 3, 1)], {"groups": 4}), ([(0, 2, 3), (2, 1, 2)], {}),
        ([(2, 3, 4), (3, 2, 1), (2,)], {})],
    "convolution_weight": [
        ([(2, 4, 9), (2, 6, 5)], {"kernel": (3,), "stride": (2,), "padding": (1,), "groups": 2}),
        ([(2, 3, 5, 4), (2, 2, 5, 4)], {"kernel": (3, 2), "padding": "same"}),
        ([(2, 3, 5, 4), (2, 3, 2, 4)], {"kernel": (3, 1), "stride": (2, 1), "groups": 3}),
        ([(0, 2, 3), (0, 1, 2)], {"kernel": (2,)}), ([(3, 2, 4), (3, 5, 4)], {"kernel": (1,)})],
    **{f"max_pool{suffix}": [
        ([(2, 3, 7), *more[0]], {"kernel_size": (3,), "stride": (2,), "padding": (1,)}),
        ([(1, 2, 5, 6), *more[1]],
         {"kernel_size": (2, 3), "dilation": (2, 1), "ceil_mode": True, "stride": (2, 2)}),
        ([(1, 1, 5, 4), *more[2]], {"output_size": (2, 3)})]
       for suffix, more in {"": ([], [], []),
                            "_spread": ([(2, 3, 4)], [(1, 2, 2, 3)], [(1, 1, 2, 3)]),
                            "_select": ([(2, 3, 7)], [(1, 2, 5, 6)], [(1, 1, 5, 4)])}.items()},
    "avg_pool": [
        ([(2, 3, 7)], {"kernel_size": (3,), "stride": (2,), "padding": (1,)}),
        ([(1, 2, 5, 6)], {"kernel_size": (2, 3), "ceil_mode": True, "stride": (2, 2)}),
        ([(1, 2, 5, 6)], {"kernel_size": (3, 2), "padding": (1, 1), "count_include_pad": False}),
        ([(1, 1, 5, 4)], {"output_size": (2, 3)}), ([(0, 1, 5)], {"output_size": (2,)})],
    "avg_pool_spread": [
        ([(2, 3, 4)], {"shape": (2, 3, 7), "kernel_size": (3,), "stride": (2,), "padding": (1,)}),
        ([(1, 1, 2, 3)], {"shape": (1, 1, 5, 4), "output_size": (2, 3)})],
    "astype": [([(2, 3)], {"dtype": tl.float32}), ([(2, 3)], {"dtype": tl.float64}),
               ([(2, 0)], {"dtype": tl.int32}), ([(5,)], {"dtype": tl.bool_})],
    "pad": [([(2, 3)], {"widths": (1, 0, 2, 3), "value": 7}),
            ([(2, 3)], {"widths": (1, 1, 2, 0), "mode": "reflect"}),
            ([(2, 3)], {"widths": (3, 5, 0, 7), "mode": "circular"}),
            ([(2, 1, 3)], {"widths": (0, 0, 2, 2, 1, 4), "mode": "edge"}),
            ([()], {"widths": ()}), ([(0, 2)], {"widths": (1, 2, 0, 1)})],
    "sort": [([(3, 4)], {"axis": 0}), ([(2, 3, 5)], {"axis": -2, "descending": True}),
             ([(0, 3)], {}), ([(2, 0)], {}), ([(2, 1100)], {})],
    "argsort": [([(3, 4)], {"axis": 0, "descending": True}), ([(2, 0)], {})],
    "topk": [([(3, 4)], {"k": 2, "axis": 0}), ([(2, 30)], {"k": 3, "largest": False}),
             ([(2, 3)], {"k": 0}), ([(0, 3)], {"k": 1})],
    "scan": [([(3, 4)], {"mode": "cumulative_sum", "axis": 0})],
    **{f"cumulative_{kind}": [
        ([(3, 4)], {"axis": 0}), ([(2, 3)], {"axis": -1, "reverse": True}),
        ([(3, 4)], {"axis": 1, "include_initial": True}), ([(2, 0)], {"axis": 1}),
        ([(2, 3, 5)], {"axis": 0, "include_initial": True, "reverse": True})]
        for kind in ("sum", "prod")},
    **{f"cumulative_{kind}": [  # begins with an infinity, which has no finite differences
        ([(3, 4)], {"axis": 0}), ([(2, 3, 5)], {"axis": -1, "reverse": True}),
        ([(2, 0)], {"axis": 1})]
        for kind in ("max", "min")},
    "logcumsumexp": [([(3, 4)], {"axis": 0}), ([(2, 19)], {"axis": -1, "reverse": True}),
                     ([(2, 0)], {"axis": 1})],
    "var": [([(3, 4)], {"axis": 0}), ([(2, 3, 5)], {"axis": (0, -1), "correction": 1.0}),
            ([(2, 3)], {"keepdims": True}), ([(4, 1)], {"axis": 1})],
    "std": [([(3, 4)], {"axis": 0}), ([(2, 3, 5)], {"axis": (0, -1), "correction": 1.0}),
            ([(2, 3)], {"keepdims": True})],
    "fourier_transform": [
        ([(3, 5)], {"axes": (1,), "kind": "c2r", "n": 9}),
        ([(2, 3, 4)], {"axes": (0, 2, 1), "kind": "c2r", "n": 4, "inverse": True, "scale": 0.25}),
        ([(3, 1)], {"axes": (-1,), "kind": "c2r", "n": 1}),
        ([(0, 3)], {"axes": (1,), "kind": "c2r", "n": 5})],
    "random_draw": [([], {"shape": (3, 500), "key": -3, "counter": 2**32 - 1, "dtype": tl.float64}),
                    ([], {"shape": (7,), "mode": "bits", "key": 2**63 - 1}),
                    ([], {"shape": (3, 700), "mode": "orders", "key": 9}),
                    ([], {"shape": (4, 0), "mode": "orders"}),
                    ([], {"shape": (0, 2)}), ([], {"shape": (), "key": 5})],
    "random_from": [([()], {"mode": "poisson"}), ([(0, 3)], {"mode": "poisson"})],
    "qr": [([(2, 4, 3)], {}), ([(3, 5)], {}), ([(3, 3)], {"mode": "complete"}), ([(0, 2)], {})],
    "svd": [([(4, 3)], {"full_matrices": False}), ([(2, 3, 4)], {"full_matrices": False}),
            ([(3, 0)], {"full_matrices": False})],
    "svdvals": [([(2, 4, 3)], {}), ([(3, 3)], {})],
    **{name: [([(2, 3, 3)], {}), ([(0, 2, 2)], {}), ([(1, 1)], {})]
       for name in ("eigh", "eigvalsh", "eig", "eigvals", "det", "slogdet", "cofactor", "inv",
                    "matrix_exp")},
    "lu_factors": [([(5, 3)], {}), ([(2, 3, 5)], {})],
    "solve": [([(2, 1, 3, 3), (2, 3, 2)], {}), ([(2, 3, 3), (3,)], {})],
    "solve_triangular": [
        ([(3, 3), (2, 3, 2)], {"upper": False, "unitriangular": True}),
        ([(2, 3, 3), (2, 3)], {"upper": True, "left": False})],
    "lstsq": [([(4, 3), (4, 2)], {}), ([(2, 3, 4), (3,)], {}), ([(3, 3), (2, 3, 1)], {})],
    "to_device": [([(2, 3)], {"device": "cpu"}), ([()], {"device": "cpu"})],
}  # fmt: skip
_INDEXED: dict[str, list[tuple[list[tuple[int, ...]], tuple[int, ...]]]] = {
    "gather": [([(3, 4)], (0,)), ([(3, 4, 2)], (2, 0)), ([(3, 4)], (-2, -1))],
    "scatter_set": [([(3, 4), (2, 4)], (0,)), ([(3, 4, 2), (2, 4)], (2, 0))],
    "scatter_add": [([(3, 4), (2, 4)], (0,)), ([(3, 4, 2), (2, 4)], (2, 0))],
}


def cases_of(entry: OpEntry, floating: str = "float32") -> list[Case]:
    """Calls of an op: its example, and more where the tables above have them."""
    rng = np.random.default_rng(len(entry.function))
    cases = [example_case(entry, floating)] if entry.example else []
    for shapes, attrs in _MORE.get(entry.function, []):
        arrays = tuple(np.asarray(rng.normal(size=shape), dtype=floating) for shape in shapes)
        cases.append(Case(entry, arrays, attrs))
    for shapes, axes in _INDEXED.get(entry.function, []):
        arrays = tuple(np.asarray(rng.normal(size=shape), dtype=floating) for shape in shapes)
        # Distinct places, so that it does not matter which of two equal indices wins.
        sizes = [shapes[0][axis] for axis in axes]
        indices = tuple(rng.permutation(size)[:2] for size in sizes)
        cases.append(Case(entry, (*arrays, *indices), {"axes": axes}))
    if entry.function.startswith("cross_entropy"):
        for shape in [(5, 3), (2, 3, 4), (3,), (2, 500)]:
            labels = np.asarray(rng.integers(0, shape[-1], shape[:-1]))
            logits = np.asarray(rng.normal(size=shape), dtype=floating)
            rest = [np.asarray(rng.normal(size=shape[:-1]), dtype=floating)] * (len(entry.args) - 2)
            cases.append(Case(entry, (logits, labels, *rest)))
            ignored = int(labels.flat[0])
            # The mean of no rows is NaN, and has no slope.
            if entry.function != "cross_entropy_mean" or (labels != ignored).any():
                cases.append(Case(entry, (logits, labels, *rest), {"ignore_index": ignored}))
    if entry.function.startswith("ctc"):
        cases += _alignments(entry, floating, rng)
    if entry.function == "dynamic_quantized_lstm":
        cases += _recurrences_of_bytes(entry, floating, rng)
    return cases


def _alignments(entry: OpEntry, floating: str, rng: np.random.Generator) -> Iterator[Case]:
    """Label sequences of several lengths, repeated labels and empty ones among them."""
    labels = np.array([[1, 1, 2], [2, 0, 0], [0, 0, 0], [3, 2, 3]])
    sizes = [(6, 4, 0, [6, 3, 4, 6]), (5, 3, 3, [5, 2, 1]), (7, 1, 0, [7]), (3, 0, 0, [])]
    for steps, count, blank, inputs in sizes:
        x = np.asarray(rng.normal(size=(steps, count, 4)), dtype=floating)
        rows = np.where(labels == blank, (blank + 1) % 4, labels)[:count]
        lengths = np.array([3, 1, 0, 3][:count], dtype=np.int64)
        arrays = [x, rows, np.array(inputs, dtype=np.int64), lengths]
        if entry.function == "ctc_grad":
            arrays.append(np.asarray(rng.normal(size=count), dtype=floating))
        yield Case(entry, tuple(arrays), {"blank": blank})


def _recurrences_of_bytes(
    entry: OpEntry, floating: str, rng: np.random.Generator
) -> Iterator[Case]:
    """Weights of all integers, with one scale and zero point or one for each row."""
    sizes = [(3, 2, 2), (4, 1, 3), (5, 3, 17), (1, 2, 1), (0, 2, 1), (2, 0, 1), (2, 2, 0)]
    for dtype in ("int8", "uint8", "int32"):
        low, high = (-128, 128) if dtype == "int8" else (0, 256)
        for i, (steps, count, size) in enumerate(sizes):
            gates = 4 * size
            scales, zeros = ((gates,), ()) if i % 2 else ((), (gates,))
            shapes = [(steps, count, gates), (count, size), (count, size)]
            sums, hidden, cell = (np.asarray(rng.normal(size=s), dtype=floating) for s in shapes)
            arrays = [
                sums, rng.integers(low, high, (gates, size)).astype(dtype),
                np.asarray(rng.uniform(0.001, 0.01, scales), dtype=floating),
                rng.integers(low // 8, high // 8, zeros).astype(dtype), hidden, cell,
                np.asarray(rng.integers(0, steps + 2, () if i % 3 else (count,))),
            ]  # fmt: skip
            yield Case(entry, tuple(arrays), {"reverse": bool(i % 2)})


# Their `items` are an encoding; the tests of indexing cover them through the brackets.
TESTED_BY_INDEXING = ("subtensor", "set_subtensor")
