"""The reference: a page for every public function, and what each is called elsewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support import hostile

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("reference")
    builder.build(made)
    return made


def test_every_public_function_has_a_page_and_a_row(folder: Path) -> None:
    table = (folder / "functions.md").read_text()
    for name, function in hostile.functions():
        if function.__doc__:
            text = (folder / "functions" / f"{name}.md").read_text()
            assert text.startswith(f"# {name}\n"), name
            assert f"[{name}](functions/{name}.md)" in table, name


def test_pages_have_sections_and_closed_examples(folder: Path) -> None:
    text = (folder / "functions" / "linalg.solve.md").read_text()
    for part in ("**Args**", "- `", "**Raises**", "**Source**", "```pycon\n>>> "):
        assert part in text
    for path in (folder / "functions").iterdir():
        assert path.read_text().count("```") % 2 == 0, path.name


def test_names_elsewhere_are_real(folder: Path) -> None:
    known = set((ROOT / "docs" / "torch_names.txt").read_text().split())
    rows = (folder / "functions.md").read_text().splitlines()
    cells = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in rows if "](" in row]
    assert len(cells) > 350
    for name, standard, numpy_name, torch_name in cells:
        if numpy_name and not numpy_name.startswith("np.ndarray"):
            place = np
            for part in numpy_name.split(".")[1:]:
                assert hasattr(place, part), f"{name}: {numpy_name}"
                place = getattr(place, part)
        is_listed = not torch_name or torch_name in known
        assert is_listed or torch_name.startswith(
            ("Tensor.", "torch.func.", "torch.distributions.")
        )
        assert not standard or numpy_name or standard in ("isdtype",), name
