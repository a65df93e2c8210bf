"""The wheel, as a stranger gets it: built from the sources, installed in a new environment, looked at from there.

No network: the wheel is built with the setuptools at hand, and the new environment sees this one's packages
through a path file, which does not carry over this one's own (editable) grille.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
ROOMS: Final = ("policy", "pool", "worker")

LEFT_BEHIND: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "tests", "bench"
)


def run(*command: str | Path, cwd: Path) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def need_setuptools() -> None:
    """Skips where the wheel cannot be built without a download; in CI that is a failure."""
    try:
        found = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        found = "0"
    if int(found.partition(".")[0]) >= 77:
        return
    reason = f"building the wheel offline needs setuptools 77 (here: {found}); ./test installs it"
    if os.environ.get("GRILLE_MUST_CONFINE"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: a build leaves files beside the sources."""
    need_setuptools()
    work = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, work / "sources", symlinks=True, ignore=LEFT_BEHIND)
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", work, work / "sources", cwd=work)
    (built,) = work.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new virtual environment that holds the wheel and sees our dependencies."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    offline = ("--no-deps", "--no-index", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *offline, wheel, cwd=folder)
    here = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    )
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (here / "dependencies.pth").write_text("".join(f"{path}\n" for path in sorted(ours)))
    return folder


def test_the_wheel_holds_every_module(wheel: Path) -> None:
    """Each module of the checkout is in the wheel, under grille/, and nothing that is no module of it."""
    face = ROOT / "src" / "grille"
    wanted = {f"grille/{path.relative_to(face)}" for path in face.glob("*.py")}
    for entry in (path for path in face.iterdir() if path.is_dir()):
        folder = entry.resolve()
        wanted |= {f"grille/{entry.name}/{path.relative_to(folder)}" for path in folder.rglob("*.py")}
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if name.endswith(".py")} == wanted
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"grille"}


def test_the_wheel_carries_types_and_licence(wheel: Path) -> None:
    """py.typed and the licence's text are inside."""
    names = zipfile.ZipFile(wheel).namelist()
    assert "grille/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_nothing_but_grille_becomes_importable(environment: Path) -> None:
    """No user's own `pool`, `worker` or `policy` is ever hidden by ours."""
    ask = "import importlib.util as u, json, sys; print(json.dumps([u.find_spec(n) is not None for n in sys.argv[1:]]))"
    out = run(environment / "bin" / "python", "-I", "-c", ask, "grille", *ROOMS, cwd=environment)
    assert json.loads(out) == [True, False, False, False]


def test_the_installed_rooms_are_real_folders(environment: Path) -> None:
    """grille, grille.policy, grille.pool and grille.worker come from the new environment, not through links."""
    ask = (
        "import importlib, json, os, sys\n"
        "names = ['grille', *(f'grille.{room}' for room in sys.argv[1:])]\n"
        "files = [importlib.import_module(name).__file__ for name in names]\n"
        "print(json.dumps([files, [os.path.islink(os.path.dirname(file)) for file in files]]))"
    )
    files, links = json.loads(run(environment / "bin" / "python", "-I", "-c", ask, *ROOMS, cwd=environment))
    assert all(Path(file).is_relative_to(environment) for file in files)
    assert links == [False] * 4


def test_the_command_is_installed(environment: Path) -> None:
    """The wheel brings a `grille` command that starts."""
    out = run(environment / "bin" / "grille", "--help", cwd=environment)
    assert "grep" in out
    assert "glob" in out


def test_the_installed_command_searches(environment: Path, tmp_path: Path) -> None:
    """What the wheel holds is enough for a search through real workers: no file of it was left behind."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "hay.txt").write_text("hay\nhay needle hay\n")
    out = run(environment / "bin" / "grille", "grep", "needle", tree, cwd=environment)
    assert "hay needle hay" in out
