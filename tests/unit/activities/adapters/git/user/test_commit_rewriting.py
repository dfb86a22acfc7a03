"""Signatures, names and trailers of the delivered branch: real git, real keys of the test's own."""

import shutil
import subprocess
from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.ports.merge_values import Merged, MergePart, TaskCommit
from activities.ports.user_repository import Landed, LandOutcome, LandRequest, Refused
from tests.unit.activities.adapters.git.home import BRANCH, RESULT, WHEN, Home, write
from workflows.domain.evolution import evolve
from workflows.domain.ids import Commit
from workflows.domain.session.session_config import CommitsConfig

ME = "Ann Example <ann@example.org>"
TRAILERS = (("Blueflame-Session", "s1"), ("Blueflame-Task", "t"), ("Blueflame-Attempt", "1"))
_KEYGEN = """#!/bin/sh
# ssh-keygen refuses a user without a name; as the root of a namespace of its own it has one.
id -un >/dev/null 2>&1 && exec ssh-keygen "$@"
exec unshare --map-root-user ssh-keygen "$@"
"""
_CERTIFICATE = """Key-Type: RSA
Key-Length: 2048
Key-Usage: sign
Serial: random
Name-DN: CN=Ann Example
Name-Email: ann@example.org
"""
_GNUPG = {"openpgp": "gpg", "x509": "gpgsm"}
needs_keys = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")


@dataclass
class Signer:
    """A repository whose person has git set up to sign, and the session's work for it."""

    home: Home
    commits: CommitsConfig
    head: Commit | None = None
    old: Commit | None = None
    source: Commit | None = None

    async def work(self, name: str) -> Commit:
        """Merge one more task into the session's branch."""
        home = self.home
        place = await home.start(name)
        write(place, {f"{name}.txt": f"{name}\n"})
        tree = (await home.collect(name)).tree
        task = TaskCommit(
            base=home.base, tree=tree, message=f"Add {name}\n\nWhy.", trailers=TRAILERS, when=WHEN
        )
        part = MergePart(
            commit=await home.host.squash(task),
            message=f"Merge {name}\n\nBlueflame-Session: s1",
        )
        merged = await home.host.merge(self.head or home.base, (part,), WHEN + timedelta(hours=1))
        assert isinstance(merged, Merged)
        await home.host.advance(RESULT, merged.commit, self.head)
        self.head = merged.commit
        return merged.commit

    async def request(self, *heads: Commit) -> LandRequest:
        """Return the request that lands all that is merged."""
        return LandRequest(
            path=self.home.path,
            bundle=await self.home.host.bundle(RESULT, self.source or self.home.base),
            ref=BRANCH,
            old=self.old,
            new=self.head or self.home.base,
            commits=self.commits,
            since=self.home.base,
            source=self.source,
            heads=heads,
        )

    async def land(self, *heads: Commit) -> LandOutcome:
        """Land all that is merged."""
        outcome = await self.home.user.land(await self.request(*heads))
        if isinstance(outcome, Landed):
            self.old, self.source = outcome.commit, self.head
        return outcome

    def log(self, form: str, *more: str) -> list[str]:
        """Return a line for each commit of the branch, the newest first."""
        span = f"{self.home.base}..{BRANCH}"
        return self.home.run("log", "--topo-order", f"--format={form}", *more, span).splitlines()

    def verified(self, *more: str) -> list[str]:
        """Return git's own word on each signature; `more` are further settings."""
        allowed = f"gpg.ssh.allowedSignersFile={self.home.top / 'allowed'}"
        span = f"{self.home.base}..{BRANCH}"
        program = f"gpg.ssh.program={self.home.top / 'keygen'}"
        options = [part for each in (allowed, program, *more) for part in ("-c", each)]
        for commit in self.log("%H"):
            self.home.run(*options, "verify-commit", commit)
        return self.home.run(*options, "log", "--format=%G?", span).split()


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    """Return a person with an ssh key and a global configuration that signs with it."""
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    signing = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    home.person = replace(home.person, signing=signing)
    home.user = GitUserRepository(home.git, home.person)
    write(
        tmp_path,
        {
            "keygen": _KEYGEN,
            ".gitconfig": "[user]\n name = Ann Example\n email = ann@example.org\n"
            f" signingkey = {tmp_path}/key.pub\n[gpg]\n format = ssh\n"
            f'[gpg "ssh"]\n program = {tmp_path}/keygen\n'
            "[commit]\n gpgsign = true\n",
        },
    )
    (tmp_path / "keygen").chmod(0o755)
    return Signer(home, CommitsConfig())


