"""File types against ripgrep itself: its list, and which files each type takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from grille.policy.filetypes import ALL, NAMES, globs_of, name_matcher


def find_rg() -> str:
    """ripgrep beside the interpreter, where a virtual environment puts it, or on the path."""
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    found = shutil.which("rg", path=places)
    if found is None and os.environ.get("GRILLE_MUST_CONFINE"):
        pytest.fail("needs ripgrep")
    if found is None:
        pytest.skip("needs ripgrep")
    return found


def run_rg(*arguments: str, cwd: Path | None = None) -> str:
    command = [find_rg(), "--no-config", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False).stdout.decode()


def spelled_by(glob: str) -> set[str]:
    """Names that a glob of the table takes: its stars as some texts, each class as each of its characters."""
    choices: list[list[str]] = []
    for piece in re.findall(r"\[[^\]]+\]|\*|[^*\[]+", glob):
        if piece == "*":
            choices.append(["", "a.b-"])
        elif piece[0] == "[":
            choices.append(list(re.sub(r"(.)-(.)", r"\1\2", piece[1:-1])))
        else:
            choices.append([piece])
    return {"".join(choice) for choice in product(*choices)}


def candidates() -> list[str]:
    """What the globs take, and what nearly is it."""
    taken = {name for glob in globs_of(ALL) for name in spelled_by(glob)}
    near = {edit for name in taken for edit in (name.swapcase(), name + "x", name[1:])}
    odd = {"x.[chH]", "x.[0-9lnpx]", "plain", "no.such-extension", "x.py~", "x.py.in", " .py", "é.rs"}
    # ripgrep takes a path that ends in a dot for one without a name: see the last test.
    return sorted(name for name in taken | near | odd if name and not name.endswith("."))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("names")
    for name in candidates():
        os.mknod(root / name)
    return root


def taken_by_rg(folder: Path, name: str) -> set[str]:
    listed = run_rg("--files", "--hidden", "--no-ignore", "--null", "-t", name, cwd=folder)
    return {path.removeprefix("./") for path in listed.split("\0") if path}


def test_the_table_is_ripgreps() -> None:
    """The table is what ripgrep 15.2 lists, name by name and glob by glob."""
    if not run_rg("--version").startswith("ripgrep 15.2"):
        pytest.skip("the table is that of ripgrep 15.2")
    listed = dict(line.split(": ", 1) for line in run_rg("--type-list").splitlines())
    assert {name: tuple(globs.split(", ")) for name, globs in listed.items()} == {
        name: globs_of(name) for name in NAMES
    }


def test_each_type_takes_the_files_that_ripgrep_takes(folder: Path) -> None:
    """Among all names that any glob takes, and their neighbours, each type takes what `rg -t` takes."""
    known = {line.split(":", 1)[0] for line in run_rg("--type-list").splitlines()}
    names = candidates()
    if run_rg("--version").startswith("ripgrep 15.2"):
        assert known == set(NAMES)
    for name in (*(name for name in NAMES if name in known), ALL):
        takes = name_matcher([name])
        assert (name, taken_by_rg(folder, name)) == (name, set(filter(takes, names)))


def test_a_name_that_ends_in_a_dot_is_a_name(tmp_path: Path) -> None:
    """The one difference: to ripgrep such a file has no type, and to us it is what its globs say."""
    (tmp_path / "LICENSE.").touch()
    assert taken_by_rg(tmp_path, "license") == set()
    assert name_matcher(["license"])("LICENSE.")
