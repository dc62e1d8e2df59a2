"""A function of one tensor in every form that a program of unknown sizes may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl
from tensorlike import Listing, jit, static
from tensorlike.imperative.levels import unwrapped


def of_listing(use: Any, shape: Any) -> Any:
    listing = Listing()
    y = use(tl.Tensor(listing.input("x", shape)))
    return lambda x: listing.run(y, x)


def of_bytes(use: Any, shape: Any) -> Any:
    listing = Listing()
    y = use(tl.Tensor(listing.input("x", shape)))
    again, (z,) = Listing.from_bytes(listing.to_bytes(y))
    return lambda x: again.run(z, x)


def _recorded(use: Any, shape: Any) -> tuple[Any, Any]:
    with static.program_guard(static.Program(), static.Program()) as main:
        y = use(tl.Tensor(static.data("x", shape)))
    return main, y


def of_static(use: Any, shape: Any) -> Any:
    main, y = _recorded(use, shape)
    exe = static.Executor()
    return lambda x: exe.run(main, feed={"x": x.numpy()}, fetch_list=[y])[0]


def of_copy(use: Any, shape: Any) -> Any:
    main, y = _recorded(use, shape)
    clone, exe = main.clone(), static.Executor()
    return lambda x: exe.run(clone, feed={"x": x.numpy()}, fetch_list=[unwrapped(y).name])[0]


def of_compiled(use: Any, shape: Any) -> Any:
    main, y = _recorded(use, shape)
    compiled, exe = static.CompiledProgram(main), static.Executor()
    return lambda x: exe.run(compiled, feed={"x": x.numpy()}, fetch_list=[y])[0]


def of_program_in_program(use: Any, shape: Any) -> Any:
    traced = jit.trace(input_spec=[jit.InputSpec(shape)])(use)
    listing = Listing()
    y = traced(tl.Tensor(listing.input("x", shape)))
    return lambda x: listing.run(y, x)


FORMS: dict[str, Callable[[Any, Any], Callable[..., Any]]] = {
    "listing": of_listing, "bytes": of_bytes, "static": of_static, "copy": of_copy,
    "compiled": of_compiled, "inside": of_program_in_program,
    "traced": lambda use, _: jit.trace(use),
    "traced with a spec": lambda use, shape: jit.trace(input_spec=[jit.InputSpec(shape)])(use),
    "converted": lambda use, shape: jit.to_static(input_spec=[jit.InputSpec(shape)])(use),
}  # fmt: skip
# What has one program for all sizes, and refuses those that it is not for.
ONE_PROGRAM = ("listing", "bytes", "static", "copy", "compiled", "inside")
