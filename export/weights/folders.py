"""Weights in several files: an index of JSON that says in which file each tensor lies.

Source: https://huggingface.co/docs/transformers/big_models, ``*.index.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .entries import Entry
from .files import RegularFile, refuse

MOST_INDEX = 100_000_000


def file_in(folder: Path) -> Path:
    """The file of a folder that has its weights: its only index, else its only file of weights."""
    for pattern in ("*.safetensors.index.json", "*.safetensors", "*.bin.index.json", "*.bin"):
        found = sorted(folder.glob(pattern))
        if len(found) == 1:
            return found[0]
        if found:
            raise refuse(
                str(folder), f"must have one {pattern}", f"{len(found)}", "give the path of a file"
            )
    raise refuse(str(folder), "must have weights", "no .safetensors and no .bin file")


def entries_of(
    file: RegularFile, entries_in: Callable[[str], dict[str, Entry]]
) -> dict[str, Entry]:
    """The tensors that an index names.

    Args:
        file: the index.
        entries_in: the tensors of a file.

    Raises:
        ArgumentError: it is no index, a file lies elsewhere, or has not what the index says.
    """
    places = _weight_map(file)
    shards = {
        shard: entries_in(_beside(file.path, shard)) for shard in sorted(set(places.values()))
    }
    for name, shard in places.items():
        if name not in shards[shard]:
            raise refuse(
                file.path, "must name tensors that are there", f"{name!r} of {shard!r}"[:160]
            )
    return {name: shards[shard][name] for name, shard in places.items()}


def _weight_map(file: RegularFile) -> dict[str, str]:
    if file.size > MOST_INDEX:
        raise refuse(file.path, f"must have {MOST_INDEX} bytes at most", f"{file.size}")
    data = file.read_at(0, file.size)
    try:
        index = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refuse(file.path, "must be JSON", type(error).__name__) from error
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict) or not all(isinstance(x, str) for x in places.values()):
        raise refuse(file.path, "must have a weight_map of names to files", "none")
    return places


def _beside(index: str, shard: str) -> str:
    """A shard's path: in the index's folder, or, links followed, in that of what it links to.

    So a link does not lead out; and the caches in which all files of a model are links into one
    folder can be read.
    """
    if shard in ("", ".", "..") or any(c in shard for c in "/\\\0"):
        raise refuse(index, "must name files beside it", repr(shard)[:80])
    path = Path(index).parent / shard
    allowed = {Path(index).parent.resolve(), Path(index).resolve().parent}
    if path.resolve().parent not in allowed:
        raise refuse(index, "must name files beside it", f"{shard!r}, a link elsewhere"[:80])
    return str(path)
