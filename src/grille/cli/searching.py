"""What grep and glob do alike: policy and starts, the search, the output, the exit status."""

from __future__ import annotations

from collections.abc import Sequence

from . import log, reach, streams
from .document import document
from .exits import Exit
from .gather import Answer, Ask, Gathering, Tool
from .options import Common
from .starts import real_starts, virtual_starts
from .summary import summary
from .text import rows


def search(tool: Tool, common: Common, paths: Sequence[str], ask: Ask) -> Exit:
    """Run one command's search and print what comes of it. Raises GrilleError and OutputFailed."""
    if common.policy is None:
        policies = [*reach.own_policies(real_starts(paths), common.timeout)]
    else:
        policies = [(reach.from_file(common.policy, common.timeout), virtual_starts(paths))]
    log.tell_warnings()
    answer = Gathering(tool, common, policies, ask).run()
    if not common.quiet:
        _print(answer, common)
    return status(answer)


def status(answer: Answer) -> Exit:
    """The exit status that an answer means. Entries that lie outside the page count: they were found."""
    if answer.incomplete:
        return Exit.INCOMPLETE
    return Exit.FOUND if answer.entries else Exit.NONE


def _print(answer: Answer, common: Common) -> None:
    if common.format == "json":
        streams.write([document(answer)])
        return
    streams.write(rows(answer))
    streams.tell(summary(answer))
