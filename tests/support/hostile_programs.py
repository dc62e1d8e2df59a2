"""Good calls of methods of programs and of functions that became programs: `static`, `jit`.

Each class has a maker of an object that may be spoilt, and each public method is called on a new
one, with arguments by the names of its parameters. A new method is covered as soon as the names of
its parameters are known here; `uncovered` says which are not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import tensorlike as tl
from support.hostile import Good, keywords_of
from tensorlike import jit, static
from tensorlike.imperative.random import default_stream


def _program() -> tuple[Any, Any, Any]:
    """A program with an input, a state and a few ops; what starts it; its result."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", (2, 3))
        y = static.fc(x, 2, act="relu")
    return main, startup, y


def _main() -> Any:
    return _program()[0]


def _listing() -> Any:
    listing = tl.Listing()
    x = listing.input("x", (2, 3))
    tl.functional.exp(x * 2 + 1)
    return listing


def _started() -> tuple[Any, Any, Any]:
    main, startup, y = _program()
    scope = static.Scope()
    static.Executor(static.CPUPlace()).run(startup, scope=scope)
    return main, scope, y


def _traced(kind: Callable[..., Any] = jit.trace) -> Any:
    traced = kind(_doubled)
    traced(tl.ones((2, 3)))
    return traced


def _doubled(x: Any) -> Any:
    return x * 2 + 1


def _traced_layer() -> Any:
    return jit.TracedLayer.trace(tl.nn.Linear(3, 2, seed=0), [tl.ones((2, 3))])[1]


def _tensors() -> Any:
    return tl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# What makes an object of each class.
MAKERS: dict[str, Callable[[], Any]] = {
    "static.Program": _main,
    "static.Block": lambda: _main().global_block(),
    "static.Variable": lambda: _main().global_block().var("x"),
    "static.Operator": lambda: _main().global_block().ops[0],
    "static.Executor": lambda: static.Executor(static.CPUPlace()),
    "static.Scope": lambda: _started()[1],
    "static.CompiledProgram": lambda: static.CompiledProgram(_listing()),
    "static.Graph": lambda: static.Graph(_listing(), (3,)),
    "static.ProgramOp": lambda: static.program_op(_listing(), "_4"),
    "Listing": _listing,
    "jit.CompiledFunction": _traced,
    "jit.StaticFunction": lambda: _traced(jit.to_static),
    "jit.ConcreteProgram": lambda: _traced().concrete(),
    "jit.TracedLayer": _traced_layer,
    "jit.InputSpec": lambda: jit.InputSpec((None, 3), "float32", "x"),
    "jit.ForInference": lambda: jit.ForInference(),
}

