"""From `re`'s parse tree to nodes: exact where it can be, else a superset, and it says which and why.

The promise: wherever `re` finds a match on a line (or, multiline, in a text), the nodes' language has one there too;
with no `loosened` reason the reverse holds as well. Only existence is promised. A look-ahead at the right edge is
simply consumed, a look-behind at the left edge too: that moves a span, never an answer, and is noted in
`shifted`, because spans may then not be taken from the linear engine.

Where exactness is argued:
* A constraint on the next or previous character (a one-character look-around, or a word boundary beside a character
  that is known to be in a word or not) is merged into its neighbour when that is a set; proven or refuted when the
  neighbour's possible characters decide it; consumed at an edge. Otherwise it is dropped.
* An atomic group at the right edge never has to give anything back, nor has a possessive set before a disjoint one.
* Dropping a constraint, copying a back-referenced group without its constraints, and taking both branches of a
  conditional each only enlarge the language; inside a negation nothing is ever enlarged, it is dropped whole.

Leaves out: RE2's syntax and its limits (`emit`), and what is done with a superset (`planner`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from . import classes
from .codepoints import (
    ALL,
    ASCII,
    NEWLINE,
    NONE,
    SURROGATES,
    Ranges,
    complement,
    difference,
    intersection,
    union,
)
from .nodes import (
    EMPTY,
    NEVER,
    At,
    Chars,
    Node,
    Place,
    Repeat,
    Seq,
    alt,
    chars,
    first_chars,
    last_chars,
    repeat,
    repeats_emptiness,
    seq,
)

# A back-referenced group larger than this is not copied, as copies of copies double: ten lines of `(\1\1)` would
# fill the memory.
_MAX_COPY_SIZE: Final = 2_000

_CARRIAGE_RETURN: Final = 0x0D

# How many neighbours are looked at to tell what stands beside a place. Past them it is unknown, which is always
# safe; without a bound a pattern of nothing but `\b\w*` takes a second.
_SIGHT: Final = 4

# Plain numbers: an operation on `re.RegexFlag` costs a microsecond.
_ASCII: Final[int] = sre.SRE_FLAG_ASCII
_DOTALL: Final[int] = sre.SRE_FLAG_DOTALL
_IGNORECASE: Final[int] = sre.SRE_FLAG_IGNORECASE
_MULTILINE: Final[int] = sre.SRE_FLAG_MULTILINE
_UNICODE: Final[int] = sre.SRE_FLAG_UNICODE


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Which characters the text can hold: a translation is for one kind of buffer."""

    ascii_only: bool
    multiline: bool
    # Take every character beyond ASCII for one that may match: small programs for huge classes.
    coarse: bool = False

    @property
    def everything(self) -> Ranges:
        """All that `.` with DOTALL can meet."""
        return _EVERYTHING[self.ascii_only, self.multiline]


_EVERYTHING: Final = {
    (True, True): ASCII,
    (True, False): difference(ASCII, NEWLINE),
    (False, True): complement(SURROGATES),
    (False, False): difference(complement(SURROGATES), NEWLINE),
}


@dataclass(frozen=True, slots=True)
class Translation:
    """`loosened` empty: exact. Then a match begins where `re`'s does, unless `start_shifted`, and with `shifted` empty
    it ends there too.
    """

    node: Node
    loosened: tuple[str, ...]
    shifted: tuple[str, ...]
    start_shifted: bool


def translate(tree: Any, flags: int, alphabet: Alphabet) -> Translation:
    """Translate a whole pattern. Raises RecursionError for a tree nested too deeply."""
    work = _Work(alphabet)
    node = work.sequence(work.flatten(tree, flags), left=True, right=True)
    if repeats_emptiness(node):
        work.shift("a repeat of something that may be empty")
    return Translation(node, tuple(work.loosened), tuple(work.shifted), work.start_shifted)


def names_carriage_return(tree: Any) -> bool:
    r"""Whether the pattern asks for a "\r" by name, so that it means to deal with line ends itself."""
    pending: list[Any] = [tree]
    while pending:
        item = pending.pop()
        if item == (sre.LITERAL, _CARRIAGE_RETURN):
            return True
        if isinstance(item, list) and item and item[0] == (sre.NEGATE, None):
            continue  # `[^\\r\\n]` is how people write "within a line"
        if isinstance(item, tuple | list | parser.SubPattern):
            pending.extend(item)
    return False


