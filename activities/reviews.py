"""What a review needs from the repository: the diff, and whether cited lines say what is quoted."""

from bisect import bisect_right
from itertools import accumulate

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.host_repository import CommitReader
from activities.repository.host_data import Host
from activities.text.patch_text import patch_text
from activities.text.redaction import redact_bytes
from workflows.contracts.host_contracts import CheckEvidence, DiffText, EvidenceChecked, ReadDiff
from workflows.domain.verdict import Evidence, EvidencePlace
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
        text = patch_text(patch)
        weakened = weakened_tests(text)
        if len(text) > _DIFF_CHARACTERS:
            left = len(text) - _DIFF_CHARACTERS
            text = (
                f"{text[:_DIFF_CHARACTERS]}\n[{left} more characters: use git diff in the worktree]"
            )
        paths = tuple(sorted(change.path for change in changes)[:_PATHS_TOLD])
        whole = await self._host.store.put(patch)
        return DiffText(text=text, whole=whole, paths=paths, weakened=weakened)

    @activity.defn(name="reviews.evidence")
    async def evidence(self, request: CheckEvidence) -> EvidenceChecked:
        """Look each citation up in the commit, and whether the work changed its lines."""
        commits = self._host.commits(request.key)
        with mapped():
            places = [await _place(commits, request, each) for each in request.evidence]
        return EvidenceChecked(places=tuple(places))


async def _place(commits: CommitReader, asked: CheckEvidence, cited: Evidence) -> EvidencePlace:
    """Say where the quote stands, at its lines or within three of them, white space apart."""
    content = await commits.read_file(asked.commit, cited.path)
    if content is None or cited.line_end < cited.line_start:
        return EvidencePlace.ABSENT
    lines = content.decode("utf-8", "replace").split("\n")
    found = _found(cited, lines)
    if not found:
        return EvidencePlace.ABSENT
    changed = await commits.changed_lines(asked.base, asked.commit, cited.path)
    is_changed = any(
        first <= end and start <= last for first, last in found for start, end in changed
    )
    return EvidencePlace.CHANGED if is_changed else EvidencePlace.UNCHANGED


def _found(cited: Evidence, lines: list[str]) -> list[tuple[int, int]]:
    """Return the first and last line, from 1, of each place near the cited lines with the quote."""
    quote = " ".join(cited.quote.split())
    first = max(cited.line_start - 1 - _NEARBY_LINES, 0)
    near = [" ".join(line.split()) for line in lines[first : cited.line_end + _NEARBY_LINES]]
    text = " ".join(line for line in near if line)
    numbers = [first + place for place, line in enumerate(near, 1) if line]
    ends = list(accumulate((len(line) + 1 for line in near if line), initial=0))[1:]
    places: list[tuple[int, int]] = []
    at = text.find(quote) if quote else -1
    while at >= 0:
        begin, end = bisect_right(ends, at), bisect_right(ends, at + len(quote) - 1)
        places.append((numbers[begin], numbers[end]))
        at = text.find(quote, at + 1)
    return places
