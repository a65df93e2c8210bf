"""Redaction: what is taken for a secret, what is not, and that no piece of one stays.

No secret is spelled in this file, not even a false one: each is put together when the tests run, so that no
scanner of sources takes alarm.
"""

from __future__ import annotations

import hashlib
import importlib
import random
import re
import string
import time
import uuid
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grille.policy.redaction import ALL, NAMES, Redactor
from grille.policy.redaction_table import ROWS, Row

parser: Any = importlib.import_module("re._parser")  # how wide a pattern is, only `re` itself knows
REDACT = Redactor([ALL])
ALPHANUMERIC = string.ascii_letters + string.digits


def noise(length: int, letters: str = ALPHANUMERIC, seed: int = 1) -> str:
    """Random text that is the same in every run, a digit in it."""
    rng = random.Random(f"{length} {letters} {seed}")
    return "".join(rng.choices(letters, k=length - 1)) + "7"


def base64_of(size: int, seed: int = 1) -> str:
    return b64encode(random.Random(seed).randbytes(size)).decode()


def pem(size: int = 1200, label: str = "RSA", end: str = "\n", seed: int = 1) -> str:
    body = base64_of(size, seed)
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    kind = f"{label} PRIVATE KEY".strip()
    return end.join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


def jwt(claims: int = 60) -> str:
    parts = [b'{"alg":"RS256","typ":"JWT"}', b'{"sub":"' + b"x" * claims + b'"}', bytes(range(1, 65))]
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


PASSWORD = "hunter" + "2" * 3

# name, the secret, its surroundings: {} is where it stands, and all that may go.
EXAMPLES: list[tuple[str, str, str]] = [
    ("anthropic_key", "sk-" + "ant-api03-" + noise(93, ALPHANUMERIC + "_-"), "key is {}."),
    ("aws_key_id", "AKI" + "A" + noise(16, string.ascii_uppercase), "id={} region=eu"),
    ("aws_key_id", "ASI" + "A" + noise(16, string.ascii_uppercase), '"{}"'),
    ("aws_secret", noise(40, ALPHANUMERIC + "/+"), "aws_" + "secret_access_key = {}"),
    ("aws_secret", noise(40, ALPHANUMERIC + "/+"), '  "Secret' + 'AccessKey" : "{}",'),
    ("azure_storage_key", base64_of(64), "AccountName=x;Account" + "Key={};EndpointSuffix=core"),
    ("azure_storage_key", base64_of(32), "Endpoint=sb://x/;SharedAccess" + "Key={}"),
    *(("github_token", f"gh{letter}" + "_" + noise(36), "git clone https://{}/x") for letter in "pous"),
    ("github_token", "github" + "_pat_" + noise(22) + "_" + noise(59), "with {} in it"),
    ("github_token", "gh" + "s_" + noise(400), "with {} in it"),
    ("gitlab_token", "glp" + "at-" + noise(20, ALPHANUMERIC + "_-"), "'{}'"),
    ("gitlab_token", "glp" + "at-" + noise(27) + ".01." + noise(9), "'{}'"),
    ("google_api_key", "AI" + "za" + noise(35, ALPHANUMERIC + "_-"), "?key={}&v=3"),
    ("jwt", jwt(), "Authorization: Bearer {}"),
    ("jwt", jwt(1500), "x {}"),
    ("npm_token", "npm" + "_" + noise(36), "//registry.npmjs.org/:_authToken={}"),
    ("openai_key", "sk" + "-" + noise(48), "{}"),
    ("openai_key", "sk" + "-proj-" + noise(150, ALPHANUMERIC + "_-"), "key: {}"),
    ("private_key", pem(), "{}"),
    ("private_key", pem(label="EC", size=120), "before\n{}\nafter"),
    ("private_key", pem(label="OPENSSH", size=2600), "    {}\n"),
    ("private_key", pem(label="ENCRYPTED"), "{}"),
    ("private_key", pem(label=""), "{}"),
    ("private_key", pem(label="", end="\r\n"), "{}\r\n"),
    ("private_key", pem(label="", end="\\n"), "the key '{}\\n' in one line"),
    ("private_key", pem(size=6000), "longer than the pattern holds:\n{}\nafter it"),
    ("private_key", pem(label="", end="\n# "), "# {}"),
    ("pypi_token", "pyp" + "i-AgEI" + noise(150, ALPHANUMERIC + "_-"), "password: {}"),
    *(
        ("slack_token", f"xox{letter}" + "-" + "-".join([noise(12, string.digits)] * 2) + "-" + noise(24), "{}")
        for letter in "abprs"
    ),
    ("stripe_key", "sk" + "_live_" + noise(24), "stripe.api_key = f({})"),
    ("stripe_key", "rk" + "_live_" + noise(99), "{}"),
    ("url_password", PASSWORD, "postgres://me:{}@db.example.com:5432/x"),
    ("url_password", "p@ss:w" + "ord#1?", "see https://me:{}@example.com/a@b"),
    ("url_password", PASSWORD, "redis://:{}@localhost"),
    ("env_value", PASSWORD, "DB_PASS" + "WORD={}"),
    ("env_value", "letmein" + "now", "export APP_SECRET_KEY={} # not for you"),
    ("env_value", "a(b,c)$" + "1#", "PASS" + "WD={}\nDEBUG=1"),
    ("env_value", PASSWORD, 'ENV API_KEY="{}"'),
    ("env_value", "correct horse " + "battery", "export SECRET='{}'"),
    ("env_value", 'say "friend' + '"', "PRIVATE_KEY='{}'"),
    ("env_value", 'say \\"friend' + '\\" 1', 'password = "{}"'),
    ("env_value", PASSWORD, 'docker run -e MYSQL_ROOT_PASSWORD={} mysql'),
    ("env_value", PASSWORD, "db:\n  password: {}\n  user: me"),
    ("env_value", PASSWORD, "- API_TOKEN: {}  # comment"),
    ("env_value", "letmein" + "now", "POSTGRES_PASSWORD: {}\r\n"),
    ("env_value", PASSWORD, '{{"user": "me", "password": "{}", "x": 1}}'),
    ("env_value", PASSWORD, '"{{\\"apiKey\\":\\"{}\\"}}"'),
    ("env_value", PASSWORD, "const clientSecret = '{}';"),
    ("env_value", PASSWORD, "  accessToken: '{}',"),
    ("env_value", PASSWORD, ":api_key => '{}'"),
    ("env_value", PASSWORD, 'token := "{}"'),
    ("env_value", "letmein" + "now", "db.password={}\n"),
    ("env_value", PASSWORD, "psql 'host=x password={} dbname=y'"),
    ("env_value", PASSWORD, "Server=x;Password={};Database=y"),
    ("env_value", PASSWORD, "GET /x?access_token={} HTTP/1.1"),
    ("env_value", noise(3000), "TOKEN={} and more"),
    ("env_value", noise(3000), "TOKEN='{}' and more"),
]  # fmt: skip


