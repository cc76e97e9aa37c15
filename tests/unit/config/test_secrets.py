"""Secrets at the last moment: the right place wins, and every way to fail names the key and never the value."""

from pathlib import Path

import pytest

from mtbot.config.secrets import MAX_SECRET_BYTES, Secret, SecretSource, resolve_dsn, resolve_secret
from mtbot.config.values import SecretRef
from mtbot.domain.errors import ConfigError
from tests.unit.config.sample import SMALL, read

KEY = "providers.main.api_key"


def file_with(directory: Path, content: bytes, mode: int = 0o600) -> Path:
    """A file of that content and mode."""
    path = directory / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_the_variable_wins_over_the_file_where_it_is_set(tmp_path: Path) -> None:
    """An empty or blank variable is not set."""
    path = file_with(tmp_path, b"from-file")
    ref = SecretRef(KEY, "MODEL_KEY", path)
    assert resolve_secret(ref, {"MODEL_KEY": " from-env "}) == Secret("from-env", SecretSource.ENV, "MODEL_KEY")
    for environ in ({}, {"MODEL_KEY": ""}, {"MODEL_KEY": "  "}):
        assert resolve_secret(ref, environ) == Secret("from-file", SecretSource.FILE, str(path))


def test_blanks_around_a_secret_are_no_part_of_it(tmp_path: Path) -> None:
    """A trailing newline, which every editor adds, once gave 401."""
    path = file_with(tmp_path, b"\t key \r\n\n")
    assert resolve_secret(SecretRef(KEY, "", path), {}).value == "key"


def test_no_place_is_no_secret_and_no_fault() -> None:
    """A server on this host may want none."""
    assert resolve_secret(SecretRef(KEY), {"OPENAI_API_KEY": "x"}) == Secret("", SecretSource.UNSET)


def test_an_unset_variable_names_the_key_and_the_way_out() -> None:
    """Both spellings of the place are offered."""
    with pytest.raises(ConfigError) as caught:
        resolve_secret(SecretRef(KEY, "MODEL_KEY"), {})
    assert caught.value.problems == (f"{KEY}_env: the environment variable MODEL_KEY is not set",)
    assert caught.value.hint == f"export it, or name a file in {KEY}_file"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"abcdef\nsecond", "holds more than one line or a control character"),
        (b"abcdef\x00", "holds more than one line or a control character"),
        (b"abcdef\xff", "is not UTF-8 text"),
        (b"abcdef" + b"x" * MAX_SECRET_BYTES, f"is larger than {MAX_SECRET_BYTES} bytes"),
    ],
    ids=["empty", "blank", "two-lines", "nul", "latin", "large"],
)
def test_what_is_no_secret(tmp_path: Path, content: bytes, message: str) -> None:
    """It would break a request, or is no key at all; no part of it is repeated, not even in the cause."""
    path = file_with(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        resolve_secret(SecretRef(KEY, "", path), {})
    assert caught.value.problems == (f"{KEY}_file: {path} {message}",)
    assert "abcdef" not in f"{caught.value} {caught.value.__cause__!r}"


def test_a_variable_is_held_to_the_same_rules() -> None:
    """A pasted PEM block or a second line is no token."""
    with pytest.raises(ConfigError) as caught:
        resolve_secret(SecretRef(KEY, "MODEL_KEY"), {"MODEL_KEY": "abcdef\nsecond"})
    assert caught.value.problems == (
        f"{KEY}_env: the variable MODEL_KEY holds more than one line or a control character",
    )
    with pytest.raises(ConfigError, match="is larger than"):
        resolve_secret(SecretRef(KEY, "MODEL_KEY"), {"MODEL_KEY": "x" * (MAX_SECRET_BYTES + 1)})


def test_what_is_no_file_of_a_secret_ends_at_once(tmp_path: Path) -> None:
    """A missing file, a directory, a device without an end."""
    expected = {
        tmp_path / "missing": "does not exist",
        tmp_path: "is not a regular file",
        Path("/dev/zero"): "is not a regular file",
    }
    for path, message in expected.items():
        with pytest.raises(ConfigError) as caught:
            resolve_secret(SecretRef(KEY, "", path), {})
        assert caught.value.problems == (f"{KEY}_file: {path} {message}",)


def test_a_link_to_a_secret_is_followed(tmp_path: Path) -> None:
    """Orchestrators mount secrets as links."""
    link = tmp_path / "link"
    link.symlink_to(file_with(tmp_path, b"key"))
    assert resolve_secret(SecretRef(KEY, "", link), {}).value == "key"


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True)])
def test_a_secret_that_everybody_may_read_is_warned_of(tmp_path: Path, mode: int, warned: bool) -> None:
    """It still works, because refusing would take the bot away at night."""
    path = file_with(tmp_path, b"key", mode)
    warning = resolve_secret(SecretRef(KEY, "", path), {}).warning
    assert warning == (f"{KEY}_file: {path} can be read by every user of this host; chmod 600 it" if warned else "")


def test_a_secret_does_not_show_itself() -> None:
    """In logs, assertions and tracebacks its repr stands."""
    assert "hidden" not in repr(Secret("hidden", SecretSource.ENV, "X"))


def test_the_database_by_its_path_or_by_a_secret_dsn(tmp_path: Path) -> None:
    """With postgres, the place of a DSN comes before the DSN in the file."""
    assert resolve_dsn(read(tmp_path, SMALL).storage, {}) == "/home/chief/.mtclaw/mtclaw.db"
    storage = read(tmp_path, SMALL + "storage: {driver: postgres, dsn: 'postgresql://h/d'}").storage
    assert resolve_dsn(storage, {}) == "postgresql://h/d"
    storage = read(tmp_path, SMALL + "storage: {driver: postgres, dsn_env: DSN}").storage
    assert resolve_dsn(storage, {"DSN": "postgresql://u:p@h/d"}) == "postgresql://u:p@h/d"
    with pytest.raises(ConfigError, match=r"storage\.dsn_env: the environment variable DSN is not set"):
        resolve_dsn(storage, {})