def make_key(home: Home, phrase: str = "") -> None:
    """Make the person's key."""
    key = home.top / "key"
    arguments = ("-q", "-t", "ed25519", "-N", phrase, "-C", "ann@example.org", "-f", str(key))
    subprocess.run([str(home.top / "keygen"), *arguments], check=True)
    public = (home.top / "key.pub").read_text()
    (home.top / "allowed").write_text(f"ann@example.org {public}")


@needs_keys
async def test_every_commit_is_signed_by_the_person_and_verifies(signer: Signer):
    make_key(signer.home)
    await signer.work("one")
    first = await signer.work("two")
    outcome = await signer.land(first)
    assert isinstance(outcome, Landed), outcome
    assert outcome.commits == {first: outcome.commit}
    assert signer.verified() == ["G"] * 3
    assert set(signer.log("%cn <%ce>")) == {ME}
    assert set(signer.log("%an")) == {"Blue Flame"}
    trees = [signer.home.run("rev-parse", f"{each}^{{tree}}") for each in (first, BRANCH)]
    assert trees[0] == trees[1]
    assert signer.home.run("rev-list", "--count", "--merges", BRANCH) == "1"
    signer.home.run("fsck", "--strict")


@pytest.mark.parametrize("author", ["blueflame", "me"])
async def test_a_part_of_what_a_lost_wave_landed_is_landed(
    signer: Signer, author: Literal["blueflame", "me"]
):
    """The wave was terminated after its delivery, and only some of its work is merged again."""
    signer.commits = CommitsConfig(author=author, sign="never")
    home = signer.home
    first, second = await signer.work("one"), await signer.work("two")
    whole = await signer.request()
    assert isinstance(await home.user.land(whole), Landed)
    held = home.run("rev-parse", BRANCH)
    bundle = await home.host.bundle(first, home.base)
    part = await home.user.land(evolve(whole, {"new": first, "bundle": bundle}))
    assert isinstance(part, Landed), part
    trees = [home.run("rev-parse", f"{each}^{{tree}}") for each in (first, part.commit)]
    assert trees[0] == trees[1]
    home.run("merge-base", "--is-ancestor", part.commit, BRANCH)
    assert home.run("rev-parse", BRANCH) == held
    signer.old, signer.source = part.commit, first
    rest = await signer.land()
    assert isinstance(rest, Landed), rest
    assert (rest.commit, signer.head) == (held, second)


@pytest.fixture
def key_ring(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Return a folder for keys of GnuPG: its agent's socket needs a short path."""
    place = tmp_path_factory.mktemp("gpg")
    place.chmod(0o700)
    # Otherwise the agent first measures how many rounds take a tenth of a second.
    write(place, {"gpg-agent.conf": "s2k-count 65536\n"})
    yield place
    subprocess.run(["gpgconf", "--homedir", str(place), "--kill", "all"], check=True)


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, marks=pytest.mark.skipif(not shutil.which(program), reason="no program"))
        for form, program in _GNUPG.items()
    ],
)
async def test_gnupg_signs_too_without_asking_for_a_passphrase(
    signer: Signer, key_ring: Path, form: str
):
    home = signer.home
    make_gnupg_key(key_ring, form)
    set_up_gnupg(home, key_ring, form)
    await signer.work("one")
    first = await signer.work("two")
    outcome = await signer.land(first)
    assert isinstance(outcome, Landed), outcome
    assert outcome.notice == ""
    assert signer.verified(f"gpg.{form}.program={home.top / form}") == ["G"] * 3