@dataclass(frozen=True, slots=True)
class _Look:
    """A constraint on the one character before or after a place; `edge`: the end of line or text will do as well."""

    ahead: bool
    allowed: Ranges
    edge: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Boundary:
    r"""`\b` or `\B` over words that RE2's own does not know."""

    word: Ranges
    negated: bool


_Piece = Node | _Look | _Boundary
_Item = tuple[Any, Any, int]


@dataclass(slots=True)
class _Work:
    """One translation under way; dictionaries serve as ordered sets."""

    alphabet: Alphabet
    loosened: dict[str, None] = field(default_factory=dict)
    shifted: dict[str, None] = field(default_factory=dict)
    groups: dict[int, tuple[Any, int]] = field(default_factory=dict)
    copies: dict[tuple[int, int], Node] = field(default_factory=dict)
    start_shifted: bool = False
    made: dict[Ranges, Node] = field(default_factory=dict)
    copying: bool = False

    def loosen(self, reason: str) -> Node:
        self.loosened[reason] = None
        return EMPTY

    def shift(self, reason: str, *, start: bool = False) -> None:
        self.shifted[reason] = None
        self.start_shifted = self.start_shifted or start

    # -- characters ---------------------------------------------------------------------------------------

    def restrict(self, ranges: Ranges) -> Ranges:
        return intersection(ranges, self.alphabet.everything)

    def chars(self, ranges: Ranges) -> Node:
        known = self.made.get(ranges)
        if known is None:
            known = self.made[ranges] = self._chars(self.restrict(ranges))
        return known

    def _chars(self, ranges: Ranges) -> Node:
        if self.alphabet.coarse and len(ranges) > 8 and ranges[-1][1] > 0x7F:
            self.loosen("classes too large for an exact program")
            ranges = union(intersection(ranges, ASCII), complement(ASCII))
        return chars(ranges)

    def one_char(self, op: Any, av: Any, flags: int) -> Ranges | None:
        """The set of an item that is exactly one character, before any restriction."""
        if op is sre.LITERAL:
            return classes.literal(av, flags)
        if op is sre.NOT_LITERAL:
            return complement(classes.literal(av, flags))
        if op is sre.IN:
            return classes.members(av, flags)
        if op is sre.ANY:
            return ALL if flags & _DOTALL else complement(NEWLINE)
        return None

    # -- sequences ----------------------------------------------------------------------------------------

    def flatten(self, pattern: Any, flags: int) -> list[_Item]:
        """The items of a sequence, groups opened, each with the flags that hold there."""
        items: list[_Item] = []
        self._flatten(pattern, flags, items)
        return items

    def _flatten(self, pattern: Any, flags: int, items: list[_Item]) -> None:
        for op, av in pattern:
            if op is sre.SUBPATTERN:
                group, add, delete, body = av
                if add & (_ASCII | _UNICODE):
                    # `re` looks for a first character by the outer flags (CPython up to 3.13 at least) and
                    # so misses matches that the group alone would find: let it decide.
                    self.loosen("an (?a:...) or (?u:...) group")
                    flags_within = flags & ~(_ASCII | _UNICODE)
                else:
                    flags_within = flags
                flags_within = (flags_within | add) & ~delete
                if group is not None:
                    self.groups[group] = (body, flags_within)
                self._flatten(body, flags_within, items)
            else:
                items.append((op, av, flags))

    def sequence(self, items: list[_Item], *, left: bool, right: bool) -> Node:
        """`left`, `right`: nothing of the pattern lies before, after."""
        last = len(items) - 1
        pieces = [
            self.piece(op, av, flags, left=left and index == 0, right=right and index == last)
            for index, (op, av, flags) in enumerate(items)
        ]
        for index, (op, _, _) in enumerate(items):
            if op is sre.POSSESSIVE_REPEAT:
                following = pieces[index + 1] if index < last else None
                self.judge_possessive(pieces[index], following, at_edge=right and index == last)
        if any(isinstance(piece, _Look | _Boundary) for piece in pieces):
            return _Settling(self, pieces, left, right).run()
        return seq(piece for piece in pieces if not isinstance(piece, _Look | _Boundary))

    def nested(self, pattern: Any, flags: int, *, left: bool = False, right: bool = False) -> Node:
        return self.sequence(self.flatten(pattern, flags), left=left, right=right)

    def judge_possessive(self, piece: _Piece, following: _Piece | None, *, at_edge: bool) -> None:
        """Only where it never has to give back a character is a possessive repeat the same as a plain one."""
        self.shift("a possessive repeat")
        if isinstance(piece, Chars) or piece == EMPTY:
            return
        # Each round of a longer body is atomic by itself, so even at the edge only single characters will do.
        if isinstance(piece, Repeat) and isinstance(piece.body, Chars):
            if at_edge:
                return
            if following is not None and not isinstance(following, _Look | _Boundary):
                first = first_chars(following)
                if first is not None and intersection(piece.body.ranges, first) == NONE:
                    return
        self.loosen("a possessive repeat")

    # -- items --------------------------------------------------------------------------------------------

    def piece(self, op: Any, av: Any, flags: int, *, left: bool, right: bool) -> _Piece:
        single = self.one_char(op, av, flags)
        if single is not None:
            return self.chars(single)
        if op is sre.AT:
            return EMPTY if self.copying else self.place(av, flags, right=right)
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.repetition(op, av, flags, left=left, right=right)
        if op is sre.BRANCH:
            return alt([self.nested(option, flags, left=left, right=right) for option in av[1]])
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            return self.look(op, av, flags, left=left, right=right)
        if op is sre.ATOMIC_GROUP:
            self.shift("an atomic group")
            if not right and not self.copying:
                self.loosen("an atomic group")
            return self.nested(av, flags, left=left, right=right)
        if op is sre.GROUPREF:
            return self.reference(av, flags)
        if op is sre.GROUPREF_EXISTS:
            self.loosen("a conditional")
            _, yes, no = av
            return alt([self.nested(yes, flags), self.nested(no, flags) if no is not None else EMPTY])
        assert op is sre.FAILURE, op
        return NEVER

    def place(self, av: Any, flags: int, *, right: bool) -> _Piece:
        if av in (sre.AT_BOUNDARY, sre.AT_NON_BOUNDARY):
            return self.boundary(flags, negated=av is sre.AT_NON_BOUNDARY)
        start = av in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
        if not self.alphabet.multiline:
            return At(Place.LINE_START if start else Place.LINE_END)
        if av is sre.AT_BEGINNING:
            return At(Place.LINE_START if flags & _MULTILINE else Place.TEXT_START)
        if av is sre.AT_BEGINNING_STRING:
            return At(Place.TEXT_START)
        if av is sre.AT_END_STRING:
            return At(Place.TEXT_END)
        if flags & _MULTILINE:
            return At(Place.LINE_END)
        return self.end_of_text(right=right)

    def end_of_text(self, *, right: bool) -> Node:
        """`$` of a whole text also stands before a last newline, which RE2 has no name for."""
        if not right:
            return self.loosen("`$` without (?m) in the middle")
        self.shift("`$` without (?m)")
        return seq([repeat(chars(NEWLINE), 0, 1), At(Place.TEXT_END)])

    def boundary(self, flags: int, *, negated: bool) -> _Piece:
        # RE2 asks byte by byte, so its `\B` also stands inside a character beyond ASCII.
        if self.alphabet.ascii_only or not (negated or flags & _UNICODE):
            return At(Place.NO_BOUNDARY if negated else Place.BOUNDARY)
        return _Boundary(classes.word(flags), negated)

    def repetition(self, op: Any, av: Any, flags: int, *, left: bool, right: bool) -> Node:
        low, high, body = av
        high = None if high is sre.MAXREPEAT else high
        # Taken at most once, the body stands where the repeat stands.
        once = high == 1
        node = self.nested(body, flags, left=left and once, right=right and once)
        return repeat(node, low, high, lazy=op is sre.MIN_REPEAT)

    # -- look-around --------------------------------------------------------------------------------------

    def look(self, op: Any, av: Any, flags: int, *, left: bool, right: bool) -> _Piece:
        direction, body = av
        negated = op is sre.ASSERT_NOT
        ahead = direction > 0
        if not body:
            return NEVER if negated else EMPTY
        if self.copying:
            return EMPTY
        name = "a look-ahead" if ahead else "a look-behind"
        items = self.flatten(body, flags)
        if len(items) == 1:
            single = self.one_char(*items[0])
            if single is not None:
                allowed = difference(self.alphabet.everything, single) if negated else self.restrict(single)
                return _Look(ahead, allowed, negated, name)
        if not negated and (right if ahead else left):
            self.shift(name, start=not ahead)
            return self.sequence(items, left=not ahead, right=ahead)
        return self.loosen(name)

    # -- back-references ----------------------------------------------------------------------------------

    def reference(self, group: int, flags: int) -> Node:
        self.loosen("a back-reference")
        key = (group, flags & (_IGNORECASE | _UNICODE))
        if key not in self.copies:
            self.copies[key] = self._copy(group, flags)
        return self.copies[key]

    def _copy(self, group: int, flags: int) -> Node:
        anything = repeat(self.chars(ALL), 0, None)
        if group not in self.groups:
            return anything
        body, inner = self.groups[group]
        outer, self.copying = self.copying, True
        node = self.nested(body, inner)
        self.copying = outer
        if node.size > _MAX_COPY_SIZE:
            return anything
        return self._fold(node, flags) if flags & _IGNORECASE else node

    def _fold(self, node: Node, flags: int) -> Node:
        match node:
            case Chars():
                return self.chars(classes.case_closure(node.ranges, flags))
            case Seq():
                return seq(self._fold(part, flags) for part in node.parts)
            case Repeat():
                return repeat(self._fold(node.body, flags), node.low, node.high, lazy=node.lazy)
            case At():
                return node
            case _:
                return alt([self._fold(option, flags) for option in node.options])


