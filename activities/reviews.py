"""What a review needs from the repository: the diff, and whether cited lines say what is quoted."""

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.host_repository import CommitReader
from activities.repository.host_data import Host
from activities.text.redaction import redact_bytes
from workflows.contracts.host_contracts import CheckEvidence, DiffText, EvidenceChecked, ReadDiff
from workflows.domain.ids import Commit
from workflows.domain.verdict import Evidence
from workflows.policy.gates.weakened_tests import weakened_tests

_DIFF_CHARACTERS = 40_000
_NEARBY_LINES = 3
_PATHS_TOLD = 200


class ReviewActivities:
    """Activities `reviews.diff` and `reviews.evidence`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="reviews.diff")
    async def diff(self, request: ReadDiff) -> DiffText:
        """Show what lies between two commits, cut for a prompt and whole in the store."""
        commits = self._host.commits(request.key)
        with mapped():
            patch = await commits.diff(request.base, request.commit)
            changes = await commits.changed_files(request.base, request.commit)
        patch = redact_bytes(patch)
        text = patch.decode("utf-8", "replace")
        if len(text) > _DIFF_CHARACTERS:
            left = len(text) - _DIFF_CHARACTERS
            text = (
                f"{text[:_DIFF_CHARACTERS]}\n[{left} more characters: use git diff in the worktree]"
            )
        paths = tuple(sorted(change.path for change in changes)[:_PATHS_TOLD])
        weakened = weakened_tests(patch.decode("utf-8", "replace"))
        whole = await self._host.store.put(patch)
        return DiffText(text=text, whole=whole, paths=paths, weakened=weakened)

    @activity.defn(name="reviews.evidence")
    async def evidence(self, request: CheckEvidence) -> EvidenceChecked:
        """Look each citation up in the commit."""
        commits = self._host.commits(request.key)
        with mapped():
            holds = [await _holds(commits, request.commit, each) for each in request.evidence]
        return EvidenceChecked(holds=tuple(holds))


async def _holds(commits: CommitReader, commit: Commit, cited: Evidence) -> bool:
    """Say whether the quote stands at its lines or within three of them, white space apart."""
    content = await commits.read_file(commit, cited.path)
    if content is None or cited.line_end < cited.line_start:
        return False
    lines = content.decode("utf-8", "replace").splitlines()
    first = max(cited.line_start - 1 - _NEARBY_LINES, 0)
    there = " ".join(" ".join(lines[first : cited.line_end + _NEARBY_LINES]).split())
    quote = " ".join(cited.quote.split())
    return bool(quote) and quote in there
