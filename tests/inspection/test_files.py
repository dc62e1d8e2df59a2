"""Files are written whole or not at all."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.apart import run_apart

import tensorlike as tl
from tensorlike.inspection.files import path_of, replace_file


def test_a_file_is_replaced_with_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    replace_file(tmp_path / "link.txt", b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_what_is_no_file_is_written_to_as_it_is() -> None:
    replace_file("/dev/null", b"new")
    assert not Path("/dev/null").is_file()


SAVES: dict[str, str] = {
    "profile": "p = tl.profile(); p.__enter__(); tl.ones(2) + 1; p.__exit__(None, None, None)\n"
    "save = p.save",
    "drawing": "from tensorlike.inspection.drawing import draw\n"
    "save = lambda path: draw('digraph G {\\n' + ' ' * 500 + '}\\n', path)",
}


@pytest.mark.parametrize(("name", "ending"), [("profile", "json"), ("drawing", "dot")])
def test_a_full_disk_leaves_the_old_file(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"old.{ending}"
    path.write_text("old")
    run_apart(
        f"""
{SAVES[name]}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))  # as a disk that is full after 20 bytes
try:
    save({str(path)!r})
except OSError:
    pass
else:
    raise AssertionError("the disk was not full")
"""
    )
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("save", [lambda p: tl.profile().save(p)])
def test_a_folder_that_is_missing_is_an_error(save: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "missing" / "a.json")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 20


NO_PATHS = (77, True, b"a", None, 1.5, ["a"], "a\0b", "\ud800", object())


def _readers() -> dict[str, Callable[[object], object]]:
    def read(path: object) -> object:
        return tl.static.load_inference_model(path, tl.static.Executor())  # type: ignore[arg-type]

    readers: dict[str, Callable[[object], object]] = {
        "read_weights": tl.export.read_weights,  # type: ignore[dict-item]
        "load_weights": lambda path: tl.export.load_weights(tl.nn.Linear(1, 1), path),  # type: ignore[arg-type]
        "static.load": tl.static.load,  # type: ignore[dict-item]
        "jit.load": tl.jit.load,  # type: ignore[dict-item]
        "load_inference_model": read,
    }
    if find_spec("onnx") is not None:
        readers["onnx.load"] = tl.export.onnx.load
    return readers


def _writers() -> dict[str, Callable[[object], object]]:
    program, layer = tl.static.Program(), tl.nn.Linear(1, 1)
    traced = tl.jit.trace(lambda x: x * 2)
    traced(tl.tensor(1.0))
    writers: dict[str, Callable[[object], object]] = {
        "static.save": lambda path: tl.static.save(program, path),  # type: ignore[arg-type]
        "save_inference_model": lambda path: tl.static.save_inference_model(path, [], [], program),  # type: ignore[arg-type]
        "jit.save": lambda path: tl.jit.save(traced, path),  # type: ignore[arg-type]
        "save_weights": lambda path: tl.export.save_weights(layer, path),  # type: ignore[arg-type]
        "draw": tl.Listing().draw,  # type: ignore[dict-item]
    }
    if find_spec("onnx") is not None:
        writers["onnx.save"] = lambda path: tl.export.onnx.save(program, path)  # type: ignore[arg-type]
    return writers


@pytest.mark.parametrize("name", [*_readers(), *_writers()])
def test_what_is_no_path_is_refused_in_our_words(name: str, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    call = {**_readers(), **_writers()}[name]
    for path in NO_PATHS:
        with pytest.raises(tl.TensorlikeError, match=r"must be"):
            call(path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", _readers())
def test_what_has_no_end_is_not_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "__model__.tlp").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    path = folder if name == "load_inference_model" else "/dev/zero"
    with pytest.raises(tl.ArgumentError, match="must be a regular file"):
        _readers()[name](path)
    if path != folder:
        with pytest.raises(tl.ArgumentError, match="must be a regular file"):
            _readers()[name](tmp_path / "pipe")


def test_a_path_may_raise_what_it_likes() -> None:
    class Own(Exception):
        pass

    class Path:
        def __fspath__(self) -> str:
            raise Own

    with pytest.raises(Own):
        path_of(Path(), "load")


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        replace_file(tmp_path / "none" / "x.txt", b"new")
    assert caught.value.filename == str(tmp_path / "none" / "x.txt")
