"""Good calls of what is no function of a module: classes, their methods, layers, transforms.

They are made as those of functions are, from the documented example: of a class, the call that
makes one; of a layer, also the call of what was made; of a method, the call on the example's
object, of which every call gets a copy. A method without an example of its own is called as the
function of its name is.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import doctest
import inspect
import io
from collections.abc import Callable, Iterator
from typing import Any

import tensorlike as tl
from support.hostile import Good, good_calls, keywords_of, value_of

# What acts on the process or a file, waits, or is a way to begin (`with`), not a call.
LEFT_OUT = {
    "engine.mode", "memory.set_limit", "Tape.draw", "profile.save", "Tensor.to_device",
    "TensorlikeError",
}  # fmt: skip


def public(module: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        if not name.startswith("_"):
            yield name, getattr(module, name)


def classes() -> Iterator[tuple[str, type]]:
    """The public classes, each once, but for the exceptions."""
    seen: set[int] = set()
    rooms = (("", tl), ("nn.", tl.nn), ("optim.", tl.optim), ("random.", tl.random))
    for prefix, module in (
        *rooms,
        ("engine.", tl.engine),
        ("nn.initializers.", tl.nn.initializers),
    ):
        for name, value in public(module):
            is_class = isinstance(value, type) and not issubclass(value, BaseException)
            if is_class and id(value) not in seen and prefix + name not in LEFT_OUT:
                seen.add(id(value))
                yield prefix + name, value


def small_modules() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of modules that `hostile.functions` leaves out."""
    names = ("engine", "memory", "autograd", "special")  # testing runs what it is given
    for module in (*((name, getattr(tl, name)) for name in names), ("nn", tl.nn)):
        for name, value in public(module[1]):
            if callable(value) and not isinstance(value, type):
                label = f"{module[0]}.{name}"
                if label not in LEFT_OUT and getattr(value, "__module__", "") != "typing":
                    yield label, value


def noted(label: str, doc: str, wanted: Callable[[ast.Call], str | None]) -> list[Any]:
    """(kind, receiver, args, kwargs) of the first call of each kind that a documentation makes.

    `wanted` says of a call of which kind it is, or None.
    """
    space: dict[str, Any] = {"tl": tl, "F": tl.functional, "nn": tl.nn}
    found: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(doc):
        for node in ast.walk(ast.parse(example.source)):
            kind = wanted(node) if isinstance(node, ast.Call) else None
            if kind is None or kind in found:
                continue
            assert isinstance(node, ast.Call)
            receiver: list[ast.expr] = []
            if kind == "method" and isinstance(node.func, ast.Attribute):
                receiver = [node.func.value]
            if kind == "made":
                receiver = [node.func]
            note = ast.Call(ast.Name("_note", ast.Load()), [*receiver, *node.args], node.keywords)
            code = compile(
                ast.fix_missing_locations(ast.Expression(ast.copy_location(note, node))),
                label, "eval",
            )  # fmt: skip
            with contextlib.suppress(NameError):  # a variable of a comprehension
                args, kwargs = eval(code, space | {"_note": lambda *a, **k: (a, k)})
                first = args[: len(receiver)]
                found[kind] = (kind, first, args[len(receiver) :], kwargs)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, label, "exec"), space)
    return list(found.values())


def of_class(label: str, cls: type) -> Iterator[Good]:
    """The class's own call, and the call of what it makes."""
    name = label.rsplit(".", 1)[-1]

    def is_class(func: Any) -> bool:
        return name in (getattr(func, "attr", None), getattr(func, "id", None))

    def wanted(node: ast.Call) -> str | None:
        if is_class(node.func):
            return "class"
        return "made" if isinstance(node.func, ast.Call) and is_class(node.func.func) else None

    for kind, receiver, args, kwargs in noted(label, cls.__doc__ or "", wanted):
        if kind == "class":
            yield Good(label, cls, args, kwargs, keywords_of(cls))
        else:
            yield Good(f"{label}.__call__", _Copied(receiver[0], "__call__"), args, kwargs, ())


class _Copied:
    """Calls a method of a copy."""

    def __init__(self, receiver: Any, name: str) -> None:
        self.receiver, self.name = receiver, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        receiver = self.receiver
        with contextlib.suppress(Exception):  # what cannot be copied is used again
            receiver = copy.deepcopy(receiver)
        return getattr(receiver, self.name)(*args, **kwargs)


