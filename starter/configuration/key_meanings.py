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
    "approvals.changeset": "who approves a changeset; `auto_if_green` approves what at least one "
    "gate judged, where none found something new",
    "approvals.unjudged": "what `auto_if_green` and a decisions file do with work that no gate "
    "judged: leave it to you, or take it as green",
    "concurrency.plan": "agents that plan at once",
    "concurrency.develop": "agents that develop at once",
    "concurrency.validate": "tasks that are validated at once",
    "concurrency.merge": "merge waves at once",
    "models.planner": "models of the planner, the first that can be used",
    "models.developer": "models of the developers",
    "models.reviewer": "models of the reviewers; at least one of another family than the "
    "developers",
    "providers": "compatible servers by a name of yours, and time limits of built-in providers "
    "([providers](providers.md)); refused in a file that was found in the repository",
    "providers.NAME.base_url": "its Chat Completions interface, as in `http://127.0.0.1:11434/v1`",
    "providers.NAME.key": "the environment variable that holds its key; left out: it wants none",
    "providers.NAME.family": "who made its models; left out: the provider's name",
    "providers.NAME.abilities.tool_calls": "`false`: no role can use it",
    "providers.NAME.abilities.parallel_tool_calls": "`false`: it is told of one call at a time",
    "providers.NAME.abilities.system_role": "who says the instructions; `user`: they open the "
    "first message",
    "providers.NAME.abilities.reasoning_effort": "sent as it stands; left out: not sent",
    "providers.NAME.abilities.reasoning_replay": "`true`: a model's own turns go back as they "
    "came, its reasoning included",
    "providers.NAME.abilities.max_output_field": "what the server calls the limit of an answer",
    "providers.NAME.abilities.streaming": "`false`: answers are asked for whole",
    "providers.NAME.abilities.prompt_caching": "`true`: one `prompt_cache_key` is sent for each "
    "agent",
    "providers.NAME.timeout_s": "how long one call may take, in seconds; left out: 900",
    "catalogue": "what you know better of models, by `provider/model`; refused in a file that was "
    "found in the repository",
    "catalogue.NAME.family": "who made it; a reviewer must be of another family than the developer",
    "catalogue.NAME.window_tokens": "the longest prompt with its answer",
    "catalogue.NAME.max_output_tokens": "the longest answer, at most half the window",
    "catalogue.NAME.prices.input_usd": "USD per million tokens of input; 0 for a model that costs "
    "nothing",
    "catalogue.NAME.prices.cached_input_usd": "the same for cached input; left out: as other input",
    "catalogue.NAME.prices.output_usd": "the same for output, reasoning included",
    "budget.warn_usd": "a notice above this spend of a session, in USD",
    "budget.stop_usd": "no call is paid beyond it; what then happens is `on_cap`",
    "budget.burn_usd_per_minute": "above this rate of spending the same happens as at the cap",
    "gates": "the checks that judge each change, by name; `{}` means none",
    "gates.NAME.run": "the command; a text with shell syntax runs under `bash -e -o pipefail`",
    "gates.NAME.timeout": "the longest that it may run",
    "worktree.setup": "commands run in the sandbox, once in each worktree or checkout",
    "worktree.network": "hosts that `worktree.setup`, and nothing else, may reach: "
    "`files.example.org` (its ports 443 and 80), `git.example.org:8443`, `*.example.org` "
    "([security](security.md#network-for-set-up)); a file that was found in the repository may "
    "only list what you list yourself",
    "worktree.copy": "ignored files of your checkout that builds and tests need",
    "worktree.allow_secret": "files of `copy` that may be copied, and paths in which work may add "
    "lines, although they look secret; models "
    "can read them then",
    "environment.toolchains": "directories of this machine that commands in the sandbox may read, "
    "each with its `bin` on PATH in this order: `~/.pyenv/versions/3.12.8`, `~/.cargo` "
    "([environments](environments.md)); a file that was found in the repository may only list what "
    "you list yourself",
    "environment.variables": "variables that commands in the sandbox are given, as "
    "`{RUSTUP_HOME: ~/.rustup}`; agents can read them",
    "attempts": "attempts at a task before it fails",
    "turns": "turns of one agent; reviewers and tasks of kind docs get half",
    "command_timeout": "the longest that one command of an agent may run",
    "limits.changed_files": "files that the work of one task may change",
    "limits.file_bytes": "the largest file that it may write",
    "limits.changed_bytes": "all that it may write together",
    "sandbox": "`none` runs commands of agents and gates with your own rights, on workers that "
    "`run` starts then, or `up` with `BLUEFLAME_SANDBOX=none`; workers that have a sandbox keep to "
    "it. Refused in a file that was found in the repository",
    "policy.planner_tools": "tools that the planner is offered and may call",
    "policy.developer_tools": "tools that developers are offered and may call",
    "policy.reviewer_tools": "tools that reviewers are offered and may call",
    "policy.allow_commands": "only commands that certainly fit one of these run",
    "policy.deny_commands": "commands that may fit one of these never run, whatever allows them",
    "policy.lift": "built-in rules that do not hold",
    "policy.read_paths": "all that the tool `read`, and commands that plainly read files, get",
    "policy.write_paths": "all that a task may write of what it claims",
    "policy.blocked_paths": "neither read nor written",
    "policy.protected_paths": "never written, whatever a task claims, beside the built-in set; "
    "a baseline's tests, say",
    "deliver": "where finished work goes: the branch `blueflame/<session>`",
    "on_cap": "what reaching the cap does: wait for you, or end the session",
}
"""By dotted key; `NAME` stands for a name that the person gives."""
