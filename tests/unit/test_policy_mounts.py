"""Rules of grille.policy.mounts."""

from __future__ import annotations

import posixpath
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grille.policy.errors import PolicyError
from grille.policy.mounts import Mount

SECRET = "s3cret"


def refusal(virtual: Any, host: Any = None) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        Mount(virtual, host)
    return caught.value


def test_unmapped_mount_shows_its_own_path() -> None:
    """Without a host path the virtual path is the host path, and there is nothing to mask."""
    mount = Mount("/srv/repo")
    assert (mount.host_path, mount.is_mapped) == ("/srv/repo", False)
    assert Mount("/srv/repo", host="/srv/repo").is_mapped is False


def test_mapped_mount_keeps_both_paths() -> None:
    """A mapped mount shows the virtual path and opens the host path."""
    mount = Mount("/mnt/ws", host="/srv/tenants/42/ws")
    assert (mount.virtual, mount.host_path, mount.is_mapped) == ("/mnt/ws", "/srv/tenants/42/ws", True)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "repo",
        "./repo",
        "../repo",
        "~",
        "~/repo",
        "~root",
        "$HOME/repo",
        "C:\\repo",
        "\\\\host\\x",
        " /repo",
    ],
)
def test_refuses_paths_that_are_not_absolute(path: str) -> None:
    """A mount's paths start with /: nothing is expanded or taken relative to some folder."""
    assert refusal(path).code == "mount_not_absolute"
    assert refusal("/mnt/ws", path).code == "mount_not_absolute"


@pytest.mark.parametrize("path", ["~", "~/repo", "~root"])
def test_tilde_gets_a_hint(path: str) -> None:
    """Who writes ~ learns that it is not expanded."""
    assert "~" in str(refusal(path).hint)


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "//srv",
        "/srv/",
        "/srv//x",
        "/srv/./x",
        "/.",
        "/..",
        "/srv/..",
        "/srv/../etc",
        "//host/share",
        "/" + "x" * 256,
        "/" + "/".join(["x" * 200] * 21),
    ],
)
def test_refuses_paths_that_are_not_normal(path: str) -> None:
    """Two spellings of one path would be two mounts, so only the normal one is legal."""
    assert refusal(path).code == "mount_not_normal"
    assert refusal("/mnt/ws", path).code == "mount_not_normal"


@pytest.mark.parametrize(
    "path", ["/src..old", "/.hidden", "/...", "/a b", "/naïve/路径", "/~x", "/a\\b", "/" + "x" * 255]
)
def test_accepts_odd_names(path: str) -> None:
    """A name is refused for what it is and not for what it resembles."""
    assert Mount(path).virtual == path
    assert Mount("/mnt/ws", path).host_path == path


@given(st.lists(st.sampled_from(["", ".", "..", "a", "b.c", "~"]), max_size=5))
@example([])
def test_normal_means_what_the_standard_library_means(components: list[str]) -> None:
    """Exactly the paths that normpath leaves alone are legal, the root aside."""
    path = "/" + "/".join(components)
    # normpath keeps a leading //, which POSIX lets a system give a meaning of its own.
    normal = posixpath.normpath(path) == path and not path.startswith("//")
    if normal and path != "/":
        assert Mount("/mnt/ws", path).host_path == path
    else:
        assert refusal("/mnt/ws", path).code == ("mount_refused" if path == "/" else "mount_not_normal")


@pytest.mark.parametrize("path", ["/", "/proc", "/proc/1/root", "/sys", "/sys/kernel", "/dev", "/dev/shm/x"])
def test_refuses_what_is_never_shown(path: str) -> None:
    """Neither the whole machine nor the kernel's own trees can be shown, mapped or not."""
    assert refusal(path).code == "mount_refused"
    error = refusal("/mnt/ws", path)
    assert (error.code, error.key) == ("mount_refused", "host")


@pytest.mark.parametrize("path", ["/process", "/system", "/device", "/srv/proc", "/srv/dev"])
def test_refuses_by_whole_names(path: str) -> None:
    """A name that only starts like a refused one is legal, and so is the same name elsewhere."""
    assert Mount(path).host_path == path


def test_mapped_mount_may_be_called_like_a_refused_one() -> None:
    """What is refused is showing the kernel's trees, not a virtual path that looks like them."""
    assert Mount("/proc/x", "/srv/x").host_path == "/srv/x"


def test_mapped_root_is_refused() -> None:
    """A mapped mount needs a name of its own below the root."""
    error = refusal("/", "/srv/repo")
    assert (error.code, error.key) == ("mount_refused", "virtual")


@pytest.mark.parametrize("character", ["\n", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\udc80"])
def test_virtual_path_can_be_shown(character: str) -> None:
    """A virtual path forges no line, sends nothing to a terminal and has a UTF-8 form; a host path need not
    be so."""
    error = refusal(f"/mnt/{character}")
    assert (error.code, error.key) == ("mount_text", "virtual")
    assert str(error).isprintable()
    assert Mount("/mnt/ws", f"/srv/{character}").host_path == f"/srv/{character}"


def test_nul_is_refused_in_both() -> None:
    """No path of the kernel's can hold a NUL."""
    assert refusal("/mnt/\0").code == "mount_text"
    assert refusal("/mnt/ws", "/srv/\0").code == "mount_text"


@pytest.mark.parametrize("value", [7, b"/srv", ["/srv"], True])
def test_refuses_other_kinds(value: object) -> None:
    """A path is a string."""
    assert refusal(value).code == "wrong_type"
    assert refusal("/mnt/ws", value).code == "wrong_type"


@pytest.mark.parametrize(
    "host",
    [
        SECRET,
        f"~/{SECRET}",
        f"/srv/{SECRET}/",
        f"/srv/../{SECRET}",
        f"/proc/{SECRET}",
        f"/srv/{SECRET}\0",
        f"/{SECRET * 50}",
        [f"/srv/{SECRET}"],
    ],
)
def test_no_error_tells_the_host_path_of_a_mapped_mount(host: object) -> None:
    """Host paths never leave the supervisor (contract 1): errors name the mount by its virtual path."""
    error = refusal("/mnt/ws", host)
    assert error.key == "host"
    for text in (str(error), repr(error), repr(error.args), repr(vars(error))):
        assert SECRET not in text


def test_repr_hides_the_host_path() -> None:
    """A mount may be logged or stand in a traceback, so its repr does not tell the host path of a mapped
    one."""
    assert repr(Mount("/mnt/ws", f"/srv/{SECRET}")) == "Mount(virtual='/mnt/ws', host=...)"
    assert repr(Mount("/srv/repo")) == "Mount(virtual='/srv/repo')"
