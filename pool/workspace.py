"""The Python API: a Pool of workers and the Workspaces opened on it (contract 9).

Everything may be called from several threads. Every method of a workspace has an async twin with the same
meaning; when its task is cancelled, the work is killed at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from ..policy.errors import PolicyError, PoolError, shown
from ..policy.tenant import Policy
from .arguments import Sort
from .report import ConfinementReport
from .requests import GlobRequest, GrepRequest, LsRequest, OutputMode, ReadRequest, Request, T
from .results import GlobResult, GrepResult, LsResult, ReadResult
from .scope import Scope
from .supervisor import Supervisor
from .tenant import Tenant


class Pool:
    """The workers of one host process, shared by all its tenants. One is enough; close it, or use it in a
    `with`.

    `max_workers` bounds the workers of all workspaces together; workspaces that have been idle longest give
    theirs up first.
    """

    def __init__(self, *, max_workers: int = 32) -> None:
        if isinstance(max_workers, bool) or not isinstance(max_workers, int) or max_workers < 1:
            raise PolicyError(
                "wrong_type", f"max_workers must be a whole number of at least 1; found {shown(max_workers)}."
            )
        self._supervisor = Supervisor(max_workers)

    def open(self, policy: Policy) -> Workspace:
        """Open a policy. Raises PolicyError (a mount that cannot be shown) and ConfinementError (this
        machine does not give what the policy demands). Returns once a worker was locked down and attested."""
        if not isinstance(policy, Policy):
            raise PolicyError("wrong_type", f"Pool.open wants a Policy; found {shown(policy)}.")
        return Workspace(self._supervisor, policy)

    def worker_pids(self) -> list[int]:
        """Process numbers of the live workers, for an operator's eyes."""
        return self._supervisor.worker_pids()

    def close(self) -> None:
        """End all workers. Requests under way are refused. Closing twice is harmless."""
        self._supervisor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Workspace:
    """An open policy: the handle on which one tenant searches. Made by `Pool.open`."""

    def __init__(self, supervisor: Supervisor, policy: Policy) -> None:
        self._supervisor = supervisor
        self.policy = policy
        self._scope = Scope(policy)
        self._tenant = Tenant(policy, self._scope.roots)
        self._closed = False
        supervisor.open(self._tenant)
        try:
            self.confinement: ConfinementReport = self._tenant.report.result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End this workspace's workers. Closing twice is harmless."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(PoolError):
                self._supervisor.close_tenant(self._tenant)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def glob(
        self,
        pattern: str,
        path: str | None = None,
        *,
        include_dirs: bool = False,
        limit: int | None = None,
        offset: int | None = None,
        sort: Sort = "path",
        case_sensitive: bool = True,
        no_ignore: bool = False,
    ) -> GlobResult:
        """Paths that match a glob (contract 3), below `path` (default: the first mount).

        `limit` None is the policy's default, 0 as many as the policy allows. Raises RequestError and its
        kinds for what is refused, PoolError when the pool cannot serve.
        """
        return self._run(
            GlobRequest(pattern, path, include_dirs, limit, offset, sort, case_sensitive, no_ignore)
        )

    async def aglob(
        self,
        pattern: str,
        path: str | None = None,
        *,
        include_dirs: bool = False,
        limit: int | None = None,
        offset: int | None = None,
        sort: Sort = "path",
        case_sensitive: bool = True,
        no_ignore: bool = False,
    ) -> GlobResult:
        """`glob`, awaited."""
        return await self._arun(
            GlobRequest(pattern, path, include_dirs, limit, offset, sort, case_sensitive, no_ignore)
        )

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        *,
        glob: str | Sequence[str] | None = None,
        literal: bool = False,
        case_sensitive: bool = False,
        word: bool = False,
        multiline: bool = False,
        type: str | Sequence[str] | None = None,
        output_mode: OutputMode = "content",
        before: int = 0,
        after: int = 0,
        context: int = 0,
        max_per_file: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort: Sort = "path",
        no_ignore: bool = False,
    ) -> GrepResult:
        """Lines that match a Python regular expression (contract 4), below `path` or in it, if it is a file.

        `glob` filters files by name or path; a leading `!` excludes. `limit` None is the policy's default, 0
        as many as the policy allows. Raises RequestError and its kinds for what is refused, PoolError when
        the pool cannot serve.
        """
        return self._run(
            GrepRequest(
                pattern,
                path,
                glob,
                literal,
                case_sensitive,
                word,
                multiline,
                type,
                output_mode,
                before,
                after,
                context,
                max_per_file,
                limit,
                offset,
                sort,
                no_ignore,
            )
        )

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        *,
        glob: str | Sequence[str] | None = None,
        literal: bool = False,
        case_sensitive: bool = False,
        word: bool = False,
        multiline: bool = False,
        type: str | Sequence[str] | None = None,
        output_mode: OutputMode = "content",
        before: int = 0,
        after: int = 0,
        context: int = 0,
        max_per_file: int | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort: Sort = "path",
        no_ignore: bool = False,
    ) -> GrepResult:
        """`grep`, awaited."""
        return await self._arun(
            GrepRequest(
                pattern,
                path,
                glob,
                literal,
                case_sensitive,
                word,
                multiline,
                type,
                output_mode,
                before,
                after,
                context,
                max_per_file,
                limit,
                offset,
                sort,
                no_ignore,
            )
        )

    def ls(
        self,
        path: str | None = None,
        *,
        depth: int = 1,
        limit: int | None = None,
        offset: int | None = None,
        no_ignore: bool = False,
    ) -> LsResult:
        """What a folder holds (contract 5), `depth` levels deep (1 to 64), folders before what is in them.

        Limits and errors are those of `glob`.
        """
        return self._run(LsRequest(path, depth, limit, offset, no_ignore))

    async def als(
        self,
        path: str | None = None,
        *,
        depth: int = 1,
        limit: int | None = None,
        offset: int | None = None,
        no_ignore: bool = False,
    ) -> LsResult:
        """`ls`, awaited."""
        return await self._arun(LsRequest(path, depth, limit, offset, no_ignore))

    def read(
        self, path: str, *, start_line: int = 1, end_line: int | None = None, max_bytes: int = 65_536
    ) -> ReadResult:
        """Lines of one file (contract 5), counted from 1, both ends included; at most `max_bytes` (1 to 4
        MiB) of text.

        Raises RequestError and its kinds for what is refused, PoolError when the pool cannot serve.
        """
        return self._run(ReadRequest(path, start_line, end_line, max_bytes))

    async def aread(
        self, path: str, *, start_line: int = 1, end_line: int | None = None, max_bytes: int = 65_536
    ) -> ReadResult:
        """`read`, awaited."""
        return await self._arun(ReadRequest(path, start_line, end_line, max_bytes))

    def _run(self, request: Request[T]) -> T:
        prepared = request.prepare(self._scope)
        self._supervisor.submit(self._tenant, prepared.search)
        try:
            return prepared.finish(prepared.search.future.result())
        except BaseException:
            # KeyboardInterrupt above all: nobody waits any more, so nobody works any more.
            self._supervisor.cancel(prepared.search)
            raise

    async def _arun(self, request: Request[T]) -> T:
        import asyncio

        # Start paths are looked up on disk, and a page is masked: both off the event loop.
        prepared = await asyncio.to_thread(request.prepare, self._scope)
        self._supervisor.submit(self._tenant, prepared.search)
        try:
            outcome = await asyncio.shield(asyncio.wrap_future(prepared.search.future))
        except BaseException:
            self._supervisor.cancel(prepared.search)
            raise
        return await asyncio.to_thread(prepared.finish, outcome)
