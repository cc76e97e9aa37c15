"""Which commands bring text from outside: what other people, or whoever reaches a service, can have written.

A model that reads such text may be told by it what to do next, so the turn counts as tainted from then on, as after
web_fetch. Outside is what comes over the network: pages and downloads, forges, clusters and clouds, registries, the
other end of a connection, answers of name servers. What lies on this host, its logs among it, is not: a tool that
puts text there is the one that brought it. It is read off the commands that any reading finds, at any depth; an
interpreter that fetches something by itself is not seen.
"""

from collections.abc import Iterable

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.words import words

FETCHERS = words("""curl wget wget2 aria2c axel http https xh lynx w3m links elinks fetch ftp lftp sftp tftp
ssh sshpass mosh rsh telnet nc ncat netcat socat websocat wscat grpcurl
whois dig drill host nslookup delv
gh glab hub tea bkt jira
kubectl oc helm stern kubetail argocd flux istioctl
aws gcloud gsutil bq az auth0 doctl hcloud linode-cli oci ibmcloud flyctl fly heroku vercel netlify wrangler
rclone s3cmd mc""")
"""Programs whose business is with another host: whatever they print counts."""

FETCHES: dict[str, frozenset[str]] = {
    "git": words("clone fetch pull ls-remote"),
    "npm": words("view info show v search s find audit outdated profile access team dist-tag owner ping fund"),
    "pnpm": words("view info show search audit outdated"),
    "yarn": words("info search audit outdated npm"),
    "pip": words("search index download"),
    "pip3": words("search index download"),
    "gem": words("search list info specification outdated"),
    "cargo": words("search info owner"),
    "brew": words("search info desc home"),
    "docker": words("search manifest"),
    "podman": words("search manifest"),
    "dnf": words("search info list repoquery"),
    "yum": words("search info list"),
    "snap": words("find info"),
    "flatpak": words("search remote-info"),
    "ansible-galaxy": words("search info"),
    "openssl": words("s_client"),
}
"""Words that make a program fetch what somebody else wrote there."""

_ABOUT_ITSELF = (("--version",), ("--help",), ("-V",), ("version",), ("help",))


def brings_text(commands: Iterable[SimpleCommand]) -> bool:
    """Whether the output of any of the commands is, at least in part, text from outside."""
    return any(map(_fetches, commands))


def _fetches(command: SimpleCommand) -> bool:
    if command.arguments in _ABOUT_ITSELF:
        return False
    return command.program in FETCHERS or not FETCHES.get(command.program, frozenset()).isdisjoint(command.arguments)
