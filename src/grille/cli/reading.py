"""What `grille read` prints of a file, what it tells beside it, and which exit status that is."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..pool import escape
from ..pool.results import ReadResult
from . import summary as searches
from .document import encoded
from .exits import Exit
from .starts import Start


def rows(result: ReadResult) -> Iterator[str]:
    """The lines, escaped, each with its line end."""
    if _count(result):
        for line in result.text.split("\n"):
            yield f"{escape.line(line)}\n"


def document(result: ReadResult, start: Start) -> str:
    """The result for programs: the text as it is, and no entries."""
    return encoded(
        {
            "tool": result.tool,
            "path": result.path if start.real is None else escape.unicode_text(start.real),
            "start_line": result.start_line,
            "end_line": result.end_line,
            "total_lines": result.total_lines,
            "next_line": result.next_line,
            "text": result.text,
            "complete": result.complete,
            "truncated": result.truncated,
            "incomplete": result.incomplete,
            "skipped": [
                msgspec.structs.replace(skip, first=tuple(map(start.path, skip.first)))
                for skip in result.skipped
            ],
            "notices": _remarks(result),
            "redacted": result.redacted,
            "elapsed_ms": round(result.elapsed_ms, 3),
            "confinement": result.confinement,
        }
    )


def summary(result: ReadResult) -> list[str]:
    """The lines for standard error."""
    lines = []
    remarks, failures = _remarks(result), len(result.reasons)
    if result.incomplete:
        lines.append("INCOMPLETE: " + " ".join(remarks[:failures]))
    if told := " ".join(filter(None, [_shown(result), *remarks[failures:]])):
        lines.append(told)
    lines.append("read behind bars, " + searches.bars(result.confinement))
    return lines


def status(result: ReadResult) -> Exit:
    """The exit status. Lines that the file does not have are lines not found."""
    if result.incomplete or _is_withheld(result):
        return Exit.INCOMPLETE
    return Exit.FOUND if _count(result) or _is_empty(result) else Exit.NONE


def _count(result: ReadResult) -> int:
    return result.end_line - result.start_line + 1


def _is_withheld(result: ReadResult) -> bool:
    """Whether nothing of the file is known, as of one that is not text: it must not read as an empty one."""
    return bool(result.skipped) and not result.total_lines


def _is_empty(result: ReadResult) -> bool:
    """Whether all of a file was asked for that holds nothing."""
    return not result.total_lines and result.start_line == 1


def _remarks(result: ReadResult) -> list[str]:
    """The sentences beside the text: why it is incomplete first, as many as there are reasons (page.py)."""
    remarks = list(result.notices)
    if result.next_line is not None:
        option = f"--lines {result.next_line}:"
        remarks = [remark.replace(f"start_line {result.next_line}.", option) for remark in remarks]
    for skip in result.skipped:
        if skip.reason not in result.reasons:
            what = "The file" if _is_withheld(result) else "The rest of the file"
            remarks.append(f"{what} is not shown: {skip.reason.replace('_', ' ')}.")
    if not _count(result) and not result.incomplete and not _is_withheld(result):
        remarks.append(_nothing(result))
    return remarks


def _nothing(result: ReadResult) -> str:
    if _is_empty(result):
        return "The file is empty."
    total = searches.counted(result.total_lines, "line")
    return f"Line {result.start_line:,} is past the end; the file has {total}."


def _shown(result: ReadResult) -> str:
    count = _count(result)
    if not count:
        return ""
    many = (
        f"lines {result.start_line:,} to {result.end_line:,}" if count > 1 else f"line {result.start_line:,}"
    )
    return f"{many} of {result.total_lines:,}."
