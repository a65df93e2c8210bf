"""What runs behind the bars: lock-down first, then walking folders and scanning files.

Invariant: a worker is taken for hostile from the first byte it reads, so nothing here guards the host by good
behaviour: the kernel does, and `pool/` checks each word. It imports `policy/` alone, and every module before
the lock-down. It starts no process, holds no secret and serves one workspace in its life.
"""
