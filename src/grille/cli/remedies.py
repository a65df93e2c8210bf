"""What a person can do where a layer of confinement is missing: for the operator of the machine, by layer.

Facts about kernels and container engines; which layers there are is policy/confinement.py's.
"""

from __future__ import annotations

import os
import re
import sys
from types import MappingProxyType
from typing import Final

from ..policy.confinement import LAYERS
from ..pool.doctor import Diagnosis

_NAMESPACES: Final = (
    "Let grille make namespaces and mounts. Docker: --cap-add SYS_ADMIN, or a seccomp profile that allows unshare "
    "and mount. Ubuntu 24.04 and later, as an ordinary user: an AppArmor profile with 'userns,' for this Python, or "
    "kernel.apparmor_restrict_unprivileged_userns=0. Elsewhere: kernel.unprivileged_userns_clone=1 and "
    "user.max_user_namespaces above 0."
)

_PROFILE: Final = (
    "The AppArmor profile, for /etc/apparmor.d/grille and then 'apparmor_parser -r /etc/apparmor.d/grille': "
    "abi <abi/4.0>, include <tunables/global> profile grille {python} flags=(unconfined) {{ userns, }}"
)

_BY_LAYER: Final = MappingProxyType(
    {
        "chroot": "Start grille as root in the container, or allow the capability SYS_CHROOT.",
        "landlock": "Use Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK=y and 'landlock' in the kernel's lsm= "
        "list. In Docker: version 23 or later. gVisor has no Landlock.",
        "mounts": _NAMESPACES,
        "namespaces": _NAMESPACES,
        "private_uid": "Give the capabilities SETUID and SETGID, or start grille as an ordinary user.",
        "seccomp": "Use a kernel with CONFIG_SECCOMP_FILTER=y.",
    }
)

_BY_CODE: Final = MappingProxyType(
    {
        "attestation_failed": "This should not happen; please report it with this output.",
        "escaped": "A worker got out. Search nothing hostile here; please report it with this output.",
        "canary_failed": "This should not happen; please report it with this output.",
        "kernel_too_old": "Use a newer kernel.",
        "preflight_failed": "Please report this with the versions of the C library and the kernel.",
        "library_missing": "Install libseccomp: the package is libseccomp2 on Debian and Ubuntu, libseccomp elsewhere.",
    }
)

_WORD: Final = re.compile(r"[a-z_]+")


def remedies(diagnosis: Diagnosis) -> list[str]:
    """What to do about a demand that is not met, the likeliest first; empty when nothing is known that helps."""
    named = [word for word in _WORD.findall(diagnosis.problem or "") if word in LAYERS]
    known = [_BY_LAYER[layer] for layer in named if layer in _BY_LAYER]
    if diagnosis.code is not None and diagnosis.code in _BY_CODE:
        known.append(_BY_CODE[diagnosis.code])
    if _NAMESPACES in known and os.geteuid() != 0 and _userns_restricted():
        known.append(_PROFILE.format(python=os.path.realpath(sys.executable)))
    return list(dict.fromkeys(known))


def _userns_restricted() -> bool:
    """Whether AppArmor keeps ordinary users' namespaces powerless (Ubuntu 24.04 and later)."""
    try:
        with open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", encoding="ascii") as switch:
            return switch.read().strip() == "1"
    except OSError:
        return False
