"""The program of the spawner: ``python -I -S -E child.py FD`` serves the gateway at the other end of socket FD.

It runs before anything heavy is imported, in an interpreter that sees no site-packages, no environment and no module of
mtbot, so that the process that forks holds no secret and is small enough to be forked in a fraction of a millisecond.
"""

import os
import socket
import sys
from importlib import import_module


def main() -> None:
    """Take over the inherited socket and serve until it closes."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - positional only
    # The folder goes to the end of the path, so that nothing in it can stand in for a standard module.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is not loaded here
    service = import_module("spawner.service")
    service.Service(socket.socket(fileno=descriptor)).run()


if __name__ == "__main__":
    main()
