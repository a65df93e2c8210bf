"""The command group, whose commands are modules that are loaded once they are called.

Loading the pool takes several times as long as parsing a command line.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import Final

import click

from .. import __version__
from .exits import Exit

COMMANDS: Final = MappingProxyType(
    {
        "doctor": "Show what confinement this machine gives, proven on a throw-away worker.",
        "glob": "Find paths by a glob.",
        "grep": "Find lines by a regular expression.",
        "ls": "List what a folder holds.",
        "read": "Print a file, or some lines of it.",
    }
)
"""Every command with its line in `grille --help`. Its module in this package bears its name, and so does its
function.
"""


class LazyGroup(click.Group):
    """Knows its commands by name, and loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f".{cmd_name}", __package__), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading one."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 found, 1 searched all and found none, 2 refused or failed, 3 incomplete.",
)
@click.version_option(__version__, "-V", "--version", message="grille %(version)s")
@click.pass_context
def grille(ctx: click.Context) -> None:
    """Search files from behind bars: by workers that are locked down before they read a byte.

    What is searched, how much, and how long is bounded; what was left out is told.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(Exit.FAILED)
