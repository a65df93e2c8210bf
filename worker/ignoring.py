"""The walk's side of ignore files: reads them below a descriptor, and keeps the rules in force for each
folder.

Ignore files are hostile input like any other: opened without following a link, read only if regular, and no
further than is parsed. A `.gitignore` counts inside a repository alone, as git and ripgrep have it;
`.ignore` counts everywhere.

Leaves to others: what the rules decide (ignore/).
"""

from __future__ import annotations

import os
import stat
from typing import Final

from . import folders
from .ignore.cache import RuleCache
from .ignore.rules import MAX_BYTES
from .ignore.stack import EMPTY, IgnoreStack, Source

_KEPT_STACKS: Final = 8192


class Ignoring:
    """The rules of one query's walk. A stack is kept for each folder entered, until there are too many."""

    def __init__(self) -> None:
        self.cut = False
        """Some file had more rules than are kept."""
        self._rules = RuleCache()
        self._stacks: dict[bytes, IgnoreStack] = {}

    def on_the_way(self, root: int, path: bytes) -> None:
        """Make the stacks of every folder from the mount down to `path` known, opening what is not.

        Raises OSError when a folder on the way is gone.
        """
        if path in self._stacks:
            return
        folder = os.open(b".", folders.OPEN_FOLDER, dir_fd=root)
        here = b""
        try:
            self.enter(here, folder)
            for name in filter(None, path.split(b"/")):
                parent = folder
                folder = os.open(name, folders.OPEN_FOLDER, dir_fd=parent)
                os.close(parent)
                here = folders.join(here, name)
                self.enter(here, folder)
        finally:
            os.close(folder)

    def enter(self, path: bytes, folder: int, names: frozenset[bytes] | None = None) -> IgnoreStack:
        """The rules in force in the open folder `path`, whose parent was entered before.

        `names`: what the folder holds, where it was listed; it saves asking for files that are not there.
        """
        known = self._stacks.get(path)
        if known is None:
            parent, _, name = path.rpartition(b"/")
            stack = self._stacks[parent].enter(name) if path else EMPTY
            if len(self._stacks) >= _KEPT_STACKS:
                self._stacks = {p: s for p, s in self._stacks.items() if _is_above(p, path)}
            known = self._stacks[path] = self._with_files_of(stack, folder, names)
        return known

    def _with_files_of(self, stack: IgnoreStack, folder: int, names: frozenset[bytes] | None) -> IgnoreStack:
        def there(name: bytes) -> bool:
            return names is None or name in names

        if there(b".git") and folders.exists(folder, b".git"):
            stack = stack.begin_repository()
            stack = self._push(stack, folder, b".git/info/exclude", Source.EXCLUDE)
        if stack.in_repository and there(b".gitignore"):
            stack = self._push(stack, folder, b".gitignore", Source.GITIGNORE)
        if there(b".ignore"):
            stack = self._push(stack, folder, b".ignore", Source.IGNORE)
        return stack

    def _push(self, stack: IgnoreStack, folder: int, path: bytes, source: Source) -> IgnoreStack:
        data = _read(folder, path)
        if data is None:
            return stack
        pushed = stack.push(self._rules.rules_of(data), source)
        self.cut = self.cut or pushed.truncated
        return pushed


def _is_above(path: bytes, folder: bytes) -> bool:
    return not path or folder == path or folder.startswith(path + b"/")


def _read(folder: int, path: bytes) -> bytes | None:
    """An ignore file's bytes, one more than are parsed, so that a cut is noticed; None for anything else."""
    *above, name = path.split(b"/")
    try:
        parent = folders.open_below(folder, b"/".join(above)) if above else folder
        try:
            file = os.open(name, folders.OPEN_FILE, dir_fd=parent)
        finally:
            if above:
                os.close(parent)
        try:
            if not stat.S_ISREG(folders.status(file).mode):
                return None
            return os.read(file, MAX_BYTES + 1)
        finally:
            os.close(file)
    except OSError:
        return None
