"""grille: the search layer behind bars. glob and grep for agents, in confined workers, with stable, bounded
results.

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
    from .oneshot import glob as glob
    from .oneshot import grep as grep
    from .policy.confinement import Confinement as Confinement
    from .policy.errors import (
        ConfinementError as ConfinementError,
    )
    from .policy.errors import (
        GrilleError as GrilleError,
    )
    from .policy.errors import (
        LimitError as LimitError,
    )
    from .policy.errors import (
        PathError as PathError,
    )
    from .policy.errors import (
        PatternError as PatternError,
    )
    from .policy.errors import (
        PolicyError as PolicyError,
    )
    from .policy.errors import (
        PoolError as PoolError,
    )
    from .policy.errors import (
        RequestError as RequestError,
    )
    from .policy.limits import Limits as Limits
    from .policy.loading import load_policy as load_policy
    from .policy.mounts import Mount as Mount
    from .policy.tenant import Policy as Policy
    from .pool.report import ConfinementReport as ConfinementReport
    from .pool.report import LayerReport as LayerReport
    from .pool.results import (
        GlobEntry as GlobEntry,
    )
    from .pool.results import (
        GlobResult as GlobResult,
    )
    from .pool.results import (
        GrepEntry as GrepEntry,
    )
    from .pool.results import (
        GrepResult as GrepResult,
    )
    from .pool.results import (
        Skipped as Skipped,
    )
    from .pool.results import (
        Totals as Totals,
    )
    from .pool.workspace import Pool as Pool
    from .pool.workspace import Workspace as Workspace

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

__all__ = [
    "Confinement",
    "ConfinementError",
    "ConfinementReport",
    "GlobEntry",
    "GlobResult",
    "GrepEntry",
    "GrepResult",
    "GrilleError",
    "LayerReport",
    "LimitError",
    "Limits",
    "Mount",
    "PathError",
    "PatternError",
    "Policy",
    "PolicyError",
    "Pool",
    "PoolError",
    "RequestError",
    "Skipped",
    "Totals",
    "Workspace",
    "glob",
    "grep",
    "load_policy",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
