"""Odd repositories, made with real git: each function makes one below `top` and returns its path.

The first half can be worked on, the second half is refused.
"""

import os
import shutil
import zlib
from pathlib import Path

from tests.unit.activities.adapters.git.home import plain_git

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 4\n".format("0" * 64)


def plain(top: Path, name: str = "repo", *options: str) -> Path:
    """One branch `main` with two commits."""
    path = top / name
    path.mkdir(parents=True)
    plain_git(path, "init", "-q", "-b", "main", *options)
    for text in ("one\n", "two\n"):
        (path / "a.txt").write_text(text)
        _commit(path)
    return path


def _commit(path: Path) -> None:
    plain_git(path, "add", "-A")
    plain_git(path, "commit", "-q", "-m", "work")


def _with_entry(path: Path, mode: str, blob: str, name: str) -> Path:
    """Commit an entry that no file of the checkout is behind."""
    plain_git(path, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")
    plain_git(path, "commit", "-q", "-m", "entry")
    return path


def _blob(path: Path) -> str:
    return plain_git(path, "rev-parse", "HEAD:a.txt")


def _loose(path: Path, name: str) -> Path:
    return path / ".git/objects" / name[:2] / name[2:]


# --- works ----------------------------------------------------------------------------------------


def detached(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "checkout", "-q", "--detach", "HEAD~1")
    return path


def bare(top: Path) -> Path:
    plain_git(top, "clone", "-q", "--bare", str(plain(top)), "bare.git")
    return top / "bare.git"


def shallow_by_one(top: Path) -> Path:
    return _shallow(top, 1)


def shallow_by_two(top: Path) -> Path:
    return _shallow(top, 2)


def _shallow(top: Path, depth: int) -> Path:
    source = plain(top)
    (source / "a.txt").write_text("three\n")
    _commit(source)
    plain_git(top, "clone", "-q", f"--depth={depth}", f"file://{source}", "shallow")
    return top / "shallow"


def with_submodule(top: Path) -> Path:
    path = plain(top)
    return _with_entry(path, "160000", plain_git(path, "rev-parse", "HEAD"), "sub")


def with_lfs(top: Path) -> Path:
    path = plain(top)
    (path / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (path / "a.bin").write_text(POINTER)
    for key, value in (("required", "true"), ("smudge", "false"), ("clean", "cat")):
        plain_git(path, "config", f"filter.lfs.{key}", value)
    _commit(path)
    return path


def with_case_collision(top: Path) -> Path:
    path = plain(top)
    (path / "A.TXT").write_text("another\n")
    _commit(path)
    return path


def with_foreign_names(top: Path) -> Path:
    path = plain(top)
    with open(os.fsencode(path) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"x\n")
    _commit(path)
    return path


def dirty(top: Path) -> Path:
    path = plain(top)
    (path / "a.txt").write_text("mine\n")
    return path


def with_untracked_files(top: Path) -> Path:
    path = plain(top)
    (path / "mine.txt").write_text("mine\n")
    return path


def linked_worktree(top: Path) -> Path:
    plain_git(plain(top), "worktree", "add", "-q", "--detach", str(top / "linked"))
    return top / "linked"


def git_is_a_link(top: Path) -> Path:
    path = plain(top)
    (path / ".git").rename(top / "moved.git")
    (path / ".git").symlink_to(top / "moved.git")
    return path


def reached_through_a_link(top: Path) -> Path:
    (top / "alias").symlink_to(plain(top))
    return top / "alias"


def with_alternates(top: Path) -> Path:
    plain_git(top, "clone", "-q", "--shared", str(plain(top)), "sharing")
    return top / "sharing"


def sha256(top: Path) -> Path:
    return plain(top, "repo", "--object-format=sha256")


def with_our_package_names(top: Path) -> Path:
    path = plain(top)
    for name in ("workflows", "workers", "activities", "starter"):
        (path / name).mkdir()
        (path / name / "__init__.py").write_text("raise SystemExit('theirs was imported')\n")
    _commit(path)
    return path


def spaces(top: Path) -> Path:
    return plain(top, "two  words ")


def newline(top: Path) -> Path:
    return plain(top, "two\nlines")


def punctuation(top: Path) -> Path:
    return plain(top, "a:b \\ \"c\" 'd' $e ~ %f * ?")


def unicode(top: Path) -> Path:
    return plain(top, "höhe-日本-\U0001f525")


def deep_folder(top: Path) -> Path:
    return plain(top, "/".join(["d" * 60] * 12))


def sparse(top: Path) -> Path:
    path = plain(top)
    (path / "far").mkdir()
    (path / "far/b.txt").write_text("b\n")
    _commit(path)
    plain_git(path, "sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
    (path / "a.txt").write_text("staged\n")
    plain_git(path, "add", "a.txt")
    return path


def full_partial_clone(top: Path) -> Path:
    """A partial clone that happens to have all it needs."""
    path = plain(top)
    plain_git(path, "config", "remote.origin.promisor", "true")
    plain_git(path, "config", "remote.origin.partialclonefilter", "blob:none")
    return path


def submodule(top: Path) -> Path:
    """A checkout whose `.git` is a file, and whose parent is a repository as well."""
    library, outer = plain(top, "library"), plain(top, "outer")
    plain_git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library))
    _commit(outer)
    plain_git(outer / "library", "checkout", "-q", "-B", "main")
    return outer / "library"


def separate_git_dir(top: Path) -> Path:
    return plain(top, "repo", f"--separate-git-dir={top / 'elsewhere'}")


def worktree_of_bare(top: Path) -> Path:
    """A container with a bare repository in `.bare`, and a worktree for each branch."""
    box = top / "box"
    box.mkdir()
    plain_git(box, "clone", "-q", "--bare", str(plain(top)), ".bare")
    (box / ".git").write_text("gitdir: ./.bare\n")
    plain_git(box, "worktree", "add", "-q", "main", "main")
    return box / "main"


def container_of_worktrees(top: Path) -> Path:
    return worktree_of_bare(top).parent


def worktree_of_submodule(top: Path) -> Path:
    plain_git(submodule(top), "worktree", "add", "-q", "-b", "side", str(top / "side"))
    return top / "side"


def worktree_configuration(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "config", "extensions.worktreeConfig", "true")
    return path


def sparse_by_patterns(top: Path) -> Path:
    path = plain(top)
    (path / "far").mkdir()
    (path / "far/b.txt").write_text("b\n")
    _commit(path)
    plain_git(path, "sparse-checkout", "set", "--no-cone", "/a.txt", "/new.txt")
    return path


def grafted(top: Path) -> Path:
    path = plain(top)
    (path / ".git/info").mkdir(exist_ok=True)
    (path / ".git/info/grafts").write_text(plain_git(path, "rev-parse", "HEAD") + "\n")
    return path


def replaced(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "replace", "--graft", "HEAD")
    return path


def split_index(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "update-index", "--split-index")
    (path / "a.txt").write_text("three\n")
    _commit(path)
    return path


def packed(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "gc", "-q")
    return path


def with_branches_of_old_sessions(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "branch", "blueflame/01kb0000000000000000000000")
    return path


def merging(top: Path) -> Path:
    return _in_conflict(top, "merge", "side")


def cherry_picking(top: Path) -> Path:
    return _in_conflict(top, "cherry-pick", "side")


def reverting(top: Path) -> Path:
    return _in_conflict(top, "revert", "HEAD~1")


def rebasing(top: Path) -> Path:
    return _in_conflict(top, "rebase", "side")


def _in_conflict(top: Path, *command: str) -> Path:
    path = plain(top)
    plain_git(path, "checkout", "-q", "-b", "side", "HEAD~1")
    (path / "a.txt").write_text("other\n")
    _commit(path)
    plain_git(path, "checkout", "-q", "main")
    shell = f"git {' '.join(command)}; test $? -ne 0"
    plain_git(path, "-c", f"alias.fails=!{shell}", "fails")
    return path


def bisecting(top: Path) -> Path:
    path = plain(top)
    (path / "a.txt").write_text("three\n")
    _commit(path)
    plain_git(path, "bisect", "start", "HEAD", "HEAD~2")
    return path


# --- is refused -----------------------------------------------------------------------------------


def missing(top: Path) -> Path:
    return top / "missing"


def a_file(top: Path) -> Path:
    return plain(top) / "a.txt"


def no_repository(top: Path) -> Path:
    (top / "plain").mkdir()
    return top / "plain"


def no_commit(top: Path) -> Path:
    (top / "new").mkdir()
    plain_git(top / "new", "init", "-q")
    return top / "new"


def unborn_branch(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "checkout", "-q", "--orphan", "fresh")
    return path


def git_file_to_nowhere(top: Path) -> Path:
    path = top / "left"
    path.mkdir()
    (path / ".git").write_text("gitdir: /nowhere/at/all\n")
    return path


def git_file_of_rubbish(top: Path) -> Path:
    path = top / "left"
    path.mkdir()
    (path / ".git").write_bytes(b"\xff\xfe\0rubbish")
    return path


def git_link_to_nowhere(top: Path) -> Path:
    path = top / "left"
    path.mkdir()
    (path / ".git").symlink_to(top / "gone")
    return path


def worktree_of_what_is_gone(top: Path) -> Path:
    path = linked_worktree(top)
    shutil.rmtree(top / "repo")
    return path


def no_head(top: Path) -> Path:
    path = plain(top)
    (path / ".git/HEAD").unlink()
    return path


def blocked_by_a_branch(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "branch", "blueflame")
    return path


def unreadable(top: Path) -> Path:
    path = plain(top)
    (path / ".git").chmod(0)
    return path


def unreadable_objects(top: Path) -> Path:
    path = plain(top)
    (path / ".git/objects").chmod(0)
    return path


def corrupt_commit(top: Path) -> Path:
    path = plain(top)
    return _corrupted(path, plain_git(path, "rev-parse", "HEAD"))


def corrupt_tree(top: Path) -> Path:
    path = plain(top)
    return _corrupted(path, plain_git(path, "rev-parse", "HEAD^{tree}"))


def corrupt_blob(top: Path) -> Path:
    path = plain(top)
    return _corrupted(path, _blob(path))


def _corrupted(path: Path, name: str) -> Path:
    place = _loose(path, name)
    place.chmod(0o644)
    place.write_bytes(b"rubbish")
    return path


def lying_blob(top: Path) -> Path:
    """An object whose content is not what its name says."""
    path = plain(top)
    place = _loose(path, _blob(path))
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"blob 4\0not\n"))
    return path


