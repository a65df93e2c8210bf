"""The ignore files in force in one folder, and the verdict on each of its entries.

Who outranks whom, the first file with a matching rule deciding:

1. `.ignore` files, the nearest folder's first. Any of them outranks any `.gitignore`, as in ripgrep.
2. `.gitignore` files, the nearest first, up to the top of the repository.
3. the repository's `info/exclude`.

Within a file the last matching rule decides. A repository within another starts afresh: what the outer one's
`.gitignore` and `info/exclude` say ends at its top folder, on which they still decide; `.ignore` files go on.

Invariants: a stack never changes, so that a walk may keep one for each folder it has yet to enter; it is
small, as what is compiled is shared; no decision opens, imports or remembers anything.

Leaves to others: reading the files. Not entering an ignored folder, below which nothing can be included
again: a stack does not know whether its own folder is ignored, so a caller who starts a walk there on purpose
gets verdicts by the rules on the entries themselves. Whether a `.gitignore` outside any repository counts
(`in_repository` tells; git and ripgrep read none there). Names that are always noise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final, NamedTuple

from .rules import RuleFile, Trail
from .tables import NO_RULE, NameTable, says_ignored

# What may be in force at once, over all files from the start folder down. Nested folders, each with an ignore
# file as long as is allowed, would otherwise hold memory without bound. Compiled, a rule takes some hundred bytes
# (sixteen times as many if it is all classes), and a byte of a file up to 32 (256 masks of one bit).
MAX_RULES_IN_FORCE: Final = 20_000
MAX_BYTES_IN_FORCE: Final = 2**20


class Source(Enum):
    """The kinds of ignore files."""

    EXCLUDE = "info/exclude"
    GITIGNORE = ".gitignore"
    IGNORE = ".ignore"


class _Layer(NamedTuple):
    """One file's rules as they stand in the current folder."""

    rules: RuleFile
    trail: Trail

    def enter(self, name: bytes) -> _Layer:
        trail = self.trail.enter(name)
        return self if trail is self.trail else _Layer(self.rules, trail)


_Layers = tuple[_Layer, ...]
_Tables = tuple[tuple[NameTable, ...], ...]  # a file's tables together, the files by precedence


class IgnoreStack:
    """The rules in force in a folder. Begin with `EMPTY`, at the top of the tree or of the repository around
    it.

    `in_repository`: whether `begin_repository` was called on the way down. `truncated`: whether rules are
    missing because a file, or all files together, had too many.
    """

    __slots__ = ("_exclude", "_files", "_folders", "_git", "_ignore", "in_repository", "truncated")

    def __init__(
        self,
        *,
        ignore: _Layers = (),
        git: _Layers = (),
        exclude: _Layers = (),
        in_repository: bool = False,
        truncated: bool = False,
    ) -> None:
        self._ignore = ignore
        self._git = git
        self._exclude = exclude
        self.in_repository = in_repository
        self.truncated = truncated
        layers = (*ignore, *git, *exclude)
        self._files = _not_empty((layer.rules.files, layer.trail.files) for layer in layers)
        self._folders = _not_empty((layer.rules.folders, layer.trail.folders) for layer in layers)

    def begin_repository(self) -> IgnoreStack:
        """The stack in a folder that holds `.git`, whether a folder or a file. Call it before `push` in that folder."""
        return IgnoreStack(ignore=self._ignore, in_repository=True, truncated=self.truncated)

    def push(self, rules: RuleFile, source: Source) -> IgnoreStack:
        """The stack with the rules of a file that speaks for the current folder and below.

        `info/exclude` is pushed in the top folder of its repository. A file that brings the rules in force
        above `MAX_RULES_IN_FORCE` is left out, and the stack marked.
        """
        truncated = self.truncated or rules.truncated
        files = [rules, *(layer.rules for layer in (*self._ignore, *self._git, *self._exclude))]
        fits = sum(file.count for file in files) <= MAX_RULES_IN_FORCE
        fits = fits and sum(file.size for file in files) <= MAX_BYTES_IN_FORCE
        new = (_Layer(rules, rules.trail),) if fits and rules.count else ()
        return IgnoreStack(
            ignore=new + self._ignore if source is Source.IGNORE else self._ignore,
            git=new + self._git if source is Source.GITIGNORE else self._git,
            exclude=new + self._exclude if source is Source.EXCLUDE else self._exclude,
            in_repository=self.in_repository,
            truncated=truncated or not fits,
        )

    def enter(self, name: bytes) -> IgnoreStack:
        """The stack in the folder `name` of the current one, before that folder's own files are pushed."""
        ignore, git, exclude = (_enter(layers, name) for layers in (self._ignore, self._git, self._exclude))
        if ignore is self._ignore and git is self._git and exclude is self._exclude:
            return self
        return IgnoreStack(
            ignore=ignore,
            git=git,
            exclude=exclude,
            in_repository=self.in_repository,
            truncated=self.truncated,
        )

    def ignored(self, name: bytes, is_folder: bool) -> bool:
        """The verdict on the entry `name` of the current folder. A symlink is no folder, wherever it leads."""
        for tables in self._folders if is_folder else self._files:
            found = max(table.last(name) for table in tables)
            if found != NO_RULE:
                return says_ignored(found)
        return False

    def ignored_files(self, names: Collection[bytes]) -> set[bytes]:
        """Those of the current folder's entries `names` that are ignored; none of them is a folder."""
        return _ignored_among(names, self._files) if self._files else set()

    def ignored_folders(self, names: Collection[bytes]) -> set[bytes]:
        """Those of the current folder's subfolders `names` that are ignored."""
        return _ignored_among(names, self._folders) if self._folders else set()


def _enter(layers: _Layers, name: bytes) -> _Layers:
    entered = tuple([layer.enter(name) for layer in layers])
    # Told by identity: a folder in which nothing differs shares its parent's stack.
    return layers if all(new is old for new, old in zip(entered, layers, strict=True)) else entered


def _not_empty(files: Iterable[tuple[NameTable, ...]]) -> _Tables:
    kept = (tuple(table for table in tables if table) for tables in files)
    return tuple(tables for tables in kept if tables)


def _ignored_among(names: Collection[bytes], files: _Tables) -> set[bytes]:
    ignored: set[bytes] = set()
    undecided = names
    for tables in files:
        found = tables[0].last_of_each(undecided)
        for table in tables[1:]:
            for name, rank in table.last_of_each(undecided).items():
                if rank > found.get(name, NO_RULE):
                    found[name] = rank
        if found:
            ignored.update(name for name, rank in found.items() if says_ignored(rank))
            undecided = [name for name in undecided if name not in found]
    return ignored


EMPTY: Final = IgnoreStack()
