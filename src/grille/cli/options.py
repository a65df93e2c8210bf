"""The options that several commands share (contract 10), and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

Format = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Common:
    """What every command that works behind bars can be told."""

    policy: str | None
    format: Format
    timeout: float | None
    quiet: bool
    limit: int = 0
    offset: int = 0


def _timeout(ctx: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    from ..policy.limits import BOUNDS

    bound = BOUNDS["request_seconds"]
    # Written so that "nan" is refused, too.
    if seconds is not None and not bound.least <= seconds <= bound.greatest:
        raise click.BadParameter(f"legal are {bound}.", ctx, parameter)
    return seconds


_POLICY = (
    click.option(
        "--policy",
        metavar="FILE",
        help="Work under the policy in this TOML file. PATHs are its virtual paths then (default: its first mount), "
        "and its limits hold. Without it, the given PATHs are all that the workers can see.",
    ),
)
_PAGE = (
    click.option(
        "--limit",
        type=int,
        default=0,
        metavar="N",
        help="Show at most N entries. 0, the default: as many as the policy allows; without one, all.",
    ),
    click.option("--offset", type=int, default=0, metavar="N", help="Leave out the first N entries."),
)
_OUTPUT = (
    click.option(
        "--format", type=click.Choice(["text", "json"]), default="text", help="How results are printed."
    ),
    click.option(
        "--timeout",
        type=float,
        metavar="S",
        callback=_timeout,
        help="Give up after S seconds, and say what was found by then. Without it: an hour, or what the policy says, "
        "which S can only lower.",
    ),
    click.option(
        "-q", "--quiet", is_flag=True, help="Print no results and no summary; the exit status tells."
    ),
)


def common(command: _Command) -> _Command:
    """Add the options of a search; the command receives them as keywords for `Common`."""
    return _with(_POLICY + _PAGE + _OUTPUT, command)


def common_unpaged(command: _Command) -> _Command:
    """As `common`, for a command whose result has no pages."""
    return _with(_POLICY + _OUTPUT, command)


def sorting(command: _Command) -> _Command:
    """Add --sort."""
    return click.option(
        "--sort",
        type=click.Choice(["path", "mtime"]),
        default="path",
        help="The order of the files of each PATH: by path, the default, or the newest first.",
    )(command)


def _with(options: Sequence[Callable[[_Command], _Command]], command: _Command) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command
