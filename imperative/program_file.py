"""Programs as bytes and back: JSON, with a version, that is checked as it is read.

A file is a list of lines in the order of the program. Each makes the variables that later lines
name by their numbers: an input, a captured array, or the results of an op. Ops are written as
`ops.serialize` writes them; declarations that they were made by stand once, at the top. Reading
adds the ops again, so that shapes and dtypes are inferred, and must be those that were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _C
from ..ops.serialize import deserialize, serialize
from .sizes import Size

if TYPE_CHECKING:
    from .symbolic import Listing

_FORM = "tensorlike program"
_VERSION = 1
# What reading hostile bytes, and adding ops that they name, may raise.
_MISTAKES = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError)


def write(program: Listing, results: Sequence[int]) -> bytes:
    """The program, and the variables that are its results.

    Raises:
        ParameterError: a captured value is no array, or an op cannot be written.
    """
    import json  # only here: importing the package needs none

    return json.dumps({"form": _FORM, **_Writer(program).record(results)}).encode()


def read(data: bytes, empty: Listing) -> tuple[int, ...]:
    """Adds what `write` wrote to an empty program.

    Returns:
        The numbers of the results.

    Raises:
        ArgumentError: the bytes are no program, or one that this process cannot make.
    """
    import json

    try:
        record = json.loads(data)
        if record["form"] != _FORM:
            raise ValueError(f"the form must be {_FORM!r}")
        if record["version"] != _VERSION:
            raise ValueError(f"version {_VERSION} can be read, not {record['version']!r}")
        return _Reader(empty, record).read()
    except (*_MISTAKES, RecursionError, MemoryError) as error:
        text = str(error) or type(error).__name__
        raise _C.ArgumentError(
            f"the bytes are not a program that can be read ({text[:300]})", op="Listing.from_bytes"
        ) from None


class _Writer:
    def __init__(self, program: Listing) -> None:
        self.program = program
        self.declarations: list[Any] = []

    def record(self, results: Sequence[int]) -> dict[str, Any]:
        steps = {step[2][0]: step for step in self.program.steps()}
        lines = []
        for number, (name, role, value) in enumerate(self.program.variables()):
            if role == "input":
                lines.append({"input": name, **self._kind(number)})
            elif role == "captured":
                lines.append({"captured": name, "array": self._array(name, value)})
            elif number in steps:
                lines.append(self._op(*steps[number]))
        sizes = [name for name, _, _ in self.program.sizes()]
        return {
            "version": _VERSION,
            "declarations": self.declarations,
            "sizes": sizes,
            "lines": lines,
            "results": list(results),
            "guards": [list(guard) for guard in self.program.guards()],
            "parts": {name: _Writer(part).record(()) for name, part in self.program.parts.items()},
        }

    def _kind(self, number: int) -> dict[str, Any]:
        # By their numbers: a comparison of sizes would be remembered as a condition.
        known: list[Any] = [self.program.shape(x)[i] for _, x, i in self.program.sizes()]
        places = {size.first: i for i, size in enumerate(known)}
        sizes: tuple[Any, ...] = self.program.shape(number)
        shape = [{"size": places[size.first]} if isinstance(size, Size) else size for size in sizes]
        return {"shape": shape, "dtype": self.program.dtype(number).name}

    def _array(self, name: str, value: Any) -> Any:
        from ..ops.arrays import to_json

        if not isinstance(value, _C.RawTensor):
            raise _C.ParameterError(
                f"the captured value {name} must be an array", op="to_bytes",
                got=f"a {type(value).__name__}", fix="give it as an input",
            )  # fmt: skip
        return to_json(value)

    def _op(
        self,
        op: Any,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        place: str,
        sizes: dict[str, Any],
    ) -> dict[str, Any]:
        import json

        if sizes:  # it is written with numbers in their place
            op = type(op)(**{**op.params(), **{name: _stand_in(x) for name, x in sizes.items()}})
        written = json.loads(serialize(op))
        for declaration in written.pop("declarations", ()):
            if declaration not in self.declarations:
                self.declarations.append(declaration)
        names = self.program.variables()
        line: dict[str, Any] = {
            "op": written,
            "inputs": list(inputs),
            "outputs": [[names[i][0], self.program.describe(i)] for i in outputs],
            "line": place,
        }
        if sizes:
            line["sizes"] = sizes
        return line


class _Reader:
    def __init__(self, program: Listing, record: dict[str, Any]) -> None:
        from ..ops.sources import restore

        self.program = program
        self.record = record
        self.sizes: list[Any] = [name or None for name in record["sizes"]]
        restore(record["declarations"])

    def read(self) -> tuple[int, ...]:
        for line in self.record["lines"]:
            if "input" in line:
                self._input(line)
            elif "captured" in line:
                self._captured(line)
            else:
                self._op(line)
        count = len(self.program.variables())
        for name, record in self.record["parts"].items():
            part = type(self.program)()
            _Reader(part, record).read()
            self.program.add_part(name, part)
        for a, b, how, answer, place in self.record["guards"]:
            if how not in ("==", "<", "<=") or not isinstance(answer, bool):
                raise ValueError(f"{how!r} must be ==, < or <=, and its answer a boolean")
            self.program.require(self._number(a), self._number(b), how, answer, _text(place))
        results = tuple(self.record["results"])
        if not all(type(number) is int and 0 <= number < count for number in results):
            raise ValueError("results must be numbers of variables")
        return results

    def _input(self, line: dict[str, Any]) -> None:
        shape = [
            self.sizes[_index(size["size"])] if isinstance(size, dict) else size
            for size in line["shape"]
        ]
        number = self.program.add_input(_text(line["input"]), shape, _text(line["dtype"]))
        for i, size in enumerate(line["shape"]):
            if isinstance(size, dict):  # from here on it is that of this input
                self.sizes[size["size"]] = self.program.shape(number)[i]

    def _captured(self, line: dict[str, Any]) -> None:
        from ..ops.arrays import from_json

        self.program.capture(from_json(line["array"]), _text(line["captured"]))

    def _op(self, line: dict[str, Any]) -> None:
        import json

        op = deserialize(json.dumps(line["op"]).encode())
        if sizes := line.get("sizes"):
            params = {**op.params(), **{name: self._size(value) for name, value in sizes.items()}}
            op = type(op)(**params)
        inputs = [_index(number) for number in line["inputs"]]
        outputs = self.program.append(op, inputs, None, _text(line["line"]))
        written = line["outputs"]
        if len(outputs) != len(written):
            raise ValueError(f"{op} has {len(outputs)} results, not {len(written)}")
        for number, (name, kind) in zip(outputs, written, strict=True):
            self.program.rename(number, _text(name))
            if self.program.describe(number) != kind:
                found = self.program.describe(number)
                raise ValueError(f"{name} is {found}, where {kind!r} was written")

    def _number(self, value: Any) -> int:
        size = self._size(value)
        return size.first if isinstance(size, Size) else _index(size, least=None)

    def _size(self, value: Any) -> Any:
        """An attribute that follows from unknown sizes."""
        if not isinstance(value, list):
            return _index(value, least=None)
        kind, *parts = value
        if kind == "size":
            variable, dimension = map(_index, parts)
            return self.program.shape(variable)[dimension]
        made = [self._size(part) for part in parts[0]]
        if kind == "tuple":
            return tuple(made)
        if kind == "float":
            (size,) = made
            return Size(size.first, size.second, self.program, is_float=True)
        first, second = made
        if kind not in ("add", "multiply"):
            raise ValueError(f"{kind!r} must be add or multiply")
        return first + second if kind == "add" else first * second


def _stand_in(expression: Any) -> Any:
    if not isinstance(expression, tuple) or expression[0] not in ("tuple", "float"):
        return 1
    return 1.0 if expression[0] == "float" else (1,) * len(expression[1])


def _index(value: Any, least: int | None = 0) -> int:
    if type(value) is not int or (least is not None and value < least):
        raise TypeError(f"{value!r:.40} must be a number of a variable, a dimension or a size")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} must be text")
    return value
