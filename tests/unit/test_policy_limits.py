"""Rules of grille.policy.limits."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.errors import LimitError, PolicyError
from grille.policy.limits import BOUNDS, GREATEST_OFFSET, Limits

Tool = Literal["glob", "grep"]
TOOLS: tuple[Tool, ...] = ("glob", "grep")


def build(**fields: Any) -> Limits:
    """`Limits` from values that the type checker would refuse."""
    return Limits(**fields)


def in_range(name: str) -> st.SearchStrategy[float]:
    bound = BOUNDS[name]
    if bound.kind is float:
        return st.floats(bound.least, bound.greatest)
    return st.integers(int(bound.least), int(bound.greatest))


ALL_LIMITS = st.fixed_dictionaries({name: in_range(name) for name in BOUNDS})


def test_defaults_are_the_documented_ones() -> None:
    """A policy that says nothing gets the defaults of contract 2.4 and 4, and 512 MiB and a second for a
    scan."""
    limits = Limits()
    assert (limits.glob_default, limits.glob_ceiling) == (200, 1000)
    assert (limits.grep_default, limits.grep_ceiling) == (100, 500)
    assert (limits.max_file_bytes, limits.line_chars) == (1_000_000, 200)
    assert (limits.scan_seconds, limits.request_seconds, limits.worker_memory) == (
        1.0,
        20.0,
        512 * 1024 * 1024,
    )


def test_every_field_has_a_bound() -> None:
    """No limit is without a legal range, and a range takes fractions exactly where the field does."""
    fields = {field.name: field.type for field in msgspec.structs.fields(Limits)}
    assert {name: bound.kind for name, bound in BOUNDS.items()} == fields


@given(ALL_LIMITS)
def test_accepts_everything_in_range(fields: dict[str, float]) -> None:
    """Any combination of legal values is legal, and is kept as given."""
    limits = build(**fields)
    assert msgspec.structs.asdict(limits) == fields


@pytest.mark.parametrize("name", BOUNDS)
def test_both_ends_are_legal_and_one_step_beyond_is_not(name: str) -> None:
    """The ends of a range belong to it; the next value outside is refused by name, with the legal range."""
    bound = BOUNDS[name]
    step = 0.001 if bound.kind is float else 1
    assert getattr(build(**{name: bound.least}), name) == bound.least
    assert getattr(build(**{name: bound.greatest}), name) == bound.greatest
    for beyond in (bound.least - step, bound.greatest + step):
        with pytest.raises(PolicyError) as caught:
            build(**{name: beyond})
        assert (caught.value.code, caught.value.key) == ("limit_out_of_range", name)
        assert str(bound) in str(caught.value)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", [True, False, "1", None, [], b"1", 1j])
def test_refuses_other_kinds(name: str, value: object) -> None:
    """A limit is a number; true, "1" and nothing are not numbers."""
    with pytest.raises(PolicyError) as caught:
        build(**{name: value})
    assert (caught.value.code, caught.value.key) == ("wrong_type", name)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), float("-inf"), 10**5000, -(10**5000)], ids=type
)
@pytest.mark.parametrize("name", ["scan_seconds", "request_seconds"])
def test_refuses_what_is_no_real_duration(name: str, value: float) -> None:
    """Not-a-number, infinity and numbers of thousands of digits are out of range, and the refusal itself
    does not fail."""
    with pytest.raises(PolicyError) as caught:
        build(**{name: value})
    assert caught.value.code == "limit_out_of_range"


def test_counts_take_no_fractions() -> None:
    """What is counted is a whole number: 2.0 workers are refused, as 2.5 are."""
    for value in (2.0, 2.5):
        with pytest.raises(PolicyError) as caught:
            build(workers=value)
        assert caught.value.code == "wrong_type"


def test_bounds_hold_however_limits_come_to_be() -> None:
    """Decoding and replacing pass the same check as building."""
    with pytest.raises(PolicyError) as decoded:
        msgspec.json.decode(b'{"workers": 65}', type=Limits)
    with pytest.raises(PolicyError) as replaced:
        msgspec.structs.replace(Limits(), workers=65)
    assert decoded.value.code == replaced.value.code == "limit_out_of_range"


def test_is_frozen() -> None:
    """Limits that were checked cannot change afterwards."""
    with pytest.raises(AttributeError):
        Limits().workers = 3  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@given(
    st.integers(1, 5000),
    st.integers(1, 5000),
    st.one_of(st.none(), st.integers(0, 10**30)),
    st.sampled_from(TOOLS),
)
def test_page_limit_never_passes_the_ceiling(
    default: int, ceiling: int, requested: int | None, tool: Tool
) -> None:
    """A page holds what was asked, the default if nothing was, all that is allowed for 0, and never more
    than the ceiling."""
    limits = build(**{f"{tool}_default": default, f"{tool}_ceiling": ceiling})
    wanted = {None: default, 0: ceiling}.get(requested, requested)
    assert wanted is not None
    assert limits.page_limit(tool, requested) == sorted([wanted, ceiling])[0]


def test_page_limit_of_each_tool_is_its_own() -> None:
    """Glob and grep have ceilings of their own (contract 2.4)."""
    limits = Limits()
    assert [limits.page_limit(tool, None) for tool in TOOLS] == [200, 100]
    assert [limits.page_limit(tool, 0) for tool in TOOLS] == [1000, 500]
    assert [limits.page_limit(tool, 10**9) for tool in TOOLS] == [1000, 500]
    assert [limits.page_limit(tool, 7) for tool in TOOLS] == [7, 7]


@given(st.integers(0, 10**30))
def test_page_offset_is_kept_up_to_the_greatest(requested: int) -> None:
    """An offset is kept as given while any result could reach it."""
    assert Limits().page_offset(requested) == (requested if requested < GREATEST_OFFSET else GREATEST_OFFSET)


def test_page_offset_of_none_is_the_start() -> None:
    """No offset means the first entry."""
    assert Limits().page_offset(None) == 0


@pytest.mark.parametrize("requested", [True, False, "5", 5.0, float("nan"), [], "x" * 10**5])
def test_refuses_a_limit_that_is_no_whole_number(requested: Any) -> None:
    """A limit or offset that is no whole number is refused, not guessed at; true is no number."""
    with pytest.raises(LimitError) as limit:
        Limits().page_limit("grep", requested)
    with pytest.raises(LimitError) as offset:
        Limits().page_offset(requested)
    assert limit.value.code == offset.value.code == "limit_type"
    assert len(str(limit.value)) < 200


@pytest.mark.parametrize("requested", [-1, -(2**63), -(10**5000)], ids=int.bit_length)
def test_refuses_a_limit_below_zero(requested: int) -> None:
    """A negative limit or offset is refused (contract 2.3), even one too long to print."""
    with pytest.raises(LimitError) as limit:
        Limits().page_limit("glob", requested)
    with pytest.raises(LimitError) as offset:
        Limits().page_offset(requested)
    assert limit.value.code == offset.value.code == "limit_negative"
