"""``mtclaw version``."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import click


@click.command()
def version() -> None:
    """Print the version in one line."""
    try:
        number = installed("mtclaw")
    except PackageNotFoundError:
        number = "(not installed)"
    click.echo(f"mtclaw {number}")
