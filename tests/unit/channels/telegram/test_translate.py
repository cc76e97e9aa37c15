"""Updates as inbounds: who said what where, and what nobody said to the bot."""

import pytest

from mtbot.channels.telegram.translate import Me, membership, translate
from mtbot.channels.telegram.updates import Update
from mtbot.domain.chats import ChatChange, ChatEvent
from mtbot.domain.ids import BotName, ChatId, ThreadId
from mtbot.domain.turn import Actor, ActorKind, Address, Attached, Inbound, InboundKind, SourceRef, SurfaceName

ME = Me(BotName("ops"), 7, "nas_ops_bot")
CHIEF = {"id": 1001, "is_bot": False, "first_name": "Chief"}
ACTOR = Actor(ActorKind.TELEGRAM, 1001, "Chief")
PRIVATE = {"id": 1001, "type": "private"}
GROUP = {"id": -100, "type": "supergroup", "title": "ops"}
HERE = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))
THERE = Address(SurfaceName.GROUP, BotName("ops"), ChatId(-100))


def said(update: dict[str, object]) -> Inbound | None:
    """What somebody said with an update."""
    found = translate(Update.model_validate({"update_id": 5, **update}), ME)
    assert not isinstance(found, ChatChange)
    return found


def message(text: str | None = "hello", chat: dict[str, object] = PRIVATE, **more: object) -> Inbound | None:
    """A message, translated."""
    body: dict[str, object] = {"message_id": 6, "date": 1, "chat": chat, "from": CHIEF, **more}
    if text is not None:
        body["text"] = text
    return said({"message": body})


def entity(kind: str, offset: int, length: int, **more: object) -> list[dict[str, object]]:
    """One entity."""
    return [{"type": kind, "offset": offset, "length": length, **more}]


def test_a_private_message() -> None:
    """It is always meant for the bot."""
    assert message() == Inbound(HERE, ACTOR, SourceRef(5, 6), InboundKind.TEXT, "hello")


def test_a_group_message_without_a_mention() -> None:
    """It is not."""
    found = message(chat=GROUP)
    assert found == Inbound(THERE, ACTOR, SourceRef(5, 6), InboundKind.TEXT, "hello", addressed=False)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, None),
        ({"from": CHIEF, "text": "prod is nas2"}, "prod is nas2"),
        ({"from": CHIEF, "caption": "a plan"}, "a plan"),
        ({"from": CHIEF}, None),
        ({"from": {**CHIEF, "id": 6666}, "text": "approve everything"}, ""),
        ({"from": {"id": 7, "is_bot": True, "first_name": "Bot"}, "text": "I read that ..."}, ""),
        ({"text": "a channel's"}, ""),
        ({"from": CHIEF, "text": "passed on", "forward_origin": {"type": "user"}}, ""),
        ({"from": CHIEF, "text": "passed on", "forward_date": 1}, ""),
        ({"from": CHIEF, "text": "for a chat", "sender_chat": GROUP}, ""),
        ({"from": CHIEF, "text": "a bot's", "via_bot": {"id": 9}}, ""),
    ],
)
def test_what_is_replied_to_counts_where_the_same_person_wrote_it(
    reply: dict[str, object] | None, words: str | None
) -> None:
    """Anybody else's words, and those that were passed on, may be text from outside."""
    more = {} if reply is None else {"reply_to_message": {"message_id": 3, "date": 1, "chat": PRIVATE, **reply}}
    found = message("/pin", entities=entity("bot_command", 0, 4), **more)
    assert found is not None
    assert (found.command, found.text, found.own_words) == ("pin", "", words)


def test_a_mention_counts_in_utf16_and_is_taken_off_the_beginning() -> None:
    """Emoji before it count twice; in the middle it stays."""
    first = message("@nas_ops_bot deploy", GROUP, entities=entity("mention", 0, 12))
    assert first is not None
    assert (first.text, first.addressed) == ("deploy", True)
    later = message("😀 hey @NAS_ops_bot go", GROUP, entities=entity("mention", 7, 12))
    assert later is not None
    assert (later.text, later.addressed) == ("😀 hey @NAS_ops_bot go", True)


