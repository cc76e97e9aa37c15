"""``mtclaw policy``: what would happen to a command, and why. Needs no configuration, database or network."""

import asyncio
import json
import sys
from datetime import datetime, tzinfo

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import moment, table, text_out


@click.group()
def policy() -> None:
    """What would happen to a command, and why."""


@policy.command()
@click.pass_obj
def check(frame: Frame) -> None:
    """Judge JSON lines {"command": ...} from standard input, a JSON line each."""
    from mtbot.bootstrap.judge import Judge

    with Judge(frame.load() if frame.config is not None else None) as judge:
        for number, raw in enumerate(sys.stdin.buffer, 1):
            if raw.strip():
                command = _command(raw, number)
                sys.stdout.write(json.dumps(judge.verdict(command), ensure_ascii=True) + "\n")
                sys.stdout.flush()


def _command(raw: bytes, number: int) -> str:
    try:
        value = json.loads(raw.decode("utf-8", "surrogateescape"))
        command = value["command"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise click.ClickException(f'line {number}: is not a JSON object with a "command"') from None
    if not isinstance(command, str):
        raise click.ClickException(f'line {number}: "command" is not a text')
    return command


@policy.command()
@click.argument("command")
@click.pass_obj
def explain(frame: Frame, command: str) -> None:
    """Tell what is in COMMAND and what every stage says of it."""
    from mtbot.bootstrap.judge import Judge

    with Judge(frame.load() if frame.config is not None else None) as judge:
        text_out("\n".join(judge.explain(command)))


@policy.command()
@click.argument("only", required=False, metavar="[ID]")
def rules(only: str | None) -> None:
    """The built-in deny rules with what each refuses and permits."""
    from mtbot.policy.rules import RULES

    found = [rule for rule in RULES if only is None or rule.id == only]
    if not found:
        raise click.ClickException(f"there is no built-in rule {only}; `mtclaw policy rules` lists them")
    for rule in found:
        kind = "hardline, can only refuse" if rule.hardline else "can be softened to a question"
        text_out(f"{rule.id}: {rule.reason} ({kind})")
        if rule.better:
            text_out(f"  instead: {rule.better}")
        for label, examples in (("refuses", rule.refuses), ("permits", rule.permits)):
            for example in examples:
                text_out(f"  {label}: {example!r}")


@policy.command()
@click.pass_obj
def lint(frame: Frame) -> int:
    """Look over your own rules: too wide, never used, one option from running anything; exit 1 if there is a remark."""
    from mtbot.bootstrap.review import owner_rules, past
    from mtbot.policy.review import lint as remarks_on

    loaded = frame.load()
    commands = [one.command for one in asyncio.run(past(loaded))]
    items, compiled = owner_rules(loaded)
    remarks = remarks_on(items, compiled, loaded.settings.base.tools.exec.deny, commands)
    for remark in remarks:
        text_out(f"{remark.key}: {remark.text}")
    if not remarks:
        text_out("nothing to remark")
    return 1 if remarks else 0


@policy.command("test")
@click.pass_obj
def test_(frame: Frame) -> int:
    """Run the examples that stand beside your own rules; exit 1 if one is wrong."""
    from mtbot.bootstrap.review import owner_rules
    from mtbot.policy.review import example_results

    results = example_results(*owner_rules(frame.load()))
    wrong = 0
    for key, example, wanted, found in results:
        wrong += wanted is not found
        word = "matches" if found else "does not match"
        text_out(f"{'ok  ' if wanted is found else 'FAIL'} {key}: {word} {example}")
    text_out(f"{len(results)} examples, {wrong} wrong")
    return 1 if wrong else 0


@policy.command()
@click.argument("command")
@click.option("--why", default="", help="Noted beside the rule.")
@click.pass_obj
def allow(frame: Frame, command: str, why: str) -> None:
    """Add rules for exactly COMMAND to the configuration; comments stay. A running gateway reads it when it starts."""
    from mtbot.bootstrap.review import allow_command

    loaded = frame.load()
    added = allow_command(loaded, command, why)
    for argv in added:
        text_out(f"allowed from now on: {json.dumps(argv)}")
    text_out(f"written to {loaded.settings.file}" if added else "every command in it is allowed already")


@policy.command()
@click.argument("rule_id", metavar="ID")
@click.pass_obj
def soften(frame: Frame, rule_id: str) -> None:
    """Make a built-in rule ask instead of refusing; hardline rules stay."""
    from mtbot.bootstrap.review import soften as softened

    loaded = frame.load()
    softened(loaded, rule_id)
    text_out(f"{rule_id} asks from now on; written to {loaded.settings.file}")


@policy.command()
@click.option("--since", default="", metavar="DATE", help="From this day on (YYYY-MM-DD).")
@click.pass_obj
def replay(frame: Frame, since: str) -> None:
    """Which past commands the present configuration would decide differently."""
    from mtbot.bootstrap.review import differences, past

    loaded = frame.load()
    zone = loaded.settings.zone
    start = _day(since, zone) if since else 0
    commands = asyncio.run(past(loaded, start))
    found = differences(loaded, commands)
    rows = [(moment(one.at_ms, zone), then, now, one.command) for one, then, now in found]
    table(("TIME", "THEN", "NOW", "COMMAND"), rows)
    text_out(f"{len(commands)} commands, {len(found)} would be decided differently")


def _day(text: str, zone: tzinfo) -> int:
    try:
        return round(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=zone).timestamp() * 1000)
    except ValueError:
        raise click.UsageError("--since wants a day like 2026-11-30") from None


@policy.command()
@click.pass_obj
def suggest(frame: Frame) -> None:
    """Rules for what people approved again and again; nothing is changed."""
    from mtbot.bootstrap.review import past
    from mtbot.config.compile import compile_rules
    from mtbot.domain.record import Word
    from mtbot.policy.review import suggestions

    loaded = frame.load()
    approved = [one.command for one in asyncio.run(past(loaded)) if one.word is Word.APPROVED]
    found = suggestions(approved, compile_rules(loaded.settings.base, loaded.settings).allow)
    for argv, count in found:
        text_out(f"approved {count} times: - {{argv: {json.dumps(argv)}}}")
    if not found:
        text_out("nothing was approved often enough")


@policy.command()
@click.option(
    "--user", metavar="NAME", help="The account that runs the commands (default: the one that mtclaw runs as)."
)
@click.pass_obj
def sudoers(frame: Frame, user: str | None) -> int:
    """Print the sudoers(5) lines for what elevation.chat lists.

    A pattern that cannot be written there without permitting more becomes a comment that says why, and the exit status is 1.
    """
    from mtbot.bootstrap.sudoers import find_program
    from mtbot.bootstrap.system import user_name
    from mtbot.policy.sudoers import account_fault, lines, refused

    settings = frame.load().settings
    name = user or settings.base.tools.exec.user or user_name()
    if name == "root":
        raise click.UsageError("root needs no sudo; name the account that the gateway runs as with --user")
    if account_fault(name):
        raise click.UsageError(f"--user: {account_fault(name)}")
    search = settings.base.tools.exec.path
    found = lines(settings.elevation.chat, name, lambda program: find_program(program, search))
    text_out("\n".join(found))
    return 1 if any(map(refused, found)) else 0
