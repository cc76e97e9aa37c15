"""Who may speak, decide and be told, as the configuration stands."""

import pytest

from mtbot.domain.ids import BotName, ChatId, ThreadId, UserId
from mtbot.domain.turn import SYSTEM, Actor, ActorKind, Address, Inbound, InboundKind, SourceRef, SurfaceName
from mtbot.policy.people import Admission, Approvers, BotPeople, Deciders, GroupPeople, People, Say

CHIEF, DEPLOY, REVIEW, STRANGER = UserId(1001), UserId(1002), UserId(1003), UserId(6666)
OPS, HOUSE, LOOSE, ELSEWHERE = ChatId(-100), ChatId(-200), ChatId(-300), ChatId(-999)
NAMES = {CHIEF: "chief", DEPLOY: "deploy", REVIEW: "review"}
HOST = Actor(ActorKind.LOCAL, 1000)
ALL = frozenset({CHIEF, DEPLOY, REVIEW})
ANY = Approvers()
REQUESTER = Approvers(Deciders.REQUESTER)
NOT_REQUESTER = Approvers(Deciders.NOT_REQUESTER)
LISTED = Approvers(Deciders.LISTED, frozenset({REVIEW}))


def person(user: UserId, name: str = "") -> Actor:
    """Somebody on Telegram."""
    return Actor(ActorKind.TELEGRAM, user, name)


def people(approvers: Approvers = ANY, *, anywhere: GroupPeople | None = None) -> People:
    """One bot with three listed people and three groups."""
    bot = BotPeople(
        ALL,
        approvers,
        {
            OPS: GroupPeople(ALL, require_mention=True, approvers=approvers),
            HOUSE: GroupPeople(frozenset({CHIEF, DEPLOY}), require_mention=False, approvers=approvers),
            LOOSE: GroupPeople(frozenset(), approvers=approvers),
        },
        anywhere,
    )
    return People(NAMES, CHIEF, {BotName("ops"): bot})


def private(user: UserId = CHIEF) -> Address:
    """Somebody's own chat with the bot."""
    return Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(int(user)))


def group(chat: ChatId = OPS, bot: str = "ops") -> Address:
    """A topic of a group."""
    return Address(SurfaceName.GROUP, BotName(bot), chat, ThreadId(7))


TERMINAL = Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="local")
CRON = Address(SurfaceName.CRON, BotName(""), ChatId(0), label="job:nightly")


def inbound(
    address: Address,
    sender: Actor,
    kind: InboundKind = InboundKind.TEXT,
    *,
    command: str = "",
    addressed: bool = True,
) -> Inbound:
    """Something said."""
    return Inbound(address, sender, SourceRef(), kind, "text", command=command, addressed=addressed)


class TestNames:
    """How people are called."""

    @pytest.mark.parametrize(
        ("actor", "name"),
        [
            (person(CHIEF, "Elsewhere known as X"), "Chief"),
            (person(STRANGER, "  Two\nlines \t of name "), "Two lines of name"),
            (person(STRANGER, "x" * 99), "x" * 64),
            (person(STRANGER, " "), "somebody"),
            (HOST, "the owner of this host"),
            (Actor(ActorKind.LOCAL, 1001, "root"), "root"),
            (SYSTEM, "mtclaw"),
        ],
    )
    def test_a_name_is_the_configured_one_or_the_persons_own_on_one_line(self, actor: Actor, name: str) -> None:
        """Never a number; a uid that equals somebody's Telegram id is not them."""
        assert people().name(actor) == name


