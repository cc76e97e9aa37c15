"""Say whether a path belongs to the sensitive set: what holds secrets, and what decides which code runs later.

A pure predicate over absolute paths whose links were resolved by whoever calls. It errs on the side of yes:
a path that is called sensitive costs one question, one that is missed may cost a key. Names are compared without
regard to case, because some file systems do.
"""

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from itertools import accumulate

from mtbot.policy.words import words


@dataclass(frozen=True, slots=True)
class Places:
    """The places that differ from host to host, absolute and resolved.

    `own` are mtclaw's configuration, database, logs and workspace control files; `code` are directories on the
    child's PATH, system prompt files and scripts that rules or jobs name.
    """

    home: str
    own: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


_DIRECTORY_NAMES = words(""".ssh .gnupg secrets .secrets secret credentials .aws .azure .gcloud .kube .docker .password-store .mtclaw .terraform.d .oci .aliyun
.bluemix .chef .minikube .vault .sops .age .passage .config/gcloud .config/gh .config/hub
.config/glab-cli .config/op .config/sops .config/doctl .config/rclone .config/mtclaw .config/systemd
.config/autostart .config/environment.d .config/fish .config/git .config/containers
.config/google-chrome .config/chromium .config/bravesoftware .config/keepassxc .config/age
.config/helm .config/configstore .config/pip .config/nix .local/share/keyrings .local/share/systemd
.local/share/mtclaw .mozilla .thunderbird .electrum .bitcoin .ethereum .husky .githooks
library/keychains library/launchagents library/launchdaemons library/cookies .git/hooks .git/modules
.git/worktrees .hg/store .cargo/config .cargo/config.toml .cargo/credentials .cargo/credentials.toml
.gradle .m2/settings.xml .m2/settings-security.xml .ipython .vim .emacs.d .config/nvim .config/direnv
.config/stripe .tsh .fly .kaggle .dbt/profiles.yml .supabase .snowflake""")
"""A directory (or file) of this name, and all below it, wherever it lies; parts stand for parent and child."""

_FILE_PATTERNS = tuple(
    words(""".env* *.env env.local *.pem *.key *.p12 *.pfx *.p8 *.pk8 *.jks *.keystore *.bks *.kdb *.kdbx *.ppk
*.agekey *.gpg *.asc *.keytab *.ovpn *.tfstate *.tfstate.* *.tfvars *.tfvars.json *.token *.secret
*.secrets id_rsa* id_dsa* id_ecdsa* id_ed25519* identity *_rsa *_dsa *_ecdsa *_ed25519
authorized_keys* known_hosts* credentials credentials.* credential.* *-credentials.json
*_credentials.json *.credentials client_secret*.json service-account*.json service_account*.json
*serviceaccount*.json application_default_credentials.json secrets.* secret.*
*-secrets.y*ml *-secret.y*ml vault.y*ml vault_pass* .vault* *.vault token tokens token.txt
token.json tokens.json auth.json access_token* refresh_token* api_key* apikey* password password.*
passwords passwords.* passwd.txt master.key .htpasswd .netrc _netrc netrc .pgpass pgpass.conf
.my.cnf .mylogin.cnf .npmrc .yarnrc .yarnrc.yml .pypirc .git-credentials .s3cfg .boto .dockercfg
.dockerconfigjson kubeconfig kubeconfig* *.kubeconfig .smbcredentials .fetchmailrc .msmtprc .muttrc
.mailrc .vnc .rhosts .shosts .xauthority .iceauthority krb5cc_* .erlang.cookie .vault-token
.vault_pass* .pass* .terraformrc terraform.rc credentials.tfrc.json wallet.dat *.wallet keyring*
login.keychain* *.keychain *.keychain-db cookies cookies.sqlite key4.db logins.json *_history
.history *.history .lesshst .viminfo .wget-hsts wp-config.php database.yml local.settings.json
appsettings.*.json parameters.yml settings.local.json .bashrc .bash_profile .bash_login .bash_logout
.bash_aliases .bash_env .bashenv .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc
.shrc .cshrc .tcshrc .login .logout .inputrc .xinitrc .xsession .xsessionrc .xprofile .xserverrc
.pam_environment .gitconfig .curlrc .wgetrc .vimrc .exrc .nvimrc .nanorc .emacs .gdbinit .lldbinit
.psqlrc .sqliterc .irbrc .pryrc .pythonrc .rprofile .screenrc .tmux.conf .mongorc.js .ripgreprc
.condarc .envrc .direnvrc .python-version-hook sitecustomize.py usercustomize.py .pdbrc .forward
.procmailrc .plan-hook .git-credential-cache .gitcookies *.pth .rpmmacros .databrickscfg .claude.json""")
)
_FILE_NAMES = re.compile("|".join(map(translate, _FILE_PATTERNS))).match
"""A file of such a name, wherever it lies."""
_HIDDEN_DIRECTORIES = words(".ssh .gnupg .aws .azure .gcloud .kube .password-store .secrets")
_HIDDEN_FILES = tuple(
    words(
        """.env .env.* .env-* .env_* .env~ *.env .envrc .netrc _netrc .pgpass .git-credentials .vault-token id_rsa id_dsa id_ecdsa id_ed25519"""
    )
)
_HIDDEN = re.compile("|".join(map(translate, _HIDDEN_FILES))).match
_SHOWN = re.compile(r"\.env[._-](example|sample|template|dist|defaults)").fullmatch

