"""Read-only archives: lists, tests and contents on the standard output, nothing unpacked.

A tar archive's name may not hold a colon: tar would log in to the host in front of it.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Operand
from mtbot.policy.grammar import Read, any_of, grammar
from mtbot.policy.readonly_entry import entry, flat, no_response_file

_TAR_LETTERS = re.compile(r"-?[tvzjJaf]*t[tvzjJaf]*|-?[tvzjJaf]+")

_TAR_LONG = re.compile(
    r"--(?:list|verbose|gzip|bzip2|xz|zstd|auto-compress|wildcards|no-wildcards|numeric-owner|totals|full-time|quoting-style=[a-z-]+|exclude=[^\n]*|strip-components=[0-9]+|file=(?P<file>[^\n]+))|-(?:z|j|J|v|t|a)"
)


def _match_tar(argv: Argv) -> Match | None:
    """`tar t...` in its three spellings; the archive is the value of f or --file."""
    rest = list(argv[1:])
    if rest in (["--version"], ["--help"]):
        return Match()
    lists = False
    archive: str | None = None
    first = True
    while rest:
        word = rest.pop(0)
        long = _TAR_LONG.fullmatch(word)
        if long is not None:
            lists = lists or word in ("--list", "-t")
            if long["file"] is not None and archive is not None:
                return None
            archive = long["file"] or archive
        elif (word.startswith("-") or first) and _TAR_LETTERS.fullmatch(word) is not None:
            lists = lists or "t" in word
            if "f" in word:
                if (
                    word.count("f") != 1
                    or not (word.endswith("f") or (first and not word.startswith("-")))
                    or not rest
                    or archive is not None
                ):
                    return None
                archive = rest.pop(0)
        elif first or word.startswith("-"):
            return None  # tar reads its first word as letters with or without a dash: in `tar I sh -tf a` it runs sh
        first = False
    if not lists or archive is None or ":" in archive or archive.startswith("-"):
        return None
    return Match((Operand(archive),))


_TO_STDOUT = frozenset({"-c", "--stdout", "--to-stdout"})
_LOOKS = frozenset({"-l", "--list", "-t", "--test"})


def _keeps_the_file(read: Read) -> bool:
    """Of several modes most of these programs take the last: `-td` would replace the file. So one mode only."""
    looks, out = not _LOOKS.isdisjoint(read.options), not _TO_STDOUT.isdisjoint(read.options)
    unpacks = not read.options.isdisjoint({"-d", "--decompress"})
    return out and not looks if unpacks else out or looks


ARCHIVES: tuple[AllowRule, ...] = (
    AllowRule(
        id="readonly:tar",
        match=_match_tar,
        program="tar",
        environment=(("TAR_OPTIONS", ""),),
        why="lists an archive",
        permits=(
            "tar -tf a.tar",
            "tar -tv -f a.tar",
            "tar tvf a.tar.gz",
            "tar -tvzf a.tgz x",
            "tar -t --file=a.tar",
            "tar -ztf a.tar.gz",
        ),
        refuses=(
            "tar -xf a.tar",
            "tar -tf a.tar --to-command=sh",
            "tar -tf a.tar --checkpoint=1 --checkpoint-action=exec=sh",
            "tar -tf host:a.tar",
            "tar -I sh -tf a",
            "tar I sh -tf a.tar",
            "tar xf -tf a.tar",
            "tar --use-compress-program=sh -tf a",
            "tar -tf a --rsh-command=sh",
            "tar xfC a /",
            "tar -cf a b",
            "tar -tf a -F sh",
            "tar -tf a --info-script=sh",
            "tar -t",
            "tar -tfC a /",
            "tar -tf a -T list",
            "tar -tf a -f b",
            "tar -tf a --file=b",
        ),
    ),
    *flat(
        (
            entry(
                "unzip",
                grammar("-lvtqZ1shmz --help", "path text*", also=any_of("-l", "-v", "-t", "-Z")),
                environment=(("UNZIP", ""), ("ZIPINFO", ""), ("UNZIPOPT", "")),
                permits=("unzip -l a.zip", "unzip -t a.zip", "unzip -Z1 a.zip"),
                refuses=(
                    "unzip a.zip",
                    "unzip -d x a.zip",
                    "unzip -o a.zip",
                    "unzip -l a.zip -d x",
                    "unzip -q a.zip",
                    "unzip -lT a.zip",
                    "unzip -p a.zip",
                    "unzip -c a.zip",
                ),
            ),
            entry("unzip", grammar("-hv --help"), permits=("unzip --help", "unzip -v"), refuses=("unzip -x",)),
            entry(
                "zipinfo",
                grammar("-12smlvhtTz", "path text*"),
                environment=(("ZIPINFO", ""), ("ZIPINFOOPT", "")),
                permits=("zipinfo -1 a.zip",),
                refuses=("zipinfo --x a",),
            ),
            entry(
                "gzip / gunzip / bzip2 / bunzip2 / xz / unxz / zstd / unzstd / lzma / unlzma",
                grammar(
                    "-ltcdvqf123456789 --list --test --stdout --to-stdout --decompress --verbose --quiet",
                    "path*",
                    also=_keeps_the_file,
                ),
                environment=(
                    ("GZIP", ""),
                    ("BZIP2", ""),
                    ("BZIP", ""),
                    ("XZ_OPT", ""),
                    ("XZ_DEFAULTS", ""),
                    ("ZSTD_CLEVEL", ""),
                ),
                permits=("gzip -l a.gz", "gunzip -c a.gz", "gzip -dc a.gz", "xz -l a.xz", "bzip2 -t a.bz2"),
                refuses=(
                    "xz -td a.xz",
                    "bzip2 -td a.bz2",
                    "zstd -ld a.zst",
                    "xz --test --decompress a.xz",
                    "unxz -t -d a.xz",
                    "zstd -tdc a.zst",
                    "gzip a",
                    "gunzip a.gz",
                    "gzip -r -c x",
                    "xz -d a.xz",
                    "zstd -o out -c a",
                    "xz --files=x -l",
                    "gzip --lis a",
                    "gzip -S x -l a",
                    "zstd --rm -c a",
                    "bzip2 -z a",
                ),
            ),
            entry(
                "gzip / gunzip / bzip2 / xz / zstd / zip / tree",
                grammar("--help --version -h -V", "", also=lambda read: bool(read.options)),
                permits=("gzip --version", "gunzip --help"),
                refuses=("gzip --vers",),
            ),
            entry(
                "zcat / bzcat / xzcat / zstdcat / lzcat",
                grammar("-fq", "path*"),
                environment=(("GZIP", ""), ("XZ_OPT", ""), ("XZ_DEFAULTS", "")),
                permits=("zcat a.gz", "xzcat a.xz"),
                refuses=("zcat --x a", "zstdcat -o out a", "xzcat --files=x"),
            ),
            entry(
                "7z l / 7z t / 7zz l / 7zz t / 7za l / 7za t / 7zr l / 7zr t / 7z h / 7zz h / 7za h",
                grammar(
                    "-slt -bd -y -r -p -scrcCRC32 -scrcSHA256 -scrcSHA1 -scrcSHA512 -scrcMD5",
                    "path",
                    whole_words=True,
                    also=lambda read: not any(operand.startswith("@") for operand in read.operands),
                ),
                permits=("7z l -slt a.7z", "7z t -p a.7z", "7zz t a.7z", "7za l a.7z"),
                refuses=("7z x a.7z", "7z l a.7z -o/x", "7z l @list", "7z l -i@list a.7z", "7zz e a", "7z l -spf a"),
            ),
            entry(
                "7z i / 7zz i / 7za i / 7z --help / 7zz --help / 7zz -h / 7z b / 7zz b",
                grammar("-mmt:num -mm:name", "", whole_words=True),
                permits=("7zz i", "7z --help", "7za i"),
                refuses=("7z b x", "7zz i x"),
            ),
            entry(
                "ar t / ar tv",
                grammar("", "path", also=no_response_file),
                permits=("ar t a.a",),
                refuses=("ar x a.a", "ar t @a"),
            ),
        )
    ),
)
