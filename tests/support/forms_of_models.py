"""Every form in which a model may run: each gives results and gradients, which are eager code's.

A form takes a `Model` and what it is fed, once after the other, and gives a list of arrays for each
feed: the model's results, and the gradients of the first of them by what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tensorlike as tl
from tensorlike import jit, static
from tensorlike.__main__ import run_path
from tensorlike.export import onnx
from tensorlike.export.onnx.exporter.verifying import session_of
from tensorlike.imperative.levels import layers

from .saved_runs import results_of, run_model

Sizes = Mapping[str, int]
Arrays = dict[str, Any]
SEED = 7


class Model(NamedTuple):
    """A network, made anew by `make`, whose `forward` gives a loss and what else is compared.

    Shapes of `inputs` have names where sizes differ; `fill` makes an array of a shape, or numbers
    of it that sizes decide.
    """

    make: Callable[[], tl.nn.Layer]
    inputs: Mapping[str, tuple[tuple[int | str, ...], Any]]
    sizes: tuple[Sizes, ...]
    has_gradient: bool = True
    draws: bool = False
    second: bool = False
    decides: bool = False  # whether Python asks for values, so that a program needs to_static
    without: tuple[str, ...] = ()  # forms
    tolerance: float = 2e-4

    def feeds(self) -> list[Arrays]:
        """An array for each input, for each choice of sizes."""
        rng = np.random.default_rng(3)
        return [
            {
                name: _filled(rng, tuple(sizes.get(str(n), n) for n in shape), what, sizes)
                for name, (shape, what) in self.inputs.items()
            }
            for sizes in self.sizes
        ]

    def dtype(self, name: str) -> str:
        """Of an input."""
        return str(self.feeds()[0][name].dtype)


def _filled(rng: np.random.Generator, shape: Any, what: Any, sizes: Sizes) -> Any:
    if callable(what):
        return what(rng, shape, sizes)
    if isinstance(what, int):
        return rng.integers(0, what, shape)
    return rng.standard_normal(shape).astype(what)


def _leaves(results: Any) -> list[Any]:
    if isinstance(results, tuple | list):
        return [leaf for one in results for leaf in _leaves(one)]
    return [results]


def _arrays(results: Any) -> list[Any]:
    return [np.asarray(x.detach() if isinstance(x, tl.Tensor) else x) for x in results]


def _slopes(loss: Any, network: Any, xs: list[Any]) -> list[Any]:
    """The gradients by parameters in the order of names, then by floating-point inputs."""
    by = [p for _, p in sorted(network.named_parameters()) if p.requires_grad]
    by += [x for x in xs if x.dtype.kind == "floating"]
    found = tl.autograd.grad(loss, by, allow_unused=True)
    return [tl.zeros_like(x) if dx is None else dx for x, dx in zip(by, found, strict=True)]


def _given(feed: Arrays, is_traced: bool) -> list[Any]:
    return [tl.tensor(x, requires_grad=is_traced and x.dtype.kind == "f") for x in feed.values()]


def _called(model: Model, network: Any, call: Callable[..., Any], feed: Arrays) -> list[Any]:
    """A call of a network, or of what was made of it, and its gradients on the tape."""
    tl.manual_seed(SEED)
    xs = _given(feed, model.has_gradient)
    results = _leaves(call(*xs))
    slopes = _slopes(results[0], network, xs) if model.has_gradient else []
    return _arrays([*results, *slopes])


def _step(model: Model, network: Any) -> Callable[..., Any]:
    """A call with its gradients as one function."""

    def step(*xs: Any) -> Any:
        if not model.has_gradient:
            return _leaves(network(*xs))
        xs = [x.detach() for x in xs]
        for x in xs:
            if x.dtype.kind == "floating":
                x.requires_grad = True
        results = _leaves(network(*xs))
        return [*results, *_slopes(results[0], network, xs)]

    return step


def eager(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """Calls that run at once."""
    network = model.make()
    return [_called(model, network, network, feed) for feed in feeds]


def lazy(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    with tl.engine.mode("lazy", threshold=1):
        return eager(model, feeds, folder)


def in_another_thread(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    with tl.engine.mode("async"):
        return eager(model, feeds, folder)


def traced(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """A traced layer, differentiated outside; each size comes twice."""
    network = model.make()
    call = jit.trace(network)
    for feed in feeds:
        _called(model, network, call, feed)
    return [_called(model, network, call, feed) for feed in feeds]


def traced_step(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """A call and its gradients, traced as one; each size comes twice."""
    network = model.make()
    call = jit.trace(_step(model, network))

    def run(feed: Arrays) -> Any:
        tl.manual_seed(SEED)
        return _arrays(call(*_given(feed, False)))

    for feed in feeds:
        run(feed)
    return [run(feed) for feed in feeds]


def _specs(model: Model) -> list[Any]:
    return [
        jit.InputSpec(shape, model.dtype(name), name) for name, (shape, _) in model.inputs.items()
    ]


def traced_symbolically(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    network = model.make()
    call = jit.trace(network, symbolic=True, input_spec=_specs(model))
    return [_called(model, network, call, feed) for feed in feeds]


def converted(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """`to_static`, with its sizes left open."""
    network = model.make()
    call = jit.to_static(network, input_spec=_specs(model))
    return [_called(model, network, call, feed) for feed in feeds]


def converted_by_calls(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """`to_static` of what it is called with."""
    network = model.make()
    call = jit.to_static(network)
    return [_called(model, network, call, feed) for feed in feeds]


class Built(NamedTuple):
    """A static program, and what is asked of it."""

    main: Any
    results: list[Any]
    scope: Any


def built(model: Model) -> Built:
    """A program by `append_backward`, its states with values in a scope."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        network = model.make()
        static.keep(network)
        xs: list[Any] = [
            tl.Tensor(static.data(name, shape, model.dtype(name)))
            for name, (shape, _) in model.inputs.items()
        ]
        for x in xs:
            if x.dtype.kind == "floating" and model.has_gradient:
                x.requires_grad = True
        call = jit.to_static(network) if model.decides else network
        results = _leaves(call(*xs))
        if model.has_gradient:
            results += _slopes(results[0], network, xs)
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    return Built(main, results, scope)


