"""``mtclaw config``: path, show, validate, reference."""

import os

import click

from mtbot.cli.frame import Frame


@click.group()
def config() -> None:
    """The configuration: path, show, validate, reference."""


@config.command()
@click.pass_obj
def path(frame: Frame) -> None:
    """Which file is used, and what named it; works with a broken file too."""
    from mtbot.bootstrap.system import home_directory
    from mtbot.config.load import locate

    located = locate(frame.config, os.environ, home_directory())
    click.echo(f"{located.path} (source: {located.source.value})")


@config.command()
@click.pass_obj
def show(frame: Frame) -> None:
    """What is in effect, with defaults filled in and without secrets."""
    from mtbot.config.show import show as shown

    loaded = frame.load()
    click.echo(shown(loaded.settings, os.environ, loaded.redactor.mask), nl=False)


@config.command()
@click.pass_obj
def validate(frame: Frame) -> None:
    """Check the file and name every fault at once."""
    from mtbot.config.show import valid

    loaded = frame.load()
    click.echo(frame.clean(valid(loaded.settings)))
    for missing in loaded.missing:
        click.echo(frame.clean(f"note: {missing}"))


@config.command()
def reference() -> None:
    """The reference of all keys, as in docs/configuration.md."""
    from mtbot.config.reference import page

    click.echo(page(), nl=False)
