"""A lock-down that went wrong is noticed before the worker gets any work: each layer is left out once, on purpose."""

from __future__ import annotations

import contextlib
import errno
import os

import pytest

from grille.pool.attest import NotConfined
from grille.pool.filters import compiled_filter

from .harness import NotReady, open_jail, skip


def judged(missing: str) -> str:
    """What the product says of a worker that lacks this."""
    with (
        contextlib.closing(open_jail(missing)) as jail,
        contextlib.closing(jail.cell(compiled_filter())) as cell,
    ):
        try:
            jail.end(jail.spawn(cell))
        except NotConfined as refused:
            return refused.layer
        except NotReady as failed:
            layer, number = failed.args
            return f"{layer}: {errno.errorcode[number]}"
    return "confined"


def test_a_whole_lock_down_is_accepted() -> None:
    """The control of the next test."""
    assert judged("") == "confined"


@pytest.mark.parametrize(
    ("missing", "verdict"),
    [
        ("seccomp", "seccomp"),
        ("landlock", "landlock"),
        ("no_new_privs", "no_new_privs"),
        ("no_new_privs alone", "landlock: EPERM"),
        ("private_uid", "attestation"),
        ("one thread", "attestation"),
        ("empty root", "canary"),
    ],
)
def test_a_missing_layer_is_noticed(missing: str, verdict: str) -> None:
    """The kernel's word and the canaries tell of it, and the worker is refused."""
    assert judged(missing) == verdict


def test_a_capability_that_could_come_back_is_noticed() -> None:
    """A bounding set that is not empty is refused."""
    if os.geteuid() != 0:
        skip("root", "an ordinary user has no bounding set to lose")
    assert judged("bounding set") == "attestation"


@pytest.mark.parametrize(
    "missing",
    [
        "rlimits",
        pytest.param(
            "close_fds",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root may list a worker's descriptors"),
        ),
    ],
)
def test_limits_and_descriptors_are_looked_at(missing: str) -> None:
    """A worker without its limits, or with a descriptor too many, gets no job."""
    assert judged(missing) == missing
