"""The limit of a scan is the kernel's timer: armed so that a step always gets its time, and never much
more.
"""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.worker.timer import KillTimer


class Kernel:
    """Stands for setitimer and the clock: remembers when it would fire."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.fires_at: float | None = None
        self.calls = 0

    def setitimer(self, which: int, seconds: float) -> None:
        assert which == signal.ITIMER_REAL
        self.calls += 1
        self.fires_at = self.now + seconds if seconds else None

    def monotonic(self) -> float:
        return self.now

    def stand_in(self, patch: pytest.MonkeyPatch) -> None:
        """No test of this file arms the real timer: its default action is this process's death."""
        fake = SimpleNamespace(setitimer=self.setitimer, ITIMER_REAL=signal.ITIMER_REAL)
        patch.setattr("grille.worker.timer.signal", fake)
        patch.setattr("grille.worker.timer.time", SimpleNamespace(monotonic=self.monotonic))


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel that stands in for the real one during the test."""
    stand_in = Kernel()
    stand_in.stand_in(monkeypatch)
    return stand_in


@given(
    st.lists(
        st.tuples(st.sampled_from([0.01, 0.3, 1.0, 60.0]), st.floats(0, 0.25)),
        min_size=1,
        max_size=40,
    )
)
def test_each_step_gets_its_time_and_at_most_a_tenth_more(steps: list[tuple[float, float]]) -> None:
    """After allow(t) the process lives for at least t and at most 1.1 t, whatever was allowed before."""
    with pytest.MonkeyPatch.context() as patch:
        kernel = Kernel()
        kernel.stand_in(patch)
        kill = KillTimer()
        for seconds, spent in steps:
            kill.allow(seconds, kernel.now)
            assert kernel.fires_at is not None
            assert seconds - 1e-9 <= kernel.fires_at - kernel.now <= seconds * 1.1 + 1e-9
            kernel.now += min(spent, seconds) * seconds


def test_ordinary_steps_cost_no_system_call(kernel: Kernel) -> None:
    """A thousand steps that together take a twentieth of the limit arm the timer once."""
    kill = KillTimer()
    for _ in range(1000):
        kill.allow(1.0, kernel.now)
        kernel.now += 0.00005
    assert kernel.calls == 1


def test_waiting_is_not_limited(kernel: Kernel) -> None:
    """At rest nothing fires, and the next step arms anew."""
    kill = KillTimer()
    kill.allow(1.0, kernel.now)
    kill.rest()
    assert kernel.fires_at is None
    kernel.now += 100
    kill.allow(1.0, kernel.now)
    assert kernel.fires_at is not None
    assert kernel.fires_at - kernel.now >= 1.0
