"""Optimisers: each step is one fused program per parameter, declared in opdecl/optimizer.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .. import functional as F
from ..imperative import (
    ArgumentError,
    Parameter,
    ParameterError,
    Tensor,
    TensorBase,
    replace,
    stop_gradient,
)
from ..imperative.naming import named_class
from ..imperative.state import check_state, loaded, saved, set_all

# A setting: a number, or a tensor of one element, by which a step can be differentiated.
Number = float | TensorBase


class Optimizer:
    """What optimisers share: the parameters, and their gradients.

    Args:
        parameters: tensors that require_grad.
        lr: the learning rate, positive; may be changed between steps. It and the other settings may
            be tensors: a transform differentiates the steps by them.

    Raises:
        ValueError: no parameters, one that requires no gradient, or a number out of range.
        TypeError: parameters are no iterable of tensors.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Errors of the constructors of this package name the class."""
        super().__init_subclass__(**kwargs)
        if cls.__module__ == __name__:
            named_class(cls)

    def __init__(self, parameters: Iterable[Tensor], lr: Number) -> None:
        """Keeps the parameters."""
        name = type(self).__name__
        if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
            got = type(parameters).__name__
            raise ParameterError("parameters must be an iterable of tensors", op=name, got=f"{got}")
        self.parameters = list(parameters)
        if not self.parameters:
            raise ArgumentError("there must be parameters", op=name, got="none")
        for parameter in self.parameters:
            if not isinstance(parameter, Tensor):
                got = type(parameter).__name__  # type: ignore[unreachable]
                raise ParameterError("parameters must be tensors", op=name, got=f"{got}")
            if not isinstance(parameter, Parameter) and not parameter.requires_grad:
                raise ArgumentError("parameters must require_grad", op=name)
        _check(type(self).__name__, "lr", lr, lambda rate: rate > 0, "positive")
        self.lr = lr

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        """Moves every parameter that has a gradient."""
        for index, parameter in enumerate(self.parameters):
            gradient = parameter.grad
            if gradient is not None:
                self._update(index, parameter, gradient)

    def state_dict(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the state and of the learning rate, as `safetensors.numpy` saves them.

        With the parameters' own, it is all that a run needs to go on as if it had not stopped.

        Example:
            >>> import tensorlike as tl
            >>> optimizer = tl.optim.Adam([tl.Parameter([1.0])])
            >>> sorted(optimizer.state_dict())
            ['first.0', 'lr', 'second.0', 'steps.0']
        """
        state = {"lr": np.array(stop_gradient(self.lr), np.float64)}
        for name, values in self._state().items():
            for index, value in enumerate(values):
                array = np.array(value) if isinstance(value, int) else saved(value)
                state[f"{name}.{index}"] = array
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, of the same optimiser over parameters of the same shapes.

        Args:
            state: what `state_dict` returned, or the same loaded from a file.

        Raises:
            TypeError: the state is no mapping from names.
            KeyError: names are missing or unknown; nothing is set then, as with all errors.
            ShapeError: a shape differs.
            DTypeError: what is no number, or numbers of a kind that cannot be held.
            ValueError: a number is beyond what can be held, or one that there cannot be.
        """
        check_state(state)
        own = self.state_dict()
        missing = [name for name in own if name not in state]
        unknown = [name for name in state if name not in own]
        if missing or unknown:
            raise KeyError(
                f"load_state_dict: names must match; missing {missing}, unknown {unknown}"
            )
        made = {name: loaded(name, state[name], Tensor(value)) for name, value in own.items()}
        lr = float(made["lr"].item())
        _check("load_state_dict", "lr", lr, lambda r: 0 < r < float("inf"), "positive and finite")
        pairs, counts = [], []
        for name, values in self._state().items():
            for index, value in enumerate(values):
                new = made[f"{name}.{index}"]
                if not isinstance(value, int):
                    pairs.append((value, new))
                    continue
                count = int(new.item())
                _check(
                    "load_state_dict", f"{name}.{index}", count, lambda n: n >= 0, "not negative"
                )
                counts.append((values, index, count))
        set_all(pairs)
        self.lr = lr
        for values, index, count in counts:
            values[index] = count

    def _state(self) -> dict[str, list[Any]]:
        """Tensors and counts, a list with an item for each parameter under each name."""
        return {}

    def _update(self, index: int, parameter: Tensor, gradient: Tensor) -> None:
        raise ParameterError("an optimiser must define _update()", op=type(self).__name__)


class SGD(Optimizer):
    """Gradient descent: ``p -= lr * g``; with momentum ``m = momentum * m + g; p -= lr * m``.

    Args:
        parameters: tensors that require_grad.
        lr: the learning rate.
        momentum: in [0, 1).

    Example:
        >>> import tensorlike as tl
        >>> p = tl.Parameter([1.0])
        >>> (p * p).sum().backward()
        >>> tl.optim.SGD([p], lr=0.25).step()
        >>> p.tolist()
        [0.5]
    """

    def __init__(self, parameters: Iterable[Tensor], lr: Number, *, momentum: Number = 0.0) -> None:
        """Makes the state."""
        super().__init__(parameters, lr)
        _check("SGD", "momentum", momentum, _is_rate, "in [0, 1)")
        self.momentum = momentum
        self._velocity = [_zeros_like(p) for p in self.parameters] if _is_used(momentum) else []

    def _state(self) -> dict[str, list[Any]]:
        return {"velocity": self._velocity}

    def _update(self, index: int, parameter: Tensor, gradient: Tensor) -> None:
        if self._velocity:
            velocity = self._velocity[index]
            targets = (parameter, velocity)
            replace(targets, "momentum_step", parameter, gradient, velocity, self.lr, self.momentum)
        else:
            replace((parameter,), "sgd_step", parameter, gradient, self.lr)


class Adam(Optimizer):
    """Adam, with bias correction; `decay` is AdamW's, decoupled from the gradient.

    Args:
        parameters: tensors that require_grad.
        lr: the learning rate.
        betas: the rates of both moving averages, each in [0, 1).
        eps: what keeps the division finite, positive.
        decay: the weight decay, not negative.

    Source:
        Kingma and Ba 2014, https://arxiv.org/abs/1412.6980; Loshchilov and Hutter 2017,
        https://arxiv.org/abs/1711.05101.

    Example:
        >>> import tensorlike as tl
        >>> p = tl.Parameter([1.0])
        >>> (p * p).sum().backward()
        >>> tl.optim.Adam([p], lr=0.5).step()
        >>> round(p.item(), 3)
        0.5
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: Number = 1e-3,
        *,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        decay: Number = 0.0,
    ) -> None:
        """Makes the state."""
        super().__init__(parameters, lr)
        for beta in betas:
            _check("Adam", "betas", beta, _is_rate, "in [0, 1)")
        _check("Adam", "eps", eps, lambda number: number > 0, "positive")
        _check("Adam", "decay", decay, lambda number: number >= 0, "not negative")
        self.betas = betas
        self.eps = eps
        self.decay = decay
        self._steps = [0] * len(self.parameters)
        self._first = [_zeros_like(p) for p in self.parameters]
        self._second = [_zeros_like(p) for p in self.parameters]

    def _state(self) -> dict[str, list[Any]]:
        return {"steps": self._steps, "first": self._first, "second": self._second}

    def _update(self, index: int, parameter: Tensor, gradient: Tensor) -> None:
        self._steps[index] += 1
        t = self._steps[index]
        corrections = [1 / (1 - beta**t) for beta in self.betas]
        state = (self._first[index], self._second[index])
        # Subtracted here, in Python's precision: 1 - 0.999 in float32 is 1e-5 off.
        rests = [1 - beta for beta in self.betas]
        numbers: list[Any] = [self.lr, *self.betas, *rests, self.eps, *corrections]
        decay = self.decay
        if isinstance(decay, TensorBase) or decay:
            replace(
                (parameter, *state), "adamw_step", parameter, gradient, *state, *numbers, self.decay
            )
        else:
            replace((parameter, *state), "adam_step", parameter, gradient, *state, *numbers)


def _zeros_like(parameter: Tensor) -> Tensor:
    return F.full(parameter.shape, 0.0, dtype=parameter.dtype)


def _is_rate(number: float) -> bool:
    return 0 <= number < 1


def _is_used(number: Number) -> bool:
    """Whether it is not 0, as far as is known without its elements."""
    return isinstance(number, TensorBase) or number != 0


def _check(
    owner: str, name: str, value: Number, holds: Callable[[float], bool], wanted: str
) -> None:
    """Raises for a number out of range; the elements of a tensor may not be at hand."""
    if not isinstance(value, TensorBase) and not holds(value):
        raise ArgumentError(f"must be {wanted}", op=owner, argument=name, got=f"{value}")
