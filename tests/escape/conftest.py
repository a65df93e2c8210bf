"""One jail for the whole run: a process tree that forks for each attempt costs milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .harness import Jail, open_jail


@pytest.fixture(scope="session")
def jail() -> Iterator[Jail]:
    """The product's zygote and cells, their workers waiting for attempts."""
    opened = open_jail()
    yield opened
    opened.close()
