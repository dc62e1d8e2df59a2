"""Branches and loops: Cond, WhileLoop and ScanLoop as If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import _C
from ....imperative.control_flow import Cond
from ....imperative.loops import ScanLoop, WhileLoop
from ....imperative.row_branch import RowBranch
from ....imperative.sizes import Size
from ....imperative.sub_programs import Call
from .dtypes import element_type
from .graph import Graph, Value
from .site import Site, UnsupportedError


def write_control(site: Site) -> list[str] | None:
    """The node of an op of control flow; None for any other."""
    if isinstance(site.op, Cond):
        return _write_cond(site)
    if isinstance(site.op, WhileLoop):
        return _write_while(site)
    if isinstance(site.op, ScanLoop):
        return _write_scan(site)
    if isinstance(site.op, RowBranch):
        raise UnsupportedError("ONNX has no branch for each row", "compute both, and select: where")
    return None


def _given(call: Call, names: Sequence[str]) -> dict[int, Value]:
    """What a program is given, by the numbers of its variables."""
    program = call.program
    return {
        number: Value(name, program.dtype(number), program.shape(number))
        for number, name in zip(call.given, names, strict=True)
    }


def _body(site: Site, call: Call, graph: Graph, names: Sequence[str]) -> list[str]:
    """Writes a program into a graph; names of its own for the results."""
    found = site.writer.write(graph, call.program, _given(call, names), call.results)
    return graph.results(value.name for value in found)


def value_info(name: str, dtype: _C.dtype, shape: Sequence[Any] | None) -> Any:
    """What ONNX is told of an input or a result; sizes that are not known are left open."""
    from onnx import helper

    dims = None if shape is None else [None if isinstance(n, Size) else n for n in shape]
    return helper.make_tensor_value_info(name, element_type(dtype), dims)


def _graph_proto(name: str, graph: Graph, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    from onnx import helper

    return helper.make_graph(graph.nodes, name, list(inputs), list(outputs))


def _infos(names: Sequence[str], program: Any, numbers: Sequence[int]) -> list[Any]:
    return [
        value_info(name, program.dtype(n), program.shape(n))
        for name, n in zip(names, numbers, strict=True)
    ]


def _write_cond(site: Site) -> list[str]:
    protos = []
    for name, call in (("then", site.op.when_true), ("else", site.op.when_false)):
        inner = Graph(site.graph)
        results = _body(site, call, inner, site.names[1:])
        outputs = _infos(results, call.program, call.results)
        protos.append(_graph_proto(name, inner, (), outputs))
    return site.graph.node(
        "If", site.names[:1], site.op.count, then_branch=protos[0], else_branch=protos[1]
    )


def _write_while(site: Site) -> list[str]:
    op, graph, n = site.op, site.graph, site.op.count
    constants = site.names[n:]
    (first,) = _body(site, op.predicate, graph, site.names)
    inner = Graph(graph)
    step, before = inner.unique("step"), inner.unique("goes_on")
    carries = [inner.unique(f"carry_{i}") for i in range(n)]
    infos = [
        value_info(step, _C.int64, ()),
        value_info(before, _C.bool_, ()),
        *_infos(carries, op.body.program, op.body.given[:n]),
    ]
    found = _body(site, op.body, inner, [*carries, *constants])
    (goes_on,) = _body(site, op.predicate, inner, [*found, *constants])
    if goes_on in found:
        goes_on = inner.one("Identity", goes_on)
    outputs = [value_info(goes_on, _C.bool_, ()), *_infos(found, op.body.program, op.body.results)]
    limit = "" if op.limit is None else graph.scalar(op.limit)
    body = _graph_proto("body", inner, infos, outputs)
    return graph.node("Loop", [limit, first, *site.names[:n]], n, body=body)


def _write_scan(site: Site) -> list[str]:
    op, graph = site.op, site.graph
    n, m = op.carries, op.rows
    inner = Graph(graph)
    taken = [inner.unique(f"carry_{i}" if i < n else f"row_{i - n}") for i in range(n + m)]
    infos = _infos(taken, op.body.program, op.body.given[: n + m])
    found = _body(site, op.body, inner, [*taken, *site.names[n + m :]])
    outputs = _infos(found, op.body.program, op.body.results)
    body = _graph_proto("body", inner, infos, outputs)
    flag = int(op.reverse)
    return graph.node(
        "Scan", site.names[: n + m], op.count, body=body, num_scan_inputs=m,
        scan_input_directions=[flag] * m, scan_output_directions=[flag] * (op.count - n),
    )  # fmt: skip
