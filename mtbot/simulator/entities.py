"""Read formatted text as the Bot API does: HTML or Markdown in, plain text and entities in UTF-16 units out.

Why it exists: the limits of a message are counted after this step, and markup that the real server refuses must be
refused here, or a bot that sends `<p>` passes its tests and loses its messages.
"""

import html
import re
from dataclasses import dataclass, field, replace

from mtbot.simulator.values import ApiRefusal, Entity, bad_request

_TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "a": "text_link",
    "span": "spoiler",
    "tg-emoji": "custom_emoji",
}
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)((?:\s[^<>]*)?)>")
_NAMED = re.compile(r"&(lt|gt|amp|quot|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_HREF = re.compile(r"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LANGUAGE = re.compile(r"""class\s*=\s*["']?language-([^\s"'>]+)""")
_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_STYLES_V2 = {"*": "bold", "_": "italic", "__": "underline", "~": "strikethrough", "||": "spoiler"}
_STYLES_V1 = {"*": "bold", "_": "italic"}
_AUTOMATIC = (
    ("bot_command", re.compile(r"(?<![\w/@])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/])")),
    ("mention", re.compile(r"(?<![\w@/])@[A-Za-z0-9_]{3,32}\b")),
    ("url", re.compile(r"https?://[^\s<>\"]+")),
)


def utf16_length(text: str) -> int:
    """How long Telegram thinks a text is."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def automatic_entities(text: str) -> tuple[Entity, ...]:
    """The commands, mentions and links that Telegram marks in what a person types."""
    found = [
        Entity(kind, utf16_length(text[: hit.start()]), utf16_length(hit[0]))
        for kind, pattern in _AUTOMATIC
        for hit in pattern.finditer(text)
    ]
    return tuple(sorted(found, key=lambda entity: entity.offset))


def parse(text: str, mode: str | None) -> tuple[str, tuple[Entity, ...]]:
    """Text and entities under a parse_mode; malformed markup is a 400 "can't parse entities"."""
    match (mode or "").lower():
        case "":
            return text, ()
        case "html":
            return _parse_html(text)
        case "markdownv2":
            return _Markdown(text, _STYLES_V2, strict=True).parse()
        case "markdown":
            return _Markdown(text, _STYLES_V1, strict=False).parse()
    raise bad_request("unsupported parse_mode")


def _broken(reason: str) -> ApiRefusal:
    return bad_request(f"can't parse entities: {reason}")


@dataclass(slots=True)
class _Output:
    """Text so far, its length in UTF-16 units, and what has been opened and closed."""

    parts: list[str] = field(default_factory=list)
    units: int = 0
    done: list[Entity] = field(default_factory=list)

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.units += utf16_length(text)

    def close(self, entity: Entity) -> None:
        if self.units > entity.offset:
            self.done.append(replace(entity, length=self.units - entity.offset))

    def result(self) -> tuple[str, tuple[Entity, ...]]:
        # Of two entities over the same text the outer one closes last and comes first; sorting keeps that order.
        self.done.reverse()
        return "".join(self.parts), tuple(sorted(self.done, key=lambda entity: (entity.offset, -entity.length)))


def _parse_html(text: str) -> tuple[str, tuple[Entity, ...]]:
    out = _Output()
    open_tags: list[tuple[str, Entity]] = []
    at = 0
    while at < len(text):
        if text[at] == "<":
            tag = _TAG.match(text, at)
            name = tag[2].lower() if tag else ""
            if tag is None or name not in _TAGS:
                raise _broken(f'Unsupported start tag "{name}" at byte offset {len(text[:at].encode())}')
            if tag[1]:
                _close_tag(out, open_tags, name, at)
            else:
                open_tags.append((name, _opened(name, tag[3], out.units)))
            at = tag.end()
        elif hit := _NAMED.match(text, at):
            out.write(html.unescape(hit[0]))
            at = hit.end()
        else:
            out.write(text[at])
            at += 1
    if open_tags:
        raise _broken(f'Can\'t find end tag corresponding to start tag "{open_tags[-1][0]}"')
    found, entities = out.result()
    return found, _merge_code_in_pre(entities)


def _opened(name: str, attributes: str, offset: int) -> Entity:
    kind = _TAGS[name]
    if name == "span" and "tg-spoiler" not in attributes:
        raise _broken('Tag "span" must have class "tg-spoiler"')
    if name == "blockquote" and "expandable" in attributes:
        kind = "expandable_blockquote"
    href = _HREF.search(attributes) if name == "a" else None
    language = _LANGUAGE.search(attributes) if name == "code" else None
    url = html.unescape(next(part for part in href.groups() if part is not None)) if href else None
    return Entity(kind, offset, 0, url, language[1] if language else None)


def _close_tag(out: _Output, open_tags: list[tuple[str, Entity]], name: str, at: int) -> None:
    if not open_tags:
        raise _broken(f"Unexpected end tag at byte offset {at}")
    opened, entity = open_tags.pop()
    if opened != name:
        raise _broken(f'Unmatched end tag at byte offset {at}, expected "</{opened}>", found "</{name}>"')
    # A link without a target is only text to the real server.
    if entity.type != "text_link" or entity.url:
        out.close(entity)


def _merge_code_in_pre(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """`<pre><code class="language-x">` is one entity with a language; a language on lone code means nothing."""
    languages = {(entity.offset, entity.length): entity.language for entity in entities if entity.type == "code"}
    pres = {(entity.offset, entity.length) for entity in entities if entity.type == "pre"}
    merged: list[Entity] = []
    for entity in entities:
        span = (entity.offset, entity.length)
        if entity.type == "pre":
            merged.append(replace(entity, language=languages.get(span)))
        elif entity.type != "code" or span not in pres:
            merged.append(replace(entity, language=None))
    return tuple(merged)


class _Markdown:
    """One pass over MarkdownV2, or over the old Markdown when not strict."""

    def __init__(self, text: str, styles: dict[str, str], *, strict: bool) -> None:
        self._text = text
        self._styles = styles
        self._strict = strict
        self._out = _Output()
        self._open: list[tuple[str, Entity]] = []
        self._quote: Entity | None = None

    def parse(self) -> tuple[str, tuple[Entity, ...]]:
        at = 0
        while at < len(self._text):
            at = self._step(at)
        if self._open:
            raise _broken(f"Can't find end of the entity starting with {self._open[-1][0]!r}")
        self._end_quote()
        return self._out.result()

    def _step(self, at: int) -> int:
        """Consume one thing and answer where the next begins."""
        text, char = self._text, self._text[at]
        if char == "\\" and at + 1 < len(text) and (self._strict or text[at + 1] in "_*`["):
            self._out.write(text[at + 1])
            return at + 2
        if char == "`":
            return self._code(at)
        if self._strict and char == ">" and (at == 0 or text[at - 1] == "\n"):
            self._quote = self._quote or Entity("blockquote", self._out.units, 0)
            return at + 1
        if char == "\n" and self._quote is not None and not text.startswith(">", at + 1):
            self._end_quote()
        if char == "[":
            self._open.append(("[", Entity("text_link", self._out.units, 0)))
            return at + 1
        if char == "]" and self._open and self._open[-1][0] == "[":
            return self._link(at)
        for mark in (char * 2, char):
            if mark in self._styles and text.startswith(mark, at):
                self._toggle(mark)
                return at + len(mark)
        if self._strict and char in _RESERVED:
            raise _broken(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")
        self._out.write(char)
        return at + 1

    def _toggle(self, mark: str) -> None:
        if self._open and self._open[-1][0] == mark:
            self._out.close(self._open.pop()[1])
        elif any(opened == mark for opened, _ in self._open):
            raise _broken(f"entity {mark!r} ends before the entity that it holds")
        else:
            self._open.append((mark, Entity(self._styles[mark], self._out.units, 0)))

    def _code(self, at: int) -> int:
        fence = "```" if self._text.startswith("```", at) else "`"
        end = self._text.find(fence, at + len(fence))
        while self._strict and end > 0 and self._text[end - 1] == "\\" and self._text[end - 2] != "\\":
            end = self._text.find(fence, end + 1)
        if end < 0:
            raise _broken(f"Can't find end of {'Pre' if fence == '```' else 'Code'} entity at byte offset {at}")
        body, language = self._text[at + len(fence) : end], None
        if fence == "```" and (head := re.match(r"([A-Za-z0-9_+#.-]*)\n", body)):
            body, language = body[head.end() :], head[1] or None
        opened = Entity("pre" if fence == "```" else "code", self._out.units, 0, None, language)
        self._out.write(re.sub(r"\\([`\\])", r"\1", body) if self._strict else body)
        self._out.close(opened)
        return end + len(fence)

    def _link(self, at: int) -> int:
        _, entity = self._open.pop()
        target = re.compile(r"\(((?:\\.|[^)\\])*)\)").match(self._text, at + 1)
        if target is None:
            if self._strict:
                raise _broken("Can't find the target of a link")
            # The old Markdown drops the brackets of a link that goes nowhere.
            return at + 1
        self._out.close(replace(entity, url=re.sub(r"\\(.)", r"\1", target[1])))
        return target.end()

    def _end_quote(self) -> None:
        if self._quote is not None:
            self._out.close(self._quote)
            self._quote = None
