"""Which commands a person may allow for some minutes, and whether such a grant covers a call. Pure.

A grant is for the exact words of one simple command, at one place, for one person, with everything looked up that
decides what it does. It is never for what could do something else the next time: shells, interpreters, wrappers, what
runs files of its directory, what sends data out, what acts outside the workspace. Nor does it touch what asks in every
mode: softened rules, root, sensitive paths, turns that read text from outside, places where nobody is.
"""

import hashlib
import json

from mtbot.domain.call import Below, Call, Decision, Facts, Stage, Verdict
from mtbot.domain.grant import MINUTE_MS, Grant
from mtbot.domain.ids import Digest
from mtbot.domain.record import Offer
from mtbot.policy import allow, grant_words, never, sensitive
from mtbot.policy.classify import NETWORK, WRITES
from mtbot.policy.effects import Prepared
from mtbot.policy.grant_words import READERS
from mtbot.policy.lexer import LexedCommand, Literal
from mtbot.policy.people import People, Say
from mtbot.policy.ruleset import RootAccess
from mtbot.policy.words import words

FILE_WRITERS = words("rm rmdir mv cp ln dd tee truncate touch mkdir chmod")
"""Of the programs that change something, those that act on nothing but the paths they are given."""

SENDERS = words("""aria2c axel lftp tftp lynx links elinks w3m curlie httpie openssl mosquitto_pub mosquitto_sub kcat swaks
smbclient s3cmd s5cmd mc wormhole croc ntfy apprise logger wall write lp lpr ipfs drill dog vault op bw pass gpg heroku flyctl
doctl vercel netlify wrangler firebase ansible-console irssi weechat signal-cli telegram-cli tailscale cloudflared ngrok yt-dlp youtube-dl gallery-dl
chromium chromium-browser google-chrome firefox wkhtmltopdf websocat wscat grpcurl ab hey siege vegeta wrk iperf iperf3 ttyd
gotty syncthing transmission-cli getmail fetchmail offlineimap mbsync exim claude codex gemini llm ollama""")
"""More programs that send data elsewhere, or hand out secrets; beside those that the classifier cannot let run."""

UNPACKERS = words("""cpio pax ar bsdtar unrar unar dpkg dpkg-deb rpm alien zip split csplit install parallel gzip gunzip bzip2 xz
zstd lz4 pigz""")
"""Programs whose input says what they write, or which start what an option names."""

HOST = words("""hostnamectl timedatectl localectl loginctl nmcli ufw firewall-cmd iptables-restore ip6tables nft wg wg-quick groupadd
groupmod groupdel userdel adduser deluser addgroup delgroup gpasswd chpasswd chsh chfn vipw visudo insmod rmmod depmod mkswap
parted fdisk sfdisk sgdisk cfdisk partprobe losetup lvcreate lvremove lvextend lvreduce vgcreate vgremove pvcreate pvremove
zpool zfs btrfs mdadm cryptsetup dmsetup blkdiscard hdparm nvme smartctl udevadm setcap setenforce semanage restorecon grub-install
update-grub update-initramfs efibootmgr update-alternatives update-rc.d chkconfig rc-service rc-update initctl telinit
logrotate virsh lxc lxd incus machinectl supervisorctl monit nginx httpd apachectl lighttpd haproxy caddy traefik
mosquitto telegraf vector fluentd logstash date hwclock ntpdate chronyc fsck e2fsck xfs_repair tune2fs resize2fs tc ethtool
arp ipcrm login invoke-rc.d sv dbus-send busctl gdbus qdbus gsettings dconf xdg-open gio kde-open defaults launchctl
certbot bpftrace stap dtrace qemu-system-x86_64 qemu-img""")
"""Programs that change the host itself, outside the workspace."""

_HEX = 64
"""Characters of a SHA-256; anything else in its place says that there is none."""

SERVICE_VERBS = frozenset({"start", "restart", "reload", "try-restart", "reload-or-restart"})
"""What may be granted of systemctl, for units that are named, without any option."""


def offer(prepared: Prepared, facts: Facts, decision: Decision) -> Offer | None:
    """The grant that the question about this call may be answered with; None if it can only be approved once."""
    minutes = prepared.rules.grant_minutes
    if minutes <= 0 or decision.verdict is not Verdict.ASK or decision.stage not in (Stage.MODE, Stage.CLASSIFIER):
        return None
    if decision.elevates or decision.owner_only or obstacle(prepared, facts) is not None:
        return None
    return Offer(binding(prepared, facts), minutes * MINUTE_MS)


def covering(prepared: Prepared, facts: Facts) -> Grant | None:
    """The grant among the facts that is for exactly this call as it would run now."""
    if not facts.grants or obstacle(prepared, facts) is not None:
        return None
    wanted = binding(prepared, facts)
    return next((grant for grant in facts.grants if grant.binding == wanted), None)


def holds(grant: Grant, people: People, now_ms: int, minutes: int) -> bool:
    """Whether a grant still holds under the configuration of this moment.

    Who gave it must still be one who may approve, who asked must still be listed, and no grant lasts longer than
    ``minutes`` allow by now (0: none does).
    """
    if not grant.live(now_ms) or now_ms >= grant.given_ms + minutes * MINUTE_MS:
        return False
    if not people.still_welcome(grant.requester, grant.address):
        return False
    say = people.may_decide(grant.giver, grant.address, grant.requester, elevates=False)
    return say in (Say.YES, Say.CANNOT_TELL)


