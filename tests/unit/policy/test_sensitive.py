"""The sensitive set: secrets, and what decides which code runs later."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.policy.sensitive import (
    Places,
    is_above_sensitive,
    is_hidden_name,
    is_repository_pointer,
    is_sensitive,
    is_sensitive_name,
)

PLACES = Places(
    home="/home/op", own=("/home/op/.local/share/bot.db", "/etc/bot"), code=("/usr/local/bin", "/srv/ops/prompt.md")
)

SENSITIVE = [
    "/home/op/.ssh",
    "/home/op/.ssh/id_ed25519",
    "/home/op/.ssh/config",
    "/home/op/.gnupg/x",
    "/home/op/.aws/credentials",
    "/home/op/.aws/config",
    "/home/op/.azure/x",
    "/home/op/.config/gcloud/x",
    "/home/op/.kube/config",
    "/home/op/.docker/config.json",
    "/home/op/.config/gh/hosts.yml",
    "/srv/app/.env",
    "/srv/app/.env.production",
    "/srv/app/.envrc",
    "/srv/app/prod.env",
    "/srv/app/.ENV",
    "/srv/key.pem",
    "/srv/tls.key",
    "/srv/a.p12",
    "/srv/a.jks",
    "/srv/id_rsa",
    "/srv/id_rsa.pub",
    "/srv/deploy_rsa",
    "/srv/credentials",
    "/srv/credentials.json",
    "/srv/secrets.yml",
    "/srv/secrets/db",
    "/srv/app/secret.json",
    "/srv/client_secret_1.json",
    "/srv/service-account-x.json",
    "/srv/terraform.tfstate",
    "/srv/prod.tfvars",
    "/home/op/.netrc",
    "/home/op/.pgpass",
    "/home/op/.npmrc",
    "/srv/web/.npmrc",
    "/home/op/.pypirc",
    "/home/op/.git-credentials",
    "/home/op/.bash_history",
    "/home/op/.psql_history",
    "/srv/x.kdbx",
    "/home/op/.password-store/a",
    "/home/op/.vault-token",
    "/srv/kubeconfig",
    "/srv/.htpasswd",
    "/srv/backup.gpg",
    "/home/op/.bashrc",
    "/home/op/.bash_profile",
    "/home/op/.profile",
    "/home/op/.zshrc",
    "/home/op/.zshenv",
    "/home/op/.inputrc",
    "/home/op/.gitconfig",
    "/home/op/.vimrc",
    "/home/op/.curlrc",
    "/home/op/.config/fish/config.fish",
    "/home/op/.config/autostart/x.desktop",
    "/home/op/.config/systemd/user/x.service",
    "/home/other/.bashrc",
    "/root/.ssh/authorized_keys",
    "/srv/authorized_keys",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d/x",
    "/etc/pam.d/sshd",
    "/etc/ssh/sshd_config",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private/x",
    "/etc/letsencrypt/live/x/privkey.pem",
    "/etc/profile",
    "/etc/profile.d/x.sh",
    "/etc/bash.bashrc",
    "/etc/environment",
    "/etc/ld.so.preload",
    "/etc/crontab",
    "/etc/cron.d/x",
    "/etc/cron.daily/x",
    "/var/spool/cron/crontabs/op",
    "/etc/systemd/system/x.service",
    "/lib/systemd/system/x.service",
    "/usr/lib/systemd/system/x.service",
    "/run/systemd/system/x",
    "/etc/init.d/x",
    "/etc/rc.local",
    "/etc/kubernetes/admin.conf",
    "/run/secrets/db",
    "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "/var/lib/docker/x",
    "/var/log/auth.log",
    "/srv/repo/.git/config",
    "/srv/repo/.git/hooks/pre-commit",
    "/srv/repo/.git/hooks",
    "/srv/repo/.git/modules/x/config",
    "/srv/bare.git/config",
    "/srv/bare.git/hooks/post-receive",
    "/srv/repo/.git/info/attributes",
    "/srv/repo/.husky/pre-commit",
    "/srv/repo/.hg/hgrc",
    "/srv/repo/.git/config.worktree",
    "/proc/1/environ",
    "/proc/self/environ",
    "/proc/123/mem",
    "/proc/123/fd/3",
    "/proc/123/root/etc/shadow",
    "/proc/123/cwd",
    "/proc/self/task/1/environ",
    "/proc/thread-self/environ",
    "/proc/123/maps",
    "/proc/kcore",
    "/proc/sysrq-trigger",
    "/dev/sda",
    "/dev/mem",
    "/dev/tty",
    "/dev/nvme0n1",
    "/dev/input/event0",
    "/home/op/.local/share/bot.db",
    "/etc/bot/config.yaml",
    "/usr/local/bin/tool",
    "/srv/ops/prompt.md",
    "/home/op/.mtclaw/mtclaw.db",
    "/home/op/.local/share/keyrings/login.keyring",
    "/home/op/.local/share/systemd/user/x.service",
    "/home/other/.local/share/mtclaw/mtclaw.db",
    "/srv/app/.cargo/config.toml",
    "/home/op/.cargo/credentials",
    "/home/op/.cargo/credentials.toml",
    "/home/op/.gradle/init.gradle",
    "/home/op/.m2/settings.xml",
    "/srv/venv/lib/python3/site-packages/x.pth",
    "/home/op/.ipython/profile_default/startup/00.py",
    "/home/op/.vim/plugin/x.vim",
    "/home/op/.emacs.d/init.el",
    "/home/op/.emacs",
    "/home/op/.config/nvim/init.lua",
    "/home/op/.config/direnv/direnvrc",
    "/home/op/.config/stripe/config.toml",
    "/home/op/.rpmmacros",
    "/home/op/.tsh/keys",
    "/home/op/.fly/config.yml",
    "/home/op/.databrickscfg",
    "/home/op/.kaggle/kaggle.json",
    "/home/op/.claude.json",
    "/home/op/.dbt/profiles.yml",
    "/home/op/.supabase/access",
    "/home/op/.snowflake/config.toml",
    "relative/path",
    "/srv/../etc/shadow",
    "/srv/./x",
]

ORDINARY = [
    "/",
    "/srv",
    "/srv/app/main.py",
    "/srv/app/README.md",
    "/etc/hosts",
    "/etc/passwd",
    "/etc/os-release",
    "/etc/nginx/nginx.conf",
    "/var/log/syslog",
    "/var/log/nginx/access.log",
    "/tmp/x",
    "/home/op/work/notes.md",
    "/home/op",
    "/srv/repo/.git/HEAD",
    "/srv/repo/.gitignore",
    "/srv/repo/.github/workflows/ci.yml",
    "/proc",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/loadavg",
    "/proc/1/status",
    "/proc/1/cmdline",
    "/proc/1",
    "/dev/null",
    "/dev/shm/x",
    "/sys/class/net",
    "/srv/app/src/token/lexer.go",
    "/srv/app/tests/test_keys.py",
    "/srv/environment.md",
    "/srv/app/secretary.txt",
    "/srv/monkey",
    "/srv/keyboard.py",
    "/home/op/.cache/x",
    "/usr/local/binary/x",
    "/srv/repo/.git",
    "/srv/history.md",
    "/srv/share/keyrings/x",
    "/srv/app/.cargo/registry/x",
    "/home/op/.m2/repository/x.jar",
]


@pytest.mark.parametrize("path", SENSITIVE)
def test_knows_sensitive_paths(path: str) -> None:
    """Keys, credentials, start-up files, schedules, units, hooks, other processes, devices, the bot's own; unresolved ones too."""
    assert is_sensitive(path, PLACES)


