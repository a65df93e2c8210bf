"""The `grille` command (contract 10): a thin skin over the Python API.

Invariants: importing this package loads neither the pool nor msgspec, so that `--version` and `--help` are
quick; whatever happens ends in one of the exit statuses of `exits.py`; what a user did wrong never shows a
traceback.

Each command is a module of its own, loaded when it is called (`lazy.py`). What is printed on standard output
is `text.py`'s or `document.py`'s, what is told beside it `summary.py`'s.
"""

from __future__ import annotations


def main(arguments: list[str] | None = None) -> int:
    """Run the command line with `arguments` (default: the process's own) and return its exit status."""
    from .run import run

    return run(arguments)
