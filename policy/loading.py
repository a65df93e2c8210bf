"""A policy read from a TOML file.

A complete example. Only `[[mounts]]` must be there; what is left out has its default:

    # grille.toml: what tenant 42 may see and spend
    deny = ["**/.ssh/**", "*.pem"]
    use_ignore_files = true
    allow_no_ignore = false
    refuse_hardlinks = false
    redact = []                     # names of redaction.py, or "all"

    [[mounts]]                      # the first is where a search without a path starts
    virtual = "/mnt/user-data/workspace"
    host = "/srv/tenants/42/ws"

    [[mounts]]                      # no host: shown under its own path
    virtual = "/usr/share/dict"

    [limits]                        # see limits.py for units and ranges
    scan_seconds = 0.5
    compile_seconds = 1.0
    folder_seconds = 10.0
    request_seconds = 20.0
    worker_memory = 268_435_456     # 256 MiB
    worker_cpu_seconds = 600
    workers = 2
    max_file_bytes = 1_000_000
    max_line_bytes = 16_384
    line_chars = 200
    max_pattern_bytes = 4_096
    glob_default = 200
    glob_ceiling = 1_000
    grep_default = 100
    grep_ceiling = 500

    [confinement]                   # see confinement.py for the layers
    allow_missing = ["landlock"]
    fresh_workers = false
    pseudo_filesystems = false
    cgroup = ""

Invariants: a file says exactly what `Policy(...)` could say, checked by the same code; an unknown key is an
error, never ignored; loading never blocks on what is no regular file, and reads at most `LARGEST_FILE`
bytes.

Leaves to others: opening the mounts. Nothing here looks at a path inside the file.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from .confinement import Confinement
from .errors import PolicyError, shown, wrong_type
from .key_lines import line_of
from .limits import Limits
from .mounts import Mount
from .tenant import Policy

LARGEST_FILE: Final = 2**20  # bytes; a thousand deny rules and 64 mounts take a tenth of it

_Part = TypeVar("_Part", bound=msgspec.Struct)

_SECTIONS: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("limits", Limits),
    ("confinement", Confinement),
)
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_PARSER_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_KEY_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP_KEY: Final = re.compile(
    rf"(?:^|[\[{{,])[ \t]*+{_KEY_PART}(?:[ \t]*+\.[ \t]*+{_KEY_PART}){{16}}", re.MULTILINE
)
_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy that the TOML file at `path` says.

    Raises `PolicyError`. It names the file as the caller spelled it, the line where one is known, the
    dotted key with its index (`mounts[2].host`), what was found and what is legal; for an unknown key also
    the nearest legal one. Codes are those of `Policy` and its parts, and `file_not_found`,
    `file_not_regular`, `file_unreadable`, `file_too_large`, `file_not_utf8`, `toml_syntax`, `unknown_key`,
    `missing_key`. Where several things are wrong, one of them is told.
    """
    spelled = os.fsdecode(path)
    source = spelled if spelled.isprintable() and spelled else shown(spelled)
    return parse_policy(_decode(_read(spelled, source), source), source)


def parse_policy(text: str, source: str) -> Policy:
    """The policy that `text` says, for errors called `source`. Raises as `load_policy` does, but for the
    `file_` codes."""
    table = _parse(text, source)
    try:
        return _policy(table)
    except PolicyError as error:
        line = line_of(text, error.key) if error.key else None
        place = source if line is None else f"{source}, line {line}"
        # Not chained: the first error knows less.
        raise error.placed(key=error.key, source=place) from None


def _read(path: str, source: str) -> bytes:
    try:
        # O_NONBLOCK: opening a FIFO would wait for its writer for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError:
        raise PolicyError("file_not_found", "a file's name cannot hold a NUL.", source=source) from None
    except OSError as error:
        raise _open_error(error.errno, source) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_regular(source)
        return _read_bounded(descriptor, source)
    finally:
        os.close(descriptor)


def _open_error(number: int | None, source: str) -> PolicyError:
    if number in _ABSENT:
        return PolicyError("file_not_found", "there is no such file.", source=source)
    if number == errno.ENXIO:  # a socket, or a device without a driver, open(2)
        return _not_regular(source)
    return PolicyError("file_unreadable", "the file cannot be opened; check who may read it.", source=source)


