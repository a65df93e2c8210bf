"""`doctor` tries to get out on this very machine, and is believed only because its controls succeed."""

from __future__ import annotations

import errno
import platform

import pytest

import grille
from grille.policy import syscalls
from grille.policy.syscalls import Rule
from grille.pool import doctor, filters, preflight
from grille.pool.zygote import Zygote

# Attempts that this machine forbids even without bars, for an ordinary user or by configuration.
MAY_FAIL_ANYWAY = {
    "make a BPF map",
    "become root",
    "catch page faults",
    "use io_uring",
    "look at a process's memory",
}


@pytest.fixture(scope="module")
def diagnosis() -> doctor.Diagnosis:
    """One examination under the strict default."""
    return doctor.examine(grille.Confinement())


def test_every_attempt_is_stopped(diagnosis: doctor.Diagnosis) -> None:
    """On a machine that gives tier A nothing gets out, and the demand is met."""
    assert diagnosis.met, diagnosis.problem
    assert diagnosis.confinement is not None
    assert diagnosis.confinement.tier == "A"
    assert [attempt.name for attempt in diagnosis.attempts if not attempt.stopped] == []
    assert len(diagnosis.attempts) >= 25


def test_the_controls_succeed(diagnosis: doctor.Diagnosis) -> None:
    """What would fail without bars, too, proves nothing: nearly all attempts work for a process that has none."""
    failing = {attempt.name for attempt in diagnosis.attempts if attempt.control != "works"}
    assert failing <= MAY_FAIL_ANYWAY


def test_an_attempt_that_gets_through_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a filter that lets sockets through, doctor says that the demand is not met, and which attempt worked."""
    machine = platform.machine()
    leaky = filters.compiled((*syscalls.allowed(machine), Rule("socket", (), "a hole")), machine)
    monkeypatch.setattr(doctor, "compiled_filter", lambda: leaky)
    diagnosis = doctor.examine(grille.Confinement())
    assert not diagnosis.met
    assert "open a local socket" in {a.name for a in diagnosis.attempts if a.outcome == "escaped"}
    assert diagnosis.problem is not None
    assert "open a local socket" in diagnosis.problem


@pytest.mark.parametrize("call", ["mremap"])
def test_a_call_that_the_c_library_needs_is_named(call: str) -> None:
    """The preflight runs the sample job under the filter and names what is wanting, instead of workers that die."""
    machine = platform.machine()
    short = [rule for rule in syscalls.allowed(machine) if rule.call != call]
    zygote = Zygote()
    try:
        with pytest.raises(grille.ConfinementError, match=call) as refused:
            preflight.check(zygote, short, machine)
        assert refused.value.code == "preflight_failed"
        preflight.check(zygote, syscalls.allowed(machine), machine)
    finally:
        zygote.close()


def test_errno_names() -> None:
    """People read EPERM, not 1."""
    from grille.pool.report import errno_name

    assert errno_name(errno.EPERM) == "EPERM"
    assert errno_name(0) is None
