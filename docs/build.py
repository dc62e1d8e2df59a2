"""Writes the reference: a page for each public function, and the table of their names elsewhere.

    python docs/build.py docs/reference

Pages are the functions' docstrings. The names in NumPy and PyTorch are looked up: a function of the
same name, unless NAMES below says that it is called otherwise or means something else there. What
PyTorch has is listed in torch_names.txt, so that the pages can be written without it:

    python docs/build.py --torch-names
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl

HERE = Path(__file__).parent
MODULES = ("functional", "linalg", "fft", "random")
SECTIONS = ("Args", "Returns", "Raises", "Source", "Example", "Yields")
NUMPY = {"": np, "linalg": np.linalg, "fft": np.fft, "random": np.random}
TORCH = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
# Ours: (NumPy's, PyTorch's), where they differ; "" where there is none.
NAMES: dict[str, tuple[str, str]] = {
    "array_equal": ("array_equal", "torch.equal"),
    "astype": ("ndarray.astype", "Tensor.to"),
    "attention": ("", "torch.nn.functional.scaled_dot_product_attention"),
    "beta": ("random.beta", "torch.distributions.Beta"),
    "bitwise_invert": ("bitwise_invert", "torch.bitwise_not"),
    "broadcast_arrays": ("broadcast_arrays", "torch.broadcast_tensors"),
    "clip": ("clip", "torch.clamp"),
    "cumulative_max": ("", "torch.cummax"),
    "cumulative_min": ("", "torch.cummin"),
    "cumulative_prod": ("cumulative_prod", "torch.cumprod"),
    "cumulative_sum": ("cumulative_sum", "torch.cumsum"),
    "equal": ("equal", "torch.eq"),
    "expand_dims": ("expand_dims", "torch.unsqueeze"),
    "exponential": ("random.exponential", "torch.distributions.Exponential"),
    "gamma": ("random.gamma", "torch.distributions.Gamma"),
    "grad": ("", "torch.func.grad"),
    "log_sigmoid": ("", "torch.nn.functional.logsigmoid"),
    "max": ("max", "torch.amax"),
    "min": ("min", "torch.amin"),
    "matrix_transpose": ("matrix_transpose", "Tensor.mT"),
    "pad": ("pad", "torch.nn.functional.pad"),
    "permutation": ("random.permutation", "torch.randperm"),
    "permute_dims": ("permute_dims", "torch.permute"),
    "put_along_axis": ("put_along_axis", "torch.scatter"),
    "repeat": ("repeat", "torch.repeat_interleave"),
    "searchsorted": ("searchsorted", "torch.searchsorted"),
    "segment_sum": ("", "torch.segment_reduce"),
    "split": ("split", "torch.split"),
    "take_along_axis": ("take_along_axis", "torch.take_along_dim"),
    "to_device": ("", "Tensor.to"),
    "uniform": ("random.uniform", "torch.rand"),
    "unique_all": ("unique_all", "torch.unique"),
    "unique_counts": ("unique_counts", "torch.unique"),
    "unique_inverse": ("unique_inverse", "torch.unique"),
    "unique_values": ("unique_values", "torch.unique"),
    "unstack": ("unstack", "torch.unbind"),
    "vjp": ("", "torch.func.vjp"),
}


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the top level, then those of its modules that are not there."""
    seen = set()
    for prefix, module in [("", tl), *((f"{m}.", getattr(tl, m)) for m in MODULES)]:
        for name in sorted({*vars(module), *dir(module)}):  # some are loaded when asked for
            function = getattr(module, name)
            is_function = callable(function) and not isinstance(function, type)
            if name.startswith("_") or not is_function or id(function) in seen:
                continue
            if inspect.getdoc(function):
                seen.add(id(function))
                yield prefix + name, function


