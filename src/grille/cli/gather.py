"""Runs one request for each start and lays the results end to end, as if they were one (contract 2).

Order: the starts as they were given, then the contract's order within each. `offset`, `limit` and
`next_offset` count over all of them. Where one PATH lies within another, both are searched (a folder that is
named is searched even where the outer walk passes it over), and an entry that an earlier PATH has brought is
not brought again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from ..policy.tenant import Policy
from ..pool.report import ConfinementReport
from ..pool.results import GlobEntry, GlobResult, GrepEntry, GrepResult, LsResult, Totals
from ..pool.workspace import Pool, Workspace
from .options import Common
from .starts import Start, overlapping

Tool = Literal["glob", "grep", "ls"]
Page = GlobResult | GrepResult | LsResult
Ask = Callable[[Workspace, Start, int, int], Page]
"""Runs the request: workspace, start, offset, limit."""

_NAMES_OF_A_REASON: Final = 5
_FLAGS: Final = (
    ("no_ignore=True", "--no-ignore"),
    ("pass literal=True", "pass -F"),
    ("literal=True", "-F"),
    ("leave literal out", "leave -F out"),
    ("glob=", "-g"),
    ("multiline=True", "-U"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry and the start that brought it."""

    start: Start
    entry: GlobEntry | GrepEntry


@dataclass(slots=True)
class Skips:
    """What was not searched, for one reason, over all starts."""

    count: int = 0
    first: list[tuple[Start, str]] = field(default_factory=list)


@dataclass(slots=True)
class Answer:
    """The results of all starts together."""

    tool: Tool
    rows: list[Row] = field(default_factory=list)
    truncated: bool = False
    next_offset: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    """Why the answer is incomplete, each with its sentence."""
    remarks: list[str] = field(default_factory=list)
    """Further notices."""
    hints: dict[str, None] = field(default_factory=dict)
    """What to try, should nothing be found at all; each once, in order."""
    entries: int = 0
    files: int = 0
    lines: int = 0
    exact: bool = True
    skipped: dict[str, Skips] = field(default_factory=dict)
    elapsed_ms: float = 0
    confinement: ConfinementReport | None = None

    @property
    def incomplete(self) -> bool:
        return bool(self.reasons)

    @property
    def complete(self) -> bool:
        return not self.truncated and not self.reasons

    @property
    def totals(self) -> Totals:
        return Totals(self.entries, self.files, self.lines, self.exact)

    @property
    def notices(self) -> list[str]:
        """Sentences for people, incompleteness first."""
        hints = [] if self.entries else [_in_flags(hint) for hint in self.hints]
        return [*self.reasons.values(), *self.remarks, *hints]

    def count(self, start: Start, result: Page) -> None:
        """Add one start's state, sums and skips. Its entries are added apart."""
        # page.py puts a sentence for each reason first.
        self.reasons |= dict(zip(result.reasons, result.notices, strict=False))
        self.hints |= dict.fromkeys(result.hints)
        self.entries += result.totals.entries
        self.files += result.totals.files
        self.lines += result.totals.lines
        self.exact &= result.totals.exact
        self.elapsed_ms += result.elapsed_ms
        self.confinement = result.confinement
        for skip in result.skipped:
            skips = self.skipped.setdefault(skip.reason, Skips())
            skips.count += skip.count
            skips.first += [(start, name) for name in skip.first][: _NAMES_OF_A_REASON - len(skips.first)]


def _in_flags(hint: str) -> str:
    """A hint about arguments, in the words of a command line."""
    for argument, flag in _FLAGS:
        hint = hint.replace(argument, flag)
    return hint


class Gathering:
    """One command's search."""

    def __init__(
        self,
        tool: Tool,
        common: Common,
        policies: Iterable[tuple[Policy, list[Start]]],
        ask: Ask,
    ) -> None:
        self._common = common
        self._policies = [*policies]
        self._ask = ask
        self._answer = Answer(tool)
        limits = self._policies[0][0].limits
        self._offset = limits.page_offset(common.offset)
        self._limit = limits.page_limit("grep" if tool == "grep" else "glob", common.limit)
        if common.quiet:
            self._limit = 1  # one entry decides the exit status

    def run(self) -> Answer:
        """Search. Raises GrilleError; workers are gone when it returns, however it does."""
        every_start = [start for _, starts in self._policies for start in starts]
        with Pool() as pool:
            searches = self._searches(pool)
            if overlapping(every_start):
                self._take_all(searches)
            else:
                self._take_page(searches)
        self._remark()
        return self._answer

    def _searches(self, pool: Pool) -> Iterator[tuple[Workspace, Start]]:
        """Each start with its workspace, until the time is over."""
        give_up_at = time.monotonic() + (self._common.timeout or float("inf"))
        for policy, starts in self._policies:
            with pool.open(policy) as workspace:
                for start in starts:
                    if time.monotonic() > give_up_at:
                        self._answer.reasons["deadline"] = (
                            "The time for this request ran out before every PATH was searched."
                        )
                        return
                    yield workspace, start

    def _take_page(self, searches: Iterator[tuple[Workspace, Start]]) -> None:
        answer, offset, left = self._answer, self._offset, self._limit
        for workspace, start in searches:
            # With the page full, one more entry is looked for: a page of exactly `limit` is not truncated
            # (contract 2.3).
            result = self._ask(workspace, start, offset, left or 1)
            if not left and result.entries:
                answer.truncated, answer.exact = True, False
                answer.entries, answer.files, answer.lines = (
                    answer.entries + 1,
                    answer.files + 1,
                    answer.lines + 1,
                )
                return
            answer.count(start, result)
            answer.rows += [Row(start, entry) for entry in result.entries]
            left -= len(result.entries)
            offset = max(0, offset - result.totals.entries)
            if result.truncated:
                answer.truncated = True
                return

    def _take_all(self, searches: Iterator[tuple[Workspace, Start]]) -> None:
        answer = self._answer
        seen: set[tuple[str, int | None]] = set()
        for workspace, start in searches:
            paths_before = {path for path, _ in seen}
            repeated: set[str] = set()
            for result in self._pages(workspace, start):
                if result.next_offset is None:
                    answer.count(start, result)
                for entry in result.entries:
                    key = (start.path(entry.path), getattr(entry, "line_number", None))
                    if key in seen:
                        repeated |= {key[0]} & paths_before
                        answer.entries -= 1
                        answer.lines -= getattr(entry, "count", None) or 1
                    else:
                        seen.add(key)
                        answer.rows.append(Row(start, entry))
            answer.files -= len(repeated)
        self._cut()

    def _pages(self, workspace: Workspace, start: Start) -> Iterator[Page]:
        offset: int | None = 0
        while offset is not None:
            result = self._ask(workspace, start, offset, 0)
            yield result
            offset = result.next_offset

    def _cut(self) -> None:
        stop = self._offset + self._limit
        self._answer.truncated = len(self._answer.rows) > stop
        self._answer.rows = self._answer.rows[self._offset : stop]

    def _remark(self) -> None:
        answer = self._answer
        if answer.incomplete and not answer.entries:
            answer.remarks.append("Nothing was found, but not everything was searched.")
        if answer.truncated:
            answer.next_offset = self._offset + self._limit
            answer.remarks.append(f"More entries follow; go on with --offset {answer.next_offset}.")
        elif answer.entries and not answer.rows:
            answer.remarks.append(f"Offset {self._offset} is past the end; entries in all: {answer.entries}.")
