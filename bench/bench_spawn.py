"""How long a new worker takes: from the order to spawn until it is locked down, attested, and ready for a
job.

Fair? It measures what a request waits for when a worker was killed: fork, lock-down, canaries, and the
supervisor's own look at /proc. The pool's start (interpreter, imports, rehearsal, preflight, one cell) is
told beside it, once a process.

    python bench/bench_spawn.py [RUNS]
"""

from __future__ import annotations

import contextlib
import select
import statistics
import sys
import tempfile
import time

from grille.policy.mounts import Mount
from grille.policy.tenant import Policy
from grille.policy.wire import Ready, WorkerSpawned
from grille.pool.cells import Cell
from grille.pool.filters import compiled_filter
from grille.pool.preflight import proven_zygote
from grille.pool.roots import Root


def spawn_once(cell: Cell, number: int) -> float:
    """Milliseconds from the order to an attested worker."""
    begun = time.perf_counter()
    worker = cell.spawn(number, None)
    while worker.ready is None or worker.pidfd is None:
        select.select([cell.channel, worker.channel], [], [], 10)
        for told, descriptor in cell.receive() or []:
            if isinstance(told, WorkerSpawned) and told.worker == number:
                worker.pidfd = descriptor
        for frame in worker.receive() or []:
            if isinstance(frame, Ready):
                worker.ready = frame
    cell.attest(worker)
    took = (time.perf_counter() - begun) * 1000
    worker.kill()
    cell.workers.pop(number).close()
    return took


def main() -> None:
    """Print medians and spread."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        program = compiled_filter()
        compiled = time.perf_counter()
        policy = Policy(mounts=[Mount(folder)])
        with (
            contextlib.closing(proven_zygote()) as zygote,
            contextlib.closing(Root(policy.mounts[0], pseudo_filesystems=False)) as root,
        ):
            proven = time.perf_counter()
            with contextlib.closing(Cell(1, zygote, [root], policy, program)) as cell:
                opened = time.perf_counter()
                times = sorted(spawn_once(cell, number) for number in range(1, runs + 1))
    print(f"filter compiled        {(compiled - begun) * 1000:7.1f} ms, once a process")
    print(f"zygote, preflight      {(proven - compiled) * 1000:7.1f} ms, once a pool")
    print(f"cell                   {(opened - proven) * 1000:7.1f} ms, once a workspace")
    quantiles = f"p5 {times[len(times) // 20]:.2f}, p95 {times[-len(times) // 20]:.2f}"
    print(f"worker, {runs} runs       {statistics.median(times):7.2f} ms median ({quantiles})")


if __name__ == "__main__":
    main()
