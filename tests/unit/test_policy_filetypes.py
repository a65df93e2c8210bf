"""The file types: what the table holds, and that the fast test says what its globs say."""

from __future__ import annotations

import ast
import inspect
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy import filetypes_table
from grille.policy.filetypes import ALL, NAMES, UnknownType, globs_of, name_matcher
from grille.policy.filetypes_table import TYPES
from grille.policy.globs import compile_glob


@pytest.mark.parametrize(
    ("name", "globs"),
    [
        ("py", ("*.py", "*.pyi")),
        ("python", ("*.py", "*.pyi")),
        ("rust", ("*.rs",)),
        ("ts", ("*.cts", "*.mts", "*.ts", "*.tsx")),
        ("c", ("*.[chH]", "*.[chH].in", "*.cats")),
        ("docker", ("*Dockerfile*",)),
    ],
)
def test_a_name_stands_for_globs(name: str, globs: tuple[str, ...]) -> None:
    """Names and their twins stand for ripgrep's globs (contract 4)."""
    assert globs_of(name) == globs


def test_all_is_every_type_at_once() -> None:
    """`all` is taken, as ripgrep takes it, and is no name of the table."""
    assert set(globs_of(ALL)) == {glob for name in NAMES for glob in globs_of(name)}
    assert ALL not in NAMES


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("tsx", ("ts", "typescript")),
        ("jsx", ("js",)),
        (".py", ("py", "python")),
        ("*.py", ("py", "python")),
        ("Python", ("python",)),
        ("PY", ("py", "python")),
        ("pyhton", ("python",)),
        ("javascript", ("js",)),
        ("c++", ("cpp",)),
        ("C#", ("cs",)),
        ("golang", ("go",)),
        ("kt", ("kotlin",)),
        ("hpp", ("h", "cpp")),
        ("typescrpt", ("typescript",)),
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(name: str, near: tuple[str, ...]) -> None:
    """A name in other case, another word for it, an extension or a slip leads to the type that was meant."""
    with pytest.raises(UnknownType) as caught:
        globs_of(name)
    assert caught.value.near[: len(near)] == near
    assert caught.value.hint is not None and near[0] in caught.value.hint
    assert isinstance(caught.value, ValueError)


@given(st.text() | st.sampled_from(["x" * 10**5, "*" * 50, "[" * 20, "a/b", "../..", "\n", "." * 70]))
def test_any_text_is_a_type_or_a_refusal(name: str) -> None:
    """No name fails otherwise; what is offered instead is legal, at most three, and the text one line."""
    if name in (*NAMES, ALL):
        return
    with pytest.raises(UnknownType) as caught:
        globs_of(name)
    assert set(caught.value.near) <= set(NAMES)
    assert len(caught.value.near) <= 3
    assert str(caught.value).isprintable() and len(str(caught.value)) < 120


def test_no_types_take_no_names() -> None:
    """A list of no types takes nothing; an unknown one among known ones is refused."""
    assert not name_matcher([])("a.py")
    with pytest.raises(UnknownType):
        name_matcher(["py", "pyy"])


@pytest.mark.parametrize("name", NAMES)
def test_every_glob_is_one_of_ours(name: str) -> None:
    """Each glob compiles as a filter's glob would, and is a rule for names alone."""
    for glob in globs_of(name):
        assert "/" not in glob and " " not in glob and not glob.startswith("!")
        compile_glob(glob)


fragments = st.sampled_from(
    sorted({part for globs in TYPES.values() for part in globs.replace("*", " ").split()})
)


@given(st.lists(st.sampled_from(NAMES), max_size=4), st.lists(fragments | st.text(max_size=2), max_size=3))
def test_the_matcher_says_what_the_globs_say(types: list[str], parts: list[str]) -> None:
    """The fast test takes what any glob of any of the types takes, whatever the name."""
    name = "".join(parts)
    globs = {glob for entry in types for glob in globs_of(entry)}
    # A stem with a bracket would be a name that a class spells; the matcher's answer there is ripgrep's.
    if not set(name) & set("[]\\"):
        assert name_matcher(types)(name) == any(fnmatchcase(name, glob) for glob in globs)


def test_a_class_does_not_take_its_own_text() -> None:
    """`*.[chH]` takes x.c, and not a file with brackets in its name, which a filter's glob would find."""
    takes = name_matcher(["c"])
    assert takes("x.c") and takes("x.H.in")
    assert not takes("*.[chH]") and not takes("x.[chH]") and not takes("x.C")


def test_the_table_is_sorted() -> None:
    """One type a line, in order, nothing twice, and no glob twice within a type."""
    nodes = [
        node for node in ast.walk(ast.parse(inspect.getsource(filetypes_table))) if isinstance(node, ast.Dict)
    ]
    keys = [ast.literal_eval(key) for key in nodes[0].keys if key is not None]
    assert keys == sorted(set(keys)) == list(NAMES)
    for name in NAMES:
        assert list(globs_of(name)) == sorted(set(globs_of(name)))
