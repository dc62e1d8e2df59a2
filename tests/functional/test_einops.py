"""einops works on tensors, through a backend that a program registers once."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl

einops = pytest.importorskip("einops")

X = np.arange(24.0).reshape(2, 3, 4)


def test_the_array_api_face_of_einops_takes_tensors() -> None:
    from einops.array_api import pack, rearrange, reduce, repeat, unpack

    x = tl.tensor(X)
    for ours, theirs in (
        (rearrange(x, "a b c -> c (b a)"), einops.rearrange(X, "a b c -> c (b a)")),
        (rearrange(x, "a (b one) c -> a b one c", one=1), X[:, :, None]),
        (reduce(x, "a b c -> b", "sum"), einops.reduce(X, "a b c -> b", "sum")),
        (reduce(x, "a b (c d) -> a c", "mean", d=2), X.reshape(2, 3, 2, 2).mean((1, 3))),
        (repeat(x, "a b c -> a (b twice) c", twice=2), np.repeat(X, 2, axis=1)),
    ):
        assert isinstance(ours, tl.Tensor)
        np.testing.assert_array_equal(ours, theirs)
    packed, shapes = pack([x, x[:, 0]], "a * c")
    parts = unpack(packed, shapes, "a * c")
    assert [part.shape for part in parts] == [(2, 3, 4), (2, 4)]


def test_gradients_flow_through_einops() -> None:
    from einops.array_api import rearrange

    weight = np.arange(24.0).reshape(4, 6)
    gradient = tl.grad(lambda x: (rearrange(x, "a b c -> c (b a)") * weight).sum())(tl.tensor(X))
    wanted = einops.rearrange(weight, "c (b a) -> a b c", a=2)
    np.testing.assert_array_equal(gradient, wanted)


def test_einops_takes_tensors_where_a_program_names_a_backend() -> None:
    """The other face knows its backends by name; a class of a few lines is one."""
    from einops._backends import AbstractBackend

    class Backend(AbstractBackend):  # type: ignore[misc]
        framework_name = "tensorlike"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, tl.Tensor)

        def add_axis(self, x: tl.Tensor, new_position: int) -> tl.Tensor:
            return x.expand_dims(new_position)

        def tile(self, x: tl.Tensor, repeats: tuple[int, ...]) -> tl.Tensor:
            return x.tile(repeats)

        def concat(self, tensors: list[tl.Tensor], axis: int) -> tl.Tensor:
            return tl.concat(tensors, axis=axis)

        def stack_on_zeroth_dimension(self, tensors: list[tl.Tensor]) -> tl.Tensor:
            return tl.stack(tensors)

        def is_float_type(self, x: tl.Tensor) -> bool:
            return x.is_floating_point()

        def einsum(self, pattern: str, *x: tl.Tensor) -> tl.Tensor:
            return tl.functional.einsum(pattern, *x)

    x = tl.tensor(X, requires_grad=True)
    y = einops.repeat(einops.reduce(x, "a b c -> c a", "mean"), "c a -> (c k) a", k=2)
    np.testing.assert_allclose(y.detach(), np.repeat(X.mean(1).T, 2, axis=0), rtol=1e-6)
    y.sum().backward()
    np.testing.assert_allclose(x.grad, np.full(X.shape, 2 / 3), rtol=1e-6)
    product = einops.einsum(x, x, "a b c, a b d -> a c d")
    np.testing.assert_allclose(product.detach(), np.einsum("abc,abd->acd", X, X), rtol=1e-6)
