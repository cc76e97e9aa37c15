"""Read-only commands over files: listing, showing, comparing, measuring.

Those that go below a directory say so by the role of their operands; none follows links out of it.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Operand, Role
from mtbot.policy.grammar import grammar
from mtbot.policy.readonly_entry import entry, flat
from mtbot.policy.readonly_find import FIND

_DIGITS = "-0123456789"

_HASHES = (
    " / ".join(f"{name}sum" for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "b2"))
    + " / cksum / sum"
)

_LS = grammar(
    """-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I:text -w:num -T:num --all --almost-all --author --color?(always|auto|never)
    --classify --directory --full-time --group-directories-first --human-readable --inode --ignore:text --hide:text --no-group
    --numeric-uid-gid --recursive --reverse --size --si --sort:(none|size|time|version|extension|width|name)
    --time:(atime|access|ctime|status|birth|creation|mtime) --time-style:format --width:num --block-size:size --format:name
    --indicator-style:name --literal --quote-name --show-control-chars --zero --context --help --version""",
    "path*",
    deepens="-R --recursive",
)

_SHOW = flat(
    (
        entry(
            "ls / dir / vdir",
            _LS,
            permits=("ls", "ls -la /srv", "ls --color=auto", "ls -lR src", "dir -l", "vdir a"),
            refuses=(
                "ls --hyperlin",
                "ls --dereference-command-line-symlink-to-dir=x",
                "ls -P",
                "dir --unknown",
                "vdir -P",
            ),
        ),
        entry(
            "cat / tac / nl / rev",
            grammar(
                "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank --help --version",
                "path*",
            ),
            permits=("cat a.txt b.txt", "cat -n /etc/hosts", "cat", "tac a", "nl a", "rev x", "cat -"),
            refuses=("cat -x a", "cat --numb a", "tac --files0-from=x", "nl --output=x", "rev --unknown"),
        ),
        entry(
            "head / tail",
            grammar(
                f"-n:size -c:size -qvz -fF {_DIGITS} -s:num --lines:size --bytes:size --quiet --silent --verbose --zero-terminated"
                " --follow?(name|descriptor) --retry --pid:num --help --version",
                "path*",
            ),
            permits=("head -20 a", "head -n 5 a b", "tail -n +3 log", "tail -f /srv/app.log", "tail -5", "head"),
            refuses=("head --line=3 a", "tail --max-unchanged-stats-of=x a", "head -x a", "tail -e x"),
        ),
        entry(
            "wc",
            grammar("-clmwL --lines --words --bytes --chars --max-line-length --help --version", "path*"),
            permits=("wc -l a.txt", "wc"),
            refuses=("wc --files0-from=list", "wc --line a"),
        ),
        entry(
            "stat",
            grammar(
                "-c:format -fLt --format:format --printf:format --dereference --file-system --terse --help --version",
                "path+",
            ),
            permits=("stat -c %s a", "stat a b"),
            refuses=("stat --form=x a", "stat -x a"),
        ),
        entry(
            "file",
            grammar(
                "-bihkLN --brief --mime --mime-type --mime-encoding --no-dereference --dereference --keep-going --no-pad --help --version",
                "path+",
            ),
            permits=("file -b a", "file --mime-type a"),
            refuses=(
                "file -C -m x",
                "file -z a",
                "file -f list",
                "file -Z a",
                "file --magic-file x a",
                "file -m x a",
                "file -S a",
            ),
        ),
        entry(
            "realpath / readlink",
            grammar(
                "-femqsnvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --strip --zero --help --version",
                "path+",
            ),
            permits=("realpath .", "readlink -f link"),
            refuses=("realpath --relative-to x y", "readlink --unknown x"),
        ),
        entry(
            "basename / dirname",
            grammar("-a -z -s:text --suffix:text --multiple --zero --help --version", "text+"),
            permits=("basename /a/b.c .c", "dirname /a/b"),
            refuses=("basename -x a", "dirname --zer a"),
        ),
        entry(
            _HASHES,
            grammar("-btz -a:num --binary --text --tag --zero --help --version", "path*"),
            permits=(
                "md5sum a",
                "sha256sum a b",
                "sha512sum --tag a",
                "cksum a",
                "b2sum a",
                "sha1sum a",
                "sha224sum a",
                "sha384sum a",
                "sum a",
            ),
            refuses=(
                "md5sum -c list",
                "sha256sum --check list",
                "cksum --chec x",
                "b2sum -c x",
                "sha1sum -c x",
                "sha224sum -c x",
            ),
        ),
        entry(
            "du",
            grammar(
                "-abchHklmsSx0 -d:num -t:size -B:size --max-depth:num --all --apparent-size --bytes --total --human-readable --si"
                " --summarize --separate-dirs --one-file-system --exclude:text --time?name --threshold:size --block-size:size --null --inodes --help --version",
                "names*",
                implicit=Role.NAMES_BELOW,
            ),
            permits=("du -sh src", "du -h --max-depth=1", "du -d 1 -k ."),
            refuses=("du -L .", "du --files0-from=x", "du -X list", "du --max-dept=1"),
        ),
        entry(
            "df",
            grammar(
                "-ahHiklmPT -B:size -t:name -x:name --all --human-readable --si --inodes --local --portability --print-type --total"
                " --type:name --exclude-type:name --output?words --block-size:size --help --version",
                "path*",
            ),
            permits=("df -h", "df -hT /srv", "df --output=pcent,target"),
            refuses=("df --sync-all", "df --hum"),
        ),
        entry(
            "tree",
            grammar(
                "-adfisphDugQrtUvJXCnq -L:num -I:text -P:text --du --dirsfirst --filelimit:num --noreport --charset:name --gitignore"
                " --prune --matchdirs --si --inodes --sort:name --help --version",
                "names*",
                implicit=Role.NAMES_BELOW,
            ),
            permits=("tree", "tree -L 2 src", "tree -a -I node_modules ."),
            refuses=("tree -o out.html", "tree -R -L 1", "tree -l", "tree --fromfile x", "tree --noreportx"),
        ),
        entry(
            "fd / fdfind",
            grammar(
                """-HIsigFapu0q1 -t:name -e:name -E:text -d:num -S:size -j:num -c:(never|auto|always) --hidden --no-ignore --case-sensitive
                --ignore-case --glob --regex --fixed-strings --absolute-path --full-path --print0 --max-depth:num --min-depth:num --exact-depth:num
                --type:name --extension:name --exclude:text --size:size --changed-within:when --changed-before:when --color:(never|auto|always)
                --max-results:num --quiet --unrestricted --no-ignore-vcs --owner:item --prune --strip-cwd-prefix --threads:num --one-file-system -h --help -V --version""",
                "text? names*",
                implicit=Role.NAMES_BELOW,
            ),
            permits=("fd", "fd -e txt", "fd pattern src", "fd --type file x", "fdfind -H x"),
            refuses=(
                "fd -x rm",
                "fd -X rm",
                "fd x --exec cat",
                "fd --exec-batch vim",
                "fd -l x",
                "fd --list-details x",
                "fd -L x",
                "fdfind --search-path /",
            ),
        ),
        entry(
            "diff / cmp / comm",
            grammar(
                "-abBcdeEiNnqrsStuwyZ123p -U:num -C:num -W:num -x:text --color?(never|auto|always) --unified?num --context?num --brief --recursive"
                " --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --new-file --side-by-side --suppress-common-lines"
                " --width:num --report-identical-files --text --strip-trailing-cr --exclude:text --bytes:size --verbose --silent --quiet --help --version",
                # of two directories the files in them are compared, whole ones with -N
                "content content",
            ),
            permits=("diff -u a b", "diff -r a b", "cmp -s a b", "comm -12 a b"),
            refuses=(
                "diff -l a b",
                "diff --paginate a b",
                "diff --from-file=x a",
                "diff --to-file x y",
                "diff --recurs a b",
                "comm --out x y",
            ),
        ),
    )
)

_ECHO = AllowRule(
    id="readonly:echo",
    match=lambda _: Match(),
    program="echo",
    why="prints its words",
    permits=("echo hello", "echo -n -- --force", "echo '>(x)'", "echo"),
)

_DD_WORD = re.compile(
    r"if=(?P<input>[^\n]+)|(?P<count>count=[0-9]{1,9})|(?:bs|ibs|obs|skip)=[0-9]{1,9}[A-Za-z]{0,2}|status=(?:none|noxfer|progress)"
)


def _match_dd(argv: Argv) -> Match | None:
    """dd from a named file to the standard output, a limited number of blocks; `of=` and whatever else is unknown."""
    found = [_DD_WORD.fullmatch(word) for word in argv[1:]]
    inputs = [one["input"] for one in found if one is not None and one["input"] is not None]
    if None in found or len(inputs) != 1 or not any(one is not None and one["count"] for one in found):
        return None
    return Match((Operand(inputs[0]),))


_DD = AllowRule(
    id="readonly:dd",
    match=_match_dd,
    program="dd",
    why="shows a limited part of a file",
    permits=("dd if=/dev/zero bs=1 count=1", "dd if=a bs=1k skip=2 count=4 status=none"),
    refuses=(
        "dd if=a of=b count=1",
        "dd if=a",
        "dd count=1",
        "dd if=a count=1 oflag=direct",
        "dd if=a if=b count=1",
        "dd --x if=a count=1",
        "dd if=a count=1 conv=fsync",
    ),
)

FILES: tuple[AllowRule, ...] = (_ECHO, _DD, *_SHOW, *FIND)
