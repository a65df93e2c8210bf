"""Globs against other programs: ripgrep's `-g`, bash's braces and, on Python 3.13, `glob.translate`.

Where ripgrep means something else, the row is listed with the reason, and both answers are held.
"""

from __future__ import annotations

import glob
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grille.policy.glob_syntax import Wild, literal_text, read_glob
from grille.policy.globs import GlobRefused, compile_glob

NAMES = (
    "a",
    "b",
    "ab",
    "ba",
    "aab",
    "a.py",
    "b.py",
    "ab.ts",
    ".a",
    ".b.py",
    "A",
    "a-b",
    "[",
    "]",
    "{a}",
    "a,b",
)
FOLDERS = ("", "a", "b", "src", "src/a", "src/b/ab", "lib", "lib/src", ".a", "a/a/a", "[a]", "x.py")


def find_rg() -> str | None:
    """ripgrep beside the interpreter, where a virtual environment puts it, or on the path."""
    return shutil.which(
        "rg", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    )


RG = find_rg()
needs_rg = pytest.mark.skipif(RG is None, reason="needs ripgrep")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        for name in NAMES:
            if not (root / folder / name).exists():
                (root / folder / name).touch()
    return root


def files_of(root: Path) -> list[tuple[str, ...]]:
    return [path.relative_to(root).parts for path in root.rglob("*") if path.is_file()]


def found_by_rg(root: Path, pattern: str) -> set[tuple[str, ...]] | None:
    """What ripgrep lists; None if it calls the pattern invalid. Status 1 is "nothing found"."""
    command = [str(RG), "--no-config", "--files", "--hidden", "--no-ignore", "--null", "-g", pattern, "."]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode > 1:
        return None
    return {tuple(path.removeprefix("./").split("/")) for path in done.stdout.decode().split("\0") if path}


def found_by_us(root: Path, pattern: str) -> set[tuple[str, ...]] | None:
    try:
        compiled = compile_glob(pattern)
    except GlobRefused:
        return None
    return {path for path in files_of(root) if compiled.matches(path)}


SHARED = [
    "*", "**", "*.py", "**/*.py", "a", "src/*", "src/**", "src/**/*.py", "**/src/**", "**/src/**/a", "a/**/a",
    "a/**/a/**/a", "**/a/*/a", "*/a", "*/*/a", "**/**/a", "a**b", "**b", "a**/b", "?", "??", "[ab]", "[!a]", "[^a]",
    "[a-b]b", "[!a-b]*", "[]]", "[[]", "[a-]*", "[--b]", "*.{py,ts}", "{a,b}", "{a,b}*", "{a,{b,ab}}.{py,ts}",
    "{src,lib}/**", "{src,lib}/{a,b}", "src/{a,b}/a", r"\a", r"\*", r"\[", r"\]", r"\{a\}", r"{a\,b,b}", "{[,ab],b}",
    ".a", ".*", ".a/*", "**/.a/**", "x.py/*", r"\[a\]/*", "[[]a]/*", "*b*", "a*b", "*a*a*b", "A", "[A-Z]",
]  # fmt: skip


@needs_rg
@pytest.mark.parametrize("pattern", SHARED)
def test_ripgrep_finds_the_same(tree: Path, pattern: str) -> None:
    """For shapes that both know, the files are those of `rg --files -g`."""
    assert found_by_us(tree, pattern) == found_by_rg(tree, pattern)


# No negated class: ripgrep lets it match a slash. No component that is only dots: it takes that for a name.
PIECES = ("a", "b", "ab", "*", "*", "**", "?", "[ab]", "{a,b}", "{a,b*}", "{a,{b,ab}}", ".p", "src", ".py")


def random_pattern(rng: random.Random) -> str:
    components = ["".join(rng.choices(PIECES, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 4))]
    return "/".join("**" if rng.random() < 0.25 else component for component in components)


@needs_rg
def test_ripgrep_finds_the_same_for_random_patterns(tree: Path) -> None:
    """Composed shapes, too, mean what they mean to `rg --files -g`."""
    rng = random.Random(20)
    for _ in range(120):
        pattern = random_pattern(rng)
        ours = found_by_us(tree, pattern)
        if ours is not None:
            assert (pattern, ours) == (pattern, found_by_rg(tree, pattern))


REFUSES = None

