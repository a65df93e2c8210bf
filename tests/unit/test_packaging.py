"""What pyproject.toml promises is what the folders hold."""

from __future__ import annotations

import ast
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
FACE: Final = ROOT / "src" / "grille"
ROOMS: Final = ("policy", "pool", "worker")
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Distributions whose module has another name.
MODULE_OF: Final = {"google-re2": "re2"}


def places() -> list[tuple[str, Path]]:
    """Each top folder of the package under its dotted name, by its real path."""
    folders = [path for path in sorted(FACE.iterdir()) if path.is_dir() and not path.is_symlink()]
    own = [(f"grille.{path.name}", path) for path in folders]
    return [*own, *((f"grille.{room}", ROOT / room) for room in ROOMS)]


def packages_in_tree() -> set[str]:
    """The dotted name of every folder that holds a Python file."""
    found = {"grille"}
    for name, folder in places():
        for path in folder.rglob("*.py"):
            found.add(".".join((name, *path.parent.relative_to(folder).parts)))
    return found


def folder_of(package: str) -> Path:
    return ROOT.joinpath("src", *package.split("."))


def modules() -> list[Path]:
    """Every module of the package, each once and by its real path."""
    return [*FACE.glob("*.py"), *(path for _, folder in places() for path in sorted(folder.rglob("*.py")))]


def test_every_folder_with_code_is_listed() -> None:
    """A folder missing from `packages` would be missing from the wheel, though a checkout runs."""
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages_in_tree()


def test_the_list_of_packages_is_sorted() -> None:
    """Sorted and without repeats, so that a new line has one place."""
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert listed == sorted(set(listed))


@pytest.mark.parametrize("package", sorted(packages_in_tree() - {"grille"}))
def test_every_package_holds_an_init_file(package: str) -> None:
    """No folder is a namespace package: another distribution could add modules to one."""
    assert (folder_of(package) / "__init__.py").is_file()


def test_the_face_holds_just_the_three_links() -> None:
    """src/grille links to policy, pool and worker, relatively, so that a clone works wherever it lies."""
    links = {path.name: os.readlink(path) for path in FACE.iterdir() if path.is_symlink()}
    assert links == {room: f"../../{room}" for room in ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_a_real_folder_without_links(room: str) -> None:
    """The rooms lie at the top as folders; a link inside one would bring in code from elsewhere."""
    assert stat.S_ISDIR((ROOT / room).lstat().st_mode)
    assert [path for path in (ROOT / room).rglob("*") if path.is_symlink()] == []


def test_the_root_init_file_is_a_docstring() -> None:
    """Test runners import the root's __init__.py; code there would run under another name."""
    body = ast.parse((ROOT / "__init__.py").read_text("utf-8")).body
    assert [type(node) for node in body] == [ast.Expr]
    assert ast.get_docstring(ast.Module(body, [])) is not None


def test_the_types_are_shipped() -> None:
    """py.typed lies in the package and is named as package data."""
    assert (FACE / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["*"]


def imported_tops(path: Path) -> set[str]:
    """First names of all that a module imports from outside its own package."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_what_is_imported_is_declared() -> None:
    """Shipped code imports the standard library and the declared dependencies, and nothing else."""
    names = [re.split(r"[<>=!~;\[ ]", line, maxsplit=1)[0] for line in PROJECT["project"]["dependencies"]]
    allowed = sys.stdlib_module_names | {MODULE_OF.get(name, name) for name in names} | {"grille"}
    found = {
        (str(path.relative_to(ROOT)), top) for path in modules() for top in imported_tops(path) - allowed
    }
    assert found == set()


@pytest.mark.parametrize("script", ["try", "test", ".ci/run"])
def test_the_scripts_can_be_run(script: str) -> None:
    """The README's commands work as they stand there, without `bash` before them."""
    assert os.access(ROOT / script, os.X_OK)
