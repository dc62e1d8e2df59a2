"""opcheck: holds all that is known of an op against each other.

Inference, gradient, forward mode and batching of an op come from different places: a rule, a word
in a declaration, the body. Here they are run on the same arguments, with finite differences and
with a loop, so that what is wrong in one of them shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from ..ops.declaring import known_declarations
from .agreement import CHECKS, Finding, Subject


class OpReport:
    """The findings of `opcheck`, in the order of the checks."""

    def __init__(self, name: str, findings: Sequence[Finding]) -> None:
        """Keeps them."""
        self.name = name
        self.findings = tuple(findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """What is wrong."""
        return tuple(finding for finding in self.findings if finding.is_right is False)

    @property
    def is_right(self) -> bool:
        """Whether nothing is."""
        return not self.failures

    def __repr__(self) -> str:
        """A line for each check."""
        words = {True: "right", False: "WRONG", None: "-"}
        lines = [f"{f.check}: {words[f.is_right]}" + (f" ({f.detail})" if f.detail else "")
                 for f in self.findings]  # fmt: skip
        return "\n".join([self.name, *(f"  {line}" for line in lines)])


def opcheck(function: Any, /, *args: Any, rtol: float = 1e-4, **attrs: Any) -> OpReport:
    """Holds the rules of an op against one another: inference, derivatives, batching.

    - inference: shapes and dtypes without elements, against the kernel's;
    - strides: the same of arguments that lie otherwise in memory;
    - gradient, tangent: against finite differences, in float64;
    - transposition: <w, tangent> is <gradient, t>;
    - second order: the tangent of the gradient, against differences of gradients;
    - batching: `vmap` against a loop, of all arguments and of each alone.

    Args:
        function: an op, or a functional call, such as one that `declare` made; or the name of one.
        args: what it is applied to: where it is smooth, if derivatives are to be compared.
            Floating-point numbers are taken in float64.
        rtol: how much derivatives may differ, relative to the largest element.
        attrs: the attributes of a functional call.

    Returns:
        An OpReport; it prints as a line for each check, and `is_right` says whether all agree.

    Raises:
        ParameterError: it is no function, and no name of a functional call; or there are no args,
            where the call takes tensors.

    Example:
        >>> import tensorlike as tl
        >>> tl.opcheck(tl.functional.softmax, tl.tensor([0.3, -0.2, 1.0])).is_right
        True
        >>> wrong = tl.declare('''
        ... - op: Cube
        ...   args: ["x: real floating-point"]
        ...   define: x * x * x
        ...   grad: {x: 2 * x * x * dy}
        ...   doc: A wrong gradient.
        ... ''')
        >>> [finding.check for finding in tl.opcheck(wrong.cube, 0.5).failures]
        ['gradient', 'tangent', 'second order']
    """
    subject = Subject(_function_of(function), args, attrs)
    if not args and subject.entry is not None and subject.entry.args:
        names = ", ".join(arg.name for arg in subject.entry.args)
        raise _C.ParameterError(
            f"{subject.name} must be given tensors to try it on",
            op="opcheck",
            got=f"none for {names}",
        )
    findings = []
    for name, check in CHECKS:
        try:
            findings.append(check(subject, rtol))
        except Exception as error:  # whatever an op raises is a finding
            findings.append(Finding(name, False, f"{type(error).__name__}: {error}"))
    return OpReport(subject.name, findings)


def _function_of(given: Any) -> Any:
    if isinstance(given, str):
        known = known_declarations().functions
        if given not in known:
            from ..opdecl.compiler.errors import did_you_mean

            raise _C.ParameterError(
                f"there is no functional call {given!r}{did_you_mean(given, known)}", op="opcheck"
            )
        return _C.Function(given)
    if not callable(given):
        raise _C.ParameterError(
            "function must be an op, a functional call or the name of one",
            op="opcheck",
            got=type(given).__name__,
        )
    return given