@pytest.mark.parametrize("path", ORDINARY)
def test_leaves_ordinary_paths(path: str) -> None:
    """What people look at every day asks nothing."""
    assert not is_sensitive(path, PLACES)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/home",
        "/home/op",
        "/home/op/.config",
        "/home/other",
        "/root",
        "/etc",
        "/proc",
        "/proc/1",
        "/dev",
        "/var",
        "/run",
        "/home/op/.local/share",
        "/usr/local",
        "/srv/ops",
        "/var/log",
        "relative",
        "/home/op/",
    ],
)
def test_knows_what_lies_above(path: str) -> None:
    """A directory with something sensitive somewhere below it is known by its place."""
    assert is_above_sensitive(path, PLACES)


@pytest.mark.parametrize("path", ["/srv/app", "/tmp", "/home/op/work", "/var/www", "/usr/share", "/opt"])
def test_leaves_other_directories_to_a_look_at_the_disk(path: str) -> None:
    """Nothing is known of other places without looking."""
    assert not is_above_sensitive(path, PLACES)


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        (".env", True),
        ("deploy/id_rsa", True),
        ("../.ssh/x", True),
        ("./a/.git/config", True),
        ("src/a.py", False),
        ("", False),
    ],
)
def test_judges_names_that_lie_on_no_disk(name: str, sensitive: bool) -> None:
    """A path inside a revision is judged by its names alone."""
    assert is_sensitive_name(name, PLACES) is sensitive


@pytest.mark.parametrize(
    ("name", "directory", "hidden"),
    [
        (".env", False, True),
        (".ENV.Production", False, True),
        ("prod.env", False, True),
        ("id_ed25519", False, True),
        (".env~", False, True),
        (".env_local", False, True),
        (".env.example", False, False),
        (".env-sample", False, False),
        (".env.example.bak", False, True),
        ("env.py", False, False),
        ("secrets.py", False, False),
        ("cacert.pem", False, False),
        (".npmrc", False, False),
        (".env", True, False),
        (".ssh", True, True),
        (".ssh", False, False),
        ("src", True, False),
    ],
)
def test_what_is_hidden_from_builds_is_a_part_of_it(name: str, directory: bool, hidden: bool) -> None:
    """What they could not do without is not, nor a directory that is called like a file of secrets."""
    assert is_hidden_name(name, directory=directory) is hidden
    assert not hidden or is_sensitive(f"/srv/{name}", PLACES)


@given(st.text(max_size=60))
def test_never_raises(path: str) -> None:
    """Any text gets an answer, and what is not absolute is sensitive."""
    answer = is_sensitive(path, PLACES)
    assert isinstance(is_above_sensitive(path, PLACES), bool)
    assert answer or path.startswith("/")


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("/srv/app/.git", True),
        ("/srv/app/.GIT/", True),
        ("/srv/app.git", False),
        ("/srv/.git/HEAD", False),
        ("/", False),
    ],
)
def test_knows_what_would_point_git_elsewhere(path: str, pointer: bool) -> None:
    """A file named .git leads to a configuration of any name."""
    assert is_repository_pointer(path) is pointer
