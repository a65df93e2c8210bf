"""Run as a program by test_tiers.py: opens a policy and searches, under an outer filter that plays another
machine.

Arguments: a JSON object {"deny": {call: errno}, "drop": bool, "allow_missing": [...], "mounts": [...]}.
Prints JSON: what was in force and what was found, or the error.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys

import pyseccomp

import grille

# The capabilities that container engines leave to root by default (capabilities(7) numbers).
CONTAINER_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)


def deny(calls: dict[str, int]) -> None:
    """What an engine's profile does: the call answers with an errno."""
    if not calls:
        return
    outer = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
    for call, errno in calls.items():
        outer.add_rule(pyseccomp.ERRNO(errno), call)
    outer.load()


def drop_capabilities() -> None:
    """Be root as in a container: the bounding and the effective set cut to the usual ones."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if capability not in CONTAINER_CAPABILITIES:
            libc.prctl(24, capability, 0, 0, 0)
    low = sum(1 << capability for capability in CONTAINER_CAPABILITIES)
    header = struct.pack("<Ii", 0x2008_0522, 0)
    if libc.syscall(
        126 if sys.maxsize and _machine() == "x86_64" else 91,
        header,
        struct.pack("<6I", low, low, 0, 0, 0, 0),
    ):
        raise OSError(ctypes.get_errno(), "capset")


def _machine() -> str:
    import platform

    return platform.machine()


def main() -> None:
    asked = json.loads(sys.argv[1])
    if asked["drop"]:
        drop_capabilities()
    deny(asked["deny"])
    mounts = [grille.Mount(f"/mnt/{number}", host=host) for number, host in enumerate(asked["mounts"])]
    confinement = grille.Confinement(allow_missing=asked["allow_missing"])
    try:
        with grille.Pool() as pool:
            workspace = pool.open(grille.Policy(mounts=mounts, confinement=confinement))
            found = [e.path for mount in mounts for e in workspace.grep("needle", mount.virtual).entries]
            report = workspace.confinement
            layers = {layer.name: [layer.state, layer.errno, layer.abi] for layer in report.layers}
            print(
                json.dumps({"tier": report.tier, "layers": layers, "losses": report.losses, "found": found})
            )
    except grille.GrilleError as error:
        print(json.dumps({"error": error.code, "message": str(error)}))


if __name__ == "__main__":
    main()
