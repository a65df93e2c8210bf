"""`grille doctor`: what confinement this machine gives, as a real worker has it.

A pool is opened on a throw-away folder, so everything told was seen: a worker was locked down, failed to
reach what lies outside, was looked at from outside, and then found what lies inside.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import click

from .. import __version__
from ..policy.confinement import LAYERS, Confinement
from ..policy.errors import ConfinementError
from ..policy.loading import load_policy
from ..policy.mounts import Mount
from ..policy.tenant import Policy
from ..pool import escape
from ..pool.report import ConfinementReport, LayerReport
from ..pool.workspace import Pool
from . import log, streams
from .document import encoded
from .exits import Exit
from .options import Format
from .remedies import remedies

_LINE: Final = "a line to be found"
_VIRTUAL: Final = "/doctor"
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
    """Show what confinement this machine gives, layer by layer, proven on a throw-away worker."""
    demand = Confinement() if policy is None else load_policy(policy).confinement
    log.tell_warnings()
    try:
        report = _examine(demand)
    except ConfinementError as error:
        streams.write([_refusal_document(error)] if format == "json" else _refusal(error))
        return Exit.FAILED
    streams.write([_document(report)] if format == "json" else _table(report))
    return Exit.FOUND


def _examine(demand: Confinement) -> ConfinementReport:
    """What is in force on a worker that searched. Raises ConfinementError when the demand is not met."""
    folder = Path(tempfile.mkdtemp(prefix="grille-doctor-"))
    try:
        folder.chmod(
            0o755
        )  # where owners cannot be mapped, workers with a uid of their own read what everybody may
        (folder / "file.txt").write_text(f"{_LINE}\n", encoding="utf-8")
        with (
            Pool() as pool,
            pool.open(Policy(mounts=[Mount(_VIRTUAL, host=str(folder))], confinement=demand)) as bars,
        ):
            result = bars.grep(_LINE, literal=True)
            if [entry.path for entry in result.entries] != [f"{_VIRTUAL}/file.txt"]:
                raise ConfinementError(
                    "canary_failed", "A locked-down worker did not find a file that lies in its mount."
                )
            return bars.confinement
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _table(report: ConfinementReport) -> Iterator[str]:
    yield f"grille {__version__}, Linux {platform.release()}, Python {platform.python_version()}\n\n"
    width = max(len(layer.name) for layer in report.layers)
    for layer in report.layers:
        yield f"  {layer.name:<{width}}  {_STATES[layer.state]:<8}  {escape.line(_detail(layer))}\n"
    yield f"\nTier {report.tier}: the confinement that is demanded is in force.\n"
    if report.losses:
        yield f"{report.losses}\n"
    yield "Seen on a throw-away worker: it could not open a file outside its mount, and found the one inside.\n"


def _detail(layer: LayerReport) -> str:
    words = layer.reason or LAYERS[layer.name].meaning
    abi = f"ABI {layer.abi}: " if layer.abi else ""
    return f"{abi}{words} ({layer.errno})" if layer.errno else abi + words


def _refusal(error: ConfinementError) -> Iterator[str]:
    yield f"grille {__version__}, Linux {platform.release()}, Python {platform.python_version()}\n\n"
    yield f"NOT CONFINED, so nothing is searched here. {escape.line(error.message)}\n"
    for remedy in remedies(error):
        yield f"  - {remedy}\n"


def _document(report: ConfinementReport) -> str:
    return encoded({"met": True, "confinement": report, "error": None, "remedies": []})


def _refusal_document(error: ConfinementError) -> str:
    told: dict[Literal["code", "message"], str] = {"code": error.code, "message": error.message}
    return encoded({"met": False, "confinement": None, "error": told, "remedies": remedies(error)})
