"""grille: the search layer behind bars. glob and grep for agents, in confined workers, with stable, bounded results.

    import grille

    with grille.Pool() as pool:
        workspace = pool.open(grille.Policy(mounts=[grille.Mount("/mnt/repo", host="/srv/tenants/42/repo")]))
        for entry in workspace.grep("TODO", glob="*.py").entries:
            print(entry.path, entry.line_number, entry.line)

Names are loaded on first use: the zygote and the command line import this package and need little of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .oneshot import glob as glob, grep as grep
    from .policy.confinement import Confinement as Confinement
    from .policy.errors import (
        ConfinementError as ConfinementError,
        GrilleError as GrilleError,
        LimitError as LimitError,
        PathError as PathError,
        PatternError as PatternError,
        PolicyError as PolicyError,
        PoolError as PoolError,
        RequestError as RequestError,
    )
    from .policy.limits import Limits as Limits
    from .policy.loading import load_policy as load_policy
    from .policy.mounts import Mount as Mount
    from .policy.tenant import Policy as Policy
    from .pool.report import ConfinementReport as ConfinementReport, LayerReport as LayerReport
    from .pool.results import (
        GlobEntry as GlobEntry,
        GlobResult as GlobResult,
        GrepEntry as GrepEntry,
        GrepResult as GrepResult,
        Skipped as Skipped,
        Totals as Totals,
    )
    from .pool.workspace import Pool as Pool, Workspace as Workspace

__version__ = "0.1.0"

_HOMES = {
    "Confinement": "policy.confinement",
    "ConfinementError": "policy.errors",
    "ConfinementReport": "pool.report",
    "GlobEntry": "pool.results",
    "GlobResult": "pool.results",
    "GrepEntry": "pool.results",
    "GrepResult": "pool.results",
    "GrilleError": "policy.errors",
    "LayerReport": "pool.report",
    "LimitError": "policy.errors",
    "Limits": "policy.limits",
    "Mount": "policy.mounts",
    "PathError": "policy.errors",
    "PatternError": "policy.errors",
    "Policy": "policy.tenant",
    "PolicyError": "policy.errors",
    "Pool": "pool.workspace",
    "PoolError": "policy.errors",
    "RequestError": "policy.errors",
    "Skipped": "pool.results",
    "Totals": "pool.results",
    "Workspace": "pool.workspace",
    "glob": "oneshot",
    "grep": "oneshot",
    "load_policy": "policy.loading",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
