"""Rules of grille.policy.errors."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251  # hosts hand errors between processes with it
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.errors import (
    CODES,
    ConfinementError,
    GrilleError,
    LimitError,
    PathError,
    PatternError,
    PolicyError,
    PoolError,
    RequestError,
    shown,
    wrong_type,
)

EXAMPLES = [
    GrilleError("cancelled", "The request was cancelled."),
    RequestError("argument_invalid", "sort must be 'path' or 'mtime'.", hint="Leave it out for 'path'."),
    PatternError(
        "pattern_invalid", "missing ), unterminated subpattern", hint="Escape the parenthesis.", position=3
    ),
    PathError("outside", "'/x' lies in no mount.", hint="Did you mean /repo/x?"),
    LimitError("limit_negative", "limit must be at least 0; found -1."),
    ConfinementError("layer_missing", "landlock is missing."),
    PoolError("pool_closed", "The pool is closed; open a new one."),
    PolicyError(
        "unknown_key",
        "there is no such key.",
        hint="Did you mean host?",
        key="mounts[0].hosst",
        source="a.toml",
    ),
    PolicyError("wrong_type", "found a string.").placed(key="limits.workers", source="a.toml, line 3"),
]


def _pickled(protocol: int) -> Callable[[GrilleError], GrilleError]:
    def through_pickle(error: GrilleError) -> GrilleError:
        clone = pickle.loads(pickle.dumps(error, protocol))
        assert isinstance(clone, GrilleError)
        return clone

    return through_pickle


COPIES = [copy.copy, copy.deepcopy, *(_pickled(protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("clone", COPIES)
def test_survives_copy_and_pickle(error: GrilleError, clone: Callable[[GrilleError], GrilleError]) -> None:
    """An error that an executor carries between processes arrives with type, code, message, hint and extras
    unchanged."""
    other = clone(error)
    assert other is not error
    assert type(other) is type(error)
    assert vars(other) == vars(error)
    assert (str(other), repr(other)) == (str(error), repr(error))


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_is_no_os_error(error: GrilleError) -> None:
    """No `except OSError` or `except TimeoutError` of a host swallows a refusal (contract 7)."""
    assert isinstance(error, GrilleError)
    assert not isinstance(error, (OSError, ValueError, TypeError))


def test_tree_of_classes() -> None:
    """Pattern, path and limit errors are request errors; policy, confinement and pool errors are not
    (contract 7)."""
    assert {PatternError, PathError, LimitError} == set(RequestError.__subclasses__())
    assert {PolicyError, RequestError, ConfinementError, PoolError} == set(GrilleError.__subclasses__())


def test_text_is_message_and_hint() -> None:
    """str() is what a person reads, the hint included; repr() shows code and message alone."""
    error = PathError("outside", "'/x' lies in no mount.", hint="Did you mean /repo/x?")
    assert str(error) == "'/x' lies in no mount. Did you mean /repo/x?"
    assert repr(error) == "PathError(code='outside', message=\"'/x' lies in no mount.\")"
    assert str(PathError("outside", "No.")) == "No."


def test_policy_error_says_where() -> None:
    """A policy error names file, key and problem in that order, once each, however often it is placed
    anew."""
    inner = PolicyError("wrong_type", "found a string.", hint="Write 2.", key="workers")
    assert str(inner) == "workers: found a string. Write 2."
    outer = inner.placed(key="limits.workers").placed(key="limits.workers", source="a.toml")
    assert str(outer) == "a.toml: limits.workers: found a string. Write 2."
    assert (outer.code, outer.key, outer.source) == ("wrong_type", "limits.workers", "a.toml")


def test_codes_are_snake_case_with_a_meaning() -> None:
    """Every code is a stable snake_case word, and means something in one line."""
    for code, meaning in CODES.items():
        assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", code), code
        assert meaning, code
        assert "\n" not in meaning, code


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.binary(), st.lists(st.text())))
def test_shown_is_one_short_printable_line(value: object) -> None:
    """A hostile value cannot forge a line, reach a terminal raw, or make an error long."""
    text = shown(value)
    assert text.isprintable()
    assert len(text) <= 80


@pytest.mark.parametrize("value", [10**5000, -(10**5000), 2**64, "x" * 10**6, "\x1b[2J\n" * 99], ids=type)
def test_shown_takes_the_extreme(value: object) -> None:
    """A number beyond Python's digit limit, or a huge string, is still told in one short line."""
    assert shown(value).isprintable()
    assert len(shown(value)) <= 80


def test_wrong_type_hides_the_value() -> None:
    """A value of the wrong kind may hold a host path, so only its kind is told."""
    error = wrong_type("mounts[0].host", ["/srv/secret"], "a string")
    assert "secret" not in str(error)
    assert str(error) == "mounts[0].host: found an array where a string is wanted."
