"""What each key of `blueflame.yaml` means, in one sentence.

For docs/configuration.md and for the JSON Schema; tests hold both, and that no key is left out. In
code spans stand what a person types.
"""

from typing import Final

MEANINGS: Final = {
    "version": "the version of this file's format; the only required key",
    "pacing": "when a task's dependants start: `wave` after a whole wave is merged, `flow` as "
    "soon as their dependencies are validated ([concepts](concepts.md#the-two-pacings))",
    "approvals.plan": "`ask`: you approve the plan; `auto`: it is approved without asking you",
    "approvals.changeset": "`ask`: you approve each changeset; `auto_if_green`: it is approved if "
    "at least one gate judged it and no gate found something new",
    "approvals.questions": "`ask`: you answer agents' questions; `auto`: agents are told to "
    "decide themselves",
    "approvals.unjudged": "what `auto_if_green` and a decisions file do with work that no gate "
    "judged: `ask` leaves it to you, `allow` treats it as green",
    "approvals.unjudged_base": "what a session does if no gate can judge the base: `stop` ends it "
    "before a model is paid, `allow` continues "
    "([environments](environments.md#a-base-that-no-gate-judges))",
    "concurrency.plan": "planners that run at once",
    "concurrency.develop": "developers that run at once",
    "concurrency.validate": "tasks that are validated at once",
    "concurrency.merge": "merge waves that run at once",
    "models.planner": "models for the planner, in order of preference",
    "models.developer": "models for the developers, in order of preference",
    "models.reviewer": "models for the reviewers, in order of preference; a model of the "
    "developer's family reviews only if no model of another family is configured, and a notice "
    "says so",
    "providers": "servers that you add, each under a name that you choose; also time limits of "
    "built-in providers ([providers](providers.md)). A repository's file may only repeat your own "
    "entries",
    "providers.NAME.base_url": "address of the server's Chat Completions interface, such as "
    "`http://127.0.0.1:11434/v1`",
    "providers.NAME.key": "name of the environment variable that holds the server's key; without "
    "it, no key is sent",
    "providers.NAME.family": "who made the server's models; default: the provider's name",
    "providers.NAME.abilities.tool_calls": "`false`: the models cannot call tools, so no role can "
    "use them",
    "providers.NAME.abilities.parallel_tool_calls": "`false`: the model is told to make one tool "
    "call at a time",
    "providers.NAME.abilities.system_role": "the role of the message with the instructions; "
    "`user` puts them at the start of the first message",
    "providers.NAME.abilities.reasoning_effort": "sent to the server unchanged; by default not "
    "sent",
    "providers.NAME.abilities.reasoning_replay": "`true`: the model gets its own earlier turns "
    "back unchanged, with their reasoning",
    "providers.NAME.abilities.max_output_field": "the request field that limits the length of an "
    "answer",
    "providers.NAME.abilities.streaming": "`false`: answers are not streamed",
    "providers.NAME.abilities.prompt_caching": "`true`: requests carry a `prompt_cache_key`, one "
    "for each agent",
    "providers.NAME.timeout_s": "time limit of one call, in seconds; default: 900",
    "catalogue": "facts about models that Blue Flame does not know, by `provider/model`. A "
    "repository's file may only repeat your own entries",
    "catalogue.NAME.family": "who made the model; Blue Flame prefers reviewers from another "
    "family than the developer's",
    "catalogue.NAME.window_tokens": "the context window: prompt and answer together",
    "catalogue.NAME.max_output_tokens": "the longest answer; at most half the window",
    "catalogue.NAME.prices.input_usd": "USD per million input tokens; 0 for a free model",
    "catalogue.NAME.prices.cached_input_usd": "USD per million cached input tokens; default: "
    "`input_usd`",
    "catalogue.NAME.prices.output_usd": "USD per million output tokens, reasoning included",
    "budget.warn_usd": "a session that has spent more than this, in USD, shows a notice",
    "budget.stop_usd": "the cap of a session, in USD: no call is paid beyond it; `on_cap` says "
    "what happens then",
    "budget.burn_usd_per_minute": "the highest rate of spending; a higher rate has the same "
    "effect as reaching the cap",
    "gates": "the commands that judge each change, by name; `{}` means none",
    "gates.NAME.run": "the command; a string with shell syntax runs under `bash -e -o pipefail`",
    "gates.NAME.timeout": "time limit of the gate",
    "gates.NAME.cheap": "`true`: the gate runs before the others; if it finds something new, "
    "they do not run",
    "gates.NAME.paths": "the gate runs only on changes that touch one of these paths; without "
    "paths, on every change ([concepts](concepts.md#the-gates))",
    "worktree.setup": "commands that install what the project needs; they run in the sandbox, "
    "once for all worktrees and checkouts that can share the result "
    "([environments](environments.md#set-up-once))",
    "worktree.setup_timeout": "time limit of each set-up command",
    "worktree.network": "the only hosts that set-up may reach: `files.example.org` (ports 443 and "
    "80), `git.example.org:8443`, `*.example.org` ([security](security.md#network-for-set-up)). "
    "All other commands reach no host. A repository's file may list only hosts that you list",
    "worktree.copy": "files, folders and patterns that git ignores in your checkout, but builds "
    "and tests need ([environments](environments.md#copied-files))",
    "worktree.allow_secret": "paths that may contain what looks like a secret: `copy` may copy "
    "these files, and a task may add lines to them that look like a key. Models can then read "
    "them. Refused in a repository's file",
    "worktree.history": "how much of the base's history worktrees hold: `full`, so many commits "
    "deep (as `git fetch --depth` counts), or `auto`: all of it, unless the repository's objects "
    "take more than 1 GiB ([environments](environments.md#large-histories))",
    "environment.toolchains": "directories of this machine that commands in the sandbox may read: "
    "`~/.pyenv/versions/3.12.8`, `~/.cargo`. The `bin` of each is on PATH, in this order "
    "([environments](environments.md)). A repository's file may list only toolchains that you list",
    "environment.root": "an unpacked image on this machine; the sandbox shows it read-only in "
    "place of the machine's programs ([environments](environments.md#a-root-folder)). A "
    "repository's file may only repeat your own value",
    "environment.variables": "variables for commands in the sandbox, such as `{RUSTUP_HOME: "
    "~/.rustup}`; agents can read them",
    "environment.registries": "details of package registries that `worktree.network` lists, such "
    "as `[{host: mirror.example.org, private: true}]` "
    "([environments](environments.md#registries)). A repository's file may only repeat your own "
    "value",
    "environment.upstream_proxy": "the HTTP proxy through which set-up reaches hosts, except "
    "private registries and `no_proxy`: `http://proxy.example.org:3128`. Its login comes from "
    "your `~/.netrc`. A repository's file may only repeat your own value",
    "environment.no_proxy": "hosts that set-up reaches without `upstream_proxy`. A repository's "
    "file may only repeat your own value",
    "environment.ca_file": "a PEM file with certificates that set-up trusts in addition to the "
    "system's. A repository's file may only repeat your own value",
    "environment.memory_mb": "the most memory that one command in the sandbox may use with all its "
    "processes, in MB of 2^20 bytes. A repository's file may only lower this value and the next "
    "three",
    "environment.processes": "the most processes that one command may have at once",
    "environment.file_mb": "the largest file that one command may write, in MB",
    "environment.disk_mb": "how much one command may add to its workspace, in MB",
    "plans": "the most plans that the planner makes: the first, and one after each rejection",
    "attempts": "how many attempts a task has before it fails",
    "turns": "how many turns one agent has; reviewers, and agents of tasks of kind `docs`, have "
    "half",
    "agents.planner": "limits of the planner: `turns`, `time`, `stall_time`, `usd`, "
    "`output_tokens`; and its `effort` (`low`, `medium`, `high`, `xhigh`). [Agents]"
    "(concepts.md#what-one-agent-may-use) explains them. A repository's file may only lower the "
    "limits",
    "agents.developer": "the same for developers; `kinds` sets other values for a kind of task "
    "(`code`, `tests`, `docs`, `refactor`, `architecture`, `security`)",
    "agents.reviewer": "the same for reviewers",
    "command_timeout": "time limit of one command of an agent",
    "limits.changed_files": "how many files the work of one task may change",
    "limits.file_bytes": "the largest file that a task may write, in bytes",
    "limits.changed_bytes": "the total size of the files that a task may write, in bytes",
    "sandbox": "`none` runs the commands of agents and gates without a sandbox, with your own "
    "permissions. The workers must allow it: those that `run` starts do; for `up`, set "
    "`BLUEFLAME_SANDBOX=none`. `none` is refused in a repository's file",
    "policy.planner_tools": "tools that the planner may call",
    "policy.developer_tools": "tools that developers may call",
    "policy.reviewer_tools": "tools that reviewers may call",
    "policy.allow_commands": "a command runs only if it certainly matches one of these patterns",
    "policy.deny_commands": "a command that may match one of these patterns never runs, even if "
    "`allow_commands` allows it",
    "policy.lift": "built-in rules to switch off",
    "policy.read_paths": "the only files that the tool `read` may read, and the only ones that "
    "commands may name for reading",
    "policy.write_paths": "the only files that a task may write, among those that it claims",
    "policy.blocked_paths": "files that agents may neither read nor write",
    "policy.protected_paths": "files that no task may write, even if it claims them, in addition "
    "to the built-in set; for example important tests",
    "deliver": "where the result goes ([delivery](delivery.md)): always to the branch "
    "`blueflame/<session>`; with `fast_forward`, the branch that the session started from also "
    "moves, unless it is checked out; with `pull_request`, Blue Flame also pushes the branch and "
    "opens a pull request. A repository's file may say `pull_request` only if you have an entry in "
    "`hosting`, and `fast_forward` only if you say it",
    "pull_request.remote": "the remote of your repository that branches are pushed to",
    "pull_request.target": "the branch that pull requests propose to merge into; default: the "
    "branch that the session starts from",
    "pull_request.per": "`session`: one pull request for the whole session; `changeset`: a stack "
    "with one for each merged changeset",
    "pull_request.poll": "how often Blue Flame looks for checks and reviews; it looks less "
    "often while nothing changes",
    "pull_request.follow": "after everything is merged, how long the session stays open to follow "
    "its pull requests; by default it ends at once",
    "pull_request.feedback": "what happens if a check fails or a review asks for changes: `ask` "
    "waits for your `blueflame rework`, `auto` starts the rework",
    "pull_request.rounds": "how many of these reworks a session may start",
    "commits.history": "`squash`: one commit for each task; `keep`: one for each turn of an agent "
    "that changed files",
    "commits.author": "the author of the commits on the session's branch: `blueflame`, or `me` "
    "for the `user.name` and `user.email` of your git",
    "commits.committer": "the committer of these commits; default: the author, or you if you "
    "sign them",
    "commits.trailers": "the trailers of the commit messages: `session`, `task` and `attempt` say "
    "where a commit comes from; `co_author` names Blue Flame if it is not the author",
    "commits.sign": "`auto` signs the commits with your key if your git signs commits "
    "(`commit.gpgSign`), and delivers them unsigned, with a notice, if the key cannot be used; "
    "`always` delivers nothing unsigned; `never` does not sign",
    "hosting": "hosting services that Blue Flame may push to, by the host name in the "
    "remote's URL ([delivery](delivery.md)). A repository's file may only repeat your own entries",
    "hosting.NAME.repositories": "the repositories on this host to which Blue Flame may push "
    "branches: "
    "`acme/shop`, `acme/*`, or `*` for all",
    "hosting.NAME.api": "`github`, `gitlab` or `gitea` (also for Forgejo); needed for "
    "hosts other than github.com, gitlab.com, codeberg.org and gitea.com",
    "hosting.NAME.url": "address of the API; default: the usual address on this host",
    "hosting.NAME.git_url": "address for pushing branches, with `{repository}`; default: "
    "`https://HOST/{repository}.git`",
    "hosting.NAME.token": "name of the environment variable that holds the token; default: "
    "`GH_TOKEN` or `GITHUB_TOKEN` for GitHub, `GITLAB_TOKEN` for GitLab, `GITEA_TOKEN` or "
    "`FORGEJO_TOKEN` for Gitea and Forgejo; without these, the login of `gh` or `glab`. "
    "Two hosts use one variable only if both entries name it",
    "on_cap": "what happens at the cap, and in the other cases in which a session pauses "
    "automatically ([operating](operating.md#pause-stop-resume)): `pause` waits for you, `stop` "
    "ends the "
    "session",
    "auto_pause_percent": "a percentage: if more than this share of the calls to a provider or a "
    "tool fails in five minutes, the agents that use it "
    "[wait](monitoring.md#errors-that-pause-agents); `0` switches this off",
    "notifications.tell": "which [messages](notifications.md) you get. The whole section is "
    "allowed "
    "only in your own file",
    "notifications.targets": "where messages go: a name for each address, in Apprise's notation "
    "([targets](notifications.md#targets))",
    "notifications.webhooks": "URLs that get a signed JSON body: a name for each "
    "([webhooks](notifications.md#webhooks))",
    "notifications.webhooks.NAME.url": "address that gets a signed JSON body "
    "([webhooks](notifications.md#webhooks))",
    "notifications.webhooks.NAME.secret_file": "file with the key of the signature; only its owner "
    "may read it",
    "notifications.quiet_hours": "hours in which no message is sent, in the time zone of your "
    'machine: `"22:00-07:00"`. When they end, you get a message about what still needs you',
}
"""By dotted key; `NAME` stands for a name that the person gives."""
