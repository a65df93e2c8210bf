"""From the process's arguments to its exit status: parses, calls the command, and tells what went wrong in
one line.

Python's own status for an uncaught exception is 1, which here means "nothing was found": so nothing goes
uncaught.
"""

from __future__ import annotations

import traceback

import click

from . import streams
from .exits import Exit
from .lazy import grille


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    try:
        status = grille.main(arguments, prog_name="grille", standalone_mode=False)
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, KeyboardInterrupt):  # click turns the second into the first while a command runs
        streams.tell(["interrupted: the search was not finished."])
        return Exit.INCOMPLETE
    except streams.OutputFailed as failure:
        streams.tell([f"error: the output could not be written: {failure}."])
        return Exit.FAILED
    except Exception as error:
        return _failed(error)
    return status if isinstance(status, int) else Exit.FOUND


def _usage(error: click.ClickException) -> Exit:
    context = error.ctx if isinstance(error, click.UsageError) else None
    streams.tell_message(f"error: {error.format_message()}")
    if context is not None:
        streams.tell_message(f"hint: '{context.command_path} --help' shows what can be said.")
    return Exit.FAILED


def _failed(error: Exception) -> Exit:
    from ..policy.errors import GrilleError

    if not isinstance(error, GrilleError):
        traceback.print_exception(error)
        streams.tell(["error: this is a fault of grille itself; please report it with the lines above."])
        return Exit.FAILED
    streams.tell_message(f"error: {error.message} [{error.code}]")
    if error.hint is not None:
        streams.tell_message(f"hint: {error.hint}")
    return Exit.FAILED
