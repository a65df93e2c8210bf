"""Says whether this machine can run grille, before anything is installed.

Run by ./try, ./test and .ci/run with the Python that is to be used. On success it prints one line that names
the interpreter, by which the callers notice a change. Otherwise it says what is missing and what to install, and
exits 1. "Too old" is one of its answers, so it runs on Python 3.6: annotations of later forms are quoted.
"""

import ctypes
import os
import shlex
import sys
import sysconfig

ROOMS = ("policy", "pool", "worker")

# The package that holds libseccomp.so.2 and how to get it, by ID or ID_LIKE of os-release(5).
LIBSECCOMP = {
    "alpine": ("libseccomp", "apk add libseccomp"),
    "arch": ("libseccomp", "pacman -S libseccomp"),
    "debian": ("libseccomp2", "apt-get install libseccomp2"),
    "fedora": ("libseccomp", "dnf install libseccomp"),
    "rhel": ("libseccomp", "dnf install libseccomp"),
    "suse": ("libseccomp2", "zypper install libseccomp2"),
    "ubuntu": ("libseccomp2", "apt-get install libseccomp2"),
}


def python_problem(version: "tuple[int, ...]") -> "str | None":
    """The complaint about a Python of this version, or None."""
    if version >= (3, 11):
        return None
    found = ".".join(map(str, version[:2]))
    return f"Python {found} is too old: 3.11 or newer is needed. Name another: PYTHON=/path/to/python3.12"


def platform_problem(platform: str, host_triplet: str) -> "str | None":
    """The complaint about the system, or None."""
    if not platform.startswith("linux"):
        return "grille runs on Linux only: Landlock and seccomp are the kernel's."
    if "musl" in host_triplet:
        return "this Python is built on musl, which is not supported: the system calls allowed are glibc's."
    return None


def distribution_ids(os_release: str) -> "list[str]":
    """The ID, then each of ID_LIKE, from the text of an os-release file."""
    found = dict.fromkeys(("ID", "ID_LIKE"), "")
    for line in os_release.splitlines():
        key, _, value = line.partition("=")
        if key in found:
            found[key] = " ".join(shlex.split(value))
    return f"{found['ID']} {found['ID_LIKE']}".split()


def libseccomp_problem(loadable: bool, os_release: str) -> "str | None":
    """The complaint about the one system library, or None."""
    if loadable:
        return None
    missing = "the system library libseccomp.so.2 is missing."
    for name in distribution_ids(os_release):
        if name in LIBSECCOMP:
            package, command = LIBSECCOMP[name]
            return f"{missing} Install the package {package}: {command}"
    return f"{missing} Its package is libseccomp2 on Debian and Ubuntu, libseccomp on Fedora and Arch."


def links_problem(root: str) -> "str | None":
    """The complaint about a copy of the sources that lost its symbolic links, or None."""
    if all(os.path.isdir(os.path.join(root, "src", "grille", room)) for room in ROOMS):
        return None
    return "src/grille has lost its symbolic links (a zip download does that). Use git clone or a tar file."


def can_load(library: str) -> bool:
    """Whether the loader finds a shared library by this name."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def read_os_release() -> str:
    """The text of this system's os-release file, empty when there is none."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            continue
    return ""


def main() -> int:
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems = [
        python_problem(tuple(sys.version_info[:3])),
        platform_problem(sys.platform, sysconfig.get_config_var("HOST_GNU_TYPE") or ""),
        libseccomp_problem(can_load("libseccomp.so.2"), read_os_release()),
        links_problem(root),
    ]
    for problem in filter(None, problems):
        sys.stderr.write(f"grille: {problem}\n")
    if any(problems):
        return 1
    print(sys.base_prefix, " ".join(sys.version.split()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
