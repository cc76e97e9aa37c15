"""Imports the package before any test module imports aiogram, as every way into the program does."""

import mtbot.channels.telegram  # noqa: F401 - the import itself is what is wanted
