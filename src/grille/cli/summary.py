"""What is told on standard error after a search: its state, its sums, what was left out, and the bars that
held.

Incompleteness comes first: whoever reads one line must not take "nothing found" for "nothing there".
"""

from __future__ import annotations

from typing import Final

from ..pool import escape
from ..pool.report import ConfinementReport
from ..pool.results import GrepEntry
from .gather import Answer, Skips

_NAMES_SHOWN: Final = 3


def summary(answer: Answer) -> list[str]:
    """The lines of the summary."""
    lines = []
    if answer.incomplete:
        lines.append("INCOMPLETE: " + " ".join(answer.reasons.values()))
    lines.append(" ".join(filter(None, [_found(answer), *answer.notices[len(answer.reasons) :]])))
    if answer.skipped:
        told = sorted(answer.skipped.items(), key=lambda item: item[0] not in answer.reasons)
        lines.append("not searched: " + ", ".join(_skips(reason, skips) for reason, skips in told))
    if answer.confinement is not None:
        lines.append("searched behind bars, " + bars(answer.confinement))
    return lines


def bars(report: ConfinementReport) -> str:
    """One line on the confinement: its tier, the layers in force, and those that are not."""
    missing = [layer.name for layer in report.layers if layer.state == "absent"]
    return report.summary() + (f"; missing: {', '.join(missing)}" if missing else "")


def _found(answer: Answer) -> str:
    if not answer.entries:
        return "" if answer.incomplete else "nothing found."
    some = "" if answer.exact else "at least "
    if answer.tool != "grep":
        return f"{some}{counted(answer.entries, 'path')}."
    if any(
        isinstance(row.entry, GrepEntry) and row.entry.line is None and row.entry.count is None
        for row in answer.rows
    ):
        return f"{some}{counted(answer.files, 'file')} with matches."
    return f"{some}{counted(answer.lines, 'line')} in {counted(answer.files, 'file')}."


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _skips(reason: str, skips: Skips) -> str:
    names = ", ".join(escape.name(start.label(name)) for start, name in skips.first[:_NAMES_SHOWN])
    more = ", ..." if skips.count > _NAMES_SHOWN else ""
    return f"{skips.count:,} {reason.replace('_', ' ')} ({names}{more})"
