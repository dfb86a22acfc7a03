"""The built-in rules about programs and variables, each with what to do instead.

They save an honest agent a turn and stop a careless one early. They are not a security boundary:
a program can start another in ways that no list foresees, and then only the sandbox holds.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from workflows.domain.agent.shell_tree import Word
from workflows.domain.agent.tool_policy import Denied, RuleName
from workflows.policy.commands.patterns import may_fit
from workflows.policy.commands.program_options import base_name, shown


class CommandRule(NamedTuple):
    """Patterns that a rule denies, and the advice for an agent."""

    name: RuleName
    patterns: tuple[str, ...]
    reason: str
    instead: str


_GIT_REMOTE: Final = (
    "git push", "git pull", "git fetch", "git clone", "git ls-remote", "git send-email",
    "git send-pack", "git fetch-pack", "git receive-pack", "git upload-pack", "git http-push",
    "git http-fetch", "git daemon", "git svn", "git p4", "git credential", "git request-pull",
    "git remote add", "git remote set-url", "git remote set-head", "git remote rename",
    "git remote remove", "git remote rm", "git remote update", "git remote prune",
    "git submodule add", "git submodule update", "git bundle create", "gh", "glab", "hub", "tea",
)  # fmt: skip
_GIT_HISTORY: Final = (
    "git commit", "git rebase", "git merge", "git cherry-pick", "git revert", "git am",
    "git stash", "git switch", "git checkout -b", "git checkout -B", "git checkout --detach",
    "git checkout --orphan", "git bisect", "git worktree", "git update-ref", "git filter-branch",
    "git filter-repo", "git replace", "git gc", "git prune", "git reflog expire",
    "git reflog delete", "git commit-tree", "git fast-import",
)  # fmt: skip
_PUBLISH: Final = (
    "npm publish", "npm unpublish", "npm deprecate", "npm dist-tag", "npm login", "npm adduser",
    "npm token", "npm access", "yarn publish", "yarn npm publish", "pnpm publish", "bun publish",
    "lerna publish", "twine upload", "twine register", "python -m twine", "python setup.py upload",
    "poetry publish", "uv publish", "flit publish", "hatch publish", "pdm publish", "rye publish",
    "maturin publish", "maturin upload", "cargo publish", "cargo login", "cargo yank",
    "cargo owner", "gem push", "gem yank", "docker push", "docker login", "podman push",
    "podman login", "buildah push", "skopeo copy", "helm push", "mvn deploy", "gradle publish",
    "gradlew publish", "dotnet nuget push", "nuget push", "composer publish",
    "goreleaser release", "semantic-release", "vsce publish", "jfrog", "crane push", "oras push",
    "aws", "gcloud", "az", "kubectl", "terraform apply", "terraform destroy", "heroku", "vercel",
    "netlify", "flyctl", "fly deploy", "wrangler publish", "wrangler deploy", "firebase deploy",
)  # fmt: skip
_NETWORK: Final = (
    "curl", "wget", "nc", "ncat", "netcat", "telnet", "ssh", "scp", "sftp", "ftp", "ftps", "tftp",
    "ping", "ping6", "traceroute", "dig", "nslookup", "host", "whois", "nmap", "socat", "aria2c",
    "lynx", "links", "w3m", "http", "https", "xh", "websocat", "mosh", "ssh-add",
    "ssh-agent", "ssh-keyscan", "ssh-copy-id", "rclone", "ngrok", "cloudflared", "tor",
    "proxychains",
)  # fmt: skip
_RIGHTS: Final = (
    "sudo", "sudoedit", "doas", "su", "pkexec", "runuser", "gosu", "setpriv", "capsh", "chroot",
    "unshare", "nsenter", "bwrap", "firejail", "mount", "umount", "fusermount", "losetup",
    "modprobe", "insmod", "rmmod", "sysctl", "systemctl", "service", "shutdown", "reboot", "halt",
    "poweroff", "init", "telinit", "useradd", "usermod", "userdel", "groupadd", "passwd",
    "chpasswd", "visudo", "crontab", "at", "batch", "iptables", "nft", "ip", "ifconfig", "mkfs",
    "fdisk", "docker", "podman", "lxc", "machinectl", "systemd-run", "loginctl", "newgrp", "sg",
)  # fmt: skip
_SYSTEM_PACKAGES: Final = (
    "apt", "apt-get", "aptitude", "dpkg -i", "yum install", "dnf install", "zypper install",
    "pacman", "apk add", "brew install", "brew upgrade", "snap install", "flatpak install",
    "port install", "emerge", "nix-env", "rpm -i",
)  # fmt: skip
_RECURSION: Final = (
    "blueflame", "python -m starter", "python -m workers", "temporal", "temporal-server",
    "uvx blueflame", "pipx run blueflame",
)  # fmt: skip

BUILT_IN: Final = (
    CommandRule(
        "git-remote",
        _GIT_REMOTE,
        "it deals with another repository, and nothing leaves this worktree",
        "reading with git log, diff, show, status and blame; the work in the worktree is collected",
    ),
    CommandRule(
        "publish",
        _PUBLISH,
        "it publishes or deploys",
        "building and testing here; a person publishes",
    ),
    CommandRule(
        "network",
        _NETWORK,
        "there is no network here",
        "what is in the worktree and installed; addresses of this machine, as http://localhost:8000",
    ),
    CommandRule(
        "system-packages",
        _SYSTEM_PACKAGES,
        "the system's packages cannot be changed",
        "what is installed; say in your summary what is missing",
    ),
    CommandRule(
        "rights",
        _RIGHTS,
        "it asks for rights over the machine",
        "working as you are, on files of the worktree and below /tmp",
    ),
    CommandRule(
        "recursion",
        _RECURSION,
        "it would start the orchestrator from inside a session",
        "doing the task yourself with the other tools",
    ),
)
_HISTORY: Final = CommandRule(
    "git-history",
    _GIT_HISTORY,
    "git's data cannot be changed from here",
    "leaving the changes in the worktree: they are committed for you after each turn; "
    "a repository of your own below /tmp",
)

_HARMLESS_KEY: Final = re.compile(
    r"(?:color\.[a-z.]+|advice\.[a-z]+|user\.(?:name|email)|core\.(?:quotepath|pager)"
    r"|log\.[a-z]+|init\.defaultbranch|commit\.gpgsign|diff\.(?:context|renames|algorithm)"
    r"|safe\.directory|pager\.[a-z]+)(?:=|$)",
    re.IGNORECASE,
)
_READING: Final = frozenset({
    "--get", "--get-all", "--get-regexp", "--get-urlmatch", "-l", "--list", "list", "get",
    "--show-origin",
})  # fmt: skip
_GIT_VALUES: Final = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"})
_LOADING: Final = re.compile(
    r"LD_(?:PRELOAD|AUDIT)|DYLD_\w+|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4"
    r"|PROMPT_COMMAND|BASH_FUNC_.+|BASH_ALIASES|BASH_CMDS"
    r"|GIT_(?:CONFIG\w*|SSH\w*|EXTERNAL_DIFF|EXEC_PATH|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR)"
)
_LOCAL: Final = re.compile(r"(?:[a-z]+://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/].*)?")


def environment_denial(name: str) -> Denied | None:
    """Deny a variable that makes programs load or run something else."""
    if not _LOADING.fullmatch(name):
        return None
    return Denied(
        rule="environment",
        about=f"the variable {name} makes programs load or run something else",
        instead="other variables, PATH included",
    )


def built_in_denial(
    words: Sequence[Word], lifted: Iterable[RuleName], *, is_in_worktree: bool
) -> Denied | None:
    """Return the first built-in rule that a program with its words may break.

    Args:
        words: the program first.
        lifted: rules that are switched off.
        is_in_worktree: the program runs in the worktree, not in another folder.
    """
    name = base_name(words[0].text)
    named = (Word(text=name), *words[1:])
    for rule, patterns in _RULES_OF.get(name, ()):
        if rule.name in lifted or (rule.name == "network" and _is_local(words)):
            continue
        if rule is _HISTORY and (not is_in_worktree or _only_lists(named)):
            continue
        if any(may_fit(named, pattern) for pattern in patterns):
            return Denied(
                rule=rule.name, about=f"{shown(words)}: {rule.reason}", instead=rule.instead
            )
    if name == "git" and "git-config" not in lifted:
        return _git_config(named)
    return None


def _only_lists(words: Sequence[Word]) -> bool:
    return any(may_fit(words, each) for each in ("git stash list", "git stash show"))


def _is_local(words: Sequence[Word]) -> bool:
    """Whether the words name only addresses of this machine, and at least one."""
    addresses = [word for word in words[1:] if "://" in word.text or _LOCAL.fullmatch(word.text)]
    return bool(addresses) and all(
        word.is_known and _LOCAL.fullmatch(word.text) for word in addresses
    )


def _git_config(words: Sequence[Word]) -> Denied | None:
    """Deny options and commands that could make git run another program."""
    place = 1
    while place < len(words) and words[place].text.startswith("-"):
        text = words[place].text
        following = words[place + 1].text if place + 1 < len(words) else ""
        if text == "-c" and not _HARMLESS_KEY.match(following):
            return _config_denied(words)
        if text.startswith(("--config-env", "--exec-path=")):
            return _config_denied(words)
        place += 2 if text in _GIT_VALUES else 1
    if not may_fit(words, "git config") or any(word.text in _READING for word in words):
        return None
    keys = [word for word in words[2:] if "." in word.text]
    if keys and all(word.is_known and _HARMLESS_KEY.match(word.text) for word in keys[:1]):
        return None
    return _config_denied(words)


def _config_denied(words: Sequence[Word]) -> Denied:
    return Denied(
        rule="git-config",
        about=f"{shown(words)}: git's settings can start programs and hooks",
        instead="settings of colour, pager, user and log, and reading with git config --get",
    )


def _index() -> dict[str, tuple[tuple[CommandRule, tuple[str, ...]], ...]]:
    """Group the rules by program."""
    found: dict[str, tuple[tuple[CommandRule, tuple[str, ...]], ...]] = {}
    for rule in (*BUILT_IN, _HISTORY):
        for name in sorted({each.split()[0] for each in rule.patterns}):
            patterns = tuple(each for each in rule.patterns if each.split()[0] == name)
            found[name] = (*found.get(name, ()), (rule, patterns))
    return found


_RULES_OF: Final = _index()
