"""People, bots and groups: nobody gets in by a typing error, and the short form is the long one."""

from pathlib import Path

import pytest

from mtbot.config.channels import EVERY_GROUP, BotSettings, GroupSettings
from mtbot.config.values import SecretRef
from mtbot.domain.ids import ChatId
from mtbot.policy.people import Deciders
from tests.unit.config.sample import SMALL, fault, faults, read

PEOPLE = "people: {chief: 1001, deploy: 1002, review: 1003}\nagent: {model: m}\n"


def telegram(directory: Path, text: str) -> BotSettings:
    """The one bot of a file with that short form."""
    return read(directory, f"{PEOPLE}channels: {{telegram: {{{text}}}}}").channels.telegram.bots["main"]


def wrong(directory: Path, text: str) -> list[str]:
    """The faults of a file with that short form."""
    return faults(directory, f"{PEOPLE}channels: {{telegram: {{{text}}}}}")


def test_the_short_form_is_one_bot_called_main(tmp_path: Path) -> None:
    """With the original's variable as its token where none is named."""
    settings = read(tmp_path, PEOPLE + "channels: {telegram: {allow_from: [chief, 1002, '1003']}}")
    assert list(settings.channels.telegram.bots) == ["main"]
    assert settings.channels.telegram.bots["main"].allow_from == (1001, 1002, 1003)
    assert settings.channels.telegram.token_ref("main") == SecretRef(
        "channels.telegram.bots.main.token", "TELEGRAM_BOT_TOKEN", None
    )


def test_a_named_file_is_not_overruled_by_the_default_variable(tmp_path: Path) -> None:
    """Whoever names a file means that file, also where the default variable happens to be set for another bot."""
    bot = telegram(tmp_path, "allow_from: [1], token_file: secrets/ops")
    assert (bot.token_env, bot.token_file) == ("", tmp_path / "secrets/ops")


def test_named_bots_inherit_the_lists_of_the_channel(tmp_path: Path) -> None:
    """A list of its own replaces the inherited one as a whole."""
    text = """
channels:
  telegram:
    allow_from: [chief]
    approvers: not_requester
    groups: {"*": {}}
    bots:
      one: {token_env: ONE}
      two: {token_env: TWO, allow_from: [deploy], approvers: any, groups: {}}
"""
    one, two = read(tmp_path, PEOPLE + text).channels.telegram.bots.values()
    assert (one.allow_from, one.approvers.who, list(one.groups)) == ((1001,), Deciders.NOT_REQUESTER, [EVERY_GROUP])
    assert (two.allow_from, two.approvers.who, list(two.groups)) == ((1002,), Deciders.ANY, [])


def test_a_bad_shared_list_is_a_fault_even_where_every_bot_has_its_own(tmp_path: Path) -> None:
    """What stands in the file is judged, used or not."""
    text = 'channels: {telegram: {allow_from: ["@alice"], bots: {one: {token_env: ONE, allow_from: [1]}}}}'
    assert [one.split(": ")[1] for one in faults(tmp_path, PEOPLE + text)] == ["channels.telegram.allow_from[0]"]


@pytest.mark.parametrize("key", ["token_env: X", "token_file: x", "profile: ops"])
def test_a_token_or_profile_of_the_channel_beside_bots_is_a_fault(tmp_path: Path, key: str) -> None:
    """Nobody could say whose it is."""
    text = f"channels: {{telegram: {{{key}, bots: {{one: {{token_env: ONE, allow_from: [1]}}}}}}}}"
    name = key.partition(":")[0]
    assert faults(tmp_path, PEOPLE + text) == [
        f"3:23: channels.telegram.{name}: belongs to one bot; beside bots it must stand as bots.NAME.{name}"
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("'@alice'", "usernames can be released"),
        ("-1001112223334", "the id of a group"),
        ("1087968824", "every anonymous admin"),
        ("136817688", "every anonymous admin"),
        ("777000", "every anonymous admin"),
        ("true", "numeric Telegram user id or a name"),
        ("cheif", 'did you mean "chief"?'),
    ],
)
def test_who_cannot_be_on_an_allow_list(tmp_path: Path, entry: str, message: str) -> None:
    """The fault names the entry; the good one before it hides nothing."""
    [found] = wrong(tmp_path, f"allow_from: [chief, {entry}]")
    assert found.startswith("3:43: channels.telegram.allow_from[1]: ")
    assert message in found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "allow_from: []",
        'allow_from: [], groups: {"*": {}}',
        'groups: {"*": {allow_from: []}, -100: {allow_from: []}}',
    ],
)
def test_an_allow_list_that_is_empty_everywhere_is_a_fault(tmp_path: Path, text: str) -> None:
    """An empty list must not mean everybody, and a bot for nobody is a mistake."""
    [found] = wrong(tmp_path, text)
    assert "bot main would accept no one: list people under allow_from, or set enabled: false" in found


