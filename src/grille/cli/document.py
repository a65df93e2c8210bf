"""Results for programs: one JSON object with the contract's keys (contract 10).

Paths are absolute. The document is UTF-8 whatever the tree holds: a byte of a path that is no UTF-8 is
`\\x{HEX}` there (pool/escape.py), and no control character stands raw in it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..pool import escape
from ..pool.results import Skipped
from .gather import Answer, Row


def document(answer: Answer) -> str:
    """The whole answer, with a line end."""
    fields: dict[str, Any] = {
        "tool": answer.tool,
        "entries": [_entry(row) for row in answer.rows],
        "complete": answer.complete,
        "truncated": answer.truncated,
        "incomplete": answer.incomplete,
        "next_offset": answer.next_offset,
        "totals": answer.totals,
        "skipped": [
            Skipped(
                reason,
                skips.count,
                tuple(start.path(name) for start, name in skips.first),
            )
            for reason, skips in answer.skipped.items()
        ],
        "notices": answer.notices,
        "elapsed_ms": round(answer.elapsed_ms, 3),
        "confinement": answer.confinement,
    }
    return encoded(fields)


def encoded(value: object) -> str:
    """`value` as one line of JSON."""
    return escape.encoded_json(msgspec.json.encode(value).decode("utf-8")) + "\n"


def _entry(row: Row) -> msgspec.Struct:
    path = row.start.path(row.entry.path)
    return row.entry if path == row.entry.path else msgspec.structs.replace(row.entry, path=path)