def ids(rows: list[tuple[str, str, str]]) -> list[str]:
    return [f"{name}-{number}" for number, (name, *_) in enumerate(rows)]


def pieces_left(secret: str, text: str, size: int = 6) -> set[str]:
    """What of the secret shows in the text, in pieces of `size` characters; PEM's frame is no secret."""
    core = "".join(secret.split("\n")[1:-1]) if secret.startswith("-----") and "\n" in secret else secret
    text = re.sub(r"\[redacted: [a-z_]+\]", "", text)
    return {core[at : at + size] for at in range(len(core) - size + 1) if core[at : at + size] in text}


@pytest.mark.parametrize(("name", "secret", "around"), EXAMPLES, ids=ids(EXAMPLES))
def test_a_secret_becomes_its_mark_and_nothing_else_changes(name: str, secret: str, around: str) -> None:
    """Each form is found in what usually surrounds it, by its name, and exactly it is replaced."""
    found = Redactor([name]).apply(around.format(secret))
    assert found.text == around.format(f"[redacted: {name}]")
    assert found.count_by_name == {name: 1}


@pytest.mark.parametrize(("name", "secret", "around"), EXAMPLES, ids=ids(EXAMPLES))
def test_all_leaves_no_piece_of_a_secret(name: str, secret: str, around: str) -> None:
    """With all patterns at once they get in each other's way nowhere, and a second round changes nothing."""
    found = REDACT.apply(around.format(secret))
    assert pieces_left(secret, found.text) == set()
    again = REDACT.apply(found.text)
    assert (again.text, again.count_by_name) == (found.text, {})


@pytest.mark.parametrize(("name", "secret", "around"), EXAMPLES, ids=ids(EXAMPLES))
def test_a_name_takes_its_own_secrets_alone(name: str, secret: str, around: str) -> None:
    """A pattern that is not asked for changes nothing; a secret of two forms goes by either."""
    others = Redactor(other for other in NAMES if other not in (name, "env_value", "aws_secret"))
    text = around.format(secret)
    assert others.apply(text) == (text, {}, ())


