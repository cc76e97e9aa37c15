"""Rewrites of the tree before it is judged: short forms, profiles over their base, and values taken from others.

Working on the tree and not on the values keeps every position, so a fault that shows only in a merged profile still
points at the line that somebody wrote.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mtbot.config.channels import DEFAULT_TOKEN_ENV, MAIN_BOT, TelegramSettings
from mtbot.config.problems import Path, Place, Problem, nearest
from mtbot.config.service import DEFAULT_KEY_ENV, SHORT_PROVIDER
from mtbot.config.yaml_marks import Entry, Leaf, Listing, Node, Table

BOT_KEYS = TelegramSettings.short_form
_INHERITED = ("allow_from", "approvers", "groups")
_SECRET_KEYS = ("token_env", "token_file", "token")
_ADDED = {("tools", "exec", "deny"), ("tools", "denied_path"), ("tools", "denied_command")}
_FIXED = ("tools", "exec", "builtin_deny")
PROFILE_KEYS = ("agent", "tools")
_NOWHERE = Place(1, 1)


@dataclass(slots=True)
class Rewrite:
    """The rewritten tree, with what was found wrong or worth a warning on the way.

    ``shared`` holds the keys of the channel that bots inherit, so that they are judged even where every bot has its own.
    """

    root: Table
    shared: Table | None = None
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def table(node: Node | None, path: Path = ()) -> Table:
    """The node if it is a mapping, else an empty one that stands at its place."""
    if isinstance(node, Table):
        return node
    return Table({}, node.place if node else _NOWHERE, node.path if node else path)


def with_entry(base: Table, key: str, node: Node) -> Table:
    """The table with that entry set; the key keeps its position if it has one."""
    place = base.entries[key].key_place if key in base.entries else node.place
    return replace(base, entries={**base.entries, key: Entry(place, node)})


def without(base: Table, keys: Iterable[str]) -> Table:
    """The table without those entries."""
    gone = set(keys)
    return replace(base, entries={key: entry for key, entry in base.entries.items() if key not in gone})


def word(text: str, like: Node) -> Leaf:
    """A value that nobody wrote, standing where the thing that implies it stands."""
    return Leaf(text, like.place, like.path)


def short_forms(root: Table) -> Rewrite:
    """The tree with every short form written out: one bot, one provider, the old name of the database path."""
    rewrite = Rewrite(root)
    _providers(rewrite)
    _bots(rewrite)
    _storage_path(rewrite)
    return rewrite


def _providers(rewrite: Rewrite) -> None:
    root = rewrite.root
    short, full = root.get("openai"), root.get("providers")
    if short is not None and full is not None:
        place = root.entries["openai"].key_place
        message = "openai is the short form of one entry of providers; give one of the two"
        rewrite.problems.append(Problem(place, ("openai",), message))
    if full is None:
        own = short if short is not None else Table({}, root.place, ("providers", SHORT_PROVIDER))
        if isinstance(own, Table) and not {"api_key_env", "api_key_file"} & set(own.entries):
            own = with_entry(own, "api_key_env", word(DEFAULT_KEY_ENV, own))
        providers = Table({SHORT_PROVIDER: Entry(own.place, own)}, own.place, ("providers",))
        root = with_entry(root, "providers", providers)
    rewrite.root = without(root, ("openai",))


def _bots(rewrite: Rewrite) -> None:
    channels = table(rewrite.root.get("channels"), ("channels",))
    telegram = channels.get("telegram")
    if telegram is None:
        telegram = Table({}, channels.place, ("channels", "telegram"))
    if not isinstance(telegram, Table):
        return
    if "bots" in telegram.entries:
        telegram = _named_bots(telegram, rewrite)
    else:
        own = replace(telegram, entries={k: e for k, e in telegram.entries.items() if k in BOT_KEYS})
        if not {"token_env", "token_file"} & set(own.entries):
            own = with_entry(own, "token_env", word(DEFAULT_TOKEN_ENV, telegram))
        bots = Table({MAIN_BOT: Entry(telegram.place, own)}, telegram.place, telegram.path)
        telegram = with_entry(without(telegram, BOT_KEYS), "bots", bots)
    rewrite.root = with_entry(rewrite.root, "channels", with_entry(channels, "telegram", telegram))


def _named_bots(telegram: Table, rewrite: Rewrite) -> Table:
    """Lists of the channel are the default of every bot; a token of the channel beside ``bots`` is a fault."""
    for key in (*_SECRET_KEYS, "profile"):
        if key in telegram.entries:
            message = f"belongs to one bot; beside bots it must stand as bots.NAME.{key}"
            rewrite.problems.append(Problem(telegram.entries[key].key_place, (*telegram.path, key), message))
    rewrite.shared = replace(telegram, entries={k: e for k, e in telegram.entries.items() if k in _INHERITED})
    bots = telegram.get("bots")
    if isinstance(bots, Table):
        for name, entry in bots.entries.items():
            bot = entry.node
            if isinstance(bot, Table):
                for key in _INHERITED:
                    if key in telegram.entries and key not in bot.entries:
                        bot = with_entry(bot, key, telegram.entries[key].node)
                bots = with_entry(bots, name, bot)
        telegram = with_entry(telegram, "bots", bots)
    return without(telegram, BOT_KEYS)


def _storage_path(rewrite: Rewrite) -> None:
    storage = rewrite.root.get("storage")
    if not isinstance(storage, Table) or "path" not in storage.entries:
        return
    entry = storage.entries["path"]
    if "dsn" in storage.entries:
        message = "is the old name of storage.dsn; give one of the two"
        rewrite.problems.append(Problem(entry.key_place, ("storage", "path"), message))
    else:
        rewrite.warnings.append(f"line {entry.key_place.line}: storage.path is the old name of storage.dsn")
        storage = with_entry(storage, "dsn", entry.node)
    rewrite.root = with_entry(rewrite.root, "storage", without(storage, ("path",)))


def merge(base: Node, over: Node, path: Path = ()) -> Node:
    """``over`` laid on ``base``: maps merge, lists and values replace, and what denies can only grow."""
    if isinstance(base, Table) and isinstance(over, Table):
        entries = dict(base.entries)
        for key, entry in over.entries.items():
            lower = entries.get(key)
            node = merge(lower.node, entry.node, (*path, key)) if lower else entry.node
            entries[key] = Entry(entry.key_place, node)
        return replace(base, entries=entries)
    if path in _ADDED and isinstance(base, Listing) and isinstance(over, Listing):
        return replace(over, items=(*base.items, *over.items))
    return over


def profile_tree(root: Table, name: str | None) -> tuple[Table, list[Problem]]:
    """``agent`` and ``tools`` as they hold under that profile (None: no profile), what they imply filled in."""
    base: Node = replace(root, entries={key: root.entries[key] for key in PROFILE_KEYS if key in root.entries})
    problems: list[Problem] = []
    if name is not None:
        over = root.get("profiles", name)
        if isinstance(over, Table):
            for key, entry in over.entries.items():
                if key not in PROFILE_KEYS:
                    message = f"a profile holds agent and tools only{nearest(key, PROFILE_KEYS)}"
                    problems.append(Problem(entry.key_place, (*over.path, key), message))
            over = replace(over, entries={key: over.entries[key] for key in PROFILE_KEYS if key in over.entries})
            fixed = over.get(*_FIXED)
            if fixed is not None:
                message = "a profile can only add denials; built-in rules are changed under tools.exec.builtin_deny"
                problems.append(Problem(fixed.place, fixed.path, message))
            base = merge(base, over)
        elif over is not None:
            problems.append(Problem(over.place, over.path, "must be a mapping with agent and tools"))
    return _implied(table(base)), problems


def _implied(tree: Table) -> Table:
    """The workspace as working directory and only root, and the model as classifier, unless they are said."""
    agent = tree.get("agent")
    workspace = agent.get("workspace") if isinstance(agent, Table) else None
    model = agent.get("model") if isinstance(agent, Table) else None
    where = workspace if workspace is not None else word("~/mtclaw-workspace", tree)
    tree = _default(tree, ("tools", "exec", "cwd"), where)
    tree = _default(tree, ("tools", "filesystem", "roots"), Listing((where,), where.place, where.path))
    own = tree.get("tools", "exec", "auto", "model")
    if own is None or (isinstance(own, Leaf) and own.value == ""):
        # a missing agent.model is one fault and not two, so that something stands here even then
        model = model if model is not None else word("missing", tree)
        tree = _default(tree, ("tools", "exec", "auto", "model"), model, overwrite=True)
    return tree


def _default(tree: Table, keys: tuple[str, ...], node: Node, *, overwrite: bool = False) -> Table:
    key, *rest = keys
    if not rest:
        return tree if key in tree.entries and not overwrite else with_entry(tree, key, node)
    below = tree.get(key)
    if below is None:
        below = Table({}, tree.place, (*tree.path, key))
    if not isinstance(below, Table):
        return tree
    return with_entry(tree, key, _default(below, tuple(rest), node, overwrite=overwrite))
