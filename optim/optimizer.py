"""Optimisers: a step is one fused program per parameter, declared in opdecl/optimizer.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from .. import functional as F
from ..imperative import (
    ArgumentError,
    Parameter,
    ParameterError,
    Tensor,
    TensorBase,
    autograd,
    replace,
    stop_gradient,
)
from ..imperative.keeping import counted, keep, keeper_now, number_in, recorder_now
from ..imperative.naming import named_class
from ..imperative.state import check_state, loaded, saved, set_all
from .settings import Number, check, is_rate, is_used


class Optimizer:
    """What optimisers share: the parameters, and their gradients.

    Args:
        parameters: tensors that require_grad; None, while a static program is built: those of the
            program.
        lr: the learning rate, positive; may be changed between steps. It and the other settings may
            be tensors: a transform differentiates the steps by them.

    Raises:
        ValueError: no parameters, one that requires no gradient, or a number out of range.
        TypeError: parameters are no iterable of tensors.
    """

    # What changes from step to step and is no tensor.
    counted: ClassVar[tuple[str, ...]] = ("lr", "_steps")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Errors of the constructors of this package name the class."""
        super().__init_subclass__(**kwargs)
        if cls.__module__ == __name__:
            named_class(cls)

    def __init__(self, parameters: Iterable[Tensor] | None, lr: Number) -> None:
        """Keeps the parameters."""
        self.parameters: list[Tensor] = []
        if parameters is not None or keeper_now() is None:
            self._take(parameters)
        check(type(self).__name__, "lr", lr, lambda rate: rate > 0, "positive")
        self.lr = lr

    def minimize(
        self,
        loss: Tensor,
        *,
        parameters: Iterable[Tensor] | None = None,
        no_grad_set: Iterable[Any] = (),
        retain_graph: bool = False,
    ) -> list[tuple[Tensor, Tensor]]:
        """One step that makes a loss smaller: its gradients, and the step that they ask for.

        While a static program is built, both are added to it, for each run of the program to do;
        the learning rate and the optimiser's state become states of the program.

        Args:
            loss: of one element, computed from the parameters.
            parameters: those to be moved; None: those that the optimiser was made with, or else all
                that the program has.
            no_grad_set: parameters that are not moved, in a static program by name also.
            retain_graph: keep the graph for another loss of which it is a part; a program keeps it.

        Returns:
            The parameters that moved, and their gradients.

        Raises:
            ArgumentError: there are no parameters.
            AutodiffError: the loss depends on none of them.

        Source:
            Paddle, ``fluid.optimizer.Optimizer.minimize``.

        Example:
            >>> import tensorlike as tl
            >>> p = tl.Parameter([1.0])
            >>> moved = tl.optim.SGD([p], lr=0.25).minimize((p * p).sum())
            >>> p.tolist()
            [0.5]
        """
        keeper = keeper_now()
        if parameters is not None or not self.parameters:
            given = keeper.parameters() if keeper is not None else ()
            self._take(given if parameters is None else parameters)
            self._begin()
        if keeper is None:
            skipped = {id(x) for x in no_grad_set}
            moved = [x for x in self.parameters if id(x) not in skipped]
            found = autograd.grad(loss, moved, allow_unused=True, retain_graph=retain_graph)
            pairs = [(x, g) for x, g in zip(moved, found, strict=True) if g is not None]
        else:
            self._keep_rate(self.parameters[0].dtype)
            pairs = list(keeper.append_backward(loss, self.parameters, no_grad_set))
        numbers = {id(x): i for i, x in enumerate(self.parameters)}
        gradients: list[Tensor | None] = [None] * len(self.parameters)
        for parameter, gradient in pairs:
            index = numbers[id(parameter)]
            gradients[index] = gradient
            self._move([index], gradients)
        return pairs

    def _rate(self, dtype: Any) -> Any:
        """The learning rate, as a tensor where a step is recorded that may run with another."""
        return number_in(self, "lr", dtype)

    def _keep_rate(self, dtype: Any) -> None:
        """Makes the learning rate a state of the program that is being built."""
        if not isinstance(self.lr, TensorBase):
            self.lr = Tensor(self.lr, dtype)
            keep(self.lr, "learning_rate")

    def _begin(self) -> None:
        """Makes the state, for the parameters."""

    def _take(self, parameters: Iterable[Tensor] | None) -> None:
        name = type(self).__name__
        if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
            got = type(parameters).__name__
            raise ParameterError("parameters must be an iterable of tensors", op=name, got=f"{got}")
        taken = list(parameters)
        if not taken:
            raise ArgumentError("there must be parameters", op=name, got="none")
        for parameter in taken:
            if not isinstance(parameter, Tensor):
                got = type(parameter).__name__  # type: ignore[unreachable]
                raise ParameterError("parameters must be tensors", op=name, got=f"{got}")
            if not isinstance(parameter, Parameter) and not parameter.requires_grad:
                raise ArgumentError("parameters must require_grad", op=name)
        self.parameters = taken

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        """Moves every parameter that has a gradient."""
        gradients = [parameter.grad for parameter in self.parameters]
        moved = [index for index, gradient in enumerate(gradients) if gradient is not None]
        # What is recorded reads the settings and the count of each.
        one_by_one = recorder_now() is not None
        for members in [[index] for index in moved] if one_by_one else self._alike(moved):
            self._move(members, gradients)

    def _move(self, members: Sequence[int], gradients: Sequence[Tensor | None]) -> None:
        """Moves parameters, by their numbers, that one update with the same numbers is for."""
        parameters, chosen, *moments = (
            column if len(column) == len(members) else [column[index] for index in members]
            for column in (self.parameters, gradients, *self._moments())
        )
        name, numbers = self._update(members, self.parameters[members[0]].dtype)
        replace((parameters, *moments), name, parameters, chosen, *moments, *numbers)

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
        check("load_state_dict", "lr", lr, lambda r: 0 < r < float("inf"), "positive and finite")
        pairs, counts = [], []
        for name, values in self._state().items():
            for index, value in enumerate(values):
                new = made[f"{name}.{index}"]
                if not isinstance(value, int):
                    pairs.append((value, new))
                    continue
                count = int(new.item())
                check("load_state_dict", f"{name}.{index}", count, lambda n: n >= 0, "not negative")
                counts.append((values, index, count))
        set_all(pairs)
        self.lr = lr
        for values, index, count in counts:
            values[index] = count

    def _state(self) -> dict[str, list[Any]]:
        """Tensors and counts, a list with an item for each parameter under each name."""
        return {}

    def _moments(self) -> Sequence[list[Tensor]]:
        """The tensors among the state, which an update reads and replaces."""
        return ()

    def _alike(self, moved: list[int]) -> Iterable[Sequence[int]]:
        """Parameters, by their numbers and in their order, in groups of which one update is.

        They differ where the update's numbers do.
        """
        return [moved] if moved else []

    def _update(self, members: Sequence[int], dtype: Any) -> tuple[str, list[Any]]:
        """A declared function of parameter, gradient and moments, and the numbers that it takes."""
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

    def __init__(
        self,
        parameters: Iterable[Tensor] | None = None,
        lr: Number = 1e-3,
        *,
        momentum: Number = 0.0,
    ) -> None:
        """Makes the state."""
        super().__init__(parameters, lr)
        check("SGD", "momentum", momentum, is_rate, "in [0, 1)")
        self.momentum = momentum
        self._begin()

    def _begin(self) -> None:
        uses = is_used(self.momentum)
        self._velocity = [_zeros_like(p, "velocity") for p in self.parameters] if uses else []

    def _state(self) -> dict[str, list[Any]]:
        return {"velocity": self._velocity}

    def _moments(self) -> Sequence[list[Tensor]]:
        return (self._velocity,) if self._velocity else ()

    def _update(self, members: Sequence[int], dtype: Any) -> tuple[str, list[Any]]:
        if self._velocity:
            return "momentum_step", [self._rate(dtype), self.momentum]
        return "sgd_step", [self._rate(dtype)]


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
        parameters: Iterable[Tensor] | None = None,
        lr: Number = 1e-3,
        *,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        decay: Number = 0.0,
    ) -> None:
        """Makes the state."""
        super().__init__(parameters, lr)
        for beta in betas:
            check("Adam", "betas", beta, is_rate, "in [0, 1)")
        check("Adam", "eps", eps, lambda number: number > 0, "positive")
        check("Adam", "decay", decay, lambda number: number >= 0, "not negative")
        self.betas = betas
        self.eps = eps
        self.decay = decay
        self._begin()

    def _begin(self) -> None:
        self._steps = [0] * len(self.parameters)
        self._first = [_zeros_like(p, "moment1") for p in self.parameters]
        self._second = [_zeros_like(p, "moment2") for p in self.parameters]
        # In a program, which has no numbers that count runs, the powers of both rates are states.
        self._powers: list[tuple[Tensor, ...]] = []
        if keeper_now() is not None:
            self._powers = [_powers(self.betas) for _ in self.parameters]

    def _state(self) -> dict[str, list[Any]]:
        return {"steps": self._steps, "first": self._first, "second": self._second}

    def _moments(self) -> Sequence[list[Tensor]]:
        return self._first, self._second

    def _alike(self, moved: list[int]) -> Iterable[Sequence[int]]:
        """Neighbours that have made as many steps; each alone where powers are what counts."""
        if self._powers:
            return [[index] for index in moved]
        return [list(members) for _, members in groupby(moved, self._steps.__getitem__)]

    def _update(self, members: Sequence[int], dtype: Any) -> tuple[str, list[Any]]:
        corrections = self._corrections(members, dtype)
        # Subtracted here, in Python's precision: 1 - 0.999 in float32 is 1e-5 off.
        rests = [1 - beta for beta in self.betas]
        numbers: list[Any] = [self._rate(dtype), *self.betas, *rests, self.eps, *corrections]
        decay = self.decay
        if isinstance(decay, TensorBase) or decay:
            return "adamw_step", [*numbers, decay]
        return "adam_step", numbers

    def _corrections(self, members: Sequence[int], dtype: Any) -> list[Any]:
        """What undoes that both averages began at 0."""
        if not self._powers:
            count = counted(self._steps, members)
            corrections = [1 / (1 - beta**count) for beta in self.betas]
            is_recorded = isinstance(count, TensorBase)
            return [F.astype(x, dtype) for x in corrections] if is_recorded else corrections
        (index,) = members
        powers = self._powers[index]
        corrections = [F.astype(1 / (1 - power), dtype) for power in powers]
        for power, beta in zip(powers, self.betas, strict=True):
            power *= beta
        return corrections


def _powers(betas: tuple[Number, Number]) -> tuple[Tensor, ...]:
    """The rates to the first power, in double precision: 1 - 0.999 in float32 is 1e-5 off."""
    made = tuple(Tensor(beta, "float64") for beta in betas)
    for power, kind in zip(made, ("beta1_pow", "beta2_pow"), strict=True):
        keep(power, kind)
    return made


def _zeros_like(parameter: Tensor, kind: str) -> Tensor:
    made = F.full(parameter.shape, 0.0, dtype=parameter.dtype)
    keep(made, kind)
    return made
