"""The read-only pack: commands that look and change nothing, as one tuple of allow rules.

Off until an owner chooses it (`tools.exec.allow_packs: [readonly]`). Each entry is a positive grammar with examples of
what it permits and refuses; what it does not know, it does not match.
"""

from mtbot.policy.allow_rule import AllowRule
from mtbot.policy.readonly_archives import ARCHIVES
from mtbot.policy.readonly_awk import CODE
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
from mtbot.policy.readonly_versions import VERSIONS

READONLY: tuple[AllowRule, ...] = (
    *FILES,
    *TEXT,
    *CODE,
    *GIT,
    *REFS,
    *MACHINES,
    *SERVICES,
    *NETWORK,
    *CONTAINERS,
    *CLUSTER,
    *FORGES,
    *CLOUD,
    *GCLOUD,
    *PACKAGES,
    *ARCHIVES,
    *TOOLS,
    *MAC,
    *VERSIONS,
)

PACKS: dict[str, tuple[AllowRule, ...]] = {"readonly": READONLY}
"""Every pack by the name that a configuration gives it."""