def missing_history(top: Path) -> Path:
    path = plain(top)
    _loose(path, plain_git(path, "rev-parse", "HEAD~1")).unlink()
    return path


def missing_alternate(top: Path) -> Path:
    path = with_alternates(top)
    shutil.rmtree(top / "repo")
    return path


def unknown_format(top: Path) -> Path:
    path = plain(top)
    plain_git(path, "config", "core.repositoryFormatVersion", "1")
    plain_git(path, "config", "extensions.fromTheFuture", "yes")
    return path


def reftable(top: Path) -> Path:
    """As a later git makes it; this one does not know the format."""
    return _extended(top, "refStorage", "reftable")


def relative_worktrees(top: Path) -> Path:
    return _extended(top, "relativeWorktrees", "true")


def _extended(top: Path, name: str, value: str) -> Path:
    path = plain(top)
    plain_git(path, "config", "core.repositoryFormatVersion", "1")
    plain_git(path, "config", f"extensions.{name}", value)
    return path


def checkout_elsewhere(top: Path) -> Path:
    path = plain(top)
    (top / "elsewhere").mkdir()
    plain_git(path, "config", "core.worktree", str(top / "elsewhere"))
    return path


def broken_configuration(top: Path) -> Path:
    path = plain(top)
    (path / ".git/config").write_text("[core\nrubbish\n")
    return path


def broken_index(top: Path) -> Path:
    path = plain(top)
    (path / ".git/index").write_bytes(b"rubbish")
    return path


def partial_clone(top: Path) -> Path:
    source = plain(top)
    plain_git(source, "config", "uploadpack.allowFilter", "true")
    options = ("--filter=blob:none", "--no-local", "--no-checkout")
    plain_git(top, "clone", "-q", *options, f"file://{source}", "part")
    return top / "part"


def overlong_name(top: Path) -> Path:
    path = plain(top)
    return _with_entry(path, "100644", _blob(path), "n" * 300)


def overlong_path(top: Path) -> Path:
    path = plain(top)
    return _with_entry(path, "100644", _blob(path), "/".join(["d" * 200] * 20))


def path_that_is_no_text(top: Path) -> Path:
    return plain(top, os.fsdecode(b"caf\xe9"))
