"""The trust boundary is the layout: which folder may import which, read from the sources with `ast`.

It reads every import statement, also those inside functions and under TYPE_CHECKING, and literal names given to
`import_module`. It loads nothing. The contracts in pyproject.toml say the same of the whole import graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

FACE: Final = "src/grille"
ROOMS: Final = frozenset({"policy", "pool", "worker"})

# Each folder, and the rooms it may import besides itself.
MAY_IMPORT: Final[dict[str, frozenset[str]]] = {
    "policy": frozenset(),
    "worker": frozenset({"policy"}),
    "pool": frozenset({"policy"}),
    FACE: frozenset({"policy", "pool"}),
}

# Modules that no folder may import: each would load objects, and so run code, that another process chose.
NEVER: Final = frozenset({"_pickle", "marshal", "multiprocessing", "pickle", "shelve"})


def package_of(path: Path) -> tuple[str, ...]:
    """The package that a module's relative imports start from, by its path below the root."""
    parts = path.parts[2:] if path.parts[0] == "src" else path.parts
    return (*(() if parts[0] == "grille" else ("grille",)), *parts[:-1])


def folder_of(path: Path) -> str:
    return FACE if path.parts[0] == "src" else path.parts[0]


def absolute_target(node: ast.ImportFrom, package: tuple[str, ...]) -> tuple[str, ...] | None:
    """What a from-import names, from the top; None when its dots lead out of the package."""
    module = tuple(node.module.split(".")) if node.module else ()
    if node.level == 0:
        return module
    if node.level > len(package):
        return None
    return package[: len(package) - node.level + 1] + module


