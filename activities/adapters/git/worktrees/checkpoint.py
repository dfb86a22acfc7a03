"""Checkpoints: a commit whose trailers name the turn, and a blob with the turn's observations."""

from pathlib import Path

from activities.adapters.git import loose_objects
from activities.adapters.git.bare_repository import Bare
from activities.ports.host_repository import Checkpoint, CheckpointRequest
from workflows.domain.ids import Commit, SessionId, TaskId, Tree

SESSION, TASK = "Blueflame-Session", "Blueflame-Task"
ATTEMPT, TURN = "Blueflame-Attempt", "Blueflame-Turn"
OBSERVATIONS = "Blueflame-Observations"


def write(folder: Path, request: CheckpointRequest) -> Commit:
    """Store the observations and the commit; no ref moves."""
    blob = loose_objects.write(folder, "blob", request.observations, request.parent)
    trailers = (
        (SESSION, request.session),
        (TASK, request.task),
        (ATTEMPT, str(request.attempt)),
        (TURN, str(request.turn)),
        (OBSERVATIONS, blob),
    )
    title = f"Turn {request.turn} of {request.task}, attempt {request.attempt}"
    message = loose_objects.with_trailers(title, trailers)
    text = loose_objects.commit_text(request.tree, (request.parent,), message, request.when)
    return Commit(loose_objects.write(folder, "commit", text, request.parent))


async def read(bare: Bare, ref: str) -> Checkpoint | None:
    """Return the checkpoint at `ref`; None if there is none, or something else."""
    found = await _commit_at(bare, ref)
    if found is None:
        return None
    commit, text = found
    head, _, message = text.partition("\n\n")
    fields = [line.split(" ", 1) for line in head.splitlines()]
    trailers = loose_objects.read_trailers(message)
    if OBSERVATIONS not in trailers:
        return None
    blob = await bare.git.run(bare.scope(), "cat-file", "blob", trailers[OBSERVATIONS])
    return Checkpoint(
        commit=commit,
        parent=Commit(next(value for key, value in fields if key == "parent")),
        tree=Tree(next(value for key, value in fields if key == "tree")),
        session=SessionId(trailers[SESSION]),
        task=TaskId(trailers[TASK]),
        attempt=int(trailers[ATTEMPT]),
        turn=int(trailers[TURN]),
        observations=blob.stdout,
    )


async def _commit_at(bare: Bare, name: str) -> tuple[Commit, str] | None:
    answer = await bare.git.run(bare.scope(), "cat-file", "--batch", stdin=f"{name}\n".encode())
    head, _, rest = answer.stdout.partition(b"\n")
    match head.decode("utf-8", "replace").split(" "):
        case [found, "commit", size]:
            return Commit(found), rest[: int(size)].decode("utf-8", "replace")
        case _:
            return None
