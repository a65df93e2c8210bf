"""`grille read`: the text of one file, or some lines of it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import click

from ..pool.workspace import Pool
from . import log, reach, reading, streams
from .exits import Exit
from .options import Common, common_unpaged

_RANGE: Final = re.compile(r"([0-9]{0,15})(:?)([0-9]{0,15})")
_MOST_BYTES: Final = 4 << 20


class _Lines(NamedTuple):
    first: int = 1
    last: int | None = None


def _lines(ctx: click.Context, parameter: click.Parameter, text: str | None) -> _Lines:
    if text is None:
        return _Lines()
    found = _RANGE.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        raise click.BadParameter(
            "say 10:40, 10: (to the end), :40 (from the start) or 10 (that line).", ctx, parameter
        )
    first = int(found[1] or 1)
    last = int(found[3]) if found[3] else None if found[2] else first
    if first < 1 or (last is not None and last < first):
        raise click.BadParameter("lines count from 1, and the last is not before the first.", ctx, parameter)
    return _Lines(first, last)


@click.command(
    epilog="The text is UTF-8, its lines end in a line feed. On a terminal and in a pipe alike, as grep prints lines, "
    r"control and format characters but the tab are \x{HEX}: a pipe may end at a terminal, too. --format json has "
    "the text as it is. Exit status: 0 read, 1 the file has no such lines, 2 refused, 3 not shown: it is no text, too "
    "large, or cannot be read."
)
@click.argument("file")
@click.option(
    "--lines",
    metavar="FIRST:LAST",
    callback=_lines,
    help="Print these lines, counted from 1: 10:40, 10: (to the end), :40 (from the start), 10 (that line).",
)
@click.option(
    "--max-bytes",
    type=int,
    default=_MOST_BYTES,
    metavar="N",
    help="Print whole lines up to N bytes of text, 1 to 4194304, the default; it is told where to go on.",
)
@common_unpaged
def read(file: str, lines: _Lines, max_bytes: int, **others: Any) -> Exit:
    """Print FILE, or some lines of it."""
    told = Common(**others)
    ((policy, (start,)),) = reach.policies(told.policy, (file,), told.timeout)
    assert start.request is not None
    log.tell_warnings()
    with Pool() as pool, pool.open(policy) as workspace:
        result = workspace.read(
            start.request, start_line=lines.first, end_line=lines.last, max_bytes=max_bytes
        )
    if not told.quiet:
        if told.format == "json":
            streams.write([reading.document(result, start)])
        else:
            streams.write(reading.rows(result))
            streams.tell(reading.summary(result))
    return reading.status(result)
