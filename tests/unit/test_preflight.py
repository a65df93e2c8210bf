"""What a newcomer is told when the machine lacks something."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]


def load_preflight() -> ModuleType:
    spec = importlib.util.spec_from_file_location("preflight", ROOT / ".ci" / "preflight.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


preflight: Final = load_preflight()


@pytest.mark.parametrize(
    ("os_release", "package"),
    [
        ('ID=debian\nVERSION_ID="12"\n', "libseccomp2"),
        ("NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian\n", "libseccomp2"),
        ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", "libseccomp2"),
        ("ID=fedora\n", "libseccomp"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "libseccomp"),
        ("ID=arch\n", "libseccomp"),
        ("ID=alpine\n", "libseccomp"),
    ],
)
def test_a_missing_libseccomp_names_the_package(os_release: str, package: str) -> None:
    """The complaint names library, package and command of this distribution."""
    said = preflight.libseccomp_problem(False, os_release)
    assert "libseccomp.so.2" in said
    assert f"Install the package {package}: " in said
    assert said.endswith(f" {package}")


@pytest.mark.parametrize("os_release", ["", "ID=plan9\n", "no equals sign\n"])
def test_on_an_unknown_system_both_names_are_given(os_release: str) -> None:
    """An unknown distribution gets the usual names rather than none."""
    said = preflight.libseccomp_problem(False, os_release)
    assert "libseccomp2 on Debian" in said
    assert "libseccomp on Fedora" in said


def test_a_library_that_loads_is_no_problem() -> None:
    """With the library there, nothing is said, whatever the system."""
    assert preflight.libseccomp_problem(True, "") is None


def test_loading_is_tried_for_real() -> None:
    """The answer comes from the loader, not from a list of paths."""
    assert preflight.can_load("libc.so.6")
    assert not preflight.can_load("libgrille-no-such-library.so.0")


@pytest.mark.parametrize(
    ("version", "fits"),
    [((3, 10, 14), False), ((2, 7, 18), False), ((3, 11, 0), True), ((3, 13, 1), True), ((4, 0), True)],
)
def test_python_below_3_11_is_refused(version: tuple[int, ...], fits: bool) -> None:
    """3.11 is the oldest Python."""
    assert (preflight.python_problem(version) is None) is fits


@pytest.mark.parametrize(
    ("platform", "triplet", "fits"),
    [
        ("linux", "x86_64-pc-linux-gnu", True),
        ("linux", "", True),
        ("linux", "x86_64-alpine-linux-musl", False),
        ("darwin", "", False),
    ],
)
def test_only_linux_with_glibc_is_supported(platform: str, triplet: str, fits: bool) -> None:
    """musl and other kernels are refused by name, not by a later failure."""
    assert (preflight.platform_problem(platform, triplet) is None) is fits


def test_lost_links_are_noticed(tmp_path: Path) -> None:
    """A copy in which the links became plain files is refused with the reason."""
    face = tmp_path / "src" / "grille"
    face.mkdir(parents=True)
    for room in ("policy", "pool", "worker"):
        (face / room).write_text(f"../../{room}")
    assert "symbolic links" in preflight.links_problem(tmp_path)
    assert preflight.links_problem(ROOT) is None
