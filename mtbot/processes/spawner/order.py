"""What a supervisor is told to execute, checked again on its own side of the socket."""

import json


class BadOrder(Exception):
    """The request frame does not say what a supervisor needs; nothing is started."""


class Order:
    """One command: what to run, where, with which environment, limits and containment parts, and for how long.

    ``timeout`` is in seconds, None for no limit; ``keep`` is how many bytes of output are kept, ``spool``
    how many of a longer one go into the last descriptor that came along (0: there is none); ``limits`` maps a name of
    the ``resource`` module to one value in its own unit; ``parts`` are applied in order between fork and exec. ``user`` is
    uid, gid and groups to become before that, or None; ``box`` what bubblewrap builds first, or None.
    """

    __slots__ = ("argv", "box", "cwd", "env", "keep", "limits", "mark", "parts", "spool", "timeout", "user")

    def __init__(self, text: bytes) -> None:
        try:
            fields = json.loads(text)
            self.argv = [str(word) for word in fields["argv"]]
            self.env = {str(name): str(value) for name, value in fields["env"].items()}
            self.cwd = str(fields["cwd"])
            self.timeout = None if fields["timeout"] is None else float(fields["timeout"])
            self.keep = int(fields["keep"])
            self.spool = int(fields["spool"])
            self.limits = {str(name): int(value) for name, value in fields["limits"].items()}
            self.parts = [(str(name), dict(settings)) for name, settings in fields["parts"]]
            self.mark = str(fields["mark"])
            self.user = _user(fields["user"])
            self.box = None if fields["box"] is None else {str(name): value for name, value in fields["box"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise BadOrder(f"the request cannot be read: {wrong}") from wrong
        if not self.argv or self.keep < 1 or (self.timeout is not None and not self.timeout > 0):
            raise BadOrder("the request names no program, no output limit or no positive time-out")


def _user(value: object) -> tuple[int, int, list[int]] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError("a user is a uid, a gid and groups")
    uid, gid, groups = int(value[0]), int(value[1]), [int(group) for group in value[2]]
    if uid <= 0:
        raise ValueError("a command cannot become root")
    return uid, gid, groups
