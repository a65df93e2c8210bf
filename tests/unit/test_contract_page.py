"""docs/contract.md names a test for every rule, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "contract.md"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
RULE = re.compile(r"^(?:- |\d+\. )", re.MULTILINE)


@cache
def names_in(file: str) -> frozenset[str]:
    """The test functions of a file below tests/."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def rules() -> list[str]:
    """Each rule of the page, from its mark to the next."""
    text = re.sub(
        r"^(```.*?^```|\|.*?)$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    return [
        rule
        for section in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]
        for rule in RULE.split(section)[1:]
    ]


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(PAGE.read_text(encoding="utf-8")))))
def test_every_test_that_the_page_names_exists(file: str, name: str) -> None:
    """A renamed or removed test leaves no rule unheld: the page says what holds it now."""
    assert (TESTS / file).is_file()
    assert name in names_in(file)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule[:40])
def test_every_rule_of_the_page_names_a_test(rule: str) -> None:
    """A rule that no test holds is a wish."""
    assert NAMED.search(rule)


def test_every_test_of_the_contract_says_which_rule_it_keeps() -> None:
    """Each test in the files of the contract names its rule in its docstring."""
    for file in sorted((TESTS / "conformance").glob("test_contract_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert (ast.get_docstring(node) or "").startswith("Contract "), f"{file.name}::{node.name}"
