"""The address of a proxy: in the open without a password, with one only as a secret, and never quoted when it is wrong."""

from pathlib import Path

import pytest
import yaml

from mtbot.config.channels import TelegramSettings
from mtbot.config.proxy import password_of, secret_problem
from mtbot.config.secrets import resolve_secret
from mtbot.config.show import show
from mtbot.domain.errors import ConfigError
from tests.unit.config.sample import faults, read

SHAPE = "must be SCHEME://HOST:PORT, where SCHEME is one of http, https, socks5, socks5h"
KEY = "channels.telegram.proxy"


def telegram(text: str) -> str:
    """A file with those keys of the proxy."""
    return f"agent: {{model: m}}\nchannels: {{telegram: {{allow_from: [1], {text}}}}}\n"


def provider(text: str) -> str:
    """A file with those keys of a model server."""
    return telegram("enabled: true") + f'providers: {{main: {{api_key_env: "", {text}}}}}\n'


@pytest.mark.parametrize(
    "address",
    ["", "http://proxy.example:3128", "https://proxy.example", "socks5://127.0.0.1:1080", "socks5h://[::1]:1080/"],
)
def test_an_address_without_a_password_stands_in_the_file(tmp_path: Path, address: str) -> None:
    """A slash at its end means nothing."""
    settings = read(tmp_path, telegram(f'proxy: "{address}"')).channels.telegram
    assert (settings.proxy, settings.proxy_ref.named) == (address.rstrip("/"), False)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("socks4://127.0.0.1:1080", f"{SHAPE}"),
        ("socks://127.0.0.1:1080", f"{SHAPE}"),
        ("127.0.0.1:1080", f"{SHAPE}"),
        ("SOCKS5://127.0.0.1:1080", f"{SHAPE}"),
        ("socks5://:1080", f"{SHAPE}"),
        ("socks5://host:99999", f"{SHAPE}"),
        ("http://host:0", f"{SHAPE}"),
        ("socks5://host:1080/path", f"{SHAPE}"),
        ("socks5://host:1080?x=1", f"{SHAPE}"),
        ("socks5://ho st:1080", f"{SHAPE}"),
        ("socks5://host", "must name the port of the SOCKS proxy"),
        (
            "socks5://reader:hunter999@host:1080",
            "must not hold a user or password: put the whole address where the keys _env or _file say",
        ),
    ],
)
def test_another_address_is_a_fault_that_names_the_good_ones(tmp_path: Path, address: str, said: str) -> None:
    """In one line, without the address: a password may stand in it."""
    (found,) = faults(tmp_path, telegram(f'proxy: "{address}"'))
    assert found.split(": ", 2)[1:] == [KEY, said]


@pytest.mark.parametrize(
    "address",
    [
        "http://reader:hunter999@proxy.example:3128",
        "https://reader@proxy.example",
        "http://reader:hunter%3A999@proxy.example",
        "socks5://reader:hunter%40999@127.0.0.1:1080",
        "socks5h://127.0.0.1:1080",
    ],
)
def test_a_secret_address_may_hold_a_user_and_a_password(tmp_path: Path, address: str) -> None:
    """From a file, or from a variable, which wins."""
    place = tmp_path / "proxy"
    place.write_text(f"{address}\n")
    settings = read(tmp_path, telegram("proxy_file: proxy, proxy_env: THE_PROXY")).channels.telegram
    assert resolve_secret(settings.proxy_ref, {}).value == address
    assert resolve_secret(settings.proxy_ref, {"THE_PROXY": "http://x"}).value == "http://x"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://reader:hunter999@host:1", "where SCHEME is one of http, https, socks5, socks5h; in a user"),
        ("socks5://reader:hun/ter999@host:1", "with a user and a password, SCHEME://USER:PASSWORD@HOST:PORT"),
        ("socks5://reader:hun#ter999@host:1", "SCHEME://USER:PASSWORD@HOST:PORT"),
        ("socks5://reader:hunter999@host:1/x", "what is no letter or digit is written as %XX"),
        ("socks5://reader:hunter999@host", "must name the port of the SOCKS proxy"),
        ("socks5://reader@host:1", "must have both a user and a password"),
        ("socks5://reader:@host:1", "must have both a user and a password"),
        ("socks5://:hunter999@host:1", "must have both a user and a password"),
        (f"socks5://reader:{'x' * 256}@host:1", "each of 1 to 255 ASCII characters"),
        ("socks5://reader:h%C3%BCnter999@host:1", "each of 1 to 255 ASCII characters"),
        ("http://reader:h%C3%BCnter999@host:1", "must have a user and a password of ASCII characters"),
        ("https://r\u00e9ader:hunter999@host:1", "must have a user and a password of ASCII characters"),
        ("http://rea%3Ader:hunter999@host:1", "must have a user without a colon"),
    ],
)
def test_a_wrong_secret_address_is_told_without_it(address: str, said: str) -> None:
    """The place is named, which is enough to find it."""
    with pytest.raises(ConfigError) as failed:
        resolve_secret(TelegramSettings(proxy_env="THE_PROXY").proxy_ref, {"THE_PROXY": address})
    (line,) = failed.value.problems
    assert line.startswith(f"{KEY}_env: the variable THE_PROXY must ")
    assert said in line
    assert not [part for part in ("hun", "reader", "999", "xxx", "@host") if part in line]