_LOCATIONS = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/sudo.conf",
    "/etc/doas.conf",
    "/etc/security",
    "/etc/pam.d",
    "/etc/pam.conf",
    "/etc/polkit-1",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ppp",
    "/etc/netplan",
    "/etc/networkmanager",
    "/etc/wpa_supplicant",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/mtclaw",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bashrc",
    "/etc/bash.bashrc",
    "/etc/bash_completion.d",
    "/etc/zsh",
    "/etc/zshrc",
    "/etc/zshenv",
    "/etc/zprofile",
    "/etc/environment",
    "/etc/environment.d",
    "/etc/gitconfig",
    "/etc/inputrc",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/crontab",
    "/etc/anacrontab",
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/cron.allow",
    "/etc/cron.deny",
    "/etc/at.allow",
    "/etc/systemd",
    "/etc/init.d",
    "/etc/init",
    "/etc/rc.local",
    "/etc/rc.d",
    "/etc/inittab",
    "/etc/modprobe.d",
    "/etc/udev",
    "/etc/docker",
    "/etc/containers",
    "/etc/default",
    "/etc/mysql/debian.cnf",
    "/lib/systemd",
    "/usr/lib/systemd",
    "/usr/local/lib/systemd",
    "/run/systemd/system",
    "/run/secrets",
    "/var/run/secrets",
    "/run/credentials",
    "/var/spool/cron",
    "/var/spool/at",
    "/var/spool/anacron",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/kubelet",
    "/var/lib/rancher",
    "/var/lib/sss",
    "/var/lib/private",
    "/var/backups",
    "/var/log/auth.log",
    "/var/log/secure",
    "/var/log/audit",
    "/library/launchagents",
    "/library/launchdaemons",
    "/private/etc/sudoers",
    "/private/etc/master.passwd",
    "/private/var/db/dslocal",
    "/sys/kernel/security",
    "/sys/kernel/debug",
    "/sys/firmware/efi/efivars",
)
"""These paths and everything below them."""

_HARMLESS_DEVICES = words("/dev /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/shm")
_HARMLESS_OF_A_PROCESS = words("""status stat statm cmdline comm cgroup limits io sched schedstat mounts mountinfo mountstats
oom_score oom_score_adj loginuid sessionid smaps_rollup wchan numa_maps personality uid_map gid_map
timens_offsets""")
_SECRETS_OF_THE_KERNEL = frozenset(
    {"kcore", "kmem", "kallsyms", "sysrq-trigger", "keys", "key-users", "kmsg", "kpagecount"}
)


