"""`grille glob`: paths that match a glob."""

from __future__ import annotations

from typing import Any

import click

from ..pool.arguments import Sort
from ..pool.results import GlobResult
from ..pool.workspace import Workspace
from . import reach
from .exits import Exit
from .options import Common, common, sorting
from .searching import search
from .starts import Start


@click.command(
    epilog="Hidden files are found; version control, dependency and build folders are not entered, unless --no-ignore. "
    r"Control characters, format characters and undecodable bytes of names are printed as \x{HEX}."
)
@click.argument("pattern")
@click.argument("path", required=False)
@click.option("-i", "--ignore-case", is_flag=True, help="Do not regard case.")
@click.option("--include-dirs", is_flag=True, help="Find folders, too; they are printed with a / at the end.")
@click.option(
    "--no-ignore", is_flag=True, help="Enter what is left out otherwise: .git, node_modules, build, ..."
)
@click.option("--hidden", is_flag=True, expose_value=False, help="Accepted; hidden files are always found.")
@sorting
@common
def glob(
    pattern: str,
    path: str | None,
    ignore_case: bool,
    include_dirs: bool,
    no_ignore: bool,
    sort: Sort,
    **others: Any,
) -> Exit:
    """Find paths below PATH (default: the current folder) that match PATTERN.

    A PATTERN without / matches names at any depth; ** spans folders: 'src/**/*.py'.
    """

    def ask(workspace: Workspace, start: Start, offset: int, limit: int) -> GlobResult:
        return workspace.glob(
            pattern,
            start.request,
            include_dirs=include_dirs,
            limit=limit,
            offset=offset,
            sort=sort,
            case_sensitive=not ignore_case,
            no_ignore=no_ignore,
        )

    told = Common(**others)
    paths = () if path is None else (path,)
    return search("glob", told, reach.policies(told.policy, paths, told.timeout), ask)
