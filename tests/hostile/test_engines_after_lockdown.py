"""What the engines may not do once a worker has locked itself down: open, import, start, write."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = r"""
import sys
from grille.worker.engines import PatternRefused, compile_pattern

seen = []
QUIET = {"compile", "exec", "object.__getattr__", "cpython._PySys_ClearAuditHooks"}

def hook(event, args):
    if armed and event not in QUIET:
        seen.append(event)

armed = True
sys.addaudithook(hook)
patterns = [
    r"\N{LATIN SMALL LETTER A}\w+", "[[a]", "[a&&b]", r"(?i)stra\u00dfe", r"(\w)\1", "(?a:x)", "a{2000}",
    r"\w{300}x", "(", "(?L)a",
    "(" * 2000 + ")" * 2000, r"\N{nothing}", "a{4294967296}", r"a\nb", "\ud800", "[^\\n]{0,900}" * 8,
]
for pattern in patterns:
    for multiline in (False, True):
        try:
            scanner = compile_pattern(pattern, ignore_case=True, multiline=multiline)
        except PatternRefused:
            continue
        scanner.plan
        for data in (b"", b"ax\r\naa\r\n", "\u00e9\u00e9\nstra\u00dfe\n".encode(), b"x" * 20000):
            scanner.contains(data)
            scanner.scan(data, 5)
            scanner.span(data.decode())
armed = False
print(sorted(set(seen)), len(sys.modules))
"""


def test_nothing_is_opened_or_imported_after_the_import() -> None:
    """Under the filter any opened file ends the worker, so every audited event but compiling itself is a failure."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stderr == ""
    assert run.stdout.startswith("[] ")