def test_every_name_has_an_example() -> None:
    """No row of the table goes untested: each finds one of the examples."""
    assert {name for name, *_ in EXAMPLES} == set(NAMES)
    texts = [around.format(secret) for _, secret, around in EXAMPLES]
    for row in ROWS:
        assert any(re.search(row.pattern, text, re.MULTILINE) for text in texts), row.reason


CODE = """\
token = tokenizer.next()
password = getpass.getpass("Password: ")
def login(self, user: str, password: str) -> Token:
    self.token = token
    token: str
    token: SecretStr
    password: string;
    secret: &'a str,
    api_key: Optional[str] = None
connect(host=host, password=password, token=self.token)
connect(password=settings.DB_PASSWORD)
    password=password,
    api_key=os.environ["API_KEY"],
    token=tokens[0])
client = Client(api_key=os.getenv('API_KEY'))
os.environ["API_KEY"]
if token == "(": return
if (token === 'while') { next(); }
TOKEN=$(cat /run/secrets/token)
PASSWORD="${PASSWORD}"
PASSWORD=$PASSWORD
SECRET="$1"
TOKEN=get_token()
API_KEY=os.environ["API_KEY"]
TOKEN: ${{ secrets.GITHUB_TOKEN }}
password: "{{ vault_password }}"
password: <your password>
API_KEY=<your-key>
TOKEN_EOF=256,
TOKEN_MASK=0xff
max_tokens=4096
MAX_TOKENS=4096
"max_tokens": 4096,
n_tokens = "many of them"
TOKEN_URL = "https://example.com/oauth/token"
PASSWORD_FILE=/run/secrets/db
password_field = "the_field"
"token_type": "bearer",
privateKeyPath: '/etc/ssl/key.pem'
secretName: my-tls-secret
password: null
token: true
PASSWORD=
password = ""
token = 'x'
secretary = "Miss Moneypenny"
print("Token: " + repr(token))
def ask(prompt='Password: ', stream=None):
assertIn('Password:', text)
token.kind = "keyword"
Token.Comment: "#aabbcc",
the password: it is the one that you chose
git clone ssh://git@github.com:22/a/b.git
http://localhost:8080/@scope/name
http://localhost:8080?a=b@c
https://user:${PASSWORD}@example.com
https://user:{password}@example.com
https://user:<password>@example.com
https://user@example.com/x:y@z
<script src="https://cdn.example.com/npm/@scope/pkg@1.2.3/x.js">
.sk-circle-fade-dot { animation: sk-circle 1s; }
sk-learn and scikit-learn, risk-free-and-very-long-names-with-hyphens-in-them
npm_config_registry=https://registry.npmjs.org npm_lifecycle_event_name_that_is_rather_long
pypi-server, glpat- and ghp_ are prefixes; xoxb- as well; AKIA, too; eyJ begins a header
AKIAISNOTAKEY AKIAisnotakeyeitherxx
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
"""


@pytest.mark.parametrize("line", CODE.splitlines())
def test_ordinary_code_stays(line: str) -> None:
    """What only speaks of secrets is none: references, types, calls, prompts, numbers, prefixes."""
    assert REDACT.apply(line) == (line, {}, ())


def test_ordinary_code_stays_as_a_whole() -> None:
    """Lines that are no secrets one by one are none together."""
    assert REDACT.apply(CODE).text == CODE


@pytest.mark.parametrize(
    "text",
    [
        hashlib.md5(b"x").hexdigest(),
        "commit " + hashlib.sha1(b"x").hexdigest(),
        "sha256:" + hashlib.sha256(b"x").hexdigest(),
        '"integrity": "sha512-' + b64encode(hashlib.sha512(b"x").digest()).decode() + '",',
        "golang.org/x/net v0.1.0 h1:" + b64encode(hashlib.sha256(b"x").digest()).decode(),
        str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
        "data:image/png;base64," + base64_of(3000),
        base64_of(48),
        pem(label="x").replace("PRIVATE KEY", "CERTIFICATE"),
        "0x" + "deadbeef" * 8,
        string.ascii_uppercase * 4,
        "x" * 5000,
        "日本語 パスワード: です",
        "",
    ],
    ids=range(14),
)
def test_other_long_strings_stay(text: str) -> None:
    """Hashes, ids, images and certificates are no secrets; nor is a lone line of base64."""
    assert REDACT.apply(text).text == text


def test_the_line_that_begins_a_key_is_replaced_alone() -> None:
    """Without its block, the line of PEM that announces one goes, and what surrounds it stays."""
    text = f'if line == "{pem().split(chr(10))[0]}":\n    return False\n'
    assert REDACT.apply(text).text == 'if line == "[redacted: private_key]":\n    return False\n'