@pytest.mark.skipif(not shutil.which("gpg"), reason="no gpg")
async def test_a_key_of_gnupg_that_asks_for_a_passphrase_is_not_waited_for(
    signer: Signer, key_ring: Path
):
    make_gnupg_key(key_ring, "openpgp", "a passphrase")
    set_up_gnupg(signer.home, key_ring, "openpgp")
    await signer.work("one")
    outcome = await signer.land()
    assert isinstance(outcome, Landed)
    assert "the commits have no signature" in outcome.notice
    assert signer.log("%G?") == ["N"]


def make_gnupg_key(place: Path, form: str, phrase: str = "") -> None:
    """Make the person's key, and trust it; the agent forgets the passphrase."""
    program = ("--homedir", str(place), "--batch", "-q", "--pinentry-mode", "loopback")
    if form == "openpgp":
        asked = ("--quick-generate-key", "Ann Example <ann@example.org>", "ed25519", "sign")
        _gnupg("gpg", *program, "--passphrase", phrase, *asked, "never")
    else:
        write(place, {"asked": _CERTIFICATE, "gpgsm.conf": "disable-crl-checks\n"})
        made = _gnupg(
            "gpgsm", *program, "--passphrase-fd", "0", "--generate-key", "asked", at=place
        )
        (place / "certificate").write_bytes(made)
        _gnupg("gpgsm", *program, "--import", "certificate", at=place)
        keys = _gnupg("gpgsm", *program, "--with-colons", "--list-keys").decode().splitlines()
        print_of = next(line.split(":")[9] for line in keys if line.startswith("fpr:"))
        write(place, {"trustlist.txt": f"{print_of} S relax\n"})
    subprocess.run(["gpgconf", "--homedir", str(place), "--kill", "all"], check=True)


def _gnupg(*argv: str, at: Path | None = None) -> bytes:
    return subprocess.run(argv, cwd=at, input=b"\n", capture_output=True, check=True).stdout


def set_up_gnupg(home: Home, place: Path, form: str) -> None:
    """Let the person's git sign with a key of GnuPG, and let `verified` ask the same keys."""
    home.person = replace(home.person, signing={**home.person.signing, "GNUPGHOME": str(place)})
    home.user = GitUserRepository(home.git, home.person)
    program = home.top / form
    write(
        home.top,
        {
            ".gitconfig": "[user]\n name = Ann Example\n email = ann@example.org\n"
            f" signingkey = ann@example.org\n[gpg]\n format = {form}\n[commit]\n gpgsign = true\n",
            form: f'#!/bin/sh\nexec {_GNUPG[form]} --homedir {place} "$@"\n',
        },
    )
    program.chmod(0o755)


@needs_keys
async def test_a_later_delivery_continues_the_signed_branch(signer: Signer):
    make_key(signer.home)
    await signer.work("one")
    await signer.land()
    before = signer.old
    await signer.work("two")
    outcome = await signer.land()
    assert isinstance(outcome, Landed), outcome
    signer.home.run("merge-base", "--is-ancestor", str(before), BRANCH)
    assert signer.verified() == ["G"] * 3
    assert len(signer.log("%H")) == 3


@needs_keys
async def test_a_person_to_whom_git_shows_signatures_gets_later_deliveries_too(signer: Signer):
    make_key(signer.home)
    signer.home.run("config", "log.showSignature", "true")
    await signer.work("a")
    assert isinstance(await signer.land(), Landed)
    await signer.work("b")
    assert isinstance(await signer.land(), Landed)


@needs_keys
async def test_a_repeated_delivery_finds_what_the_lost_one_made(signer: Signer):
    """A signature may hold the time, so making the commits again would give others."""
    make_key(signer.home)
    head = await signer.work("one")
    request = await signer.request(head)
    first = await signer.home.user.land(request)
    assert isinstance(first, Landed)
    signer.home.run("config", "user.name", "Another")
    assert await signer.home.user.land(request) == first
    assert signer.home.run("rev-parse", BRANCH) == first.commit


