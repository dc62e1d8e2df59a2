"""Good calls of what needs a block around it, or a file: `static`'s blocks and functions, `export`.

Each call is made on objects of its own, inside of a program of its own: a maker gives names to
them, and arguments that are a `Named` are what the maker called so. The block ends by an exception,
so that it may be left unfinished; what finishes it is called behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import tensorlike as tl
import tensorlike.functional as F
from support.hostile import Good, keywords_of
from tensorlike import export, jit, nn, static
from tensorlike.imperative.random import default_stream

HAS_ONNX = find_spec("onnx") is not None


@dataclass(frozen=True)
class Named:
    """An argument that is made anew with what it belongs to."""

    name: str


def _found(made: Any, x: Any) -> Any:
    return getattr(made, x.name) if isinstance(x, Named) else x


class _Done(Exception):
    """The call was made; what is around it may stay unfinished."""


class Inside:
    """Calls something that is found where a maker has made all that it needs."""

    def __init__(
        self, make: Callable[[], AbstractContextManager[Any]], find: Callable[[Any], Any]
    ) -> None:
        self.make, self.find = make, find

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = ""
        with suppress(_Done), self._made() as made:
            given = [_found(made, x) for x in args]
            named = {name: _found(made, x) for name, x in kwargs.items()}
            found = repr(self.find(made)(*given, **named))  # it may belong to what ends here
            raise _Done
        return found

    @contextmanager
    def _made(self) -> Iterator[Any]:
        with ExitStack() as stack:
            with default_stream.replay(default_stream.state()):  # weights of the maker's
                made = stack.enter_context(self.make())
            yield made


@contextmanager
def _in_program() -> Iterator[SimpleNamespace]:
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", (4, 1))
        y = static.fc(x, 2)
        yield SimpleNamespace(
            main=main, startup=startup, x=x, y=y, loss=F.sum(y), layer=nn.Linear(3, 2, seed=0),
            image=static.data("image", (2, 3, 4, 4)), numbers=static.data("n", (3,), tl.int64),
            going=F.sum(x) < 9.0, scope=static.Scope(), listing=main,
        )  # fmt: skip


@contextmanager
def _in_if_else() -> Iterator[SimpleNamespace]:
    with _in_program() as made:
        made.choice = static.IfElse(made.x > 0.0)
        with made.choice.true_block():
            made.row = made.choice.input(made.x)
            yield made


@contextmanager
def _behind_if_else() -> Iterator[SimpleNamespace]:
    with _in_program() as made:
        made.choice = static.IfElse(made.x > 0.0)
        for block in (made.choice.true_block, made.choice.false_block):
            with block():
                made.choice.output(made.choice.input(made.x) * 2)
        yield made


@contextmanager
def _in_while() -> Iterator[SimpleNamespace]:
    with _in_program() as made:
        made.loop = static.While(made.going)
        with made.loop.block():
            yield made


@contextmanager
def _behind_while() -> Iterator[SimpleNamespace]:
    with _in_program() as made:
        made.loop = static.While(made.going)
        with made.loop.block():
            doubled = static.assign(made.x * 2, made.x)
            static.assign(F.sum(doubled) < 9.0, made.going)
        yield made


@contextmanager
def _in_rnn() -> Iterator[SimpleNamespace]:
    with _in_program() as made:
        made.rnn = static.StaticRNN()
        with made.rnn.step():
            made.row = made.rnn.step_input(made.x)
            made.memory = made.rnn.memory(shape=(1,))
            yield made


@contextmanager
def _behind_rnn() -> Iterator[SimpleNamespace]:
    with _in_program() as made:
        made.rnn = static.StaticRNN()
        with made.rnn.step():
            made.rnn.step_output(made.rnn.step_input(made.x) * 2)
        yield made


def _doubled(x: Any) -> Any:
    return x * 2


@cache
def _files() -> SimpleNamespace:
    """A folder with a file of each kind, and what was read from them: made once."""
    folder = TemporaryDirectory()
    made = SimpleNamespace(folder=folder, path=Path(folder.name, "new.bin"))
    made.weights = Path(folder.name, "linear.safetensors")
    export.save_weights(nn.Linear(3, 2, seed=0), made.weights)
    made.read = export.read_weights(made.weights)
    made.saved, made.inferred = Path(folder.name, "twice.tlp"), Path(folder.name, "inferred")
    made.program = static.Program()
    made.program.input("x", (2,))
    static.save(made.program, made.saved)
    static.save_inference_model(made.inferred, [], [], made.program)
    if HAS_ONNX:
        made.model = export.onnx.to_model(_doubled, inputs={"x": (2, 3)})
        made.loaded = export.onnx.load(made.model)
    return made


@contextmanager
def _beside_files() -> Iterator[SimpleNamespace]:
    """Beside the files: what is written, and a path for it."""
    made = SimpleNamespace(
        **vars(_files()), layer=nn.Linear(3, 2, seed=0), function=_doubled, x=tl.ones((2, 3)),
        traced=jit.trace(_doubled), executor=static.Executor(), names={"": ""}, by_name=None,
    )  # fmt: skip
    made.by_name = {"x": made.x}
    made.traced(made.x)
    yield made


def _entered(function: Callable[..., AbstractContextManager[Any]]) -> Callable[..., Any]:
    def begin(*args: Any, **kwargs: Any) -> Any:
        with function(*args, **kwargs):
            return None

    return begin


def _of(name: str, attribute: str) -> Callable[[Any], Any]:
    return lambda made: getattr(getattr(made, name), attribute)


_MODEL = {"inputs": {"x": (2, 3)}}
# Maker, what is called, its arguments and its keyword arguments, by the name of what is called.
CALLS: dict[str, tuple[Any, Any, tuple[Any, ...], dict[str, Any]]] = {
    "static.IfElse": (_in_program, static.IfElse, (Named("going"),), {}),
    "static.IfElse.input": (_in_if_else, _of("choice", "input"), (Named("x"),), {}),
    "static.IfElse.output": (_in_if_else, _of("choice", "output"), (Named("row"),), {}),
    "static.IfElse.__call__": (_behind_if_else, _of("choice", "__call__"), (), {}),
    "static.IfElse.true_block": (_behind_if_else, _of("choice", "true_block"), (), {}),
    "static.IfElse.false_block": (_behind_if_else, _of("choice", "false_block"), (), {}),
    "static.While": (_in_program, static.While, (Named("going"),), {}),
    "static.While.assign": (_in_while, _of("loop", "assign"), (Named("x"), Named("x")), {}),
    "static.While.block": (_behind_while, _of("loop", "block"), (), {}),
    "static.While.__call__": (_behind_while, _of("loop", "__call__"), (), {}),
    "static.StaticRNN": (_in_program, static.StaticRNN, (), {}),
    "static.StaticRNN.step": (_behind_rnn, _of("rnn", "step"), (), {}),
    "static.StaticRNN.step_input": (_in_rnn, _of("rnn", "step_input"), (Named("x"),), {}),
    "static.StaticRNN.memory": (
        _in_rnn, _of("rnn", "memory"), (), {"shape": (-1, 3), "batch_ref": Named("x")},
    ),
    "static.StaticRNN.update_memory": (
        _in_rnn, _of("rnn", "update_memory"), (Named("memory"), Named("row")), {},
    ),
    "static.StaticRNN.step_output": (_in_rnn, _of("rnn", "step_output"), (Named("row"),), {}),
    "static.StaticRNN.output": (_in_rnn, _of("rnn", "output"), (Named("row"), Named("row")), {}),
    "static.StaticRNN.__call__": (_behind_rnn, _of("rnn", "__call__"), (), {}),
    "static.assign": (_in_while, static.assign, (Named("x"), Named("x")), {}),
    "static.data": (_in_program, static.data, ("z", (None, 2)), {}),
    "static.fc": (_in_program, static.fc, (Named("x"), 3), {"act": "relu"}),
    "static.conv2d": (_in_program, static.conv2d, (Named("image"), 2, 3), {}),
    "static.batch_norm": (_in_program, static.batch_norm, (Named("image"),), {}),
    "static.embedding": (_in_program, static.embedding, (Named("numbers"), (5, 3)), {}),
    "static.keep": (_in_program, static.keep, (Named("layer"),), {}),
    "static.append_backward": (_in_program, static.append_backward, (Named("loss"),), {}),
    "static.program_op": (_in_program, static.program_op, (Named("main"), Named("loss")), {}),
    "static.program_guard": (
        _in_program, _entered(static.program_guard), (Named("main"), Named("startup")), {},
    ),
    "static.scope_guard": (_in_program, _entered(static.scope_guard), (Named("scope"),), {}),
    "static.save": (_beside_files, static.save, (Named("program"), Named("path")), {}),
    "static.load": (_beside_files, static.load, (Named("saved"),), {}),
    "static.save_inference_model": (
        _beside_files, static.save_inference_model,
        (Named("inferred"), [], [], Named("program")), {},
    ),
    "static.load_inference_model": (
        _beside_files, static.load_inference_model, (Named("inferred"), Named("executor")), {},
    ),
    "jit.trace": (_beside_files, jit.trace, (Named("function"),), {}),
    "jit.to_static": (_beside_files, jit.to_static, (Named("function"),), {}),
    "jit.not_to_static": (_beside_files, jit.not_to_static, (Named("function"),), {}),
    "jit.InputSpec": (_beside_files, jit.InputSpec, ((None, 3), "float32", "x"), {}),
    "jit.save": (_beside_files, jit.save, (Named("traced"), Named("path")), {}),
    "jit.load": (_beside_files, jit.load, (Named("saved"),), {}),
    "export.read_weights": (_beside_files, export.read_weights, (Named("weights"),), {}),
    "export.load_weights": (
        _beside_files, export.load_weights, (Named("layer"), Named("read"), Named("names")), {},
    ),
    "export.save_weights": (
        _beside_files, export.save_weights, (Named("layer"), Named("path"), Named("names")), {},
    ),
    "export.Weights.dtype": (_beside_files, _of("read", "dtype"), ("bias",), {}),
    "export.Weights.shape": (_beside_files, _of("read", "shape"), ("bias",), {}),
    "export.Weights.get": (_beside_files, _of("read", "get"), ("bias", None), {}),
    "export.Weights.__getitem__": (_beside_files, _of("read", "__getitem__"), ("bias",), {}),
    "export.Loaded": (_beside_files, export.Loaded, ((), ()), {}),
    "export.onnx.load": (_beside_files, export.onnx.load, (Named("model"),), {}),
    "export.onnx.save": (
        _beside_files, export.onnx.save, (Named("function"), Named("path")), _MODEL,
    ),
    "export.onnx.to_model": (_beside_files, export.onnx.to_model, (Named("function"),), _MODEL),
    "export.onnx.OnnxModel.__call__": (
        _beside_files, _of("loaded", "__call__"), (Named("x"),), {},
    ),
    "export.onnx.OnnxModel.named": (_beside_files, _of("loaded", "named"), (Named("by_name"),), {}),
    "export.onnx.OnnxModel.save": (_beside_files, _of("loaded", "save"), (Named("path"),), {}),
}  # fmt: skip


def block_calls() -> list[Good]:
    """Of each of them, in order of names."""
    found = []
    for label, (make, what, args, kwargs) in CALLS.items():
        if label.startswith("export.onnx.") and not HAS_ONNX:
            continue
        is_found = isinstance(what, type(_doubled)) and what.__qualname__.startswith("_of.")
        find = what if is_found else (lambda _, what=what: what)
        with suppress(_Done), make() as made:
            named = keywords_of(find(made))
            raise _Done
        found.append(Good(label, Inside(make, find), args, kwargs, named))
    return sorted(found, key=lambda good: good.name)