@dataclass(slots=True)
class _Settling:
    """Merges the constraints of one sequence into their neighbours, from left to right."""

    work: _Work
    pieces: list[_Piece]
    left: bool
    right: bool
    done: list[Node] = field(default_factory=list)

    def run(self) -> Node:
        while self.pieces:
            piece = self.pieces.pop(0)
            if isinstance(piece, _Boundary):
                self._boundary(piece)
            elif not isinstance(piece, _Look):
                if piece != EMPTY:
                    self.done.append(piece)
            elif piece.ahead and self.pieces and isinstance(self.pieces[0], _Look | _Boundary):
                self._pass_over(piece)
            elif piece.ahead:
                self._ahead(piece)
            else:
                self._behind(piece)
        return seq(self.done)

    def _pass_over(self, look: _Look) -> None:
        """Constraints on one place may be settled in any order, so those on the character before go first."""
        other = self.pieces[0]
        if isinstance(other, _Look) and other.ahead:
            merged = intersection(look.allowed, other.allowed)
            self.pieces[0] = _Look(True, merged, look.edge and other.edge, look.reason)
        elif isinstance(other, _Look):
            self.pieces[0:1] = [other, look]
        else:
            self.work.loosen(look.reason)

    # -- what lies beside a place --------------------------------------------------------------------------

    def _before(self) -> Ranges | None:
        return last_chars(seq(self.done[-_SIGHT:])) if self.done else None

    def _after(self) -> Ranges | None:
        nodes = [piece for piece in self.pieces[:_SIGHT] if not isinstance(piece, _Look | _Boundary)]
        return first_chars(seq(nodes)) if nodes else None

    # -- word boundaries -----------------------------------------------------------------------------------

    def _boundary(self, boundary: _Boundary) -> None:
        r"""A `\b` next to a character known to be in a word (or known not to be) is a one-character look."""
        reason = r"`\b` over text beyond ASCII"
        before, after = _kind(self._before(), boundary.word), _kind(self._after(), boundary.word)
        known = after if after is not None else before
        if known is None:
            self.work.loosen(reason)
            return
        # `\b` beside a word character asks for none on the other side; `\B` for one.
        wants_word = known == boundary.negated
        everything = self.work.alphabet.everything
        allowed = (
            intersection(everything, boundary.word) if wants_word else difference(everything, boundary.word)
        )
        # The end of a line counts as no word character.
        self.pieces.insert(0, _Look(after is None, allowed, not wants_word, reason))

    # -- one-character looks -------------------------------------------------------------------------------

    def _behind(self, look: _Look) -> None:
        before = self._before()
        if not self.done and self.left:
            self._consume(look)
        elif before is None:
            self.work.loosen(look.reason)
        elif intersection(before, look.allowed) == NONE:
            self.done.append(NEVER)
        elif difference(before, look.allowed) != NONE:
            merged = _narrow_last(self.done[-1], look.allowed)
            if merged is None:
                self.work.loosen(look.reason)
            else:
                self.done[-1] = merged

    def _ahead(self, look: _Look) -> None:
        after = self._after()
        if not self.pieces and self.right:
            self._consume(look)
        elif after is None:
            self.work.loosen(look.reason)
        elif intersection(after, look.allowed) == NONE:
            self.done.append(NEVER)
        elif difference(after, look.allowed) != NONE:
            following = self.pieces[0]
            assert not isinstance(following, _Look | _Boundary)
            merged = _narrow_first(following, look.allowed)
            if merged is None:
                self.work.loosen(look.reason)
            else:
                self.pieces[0] = merged

    def _consume(self, look: _Look) -> None:
        """At an edge nothing of the pattern needs the character, so the match may as well take it."""
        alphabet = self.work.alphabet
        taken = self.work.chars(look.allowed)
        if not look.edge:
            self.work.shift(look.reason, start=not look.ahead)
            self.done.append(taken)
            return
        place = self._as_place(look)
        if place is not None:
            self.done.append(At(place))
            return
        self.work.shift(look.reason, start=not look.ahead)
        if look.ahead:
            end = Place.TEXT_END if alphabet.multiline else Place.LINE_END
        else:
            end = Place.TEXT_START if alphabet.multiline else Place.LINE_START
        self.done.append(alt([At(end), taken]))

    def _as_place(self, look: _Look) -> Place | None:
        r"""In ASCII text "no word character here" beside a known character is RE2's own `\b` or `\B`: nothing moves."""
        if not self.work.alphabet.ascii_only:
            return None
        if look.allowed != difference(self.work.alphabet.everything, classes.word(0)):
            return None
        kind = _kind(self._before() if look.ahead else self._after(), classes.word(0))
        if kind is None:
            return None
        return Place.BOUNDARY if kind else Place.NO_BOUNDARY