def literal_import(node: ast.Call) -> str | None:
    """The name given to import_module or __import__, when it can be read."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in {"import_module", "__import__"} or not node.args:
        return None
    argument = node.args[0]
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def judge_absolute(name: str, folder: str) -> str | None:
    """The complaint about a module that is named from the top."""
    top, *rest = name.split(".")
    if top in NEVER:
        return f"{top} is banned: it loads objects that another process chose"
    if top in ROOMS:
        return f"bare import of {top}: a second copy of grille.{top}, or somebody else's module"
    if top == "grille" and folder != FACE:
        return f"absolute import of {name}: inside the rooms imports are relative"
    if top == "grille" and rest:
        return judge_room(rest[0], folder)
    return None


def judge_room(name: str, folder: str) -> str | None:
    """The complaint about `grille.<name>` as a target of an import in `folder`."""
    if name in MAY_IMPORT[folder] or name == folder:
        return None
    if folder == FACE and name not in ROOMS:
        return None
    return f"{folder} may not import {name}"


def judge_from(node: ast.ImportFrom, package: tuple[str, ...], folder: str) -> Iterator[str | None]:
    target = absolute_target(node, package)
    if target is None:
        yield "relative import that leads out of the package"
    elif node.level == 0 and target != ("grille",):
        yield judge_absolute(".".join(target), folder)
    elif node.level == 0 and folder != FACE:
        yield judge_absolute("grille", folder)
    elif len(target) == 1:
        # `from .. import worker`: each name may be a room.
        yield from (judge_room(alias.name, folder) for alias in node.names)
    else:
        yield judge_room(target[1], folder)


def complaints(source: str, path: Path) -> list[str]:
    """What is wrong with the imports of one module, as `path:line: reason`; `path` is relative to the root."""
    package, folder = package_of(path), folder_of(path)
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        reasons: list[str | None] = []
        if isinstance(node, ast.Import):
            reasons = [judge_absolute(alias.name, folder) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            reasons = list(judge_from(node, package, folder))
        elif isinstance(node, ast.Call) and (name := literal_import(node)):
            reasons = [
                judge_absolute(name, folder) if name[0] != "." else "import_module with a relative name"
            ]
        found += [f"{path}:{getattr(node, 'lineno', 0)}: {reason}" for reason in reasons if reason]
    return found


def shipped_modules() -> list[Path]:
    """Every module of the package by its real place, relative to the root; links are not entered."""
    folders = [*sorted(ROOMS), FACE]
    return [
        path.relative_to(ROOT)
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not (folder == FACE and path.relative_to(ROOT / FACE).parts[0] in ROOMS)
    ]


def test_the_folders_keep_their_boundaries() -> None:
    """A room imports what the table lets it, relatively, and nothing unpickles."""
    modules = shipped_modules()
    assert {folder_of(path) for path in modules} >= ROOMS
    assert [line for path in modules for line in complaints((ROOT / path).read_text("utf-8"), path)] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("worker/main.py", "from ..pool import merge"),
        ("worker/main.py", "from ..pool.merge import merge"),
        ("worker/main.py", "from .. import pool"),
        ("worker/main.py", "from .. import Pool"),
        ("worker/confine/steps.py", "from ...pool.merge import merge"),
        ("worker/confine/steps.py", "from ... import pool"),
        ("worker/main.py", "def late():\n    from ..pool import merge"),
        ("worker/main.py", "if TYPE_CHECKING:\n    from ..pool import merge"),
        ("worker/main.py", "import pool"),
        ("worker/main.py", "import pool.merge as m"),
        ("worker/main.py", "from pool import merge"),
        ("worker/main.py", "import policy.limits"),
        ("worker/main.py", "import grille"),
        ("worker/main.py", "from grille import Limits"),
        ("worker/main.py", "import grille.policy.limits"),
        ("worker/main.py", "from grille.policy.limits import Limits"),
        ("worker/main.py", "from grille.pool import merge"),
        ("worker/main.py", "import_module('grille.pool')"),
        ("worker/main.py", "importlib.import_module('..pool', __package__)"),
        ("worker/main.py", "__import__('pool')"),
        ("worker/main.py", "from ... import x"),
        ("worker/main.py", "from ....policy import limits"),
        ("worker/main.py", "from ..cli import main"),
        ("pool/merge.py", "from ..worker.walk import walk"),
        ("pool/merge.py", "from .. import policy, worker"),
        ("pool/merge.py", "import pickle"),
        ("pool/merge.py", "from pickle import loads"),
        ("pool/merge.py", "import os, multiprocessing.connection"),
        ("policy/limits.py", "from ..worker import walk"),
        ("policy/limits.py", "from ..pool import merge"),
        ("src/grille/__init__.py", "from .worker import walk"),
        ("src/grille/__init__.py", "from . import worker"),
        ("src/grille/__init__.py", "import grille.worker.walk"),
        ("src/grille/__init__.py", "from grille.worker import walk"),
        ("src/grille/__init__.py", "from grille import worker"),
        ("src/grille/__init__.py", "import worker"),
        ("src/grille/cli/grep.py", "from ..worker import walk"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    """Each way to reach across the bars is reported, once, with its line."""
    found = complaints(source, Path(path))
    assert len(found) == 1, found
    assert found[0].startswith(f"{path}:{source.count(chr(10)) + 1}: ")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("worker/main.py", "from ..policy.limits import Limits"),
        ("worker/main.py", "from .. import policy"),
        ("worker/main.py", "from . import walk"),
        ("worker/main.py", "from .walk import pool"),
        ("worker/main.py", "import os, msgspec"),
        ("worker/main.py", "import_module('encodings.utf_16')"),
        ("worker/confine/steps.py", "from ..walk import walk"),
        ("worker/confine/steps.py", "from ...policy.limits import Limits"),
        ("worker/confine/steps.py", "from . import seccomp"),
        ("pool/merge.py", "from ..policy.limits import Limits"),
        ("policy/limits.py", "from .errors import PolicyError"),
        ("src/grille/__init__.py", "from .pool.supervisor import Pool as Pool"),
        ("src/grille/__init__.py", "from .policy.limits import Limits as Limits"),
        ("src/grille/cli/grep.py", "from ..pool import supervisor"),
        ("src/grille/cli/grep.py", "from .. import Pool"),
        ("src/grille/__main__.py", "from grille.cli import main"),
    ],
)
def test_what_the_table_allows_passes(path: str, source: str) -> None:
    """The checker does not cry wolf: every arrow of the table can be written."""
    assert complaints(source, Path(path)) == []
