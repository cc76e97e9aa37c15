"""Names decide which environment variables are secrets."""

import pytest

from mtbot.redaction.environment import secret_env_names


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "TELEGRAM_BOT_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
        "MYSQL_PWD",
        "db.password",
        "my-apikey",
        "GITHUBTOKEN2",
        "KEY1",
        "SENTRY_DSN",
        "REDIS_AUTH",
    ],
)
def test_secret_names_are_chosen(name: str) -> None:
    """Upper or lower case, with any separator, with a number behind."""
    assert secret_env_names({name: "12345678"}) == {name: "12345678"}


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "SSH_AUTH_SOCK",
        "GIT_ASKPASS",
        "TOKEN_FILE",
        "AWS_ACCESS_KEY_ID",
        "MONKEY",
        "GPG_KEY",
    ],
)
def test_other_names_are_not(name: str) -> None:
    """Paths, sockets and identifiers beside a secret are not secrets themselves."""
    assert secret_env_names({name: "12345678"}) == {}


def test_short_values_are_left_out() -> None:
    """A value of seven characters would be masked wherever it stands."""
    assert secret_env_names({"A_TOKEN": "1234567 ", "B_TOKEN": "12345678"}) == {"B_TOKEN": "12345678"}
