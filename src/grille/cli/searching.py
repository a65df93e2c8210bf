"""What grep, glob and ls do alike: policy and starts, the search, the output, the exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..policy.tenant import Policy
from . import log, streams
from .document import document
from .exits import Exit
from .gather import Answer, Ask, Gathering, Tool
from .options import Common
from .starts import Start
from .summary import summary
from .text import rows

Rows = Callable[[Answer], Iterator[str]]
"""How an answer becomes rows of text."""


def search(
    tool: Tool,
    common: Common,
    policies: Iterable[tuple[Policy, list[Start]]],
    ask: Ask,
    as_rows: Rows = rows,
) -> Exit:
    """Run one command's search and print what comes of it. Raises GrilleError and OutputFailed."""
    gathering = Gathering(tool, common, policies, ask)
    log.tell_warnings()
    answer = gathering.run()
    if not common.quiet:
        _print(answer, common, as_rows)
    return status(answer)


def status(answer: Answer) -> Exit:
    """The exit status that an answer means. Entries that lie outside the page count: they were found."""
    if answer.incomplete:
        return Exit.INCOMPLETE
    return Exit.FOUND if answer.entries else Exit.NONE


def _print(answer: Answer, common: Common, as_rows: Rows) -> None:
    if common.format == "json":
        streams.write([document(answer)])
        return
    streams.write(as_rows(answer))
    streams.tell(summary(answer))
