"""read_weights: which form a file has is told by its bytes, not by its name."""

from __future__ import annotations

import os

from ...imperative.naming import named
from ...inspection.files import path_of
from . import folders, numpy_file, safetensors_file
from .archives import Archive
from .entries import Entry, Weights
from .files import RegularFile, refuse
from .torch_file import TorchFile, is_torch

# How files of torch.save began before PyTorch 1.6: a pickle of the number 0x1950a86a20f9469cfc6c.
OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


@named
def read_weights(path: str | os.PathLike[str]) -> Weights:
    """The tensors of a file that somebody else has written, by their names, read when asked for.

    No file can run code: a pickle of PyTorch's is read by a machine that knows tensors, containers,
    numbers and texts, and refuses all else by its name. Memory stays within the file's own size,
    but for compressed ``.npz`` files: these may expand to 64 times their size, or 1 GiB.

    Args:
        path: a file of safetensors; an index ``*.index.json`` of several files, which must lie
            beside it; a folder with one of these; a zip file of PyTorch's (``.pt``, ``.pth``,
            ``.bin``), where keys of nested containers are joined by dots; ``.npz``; or ``.npy``,
            whose array is called "array".

    Returns:
        A mapping of names to tensors. Its `shape(name)` and `dtype(name)` read none.

    Raises:
        ArgumentError: the file is damaged, of another form, holds more than tensors, or names files
            that do not lie beside it.
        OSError: it cannot be opened.

    Source:
        https://github.com/huggingface/safetensors;
        https://docs.pytorch.org/docs/stable/notes/serialization.html;
        https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.

    Example:
        >>> import os, tempfile
        >>> import tensorlike as tl
        >>> layer = tl.nn.Linear(2, 3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "linear.safetensors")
        ...     tl.export.save_weights(layer, path)
        ...     print(tl.export.read_weights(path))
        bias: float32(3,)
        weight: float32(3, 2)
    """
    place = path_of(path, "read_weights")
    if place.is_dir():
        place = folders.file_in(place)
    if place.name.endswith(".index.json"):
        index = RegularFile(place)
        return Weights(index.path, folders.entries_of(index, _entries_in))
    return Weights(str(place), _entries_in(str(place)))


def _entries_in(path: str) -> dict[str, Entry]:
    """The tensors of one file."""
    file = RegularFile(path)
    head = file.read_at(0, min(file.size, len(OLD_TORCH)))
    if head.startswith(numpy_file.MAGIC):
        return {"array": numpy_file.entry_of(file)}
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        archive = Archive(file)
        if is_torch(archive):
            return TorchFile(path, archive).entries()
        return numpy_file.entries_of(path, archive)
    if head == OLD_TORCH:
        raise refuse(
            path, "must be a zip file of PyTorch's",
            "one of PyTorch before 1.6, or of torch.save(_use_new_zipfile_serialization=False)",
            "write it again: torch.save(torch.load(old, weights_only=True), new)",
        )  # fmt: skip
    is_json = head[8:9] == b"{"  # as a header's length these bytes may be anything
    if head[:1] == b"\x80" and head[1:2] <= b"\x05" and not is_json:
        raise refuse(
            path, "must hold tensors alone", "a pickle, which may hold anything",
            "save the tensors by torch.save, np.savez, or as safetensors",
        )  # fmt: skip
    return safetensors_file.entries_of(file)