# What parameters of these names get, made anew for each call.
BY_NAME: dict[str, Callable[[], Any]] = {
    "name": lambda: "x", "names": lambda: "fold", "number": lambda: 0, "old": lambda: 1,
    "new": lambda: 1, "place": lambda: 0, "op": lambda: tl.ops.Elemwise(mode="exp"),
    "inputs": _tensors, "args": _tensors, "kwargs": lambda: None, "value": lambda: _tensors(),
    "x": _tensors, "tensor": _tensors, "results": lambda: "_4", "asked": lambda: ["_4"],
    "program": _main, "main_program": _main, "shape": lambda: (2, 3), "dtype": lambda: tl.float32,
    "kind": lambda: "fc", "variable": lambda: 0, "variables": lambda: (0,), "who": lambda: "call",
    "function": lambda: _doubled, "sizes": dict, "level": lambda: 0, "n": lambda: 1,
    "concrete": lambda: _traced().concrete(), "ys": _tensors, "xs": _tensors, "listing": _listing,
    "result": lambda: "_4", "state": lambda: 0, "a": lambda: 1, "b": lambda: 1, "how": lambda: "==",
    "text": lambda: "x", "data": lambda: _listing().to_bytes(), "other": _listing,
}  # fmt: skip
# Arguments that names do not say, and those of methods of the core, which tells no names.
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "static.Executor.run": lambda: (_program()[1],),
    "static.Scope.set": lambda: ("w", _tensors()),
    "static.Scope.erase": lambda: ("w",),
    "static.Scope.find": lambda: ("w",),
    "static.Graph.insert": lambda: (1, tl.ops.Elemwise(mode="exp"), (0,)),
    "static.Graph.capture": lambda: (tl.RawTensor([1.0]),),
    "static.CompiledProgram.run": lambda: ("_4", _tensors()),
    "static.CompiledProgram.memory": lambda: ("_4", (2, 3)),
    "static.ProgramOp.__call__": lambda: (_tensors(),),
    "jit.ConcreteProgram.__call__": lambda: (_tensors(),),
    "jit.TracedLayer.__call__": lambda: ([_tensors()],),
    "jit.TracedLayer.trace": lambda: (tl.nn.Linear(3, 2, seed=0), [_tensors()]),
    "Listing.input": lambda: ("z", (2, 3)),
    "Listing.run": lambda: ([], _tensors()),
    "Listing.to_bytes": lambda: ({},),
    "Listing.from_bytes": lambda: (_listing().to_bytes({}),),
    "Listing.add_input": lambda: ("z", (2, None), tl.float32),
    "Listing.append": lambda: (tl.ops.Elemwise(mode="exp"), (0,)),
    "Listing.bind": lambda: ((),),
    "Listing.calculate": lambda: ("multiply", (4, 4), (2, 2)),
    "Listing.expression": lambda: ((4, 4),),
    "Listing.agree": lambda: (4, 4, "Block"),
    "Listing.capture": lambda: (tl.RawTensor([1.0]),),
    "Listing.describe": lambda: (0,),
    "Listing.dtype": lambda: (0,),
    "Listing.find": lambda: ("x",),
    "Listing.hold": lambda: ("part", _listing()),
    "Listing.note_cut": lambda: ((0,),),
    "Listing.to_dot": lambda: ("x",),
    "static.Program.check_name": lambda: ("z",),
    "static.Program.prune": lambda: ("x",),
    "Listing.shape": lambda: (0,),
    "Listing.values": lambda: ((4,), (tl.RawTensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),)),
    "Listing.variable": lambda: (0,),
    "Listing.rename": lambda: (0, "z"),
    "static.Program.is_same": lambda: (_main(),),
    "static.Program.input": lambda: ("z", (2, 3)),
}
# What writes a file, begins a block, or is called by the builder of a program alone.
LEFT_OUT = {
    "dump", "save", "save_inference_model", "enter", "scheduling", "to_file", "draw", "over",
    "compare", "require", "copy_of", "read_file", "write_file", "keep", "start_from",
    "bind_tensor", "assign_kept", "receiver", "rename_result",
}  # fmt: skip


# What has the same methods, which are called there.
SHARED: dict[str, type] = {
    "static.Variable": tl.SymbolicTensor, "static.Program": tl.Listing, "jit.ForInference": tuple,
}  # fmt: skip


class Fresh:
    """Calls a method of a new object."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self.make, self.name = make, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with default_stream.replay(default_stream.state()):  # weights of the maker's
            receiver = self.make()
        return getattr(receiver, self.name)(*args, **kwargs)


def methods() -> Iterator[tuple[str, Callable[[], Any], Any]]:
    """Label, maker of the object, and the method of its class."""
    for label, make in MAKERS.items():
        cls = type(make())
        for name, method in inspect.getmembers(cls, callable):
            is_own = not isinstance(method, type) and name not in LEFT_OUT
            is_public = not name.startswith("_") or name == "__call__"
            shared = label in SHARED and hasattr(SHARED[label], name)
            if is_own and is_public and not shared:
                yield f"{label}.{name}", make, method


def _arguments(label: str, method: Any) -> tuple[Any, ...]:
    if label in ARGUMENTS:
        return ARGUMENTS[label]()
    parameters = inspect.signature(method).parameters.values()
    needed = [p for p in parameters if p.name != "self" and p.default is p.empty]
    return tuple(
        BY_NAME[p.name]() for p in needed if p.kind is not p.VAR_KEYWORD and p.name in BY_NAME
    )


def program_calls() -> list[Good]:
    """Of each method that works so, in order of names."""
    found = []
    for label, make, method in methods():
        try:
            args = _arguments(label, method)
        except (TypeError, ValueError):  # one of the core without a signature
            args = ()
        call = Fresh(make, label.rsplit(".", 1)[-1])
        named = tuple(word for word in keywords_of(method) if word != "self")
        found.append(Good(label, call, args, {}, named))
    return sorted(filter(works, found), key=lambda good: good.name)


def uncovered() -> set[str]:
    """Methods that no good call is known of."""
    covered = {good.name for good in program_calls()}
    return {label for label, _, _ in methods()} - covered


def works(good: Good) -> bool:
    """Whether a good call is one."""
    try:
        good()
    except Exception:
        return False
    return True
