"""A redactor for what must be said before, or because, the configuration cannot be read."""

from collections.abc import Mapping

from mtbot.redaction.environment import secret_env_names
from mtbot.redaction.mask import Redactor


def early_redactor(environ: Mapping[str, str]) -> Redactor:
    """It knows the formats and the secrets of ``environ``; its fingerprints mean nothing to any other."""
    return Redactor(secret_env_names(environ), b"unread")
