"""Before a pool serves anybody: does the sample job live under the filter, on this machine's C library?

If it does not, the calls that the job makes and the list does not allow are found one by one, and named.
Without this, a new C library would show as workers that die at random, on some files and not on others.
"""

from __future__ import annotations

import platform
import signal
from collections.abc import Sequence

from ..policy import syscalls
from ..policy.errors import ConfinementError
from ..policy.syscalls import Rule
from .filters import call_names, compiled, compiled_denial
from .zygote import Zygote


def proven_zygote() -> Zygote:
    """A new zygote, on which the sample job has lived under the filter. Raises ConfinementError,
    PoolError.
    """
    zygote = Zygote()
    try:
        machine = platform.machine()
        check(zygote, syscalls.allowed(machine), machine)
    except BaseException:
        zygote.close()
        raise
    return zygote


def check(zygote: Zygote, rules: Sequence[Rule], machine: str) -> None:
    """Raises ConfinementError, naming the calls that are wanting, unless the sample job lives under
    `rules`.
    """
    tried = zygote.try_filter(compiled(rules, machine))
    if tried.signal == 0 and tried.status == 0:
        return
    if tried.signal != signal.SIGSYS:
        how = f"signal {tried.signal}" if tried.signal else f"status {tried.status}"
        raise ConfinementError(
            "preflight_failed", f"The sample job ended with {how} before anything was searched."
        )
    calls = ", ".join(wanting(zygote, rules, machine)) or "one in the list, with other arguments"
    raise ConfinementError(
        "preflight_failed",
        f"This machine's C library needs system calls that workers may not make: {calls}.",
        hint="Please report this with the versions of the C library and the kernel; nothing was searched.",
    )


def wanting(zygote: Zygote, rules: Sequence[Rule], machine: str) -> list[str]:
    """The calls that the sample job makes and `rules` do not know. Tries each call there is: some seconds."""
    allowed = {rule.call for rule in rules}
    return [
        call
        for call in call_names()
        if call not in allowed and zygote.try_filter(compiled_denial(call, machine)).signal == signal.SIGSYS
    ]
