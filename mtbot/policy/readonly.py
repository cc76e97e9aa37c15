"""The read-only pack: commands that look and change nothing, as one tuple of allow rules.

Off until an owner chooses it (`tools.exec.allow_packs: [readonly]`). Each entry is a positive grammar with examples of
what it permits and refuses; what it does not know, it does not match. What can look contained does; whole groups that
talk to services, clusters, clouds and forges are on the host.
"""

from dataclasses import replace

from mtbot.policy.allow_rule import AllowRule
from mtbot.policy.readonly_archives import ARCHIVES
from mtbot.policy.readonly_awk import CODE
from mtbot.policy.readonly_carriers import CARRIERS, MAC_CARRIERS
from mtbot.policy.readonly_cloud import CLOUD
from mtbot.policy.readonly_cluster import CLUSTER
from mtbot.policy.readonly_containers import CONTAINERS
from mtbot.policy.readonly_files import FILES
from mtbot.policy.readonly_forges import FORGES
from mtbot.policy.readonly_gcloud import GCLOUD
from mtbot.policy.readonly_git import GIT
from mtbot.policy.readonly_mac import MAC
from mtbot.policy.readonly_machines import MACHINES
from mtbot.policy.readonly_network import NETWORK
from mtbot.policy.readonly_packages import PACKAGES
from mtbot.policy.readonly_refs import REFS
from mtbot.policy.readonly_services import SERVICES
from mtbot.policy.readonly_text import TEXT
from mtbot.policy.readonly_tools import TOOLS
from mtbot.policy.readonly_versions import VERSIONS, without_choosers
from mtbot.policy.words import words

ON_HOST = words("""acpi chronyc lsof lsusb nvidia-smi ntpq sar users w
apk apt apt-cache brew dnf flatpak gem npm pacman pip pip3 snap yum
ansible ansible-config ansible-console ansible-doc ansible-galaxy ansible-inventory ansible-lint ansible-playbook ansible-pull ansible-vault
docker helm kubectl podman uv""")
"""Programs of the groups below that cannot look contained: they ask a service, need a device or settings in HOME."""

INSTALLED = words("fd fdfind rg jq yq supervisorctl fail2ban-client")
"""Programs of the system's own groups that are no part of a system, and so may come through a version chooser."""


def confinable(rules: tuple[AllowRule, ...]) -> tuple[AllowRule, ...]:
    """Have those of ``rules`` run contained that neither need the network nor are ON_HOST."""
    return tuple(
        rule
        if rule.needs.network or rule.program in ON_HOST
        else replace(rule, needs=replace(rule.needs, confinable=True))
        for rule in rules
    )


def _installed(rules: tuple[AllowRule, ...]) -> tuple[AllowRule, ...]:
    return tuple(
        guarded for rule in rules for guarded in (without_choosers((rule,)) if rule.program in INSTALLED else (rule,))
    )


READONLY: tuple[AllowRule, ...] = (
    *confinable((*_installed(FILES), *_installed(TEXT), *CODE, *CARRIERS, *GIT, *REFS, *MACHINES, *ARCHIVES)),
    *confinable(without_choosers((*PACKAGES, *TOOLS, *VERSIONS))),
    *_installed(SERVICES),
    *NETWORK,
    *without_choosers((*CONTAINERS, *CLUSTER, *FORGES, *CLOUD, *GCLOUD)),
    *MAC,
    *MAC_CARRIERS,
)

PACKS: dict[str, tuple[AllowRule, ...]] = {"readonly": READONLY}
"""Every pack by the name that a configuration gives it."""