def test_a_mention_is_an_entity_and_not_a_piece_of_text() -> None:
    """Somebody else's name that begins alike, or the name in quoted text, is no mention."""
    for text, entities in (
        ("@nas_ops_bot2 deploy", entity("mention", 0, 13)),
        ("see @nas_ops_bot", []),
        ("Other", entity("text_mention", 0, 5, user={"id": 8, "is_bot": True, "first_name": "x"})),
    ):
        found = message(text, GROUP, entities=entities)
        assert found is not None
        assert not found.addressed


def test_a_mention_without_a_username() -> None:
    """By the id behind the words."""
    found = message(
        "Bot do", GROUP, entities=entity("text_mention", 0, 3, user={"id": 7, "is_bot": True, "first_name": "x"})
    )
    assert found is not None
    assert (found.text, found.addressed) == ("do", True)


def test_a_reply_to_the_bot_is_meant_for_it() -> None:
    """And names what it answers; a reply to somebody else does not."""
    theirs = {
        "message_id": 3,
        "date": 1,
        "chat": GROUP,
        "from": {"id": 7, "is_bot": True, "first_name": "bot"},
        "text": "?",
    }
    found = message("no", GROUP, reply_to_message=theirs)
    assert found is not None
    assert (found.addressed, found.quoted) == (True, 3)
    other = message("no", GROUP, reply_to_message={**theirs, "from": CHIEF})
    assert other is not None
    assert (other.addressed, other.quoted) == (False, None)


def test_commands() -> None:
    """The word, what follows, and whose it is."""
    plain = message("/Deny K7QD not now", entities=entity("bot_command", 0, 5))
    assert plain is not None
    assert (plain.kind, plain.command, plain.text) == (InboundKind.COMMAND, "deny", "K7QD not now")
    bare = message("/stop", GROUP, entities=entity("bot_command", 0, 5))
    assert bare is not None
    assert not bare.addressed
    ours = message("/stop@NAS_OPS_bot", GROUP, entities=entity("bot_command", 0, 17))
    assert ours is not None
    assert (ours.command, ours.addressed) == ("stop", True)
    assert message("/stop@other_bot", GROUP, entities=entity("bot_command", 0, 15)) is None
    middle = message("please /stop", entities=entity("bot_command", 7, 5))
    assert middle is not None
    assert middle.kind is InboundKind.TEXT


def test_a_command_behind_a_mention_is_one() -> None:
    """Nobody who writes @bot /stop in a hurry wants to talk about it; a mention behind a command is its argument."""
    mention = entity("mention", 0, 12)
    found = message("@nas_ops_bot \n /stop now", GROUP, entities=[*mention, *entity("bot_command", 15, 5)])
    assert found is not None
    assert (found.command, found.text, found.addressed) == ("stop", "now", True)
    theirs = [*mention, *entity("bot_command", 13, 15)]
    assert message("@nas_ops_bot /stop@other_bot", GROUP, entities=theirs) is None
    middle = message("@nas_ops_bot do /stop", GROUP, entities=[*mention, *entity("bot_command", 16, 5)])
    assert middle is not None
    assert (middle.kind, middle.text) == (InboundKind.TEXT, "do /stop")
    about = message("/ban @nas_ops_bot", GROUP, entities=[*entity("bot_command", 0, 4), *entity("mention", 5, 12)])
    assert about is not None
    assert (about.command, about.addressed) == ("ban", False)


def test_a_mention_alone_is_what_was_said() -> None:
    """A model is never asked about an empty text, which some servers refuse."""
    found = message("@nas_ops_bot ", GROUP, entities=entity("mention", 0, 12))
    assert found is not None
    assert (found.text, found.addressed) == ("@nas_ops_bot", True)
    photo = [{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1}]
    shown = message(None, GROUP, photo=photo, caption="@nas_ops_bot", caption_entities=entity("mention", 0, 12))
    assert shown is not None
    assert (shown.text, shown.addressed) == ("", True)


def test_topics() -> None:
    """A topic is another conversation; General, and a thread that is only a chain of replies, are not."""
    topic = message(chat=GROUP, is_topic_message=True, message_thread_id=42)
    assert topic is not None
    assert topic.address == Address(SurfaceName.GROUP, BotName("ops"), ChatId(-100), ThreadId(42))
    general = message(chat=GROUP, is_topic_message=True, message_thread_id=1)
    chain = message(chat=GROUP, message_thread_id=42)
    assert general is not None
    assert chain is not None
    assert (general.address, chain.address) == (THERE, THERE)


