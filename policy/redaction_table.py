"""The secrets that redaction knows, by their public formats: a row for each shape.

A row's pattern, compiled with `re.MULTILINE`, finds the secret, or in its group `secret` the part of the match
that is one. A text without any of `needs` has no match. `tail` matches what goes on with the secret behind the
pattern's end, again and again: a secret longer than the pattern's bound is still replaced to its end. `reach` is
the most characters that the pattern spans.

Invariants: every quantifier of a pattern has an upper bound, and none stands within another one, so a search
takes time linear in the text; behind what a row replaces, no letter or digit follows that could be a part of it.

Leaves to others: searching, and what to do where rows overlap (`redaction`).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Row(NamedTuple):
    """One shape of a secret."""

    name: str
    needs: tuple[str, ...]
    pattern: str
    tail: str
    reach: int
    reason: str


def _row(
    name: str,
    needs: str,
    pattern: str,
    reason: str,
    *,
    reach: int,
    tail: str = r"[.\-]?[A-Za-z0-9_]{1,256}",
) -> Row:
    return Row(name, tuple(needs.split()), pattern, tail, reach, reason)


# A token is no part of a longer word.
_FREE: Final = r"(?<![A-Za-z0-9_])"

# --- names that hold a secret, and their values

_UPPER_WORD: Final = r"(?:SECRET|TOKEN|PASSWORD|PASSWD|API[_-]?KEY|PRIVATE[_-]?KEY)(?![A-Za-z])"
# `tokens` and `tokenizer` are no such words, `tokenValue` is.
_LOWER_WORD: Final = (
    r"(?:[Ss]ecret|[Tt]oken|[Pp]assword|[Pp]asswd|[Aa]pi[_-]?[Kk]ey|[Pp]rivate[_-]?[Kk]ey)(?![a-z])"
)
_UPPER_NEEDS: Final = "SECRET TOKEN PASSW KEY "
_LOWER_NEEDS: Final = "ecret oken assw Key key"
# What goes on with the name, but no dot: `token.kind` is about a token. After some ends the value is not the
# secret, but something about it.
_REST: Final = r"[A-Za-z0-9_\-]{0,64}+" + "".join(
    f"(?<!{end})(?<!{end.upper()})(?<!{end.title()})"
    for end in (
        *("endpoint", "field", "file", "header", "length", "limit"),
        *("name", "path", "size", "ttl", "type", "uri", "url"),
    )
)
_NAMED: Final = rf"(?:{_UPPER_WORD}|{_LOWER_WORD}){_REST}"
# A key at a line's start, as in yaml, perhaps as an item of a list, perhaps quoted.
_LINE_KEY: Final = r"^[ \t]{0,64}+(?:-[ \t]{1,8}+)?[\"']?[A-Za-z0-9_.\-]{0,64}?"
_COLON: Final = r"[\"']?:[ \t]{1,8}+"
_SEPARATOR: Final = r"[ \t]{0,8}+(?::=|=>|[=:])[ \t]{0,8}+"
_EQUALS: Final = r"=(?![=>~])"

_NO_MARK: Final = r"(?![<${(%]{0,2}\[redacted: [a-z_]{2,24}\])"
_NO_CONSTANT: Final = r"(?!(?i:true|false|none|null|undefined)(?![^\s\"'`,;]))"
# What stands for a value that is elsewhere: `${NAME}`, `{{ name }}`, `<name>`, `%s`. In quotes `$` may be itself.
_NO_REFERENCE: Final = r"(?!\$[A-Za-z0-9_({]|\{|<[A-Za-z]|%[(s])"
_NO_QUOTED_REFERENCE: Final = r"(?!\$[({]|\{\{|<[A-Za-z]|%[(dsr]|\$\w{1,64}+[\"'])"
# Behind a quote that closes a string, `"Password: ", x`, there is code.
_NO_CLOSED_QUOTE: Final = r"(?! |[,)\]][ ,);:.])"
# `os.environ["TOKEN"]`, `get_token()`: a call or an index, and no value.
_NO_CALL: Final = r"(?![A-Za-z_][A-Za-z0-9_.]{0,64}+[(\[][\"')])"
# Short numbers belong to enumerations.
_NO_NUMBER: Final = r"(?!(?:\d{1,6}|0x[0-9A-Fa-f]{1,8})(?![^\s,;)}]))"
# Letters and dots alone are more likely a variable or a type.
_NO_IDENTIFIER: Final = r"(?!(?:[A-Za-z_.]{1,128}+|u?int\d{1,3}|float\d\d)(?![^\s\"'`,;]))"

_WORD: Final = _NO_MARK + _NO_CONSTANT + _NO_REFERENCE + _NO_NUMBER
_ANY_VALUE: Final = _WORD + _NO_CALL + r"(?P<secret>[^\s\"'`]{4,1024}+)"
_TAIL_OF_ANY: Final = r"[^\s\"'`]{1,256}"
# In code, `self.token)` or `config[0],`: what stands behind the value tells that it is none.
_PLAIN: Final = r"[^\s\"'`,;()\[\]{}<>|]"
_PLAIN_VALUE: Final = rf"(?P<secret>{_PLAIN}{{4,1024}}+)"
_TAIL_OF_PLAIN: Final = _PLAIN + "{1,256}"
_NO_CODE_BEHIND: Final = r"(?![,()\[\]{}<>|])"
_LINE_END: Final = rf"(?={_PLAIN}|[ \t]{{0,8}}+(?:#|\r?$))"

_NEVER: Final = r"(?!)"


def _quoted(quote: str) -> str:
    within = _NO_MARK + _NO_CONSTANT + _NO_QUOTED_REFERENCE + _NO_CLOSED_QUOTE
    return quote + within + rf"(?P<secret>(?:[^{quote}\\\n]|\\.){{4,1024}}+)"


# --- private keys

_KEY_LABEL: Final = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
KEY_END: Final = "-----END " + _KEY_LABEL
"""The pattern of a private key's last line."""
# A line break, or how a string in source or in JSON spells it.
_BREAK: Final = r"(?:\r?\n|(?:\\r)?\\{1,2}n)"
_IN_BLOCK: Final = r"(?:(?!-----)[\s\S])"

