"""Remembers compiled ignore files by their content: vendored trees repeat the same few files a thousand
times.

Invariant: what is held is bounded in rules and in bytes, so that no tree can fill the worker's memory through
it.

Leaves to others: reading. A file's content is the key, so nothing here can be out of date.
"""

from __future__ import annotations

from typing import Final

from .rules import RuleFile, parse_rules

MOST_RULES: Final = 20_000
MOST_BYTES: Final = 2**20


class RuleCache:
    """`parse_rules` with a memory. The files used longest ago are forgotten first."""

    def __init__(self, *, most_rules: int = MOST_RULES, most_bytes: int = MOST_BYTES) -> None:
        self._most_rules = most_rules
        self._most_bytes = most_bytes
        self._files: dict[bytes, RuleFile] = {}
        self._rules = 0
        self._bytes = 0

    def rules_of(self, data: bytes) -> RuleFile:
        """The rules of an ignore file with the content `data`, as `parse_rules` gives them."""
        rules = self._files.pop(data, None)
        if rules is None:
            rules = parse_rules(data)
            self._rules += rules.count
            self._bytes += len(data)
        self._files[data] = rules  # at the end: used last
        while self._rules > self._most_rules or self._bytes > self._most_bytes:
            self._forget_oldest()
        return rules

    def _forget_oldest(self) -> None:
        data = next(iter(self._files))
        rules = self._files.pop(data)
        self._rules -= rules.count
        self._bytes -= len(data)
