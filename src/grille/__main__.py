"""`python -m grille`: the same as the `grille` command."""

from __future__ import annotations

import sys

from grille.cli import main

if __name__ == "__main__":
    sys.exit(main())