class TestAdmission:
    """Who may speak."""

    @pytest.mark.parametrize("user", [CHIEF, DEPLOY, REVIEW])
    def test_listed_people_may_write_to_the_bot(self, user: UserId) -> None:
        """In their own chats."""
        assert people().admit(inbound(private(user), person(user))) is Admission.ADMIT

    @pytest.mark.parametrize("kind", list(InboundKind))
    def test_nobody_else_may_by_any_road(self, kind: InboundKind) -> None:
        """Not with a text, a command or a button."""
        for address in (private(STRANGER), group(OPS), group(HOUSE)):
            assert people().admit(inbound(address, person(STRANGER), kind, command="stop")) is Admission.NOT_LISTED

    def test_an_empty_list_is_nobody(self) -> None:
        """On buttons as on messages."""
        for kind in InboundKind:
            assert people().admit(inbound(group(LOOSE), person(CHIEF), kind)) is Admission.NOT_LISTED

    def test_a_groups_own_list_replaces_the_bots(self) -> None:
        """Review is listed for the bot and not in the house."""
        assert people().admit(inbound(group(HOUSE), person(REVIEW))) is Admission.NOT_LISTED

    @pytest.mark.parametrize("user", [1087968824, 136817688, 777000, 0, -100])
    def test_where_no_person_is_shown_nobody_speaks(self, user: int) -> None:
        """Anonymous admins, channels, forwards and chats, even if somebody listed them."""
        listed = People({}, None, {BotName("ops"): BotPeople(frozenset({UserId(user)}))})
        assert listed.admit(inbound(private(), person(UserId(user)))) is Admission.IMPERSONAL

    def test_a_uid_of_the_host_is_nobody_on_telegram(self) -> None:
        """Nor is mtclaw itself."""
        for actor in (Actor(ActorKind.LOCAL, int(CHIEF)), SYSTEM):
            assert people().admit(inbound(private(), actor)) is Admission.IMPERSONAL

    def test_an_unknown_bot_serves_nobody(self) -> None:
        """As after its removal from the configuration."""
        assert people().admit(inbound(group(OPS, "gone"), person(CHIEF))) is Admission.NOT_LISTED

    def test_an_unknown_group_is_told_apart(self) -> None:
        """Its owner is told the id."""
        assert people().admit(inbound(group(ELSEWHERE), person(CHIEF))) is Admission.UNKNOWN_GROUP

    def test_the_entry_for_any_group_serves_groups_without_their_own(self) -> None:
        """And only those."""
        open_house = people(anywhere=GroupPeople(frozenset({STRANGER})))
        assert open_house.admit(inbound(group(ELSEWHERE), person(STRANGER))) is Admission.ADMIT
        assert open_house.admit(inbound(group(OPS), person(STRANGER))) is Admission.NOT_LISTED

    def test_where_a_mention_is_wanted_only_what_is_meant_for_the_bot_counts(self) -> None:
        """Other talk is none of its business."""
        assert people().admit(inbound(group(OPS), person(CHIEF))) is Admission.ADMIT
        assert people().admit(inbound(group(OPS), person(CHIEF), addressed=False)) is Admission.NOT_ADDRESSED
        assert people().admit(inbound(group(HOUSE), person(CHIEF), addressed=False)) is Admission.ADMIT

    def test_a_press_needs_no_mention(self) -> None:
        """A button is the bot's own."""
        press = inbound(group(OPS), person(CHIEF), InboundKind.PRESS, addressed=False)
        assert people().admit(press) is Admission.ADMIT

    @pytest.mark.parametrize(
        ("command", "admission"),
        [
            ("stop", Admission.ADMIT),
            ("approve", Admission.ADMIT),
            ("deny", Admission.ADMIT),
            ("pending", Admission.ADMIT),
            ("weather", Admission.NOT_ADDRESSED),
        ],
    )
    def test_its_own_commands_need_no_mention(self, command: str, admission: Admission) -> None:
        """Another bot's do."""
        said = inbound(group(OPS), person(CHIEF), InboundKind.COMMAND, command=command, addressed=False)
        assert people().admit(said) is admission

    def test_a_text_that_equals_a_command_is_none(self) -> None:
        """Only what the channel marked as one."""
        said = inbound(group(OPS), person(CHIEF), InboundKind.TEXT, command="stop", addressed=False)
        assert people().admit(said) is Admission.NOT_ADDRESSED

    @pytest.mark.parametrize("address", [TERMINAL, CRON])
    def test_terminal_and_clock_need_no_list(self, address: Address) -> None:
        """Whoever starts the program has the account."""
        assert people().admit(inbound(address, HOST)) is Admission.ADMIT


