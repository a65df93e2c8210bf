"""The committed tables against the interpreter that runs this test, over all code points."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from grille.worker.engines import make_tables, tables
from grille.worker.engines.survey import survey

COMMITTED = sys.version_info[:2] in ((3, 11), (3, 12), (3, 13))


def test_tables_are_what_this_interpreter_says() -> None:
    """Classes and case used by the planner are those of the running `re`, whichever minor it is."""
    facts = survey()
    assert (facts.word, facts.digit, facts.space) == (tables.WORD, tables.DIGIT, tables.SPACE)
    assert dict(facts.lower) == tables.LOWER
    assert dict(facts.upper) == tables.UPPER


@pytest.mark.skipif(not COMMITTED, reason="this minor has no committed table: it is surveyed at import")
def test_the_committed_module_is_the_generators_output() -> None:
    """Nobody edits a table by hand: generating it again gives the same data."""
    name = f"grille.worker.engines.tables_{sys.version_info[0]}_{sys.version_info[1]}"
    committed = importlib.import_module(name)
    again: dict[str, object] = {}
    exec(compile(make_tables.module_text(), name, "exec"), again)
    for table in ("WORD", "DIGIT", "SPACE", "LOWER", "UPPER"):
        assert again[table] == getattr(committed, table), table


def test_every_supported_minor_has_its_table() -> None:
    """A worker must not pay for a survey at each start."""
    folder = Path(tables.__file__).parent
    assert {path.stem for path in folder.glob("tables_3_*.py")} == {
        "tables_3_11",
        "tables_3_12",
        "tables_3_13",
    }
