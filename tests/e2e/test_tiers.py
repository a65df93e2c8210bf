"""Every combination of what a machine may lack, built by an outer filter: the expected tier, or a refusal,
never less.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("under_outer_filter.py")
ROOT = os.geteuid() == 0

NO_MOUNTS: dict[str, int] = dict.fromkeys(
    (
        "unshare",
        "mount",
        "umount2",
        "open_tree",
        "move_mount",
        "mount_setattr",
        "pivot_root",
        "setns",
        "fsopen",
    ),
    errno.EPERM,
)
NO_CHROOT = {"chroot": errno.EPERM}
NO_LANDLOCK = {"landlock_create_ruleset": errno.ENOSYS}
OLD_ENGINE = {
    "landlock_create_ruleset": errno.EPERM
}  # engines before 2022 answer so for calls they do not know
NO_PIVOT = {"pivot_root": errno.EPERM}
LATE_MOUNTS = {
    "mount": errno.EPERM
}  # unshare works and mounting fails afterwards, as with a distribution's user-namespace rule


@pytest.fixture
def mounts(tmp_path: Path) -> list[str]:
    """Two mounts with a match each, readable by everybody (below tier A no owner can be mapped)."""
    folders = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir(mode=0o755)
        (folder / f"{name}.txt").write_text("needle\n")
        folders.append(str(folder))
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.owner() == Path.home().owner() and str(parent).startswith(str(tmp_path.parents[1])):
            parent.chmod(0o755)
    return folders


def ask(
    mounts: list[str], deny: dict[str, int], allow_missing: tuple[str, ...], drop: bool = False, **env: str
) -> Any:
    asked = {"deny": deny, "drop": drop, "allow_missing": allow_missing, "mounts": mounts}
    run = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(asked)],
        capture_output=True, text=True, timeout=60, check=False, env=os.environ | env,
    )  # fmt: skip
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


def expect_tier(answer: Any, tier: str) -> None:
    assert answer.get("tier") == tier, answer
    assert answer["found"] == ["/mnt/0/one.txt", "/mnt/1/two.txt"]
    assert bool(answer["losses"]) == (tier != "A")


def test_nothing_missing_is_tier_a(mounts: list[str]) -> None:
    """The positive control of all that follows: without an outer filter this machine gives tier A."""
    expect_tier(ask(mounts, {}, ()), "A")


@pytest.mark.parametrize("deny", [NO_MOUNTS, LATE_MOUNTS], ids=["no mounts", "mounting fails late"])
def test_strict_refuses_a_machine_without_mounts(mounts: list[str], deny: dict[str, int]) -> None:
    """The default policy runs nothing below tier A, and says which layer the machine does not give."""
    answer = ask(mounts, deny, ())
    assert answer["error"] == "layer_missing"
    assert "namespaces" in answer["message"] or "mounts" in answer["message"]


@pytest.mark.parametrize("deny", [NO_MOUNTS, LATE_MOUNTS], ids=["no mounts", "mounting fails late"])
def test_without_mounts_root_gets_tier_b_where_allowed(mounts: list[str], deny: dict[str, int]) -> None:
    """Tier B is a chroot into each mount: root can, an ordinary user cannot and is refused unless C is
    allowed, too.
    """
    answer = ask(mounts, deny, ("mounts",))
    if ROOT:
        expect_tier(answer, "B")
        assert answer["layers"]["mounts"][:2] == ["absent", "EPERM"]
    else:
        assert answer["error"] == "layer_missing"


def test_without_mounts_and_chroot_it_is_tier_c_where_allowed(mounts: list[str]) -> None:
    """Tier C is Landlock alone; both layers that are missing are named with the kernel's answer."""
    answer = ask(mounts, NO_MOUNTS | NO_CHROOT, ("mounts", "chroot"))
    expect_tier(answer, "C")
    assert answer["layers"]["chroot"][:2] == ["absent", "EPERM"]


def test_tier_c_needs_both_names(mounts: list[str]) -> None:
    """Allowing tier B is no leave for tier C."""
    assert ask(mounts, NO_MOUNTS | NO_CHROOT, ("mounts",))["error"] == "layer_missing"


@pytest.mark.parametrize("deny", [NO_LANDLOCK, OLD_ENGINE], ids=["ENOSYS", "EPERM"])
def test_landlock_is_mandatory_unless_named(mounts: list[str], deny: dict[str, int]) -> None:
    """Every errno reads as absent. Strict refuses; with the layer named, tier A goes on without it and says
    so.
    """
    assert ask(mounts, deny, ())["error"] == "layer_missing"
    answer = ask(mounts, deny, ("landlock",))
    expect_tier(answer, "A")
    assert answer["layers"]["landlock"][0] == "absent"


def test_landlock_is_never_missing_below_tier_a(mounts: list[str]) -> None:
    """Without mounts and without Landlock nothing would hold a worker that was taken over, whatever a policy
    names.
    """
    for allowed in (("mounts", "landlock"), ("mounts", "chroot", "landlock")):
        assert ask(mounts, NO_MOUNTS | NO_LANDLOCK, allowed)["error"] == "layer_missing"


@pytest.mark.parametrize("abi", range(1, 8))
def test_each_landlock_abi_will_do(mounts: list[str], abi: int) -> None:
    """ABI 1 suffices, since the filter covers what later ones add; what is in force is told."""
    answer = ask(mounts, {}, (), GRILLE_TEST_LANDLOCK_ABI=str(abi))
    expect_tier(answer, "A")
    assert answer["layers"]["landlock"][2] == abi


def test_abi_zero_is_no_landlock(mounts: list[str]) -> None:
    """A kernel that plays one without Landlock is refused like one."""
    assert ask(mounts, {}, (), GRILLE_TEST_LANDLOCK_ABI="0")["error"] == "layer_missing"


def test_without_pivot_root_detached_mounts_hold(mounts: list[str]) -> None:
    """Container engines forbid pivot_root even where mounting is allowed: tier A stands, since the mounts
    are detached.
    """
    expect_tier(ask(mounts, NO_PIVOT, ()), "A")


@pytest.mark.skipif(not ROOT, reason="plays root in a container")
def test_root_with_a_containers_capabilities_gets_tier_b(mounts: list[str]) -> None:
    """Under a container engine's default profile and capabilities: refused when strict, tier B where
    allowed.
    """
    assert ask(mounts, NO_MOUNTS, (), drop=True)["error"] == "layer_missing"
    expect_tier(ask(mounts, NO_MOUNTS, ("mounts",), drop=True), "B")


@pytest.mark.parametrize("call", ["close_range", "seccomp", "prctl"])
def test_what_is_never_missing_is_refused(mounts: list[str], call: str) -> None:
    """Without the calls that required layers are made of, nothing runs, whatever the policy names."""
    answer = ask(
        mounts,
        {call: errno.EPERM} if call != "prctl" else {"capset": errno.EPERM},
        ("landlock", "mounts", "chroot"),
    )
    assert "error" in answer