def _run(program: Any, feeds: list[Arrays], results: list[Any], scope: Any) -> list[list[Any]]:
    found = []
    for feed in feeds:
        tl.manual_seed(SEED)
        found.append(static.Executor().run(program, feed, results, scope=scope))
    return found


def program(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    main, results, scope = built(model)
    return _run(main, feeds, results, scope)


def compiled(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """All passes."""
    main, results, scope = built(model)
    return _run(static.CompiledProgram(main), feeds, results, scope)


def compiled_freely(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """All passes, identities of real numbers too, and states as constants."""
    main, results, scope = built(model)
    return _run(static.CompiledProgram(main, opt_level=2, scope=scope), feeds, results, scope)


def _name(variable: Any) -> str:
    """Of what is a result, perhaps several times."""
    return str(list(layers(variable))[-1].name)


def loaded(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """A program that was saved."""
    main, results, scope = built(model)
    static.save(main, folder / "program.tlp", results, scope)
    other = static.Scope()
    again = static.load(folder / "program.tlp", other)
    names = [_name(x) for x in results]
    return _run(again, feeds, [again.results[name] for name in names], other)


def translated(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """A layer that `jit.save` wrote, differentiated."""
    network = model.make()
    jit.save(
        jit.to_static(network) if model.decides else network, folder / "layer.tlp", _specs(model)
    )
    again = jit.load(folder / "layer.tlp")
    return [_called(model, again, again, feed) for feed in feeds]


def _used(proto: Any, feed: Arrays) -> Arrays:
    return {x.name: feed[x.name] for x in proto.graph.input if x.name in feed}


def _proto(model: Model) -> Any:
    main, results, scope = built(model)
    named = {f"y{i}": x for i, x in enumerate(results)}
    return onnx.to_model(main, results=named, scope=scope, draws=model.draws)


def by_onnxruntime(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """The program with its gradients as a model of ONNX."""
    proto = _proto(model)
    session = session_of(proto)
    return [session.run(None, _used(proto, feed)) for feed in feeds]


def from_onnx(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """The same model, read again."""
    proto = _proto(model)
    again = onnx.load(proto)
    return [_arrays(again.named(_used(proto, feed)).values()) for feed in feeds]


def by_tl_run(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """The saved program, without Python."""
    main, results, scope = built(model)
    static.save(main, folder / "program.tlp", results, scope)
    data = (folder / "program.tlp").read_bytes()
    words = ["--seed", str(SEED)]
    found = []
    for i, feed in enumerate(feeds):
        more = ["--compile"] if i % 2 else []
        by_name = results_of(run_path(), folder, data, feed, *words, *more)
        found.append([by_name[_name(x)] for x in results])
    return found


def onnx_by_tl_run(model: Model, feeds: list[Arrays], folder: Path) -> list[list[Any]]:
    """The model of ONNX, without Python."""
    proto = _proto(model)
    return [run_model(proto, folder, _used(proto, feed))[1] for feed in feeds]


FORMS: dict[str, Callable[[Model, list[Arrays], Path], list[list[Any]]]] = {
    form.__name__: form
    for form in (
        lazy, in_another_thread, traced, traced_step, traced_symbolically, converted,
        converted_by_calls, program, compiled, compiled_freely, loaded, translated, by_onnxruntime,
        from_onnx, by_tl_run, onnx_by_tl_run,
    )
}  # fmt: skip


def _functional(model: Model, network: Any, wrap: Any, feed: Arrays) -> tuple[Any, Any]:
    """The loss as a function of parameters and floating-point inputs, and these."""
    state = {name: x.detach() for name, x in sorted(network.named_parameters()) if x.requires_grad}
    xs = _given(feed, False)
    moving = [i for i, x in enumerate(xs) if x.dtype.kind == "floating"]

    def loss(state: Any, given: Any) -> Any:
        every = list(xs)
        for i, x in zip(moving, given, strict=True):
            every[i] = x
        tl.manual_seed(SEED)
        return called(state, every)

    @wrap
    def called(state: Any, every: Any) -> Any:
        return _leaves(tl.nn.functional_call(network, state, *every))[0]

    return loss, (state, [xs[i] for i in moving])


def _directions(given: Any) -> Any:
    rng = np.random.default_rng(5)
    state, xs = given

    def one(x: Any) -> Any:
        return tl.tensor(rng.standard_normal(x.shape).astype(x.dtype.name))

    return {name: one(x) for name, x in state.items()}, [one(x) for x in xs]


def transformed(model: Model, feed: Arrays, wrap: Callable[[Any], Any]) -> dict[str, list[Any]]:
    """What transforms around a network, or what `wrap` makes of it, give."""
    network = model.make()
    loss, given = _functional(model, network, wrap, feed)
    moved = _directions(given)
    found: dict[str, list[Any]] = {}
    found["grad"] = _flat(tl.grad(loss, argnums=(0, 1))(*given))
    found["jvp"] = _flat(tl.jvp(loss, given, moved))

    def stacked(a: Any, b: Any) -> Any:
        return tl.stack([a, b, a + 0.1 * b])

    several = (
        {name: stacked(x, moved[0][name]) for name, x in given[0].items()},
        [stacked(x, dx) for x, dx in zip(given[1], moved[1], strict=True)],
    )
    if not model.draws:
        found["vmap"] = _flat(tl.vmap(loss)(*several))
        found["vmap of grad"] = _flat(tl.vmap(tl.grad(loss, argnums=(0, 1)))(*several))
    if model.second:
        found["hvp"] = _flat(tl.jvp(tl.grad(loss, argnums=(0, 1)), given, moved)[1])
    return found


def _flat(tree: Any) -> list[Any]:
    if isinstance(tree, Mapping):
        return [leaf for one in tree.values() for leaf in _flat(one)]
    if isinstance(tree, tuple | list):
        return [leaf for one in tree for leaf in _flat(one)]
    return [] if tree is None else _arrays([tree])


def assert_close(found: list[Any], wanted: list[Any], tolerance: float, where: str) -> None:
    """Holds arrays against eager code's: their number, shapes, dtypes and elements."""
    assert len(found) == len(wanted), (where, len(found), len(wanted))
    for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
        x = np.asarray(x)
        assert (x.shape, x.dtype) == (y.shape, y.dtype), (
            where,
            i,
            x.shape,
            y.shape,
            x.dtype,
            y.dtype,
        )
        size = float(np.max(np.abs(y), initial=0)) if y.dtype.kind == "f" else 0
        np.testing.assert_allclose(
            x,
            y,
            tolerance,
            tolerance * (size if np.isfinite(size) else 1) + 1e-7,
            err_msg=f"{where} {i}",
        )