# pattern, a file that only we find, a file that only ripgrep finds (REFUSES: it calls the pattern invalid), reason.
DIFFERENCES = [
    ("{a}", "lib/src/{a}", "lib/a", "a group without a comma is text, as in bash; ripgrep drops the braces"),
    ("{,a}b", "lib/b", "", "an empty alternative counts, as in bash; ripgrep ignores it"),
    ("{a,b", "", REFUSES, "a brace without a partner is text, as in bash"),
    ("a}", "", REFUSES, "a brace without a partner is text, as in bash"),
    ("[", "[", REFUSES, "an unclosed class is text, as in bash and fnmatch"),
    ("[z-a]", "", REFUSES, "an empty range holds nothing, as in git and bash"),
    ("a\\", "", REFUSES, "a last backslash is text"),
    (r"[\]]", "]", "", "a backslash escapes in a class, too, as in bash and git"),
    ("[a]/b", "[a]/b", "", "a path that the pattern spells is found"),
    ("**/*[!b]src/a", "", "lib/src/a", "a negated class stays within a name; ripgrep's matches a slash"),
    ("{a,src/b}", "lib/a", "", "each alternative has its own slash rule, as if written alone"),
    ("{a,**}/b", "src/b/ab/b", "", "`**` is a component in an alternative, too"),
    ("./a.py", "a.py", "", "a leading ./ is dropped; ripgrep looks for a folder of that name"),
    ("src//a.py", "src/a.py", "", "slashes collapse; ripgrep looks for an empty name"),
    ("ab.ts/", "src/ab.ts", "", "a slash at the end is dropped; in ripgrep it means folders"),
    ("!a.py", "", "b.py", "glob does not negate; a filter does"),
]


@needs_rg
@pytest.mark.parametrize(("pattern", "only_ours", "only_rgs", "reason"), DIFFERENCES)
def test_where_ripgrep_differs(
    tree: Path, pattern: str, only_ours: str, only_rgs: str | None, reason: str
) -> None:
    """Where ripgrep finds something else, the difference is known, has a reason, and is still there."""
    ours, rgs = found_by_us(tree, pattern), found_by_rg(tree, pattern)
    assert ours is not None
    assert (rgs is None) is (only_rgs is REFUSES)
    assert not only_ours or tuple(only_ours.split("/")) in ours - (rgs or set()), reason
    assert not only_rgs or tuple(only_rgs.split("/")) in (rgs or set()) - ours, reason


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_braces_expand_as_in_bash() -> None:
    """Where braces are in pairs, a pattern stands for the words that bash makes of it.

    Not compared: `{}` and stray braces beside others (`{a},b}`). There bash pairs by what stands before and behind;
    to us they are text.
    """
    rng = random.Random(7)
    texts = sorted(
        {text for text in (paired_braces(rng, 3) for _ in range(3000)) if text and "{}" not in text}
    )
    script = "".join(f"printf '%s ' {text}; echo\n" for text in texts)
    done = subprocess.run(["bash", "--norc"], input=script, capture_output=True, text=True, check=True)
    for text, line in zip(texts, done.stdout.splitlines(), strict=True):
        assert (text, expansions(text) | {text}) == (text, {*line.split(), text})


def paired_braces(rng: random.Random, depth: int) -> str:
    text = ""
    for _ in range(rng.randint(0, 4)):
        inner = "{" + paired_braces(rng, depth - 1) + "}" if depth else "a"
        text += inner if rng.random() < 0.4 else rng.choice("ab,,,")
    return text


def expansions(text: str) -> set[str]:
    """Our names for the text. The text itself is always one of them: a name may be spelt like a glob."""
    try:
        chains = read_glob("./" + text).chains
    except GlobRefused as refusal:
        if refusal.code != "empty":
            raise
        return set()
    return {literal_text(chain[-1]) or "" for chain in chains if not isinstance(chain[-1], Wild)}


@pytest.mark.skipif(sys.version_info < (3, 13), reason="glob.translate is new in Python 3.13")
def test_paths_match_as_in_the_standard_library(tree: Path) -> None:
    """Without braces and escapes, a pattern with `/` means what Python's own glob.translate says."""
    translate: Callable[..., str] = getattr(glob, "translate")  # noqa: B009  # unknown to the types of 3.11
    rng = random.Random(3)
    simple = [piece for piece in (*PIECES, "[!b]") if "{" not in piece and piece != "**"]
    for _ in range(300):
        components = ["".join(rng.choices(simple, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 4))]
        pattern = "./" + "/".join("**" if rng.random() < 0.3 else component for component in components)
        stdlib = translate(pattern.removeprefix("./"), recursive=True, include_hidden=True, seps="/")
        wanted = {path for path in files_of(tree) if re.match(stdlib, "/".join(path))}
        ours = compile_glob(pattern)
        found = {path for path in files_of(tree) if ours.matches(path) and path != ours.literal_alternative}
        assert (pattern, found) == (pattern, wanted - {ours.literal_alternative})
