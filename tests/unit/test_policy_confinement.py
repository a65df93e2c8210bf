"""Rules of grille.policy.confinement."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.confinement import LAYERS, Confinement
from grille.policy.errors import PolicyError

NEVER_MISSING = {
    "attestation",
    "canary",
    "close_fds",
    "dumpable",
    "no_new_privs",
    "rlimits",
    "seccomp",
    "zygote",
}
MAY_BE_NAMED = {"cgroup", "chroot", "landlock", "mdwe", "mounts", "namespaces", "private_uid"}
REPORTED_ONLY = {"cgroup", "mdwe", "namespaces", "private_uid"}


def refusal(**fields: Any) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        Confinement(**fields)
    return caught.value


def test_table_of_layers() -> None:
    """Exactly the layers that hold up the others are required, and each layer says what it does."""
    assert {name for name, layer in LAYERS.items() if layer.standing == "required"} == NEVER_MISSING
    assert {name for name, layer in LAYERS.items() if layer.standing == "optional"} == REPORTED_ONLY
    assert set(LAYERS) == NEVER_MISSING | MAY_BE_NAMED
    assert all(layer.meaning and "\n" not in layer.meaning for layer in LAYERS.values())


def test_default_is_strict() -> None:
    """Without a word of the operator nothing but a reported-only layer may be missing, and workers run at
    tier A alone."""
    strict = Confinement()
    assert strict.lowest_tier == "A"
    assert set(strict.refused(LAYERS)) == set(LAYERS) - REPORTED_ONLY


@pytest.mark.parametrize("name", sorted(NEVER_MISSING))
def test_required_layers_cannot_be_named(name: str) -> None:
    """No policy can do without a required layer; the refusal lists what could be named."""
    error = refusal(allow_missing=["landlock", name])
    assert (error.code, error.key) == ("layer_required", "allow_missing[1]")
    assert all(legal in str(error) for legal in MAY_BE_NAMED)


@pytest.mark.parametrize("name", ["", "Landlock", "mount", "all", "*", "\x1b[2J"])
def test_unknown_layers_are_refused(name: str) -> None:
    """A layer that does not exist is refused, with the legal names, and there is no word for all of them."""
    error = refusal(allow_missing=[name])
    assert (error.code, error.key) == ("layer_unknown", "allow_missing[0]")
    assert all(legal in str(error) for legal in MAY_BE_NAMED)
    assert str(error).isprintable()


@pytest.mark.parametrize("value", ["landlock", {"landlock"}, None, 1, [1], [None], [["landlock"]]])
def test_allow_missing_is_an_array_of_names(value: object) -> None:
    """A lone string is not taken for an array of its letters."""
    assert refusal(allow_missing=value).code == "wrong_type"


@pytest.mark.parametrize("key", ["fresh_workers", "pseudo_filesystems"])
def test_switches_are_true_or_false(key: str) -> None:
    """A word is not taken for a switch: "false" would be true."""
    error = refusal(**{key: "false"})
    assert (error.code, error.key) == ("wrong_type", key)


@given(st.lists(st.sampled_from(sorted(MAY_BE_NAMED)), max_size=12))
def test_order_and_repetition_mean_nothing(names: list[str]) -> None:
    """Two policies that name the same layers are equal and hash alike."""
    one, other = Confinement(allow_missing=names), Confinement(allow_missing=tuple(reversed(names * 2)))
    assert one == other
    assert hash(one) == hash(other)
    assert one.allow_missing == tuple(sorted(set(names)))


@pytest.mark.parametrize(
    ("names", "tier"),
    [((), "A"), (("chroot",), "A"), (("landlock",), "A"), (("mounts",), "B"), (("mounts", "chroot"), "C")],
)
def test_tiers_follow_from_the_names(names: tuple[str, ...], tier: str) -> None:
    """Tier B needs `mounts` named, tier C both `mounts` and `chroot`."""
    assert Confinement(allow_missing=names).lowest_tier == tier


def test_a_named_layer_may_be_missing() -> None:
    """What the operator named is no error; what was not named is."""
    policy = Confinement(allow_missing=["mounts"])
    assert policy.refused({"mounts", "cgroup"}) == ()
    assert policy.refused({"mounts", "chroot", "seccomp"}) == ("chroot", "seccomp")


def test_landlock_is_missing_at_tier_a_alone() -> None:
    """Without detached mounts and without Landlock nothing keeps a worker to its files, whatever was
    named."""
    everything = Confinement(allow_missing=sorted(MAY_BE_NAMED))
    assert everything.refused({"landlock"}) == ()
    assert everything.refused({"mounts", "chroot"}) == ()
    assert everything.refused({"mounts", "landlock"}) == ("landlock",)
