"""``mtclaw policy``: what would happen to a command, and why. Needs no configuration, database or network."""

import json
import sys

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import text_out


@click.group()
def policy() -> None:
    """What would happen to a command, and why."""


@policy.command()
@click.pass_obj
def check(frame: Frame) -> None:
    """Judge JSON lines {"command": ...} from standard input, a JSON line each."""
    from mtbot.bootstrap.judge import Judge

    judge = Judge(frame.load() if frame.config is not None else None)
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

    judge = Judge(frame.load() if frame.config is not None else None)
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
