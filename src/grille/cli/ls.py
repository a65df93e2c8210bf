"""`grille ls`: what a folder holds."""

from __future__ import annotations

from typing import Any

import click

from ..pool.results import LsResult
from ..pool.workspace import Workspace
from . import reach
from .exits import Exit
from .options import Common, common
from .searching import search
from .starts import Start


@click.command(
    epilog="Hidden files are shown; version control, dependency and build folders are not, unless --no-ignore. "
    r"Control characters, format characters and undecodable bytes of names are printed as \x{HEX}. "
    "Exit status: 0 when there is something, 1 when the folder holds nothing that is shown."
)
@click.argument("path", required=False)
@click.option(
    "--depth",
    type=int,
    default=1,
    metavar="N",
    help="How many levels to show, 1 to 64. 1, the default: the folder's own.",
)
@click.option(
    "--no-ignore", is_flag=True, help="Show what is left out otherwise: .git, node_modules, build, ..."
)
@click.option("--hidden", is_flag=True, expose_value=False, help="Accepted; hidden files are always shown.")
@common
def ls(path: str | None, depth: int, no_ignore: bool, **others: Any) -> Exit:
    """List what the folder PATH (default: the current folder) holds.

    One path a row, in order; a folder ends in a / and stands before what is in it.
    """

    def ask(workspace: Workspace, start: Start, offset: int, limit: int) -> LsResult:
        return workspace.ls(start.request, depth=depth, limit=limit, offset=offset, no_ignore=no_ignore)

    told = Common(**others)
    paths = () if path is None else (path,)
    return search("ls", told, reach.policies(told.policy, paths, told.timeout), ask)
