"""Files are written whole or not at all."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from support.apart import run_apart

import tensorlike as tl
from tensorlike.inspection.files import replace_file


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
