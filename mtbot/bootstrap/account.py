"""The account that commands run as, where that is another one than the gateway's (``tools.exec.user``)."""

import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from mtbot.bootstrap.system import home_directory, user_name
from mtbot.config.settings import Settings
from mtbot.domain.errors import ConfigError
from mtbot.domain.process import Account

_KEY = "tools.exec.user"


def find_account(settings: Settings) -> Account | None:
    """The account as this host knows it, whoever looks; None if none is set. ConfigError if there is no such user."""
    name = settings.base.tools.exec.user
    if not name:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ConfigError((f"{_KEY}: there is no user {name} on this host",), hint=f"useradd {name}") from None
    if entry.pw_uid == 0:
        raise ConfigError((f"{_KEY}: {name} is root, and then nothing is held back from a command",))
    groups = tuple(sorted({entry.pw_gid, *(group.gr_gid for group in grp.getgrall() if name in group.gr_mem)}))
    return Account(name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir or "/", entry.pw_shell or "/bin/sh")


def account_for_commands(settings: Settings) -> Account | None:
    """The account to run commands as. ConfigError names everything that keeps this process from doing so."""
    account = find_account(settings)
    if account is None:
        return None
    if os.geteuid() != 0:
        problem = (
            f"{_KEY}: only a gateway that is started as root can run commands as {account.name}; this is {user_name()}"
        )
        raise ConfigError((problem,), hint="start it as root, or take the key out")
    problems = tuple(unreachable(settings, account))
    if problems:
        raise ConfigError(problems)
    return account


def home_of(settings: Settings) -> str:
    """The home that ``~`` means in a command: that of the account, else the gateway's own."""
    account = find_account(settings)
    return str(home_directory()) if account is None else account.home


def unreachable(settings: Settings, account: Account) -> Iterator[str]:
    """What the account needs and cannot get at: the workspace to write in, the directory that commands start in."""
    for profile in dict.fromkeys(
        (settings.base.agent.workspace, *(p.agent.workspace for p in settings.profiles.values()))
    ):
        if Path(profile).exists() and not may(account, str(profile), write=True):
            mend = f"chown {account.name}: {profile}, and let {account.name} pass through the directories above it"
            yield f"agent.workspace: {account.name} cannot write in {profile}; {mend}"
    for cwd in dict.fromkeys((settings.base.tools.exec.cwd, *(p.tools.exec.cwd for p in settings.profiles.values()))):
        if Path(cwd).exists() and not may(account, str(cwd), write=False):
            yield f"tools.exec.cwd: {account.name} cannot enter {cwd}"


def exposed(settings: Settings, account: Account) -> tuple[str, ...]:
    """Which of mtclaw's own files the account can read or write all the same."""
    found = {str(settings.file), *(str(ref.file) for ref in settings.secret_refs() if ref.file is not None)}
    if not settings.storage.dsn.startswith(("postgres:", "postgresql:")):
        base = settings.storage.dsn
        found |= {f"{base}{ending}" for ending in ("", "-wal", ".key", ".anchor")}
    there = (path for path in sorted(found) if Path(path).exists())
    return tuple(path for path in there if _reads(account, path) or may(account, str(Path(path).parent), write=True))


def may(account: Account, directory: str, *, write: bool) -> bool:
    """Whether the account can enter a directory (and change what is in it), by owner, groups and modes."""
    path = Path(os.path.realpath(directory))
    above = all(_has(account, one, 1) for one in path.parents)
    return above and _has(account, path, 3 if write else 5)


def _reads(account: Account, path: str) -> bool:
    real = Path(os.path.realpath(path))
    return all(_has(account, one, 1) for one in real.parents) and _has(account, real, 4)


def _has(account: Account, path: Path, wanted: int) -> bool:
    """Whether it has all the ``wanted`` rights (read 4, write 2, pass 1) on exactly that path."""
    try:
        found = path.stat()
    except OSError:
        return False
    if found.st_uid == account.uid:
        given = found.st_mode >> 6
    elif found.st_gid in account.groups:
        given = found.st_mode >> 3
    else:
        given = found.st_mode
    return given & wanted == wanted