class TestDeciding:
    """Who may answer a question that Deploy caused in the group."""

    @pytest.mark.parametrize(
        ("approvers", "actor", "say"),
        [
            (ANY, person(DEPLOY), Say.YES),
            (ANY, person(CHIEF), Say.YES),
            (ANY, person(STRANGER), Say.NOT_LISTED),
            (ANY, HOST, Say.YES),
            (ANY, SYSTEM, Say.NOT_LISTED),
            (REQUESTER, person(DEPLOY), Say.YES),
            (REQUESTER, person(CHIEF), Say.NOT_YOURS),
            (REQUESTER, HOST, Say.CANNOT_TELL),
            (NOT_REQUESTER, person(DEPLOY), Say.OWN_REQUEST),
            (NOT_REQUESTER, person(CHIEF), Say.YES),
            (NOT_REQUESTER, person(STRANGER), Say.NOT_LISTED),
            (NOT_REQUESTER, HOST, Say.CANNOT_TELL),
            (LISTED, person(REVIEW), Say.YES),
            (LISTED, person(CHIEF), Say.NOT_YOURS),
            (LISTED, HOST, Say.YES),
        ],
    )
    def test_the_rule_decides_who(self, approvers: Approvers, actor: Actor, say: Say) -> None:
        """By numeric id, for each rule."""
        assert people(approvers).may_decide(actor, group(), person(DEPLOY), elevates=False) is say

    def test_a_named_decider_need_not_be_listed_in_the_group(self) -> None:
        """Review is not in the house."""
        assert people(LISTED).may_decide(person(REVIEW), group(HOUSE), person(DEPLOY), elevates=False) is Say.YES
        assert people(ANY).may_decide(person(REVIEW), group(HOUSE), person(DEPLOY), elevates=False) is Say.NOT_LISTED

    @pytest.mark.parametrize("user", [1087968824, 777000, 0, -100])
    def test_where_no_person_is_shown_nobody_decides(self, user: int) -> None:
        """Even if the id was listed by mistake."""
        listed = People({}, None, {BotName("ops"): BotPeople(frozenset({UserId(user)}))})
        say = listed.may_decide(person(UserId(user)), private(), person(DEPLOY), elevates=False)
        assert say is Say.NOT_LISTED

    @pytest.mark.parametrize("approvers", [ANY, REQUESTER, NOT_REQUESTER, LISTED])
    def test_root_is_never_granted_in_a_chat(self, approvers: Approvers) -> None:
        """Whoever may decide there otherwise; people who are not listed learn nothing."""
        for user in ALL:
            say = people(approvers).may_decide(person(user), group(), person(DEPLOY), elevates=True)
            assert say is Say.HOST_ONLY
        say = people(approvers).may_decide(person(STRANGER), group(), person(DEPLOY), elevates=True)
        assert say is Say.NOT_LISTED

    def test_at_the_terminal_its_user_decides(self) -> None:
        """It is their own request."""
        assert people(NOT_REQUESTER).may_decide(HOST, TERMINAL, HOST, elevates=True) is Say.YES

    @pytest.mark.parametrize("address", [group(ELSEWHERE), group(OPS, "gone")])
    def test_nobody_decides_where_nobody_is_listed(self, address: Address) -> None:
        """A group or bot that left the configuration."""
        assert people().may_decide(person(CHIEF), address, person(DEPLOY), elevates=False) is Say.NOT_LISTED

    @pytest.mark.parametrize(
        ("approvers", "actor", "say"),
        [
            (NOT_REQUESTER, person(DEPLOY), Say.YES),
            (LISTED, person(DEPLOY), Say.YES),
            (LISTED, person(CHIEF), Say.NOT_YOURS),
            (NOT_REQUESTER, HOST, Say.YES),
            (REQUESTER, HOST, Say.YES),
            (ANY, person(STRANGER), Say.NOT_LISTED),
            (ANY, person(CHIEF), Say.YES),
        ],
    )
    def test_no_needs_less_than_yes(self, approvers: Approvers, actor: Actor, say: Say) -> None:
        """Whoever asked may withdraw, and the host may always stop things."""
        assert people(approvers).may_deny(actor, group(), person(DEPLOY)) is say

    def test_a_removed_person_cannot_even_withdraw(self) -> None:
        """Stranger asked before being taken off the list."""
        assert people().may_deny(person(STRANGER), group(), person(STRANGER)) is Say.NOT_LISTED


class TestWelcome:
    """Whether an old yes still counts."""

    @pytest.mark.parametrize(
        ("requester", "address", "welcome"),
        [
            (person(CHIEF), group(), True),
            (person(REVIEW), group(HOUSE), False),
            (person(CHIEF), group(ELSEWHERE), False),
            (person(STRANGER), private(STRANGER), False),
            (HOST, TERMINAL, True),
            (SYSTEM, CRON, True),
        ],
    )
    def test_only_who_is_still_listed_is_acted_for(self, requester: Actor, address: Address, welcome: bool) -> None:
        """A person who was removed has nothing run on their word."""
        assert people().still_welcome(requester, address) is welcome


