"""``mtclaw usage``: what models took, by day and person."""

import asyncio
from datetime import date, timedelta

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import json_out, table
from mtbot.domain.spending import MILLION, DayOfPerson


@click.command()
@click.option(
    "--days", type=click.IntRange(1, 3660), default=7, show_default=True, help="So many days, today included."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON; cost in the currency of budgets.")
@click.pass_obj
def usage(frame: Frame, days: int, as_json: bool) -> None:
    """Tokens and money that models took, by day and person."""
    asyncio.run(_usage(frame, days, as_json=as_json))


async def _usage(frame: Frame, days: int, *, as_json: bool) -> None:
    from mtbot.bootstrap.offline import look

    loaded = frame.load()
    today = date.fromisoformat(loaded.clock.date(loaded.clock.now_ms()))
    office = await look(loaded)
    try:
        lines = await office.stores.spending.days((today - timedelta(days=days - 1)).isoformat())
    finally:
        await office.close()
    names = {f"telegram:{ident}": name for name, ident in loaded.settings.people.items()}
    currency = loaded.settings.budgets.currency
    if as_json:
        json_out([_entry(line, names, currency) for line in lines])
        return
    rows = [
        (
            line.day,
            names.get(line.person, line.person),
            line.answers,
            line.usage.prompt,
            line.usage.completion,
            f"{line.usage.cost / MILLION:.4f}",
        )
        for line in lines
    ]
    table(("DAY", "PERSON", "ANSWERS", "SENT", "RECEIVED", currency), rows)


def _entry(line: DayOfPerson, names: dict[str, str], currency: str) -> dict[str, object]:
    return {
        "day": line.day,
        "person": line.person,
        "name": names.get(line.person),
        "answers": line.answers,
        "prompt_tokens": line.usage.prompt,
        "completion_tokens": line.usage.completion,
        "cost": line.usage.cost / MILLION,
        "currency": currency,
    }
