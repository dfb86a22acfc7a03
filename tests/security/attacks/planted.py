"""Traps for the host's own git: what it would run, and what it would take in, of a worktree."""

from tests.security.case import Case, executed, stored

_EVIL = "printf '#!/bin/sh\\ntouch %s\\nexec cat\\n' $PWNED >evil; chmod 755 evil;"
_HOOKS = (
    *("pre-commit", "post-commit", "prepare-commit-msg", "commit-msg", "post-checkout"),
    *("post-index-change", "reference-transaction", "post-merge"),
)


def _hook(name: str) -> Case:
    attack = f"{_EVIL} mkdir -p .git/hooks $GIT/hooks; cp evil .git/hooks/{name}; cp evil $GIT/hooks/{name}"
    return Case(f"hook {name}", attack, executed, way="collected")


def _configured(name: str, more: str = "") -> Case:
    return Case(
        f"setting {name}",
        f'{_EVIL} git config {name} "$PWD/evil"; {more}',
        executed,
        way="collected",
    )


_NESTED = "git init -q n; git -C n config user.name a; git -C n config user.email a@b; echo x >n/f;"
_ATTRIBUTES = "echo '* filter=evil diff=evil merge=evil' >.gitattributes;"

EXECUTING = (
    *(_hook(name) for name in _HOOKS),
    Case(
        "hooks in a folder of the tree",
        f"{_EVIL} mkdir h; for x in {' '.join(_HOOKS)}; do cp evil h/$x; done;"
        "git config core.hooksPath h",
        executed,
        way="collected",
    ),
    _configured("core.fsmonitor"),
    _configured("diff.external"),
    _configured("diff.evil.textconv", _ATTRIBUTES),
    _configured("diff.evil.command", _ATTRIBUTES),
    _configured("filter.evil.clean", _ATTRIBUTES),
    _configured("filter.evil.smudge", _ATTRIBUTES),
    _configured("filter.evil.process", _ATTRIBUTES),
    _configured("merge.evil.driver", f"{_ATTRIBUTES} echo w >>a.txt"),
    _configured("gpg.program", "git config commit.gpgSign true"),
    _configured(
        "core.alternateRefsCommand",
        "mkdir -p .git/objects/info; git init -q --bare b;"
        "echo $PWD/b/objects >.git/objects/info/alternates",
    ),
    Case(
        "a file that the settings include",
        f"{_EVIL} printf '[core]\\nfsmonitor = %s/evil\\n' \"$PWD\" >inc;"
        "git config include.path ../inc",
        executed,
        way="collected",
    ),
    Case(
        "a nested repository's monitor",
        f"{_EVIL} {_NESTED} git -C n add f; git -C n commit -qm x;"
        'git -C n config core.fsmonitor "$PWD/evil"; git add n; echo y >n/f',
        executed,
        way="collected",
    ),
    Case(
        "a nested repository's filter",
        f"{_EVIL} {_NESTED} echo '* filter=evil' >n/.gitattributes;"
        'git -C n add .; git -C n commit -qm x; git -C n config filter.evil.clean "$PWD/evil";'
        "git add n; echo y >n/f",
        executed,
        way="collected",
    ),
    Case(
        "a folder that is a bare repository",
        f"{_EVIL} git init -q --bare b; git -C b config core.bare false;"
        'git -C b config core.worktree "$PWD"; git -C b config core.fsmonitor "$PWD/evil";'
        "echo gitdir: b >.git || true; [ -d .git ] && { cp -a b/. .git/; }",
        executed,
        way="collected",
    ),
)

_UNUSUAL = "git itself refuses such a name, so that nothing shows what the layer adds"


def _takes(name: str, attack: str, part: str, control: str = "works") -> Case:
    return Case(name, attack, stored(part), control, way="collected")


STORING = (
    _takes("a link to an absolute path", "ln -s /etc/passwd leak", "leak"),
    _takes("a link that leads outside", "ln -s ../../../../etc/passwd leak", "leak"),
    _takes("a link to a folder outside", "ln -s ../.. leak", "leak"),
    _takes(
        "a link through a link that leads outside", "ln -s d leak; mv d e; ln -s ../.. d", "leak"
    ),
    _takes("a link into .git", "ln -s .git/config leak", "leak"),
    _takes("a link in a circle", "ln -s leak2 leak; ln -s leak leak2", "leak"),
    _takes(
        "a tracked file that becomes a link",
        "rm a.txt; ln -s /etc/passwd a.txt; ln -s /etc leak",
        "leak",
    ),
    _takes(
        "a nested repository as a link",
        f"{_NESTED} git -C n add f; git -C n commit -qm x; mv n leak",
        "leak",
    ),
    _takes(
        "files of a nested repository",
        "mkdir leak; echo x >leak/f; git init -q leak;"
        "git -C leak -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        "leak",
    ),
    _takes("a link named .gitmodules", "ln -s a.txt .gitmodules", ".gitmodules", _UNUSUAL),
    _takes(".GIT", "mkdir .GIT; echo x >.GIT/config", "GIT", _UNUSUAL),
    _takes(
        ".git with an ignored character",
        "mkdir $'.g\\u200cit'; echo x >$'.g\\u200cit/config'",
        "it/config",
        _UNUSUAL,
    ),
    _takes("git~1", "mkdir git~1; echo x >git~1/config", "git~1", _UNUSUAL),
    _takes(".git with a dot behind it", "mkdir .git.; echo x >.git./config", ".git.", _UNUSUAL),
    _takes(".git as a stream of NTFS", "mkdir .git::x; echo x >.git::x/config", ".git::", _UNUSUAL),
    _takes("a backslash into .git", "echo x >'.git\\hooks'", "hooks", _UNUSUAL),
    _takes("a name with a line break", "echo x >$'leak\\nx'", "leak"),
    _takes("a name with an escape", "echo x >$'leak\\e[2J'", "leak"),
    _takes("a name that turns the direction", "echo x >$'leak\\u202egpj.exe'", "leak"),
    _takes("a name that is not UTF-8", "echo x >$'leak\\xff'", "leak"),
)

CASES = (*EXECUTING, *STORING)
