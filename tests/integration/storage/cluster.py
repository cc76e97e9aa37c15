"""A PostgreSQL of our own, that lives as long as the test run and can be reached only through a socket in its files."""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql


@dataclass(frozen=True)
class Cluster:
    """A running server; ``directory`` holds its data and its socket."""

    directory: Path
    user: str
    keeper: "subprocess.Popen[bytes]"

    def dsn(self, database: str) -> str:
        """How to reach one of its databases."""
        return f"host={self.directory} user={self.user} dbname={database}"

    def create(self, database: str, template: str = "template1") -> str:
        """Make a database, empty or like another one; its connection string."""
        names = (sql.Identifier(database), sql.Identifier(template))
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
        return self.dsn(database)


def programs() -> Path | None:
    """Where the server's programs are; Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    return versions[-1].parent if versions else None


def lacking() -> str:
    """Why no server can be started here; empty if one can."""
    if programs() is None:
        return "PostgreSQL"
    if os.geteuid() == 0 and not any(entry.pw_name == "postgres" for entry in pwd.getpwall()):
        return "the user postgres, since PostgreSQL does not run as root"
    return ""


def start() -> Cluster:
    """Start a server in a fresh directory; it ends with ``stop``, or with the test run, however that ends."""
    where = programs()
    assert where is not None
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    directory = Path(tempfile.mkdtemp(prefix="mtclaw-pg-", dir="/tmp"))
    if os.geteuid() == 0:
        shutil.chown(directory, user)
    keeper = subprocess.Popen(
        ["/bin/sh", "-c", _KEEPER, "sh", str(where), str(directory), user],
        cwd=directory,
        user=user if os.geteuid() == 0 else None,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == b"ready\n"
    return Cluster(directory, user, keeper)


def stop(cluster: Cluster) -> None:
    """Stop it and remove its files."""
    cluster.keeper.communicate(timeout=60)


# the pipe on its standard input closes when the test run is over, also by SIGKILL
_KEEPER = """
set -e
"$1/initdb" --pgdata "$2/data" --auth trust --username "$3" --no-sync >&2
"$1/pg_ctl" --pgdata "$2/data" --log "$2/log" --wait start >&2 --options \
    "-c listen_addresses= -c unix_socket_directories=$2 -c fsync=off -c max_connections=40"
echo ready
cat >/dev/null
"$1/pg_ctl" --pgdata "$2/data" --mode immediate --wait stop >&2
# nobody waits for the removal of a hundred databases
rm -rf "$2" >/dev/null &
"""
