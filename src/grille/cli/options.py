"""The options that grep and glob share (contract 10), and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

Format = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Common:
    """What every search can be told."""

    policy: str | None
    limit: int
    offset: int
    format: Format
    timeout: float | None
    quiet: bool


def _timeout(ctx: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    from ..policy.limits import BOUNDS

    bound = BOUNDS["request_seconds"]
    # Written so that "nan" is refused, too.
    if seconds is not None and not bound.least <= seconds <= bound.greatest:
        raise click.BadParameter(f"legal are {bound}.", ctx, parameter)
    return seconds


_COMMON = (
    click.option(
        "--policy",
        metavar="FILE",
        help="Search under the policy in this TOML file. PATHs are its virtual paths then (default: its first mount), "
        "and its limits hold. Without it, the given PATHs are all that the workers can see.",
    ),
    click.option(
        "--limit",
        type=int,
        default=0,
        metavar="N",
        help="Show at most N entries. 0, the default: as many as the policy allows; without one, all.",
    ),
    click.option("--offset", type=int, default=0, metavar="N", help="Leave out the first N entries."),
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
    """Add the shared options; the command receives them as keywords for `Common`."""
    for option in reversed(_COMMON):
        command = option(command)
    return command