def is_sensitive(path: str, places: Places) -> bool:
    """Whether an absolute, resolved path is sensitive itself or lies in a sensitive place; a path that is neither absolute nor resolved is."""
    parts = tuple([part for part in path.lower().split("/") if part])
    if not path.startswith("/") or ".." in parts or "." in parts or "\0" in path:
        return True
    lowered = "/" + "/".join(parts)
    if not _sensitive_places(places).isdisjoint(accumulate(parts, "{}/{}".format, initial="")):
        return True
    if parts and parts[0] in ("proc", "dev") and _is_sensitive_pseudo_file(lowered, parts):
        return True
    children = [*map("{}/{}".format, parts, parts[1:])]
    grandchildren = map("{}/{}".format, children, parts[2:])
    if not _DIRECTORY_NAMES.isdisjoint((*parts, *children, *grandchildren)):
        return True
    if _is_git_control(parts):
        return True
    return bool(parts) and _FILE_NAMES(parts[-1]) is not None


def is_hidden_name(name: str, *, directory: bool) -> bool:
    """Whether a file or directory of that name holds secrets and nothing that a build could not do without.

    A part of the sensitive set by far: much of the rest (`*.pem`, `.npmrc`, `secrets.py`) is what builds are made of.
    """
    lowered = name.lower()
    if directory:
        return lowered in _HIDDEN_DIRECTORIES
    return _SHOWN(lowered) is None and _HIDDEN(lowered) is not None


def is_repository_pointer(path: str) -> bool:
    """Whether a path is a `.git` itself: a file of that name tells git to obey a configuration that lies elsewhere."""
    return path.rstrip("/").rpartition("/")[2].lower() == ".git"


def is_sensitive_name(name: str, places: Places) -> bool:
    """Whether a path that lies on no disk here (inside a revision, on another host) would be sensitive by its names."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    return bool(parts) and is_sensitive("/" + "/".join(parts), places)


def is_above_sensitive(path: str, places: Places) -> bool:
    """Whether something sensitive is known to lie below a directory, without looking at the disk.

    The root, a home, `/etc` and the like. What else lies there only a look at the disk can tell.
    """
    if not path.startswith("/"):
        return True
    lowered = "/" + "/".join(part for part in path.lower().split("/") if part)
    if lowered in ("/", "/proc", "/dev", "/home", "/users", "/root", "/run/user", "/var/lib"):
        return True
    if len(lowered.split("/")) == 3 and lowered.startswith(("/home/", "/users/", "/proc/", "/run/user/")):
        return True
    home = places.home.lower().rstrip("/")
    known = (home, f"{home}/.config", f"{home}/.local", *_LOCATIONS, *_lowered(places.own), *_lowered(places.code))
    return lowered in (home, f"{home}/.config", f"{home}/.local", f"{home}/.local/share", f"{home}/library") or any(
        _is_within(place, lowered) for place in known
    )


@lru_cache(maxsize=64)
def _sensitive_places(places: Places) -> frozenset[str]:
    """Every location that is sensitive with all below it; ``/`` stands as the empty text that every path begins with."""
    return frozenset(place.rstrip("/") for place in (*_LOCATIONS, *_lowered(places.own), *_lowered(places.code)))


def _lowered(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path.lower().rstrip("/") for path in paths)


def _is_within(path: str, place: str) -> bool:
    return path == place or path.startswith(place + "/")


def _is_git_control(parts: tuple[str, ...]) -> bool:
    """Whether the path is what decides what git runs, or may hold a password in an address."""
    for at, part in enumerate(parts[:-1]):
        if part == ".git" or part.endswith(".git"):
            rest = parts[at + 1 :]
            if rest[0] in ("config", "config.worktree", "hooks", "modules", "worktrees") or rest[:2] == (
                "info",
                "attributes",
            ):
                return True
    return parts[-2:] == (".hg", "hgrc")


def _is_sensitive_pseudo_file(path: str, parts: tuple[str, ...]) -> bool:
    if parts[0] == "dev":
        return path not in _HARMLESS_DEVICES and not path.startswith("/dev/shm/")  # noqa: S108 - a name to compare, nothing is written
    if len(parts) < 2:
        return False
    if parts[1] in _SECRETS_OF_THE_KERNEL:
        return True
    of_a_process = parts[1].isdigit() or parts[1] in ("self", "thread-self")
    if not of_a_process or len(parts) == 2:
        return False
    return parts[2] not in _HARMLESS_OF_A_PROCESS
