"""Settings for all tests: how hypothesis behaves on a machine that is shared and sometimes slow."""

from __future__ import annotations

from hypothesis import settings

# No deadline: the time one example takes says more about the machine's other work than about the code.
settings.register_profile("grille", deadline=None, print_blob=True)
settings.load_profile("grille")