def test_each_bot_must_accept_somebody(tmp_path: Path) -> None:
    """The list of one bot does not excuse the other."""
    text = "channels: {telegram: {bots: {one: {token_env: ONE, allow_from: [1]}, two: {token_env: TWO}}}}"
    [found] = faults(tmp_path, PEOPLE + text)
    assert "channels.telegram.bots.two.allow_from: bot two would accept no one" in found


def test_an_unrelated_fault_does_not_hide_that_nobody_is_let_in(tmp_path: Path) -> None:
    """All at once means all."""
    found = wrong(tmp_path, "api_base_url: nonsense, allow_from: []")
    assert len(found) == 2
    assert "api_base_url: must be an absolute http or https address" in found[0]
    assert "would accept no one" in found[1]


def test_people_of_one_group_are_enough(tmp_path: Path) -> None:
    """A bot may live in one group only."""
    bot = telegram(tmp_path, "groups: {-1001: {allow_from: [chief]}}")
    assert (bot.allow_from, bot.allowed_in(ChatId(-1001)), bot.allowed_in(ChatId(-1002))) == ((), (1001,), ())


def test_a_disabled_channel_needs_nobody_and_no_token(tmp_path: Path) -> None:
    """For those who use the terminal only."""
    assert read(tmp_path, PEOPLE + "channels: {telegram: {enabled: false}}").channels.telegram.enabled is False


def test_groups_default_to_none_and_to_a_mention(tmp_path: Path) -> None:
    """A strange group gets no answer; a listed one without further words wants a mention."""
    bot = telegram(tmp_path, "allow_from: [chief], groups: {-1001: {}, '-1002': {require_mention: false}}")
    assert bot.groups == {
        -1001: GroupSettings(require_mention=True),
        -1002: GroupSettings(require_mention=False),
    }
    assert bot.group(ChatId(-1003)) is None
    assert telegram(tmp_path, "allow_from: [chief]").groups == {}


def test_a_group_of_its_own_comes_before_the_star(tmp_path: Path) -> None:
    """And the star stands for every other one; without a list of its own a group has the bot's."""
    bot = telegram(tmp_path, 'allow_from: [chief], groups: {-1: {allow_from: [deploy]}, "*": {require_mention: false}}')
    assert bot.allowed_in(ChatId(-1)) == (1002,)
    assert bot.allowed_in(ChatId(-2)) == (1001,)
    assert bot.group(ChatId(-2)) == GroupSettings(require_mention=False)


@pytest.mark.parametrize(
    ("key", "message"),
    [("100", "negative id of a group"), ("ops", 'numeric id of a group or "*"'), ("-007", "negative")],
)
def test_what_is_no_group(tmp_path: Path, key: str, message: str) -> None:
    """A positive id would be a person, whose private chat the group rules do not govern."""
    [found] = wrong(tmp_path, f"allow_from: [1], groups: {{{key}: {{}}}}")
    assert found.startswith(f"3:49: channels.telegram.groups.{key}: ")
    assert message in found


@pytest.mark.parametrize(
    ("text", "who", "people"),
    [
        ("any", Deciders.ANY, ()),
        ("requester", Deciders.REQUESTER, ()),
        ("not_requester", Deciders.NOT_REQUESTER, ()),
        ("[chief, 1002, 1001]", Deciders.LISTED, (1001, 1002)),
    ],
)
def test_approvers(tmp_path: Path, text: str, who: Deciders, people: tuple[int, ...]) -> None:
    """A relation or a list, in which everybody counts once."""
    approvers = telegram(tmp_path, f"allow_from: [chief], approvers: {text}").approvers
    assert (approvers.who, approvers.people) == (who, people)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chief", "for one person write [chief]"),
        ("requestor", 'did you mean "requester"?'),
        ("[]", "an empty list would let no one decide"),
        ("[nobody]", 'no one under people is called "nobody"'),
        ("true", "must be any, requester"),
        ("{a: 1}", "must be any, requester"),
    ],
)
def test_what_names_no_approvers(tmp_path: Path, text: str, message: str) -> None:
    """A mistake here must not fall back to anybody."""
    [found] = wrong(tmp_path, f"allow_from: [chief], approvers: {text}")
    assert message in found