@needs_keys
async def test_a_branch_that_a_person_moved_is_not_overwritten(signer: Signer):
    make_key(signer.home)
    await signer.work("one")
    await signer.land()
    signer.home.run("update-ref", BRANCH, signer.home.base)
    await signer.work("two")
    outcome = await signer.land()
    assert isinstance(outcome, Refused)
    assert outcome.reason == "moved"
    assert signer.home.run("rev-parse", BRANCH) == signer.home.base


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sign", ["auto", "always"])
@pytest.mark.parametrize("key", ["missing", pytest.param("locked", marks=needs_keys)])
async def test_a_key_that_cannot_be_used_is_told(signer: Signer, sign: str, key: str):
    if key == "locked":
        make_key(signer.home, "a passphrase")
    signer.commits = evolve(signer.commits, {"sign": sign})
    await signer.work("one")
    outcome = await signer.land()
    if sign == "always":
        assert isinstance(outcome, Refused)
        assert outcome.reason == "unsigned"
        assert "`commits.sign`" in outcome.text
        assert signer.home.run("for-each-ref", BRANCH) == ""
    else:
        assert isinstance(outcome, Landed)
        assert "the commits have no signature" in outcome.notice
        assert signer.log("%G?") == ["N"]


@needs_keys
async def test_what_was_delivered_unsigned_is_not_made_again_once_the_key_is_there(signer: Signer):
    await signer.work("one")
    await signer.land()
    before = signer.old
    make_key(signer.home)
    await signer.work("two")
    assert isinstance(await signer.land(), Landed)
    signer.home.run("merge-base", "--is-ancestor", str(before), BRANCH)
    assert len(signer.log("%H")) == 3
    allowed = f"gpg.ssh.allowedSignersFile={signer.home.top / 'allowed'}"
    program = f"gpg.ssh.program={signer.home.top / 'keygen'}"
    signer.home.run("-c", allowed, "-c", program, "verify-commit", BRANCH)


async def test_without_a_setting_in_git_the_commits_are_delivered_as_they_are(signer: Signer):
    (signer.home.top / ".gitconfig").write_text("")
    head = await signer.work("one")
    outcome = await signer.land(head)
    assert outcome == Landed(ref=BRANCH, commit=head)
    assert set(signer.log("%an %ae %cn")) == {"Blue Flame blueflame@localhost Blue Flame"}


async def test_the_person_is_the_author_with_blue_flame_beside_them(signer: Signer):
    signer.commits = CommitsConfig(author="me", sign="never", trailers=("task", "co_author"))
    await signer.work("one")
    outcome = await signer.land()
    assert isinstance(outcome, Landed), outcome
    assert signer.log("%an <%ae>|%cn <%ce>") == [f"{ME}|{ME}"]
    message = signer.home.run("log", "-1", "--format=%B", BRANCH)
    assert message == (
        "Add one\n\nWhy.\n\nBlueflame-Task: t\nCo-authored-by: Blue Flame <blueflame@localhost>"
    )
    assert signer.log("%at") == [str(int(WHEN.timestamp()))]


async def test_no_trailer_is_left_if_none_is_wanted(signer: Signer):
    signer.commits = CommitsConfig(sign="never", trailers=())
    await signer.work("one")
    assert isinstance(await signer.land(), Landed)
    assert signer.home.run("log", "-1", "--format=%B", BRANCH) == "Add one\n\nWhy."


async def test_a_signer_whom_git_does_not_know_gets_the_work_unsigned(signer: Signer):
    (signer.home.top / ".gitconfig").write_text("[commit]\n gpgsign = true\n")
    await signer.work("one")
    outcome = await signer.land()
    assert isinstance(outcome, Landed)
    assert "set user.name and user.email" in outcome.notice


async def test_a_person_whom_git_does_not_know_is_told(signer: Signer):
    (signer.home.top / ".gitconfig").write_text("")
    signer.commits = CommitsConfig(author="me", sign="never")
    await signer.work("one")
    outcome = await signer.land()
    assert isinstance(outcome, Refused)
    assert "set user.name and user.email" in outcome.text
