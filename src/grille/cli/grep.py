"""`grille grep`: lines that match a regular expression."""

from __future__ import annotations

from typing import Any, Final

import click

from ..policy.wire import MAX_CONTEXT
from ..pool.arguments import Sort
from ..pool.requests import OutputMode
from ..pool.results import GrepResult
from ..pool.workspace import Workspace
from . import reach
from .case import Case, is_case_sensitive
from .exits import Exit
from .options import Common, common, sorting
from .searching import search
from .starts import Start
from .text import rows, rows_in_context

_LINES: Final = click.IntRange(0, MAX_CONTEXT)


@click.command(
    epilog="Hidden files are searched; version control, dependency and build folders are not, unless --no-ignore. "
    "Without --policy, files up to 1 GiB are searched. Control characters, format characters and undecodable bytes of "
    r"names and lines are printed as \x{HEX}; --format json has lines as they are."
)
@click.argument("words", nargs=-1, metavar="PATTERN [PATH]...")
@click.option(
    "-e",
    "--regexp",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="The pattern; every word is a PATH then.",
)
@click.option("-i", "--ignore-case", "case", flag_value="insensitive", help="Do not regard case.")
@click.option("-s", "--case-sensitive", "case", flag_value="sensitive", help="Regard case. The default.")
@click.option(
    "-S",
    "--smart-case",
    "case",
    flag_value="smart",
    help="Regard case if the pattern has an upper-case letter.",
)
@click.option("-F", "--fixed-strings", "literal", is_flag=True, help="The pattern is plain text.")
@click.option("-w", "--word-regexp", "word", is_flag=True, help="Match whole words.")
@click.option(
    "-U", "--multiline", is_flag=True, help="Let a match span lines; a dot matches a line end, too, then."
)
@click.option(
    "-A", "--after-context", "after", type=_LINES, metavar="N", help="Print N lines behind each match, too."
)
@click.option(
    "-B", "--before-context", "before", type=_LINES, metavar="N", help="Print N lines before each match, too."
)
@click.option(
    "-C",
    "--context",
    type=_LINES,
    default=0,
    metavar="N",
    help="Print N lines on both sides; -A and -B go before it.",
)
@click.option(
    "-l",
    "--files-with-matches",
    "mode",
    flag_value="files_with_matches",
    help="Print the paths of files with matches.",
)
@click.option("-c", "--count", "mode", flag_value="count", help="Print each file's number of matching lines.")
@click.option(
    "-m",
    "--max-count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Find at most N matching lines in each file.",
)
@click.option(
    "-t",
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Search files of this type, by ripgrep's names: py, rust, ts, ... Several: of any of them.",
)
@click.option(
    "-g",
    "--glob",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Search files that match; !GLOB leaves them out.",
)
@click.option(
    "--no-ignore", is_flag=True, help="Search what is left out otherwise: .git, node_modules, build, ..."
)
@click.option(
    "-n", "--line-number", is_flag=True, expose_value=False, help="Accepted; line numbers are always printed."
)
@click.option(
    "--hidden", is_flag=True, expose_value=False, help="Accepted; hidden files are always searched."
)
@sorting
@common
def grep(
    words: tuple[str, ...],
    patterns: tuple[str, ...],
    case: Case | None,
    literal: bool,
    word: bool,
    multiline: bool,
    before: int | None,
    after: int | None,
    context: int,
    mode: OutputMode | None,
    max_count: int | None,
    types: tuple[str, ...],
    globs: tuple[str, ...],
    no_ignore: bool,
    sort: Sort,
    **others: Any,
) -> Exit:
    """Find lines that match PATTERN, a Python regular expression, in each PATH (default: the current folder).

    PATHs are searched in the order given. One that is given twice is searched once; where one lies within
    another, its matches are printed once, with the PATH that comes first.
    """
    pattern, paths = _pattern_and_paths(patterns, words)
    told = Common(**others)
    before, after = context if before is None else before, context if after is None else after
    case_sensitive = is_case_sensitive(case or "sensitive", pattern, literal)

    def ask(workspace: Workspace, start: Start, offset: int, limit: int) -> GrepResult:
        return workspace.grep(
            pattern,
            start.request,
            glob=globs or None,
            literal=literal,
            case_sensitive=case_sensitive,
            word=word,
            multiline=multiline,
            type=types or None,
            output_mode=mode or "content",
            before=before,
            after=after,
            max_per_file=max_count,
            limit=limit,
            offset=offset,
            sort=sort,
            no_ignore=no_ignore,
        )

    line_chars = reach.LINE_CHARS_OF_MULTILINE if multiline else reach.LINE_CHARS
    policies = reach.policies(told.policy, paths, told.timeout, line_chars)
    in_context = (before or after) and mode in (None, "content")
    return search("grep", told, policies, ask, rows_in_context if in_context else rows)


def _pattern_and_paths(patterns: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    if len(patterns) > 1:
        raise click.UsageError(
            "-e can be given once; join patterns with | into one.", click.get_current_context()
        )
    if patterns:
        return patterns[0], words
    if not words:
        raise click.UsageError("PATTERN is missing: say what to search for.", click.get_current_context())
    return words[0], words[1:]