def _not_regular(source: str) -> PolicyError:
    return PolicyError(
        "file_not_regular", "a policy is read from a regular file alone; name one.", source=source
    )


def _read_bounded(descriptor: int, source: str) -> bytes:
    try:
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError:
        raise PolicyError("file_unreadable", "reading the file failed.", source=source) from None
    if len(content) > LARGEST_FILE:
        raise PolicyError(
            "file_too_large", f"a policy file may have at most {LARGEST_FILE:,} bytes.", source=source
        )
    return content


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")  # some editors put a byte-order mark first
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PolicyError(
            "file_not_utf8", "the file is not UTF-8 from this line on.", source=f"{source}, line {line}"
        ) from None


def _parse(text: str, source: str) -> dict[str, Any]:
    deep = _DEEP_KEY.search(text)
    if deep:
        # tomllib needs memory in the square of a key's parts: half a million parts in 1 MiB end the process.
        line = text.count("\n", 0, deep.start()) + 1
        raise PolicyError("toml_syntax", "a key has too many parts.", source=f"{source}, line {line}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text, source) from None
    except ValueError:  # a decimal number of thousands of digits, which int() refuses
        problem = "a number has more digits than any value may have."
    except RecursionError:
        problem = "arrays or tables are nested too deeply."
    raise PolicyError("toml_syntax", problem, source=source)


def _syntax_error(message: str, text: str, source: str) -> PolicyError:
    place = _PARSER_PLACE.search(message)
    complaint = (message[: place.start()] if place else message)[:200]
    line, column = (place[1], place[2]) if place else (None, None)
    if line is None:  # the parser ran off the end
        line, column = str(text.count("\n") + 1), str(len(text) - text.rfind("\n"))
    return PolicyError(
        "toml_syntax", f"not valid TOML: {complaint}.", source=f"{source}, line {line}, column {column}"
    )


def _policy(table: dict[str, Any]) -> Policy:
    _require_keys("", table, Policy)
    fields: dict[str, Any] = {**table, "mounts": _mounts(table["mounts"])}
    for name, part in _SECTIONS:
        if name in table:
            fields[name] = _part(name, table[name], part)
    return Policy(**fields)


def _mounts(mounts: object) -> list[Mount]:
    if isinstance(mounts, dict):
        raise PolicyError(
            "wrong_type",
            "found a table where an array is wanted.",
            hint="Write [[mounts]], in two brackets.",
            key="mounts",
        )
    if not isinstance(mounts, list):
        raise wrong_type("mounts", mounts, "an array of tables ([[mounts]])")
    return [_part(f"mounts[{index}]", mount, Mount) for index, mount in enumerate(mounts)]


def _part(key: str, table: object, part: type[_Part]) -> _Part:
    if not isinstance(table, dict):
        raise wrong_type(key, table, "a table")
    _require_keys(key, table, part)
    try:
        return part(**table)
    except PolicyError as error:
        raise error.placed(key=_under(key, error.key)) from None


def _require_keys(key: str, table: Mapping[str, object], part: type[msgspec.Struct]) -> None:
    fields = {field.name: field.required for field in msgspec.structs.fields(part)}
    for name in table:
        if name not in fields:
            spelled = name if _BARE_KEY.fullmatch(name) else shown(name)
            problem = f"there is no such key; legal are {', '.join(fields)}."
            raise PolicyError(
                "unknown_key", problem, hint=_unknown_hint(key, name, fields), key=_under(key, spelled)
            )
    for name, required in fields.items():
        if required and name not in table:
            raise PolicyError("missing_key", "this key must be there.", key=_under(key, name))


def _unknown_hint(key: str, name: str, legal: Mapping[str, object]) -> str | None:
    if key and name in Policy.__struct_fields__:
        return f"{name} stands at the head of the file, above the first [section]."
    for section, part in _SECTIONS:
        if name in part.__struct_fields__:
            return f"{name} stands under [{section}]."
    near = difflib.get_close_matches(name[:60], legal, n=1)
    return f"Did you mean {near[0]}?" if near else None


def _under(key: str, name: str | None) -> str:
    return ".".join(part for part in (key, name) if part)
