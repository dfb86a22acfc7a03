"""Git's own files: the shared repository, the worktree's administration, its `.git`."""

from tests.security.case import Case, changed

_ADMIN = "$GIT/worktrees/t1"


def _writes(name: str, attack: str) -> Case:
    return Case(name, attack, changed)


CASES = (
    _writes(
        "the configuration", "git config -f $GIT/config core.fsmonitor x || echo x >>$GIT/config"
    ),
    _writes("the configuration by git itself", "git config core.hooksPath /tmp"),
    _writes("a worktree's own configuration", f"echo x >{_ADMIN}/config.worktree"),
    _writes("hooks", "mkdir -p $GIT/hooks && echo x >$GIT/hooks/post-checkout"),
    _writes("attributes", "echo '* filter=evil' >>$GIT/info/attributes"),
    _writes("excludes, to hide work", "echo '*' >$GIT/info/exclude"),
    _writes("alternates", "mkdir -p $GIT/objects/info; echo /tmp/x >$GIT/objects/info/alternates"),
    _writes("grafts", "echo x >$GIT/info/grafts"),
    _writes("the shallow boundary", "echo x >$GIT/shallow"),
    _writes("HEAD", "echo 'ref: refs/heads/evil' >$GIT/HEAD"),
    _writes("packed refs", "echo x >>$GIT/packed-refs"),
    _writes(
        "a ref of another session",
        "mkdir -p $GIT/refs/blueflame/s2; echo x >$GIT/refs/blueflame/s2/base",
    ),
    _writes("refs deleted", "rm -rf $GIT/refs"),
    _writes(
        "an object overwritten",
        "f=$(find $GIT/objects -type f | head -n 1); chmod u+w $f; echo x >$f",
    ),
    _writes("all objects deleted", "rm -rf $GIT/objects"),
    _writes("an object planted", "mkdir -p $GIT/objects/00; echo x >$GIT/objects/00/00"),
    _writes("the index", f"echo x >{_ADMIN}/index"),
    _writes("the worktree's HEAD", f"echo x >{_ADMIN}/HEAD"),
    _writes("the worktree's lock", f"rm -f {_ADMIN}/locked"),
    _writes("where the worktree is", f"echo /tmp/.git >{_ADMIN}/gitdir"),
    _writes("the common folder", f"echo /tmp >{_ADMIN}/commondir"),
    _writes("a stale lock, to stop git", f"touch {_ADMIN}/index.lock $GIT/config.lock"),
    _writes("another worktree's administration", "echo x >$GIT/worktrees/other-task/HEAD"),
    _writes(".git overwritten", "echo 'gitdir: /tmp' >.git"),
    _writes(".git deleted", "rm -f .git"),
    _writes(".git moved", "mv .git g"),
    _writes(".git as a link", "ln -sf /tmp .git"),
    _writes(".git as a folder", "rm .git; mkdir .git"),
    _writes(".git opened to all", "chmod 777 .git"),
    _writes(".git replaced by rename", "echo x >g; mv -f g .git"),
    _writes(
        ".git exchanged",
        "echo x >g; python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'g', -100, b'.git', 2)\"",
    ),
    _writes("a commit", "echo x >a.txt; git -c user.name=a -c user.email=a@b commit -qam x"),
    _writes("the index by git", "echo x >n; git add n"),
    _writes("a stash", "echo x >a.txt; git -c user.name=a -c user.email=a@b stash"),
    _writes("a branch", "git branch evil"),
    _writes("a tag", "git tag evil"),
    _writes("a ref by its name", "git update-ref refs/blueflame/s2/base HEAD"),
    _writes("HEAD by git", "git symbolic-ref HEAD refs/heads/evil"),
    _writes("an object by git", "echo x | git hash-object -w --stdin"),
    _writes("notes", "git -c user.name=a -c user.email=a@b notes add -m x"),
    _writes("a remote", "git remote add evil https://evil.invalid/"),
    _writes("packing", "git pack-refs --all; git repack -adq"),
    _writes("pruning", "git prune --expire=now; git gc -q --prune=now"),
    _writes(
        "a worktree of its own",
        "git worktree add -q --detach /tmp/evil || git worktree add -q --detach $WORK/evil",
    ),
    _writes("a changed file marked unchanged", "git update-index --assume-unchanged a.txt"),
    _writes("a changed file marked skipped", "git update-index --skip-worktree a.txt"),
    _writes("a file dropped from the index", "git rm -q --cached a.txt"),
    _writes("a sparse checkout", "git sparse-checkout set d"),
    _writes("a reset", "git reset -q --hard HEAD; git read-tree --empty"),
    _writes(
        "a fetch from a folder",
        "git init -q n; git fetch -q ./n; git -c protocol.allow=always fetch -q $WORK",
    ),
    _writes(
        "a file system monitor", "git config core.fsmonitor true; git update-index --fsmonitor"
    ),
    _writes(
        "a submodule",
        "git init -q s; git -C s -c user.name=a -c user.email=a@b commit -q --allow-empty -m x;"
        "git -c protocol.file.allow=always submodule add -q ./s sub",
    ),
    _writes(
        "a replaced object",
        "git replace -f HEAD $(git -c user.name=a -c user.email=a@b commit-tree -m x HEAD^{tree})",
    ),
    _writes("a bisect", "git bisect start"),
)
