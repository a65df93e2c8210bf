"""Rules of grille.policy.tenant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grille.policy.confinement import Confinement
from grille.policy.errors import PolicyError
from grille.policy.limits import Limits
from grille.policy.mounts import Mount
from grille.policy.redaction import ALL, NAMES
from grille.policy.tenant import Policy

MOUNT = Mount("/mnt/ws", host="/srv/ws")


def refusal(**fields: Any) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        Policy(**{"mounts": [MOUNT], **fields})
    return caught.value


def mounts(count: int) -> list[Mount]:
    return [Mount(f"/mnt/{number}", host="/srv/ws") for number in range(count)]


def test_defaults() -> None:
    """One mount is a policy: strict confinement, default limits, ignore files on, hard links read."""
    policy = Policy(mounts=[MOUNT])
    assert (policy.deny, policy.limits, policy.confinement) == ((), Limits(), Confinement())
    assert (policy.use_ignore_files, policy.allow_no_ignore, policy.refuse_hardlinks) == (True, True, False)


def test_lists_are_kept_as_tuples() -> None:
    """A policy does not change when the list it was built from does, so it can be a key."""
    given_mounts, given_deny = [MOUNT], ["*.pem"]
    policy = Policy(mounts=given_mounts, deny=given_deny)
    given_mounts.clear()
    given_deny.clear()
    assert (policy.mounts, policy.deny) == ((MOUNT,), ("*.pem",))
    assert {policy: 1}[Policy(mounts=(MOUNT,), deny=("*.pem",))] == 1


def test_is_frozen() -> None:
    """A policy that was checked cannot change afterwards."""
    with pytest.raises(AttributeError):
        Policy(mounts=[MOUNT]).deny = ()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("count", [1, 64])
def test_accepts_1_to_64_mounts(count: int) -> None:
    """Both ends of the legal number of mounts are legal."""
    assert len(Policy(mounts=mounts(count)).mounts) == count


@pytest.mark.parametrize("count", [0, 65])
def test_refuses_other_numbers_of_mounts(count: int) -> None:
    """A tenant who sees nothing is a mistake, and each mount costs every worker something."""
    error = refusal(mounts=mounts(count))
    assert (error.code, error.key) == ("mount_count", "mounts")
    assert "1 to 64" in str(error)


def test_refuses_two_mounts_of_one_name() -> None:
    """One virtual path means one place; the refusal names both mounts and no host path."""
    error = refusal(mounts=[MOUNT, Mount("/mnt/b", "/srv/b"), Mount("/mnt/ws", "/srv/other")])
    assert (error.code, error.key) == ("mount_duplicate", "mounts[2].virtual")
    assert "mounts[0]" in str(error)
    assert "/srv" not in str(error)


def test_nested_mounts_and_one_folder_twice_are_legal() -> None:
    """A mount may lie within another one, and one folder may be shown under two names."""
    assert (
        len(Policy(mounts=[Mount("/a", "/srv/x"), Mount("/a/b", "/srv/y"), Mount("/c", "/srv/x")]).mounts)
        == 3
    )


@pytest.mark.parametrize("value", [MOUNT, "/srv/ws", None, {"virtual": "/a"}])
def test_mounts_is_an_array(value: object) -> None:
    """A lone mount or a lone string is not taken for an array."""
    error = refusal(mounts=value)
    assert (error.code, error.key) == ("wrong_type", "mounts")


@pytest.mark.parametrize("value", ["/srv/ws", {"virtual": "/a"}, None])
def test_each_mount_is_a_mount(value: object) -> None:
    """A string in place of a mount is refused by its index, and not repeated: it may be a host path."""
    error = refusal(mounts=[MOUNT, value])
    assert (error.code, error.key) == ("wrong_type", "mounts[1]")
    assert "/srv" not in str(error)


@pytest.mark.parametrize("key", ["use_ignore_files", "allow_no_ignore", "refuse_hardlinks"])
@pytest.mark.parametrize("value", ["false", 0, None])
def test_switches_are_true_or_false(key: str, value: object) -> None:
    """A word or a number is not taken for a switch."""
    error = refusal(**{key: value})
    assert (error.code, error.key) == ("wrong_type", key)


@pytest.mark.parametrize("key", ["limits", "confinement"])
def test_parts_are_checked_structs(key: str) -> None:
    """A plain dict has passed no check, so it is no part of a policy."""
    error = refusal(**{key: {}})
    assert (error.code, error.key) == ("wrong_type", key)


def test_deny_holds_up_to_1000_rules() -> None:
    """Each rule is tried on every entry, so their number has a bound."""
    assert len(Policy(mounts=[MOUNT], deny=["*.pem"] * 1000).deny) == 1000
    error = refusal(deny=["*.pem"] * 1001)
    assert (error.code, error.key) == ("deny_count", "deny")


@pytest.mark.parametrize(
    ("rule", "code"), [("", "deny_invalid"), ("a\0b", "deny_invalid"), (7, "wrong_type")]
)
def test_refuses_rules_that_match_nothing(rule: object, code: str) -> None:
    """A rule that can deny nothing is a mistake that must not pass for protection."""
    error = refusal(deny=["*.pem", rule])
    assert (error.code, error.key) == (code, "deny[1]")


def test_a_rule_is_no_longer_than_a_path() -> None:
    """The length of a rule counts in bytes of UTF-8, up to 4096."""
    assert Policy(mounts=[MOUNT], deny=["é" * 2048]).deny == ("é" * 2048,)
    assert refusal(deny=["é" * 2048 + "a"]).code == "deny_invalid"


@pytest.mark.parametrize("value", ["*.pem", {"*.pem"}, None])
def test_deny_is_an_array(value: object) -> None:
    """A lone string is not taken for an array of its letters, which would deny nothing that was meant."""
    error = refusal(deny=value)
    assert (error.code, error.key) == ("wrong_type", "deny")


def test_redact_takes_names_and_all() -> None:
    """Patterns of secrets are named, and kept as a tuple; off unless asked for."""
    assert Policy(mounts=[MOUNT]).redact == ()
    assert Policy(mounts=[MOUNT], redact=["jwt", "private_key"]).redact == ("jwt", "private_key")
    assert Policy(mounts=[MOUNT], redact=[ALL]).redact == ("all",)
    assert Policy(mounts=[MOUNT], redact=NAMES).redact == NAMES


def test_redact_refuses_other_names() -> None:
    """A name that is misspelled must not pass for protection; the refusal lists the legal ones."""
    error = refusal(redact=["jwt", "privat_key"])
    assert (error.code, error.key) == ("redact_unknown", "redact[1]")
    assert all(name in str(error) for name in NAMES)
    assert error.hint == "Did you mean private_key?"


@pytest.mark.parametrize(
    ("value", "key"), [("all", "redact"), (None, "redact"), ([7], "redact[0]"), ([["jwt"]], "redact[0]")]
)
def test_redact_is_an_array_of_names(value: object, key: str) -> None:
    """A lone string is not taken for an array of its letters."""
    error = refusal(redact=value)
    assert (error.code, error.key) == ("wrong_type", key)


def test_for_paths_shows_folders_under_their_own_paths() -> None:
    """Without a mapping the virtual path is the host path (contract 1), in the order given."""
    policy = Policy.for_paths(["/srv/b", Path("/srv/a")])
    assert policy == Policy(mounts=[Mount("/srv/b"), Mount("/srv/a")])


@pytest.mark.parametrize(
    ("paths", "code"), [([], "mount_count"), (["."], "mount_not_absolute"), (["/"], "mount_refused")]
)
def test_for_paths_checks_as_ever(paths: list[str], code: str) -> None:
    """The short way to a policy passes the same checks."""
    with pytest.raises(PolicyError) as caught:
        Policy.for_paths(paths)
    assert caught.value.code == code


def test_repr_hides_host_paths() -> None:
    """A policy may be logged: the host path of a mapped mount does not show."""
    assert "/srv" not in repr(Policy(mounts=[MOUNT]))
