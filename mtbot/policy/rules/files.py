"""Deny rules about losing files: rm, find -delete, and modes and owners of system directories."""

from __future__ import annotations

import re
from itertools import pairwise

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.rule import Rule
from mtbot.policy.rules.arguments import asks_for_help, has_long, is_root, is_system, letters, operands
from mtbot.policy.unwrap_tables import FD_EXEC, FIND_EXEC
from mtbot.policy.words import words

_REMOVERS = frozenset({"rm", "unlink", "shred"})
_TRASH = "the trash tool: it moves files to a trash from which they can be brought back"
_OPENS = re.compile(r"[0-7]*[2367]|[ugoa]*[oa][ugoa]*(?:[-+=][rwxXst]*)*[+=](?:[rwxXst]*w[rwxXst]*|u)").fullmatch
"""A mode, or a clause of one, that lets everyone write."""
_FIND_VALUES = words(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -newer -lname -ilname -printf -fprintf"
)


def _recursive(command: SimpleCommand) -> bool:
    arguments = command.arguments
    return bool(letters(arguments) & {"r", "R"}) or has_long(arguments, "--recursive")


def _removes_tree(command: SimpleCommand) -> bool:
    if asks_for_help(command.arguments):
        return False
    return _recursive(command) or "f" in letters(command.arguments) or has_long(command.arguments, "--force")


def _deletes_found(command: SimpleCommand) -> bool:
    if command.program in ("fd", "fdfind"):
        return any(
            before in FD_EXEC and word.rsplit("/", 1)[-1] == "rm" for before, word in pairwise(command.arguments)
        )
    if command.program in _REMOVERS:
        return any(step.startswith(("find -", "fd -")) for step in command.via)
    before, running = "", False
    for word in command.arguments:
        if word == "-delete" and before not in _FIND_VALUES and not running:
            return True
        if before in FIND_EXEC:
            running = True
            if word.rsplit("/", 1)[-1] in _REMOVERS:
                return True
        if word in (";", "+"):
            running = False
        before = word
    return False


def _wipes_root(command: SimpleCommand) -> bool:
    if command.program == "rm":
        targets = operands(command.arguments)
        return _recursive(command) and any(is_root(target) for target in targets)
    starts = []
    for word in command.arguments:
        if word.startswith("-") and word not in ("-H", "-L", "-P", "-D", "-O3"):
            break
        starts.append(word)
    narrowed = any(word in _FIND_VALUES or word in ("-maxdepth", "-mtime", "-size") for word in command.arguments)
    return not narrowed and any(is_root(start) for start in starts) and _deletes_found(command)


def _opens_system(command: SimpleCommand) -> bool:
    words = operands(command.arguments)
    mode, targets = (words[0], words[1:]) if words else ("", [])
    recursive = "R" in letters(command.arguments) or has_long(command.arguments, "--recursive", 5)
    everyone = mode == "+rwx" or any(map(_OPENS, mode.split(",")))
    return (recursive or everyone) and any(is_system(target) for target in (targets or words))


def _owns_system(command: SimpleCommand) -> bool:
    recursive = "R" in letters(command.arguments) or has_long(command.arguments, "--recursive", 5)
    return recursive and any(is_system(target) for target in operands(command.arguments))


FILES: tuple[Rule, ...] = (
    Rule(
        id="files.wipe-root",
        reason="deletes a whole file system, a system directory or a home",
        better=_TRASH,
        hardline=True,
        programs=frozenset({"rm", "find", "gfind"}),
        matches=_wipes_root,
        refuses=(
            "rm -rf /",
            "rm -rf /*",
            "rm -rf ~",
            "rm -r -f /",
            "rm --recursive --force /home",
            "rm -Rf /etc",
            "rm -rf -- /",
            "rm -rf ~/*",
            "rm -rf ~/.*",
            "rm -rf $HOME",
            "rm -rf ${HOME:?}/",
            "rm -rf /home/deploy",
            "rm -rf /tmp/../etc",
            "rm -r --no-preserve-root //",
            "rm /usr -fr",
            "find / -delete",
            "find /etc -type f -exec rm {} +",
        ),
        permits=("rm /etc/motd.old", "find / -name core", "find /etc -type f -name '*.bak' -print", "ls -R /"),
    ),
    Rule(
        id="files.rm-recursive",
        reason="removes files without asking, or whole directories",
        better=_TRASH,
        programs=frozenset({"rm", "srm"}),
        matches=_removes_tree,
        refuses=(
            "rm -rf build",
            "rm -r build",
            "rm -R build",
            "rm -f notes.txt",
            "rm -fr ./x",
            "rm -vrf x",
            "rm build -rf",
            "rm --recursive x",
            "rm --recur x",
            "rm --force x",
            "/bin/rm -rf x",
            "rm -rf",
            "rm -r 'my dir'",
        ),
        permits=(
            "rm notes.txt",
            "rm -i notes.txt",
            "rm -v -- -rf",
            "rm --help",
            "docker rm -f web",
            "npm rm -f left-pad",
            "git rm -r --cached build",
            "echo 'rm -rf /'",
            "grep -rn 'rm -rf' .",
            "git commit -m 'note: rm -rf / is denied'",
            "command -v rm",
            "ls # rm -rf x",
        ),
    ),
    Rule(
        id="files.find-delete",
        reason="deletes everything that a search finds",
        better="find without -delete to see the list first, then the trash tool for what should go",
        programs=_REMOVERS | {"find", "gfind", "fd", "fdfind"},
        matches=_deletes_found,
        refuses=(
            "find . -name '*.pyc' -delete",
            "find .git -delete",
            "find . '-del''ete'",
            "find . -type f -exec rm {} \\;",
            "find . -execdir /bin/rm {} +",
            "fd -e tmp -x rm",
            "find . -exec env rm {} +",
            "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
        ),
        permits=(
            "find . -name '*.pyc'",
            "find . -name -delete",
            "find . -exec grep -l rm {} +",
            "find . -exec echo -delete \\; -print",
            "fd -e tmp",
            "rm notes.txt",
            "echo find . -delete",
        ),
    ),
    Rule(
        id="files.chmod-system",
        reason="changes the mode of system directories for everybody or recursively",
        better="chmod on the one file that needs it",
        programs=frozenset({"chmod"}),
        matches=_opens_system,
        refuses=(
            "chmod 777 /",
            "chmod -R 755 /",
            "chmod 777 -R /",
            "chmod -R 000 /usr",
            "chmod 0777 /etc/passwd",
            "chmod a+rwx /etc",
            "chmod --recursive g+w /var",
            "chmod -R 700 ~",
        ),
        permits=(
            "chmod 777 ./build",
            "chmod -R 755 public",
            "chmod 644 /etc/motd",
            "chmod +x /usr/local/bin/backup",
            "chmod -R u+rw /srv/app/cache",
        ),
    ),
    Rule(
        id="files.chown-system",
        reason="changes the owner of system directories recursively",
        better="chown on the one directory that needs it",
        programs=frozenset({"chown", "chgrp"}),
        matches=_owns_system,
        refuses=(
            "chown -R deploy /",
            "chown deploy:deploy -R /etc",
            "chgrp --recursive staff /usr/lib",
            "chown -R deploy ~",
        ),
        permits=("chown deploy file", "chown -R deploy:deploy /srv/app", "chown root /etc/motd", "chgrp -R www public"),
    ),
)
