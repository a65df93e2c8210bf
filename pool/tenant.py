"""A workspace as the supervisor's loop knows it. Touched on the loop's thread alone, but for `report`."""

from __future__ import annotations

from concurrent.futures import Future

from ..policy.tenant import Policy
from .cells import Cell
from .report import ConfinementReport
from .roots import Root
from .search import Search


class Tenant:
    """Its policy, its cell while it has one, and its searches under way."""

    def __init__(self, policy: Policy, roots: list[Root]) -> None:
        self.policy = policy
        self.roots = roots
        self.cell: Cell | None = None
        self.searches: list[Search] = []
        self.failed_starts = 0
        self.report: Future[ConfinementReport] = Future()
        self.used_at = 0.0
        self.closed = False
