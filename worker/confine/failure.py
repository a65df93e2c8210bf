"""The one exception of this folder: a layer that could not be put in force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LayerFailed(Exception):
    """`layer` is a name from policy/confinement.py; `errno` is the kernel's answer, 0 when the layer
    misbehaved silently.
    """

    def __init__(self, layer: str, errno: int) -> None:
        super().__init__(f"{layer}: errno {errno}")
        self.layer = layer
        self.errno = errno


@contextmanager
def building(layer: str) -> Iterator[None]:
    """Name the layer that an OSError belongs to."""
    try:
        yield
    except OSError as error:
        raise LayerFailed(layer, error.errno or 0) from error
