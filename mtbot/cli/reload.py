"""``mtclaw reload``."""

import sys

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import text_out
from mtbot.domain.errors import ConfigError


@click.command()
@click.pass_obj
def reload(frame: Frame) -> None:
    """Have the gateway read its configuration anew: all of it, or nothing if anything in it is wrong."""
    from mtbot.bootstrap.reach import ask_gateway

    try:
        loaded = frame.load(quiet=True)
    except ConfigError as error:
        raise ConfigError(error.problems, hint="nothing was changed; a gateway that runs keeps what it has") from error
    answer = ask_gateway(loaded, {"do": "reload"})
    if answer is None:
        text_out("no gateway runs; the configuration can be used, and counts at the next start")
        return
    for warning in _listed(answer["warnings"]):
        print(frame.clean(f"mtclaw: warning: {warning}"), file=sys.stderr)
    changed, waits = _listed(answer["changed"]), _listed(answer["needs_restart"])
    text_out(f"reloaded: {', '.join(changed)}" if changed else "reloaded: nothing changed")
    if waits:
        text_out(f"needs a restart of the gateway: {', '.join(waits)}")


def _listed(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
