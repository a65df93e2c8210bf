"""One ignore file, compiled, and how its rules change on the way down a tree.

A rule about names holds in every folder below the file. A rule about paths is a chain of steps; a `Trail`
knows how far each chain has matched from the file's folder to the current one, so that only its last step is
still a question, one about a name. All places that a chain may have reached are followed at once: no chain is
ever matched twice, however many `**` it has, and entering a folder costs at most one match a step.

Invariants: nothing here changes once built; bad lines are left out and never spoil the others; the work and
the memory are bounded by `max_bytes` and `max_rules`, and what lies beyond is not silently lost but marked
(`RuleFile.truncated`).

Leaves to others: which files hold in a folder, and which of them outranks which (`stack`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from .lines import RuleLine, read_lines
from .names import NameMachine, can_match, spellings
from .patterns import Step, read_name, read_path
from .tables import NameRule, NameTable, rank_of

# The longest honest ignore files have a few thousand lines. Compiled, a rule takes some hundred bytes.
MAX_BYTES: Final = 256 * 2**10
MAX_RULES: Final = 10_000


class _Hop:
    """One step of a chain, compiled for entering a folder."""

    __slots__ = ("_literal", "_machine", "floats", "name")

    def __init__(self, step: Step) -> None:
        self.name = step.name
        self.floats = step.floats
        spelled = None if step.name.stars else spellings(step.name.tokens)
        self._literal = spelled[0] if spelled and len(spelled) == 1 else None
        self._machine = NameMachine([] if self._literal is not None else [step.name])

    def leads_into(self, name: bytes) -> bool:
        return name == self._literal if self._literal is not None else self._machine.last(name) == 0


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """A rule about paths."""

    rank: int
    folders_only: bool
    hops: tuple[_Hop, ...]


class _Place(NamedTuple):
    """How far a chain has come: the next hop."""

    chain: _Chain
    hop: int


class Trail:
    """The chains of one file as they stand in one folder. `files` and `folders` hold those with one step to go."""

    __slots__ = ("_places", "files", "folders")

    def __init__(self, places: tuple[_Place, ...]) -> None:
        self._places = places
        last = [
            (chain.folders_only, NameRule(chain.rank, chain.hops[at].name))
            for chain, at in places
            if at + 1 == len(chain.hops)
        ]
        self.files, self.folders = _tables_of(last)

    def enter(self, name: bytes) -> Trail:
        """The trail in the folder `name` of this one; this very one if nothing differs there."""
        places: dict[_Place, None] = {}
        for place in self._places:
            chain, at = place
            hop = chain.hops[at]
            if hop.floats:
                places[place] = None
            if at + 1 < len(chain.hops) and hop.leads_into(name):
                places[_Place(chain, at + 1)] = None
        if not places:
            return NO_TRAIL
        return self if tuple(places) == self._places else Trail(tuple(places))


class RuleFile:
    """The rules of one ignore file.

    `files` and `folders`: the rules about names, for entries that are no folders and for folders. `trail`: those
    about paths, in the file's own folder. `count` and `size`: how many rules there are, and how many bytes they
    were read from. `truncated`: whether the file had more than was allowed; its later rules are then missing.
    """

    __slots__ = ("count", "files", "folders", "size", "trail", "truncated")

    def __init__(self, lines: list[RuleLine], *, size: int, truncated: bool) -> None:
        self.count = len(lines)
        self.size = size
        self.truncated = truncated
        names: list[tuple[bool, NameRule]] = []
        places: list[_Place] = []
        for at, line in enumerate(lines):
            rank = rank_of(at, negated=line.negated)
            steps = _steps_of(line)
            if steps is None or not all(can_match(step.name) for step in steps):
                continue
            # A lone floating step is a name at any depth: `**/foo` is `foo`.
            if len(steps) == 1 and steps[0].floats:
                names.append((line.folders_only, NameRule(rank, steps[0].name)))
            else:
                hops = tuple(_Hop(step) for step in steps)
                places.append(_Place(_Chain(rank, line.folders_only, hops), 0))
        self.files, self.folders = _tables_of(names)
        self.trail = Trail(tuple(places)) if places else NO_TRAIL


def parse_rules(data: bytes, *, max_bytes: int = MAX_BYTES, max_rules: int = MAX_RULES) -> RuleFile:
    """The rules of an ignore file with the content `data`, whatever bytes that is. Raises nothing.

    Only whole lines within the first `max_bytes` count, and of their rules the first `max_rules`. To have a
    file that is too long marked, hand over at least one byte more than `max_bytes`.
    """
    truncated = len(data) > max_bytes
    if truncated:
        # A rule that is cut in two may be far wider than it was.
        data = data[: data.rfind(b"\n", 0, max_bytes) + 1]
    lines: list[RuleLine] = []
    for line in read_lines(data):
        if len(lines) == max_rules:
            truncated = True
            break
        lines.append(line)
    return RuleFile(lines, size=len(data), truncated=truncated)


def _tables_of(rules: list[tuple[bool, NameRule]]) -> tuple[NameTable, NameTable]:
    """The tables for entries that are no folders, and for folders, of rules that may speak of folders only."""
    for_folders = NameTable(rule for _, rule in rules)
    if not any(folders_only for folders_only, _ in rules):
        return for_folders, for_folders
    return NameTable(rule for folders_only, rule in rules if not folders_only), for_folders


def _steps_of(line: RuleLine) -> tuple[Step, ...] | None:
    if line.anchored:
        return read_path(line.pattern)
    name = read_name(line.pattern)
    return None if name is None else (Step(name, floats=True),)


NO_TRAIL: Final = Trail(())
