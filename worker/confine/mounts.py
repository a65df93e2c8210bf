"""Tier A: the mounts as detached read-only trees, and a root with nothing in it.

A detached tree is handed to workers as a directory descriptor. From there `..` stays at the tree's own root,
absolute paths end in the empty root, links and device nodes do not open, and metadata cannot be changed,
whatever the worker passes to the kernel. Landlock stops none of that for metadata, and a chroot does not
hold a descriptor's `..` (measured); only this does.

Invariant: everything here runs in a mount namespace of its own (namespaces.py); nothing shows on the host.
"""

from __future__ import annotations

import os
import struct
from typing import Final

from . import kernel
from .failure import LayerFailed

_OPEN_TREE_CLONE: Final = 1
_OPEN_TREE_CLOEXEC: Final = os.O_CLOEXEC
_AT_RECURSIVE: Final = 0x8000
_AT_EMPTY_PATH: Final = 0x1000

_ATTR_RDONLY: Final = 0x1
_ATTR_NOSUID: Final = 0x2
_ATTR_NODEV: Final = 0x4
_ATTR_NOEXEC: Final = 0x8
_ATTR_IDMAP: Final = 0x100000
_ATTR_NOSYMFOLLOW: Final = 0x200000
_LOCKED: Final = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV | _ATTR_NOEXEC | _ATTR_NOSYMFOLLOW
_MOUNT_ATTR: Final = struct.Struct("<4Q")  # attr_set, attr_clr, propagation, userns_fd

_MS_RDONLY_NOSUID_NODEV_NOEXEC: Final = 1 | 2 | 4 | 8
_MS_REC_PRIVATE: Final = 0x4000 | 0x40000


def detach(root: int) -> int:
    """A detached, read-only copy of the tree at the open directory `root`; submounts come along.

    The descriptor was opened in another mount namespace, where cloning it is refused, so the folder is
    opened again by its path and must turn out to be the very same one: a path swapped in between is an error.
    """
    path = os.readlink(f"/proc/self/fd/{root}")
    again = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not os.path.samestat(os.fstat(root), os.fstat(again)):
            raise LayerFailed("mounts", 0)
        tree = kernel.syscall(
            "open_tree", again, b"", _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH
        )
    finally:
        os.close(again)
    set_attributes(tree, _LOCKED)
    return tree


def map_owner(tree: int, user_namespace: int) -> None:
    """Show the tree's files with the ids that `user_namespace` maps them to. Raises OSError where a file
    system cannot.
    """
    set_attributes(tree, _ATTR_IDMAP, user_namespace)


def set_attributes(tree: int, attributes: int, user_namespace: int = 0) -> None:
    packed = _MOUNT_ATTR.pack(attributes, 0, 0, user_namespace)
    kernel.syscall("mount_setattr", tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, packed, len(packed))


def enter_empty_root() -> bool:
    """Make `/` an empty, read-only file system, for this process and all that it forks. Raises OSError.

    True: the old root is gone altogether. False: pivot_root is forbidden here (container engines filter it),
    so the old root was left by chroot. As the mounts are detached, no descriptor of a worker leads back to
    it (measured).
    """
    kernel.mount(b"none", b"/", None, _MS_REC_PRIVATE)
    # Any folder will do as the place to mount on: the namespace is ours alone.
    place = b"/tmp" if os.path.isdir("/tmp") else b"/proc"
    kernel.mount(b"grille", place, b"tmpfs", _MS_RDONLY_NOSUID_NODEV_NOEXEC, b"size=4k,nr_inodes=1,mode=555")
    os.chdir(place)
    try:
        # Stacks the old root on the new one, so that no folder for it is needed: pivot_root(2).
        kernel.syscall("pivot_root", b".", b".")
    except PermissionError:
        os.chroot(".")
        return False
    kernel.unmount_lazily(b".")
    os.chdir("/")
    return True