def test_captions_count_as_text() -> None:
    """With their own entities."""
    photo = [{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1}]
    found = message(None, GROUP, photo=photo, caption="@nas_ops_bot look", caption_entities=entity("mention", 0, 12))
    assert found is not None
    assert (found.text, found.addressed) == ("look", True)


def test_what_no_person_wrote_themselves_is_nothing() -> None:
    """On behalf of a chat, by a bot or by way of one, forwarded, empty, without a sender, in a channel, or no message."""
    origin = {"type": "hidden_user", "sender_user_name": "x", "date": 1}
    assert message(sender_chat=GROUP) is None
    assert message(forward_origin=origin) is None
    assert message("/approve K7QD", via_bot={"id": 9}, entities=entity("bot_command", 0, 8)) is None
    assert message(sender_business_bot={"id": 9}) is None
    assert message(" \n ") is None
    assert message(chat={"id": -5, "type": "channel", "title": "news"}) is None
    body = {"message_id": 6, "date": 1, "chat": PRIVATE, "text": "x"}
    assert translate(Update.model_validate({"update_id": 5, "message": body}), ME) is None
    robot = {**body, "from": {**CHIEF, "is_bot": True}}
    assert translate(Update.model_validate({"update_id": 5, "message": robot}), ME) is None
    assert translate(Update.model_validate({"update_id": 5, "edited_message": robot}), ME) is None


def test_an_edit_is_told_from_a_message() -> None:
    """It says what the message says now, and is of a kind that nothing runs for."""
    body = {"message_id": 6, "date": 1, "edit_date": 2, "chat": PRIVATE, "from": CHIEF, "text": "/stop now"}
    plain = translate(Update.model_validate({"update_id": 5, "edited_message": body}), ME)
    assert plain == Inbound(HERE, ACTOR, SourceRef(5, 6), InboundKind.EDIT, "/stop now")
    command = {**body, "entities": entity("bot_command", 0, 5)}
    found = translate(Update.model_validate({"update_id": 5, "edited_message": command}), ME)
    assert found == Inbound(HERE, ACTOR, SourceRef(5, 6), InboundKind.EDIT, "now", command="stop")


def press(**more: object) -> Inbound | None:
    """A press, translated."""
    query = {"id": "q", "from": CHIEF, "chat_instance": "c", **more}
    return said({"callback_query": query})


def test_presses() -> None:
    """What the button carried, where it is, and what it takes to answer."""
    shown = {"message_id": 9, "date": 1, "chat": GROUP, "is_topic_message": True, "message_thread_id": 42, "text": "?"}
    address = Address(SurfaceName.GROUP, BotName("ops"), ChatId(-100), ThreadId(42))
    wanted = Inbound(address, ACTOR, SourceRef(5, 9), InboundKind.PRESS, "", press_token="ok.tok", press_id="q")
    assert press(message=shown, data="ok.tok") == wanted
    gone = press(message={"message_id": 9, "date": 0, "chat": PRIVATE}, data="ok.tok")
    assert gone == Inbound(HERE, ACTOR, SourceRef(5, 9), InboundKind.PRESS, "", press_token="ok.tok", press_id="q")


def test_a_press_without_a_message_carries_nothing_but_wants_an_answer() -> None:
    """Its token is left behind, so that it can decide nothing."""
    assert press(data="ok.tok", inline_message_id="i") == Inbound(
        HERE, ACTOR, SourceRef(5), InboundKind.PRESS, "", press_id="q"
    )
    assert press(data="x", **{"from": {**CHIEF, "is_bot": True}}) is None


def changed(update: dict[str, object]) -> object:
    """What happened to a chat by an update."""
    return translate(Update.model_validate({"update_id": 5, **update}), ME)


def test_a_group_that_becomes_a_supergroup() -> None:
    """Both chats report it, and whoever is shown as its sender says nothing with it."""
    service = {"message_id": 6, "date": 1, "from": CHIEF}
    old = {**service, "chat": {"id": -5, "type": "group", "title": "ops"}, "migrate_to_chat_id": -100}
    new = {**service, "chat": GROUP, "migrate_from_chat_id": -5}
    moved = ChatChange(BotName("ops"), ChatId(-5), 5, ChatEvent.MOVED, ChatId(-100))
    assert changed({"message": old}) == moved
    assert changed({"message": new}) == moved


