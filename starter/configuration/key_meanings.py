"""What each key of `blueflame.yaml` means, in one sentence.

For docs/configuration.md and for the JSON Schema; tests hold both, and that no key is left out. In
code spans stand what a person types.
"""

from typing import Final

MEANINGS: Final = {
    "version": "the version of this file's format; the only required key",
    "pacing": "when dependants start: after the merge of a whole wave, or as soon as their "
    "dependencies are validated ([concepts](concepts.md#the-two-pacings))",
    "approvals.plan": "who approves the plan",
    "approvals.changeset": "who approves a changeset; `auto_if_green` approves what at least one "
    "gate judged, where none found something new",
    "approvals.questions": "who answers what agents ask; `auto`: no one, they decide themselves",
    "approvals.unjudged": "what `auto_if_green` and a decisions file do with work that no gate "
    "judged: leave it to you, or take it as green",
    "approvals.unjudged_base": "what a session does where no gate judges the base: stop before a "
    "model is paid, or go on ([environments](environments.md#a-base-that-no-gate-judges))",
    "concurrency.plan": "planners that run at once",
    "concurrency.develop": "developers that run at once",
    "concurrency.validate": "tasks that are validated at once",
    "concurrency.merge": "merge waves that run at once",
    "models.planner": "models of the planner, the first that can be used",
    "models.developer": "models of the developers",
    "models.reviewer": "models of the reviewers; those of the author's family are asked "
    "only where there is no other, and a notice says so",
    "providers": "compatible servers, each under a name that you choose, and time "
    "limits of built-in providers ([providers](providers.md)); refused in a file that was found in "
    "the repository",
    "providers.NAME.base_url": "its Chat Completions interface, as in `http://127.0.0.1:11434/v1`",
    "providers.NAME.key": "the environment variable that holds its key; left out: it needs no key",
    "providers.NAME.family": "who made its models; left out: the provider's name",
    "providers.NAME.abilities.tool_calls": "`false`: it cannot be used for any role",
    "providers.NAME.abilities.parallel_tool_calls": "`false`: it is asked for one call at a time",
    "providers.NAME.abilities.system_role": "the role that carries the instructions; `user`: "
    "they open the first message",
    "providers.NAME.abilities.reasoning_effort": "sent as it stands; left out: not sent",
    "providers.NAME.abilities.reasoning_replay": "`true`: a model's own turns go back as they "
    "came, its reasoning included",
    "providers.NAME.abilities.max_output_field": "what the server calls the limit of an answer",
    "providers.NAME.abilities.streaming": "`false`: answers are asked for whole",
    "providers.NAME.abilities.prompt_caching": "`true`: one `prompt_cache_key` is sent for each "
    "agent",
    "providers.NAME.timeout_s": "how long one call may take, in seconds; left out: 900",
    "catalogue": "what you know about models that Blue Flame does not, by `provider/model`; "
    "refused in a file that was found in the repository",
    "catalogue.NAME.family": "who made it; reviewers of another family than the developer are "
    "preferred",
    "catalogue.NAME.window_tokens": "the longest prompt with its answer",
    "catalogue.NAME.max_output_tokens": "the longest answer, at most half the window",
    "catalogue.NAME.prices.input_usd": "USD per million input tokens; 0 for a free model",
    "catalogue.NAME.prices.cached_input_usd": "the same for cached input; left out: as other input",
    "catalogue.NAME.prices.output_usd": "the same for output, reasoning included",
    "budget.warn_usd": "a notice above this spend of a session, in USD",
    "budget.stop_usd": "no call is paid beyond it; `on_cap` says what happens then",
    "budget.burn_usd_per_minute": "at a higher rate of spending the same happens as at the cap",
    "gates": "the checks that judge each change, by name; `{}` means none",
    "gates.NAME.run": "the command; a text with shell syntax runs under `bash -e -o pipefail`",
    "gates.NAME.timeout": "the longest time that it may run",
    "gates.NAME.cheap": "it runs first, and where it finds something new the others are spared",
    "gates.NAME.paths": "it runs only on changes that touch one of these; none: on all",
    "worktree.setup": "commands run in the sandbox, once for all worktrees and checkouts that it "
    "fits ([environments](environments.md#set-up-once))",
    "worktree.setup_timeout": "the longest time that each of them may run",
    "worktree.network": "hosts that `worktree.setup`, and nothing else, may reach: "
    "`files.example.org` (its ports 443 and 80), `git.example.org:8443`, `*.example.org` "
    "([security](security.md#network-for-set-up)); a file that was found in the repository may "
    "only list what you list yourself",
    "worktree.copy": "ignored files, folders and patterns of your checkout that builds need",
    "worktree.allow_secret": "files of `copy` that may be copied, and paths in which work may add "
    "lines, although they look secret; models "
    "can read them then",
    "environment.toolchains": "directories of this machine that commands in the sandbox may read, "
    "each with its `bin` on PATH in this order: `~/.pyenv/versions/3.12.8`, `~/.cargo` "
    "([environments](environments.md)); a file that was found in the repository may only list what "
    "you list yourself",
    "environment.root": "an unpacked image of this machine, shown read-only in place of its own "
    "programs ([environments](environments.md#a-root-folder)); a file that was found in the "
    "repository may only name what you name yourself",
    "environment.variables": "variables that commands in the sandbox are given, as "
    "`{RUSTUP_HOME: ~/.rustup}`; agents can read them",
    "environment.registries": "what you know about package registries that `worktree.network` "
    "lists, as `[{host: mirror.example.org, private: true}]` "
    "([environments](environments.md#registries)); refused in a file that was found in the "
    "repository",
    "environment.upstream_proxy": "the HTTP proxy through which set-up reaches other hosts than "
    "private registries, as `http://proxy.example.org:3128`; its name and password stand in your "
    "`~/.netrc`; refused in a file that was found in the repository",
    "environment.no_proxy": "hosts that set-up reaches without that proxy; refused in a file that "
    "was found in the repository",
    "environment.ca_file": "certificates in PEM form that set-up trusts besides the system's; "
    "refused in a file that was found in the repository",
    "plans": "plans that the planner makes at most: the first, and one after each rejection",
    "environment.memory_mb": "the most memory that one command in the sandbox may use with all its "
    "processes, in MB of 2^20 bytes; a file that was found in the repository may only lower these "
    "four",
    "environment.processes": "the most processes that one command may have at once",
    "environment.file_mb": "the largest file that one command may write, in MB",
    "environment.disk_mb": "by how much one command may let its workspace grow, in MB",
    "attempts": "attempts at a task before it fails",
    "turns": "turns of one agent; reviewers and tasks of kind docs get half",
    "agents.planner": "what a planner may use ([agents](concepts.md#what-one-agent-may-use)): "
    "`turns`, `time` in all, `stall_time` without progress, `usd`, `output_tokens` of one answer, "
    "and the `effort` of its thinking (`low`, `medium`, `high`, `xhigh`; left out: the "
    "provider's own); a file that was found in the repository may only lower them",
    "agents.developer": "the same for developers; under `kinds` what differs by the kind of task "
    "(`code`, `tests`, `docs`, `refactor`, `architecture`, `security`)",
    "agents.reviewer": "the same for reviewers",
    "command_timeout": "the longest time that one command of an agent may run",
    "limits.changed_files": "files that the work of one task may change",
    "limits.file_bytes": "the largest file that it may write",
    "limits.changed_bytes": "the total size of all that it may write",
    "sandbox": "`none` runs commands of agents and gates with your own rights, on workers that "
    "`run` starts then, or `up` with `BLUEFLAME_SANDBOX=none`; workers that have a sandbox keep to "
    "it. Refused in a file that was found in the repository",
    "policy.planner_tools": "tools that the planner is offered and may call",
    "policy.developer_tools": "tools that developers are offered and may call",
    "policy.reviewer_tools": "tools that reviewers are offered and may call",
    "policy.allow_commands": "only commands that certainly match one of these run",
    "policy.deny_commands": "commands that may match one of these never run, even if "
    "they are allowed",
    "policy.lift": "built-in rules that do not apply",
    "policy.read_paths": "the only files that the tool `read`, and commands that plainly "
    "read files, may read",
    "policy.write_paths": "the only files that a task may write, within its claims",
    "policy.blocked_paths": "neither read nor written",
    "policy.protected_paths": "never written, whatever a task claims, in addition to the built-in "
    "set; for example the tests of a baseline",
    "deliver": "where finished work goes: the branch `blueflame/<session>`",
    "on_cap": "what reaching the cap does: wait for you, or end the session",
}
"""By dotted key; `NAME` stands for a name that the person gives."""