@pytest.mark.parametrize("token", ["12345:secret", "true", "12345"])
def test_a_token_in_the_file_is_refused_without_being_repeated(tmp_path: Path, token: str) -> None:
    """The fault names the keys that tell where a token may stand."""
    [found] = wrong(tmp_path, f"allow_from: [1], token: {token}")
    assert found.endswith(
        "a secret must not stand in this file; name the variable in token_env or the file in token_file"
    )
    assert "secret" not in found.replace("a secret must", "")
    assert "12345" not in found


def test_an_empty_token_key_of_an_old_file_does_no_harm(tmp_path: Path) -> None:
    """The original demanded that it be empty."""
    assert telegram(tmp_path, "allow_from: [1], token: ''").token == ""


def test_a_token_in_place_of_a_name_is_refused_without_being_repeated(tmp_path: Path) -> None:
    """The likeliest mistake of all."""
    [found] = wrong(tmp_path, "allow_from: [1], token_env: '12345:AAAA'")
    assert "token_env: must be the NAME of an environment variable" in found
    assert "AAAA" not in found


@pytest.mark.parametrize(
    "text",
    [
        "one: {token_env: X, allow_from: [1]}, two: {token_env: X, allow_from: [1]}",
        "one: {token_file: x, allow_from: [1]}, two: {token_file: ./x, allow_from: [1]}",
    ],
)
def test_two_bots_cannot_share_a_token(tmp_path: Path, text: str) -> None:
    """They would read each other's updates."""
    [found] = faults(tmp_path, f"{PEOPLE}channels: {{telegram: {{bots: {{{text}}}}}}}")
    assert "channels.telegram.bots.two: has the same token as bot one" in found


def test_a_bot_needs_a_token_and_a_known_profile(tmp_path: Path) -> None:
    """A named bot has no default variable, so that it never speaks with the token of another."""
    text = "profiles: {ops: {}}\nchannels: {telegram: {bots: {one: {allow_from: [1], profile: opps}}}}"
    found = faults(tmp_path, PEOPLE + text)
    assert len(found) == 2
    assert "channels.telegram.bots.one: names no token: give token_env or token_file" in found[0]
    assert 'channels.telegram.bots.one.profile: no profile is called "opps" (did you mean "ops"?)' in found[1]


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "api.example.org", "http://", "http://user:pw@x", "http://x/?a=b", "http://x:99999", "http://a b"],
)
def test_what_is_no_address_of_an_api(tmp_path: Path, url: str) -> None:
    """The server at this address gets the token; nothing about it may be doubtful."""
    [found] = wrong(tmp_path, f"allow_from: [1], api_base_url: '{url}'")
    assert "channels.telegram.api_base_url: must" in found


def test_the_owner_is_one_of_the_people(tmp_path: Path) -> None:
    """By name or by number, but never somebody who is not listed there."""
    assert read(tmp_path, SMALL + "owner: chief").owner == 1001
    assert read(tmp_path, SMALL + "owner: '1002'").owner == 1002
    assert fault(tmp_path, "owner", "owner: 5") == "must be one of people"
    assert 'did you mean "chief"?' in fault(tmp_path, "owner", "owner: cheif")


def test_a_group_may_have_approvers_of_its_own(tmp_path: Path) -> None:
    """Without them it has the bot's."""
    bot = telegram(tmp_path, "allow_from: [chief], approvers: requester, groups: {-5: {approvers: [review]}, -6: {}}")
    own, inherited = bot.groups[ChatId(-5)].approvers, bot.groups[ChatId(-6)].approvers
    assert own is not None
    assert (own.who, own.people) == (Deciders.LISTED, (1003,))
    assert inherited is None