def test_a_key_cut_at_either_end_is_replaced_as_far_as_it_shows() -> None:
    """A page that ends within a block, or begins within one, shows no line of it."""
    lines = pem().split("\n")
    assert REDACT.apply("\n".join(["before", *lines[:9]])).text == "before\n[redacted: private_key]"
    assert REDACT.apply("\n".join([*lines[9:], "after"])).text == "[redacted: private_key]\nafter"
    assert (
        REDACT.apply("\n".join(["word", *lines[9:], "after"])).text == "word\n[redacted: private_key]\nafter"
    )
    assert REDACT.apply("\n".join(lines[3:9])).text == "\n".join(lines[3:9])
    assert REDACT.apply(f"begin\nx = '{lines[-1]}'").text == f"begin\nx = '{lines[-1]}'"


def test_what_stands_between_two_keys_stays() -> None:
    """A block ends with its last line, also where another one follows."""
    text = f"one\n{pem()}\ntwo\n{pem(seed=2)}\nthree\n"
    mark = "[redacted: private_key]"
    assert REDACT.apply(text).text == f"one\n{mark}\ntwo\n{mark}\nthree\n"


def test_overlapping_hits_become_one_mark() -> None:
    """The leftmost and longest gives the name; nothing of the other one is left."""
    token = "gh" + "p_" + noise(36)
    assert REDACT.apply(f"TOKEN={token}").text == "TOKEN=[redacted: github_token]"
    assert REDACT.apply(f"TOKEN={token}/x").text == "TOKEN=[redacted: env_value]"
    assert REDACT.apply(f"TOKEN=x/{token}").count_by_name == {"env_value": 1}
    url = f"https://me:{token}@example.com/{noise(10)}"
    assert REDACT.apply(f"TOKEN={url}").count_by_name == {"env_value": 1}


def test_counts_are_of_marks() -> None:
    """Each mark is counted once under its name."""
    key, token = "AKI" + "A" + noise(16, string.ascii_uppercase), "npm" + "_" + noise(36)
    found = REDACT.apply(f"{key} {token} {key}")
    assert found.count_by_name == {"aws_key_id": 2, "npm_token": 1}
    assert found.text.count("[redacted: ") == 3


def test_unknown_names_are_refused() -> None:
    """A name that is misspelled must not pass for protection; the refusal lists the legal ones."""
    with pytest.raises(ValueError, match="'pasword' is no pattern; legal are all, anthropic_key"):
        Redactor(["jwt", "pasword"])


def test_no_names_change_nothing() -> None:
    """Off is off."""
    text = " ".join(secret for _, secret, _ in EXAMPLES)
    assert Redactor([]).apply(text, 3) == (text, {}, (3,))
    assert Redactor([]).longest == 0


# --- places -----------------------------------------------------------------------------------------------


def test_places_move_with_their_characters() -> None:
    """A place before a secret stays, one behind it moves along, one within it is where the mark begins."""
    key = "AKI" + "A" + noise(16, string.ascii_uppercase)
    text = f"ab {key} cd {key} ef"
    places = [0, 3, 4, 22, 23, 24, text.index("cd"), text.index("cd") + 3, text.index("ef"), len(text)]
    found = REDACT.apply(text, *places)
    mark = "[redacted: aws_key_id]"
    assert found.text == f"ab {mark} cd {mark} ef"
    end = 3 + len(mark)
    second = end + 4
    assert found.places == (
        0,
        3,
        3,
        3,
        end,
        end + 1,
        end + 1,
        second,
        second + len(mark) + 1,
        len(found.text),
    )


fragments = st.one_of(
    st.sampled_from([around.format(secret) for _, secret, around in EXAMPLES]),
    st.sampled_from([secret for _, secret, _ in EXAMPLES]),
    st.sampled_from(CODE.splitlines()),
    st.sampled_from(["TOKEN=", "password: ", '"secret":"', "-----", "\n", " ", '"', "'", "=", "$", "<"]),
    st.just("[redacted: jwt]"),
    st.text(max_size=8),
)  # fmt: skip
texts = st.lists(fragments, max_size=6).map("".join)


@given(texts, st.data())
def test_places_outside_of_marks_keep_their_character(text: str, data: st.DataObject) -> None:
    """Whatever the text: a place is mapped in order, within bounds, to its own character or to a mark."""
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    found = REDACT.apply(text, *places)
    assert list(found.places) == sorted(found.places)
    for before, after in zip(places, found.places, strict=True):
        kept = text[before : before + 1] == found.text[after : after + 1]
        assert kept or found.text[after:].startswith("[redacted: ")
    assert found.text.count("[redacted: ") >= sum(found.count_by_name.values())


