"""Why a part of containment could not be applied."""


class PartFailed(Exception):
    """A part could not be applied; the command must not start."""
