"""Checked entries -> specs: trees become straight-line bodies, gradients become bodies or fused
derived scalars.

Equal subexpressions are equal nodes, so numbering the nodes is common-subexpression elimination.
A scalar's gradient of two or more steps becomes a scalar function of its own (`gelu_dx`), so that
backward passes run one fused kernel too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .checks import is_condition
from .derivative import Differentiator, declared_rules
from .expression import (
    TOTAL,
    Call,
    Expr,
    Name,
    names_read,
    rebuild,
    topological,
)
from .lower_bodies import lower_body, sharing
from .model import (
    HANDWRITTEN,
    Arg,
    AttrDecl,
    Category,
    DefinedOp,
    Entry,
    OpEntry,
    ReductionEntry,
    ScalarEntry,
    is_differentiable,
    rule_names,
    takes_complex,
)
from .printing import to_infix
from .read_op import snake_case
from .reductions import derived_rule
from .simplify import is_zero, simplify_forward
from .specs import (
    ArgSpec,
    AttrSpec,
    Body,
    Condition,
    FunctionSpec,
    Grad,
    OpSpec,
    ReductionSpec,
    ScalarSpec,
    Spec,
)


@dataclass(frozen=True, slots=True)
class DerivedScalar:
    """A fused gradient: a scalar function that no file declares."""

    name: str
    args: tuple[Arg, ...]
    result: Expr
    of: ScalarEntry
    of_arg: str
    is_complex: bool = False


def arg_spec(arg: Arg) -> ArgSpec:
    """An argument as the core knows it."""
    return ArgSpec(arg.name, arg.category.word, arg.is_variadic, arg.is_optional, arg.default)


def scalar_results(entry: ScalarEntry) -> tuple[Expr, ...]:
    """The expressions of a scalar function as they are computed."""
    results = [output.formula.results[0] for output in entry.outputs]
    return rebuild(results, {}, simplify_forward)


class Lowering:
    """Lowers entries of one checked set of declarations."""

    def __init__(self, differentiator: Differentiator, complex_one: Differentiator) -> None:
        self._differentiator = differentiator
        self._complex = complex_one

    def derived_scalars(self, entry: ScalarEntry) -> list[DerivedScalar]:
        """The gradients of a scalar function that are fused: those of two or more steps.

        Those of complex numbers are programs of their steps; the others have loops of their own.
        """
        found = self._derive(entry, is_complex=False)
        return (
            [*found, *self._derive(entry, is_complex=True)] if self._has_complex(entry) else found
        )

    def _has_complex(self, entry: Entry) -> bool:
        return self._complex.is_complex and takes_complex(entry)

    def _derive(self, entry: ScalarEntry, is_complex: bool) -> list[DerivedScalar]:
        inputs = self._rule_inputs(entry)
        conditions = {a.name for a in entry.args if is_condition(a, entry.args)}
        category = Category.FLOATING if is_complex else Category.REAL_FLOATING
        ending = "_complex" if is_complex else ""
        derived = []
        for arg, gradient in self._gradients(entry, is_complex).items():
            if len(lower_body([gradient], inputs).steps) >= 2:
                read = names_read([gradient])
                args = tuple(
                    Arg(name, Category.BOOLEAN if name in conditions else category)
                    for name in inputs
                    if name in read
                )
                name = f"{entry.name}_d{arg}{ending}"
                derived.append(DerivedScalar(name, args, gradient, entry, arg, is_complex))
        return derived

    def _gradients(self, entry: ScalarEntry, is_complex: bool) -> Mapping[str, Expr]:
        return (self._complex if is_complex else self._differentiator).gradients(entry)

    @staticmethod
    def _rule_inputs(entry: Entry) -> list[str]:
        outputs, cotangents = rule_names(entry)
        return [*(arg.name for arg in entry.args), *outputs, *cotangents]

    def lower(self, entry: Entry) -> list[Spec]:
        """The specs of an entry: its own, those of its fused gradients, its functional call."""
        specs: list[Spec]
        if isinstance(entry, ScalarEntry):
            specs = self._lower_scalar(entry)
        elif isinstance(entry, ReductionEntry):
            specs = [self._lower_reduction(entry)]
        elif isinstance(entry, OpEntry):
            specs = [self._lower_op(entry)]
        calls = (entry, *entry.variants) if entry.is_newest else ()
        return [*specs, *map(lower_function, calls)]

    def _lower_scalar(self, entry: ScalarEntry) -> list[Spec]:
        grads = self._scalar_grads(entry, is_complex=False)
        complex_grads = grads
        if self._has_complex(entry):
            complex_grads = self._scalar_grads(entry, is_complex=True)
        own = [arg.name for arg in entry.args]
        spec = ScalarSpec(
            name=entry.name,
            args=tuple(arg_spec(arg) for arg in entry.args),
            result=entry.result,
            outputs=entry.output_count,
            grads=grads,
            complex_grads=complex_grads if complex_grads != grads else (),
            differentiable=is_differentiable(entry),
            expansion=lower_body(scalar_results(entry), own) if entry.outputs else Body(),
            unchanged=entry.unchanged.word if entry.unchanged is not None else "",
            conditions=_conditions(entry, own),
            linear=_linear_groups(entry),
            source=str(entry.place),
        )
        return [*(self._lower_derived(item) for item in self.derived_scalars(entry)), spec]

    def _scalar_grads(self, entry: ScalarEntry, is_complex: bool) -> tuple[Grad, ...]:
        inputs = self._rule_inputs(entry)
        derived = {item.of_arg: item for item in self._derive(entry, is_complex)}
        grads = []
        for i, arg in enumerate(entry.args):
            gradient = self._gradients(entry, is_complex).get(arg.name)
            if arg.name in entry.unknown_slopes:
                grads.append(Grad(i, Body(len(inputs))))
            if gradient is None:
                continue
            if arg.name in derived:
                item = derived[arg.name]
                gradient = Call(item.name, tuple(Name(read.name) for read in item.args))
            grads.append(Grad(i, lower_body([gradient], inputs)))
        return tuple(grads)

    @staticmethod
    def _lower_derived(item: DerivedScalar) -> ScalarSpec:
        return ScalarSpec(
            name=item.name,
            args=tuple(arg_spec(arg) for arg in item.args),
            expansion=lower_body([item.result], [arg.name for arg in item.args]),
            derived=True,
            source=str(item.of.place),
        )

    def _rule_grads(self, entry: Entry, is_complex: bool = False) -> tuple[Grad, ...]:
        if entry.grad is None or not entry.grad.choices:
            return self._grads_of(entry, is_complex)
        others = dict(entry.complex_grad.choices) if entry.complex_grad is not None else {}
        return tuple(
            replace(grad, match=entry.grad.match, choice=choice)
            for choice, rules in entry.grad.choices
            for grad in self._grads_of(
                replace(entry, grad=rules, complex_grad=others.get(choice, entry.complex_grad)),
                is_complex,
            )
        )

    def _grads_of(self, entry: Entry, is_complex: bool) -> tuple[Grad, ...]:
        declared = declared_rules(entry, is_complex)
        inputs = self._rule_inputs(entry)
        grads = []
        rules: dict[int, Expr] = {}
        for i, arg in enumerate(entry.args):
            rule = declared.get(arg.name)
            if arg.name in entry.unknown_slopes:
                grads.append(Grad(i, Body(len(inputs))))
            elif rule is not None and Name(TOTAL) in topological([rule]):
                grads.append(Grad(i, lower_body([rule], [*inputs, TOTAL]), True))
            elif rule is not None:
                rules[i] = rule
        for first, *beside in sharing(rules):
            body = lower_body([rules[i] for i in (first, *beside)], inputs)
            grads.append(Grad(first, body, beside=tuple(beside)))
        return tuple(sorted(grads, key=lambda grad: grad.input))

    def _complex_rule_grads(self, entry: Entry) -> tuple[Grad, ...]:
        """Where they differ from those of real numbers."""
        if not self._has_complex(entry):
            return ()
        if isinstance(entry, ReductionEntry):
            found = self._reduction_grads(entry, self._complex)
            return found if found != self._reduction_grads(entry, self._differentiator) else ()
        found = self._rule_grads(entry, is_complex=True)
        return found if found != self._rule_grads(entry) else ()

    def _lower_reduction(self, entry: ReductionEntry) -> ReductionSpec:
        parts = {
            key: lower_body([formula.results[0] if formula is not None else Name(names[0])], names)
            for key, formula, names in (
                ("map", entry.map, [entry.args[0].name]),
                ("combine", entry.combine, ["a", "b"]),
                ("finish", entry.finish, ["acc", "n"]),
            )
            if not entry.is_native
        }
        return ReductionSpec(
            name=entry.name,
            arg=arg_spec(entry.args[0]),
            result=entry.result,
            grads=self._reduction_grads(entry, self._differentiator),
            complex_grads=self._complex_rule_grads(entry),
            differentiable=is_differentiable(entry),
            has_identity=entry.has_identity,
            single_axis=entry.is_native,
            linear=_is_linear(entry),
            source=str(entry.place),
            init=entry.init,
            **parts,
        )

    def _reduction_grads(
        self, entry: ReductionEntry, differentiator: Differentiator
    ) -> tuple[Grad, ...]:
        if entry.grad is not None or not is_differentiable(entry):
            return self._rule_grads(entry, differentiator.is_complex)
        rule = derived_rule(entry, differentiator)
        inputs = self._rule_inputs(entry)
        return () if rule is None or is_zero(rule) else (Grad(0, lower_body([rule], inputs)),)

    def _lower_op(self, entry: OpEntry) -> OpSpec:
        is_handwritten = entry.grad is not None and entry.grad.kind == HANDWRITTEN
        define = Body()
        if isinstance(entry, DefinedOp):
            define = lower_body(entry.define.results, [arg.name for arg in entry.args])
        return OpSpec(
            name=entry.name,
            args=tuple(arg_spec(arg) for arg in entry.args),
            attrs=_attr_specs(entry.own_attrs),
            outputs=entry.outputs,
            infer=entry.infer,
            kernel=entry.kernel,
            grad=snake_case(entry.name) if is_handwritten else "",
            grads=self._rule_grads(entry),
            complex_grads=self._complex_rule_grads(entry),
            differentiable=is_differentiable(entry),
            define=define,
            expand=entry.expand,
            linear=_linear_groups(entry),
            batch=batch_rule(entry),
            memory=entry.memory.spec([arg.name for arg in entry.args]),
            conditions=_conditions(entry, [attr.name for attr in entry.own_attrs]),
            shapes=entry.shapes,
            effects=entry.effects,
            channels=_channels(entry),
            source=str(entry.place),
            version=entry.version,
            library=entry.library,
        )


def batch_rule(entry: OpEntry) -> str:
    """How an axis of examples goes through an op; "" where the body says it.

    A kernel of the core takes axes in front; what another one takes, only its author knows.
    """
    if entry.batch or not entry.is_native or not entry.args:
        return entry.batch
    return "loop" if entry.library or ":" in entry.kernel else "each"


def _conditions(entry: Entry, inputs: Sequence[str]) -> tuple[Condition, ...]:
    return tuple(
        Condition(to_infix(formula.results[0]), lower_body(formula.results, inputs))
        for formula in entry.requires
    )


def _linear_groups(entry: ScalarEntry | OpEntry) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(i for i, arg in enumerate(entry.args) if arg.name in group) for group in entry.linear
    )


def _channels(entry: OpEntry) -> tuple[tuple[int, ...], ...]:
    """The position of each argument, -1 of the result, and the axis."""
    names = [arg.name for arg in entry.args]
    return tuple((names.index(x) if x in names else -1, axis) for x, axis in entry.channels)


def _is_linear(entry: ReductionEntry) -> bool:
    """Whether it is a sum of the elements, or that divided by what they do not decide."""
    if entry.map is None or entry.combine is None:
        return False
    is_sum = entry.combine.results[0] == Call("add", (Name("a"), Name("b")))
    is_plain = entry.map.results[0] == Name(entry.args[0].name)
    finish = Name("acc") if entry.finish is None else entry.finish.results[0]
    if isinstance(finish, Call) and finish.function == "divide":
        finish, divisor = finish.args
        is_plain = is_plain and divisor == Name("n")
    return is_sum and is_plain and finish == Name("acc")


def lower_attrs(entry: Entry) -> tuple[AttrSpec, ...]:
    """The attributes of an entry's functional call."""
    return _attr_specs(entry.attrs)


def _attr_specs(attrs: Sequence[AttrDecl]) -> tuple[AttrSpec, ...]:
    return tuple(
        AttrSpec(attr.name, attr.type, attr.is_required, attr.default, attr.choices)
        for attr in attrs
    )


def lower_function(entry: Entry) -> FunctionSpec:
    """The functional call that makes and applies the op of an entry."""
    op = {"scalar": "Elemwise", "reduction": "Reduce"}.get(entry.kind, entry.name)
    return FunctionSpec(
        name=entry.function,
        op=op,
        fixed=entry.fixed if entry.kind == "op" else (("mode", entry.name),),
        args=tuple(arg_spec(arg) for arg in entry.args),
        attrs=lower_attrs(entry),
        doc=entry.doc,
    )


ELEMWISE = OpSpec("Elemwise", (), (AttrSpec("mode", "str"),))
REDUCE = OpSpec(
    "Reduce",
    (),
    (
        AttrSpec("mode", "str"),
        AttrSpec("axis", "axis", False, None),
        AttrSpec("keepdims", "bool", False, False),
        AttrSpec("dtype", "dtype", False, None),
    ),
)
