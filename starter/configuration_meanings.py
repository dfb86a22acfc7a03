"""What each key of `blueflame.yaml` means, in one sentence.

For docs/configuration.md and for the JSON Schema; tests hold both, and that no key is left out. In
code spans stand what a person types.
"""

from typing import Final

MEANINGS: Final = {
    "version": "the version of this file's format; the only key that must be there",
    "pacing": "when dependants start: after the merge of a whole wave, or as soon as their "
    "dependencies are validated ([concepts](concepts.md#the-two-pacings))",
    "approvals.plan": "who approves the plan",
    "approvals.changeset": "who approves a changeset",
    "concurrency.plan": "agents that plan at once",
    "concurrency.develop": "agents that develop at once",
    "concurrency.validate": "tasks that are validated at once",
    "concurrency.merge": "merge waves at once",
    "models.planner": "models of the planner, the first that can be used",
    "models.developer": "models of the developers",
    "models.reviewer": "models of the reviewers; at least one of another family than the "
    "developers",
    "budget.warn_usd": "a notice above this spend of a session, in USD",
    "budget.stop_usd": "no call is paid beyond it; what then happens is `on_cap`",
    "budget.burn_usd_per_minute": "above this rate of spending the same happens as at the cap",
    "gates": "the checks that judge each change, by name; `{}` means none",
    "gates.NAME.run": "the command; a text with shell syntax runs under `bash -e -o pipefail`",
    "gates.NAME.timeout": "the longest that it may run",
    "worktree.setup": "commands run in the sandbox, once in each worktree or checkout",
    "worktree.copy": "ignored files of your checkout that builds and tests need",
    "worktree.allow_secret": "files of `copy` that may be copied although they look secret; models "
    "can read them then",
    "attempts": "attempts at a task before it fails",
    "turns": "turns of one agent; reviewers and tasks of kind docs get half",
    "command_timeout": "the longest that one command of an agent may run",
    "sandbox": "`none` runs commands of agents and gates with your own rights; refused in a file "
    "that was found in the repository",
    "deliver": "where finished work goes: the branch `blueflame/<session>`",
    "on_cap": "what reaching the cap does: wait for you, or end the session",
}
"""By dotted key; `NAME` stands for a name that the person gives."""
