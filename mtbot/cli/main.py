"""Entry point: find the verb, load only what it needs, turn every error into one line and an exit status.

Exit status: 0 done, 1 any error, 2 misuse of the command line, 128 + signal when interrupted.
"""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import click

from mtbot.bootstrap import collector
from mtbot.cli.frame import Frame


@dataclass(frozen=True, slots=True)
class Verb:
    """A command: the module and name that hold it, its help line, and whether it starts commands of its own.

    ``spawns``: the spawner is started before anything heavy is imported, so that it stays small and holds no secret.
    """

    name: str
    module: str
    attribute: str
    help: str
    spawns: bool = False


VERBS: tuple[Verb, ...] = (
    Verb("onboard", "mtbot.cli.onboard", "onboard", "Set up a bot: token, model, your id, then a check."),
    Verb("doctor", "mtbot.cli.doctor", "doctor", "Check configuration, database, Telegram, model and this host."),
    Verb("gateway", "mtbot.cli.run", "gateway", "Serve Telegram until stopped.", spawns=True),
    Verb("status", "mtbot.cli.status", "status", "How the gateway stands: polls, questions, what runs."),
    Verb("reload", "mtbot.cli.reload", "reload", "Have the gateway read its configuration anew."),
    Verb("prompt", "mtbot.cli.run", "prompt", "One turn in this terminal.", spawns=True),
    Verb("send", "mtbot.cli.run", "send", "Send a message to a chat."),
    Verb("cron", "mtbot.cli.cron", "cron", "Scheduled jobs: list, run.", spawns=True),
    Verb("approvals", "mtbot.cli.approvals", "approvals", "What was proposed, who decided, how it ended."),
    Verb("grants", "mtbot.cli.grants", "grants", "What runs for a while without a question: list, revoke."),
    Verb("jobs", "mtbot.cli.jobs", "jobs", "Commands in the background: list, tail, kill."),
    Verb("audit", "mtbot.cli.audit", "audit", "The record: verify, acknowledge, export."),
    Verb("db", "mtbot.cli.db", "db", "The database: backup, prune, vacuum."),
    Verb("sessions", "mtbot.cli.sessions", "sessions", "Conversations: list, show, rm."),
    Verb("usage", "mtbot.cli.usage", "usage", "What models cost, by day and person."),
    Verb("trash", "mtbot.cli.trash", "trash", "What the tools took away: list, restore, empty."),
    Verb("pair", "mtbot.cli.pair", "pair", "Let somebody speak to a bot, by a code that this host shows."),
    Verb("senders", "mtbot.cli.senders", "senders", "Who wrote to a bot lately and was ignored, and why."),
    Verb("policy", "mtbot.cli.policy", "policy", "What would happen to a command, and why."),
    Verb("config", "mtbot.cli.config", "config", "The configuration: path, show, validate, reference."),
    Verb("demo", "mtbot.cli.demo", "demo", "The whole bot on this machine, without Telegram or a model.", spawns=True),
    Verb("simulator", "mtbot.cli.simulator", "simulator", "The stand-ins for Telegram and a model."),
    Verb("version", "mtbot.cli.version", "version", "The version."),
)


class LazyGroup(click.Group):
    """A group that imports a command's module only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table."""
        del ctx
        return [verb.name for verb in VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the verb's command; starts the spawner first where the verb needs one."""
        verb = next((verb for verb in VERBS if verb.name == cmd_name), None)
        if verb is None:
            return None
        if verb.spawns and not ctx.resilient_parsing and not {"--help", "-h"} & set(sys.argv):
            frame = ctx.find_object(Frame)
            if frame is not None:
                frame.start_spawner()
        command = getattr(import_module(verb.module), verb.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table itself, without loading anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(verb.name, verb.help) for verb in VERBS])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `mtclaw demo`, then `mtclaw onboard`.",
)
@click.option(
    "--config", "config", metavar="PATH", help="Configuration file (else MTCLAW_CONFIG, ~/.mtclaw/config.yaml)."
)
@click.option("--log-level", metavar="LEVEL", help="debug, info, warn or error; overrides log.level.")
@click.pass_context
def root(ctx: click.Context, config: str | None, log_level: str | None) -> None:
    """mtclaw: a Telegram bot that people can trust with a shell."""
    frame = ctx.ensure_object(Frame)
    frame.config = config
    frame.log_level = log_level


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and exit with its status."""
    collector.rest()
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """The exit status of a command line; every error is one line on standard error."""
    frame = Frame()
    try:
        result = root.main(args=arguments, prog_name="mtclaw", standalone_mode=False, obj=frame)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        # what was typed may hold a secret, and a terminal or a service may keep what is said here
        print(frame.clean(_misuse(error)), file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except click.ClickException as error:
        print(frame.clean(f"mtclaw: {error.format_message()}"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of the program: told in one line, never as a traceback
        return frame.explain(error)
    finally:
        frame.close()


def _misuse(error: click.UsageError) -> str:
    """What is wrong with the command line, as click shows it."""
    context = error.ctx
    if context is None:
        return f"Error: {error.format_message()}"
    return f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\nError: {error.format_message()}"


if __name__ == "__main__":
    main()