@given(texts)
def test_a_second_round_changes_nothing(text: str) -> None:
    """Marks are no secrets, and no replacement makes a secret of what is left."""
    once = REDACT.apply(text).text
    assert REDACT.apply(once).text == once


@given(texts, st.sampled_from(EXAMPLES), texts)
def test_no_secret_survives_among_anything(before: str, example: tuple[str, str, str], after: str) -> None:
    """A secret in its usual surroundings, on lines of its own, goes whatever else the text holds."""
    _, secret, around = example
    found = REDACT.apply(f"{before}\n\n{around.format(secret)}\n{after}")
    left = pieces_left(secret, found.text, 12)
    assert left <= pieces_left(secret, REDACT.apply(before).text + REDACT.apply(after).text, 12)


WHOLE_IN_REACH = [
    row for row in EXAMPLES if len(row[2].format(row[1])) < REDACT.longest and "\n" not in row[2]
]


@given(st.sampled_from(WHOLE_IN_REACH), st.integers(0, 9000), st.integers(1, 200))
def test_a_cut_shows_no_half_of_a_secret(example: tuple[str, str, str], first: int, width: int) -> None:
    """Whoever sees `longest` characters beyond what is shown, on both sides, shows no piece of a secret."""
    _, secret, around = example
    filler = "some words to fill " * 250
    line = f"{filler}\n{around.format(secret)}\n{filler}"
    start = max(0, first - REDACT.longest)
    window = line[start : first + width + REDACT.longest]
    found = REDACT.apply(window, first - start, min(first - start + width, len(window)))
    shown = found.text[found.places[0] : found.places[1]]
    assert pieces_left(secret, shown) == set()


# --- time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_pattern_is_bounded_and_flat(row: Row) -> None:
    """`reach` bounds what a pattern spans, so every quantifier has a bound; and none repeats another one,
    but the three words of a PEM label."""
    parsed = parser.parse(row.pattern, re.MULTILINE)
    assert parsed.getwidth()[1] <= row.reach <= REDACT.longest
    assert nested_repeats(parsed, 1) <= 3 * 12
    assert row.reason


def nested_repeats(node: Any, outer: int) -> int:
    """The greatest product of the bounds of two quantifiers of which one stands within the other."""
    if isinstance(node, tuple) and str(node[0]).endswith("_REPEAT"):
        _, most, inside = node[1]
        inner = nested_repeats(inside, most)
        return int(inner * most if inner > 1 else most if outer > 1 else 1)
    if isinstance(node, (tuple, list, parser.SubPattern)):
        return max((nested_repeats(item, outer) for item in node), default=1)
    return 1


HOSTILE = [
    "TOKEN=", "token=", "TOKEN", "secret", "SECRET_", "password: ", '"password": "', "password='", "password = \"\\",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n", "-----END PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----", "A" * 64 + "\n", "A" * 64 + "\n-----END PRIVATE KEY-----\n", "-----BEGIN ", "-----",
    "://a:", "://a:b", "://:", "a:b@", "eyJ", "eyJaaaaaaaaa.", ".eyJaaaaaaaaaa", "eyJaaaaaaaa.aaaaaaaa ",
    "sk-", "sk-ant-", "sk-proj-", "xoxb-", "glpat-", "gh" + "p_", "AKIA", "AIza", "npm_", "pypi-AgEI", "sk_live_",
    "AccountKey=", "secret_access_key=", "a", " ", "\n", "-", "=", "\\", '"', "\\n", ".a", "A" * 63, "\t- ", "$", "[",
    "TOKEN=a ", "token: a1b2\n", "A=", "- - ", "\\\"token\\\":\\\"",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_text(piece: str) -> None:
    """Eight times the text takes about eight times as long, not sixty-four times, for every hostile piece."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        REDACT.apply(text)
        return time.process_time() - started

    small = min(seconds(8_000) for _ in range(3))
    large = min(seconds(64_000) for _ in range(2))
    assert large <= 24 * small + 0.02, (piece, small, large)


def test_the_table_is_sorted_but_for_the_last() -> None:
    """Rows stand by name, those that hold any value last; a name is what a mark can show."""
    names = [row.name for row in ROWS if row.name not in ("env_value", "url_password")]
    assert names == sorted(set(names))
    assert [row.name for row in ROWS][len(names) :] == ["url_password", *["env_value"] * 8]
    assert all(re.fullmatch(r"[a-z_]{2,24}", name) for name in NAMES)
    assert ALL not in NAMES