class TestWhoIsTold:
    """Who can answer, in words and as a place."""

    @pytest.mark.parametrize(
        ("approvers", "deciders", "line"),
        [
            (ANY, (CHIEF, DEPLOY, REVIEW), ""),
            (REQUESTER, (DEPLOY,), "Deploy decides"),
            (NOT_REQUESTER, (CHIEF, REVIEW), "Chief or Review decide"),
            (LISTED, (REVIEW,), "Review decides"),
            (Approvers(Deciders.LISTED), (), "nobody here can decide"),
        ],
    )
    def test_the_line_names_them_unless_everybody_may(
        self, approvers: Approvers, deciders: tuple[UserId, ...], line: str
    ) -> None:
        """The owner first, then by id."""
        found = people(approvers)
        assert found.deciders(group(), person(DEPLOY)) == deciders
        assert found.deciders_line(group(), person(DEPLOY)) == line
        assert found.decider_names(group(), person(DEPLOY)) == tuple(NAMES[user].title() for user in deciders)

    def test_the_owner_comes_first_whatever_the_id(self) -> None:
        """So that a question that has to move goes to them."""
        owned = People(NAMES, REVIEW, people().bots)
        assert owned.deciders(group(), person(DEPLOY)) == (REVIEW, CHIEF, DEPLOY)

    def test_at_the_terminal_nobody_is_named(self) -> None:
        """There is only one person."""
        assert people(NOT_REQUESTER).deciders_line(TERMINAL, HOST) == ""

    @pytest.mark.parametrize(
        ("approvers", "address", "requester", "place"),
        [
            (ANY, private(DEPLOY), DEPLOY, private(DEPLOY)),
            (ANY, group(), DEPLOY, group()),
            (NOT_REQUESTER, group(), DEPLOY, group()),
            (NOT_REQUESTER, private(DEPLOY), DEPLOY, private(CHIEF)),
            (NOT_REQUESTER, private(CHIEF), CHIEF, private(DEPLOY)),
            (LISTED, group(HOUSE), DEPLOY, private(REVIEW)),
            (Approvers(Deciders.LISTED, frozenset({STRANGER})), group(), DEPLOY, None),
            (Approvers(Deciders.LISTED), group(), DEPLOY, None),
            (ANY, group(LOOSE), DEPLOY, None),
            (ANY, group(ELSEWHERE), DEPLOY, None),
            (ANY, group(OPS, "gone"), DEPLOY, None),
        ],
    )
    def test_a_question_goes_where_somebody_can_answer(
        self, approvers: Approvers, address: Address, requester: UserId, place: Address | None
    ) -> None:
        """Where it was asked, else to a decider's own chat, else nowhere."""
        assert people(approvers).ask_at(address, person(requester)) == place

    def test_a_bot_that_is_gone_reaches_no_one(self) -> None:
        """Although the rule names somebody."""
        assert people(LISTED).ask_at(group(OPS, "gone"), person(DEPLOY)) is None

    def test_a_terminal_asks_in_its_own_place(self) -> None:
        """Whether anybody is there is the surface's matter."""
        assert people().ask_at(TERMINAL, HOST) == TERMINAL


def test_who_owns_it() -> None:
    """The configured person, by number; nobody where nobody is named, and nobody who only has that uid."""
    assert people().owns(person(CHIEF))
    assert not people().owns(person(DEPLOY, "chief"))
    assert not people().owns(Actor(ActorKind.LOCAL, int(CHIEF)))
    assert not People().owns(person(CHIEF))
    assert not People().owns(SYSTEM)


def test_a_stranger_may_send_a_code_in_their_own_chat_and_nothing_else() -> None:
    """Not in a group, not as plain text, not behind somebody else's number; a listed person is admitted as ever."""
    known = people()
    alone, stranger = private(STRANGER), person(STRANGER)
    assert known.admit(inbound(alone, stranger, InboundKind.COMMAND, command="pair")) is Admission.MAY_PAIR
    assert known.admit(inbound(alone, stranger, InboundKind.COMMAND, command="start")) is Admission.NOT_LISTED
    assert known.admit(inbound(alone, stranger)) is Admission.NOT_LISTED
    assert known.admit(inbound(group(), stranger, InboundKind.COMMAND, command="pair")) is Admission.NOT_LISTED
    assert known.admit(inbound(private(), person(CHIEF), InboundKind.COMMAND, command="pair")) is Admission.ADMIT
    impersonal = person(UserId(1087968824))
    assert known.admit(inbound(alone, impersonal, InboundKind.COMMAND, command="pair")) is Admission.IMPERSONAL