ROWS: Final[tuple[Row, ...]] = (
    _row(
        "anthropic_key",
        "sk-ant-",
        _FREE + r"sk-ant-[A-Za-z0-9_\-]{20,255}",
        "keys begin with sk-ant- and a kind",
        reach=262,
        tail=r"[A-Za-z0-9_\-]{1,256}",
    ),
    _row(
        "aws_key_id",
        "AKIA ASIA",
        r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])",
        "ids of lasting (AKIA) and of temporary (ASIA) keys have 20 characters",
        reach=20,
        tail=_NEVER,
    ),
    _row(
        "aws_secret",
        "ecret SECRET",
        r"(?:[Ss]ecret|SECRET)[_-]?(?:(?:[Aa]ccess|ACCESS)[_-]?)?(?:[Kk]ey|KEY)[\"']?" + _SEPARATOR + r"[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "a secret access key has 40 characters of base64, and only its name tells it from others",
        reach=100,
        tail=_NEVER,
    ),
    _row(
        "azure_storage_key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,88}={0,2})",
        "connection strings hold 64 bytes (storage) or 32 (service bus) in base64",
        reach=106,
        tail=r"[A-Za-z0-9+/=]{1,256}",
    ),
    _row(
        "github_token",
        "gho_ ghp_ ghs_ ghu_ github_pat_",
        _FREE + r"(?:gh[opsu]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
        "the prefix tells whose: ghp_ a person's, gho_ and ghu_ an app's for a person, ghs_ an installation's",
        reach=266,
    ),
    _row(
        "gitlab_token",
        "glpat-",
        _FREE + r"glpat-[A-Za-z0-9_\-]{20,255}",
        "personal, project and group tokens; newer ones go on with dots",
        reach=261,
        tail=r"\.?[A-Za-z0-9_\-]{1,256}",
    ),
    _row(
        "google_api_key",
        "AIza",
        _FREE + r"AIza[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_])",
        "39 characters in all",
        reach=39,
        tail=_NEVER,
    ),
    _row(
        "jwt",
        "eyJ",
        _FREE + r"eyJ[A-Za-z0-9_\-]{8,512}\.[A-Za-z0-9_\-]{8,2048}\.[A-Za-z0-9_\-]{0,700}",
        'eyJ is {" in base64: a header in JSON, then claims and a signature',
        reach=3265,
        tail=r"\.?[A-Za-z0-9_\-]{1,256}",
    ),
    _row(
        "npm_token",
        "npm_",
        _FREE + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])",
        "40 characters in all",
        reach=40,
        tail=_NEVER,
    ),
    _row(
        "openai_key",
        "sk-",
        _FREE + r"sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{20,255}|[A-Za-z0-9]{32,255}(?![A-Za-z0-9]))",
        "older keys have no kind; only their length tells them from other words with sk-",
        reach=266,
        tail=r"[A-Za-z0-9_\-]{1,256}",
    ),
    _row(
        "private_key",
        "-----BEGIN",
        r"-----BEGIN " + _KEY_LABEL
        # Without base64 behind it, it is only talk of a block: then the line alone.
        + r"(?:(?=[\s\S]{0,300}?[A-Za-z0-9+/]{40})" + _IN_BLOCK + r"{0,4096}" + KEY_END
        # A block that is longer, or has no end in this text: to its first line, and then by the tail.
        + rf"|(?:{_IN_BLOCK}{{0,300}}?{_BREAK}[ \t]{{0,64}})?[A-Za-z0-9+/]{{40}})?",
        "PEM, as in RFC 7468, whatever the algorithm. 4096 characters hold an RSA key of 4096 bits",
        reach=4242,
        tail=rf"(?<!-----)(?:[A-Za-z0-9+/=]{{1,256}}"
        rf"|{_BREAK}[ \t]{{0,64}}(?:[A-Za-z0-9+/]{{1,256}}={{0,2}}(?![^\s\\\"'])|{KEY_END}))",
    ),
    _row(
        "pypi_token",
        "pypi-AgEI",
        _FREE + r"pypi-AgEI[A-Za-z0-9_\-]{50,512}",
        "a macaroon in base64; AgEI is how each begins",
        reach=521,
        tail=r"[A-Za-z0-9_\-]{1,256}",
    ),
    _row(
        "slack_token",
        "xox",
        _FREE + r"xox[abprs]-[A-Za-z0-9\-]{10,255}",
        "the letter tells whose: b a bot's, p a person's, and so on",
        reach=260,
        tail=r"[A-Za-z0-9_\-]{1,256}",
    ),
    _row(
        "stripe_key",
        "k_live_",
        _FREE + r"[rs]k_live_[A-Za-z0-9]{16,255}",
        "secret and restricted keys to real money; sk_test_ is none",
        reach=263,
    ),
    _row(
        "url_password",
        "://",
        r"://[^\s/:@\"'<>]{0,64}+:(?!\d{1,5}[?#])" + _NO_MARK + _NO_REFERENCE
        + r"(?P<secret>[^\s/\"'<>]{1,256})@",
        "https://user:password@host; the last @ before the path ends the password",
        reach=325,
        tail=_NEVER,
    ),
    # Last, so that a row which knows more gives its name to the same text.
    _row(
        "env_value",
        _UPPER_NEEDS + _LOWER_NEEDS,
        _NAMED + r"[\"']?" + _SEPARATOR + _quoted('"'),
        "a quoted value of a name that says secret, in whatever language",
        reach=2160,
        tail=r'[^"\\\n]{1,256}|\\.',
    ),
    _row(
        "env_value",
        _UPPER_NEEDS + _LOWER_NEEDS,
        _NAMED + r"[\"']?" + _SEPARATOR + _quoted("'"),
        "the same in single quotes",
        reach=2160,
        tail=r"[^'\\\n]{1,256}|\\.",
    ),
    _row(
        "env_value",
        _UPPER_NEEDS + _LOWER_NEEDS,
        _NAMED + r'\\{1,3}"' + _SEPARATOR + r'\\{1,3}"' + _NO_MARK + _NO_CONSTANT + _NO_QUOTED_REFERENCE
        + r'(?P<secret>[^"\\\n]{4,1024}+)',
        "JSON within a string",
        reach=1140,
        tail=r'[^"\\\n]{1,256}',
    ),
    _row(
        "env_value",
        _UPPER_NEEDS,
        _UPPER_WORD + _REST + _EQUALS + _ANY_VALUE,
        "NAME=value, as in .env, a shell's export, a Dockerfile",
        reach=1110,
        tail=_TAIL_OF_ANY,
    ),
    _row(
        "env_value",
        _LOWER_NEEDS,
        rf"^[A-Za-z0-9_.\-]{{0,64}}?{_LOWER_WORD}" + _REST + _EQUALS + _ANY_VALUE,
        "name=value as in a properties file: at the very start of a line it is no argument of a call",
        reach=1170,
        tail=_TAIL_OF_ANY,
    ),
    _row(
        "env_value",
        _LOWER_NEEDS,
        _LOWER_WORD + _REST + _EQUALS + _WORD + _NO_IDENTIFIER + _PLAIN_VALUE + _NO_CODE_BEHIND,
        "name=value in the middle of a line: connection strings, queries of URLs",
        reach=1110,
        tail=_TAIL_OF_PLAIN,
    ),
    _row(
        "env_value",
        _UPPER_NEEDS,
        _LINE_KEY + _UPPER_WORD + _REST + _COLON + _WORD + _PLAIN_VALUE + _LINE_END,
        "NAME: value in yaml, one word to the line's end",
        reach=1270,
        tail=_TAIL_OF_PLAIN,
    ),
    _row(
        "env_value",
        _LOWER_NEEDS,
        _LINE_KEY + _LOWER_WORD + _REST + _COLON + _WORD + _NO_IDENTIFIER + _PLAIN_VALUE + _LINE_END,
        "name: value in yaml, where the value is more than a name",
        reach=1270,
        tail=_TAIL_OF_PLAIN,
    ),
)  # fmt: skip
"""All shapes. Rows of one name stand together; where two find the same text, the first gives its name."""