def _kind(border: Ranges | None, word: Ranges) -> bool | None:
    """True: surely in a word; False: surely not; None: either."""
    if border is None:
        return None
    shared = intersection(border, word)
    if shared == border:
        return True
    return False if shared == NONE else None


def _narrow_first(node: Node, allowed: Ranges) -> Node | None:
    """`node` with its first character held to `allowed`, where that is one set; None where it is not."""
    if isinstance(node, Chars):
        return chars(intersection(node.ranges, allowed))
    if isinstance(node, Repeat) and isinstance(node.body, Chars) and node.low >= 1:
        return seq([chars(intersection(node.body.ranges, allowed)), _one_fewer(node)])
    if isinstance(node, Seq) and node.parts:
        first = _narrow_first(node.parts[0], allowed)
        return None if first is None else seq([first, *node.parts[1:]])
    return None


def _narrow_last(node: Node, allowed: Ranges) -> Node | None:
    """The mirror of `_narrow_first`."""
    if isinstance(node, Chars):
        return chars(intersection(node.ranges, allowed))
    if isinstance(node, Repeat) and isinstance(node.body, Chars) and node.low >= 1:
        return seq([_one_fewer(node), chars(intersection(node.body.ranges, allowed))])
    if isinstance(node, Seq) and node.parts:
        last = _narrow_last(node.parts[-1], allowed)
        return None if last is None else seq([*node.parts[:-1], last])
    return None


def _one_fewer(node: Repeat) -> Node:
    high = None if node.high is None else node.high - 1
    return repeat(node.body, node.low - 1, high, lazy=node.lazy)