def test_one_proxy_is_named_once(tmp_path: Path) -> None:
    """Nobody could say which one counts."""
    said = "stands beside proxy_env or proxy_file; give one of them"
    (found,) = faults(tmp_path, telegram("proxy: 'http://x', proxy_file: proxy"))
    assert found.split(": ", 2)[1:] == [KEY, said]
    (found,) = faults(tmp_path, provider("proxy: 'http://x', proxy_env: THE_PROXY"))
    assert found.split(": ", 2)[1:] == ["providers.main.proxy", said]


def test_a_model_server_has_a_proxy_of_its_own(tmp_path: Path) -> None:
    """In the open, or as a secret."""
    plain = read(tmp_path, provider("proxy: 'socks5://127.0.0.1:1080'"))
    assert (plain.providers["main"].proxy, plain.providers["main"].proxy_ref("main").named) == (
        "socks5://127.0.0.1:1080",
        False,
    )
    secret = read(tmp_path, provider("proxy_file: proxy"))
    (ref,) = [one for one in secret.secret_refs() if one.key == "providers.main.proxy"]
    assert (ref, ref.file) == (secret.providers["main"].proxy_ref("main"), tmp_path / "proxy")
    (found,) = faults(tmp_path, provider("proxy: 'ftp://x'"))
    assert found.split(": ", 2)[1:] == ["providers.main.proxy", SHAPE]


def test_a_proxy_is_shown_as_it_stands_or_as_its_place(tmp_path: Path) -> None:
    """Never with what the place holds."""
    text = telegram("proxy: 'socks5://127.0.0.1:1080'") + 'providers: {main: {api_key_env: "", proxy_env: THE_PROXY}}\n'
    settings = read(tmp_path, text)
    found = yaml.safe_load(show(settings, {"THE_PROXY": "http://reader:hunter999@host:1"}))
    assert found["channels"]["telegram"]["proxy"] == "socks5://127.0.0.1:1080"
    assert found["providers"]["main"]["proxy"] == "<set:env:THE_PROXY>"
    assert "hunter999" not in str(found)
    assert not [
        key for part in (found["channels"]["telegram"], found["providers"]["main"]) for key in part if "proxy_" in key
    ]


def test_no_command_inherits_the_variable_of_the_proxy(tmp_path: Path) -> None:
    """Not even where somebody lists it."""
    for text in (telegram("proxy_env: THE_PROXY"), provider("proxy_env: THE_PROXY")):
        (found,) = faults(tmp_path, text + "tools: {exec: {env: {pass: [THE_PROXY]}}}\n")
        assert found.endswith("THE_PROXY holds a secret of the gateway")


@pytest.mark.parametrize(
    ("text", "password"),
    [
        ("socks5://reader:hunter%40999@host:1", "hunter@999"),
        ("postgresql://reader@host/db", ""),
        ("7001001:AAH-token", ""),
        ("http://[broken", ""),
    ],
)
def test_the_password_in_an_address_is_known_by_itself(text: str, password: str) -> None:
    """So that it can be hidden where it stands alone."""
    assert (password_of(text), secret_problem("http://x")) == (password, None)
