"""The sentences with which requests are refused for what a worker or the kernel said.

Built from codes: a worker's own words reach a caller only where they explain a pattern, which the caller
wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..policy import hints
from ..policy.confinement import Confinement
from ..policy.errors import ConfinementError, PatternError
from ..policy.wire import Missed, Query, Refused
from .report import ConfinementReport, errno_name

_PATTERN_CODES = {
    "empty": "pattern_empty",
    "too_long": "pattern_too_long",
    "needs_multiline": "pattern_multiline",
    "too_complex": "pattern_too_costly",
}
_GLOB_CODES = {
    "absolute": "glob_outside",
    "too_long": "glob_too_long",
    "too_many_alternatives": "glob_too_large",
}


def pattern_refused(refused: Refused, query: Query) -> PatternError:
    """A worker could not compile the pattern or a glob."""
    message = _one_line(refused.message)
    if refused.about == "glob":
        return PatternError(_GLOB_CODES.get(refused.code, "glob_invalid"), message)
    code = _PATTERN_CODES.get(refused.code, "pattern_invalid")
    if code == "pattern_invalid":
        at = "" if refused.position is None else f" at position {refused.position}"
        stem = message.removesuffix(at)
        message = f"Invalid pattern: {stem}{at}."
        literally = (
            hints.looks_like_glob(query.pattern)
            or "Use literal=True (-F) to search for the text as it stands."
        )
        return PatternError(code, message, hint=literally, position=refused.position)
    hint = hints.pattern_needs_multiline(query.pattern) if code == "pattern_multiline" else None
    return PatternError(code, message, hint=hint, position=refused.position)


def compile_timeout(query: Query) -> PatternError:
    """The pattern was not compiled within its limit."""
    return PatternError(
        "pattern_too_costly",
        f"The pattern took more than {query.compile_seconds:g} s to compile; use a simpler one, with smaller repeats.",
    )


def no_tier(missed: Sequence[Missed], confinement: Confinement) -> ConfinementError:
    """No tier that the policy allows could be built."""
    answers = "; ".join(f"{m.layer}: {_why(m.errno)}" for m in missed)
    weaker = {
        "A": "tier B: allow_missing = ['mounts']",
        "B": "tier C: allow_missing = ['chroot', 'mounts']",
        "C": "",
    }
    below = weaker[confinement.lowest_tier]
    return ConfinementError(
        "layer_missing",
        f"This machine does not give the confinement that the policy demands ({answers}).",
        hint="`grille doctor` shows what is missing and what to do"
        + (f"; a policy can allow {below}." if below else "."),
    )


def policy_refuses(report: ConfinementReport, refused: Sequence[str]) -> ConfinementError:
    """Workers can be had, but without layers that the policy does not call dispensable."""
    rows = {layer.name: layer for layer in report.layers}
    answers = "; ".join(f"{name}: {rows[name].reason or 'absent'}" for name in refused)
    return ConfinementError(
        "layer_missing",
        f"This machine does not give the confinement that the policy demands ({answers}).",
        hint="`grille doctor` shows what is missing and what to do; confinement.allow_missing names what may be.",
    )


def layer_missing(layer: str, errno: int) -> ConfinementError:
    """A worker or a cell could not put a layer in force."""
    return ConfinementError(
        "layer_missing",
        f"This machine does not give the confinement layer '{layer}': {_why(errno)}.",
        hint="`grille doctor` shows every layer and what is missing.",
    )


def not_confined(layer: str) -> ConfinementError:
    """A worker looked confined from inside and did not from outside."""
    code = "canary_failed" if layer == "canary" else "attestation_failed"
    return ConfinementError(
        code, f"A worker was found without the layer '{layer}' and was killed before it got a job."
    )


def _why(errno: int) -> str:
    return errno_name(errno) or "it was put in force but does not hold"


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:1000])