def binding(prepared: Prepared, facts: Facts) -> Digest:
    """The identity of what may run: SHA-256 (hex) over the words, the place, the person and all that was looked up.

    Only for a call without an ``obstacle``. The words are bound as a list: ``a 'b c'`` is not ``a b c``.
    """
    command = grant_words.single(prepared.literal)
    assert command is not None, "only one simple command is ever bound"
    call: Call = prepared.call
    address = call.address
    bound = {
        "v": 1,
        "surface": address.surface,
        "bot": address.bot,
        "chat": address.chat,
        "thread": address.thread,
        "session": address.session,
        "requester": call.requester.key,
        "argv": command.argv,
        "redirects": command.redirects,
        "more": {name: value for name, value in call.arguments.items() if name != "command"},
        "cwd": call.cwd,
        "directory": facts.directory,
        "shell": call.shell,
        "env": sorted(facts.env_names),
        "account": facts.account,
        "profile": facts.profile,
        "programs": sorted(facts.programs.items()),
        "operands": sorted(facts.operand_digests.items()),
        "resolved": sorted(facts.resolved.items()),
    }
    text = json.dumps(bound, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return Digest(hashlib.sha256(text.encode()).hexdigest())


def obstacle(prepared: Prepared, facts: Facts) -> str | None:
    """Why this call can be approved only once, in words; None if it may be granted."""
    literal, readings = prepared.literal, prepared.readings
    command = grant_words.single(literal)
    if command is None or readings is None or not prepared.wants.grant:
        return "only one plain command of a program that runs nothing else can be granted"
    if not facts.attended:
        return "nobody is there"
    if facts.tainted:
        return "text from outside is in this turn"
    if readings.doubts or readings.elevates or _seen(prepared) != [command.argv]:
        return "it is not certain that it is one command"
    return _program_obstacle(command.argv, facts) or _words_obstacle(prepared, facts, command)


def _seen(prepared: Prepared) -> list[tuple[str, ...]]:
    found = prepared.readings.commands if prepared.readings else ()
    return [tuple(word.text for word in one.argv) for one in found]


def _program_obstacle(argv: tuple[str, ...], facts: Facts) -> str | None:
    name = never.base_name(argv[0])
    if facts.unbound:
        return f"the content of what {facts.unbound[0]} runs cannot be fixed"
    if name in NETWORK or name in SENDERS:
        return f"{name} can send data out"
    if name == "systemctl":
        plain = len(argv) > 2 and argv[1] in SERVICE_VERBS and not any(word.startswith("-") for word in argv[2:])
        return None if plain else "of systemctl only starting and restarting named units can be granted"
    if name == "cp" and any(word.startswith("-") for word in argv[1:]):
        return "of cp only plain copies can be granted, because a link in a tree leads anywhere"
    if name in HOST or name in UNPACKERS or name in WRITES - FILE_WRITERS:
        return f"{name} can change things outside the workspace"
    if "/" not in argv[0] and not facts.programs.get(argv[0], "").startswith("/"):
        return f"{argv[0]} is no program that was found"
    return None


def _words_obstacle(prepared: Prepared, facts: Facts, command: LexedCommand) -> str | None:
    program, rules = command.argv[0], prepared.rules
    found = {word: facts.resolved.get(word) for word in grant_words.paths_in(command.argv) or ()}
    for word, path in found.items():
        if path is None:
            return f"nobody looked where {word} leads"
        if word == program:
            trouble = _file_obstacle(prepared, facts, path)
            if trouble is not None:
                return trouble
        elif sensitive.is_sensitive(path, rules.places) or sensitive.is_repository_pointer(path):
            return f"{path} is sensitive"
        elif sensitive.is_above_sensitive(path, rules.places):
            return f"something sensitive lies below {path}"
    reads = _reads(prepared, facts)
    if reads is not None:
        return reads or None
    for word, path in found.items():
        if path is not None and word != program and path != "/dev/null" and not _writable(prepared, path):
            return f"{path} is outside the workspace, and whether it would be written cannot be told"
    return None


def _file_obstacle(prepared: Prepared, facts: Facts, path: str) -> str | None:
    """Why a program that is named by its path cannot be granted."""
    if len(facts.operand_digests.get(path, "")) != _HEX:
        return f"the content of {path} cannot be fixed"
    if _writable(prepared, path):
        return f"{path} lies where files can be written without a question"
    return grant_words.why_never(path) or _program_obstacle((path,), facts)


def _reads(prepared: Prepared, facts: Facts) -> str | None:
    """Empty for a command that is known to look only and may look there, a reason if it may not, None if unknown."""
    literal = prepared.literal
    assert isinstance(literal, Literal), "only one plain command comes this far"
    paths = {word: allow.PathFact(path, facts.below.get(word, Below.UNKNOWN)) for word, path in facts.resolved.items()}
    context = allow.AllowContext(facts.directory, prepared.rules.places, paths, facts.repository_keys)
    verdict = allow.judge(literal, prepared.second_reading, READERS, context)
    if isinstance(verdict, allow.NotAllowed):
        return None if verdict.kind is allow.WhyNot.NO_RULE else verdict.reason
    if verdict.needs.network or verdict.environment:
        return "it asks other machines, or only looks in an environment of its own"
    return ""


def _writable(prepared: Prepared, path: str) -> bool:
    root = prepared.rules.root_of(path)
    return root is not None and root.access is RootAccess.READ_WRITE
