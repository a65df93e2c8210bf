"""`grille doctor`: what confinement this machine gives, proven by attempts to get out of it (pool/doctor.py)."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Final

import click

from .. import __version__
from ..policy.confinement import LAYERS, Confinement
from ..policy.loading import load_policy
from ..pool import escape
from ..pool.doctor import AttemptReport, Diagnosis, examine
from ..pool.report import LayerReport
from . import log, streams
from .document import encoded
from .exits import Exit
from .options import Format
from .remedies import remedies

_STATES: Final = {
    "enforced": "in force",
    "partial": "partly",
    "absent": "MISSING",
    "not_requested": "not used",
}


@click.command(epilog="Exit status: 0 when the confinement demanded is in force, 2 when it is not.")
@click.option(
    "--policy", metavar="FILE", help="Demand what this policy file demands; without it, all of tier A."
)
@click.option(
    "--format", type=click.Choice(["text", "json"]), default="text", help="How the findings are printed."
)
def doctor(policy: str | None, format: Format) -> Exit:
    """Show what confinement this machine gives, layer by layer, and try to get out of it."""
    demand = Confinement() if policy is None else load_policy(policy).confinement
    log.tell_warnings()
    diagnosis = examine(demand)
    streams.write([_document(diagnosis)] if format == "json" else _page(diagnosis))
    return Exit.FOUND if diagnosis.met else Exit.FAILED


def _page(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"grille {__version__}, Linux {platform.release()}, Python {platform.python_version()}\n"
    report = diagnosis.confinement
    if report is not None:
        yield "\nLayers\n"
        width = max(len(layer.name) for layer in report.layers)
        for layer in report.layers:
            yield f"  {layer.name:<{width}}  {_STATES[layer.state]:<8}  {escape.line(_detail(layer))}\n"
        yield from _attempts(diagnosis.attempts)
        yield f"\nTier {report.tier}. {report.losses}".rstrip() + "\n"
    yield _verdict(diagnosis)
    for remedy in remedies(diagnosis):
        yield f"  - {remedy}\n"


def _attempts(attempts: tuple[AttemptReport, ...]) -> Iterator[str]:
    yield f"\nAttempts to get out, each by a worker of its own{' ' * 5}behind bars     without\n"
    width = max((len(attempt.name) for attempt in attempts), default=0)
    for attempt in attempts:
        yield f"  {attempt.name:<{max(width, 48)}}  {_outcome(attempt):<14}  {attempt.control}\n"


def _outcome(attempt: AttemptReport) -> str:
    words = {
        "killed": "killed",
        "refused": f"no ({attempt.errno})",
        "escaped": "GOT OUT",
        "not_made": "NOT MADE",
    }
    return words[attempt.outcome]


def _verdict(diagnosis: Diagnosis) -> str:
    if diagnosis.met:
        count = len(diagnosis.attempts)
        return f"The confinement that is demanded is in force: all {count} attempts were stopped.\n"
    return f"\nNOT CONFINED, so nothing is searched here. {escape.line(diagnosis.problem or '')}\n"


def _detail(layer: LayerReport) -> str:
    words = layer.reason or LAYERS[layer.name].meaning
    abi = f"ABI {layer.abi}: " if layer.abi else ""
    return f"{abi}{words} ({layer.errno})" if layer.errno else abi + words


def _document(diagnosis: Diagnosis) -> str:
    error = None if diagnosis.met else {"code": diagnosis.code, "message": diagnosis.problem}
    return encoded(
        {
            "met": diagnosis.met,
            "confinement": diagnosis.confinement,
            "attempts": diagnosis.attempts,
            "error": error,
            "remedies": remedies(diagnosis),
        }
    )
