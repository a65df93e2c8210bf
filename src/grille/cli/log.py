"""What the pool logs while a command runs (a worker that broke the rules, above all), told like everything
else.
"""

from __future__ import annotations

import logging

from . import streams


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        streams.tell_message(record.getMessage())


def tell_warnings() -> None:
    """From now on, warnings and errors of the pool appear on standard error."""
    logger = logging.getLogger("grille")
    if not logger.handlers:
        logger.addHandler(_Teller(logging.WARNING))
        logger.propagate = False
