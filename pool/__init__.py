"""The supervisor: starts, feeds, watches and kills workers, then merges, masks and cuts what they found.

Invariant: it never opens a file of a repository, never compiles a caller's pattern and believes nothing that
a worker says. It imports `policy/` alone; a worker is a program it starts, not a module it loads.
"""
