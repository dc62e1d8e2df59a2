"""While and StaticRNN: a block of `with` that runs again, as a condition or its inputs say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .. import _C
from .. import functional as F
from ..functional.arguments import integer
from ..imperative import SymbolicTensor, Tensor, blocks
from ..imperative.levels import layers, stopped, unwrapped
from ..imperative.loops import ScanLoop, WhileLoop
from ..imperative.naming import named, named_class
from ..imperative.nested import Nested, innermost
from ..imperative.sub_programs import Call
from ..imperative.taking import recorded_blocks
from ..ops import Copy
from .control_flow import Recorder, SubProgram, results
from .program import Variable


@named_class
class While(Recorder):
    """A block that runs as long as a condition holds.

    In the block, `assign` gives variables of the outside the values that they have in the next
    step, and the condition among them. After the block `While()` gives what they have come to. That
    is what tensors are then, and what variables are fetched as; calls do not take such a variable
    any more, as it would be what it was before.

    Args:
        cond: one boolean, of the shape () or (1,).
        max_steps: after how many steps it ends in any case; gradients need it.
        name: not used.

    Raises:
        ArgumentError: the block does not assign to the condition.

    Source:
        Paddle, ``fluid.layers.While``.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     x = static.data("x", ())
        ...     going = x < 100.0
        ...     loop = static.While(going)
        ...     with loop.block():
        ...         doubled = static.assign(x * 2, x)
        ...         _ = static.assign(doubled < 100.0, going)
        ...     y = loop()
        >>> static.Executor().run(main, feed={"x": 3.0}, fetch_list=[y])[0].item()
        192.0
    """

    what = "While"

    def __init__(self, cond: Any, max_steps: int | None = None, name: str | None = None) -> None:
        """The block is still to come."""
        super().__init__()
        self._cond = unwrapped(cond)
        self._max_steps = max_steps
        self._targets: dict[Any, Any] = {}
        self._tensors: dict[Any, Any] = {}
        self._inputs: dict[Any, Any] = {}  # what stands for them in the block
        self._found: list[Any] | None = None

    @contextmanager
    def block(self) -> Iterator[None]:
        """The block of a step."""
        with self._building(draws=False) as block:
            going_on = _Open(self)
            going_on.begin(_open)
            try:
                yield
            finally:
                going_on.end(_open)
            condition = blocks.key_of(self._cond)
            if condition not in self._targets:
                self._refuse(
                    "the block must assign to the condition", "a loop without end",
                    "static.assign(i < n, cond)",
                )  # fmt: skip
            finals = [block.number(block.symbol(block.taken(key))) for key in self._targets]
            going = F.reshape(Tensor(self._inputs[condition]), ()).__wrapped__.number
        self._append(block, finals, going)

    @named
    def assign(self, value: Any, target: Any) -> Any:
        """Inside of the block: `target` is `value` from here on, and in the next step."""
        block = self._inside()
        inner = recorded_blocks.innermost()
        is_deeper = inner is not None and inner.level.number > block.level.number
        if is_deeper or self._outermost.sub_blocks.current is not block:
            self._refuse(
                "must be called in the block of the loop itself", "a call in one inside of it",
                "give the value as a result of the inner block, and assign that",
            )  # fmt: skip
        outer = unwrapped(target)
        key = blocks.key_of(outer)
        if key not in self._targets:
            self._check_target(block, outer)
            self._targets[key] = outer
            self._inputs[key] = block.take(outer)
        if isinstance(target, Tensor):
            self._tensors[key] = target
        new = block.symbol(block.number(value))
        old = self._inputs[key]
        if new.dtype is not old.dtype or block.describe(new.number) != block.describe(old.number):
            self._refuse(
                "must be assigned what has its shape and dtype", f"{new.describe()} to "
                f"{old.describe()}",
            )  # fmt: skip
        block.rebind(key, new.number)
        return new

    def _check_target(self, block: SubProgram, outer: Any) -> None:
        *_, bottom = layers(outer)
        if not isinstance(bottom, SymbolicTensor):
            self._refuse("must assign to variables of the program", f"a {type(outer).__name__}")
        if bottom.listing is block or not self._outermost.sub_blocks.has_older([bottom]):
            self._refuse(
                "must assign to variables from before the block", f"{bottom.name}, which it made",
                "use the value itself, or make the variable before the loop",
            )  # fmt: skip
        if isinstance(outer, _C.Tracer) and outer.is_leaf:
            self._refuse(
                "must not assign to what gradients are asked for", bottom.name,
                "assign to a copy: w = static.assign(w) before the loop",
            )  # fmt: skip

    def _append(self, block: SubProgram, finals: Sequence[int], going: int) -> None:
        given = [self._inputs[key] for key in self._targets]
        # Other values that the block reads; those that it assigns to are given already.
        others = [x for x in block.outer if blocks.key_of(x) not in self._targets]
        numbers = [x.number for x in given]
        numbers += [block.take(x).number for x in others]
        block.forget()
        op = WhileLoop(Call(block, numbers, [going]), Call(block, numbers, finals), self._max_steps)
        self._found = list(op(*self._targets.values(), *others))
        for key, y in zip(self._targets, self._found, strict=True):
            self._become(key, y)

    def _become(self, key: Any, y: Any) -> None:
        """From here on `y` is what a target is."""
        outer, tensor = self._targets[key], self._tensors.get(key)
        around = self._outermost.sub_blocks.current
        *_, bottom = layers(outer)
        if isinstance(around, SubProgram) and self._outermost.sub_blocks.has_older([bottom]):
            going_on = innermost(_open)
            if going_on is not None and going_on.loop.builds(around):
                going_on.loop.assign(y, outer if tensor is None else tensor)
            else:
                around.rebind(key, around.number(y))
            return
        if tensor is not None:
            tensor._reset(y)
        old, new = stopped(outer), stopped(y)
        if not isinstance(old, Variable) or not isinstance(new, Variable):
            return
        new.listing.rename(new.number, old.name)  # the last one of the name is found by it
        if tensor is None:
            old.listing._supersede(old.number, new)

    def __call__(self) -> Any:
        """What the assigned variables are after the loop, without the condition: one, or a list."""
        if self._found is None:
            self._refuse("must have a block", "none")
        condition = blocks.key_of(self._cond)
        pairs = zip(self._targets, self._found or (), strict=True)
        return results([y for key, y in pairs if key != condition])


class _Open(Nested):
    """A While whose block is being built."""

    def __init__(self, loop: While) -> None:
        self.loop = loop


_open: ContextVar[_Open | None] = ContextVar("tensorlike_while", default=None)


@named
def assign(input: Any, output: Any = None) -> Any:
    """A copy of a variable; inside of a While, the value that another one has from there on.

    Args:
        input: the value.
        output: a variable of the outside of the innermost While; None: a copy is made.

    Raises:
        ArgumentError: there is no While that is being built, or shapes or dtypes differ.

    Source:
        Paddle, ``fluid.layers.assign``.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     y = static.assign(static.data("x", (2,)))
        >>> main.block.ops[0].type
        'copy'
    """
    if output is None:
        copied = Copy()(unwrapped(input))[0]
        return Tensor(copied) if isinstance(input, Tensor) else copied
    found: _Open | None = innermost(_open)
    if found is None:
        raise _C.ArgumentError(
            "a While must be being built", op="assign", argument="output", got="none",
            fix="use the value itself",
        )  # fmt: skip
    return found.loop.assign(input, output)


@named_class
class StaticRNN(Recorder):
    """A block that runs on one step after the other of its inputs, and remembers.

    Args:
        name: not used.

    Raises:
        ArgumentError: a memory is not updated, or there are no step inputs.

    Source:
        Paddle, ``fluid.layers.StaticRNN``.

    Example:
        >>> from tensorlike import static
        >>> with static.program_guard(static.Program()) as main:
        ...     x = static.data("x", (3, 2))
        ...     rnn = static.StaticRNN()
        ...     with rnn.step():
        ...         row = rnn.step_input(x)
        ...         total = rnn.memory(shape=(2,))
        ...         rnn.update_memory(total, total + row)
        ...         rnn.step_output(total + row)
        ...     sums = rnn()
        >>> fed = {"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}
        >>> static.Executor().run(main, feed=fed, fetch_list=[sums])[0].tolist()
        [[1.0, 2.0], [4.0, 6.0], [9.0, 12.0]]
    """

    what = "StaticRNN"

    def __init__(self, name: str | None = None) -> None:
        """The block is still to come."""
        super().__init__()
        self._rows: list[tuple[Any, Any]] = []  # outside, and inside
        self._memories: list[tuple[Any, Any]] = []
        self._updates: dict[int, int] = {}
        self._outputs: list[int] = []
        self._found: list[Any] | None = None

    @contextmanager
    def step(self) -> Iterator[None]:
        """The block of a step."""
        with self._building(draws=False) as block:
            yield
        self._append(block)

    @named
    def step_input(self, x: Any) -> Any:
        """The row of this step, along the first axis of a variable."""
        block = self._inside()
        value = self._from_before(x)
        row = block.like(value, f"{getattr(value, 'name', 'x')}@step", value.shape[1:])
        self._rows.append((value, row))
        return row

    @named
    def memory(
        self,
        init: Any = None,
        shape: Sequence[int] | None = None,
        batch_ref: Any = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Any:
        """What the step before left.

        Args:
            init: what there is before the first step; None: `init_value` everywhere.
            shape: where there is no `init`; -1 is the batch.
            batch_ref: a variable with the batch as its first size, or, of the outside, as its
                `ref_batch_dim_idx`-th.
            init_value: the number.
            init_batch_dim_idx: which of the sizes of `shape` is the batch.
            ref_batch_dim_idx: see `batch_ref`.
        """
        block = self._inside()
        if init is None:
            if shape is None:
                self._refuse("a memory must have an init or a shape", "neither")
            sizes: list[Any] = [] if shape is None else list(shape)
            if batch_ref is None and any(type(n) is int and n == -1 for n in sizes):
                self._refuse(
                    "-1 in the shape of a memory must be known", "no batch_ref",
                    "batch_ref=row, of which the batch is the first size",
                )  # fmt: skip
            if batch_ref is not None:
                axis = _axis("init_batch_dim_idx", init_batch_dim_idx, len(sizes))
                sizes[axis] = self._batch_of(block, batch_ref, ref_batch_dim_idx)
            init = F.full(tuple(sizes), init_value, dtype=_C.float32)
        value = self._from_before(init)
        memory = block.like(value, block.unique_name("memory"))
        self._memories.append((value, memory))
        return memory

    @staticmethod
    def _batch_of(block: SubProgram, reference: Any, axis: int) -> Any:
        value = stopped(unwrapped(reference))
        is_inside = isinstance(value, SymbolicTensor) and value.listing is block
        if is_inside:
            return block.outer_size(value.shape[_axis("batch_ref", 0, len(value.shape))])
        return value.shape[_axis("ref_batch_dim_idx", axis, len(value.shape))]

    @named
    def update_memory(self, mem: Any, var: Any) -> None:
        """What a memory is in the next step."""
        block, memory = self._inside(), unwrapped(mem)
        is_ours = isinstance(memory, SymbolicTensor) and memory.listing is block
        if not is_ours or all(known.number != memory.number for _, known in self._memories):
            self._refuse("must update a memory of this block", f"a {type(memory).__name__}")
        number = block.number(var)
        if block.describe(number) != memory.describe():
            self._refuse(
                f"a memory must stay {memory.describe()}", block.describe(number),
                "give it another start: memory(init=...)",
            )  # fmt: skip
        self._updates[memory.number] = number

    @named
    def step_output(self, o: Any) -> None:
        """A row of a result."""
        self._outputs.append(self._inside().number(o))

    @named
    def output(self, *outputs: Any) -> None:
        """Rows of several results."""
        for y in outputs:
            self.step_output(y)

    def _append(self, block: SubProgram) -> None:
        if not self._rows:
            self._refuse("must have a step_input, which says how many steps there are", "none")
        missing = [m.name for _, m in self._memories if m.number not in self._updates]
        if missing:
            self._refuse("each memory must be updated", ", ".join(missing), "update_memory(m, x)")
        given = [x for _, x in (*self._memories, *self._rows)]
        numbers = [*(self._updates[m.number] for _, m in self._memories), *self._outputs]
        (body,), outer = blocks.closed([(block, given, numbers)])
        op = ScanLoop(body, len(self._memories), len(self._rows))
        values = [x for x, _ in (*self._memories, *self._rows)]
        self._found = list(op(*values, *outer))[len(self._memories) :]

    def __call__(self) -> Any:
        """The rows of the results, stacked along a first axis: one, or a list of several."""
        if self._found is None:
            self._refuse("must have a step", "none")
        return results(self._found or ())


def _axis(name: str, value: Any, ndim: int) -> int:
    return integer("memory", name, value, least=-ndim, most=ndim - 1)