def signature(function: Callable[..., Any]) -> str:
    declared = getattr(function, "text_signature", None)
    if isinstance(declared, str):
        return declared[declared.index("(") :]
    try:
        text = str(inspect.signature(function))
    except ValueError:  # of the C++ module: the docstring begins with it
        text = re.sub(r"^\w+|\n.*", "", function.__doc__ or "", flags=re.DOTALL)
    return re.sub(r"'(\w+)'", r"\1", text)


def page(name: str, function: Callable[..., Any]) -> str:
    """The docstring as Markdown: sections as bold words, arguments as a list, examples as code."""
    lines = [f"# {name}", "", "```python", f"tl.{name}{signature(function)}", "```", ""]
    section = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            if section == "Example":
                lines.append("```")
            section = line[:-1]
            lines += ["", f"**{section}**", ""]
            if section == "Example":
                lines.append("```pycon")
        elif section in ("Args", "Raises"):
            item = re.match(r"    (\*{0,2}\w+): (.*)", line)
            lines.append(f"- `{item[1]}`: {item[2]}" if item else f"  {line.strip()}")
        elif section == "Example":
            lines.append(line[4:])
        else:
            lines.append(line.strip() if section else line)
    if section == "Example":
        lines.append("```")
    return "\n".join(lines).rstrip() + "\n"


def numpy_name(name: str) -> str:
    module, _, own = name.rpartition(".")
    wanted = NAMES[own][0] if own in NAMES else own
    if "." in wanted or not wanted:
        return f"np.{wanted}" if wanted else ""
    for place in dict.fromkeys((module if module in NUMPY else "", "")):
        if hasattr(NUMPY[place], wanted):
            return f"np.{place}.{wanted}" if place else f"np.{wanted}"
    return ""


def torch_name(name: str, known: set[str]) -> str:
    module, _, own = name.rpartition(".")
    if own in NAMES:
        return NAMES[own][1]
    places = [f"torch.{module}"] if module in ("linalg", "fft") else []
    found = [f"{place}.{own}" for place in (*places, *TORCH) if f"{place}.{own}" in known]
    return found[0] if found else ""


def standard_names() -> set[str]:
    """What the Array API standard has, as its own namespace says."""
    strict = importlib.import_module("array_api_strict")
    names = set(strict.__all__)
    for module in ("linalg", "fft"):
        names |= {f"{module}.{name}" for name in getattr(strict, module).__all__}
    return names


def table(names: list[str]) -> str:
    standard = standard_names()
    known = set((HERE / "torch_names.txt").read_text().split())
    lines = [
        "# Functions", "",
        f"{len(names)} functions, and what they are called elsewhere; the Array API standard is "
        "that of 2025.12.", "",
        "| tensorlike | Array API | NumPy | PyTorch |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    for name in names:
        own = name.removeprefix("functional.") if name.startswith("functional.") else name
        cells = [
            f"[{name}](functions/{name}.md)",
            f"`{own}`" if own in standard else "",
            *(f"`{other}`" if other else "" for other in (numpy_name(own), torch_name(own, known))),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def build(folder: Path) -> list[str]:
    """Writes all pages; the names of the functions."""
    functions = dict(public_functions())
    pages = folder / "functions"
    pages.mkdir(parents=True, exist_ok=True)
    for name, function in functions.items():
        (pages / f"{name}.md").write_text(page(name, function))
    (folder / "functions.md").write_text(table(list(functions)))
    return list(functions)


def write_torch_names() -> None:
    names = []
    for place in TORCH:
        module: types.ModuleType = importlib.import_module(place)
        names += [f"{place}.{n}" for n in dir(module) if not n.startswith("_")
                  and callable(getattr(module, n)) and n[0].islower()]  # fmt: skip
    (HERE / "torch_names.txt").write_text("\n".join(sorted(names)) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=HERE / "reference", type=Path)
    parser.add_argument("--torch-names", action="store_true", help="list what PyTorch has")
    options = parser.parse_args()
    if options.torch_names:
        write_torch_names()
    else:
        print(f"{len(build(options.folder))} pages in {options.folder}")