def of_methods(label: str, cls: type, functions: dict[str, Good]) -> Iterator[Good]:
    """The public methods."""
    for name, method in inspect.getmembers(cls, callable):
        whole = f"{label}.{name}"
        if name.startswith("_") or whole in LEFT_OUT or isinstance(method, type):
            continue
        shared = [base for base in cls.__mro__[1:] if base in OWN_METHODS]
        if any(getattr(base, name, None) is getattr(cls, name) for base in shared):
            continue  # which are called as those of the base

        def wanted(node: ast.Call, name: str = name) -> str | None:
            return "method" if getattr(node.func, "attr", None) == name else None

        doc = method.__doc__ or ""
        calls = []
        with contextlib.suppress(Exception):  # an example that needs what stands before it
            calls = noted(whole, doc, wanted)
        keywords = keywords_of(method)
        for _, receiver, args, kwargs in calls:
            named = tuple(word for word in keywords if word != "self")
            yield Good(whole, _Copied(receiver[0], name), args, kwargs, named)
        if not calls and issubclass(cls, tl.Tensor) and name in functions:
            same = functions[name]
            if same.args and isinstance(same.args[0], tl.Tensor):
                yield Good(whole, method, same.args, same.kwargs, same.keywords)


OWN_METHODS: tuple[type, ...] = (tl.nn.Layer, tl.Tensor, tl.optim.Optimizer)


def lying_functions() -> list[Callable[[], Any]]:
    """Makers of functions that a transform should not be given."""
    count = len(_functions())
    return [lambda i=i: _functions()[i] for i in range(count)]  # type: ignore[misc]


def _functions() -> tuple[Callable[..., Any], ...]:
    kept: list[Any] = []

    def keeps(*xs: Any) -> Any:
        kept[:] = [xs]
        return xs[0] if xs else None

    def gives_kept(*xs: Any) -> Any:
        return kept[0] if kept else None

    def changes(x: Any) -> Any:
        x[...] = x  # by what it was: others are given it, too
        return x

    def recurses(x: Any) -> Any:
        return recurses(x)

    def reenters(x: Any) -> Any:
        return tl.grad(lambda y: tl.functional.sum(y * x))(x)

    def backward(x: Any) -> Any:
        y = tl.functional.sum(x * x)
        y.backward()
        return y

    def many(*xs: Any) -> Any:
        return {"a": xs, "b": [1, "two", None]}

    def raises(*xs: Any) -> Any:
        raise ValueError("a function of the user's: this is its own error")

    def seeds(x: Any) -> Any:
        return tl.functional.sum(x) + np_like(x)

    def np_like(x: Any) -> Any:
        import numpy as np

        return np.asarray(x)

    given = (keeps, gives_kept, changes, recurses, reenters, backward, many, raises, seeds)
    simple: tuple[Callable[..., Any], ...] = (
        lambda *xs: None, lambda *xs: 7, lambda *xs: "text", lambda *xs: xs, lambda: 1.0,
        lambda *xs: lying_functions, lambda x: x > 0, lambda x: tl.functional.astype(x, "int64"),
        lambda x: tl.zeros((0,)), lambda x: x.detach(), lambda x: [x, [x, (x,)]],
    )  # fmt: skip
    return (*given, *simple)


# Calls of what has no example.
PLAIN: tuple[tuple[str, Callable[..., Any], tuple[Any, ...], tuple[str, ...]], ...] = (
    ("RawTensor", tl.RawTensor, ([1.0, 2.0],), ("data", "dtype")),
    ("ShapeTensor", tl.ShapeTensor, ((2, 3), tl.float32), ("shape", "dtype")),
    ("random.Key", tl.random.Key, (7,), ("seed",)),
    ("random.key", tl.random.key, (7,), ("seed",)),
    ("random.split", tl.random.split, (tl.random.key(7), 2), ("key", "count")),
    ("random.fold_in", tl.random.fold_in, (tl.random.key(7), 2), ("key", "data")),
)


def object_calls() -> list[Good]:
    """All of them, in order of names."""
    functions = {good.name.rsplit(".", 1)[-1]: good for good in good_calls()}
    found = [Good(name, call, args, {}, keywords) for name, call, args, keywords in PLAIN]
    for label, cls in classes():
        found += of_class(label, cls)
        found += of_methods(label, cls, functions)
    for label, function in small_modules():
        from support.hostile import from_example

        with contextlib.suppress(Exception):
            good = from_example(label, function)
            found += [good] if good is not None else []
    return sorted(filter(is_repeatable, found), key=lambda good: good.name)


def is_repeatable(good: Good) -> bool:
    """Whether it works, and again: `backward` uses its graph up, others need their example."""
    try:
        return bool(value_of(good) == value_of(good))
    except Exception:
        return False