def test_the_bots_own_membership() -> None:
    """Out is out, however it is called; channels do not count, and nothing else is read than what matters."""
    for member, chat, event in (
        ({"status": "left"}, GROUP, ChatEvent.CLOSED),
        ({"status": "kicked", "until_date": 0}, PRIVATE, ChatEvent.CLOSED),
        ({"status": "restricted", "is_member": False}, GROUP, ChatEvent.CLOSED),
        ({"status": "restricted", "is_member": True}, GROUP, ChatEvent.OPENED),
        ({"status": "member"}, GROUP, ChatEvent.OPENED),
        ({"status": "something new"}, GROUP, ChatEvent.OPENED),
    ):
        wanted = ChatChange(BotName("ops"), ChatId(int(str(chat["id"]))), 5, event, title=str(chat.get("title", "")))
        update = {"update_id": 5, "my_chat_member": {"chat": chat, "new_chat_member": member}}
        assert membership(update, ME) == wanted


def test_an_update_that_is_no_membership() -> None:
    """Of a channel, of another kind, or not as it should be."""
    member = {"status": "left"}
    for changed in (
        {"chat": {"id": -5, "type": "channel", "title": "news"}, "new_chat_member": member},
        {"chat": {"id": "x", "type": "group"}, "new_chat_member": member},
        {"chat": {"id": True, "type": "group"}, "new_chat_member": member},
        {"chat": PRIVATE},
        {"new_chat_member": member},
        "left",
        None,
    ):
        assert membership({"update_id": 5, "my_chat_member": changed}, ME) is None
    assert membership({"my_chat_member": {"chat": GROUP, "new_chat_member": member}}, ME) is None


DOCUMENT = {
    "file_id": "d1",
    "file_unique_id": "u",
    "file_name": "a.pdf",
    "mime_type": "application/pdf",
    "file_size": 9,
}


def test_a_document_comes_with_its_caption() -> None:
    """Alone it says nothing, and is a message all the same."""
    found = message(None, document=DOCUMENT, caption="please read", media_group_id="g")
    assert found is not None
    assert (found.text, found.files, found.album) == (
        "please read",
        (Attached("d1", "a.pdf", "application/pdf", 9),),
        "g",
    )
    bare = message(None, document={"file_id": "d1", "file_unique_id": "u"})
    assert bare is not None
    assert (bare.text, bare.files, bare.album) == ("", (Attached("d1"),), "")


def test_a_photo_comes_in_its_largest_size() -> None:
    """Whatever the order in which the sizes are listed."""
    sizes = [
        {"file_id": f"p{width}", "file_unique_id": "u", "width": width, "height": width, "file_size": width}
        for width in (90, 800, 320)
    ]
    found = message(None, photo=sizes)
    assert found is not None
    assert found.files == (Attached("p800", "photo.jpg", "image/jpeg", 800),)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("voice", {"file_id": "v", "file_unique_id": "u", "duration": 3}, "a voice message"),
        ("location", {"latitude": 1.0, "longitude": 2.0}, "a location"),
        ("dice", {"emoji": "x", "value": 3}, "dice"),
    ],
)
def test_what_cannot_be_used_is_named(field: str, value: dict[str, object], words: str) -> None:
    """So that it can be said."""
    found = message(None, **{field: value})
    assert found is not None
    assert (found.unusable, found.files, found.text) == (words, (), "")


def test_files_in_a_group_are_not_meant_for_the_bot_by_themselves() -> None:
    """A mention in the caption makes them."""
    found = message(None, GROUP, document=DOCUMENT)
    assert found is not None
    assert not found.addressed
    named = message(
        None, GROUP, document=DOCUMENT, caption="@nas_ops_bot this", caption_entities=entity("mention", 0, 12)
    )
    assert named is not None
    assert (named.addressed, named.text) == (True, "this")


def test_an_edited_caption_is_text_alone() -> None:
    """Its file was taken when it came; one that says nothing any more is nothing."""
    body: dict[str, object] = {"message_id": 6, "date": 1, "chat": PRIVATE, "from": CHIEF, "document": DOCUMENT}
    found = said({"edited_message": {**body, "caption": "new"}})
    assert found is not None
    assert (found.kind, found.text, found.files) == (InboundKind.EDIT, "new", ())
    assert said({"edited_message": body}) is None
