"""The masker for what is said before any configuration could be read."""

from collections.abc import Mapping

from mtbot.redaction.environment import secret_env_names
from mtbot.redaction.mask import Redactor


def unread_masker(environ: Mapping[str, str]) -> Redactor:
    """A masker that knows the secrets of ``environ`` and no others; its marks compare with no other process's."""
    return Redactor(secret_env_names(environ), b"unread")
