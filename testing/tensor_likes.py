"""check_tensor_like: a tensor-like on the example of every declared op, and in whole trainings."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..imperative import Carrier, RawTensor, Tensor
from .corpus import Example, examples
from .reports import LikeFinding, LikeReport, TensorLikeError
from .subject import Subject
from .training import training_programs
from .trials import CHECKS, Skipped, Trial, state

_TRAINED_RTOL = 1e-4  # of float32, after steps that go by signs of gradients


def check_tensor_like(
    cls: type,
    *,
    make: Callable[[Any], Any] | None = None,
    value: Callable[[Any], Any] | None = None,
    names: Sequence[str] | None = None,
    rtol: float | None = 0.0,
    refuses: type[Exception] | tuple[type[Exception], ...] = (),
    raises: bool = True,
    training: bool = True,
) -> LikeReport:
    """Proves a tensor-like on the whole op corpus, alone and with the others.

    Each declared call is tried on its example: on the tensor-like alone, inside `Tensor`, beside
    plain tensors and numbers; under `vjp`, `jvp` and `vmap`, and made inside of a differentiated
    function; around a symbolic tensor-like; inside, outside and beside another user's one; and with
    an exception raised below it. Then whole training steps are tried: forward and backward passes,
    clipped gradients, updates and running statistics. Results must be as many as they are for plain
    tensors, of the same shapes, dtypes and elements, and of the class; modes, levels and instances
    must not stay behind.

    Args:
        cls: the class of the tensor-like.
        make: makes one of a tensor-like value; by default ``cls(value)``.
        value: what one stands for, to be compared; by default its `value`, else its `elements`.
        names: the functional calls to try; None takes all.
        rtol: how much elements may differ, relative to the largest; 0: not at all; None: they are
            not compared.
        refuses: exceptions by which it says that it does not take an op; that is no failure.
        raises: whether failures raise.
        training: whether to try training steps.

    Returns:
        A LikeReport, which prints as a table.

    Raises:
        TensorLikeError: an AssertionError that lists the failures: call, check, what is wrong.

    Example:
        >>> import tensorlike as tl
        >>> from tensorlike.testing import check_tensor_like
        >>> class Halved(tl.Carrier):
        ...     pass
        >>> @tl.apply.register
        ... def apply_halved(op: tl.ops.OpBase, *xs: Halved):
        ...     return tl.apply.super(op, *xs)[:1]
        >>> report = check_tensor_like(Halved, names=["exp", "split"], raises=False)
        >>> [failure.call for failure in report.failures if failure.check == "alone"]
        ['split']
        >>> report.failures[0].detail
        'gave 1 outputs; 2 are right'
    """
    subject = Subject(cls, make or cls, value or _value_of, rtol)
    findings: list[LikeFinding] = []
    before, alive = state(), _alive(cls)
    for example in examples(names):
        findings += _findings(subject, example, refuses)
        if state() != before:
            text = f"left behind (recording, level, engine): {state()}; it was {before}"
            findings.append(LikeFinding(example.entry.function, "state", False, text))
            break  # what follows would only fail because of it
    findings += [_trained(subject, name, refuses) for name in training_programs() if training]
    left = _alive(cls) - alive
    if left > 0:
        text = f"{left} instances are still held by something after all calls have ended"
        findings.append(LikeFinding("(all)", "leaks", False, text))
    report = LikeReport(cls.__name__, findings)
    if raises and not report.is_right:
        raise TensorLikeError(report)
    return report


def _findings(subject: Subject, example: Example, refuses: Any) -> Iterator[LikeFinding]:
    trial = Trial(subject, example)
    for name, check in CHECKS.items():
        yield _found(example.entry.function, name, partial(check, trial), refuses)


def _trained(subject: Subject, name: str, refuses: Any) -> LikeFinding:
    """A whole program: what it gives, and that the tensor-like has come through."""

    def check() -> None:
        program = training_programs()[name]
        found = program(lambda x: Tensor(subject.make(RawTensor(x))))
        subject.compare(found, program(Tensor), _TRAINED_RTOL)
        # Gradients, and so what is learnt, are computed under what goes around transforms.
        is_above = (
            issubclass(subject.cls, Carrier) and subject.make(RawTensor(1.0)).is_above_transforms
        )
        subject.all_are(found[:2] if is_above else found, Tensor)

    return _found(name, "training", check, refuses)


def _found(call: str, name: str, check: Callable[[], None], refuses: Any) -> LikeFinding:
    is_right: bool | None = True
    detail = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check()
        except Skipped:
            is_right = None
        except AssertionError as error:
            is_right, detail = False, str(error)
        except refuses as error:
            is_right, detail = None, f"refused: {error}"
        except Exception as error:  # whatever a rule raises is a finding
            is_right, detail = False, f"{type(error).__name__}: {error}"
    return LikeFinding(call, name, is_right, detail)


def _value_of(x: Any) -> Any:
    return x.value if hasattr(x, "value") else x.elements


def _alive(cls: type) -> int:
    gc.collect()
    return sum(type(x) is cls for x in gc.get_objects())
