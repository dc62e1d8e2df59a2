"""Fourier transforms in ONNX models: complex numbers between real inputs and real results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.exported_models import check_known, check_unknown

import tensorlike as tl
import tensorlike.functional as F
from tensorlike.export import onnx

fft = F.fft
KERNEL = tl.tensor([1.0, 2.0, 3.0])
CALLS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "of one dimension": (lambda x: F.abs(fft.fft(x)), (7,)),
    "of several": (lambda x: F.real(fft.fftn(x)), (3, 5, 4)),
    "of real numbers": (lambda x: F.imag(fft.rfftn(x)), (3, 5, 4)),
    "back": (lambda x: F.real(fft.ifft(fft.fft(x) / 3.0)), (2, 7)),
    "back to an even size": (lambda x: fft.irfft(fft.rfft(x) * fft.rfft(x)), (3, 8)),
    "back to an odd size": (lambda x: fft.irfft(fft.rfft(x), n=9), (3, 9)),
    "back of several": (lambda x: fft.irfftn(fft.rfftn(x) * 2.0, s=x.shape), (3, 5, 4)),
    "of half spectra": (lambda x: fft.hfft(fft.ihfft(x)), (2, 8)),
    "with a norm": (lambda x: F.abs(fft.rfft(x, norm="ortho")), (3, 8)),
    "of other sizes": (lambda x: F.abs(fft.rfft(x, n=12)), (3, 8)),
    "along another axis": (lambda x: F.abs(fft.rfft(x, axis=0)), (6, 3)),
    "convolution": (lambda x: fft.irfft(fft.rfft(x, n=16) * fft.rfft(KERNEL, n=16), n=16), (3, 8)),
    "power": (lambda x: F.real(fft.fft(x) * F.conj(fft.fft(x))), (3, 8)),
    "spectrogram": (lambda x: F.abs(F.stft(x, 64)), (400,)),
    "what moves": (lambda x: F.abs(F.permute_dims(fft.rfft(x), (1, 0))[1:]), (3, 8)),
    "sums": (lambda x: F.imag(F.sum(fft.rfft(x) - x[:, :5], axis=0)), (3, 8)),
    "joined": (lambda x: F.imag(F.concat([fft.rfft(x), F.complex(x, -x)], axis=1)), (3, 8)),
    "of float64": (lambda x: F.abs(fft.rfft(F.astype(x, "float64"))), (3, 8)),
}  # fmt: skip


@pytest.mark.parametrize("opset", [18, 21, 26])
@pytest.mark.parametrize("name", CALLS)
def test_a_transform_is_in_onnx_runtime_what_it_is_here(name: str, opset: int) -> None:
    call, shape = CALLS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    model = check_known(call, [x], opset)
    assert "DFT" in {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("name", ["of real numbers", "back", "convolution", "power"])
def test_a_transform_is_so_at_every_size_of_the_batch(name: str) -> None:
    call, shape = CALLS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    assert check_unknown(lambda x: call(x[None] if x.ndim == 1 else x), [x])


def test_absolute_values_of_large_numbers_do_not_overflow() -> None:
    x = np.array([[3e30, 0.0], [4e30, 0.0]], np.float32)
    check_known(lambda x: F.abs(F.complex(x[0], x[1])), [x])


COMPLEX = {
    "an exponential": lambda x: F.abs(F.exp(fft.rfft(x))),
    "a complex divisor": lambda x: F.abs(1.0 / fft.rfft(x)),
    "a complex result": fft.rfft,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_what_else_is_complex_is_refused_by_name(name: str) -> None:
    with pytest.raises(tl.ArgumentError, match="complex"):
        onnx.to_model(COMPLEX[name], inputs={"x": (3, 8)})


def test_complex_inputs_are_refused() -> None:
    with pytest.raises(tl.ArgumentError, match="input x: ONNX has no ops for complex64"):
        onnx.to_model(F.abs, inputs={"x": ((3,), "complex64")})
