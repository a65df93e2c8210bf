"""File types by name (contract 4)."""

from __future__ import annotations


class UnknownType(ValueError):
    """No such type; `near` are names that look like it."""

    near: tuple[str, ...] = ()


def globs_of(name: str) -> tuple[str, ...]:
    """The globs of a type. Raises UnknownType."""
    raise UnknownType(f"There is no file type {name!r}.")
