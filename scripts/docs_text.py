"""The text of docs/configuration.md and docs/commands.md that no code says."""

VARIABLES = {
    "BLUEFLAME_DATA_DIR": "Blue Flame's data directory on this machine",
    "BLUEFLAME_HOST_UID": "the unprivileged user that a host worker started as root becomes",
    "BLUEFLAME_HOST_GID": "the group of that user",
    "BLUEFLAME_SNAPSHOT_BYTES": "what the results of set-ups may take on this host's disk; those "
    "used longest ago go first, and those in use stay ([operating](operating.md#disk-space))",
    "BLUEFLAME_CGROUP": "a delegated cgroup (version 2) in which each command gets its own: a "
    "path, or `own` ([operating](operating.md#limits-by-the-kernel))",
    "BLUEFLAME_TOOLCHAINS": "what this host may show in the sandbox beside /usr, a JSON list of "
    "paths, for workers that are started by themselves; `run` and `up` set it "
    "([environments](environments.md))",
    "BLUEFLAME_REGISTRIES": "how set-up here may reach package registries, as JSON of the keys "
    "`registries` … of the section `environment`; `run` and `up` set it "
    "([environments](environments.md#registries))",
    "BLUEFLAME_TEMPORAL_PORT": "the port that the bundled server prefers; 0: any free one",
    "BLUEFLAME_UI_PORT": "the port that the bundled Web UI prefers; 0: any free one",
    "BLUEFLAME_HOST_NAME": "this host's name in its task queue",
    "BLUEFLAME_PLAYBOOK": "what the scripted model of these workers plays; `run --playbook` "
    "sets it",
    "BLUEFLAME_PROVIDERS": "the section `providers` in JSON, for workers that are started by "
    "themselves; it wins over the files; `run` and `up` set it",
    "BLUEFLAME_SANDBOX": "`none`: commands run without a sandbox on this host; sessions that do "
    "not also say `none` refuse it",
    "BLUEFLAME_PAYLOAD_KEYS": "`id:base64,…`: histories are encrypted with the first, decrypted "
    "with any",
    "ANTHROPIC_API_KEY": "key of provider `anthropic`",
    "ANTHROPIC_API_KEY_FILE": "a file that holds it",
    "ANTHROPIC_API_KEY_COMMAND": "a command that prints it (`pass show …`), run without a shell",
    "ANTHROPIC_BASE_URL": "another address of its interface",
    "OPENAI_API_KEY": "key of provider `openai`",
    "OPENAI_API_KEY_FILE": "a file that holds it",
    "OPENAI_API_KEY_COMMAND": "a command that prints it",
    "OPENAI_BASE_URL": "another address of its interface",
    "GEMINI_API_KEY": "key of provider `google`",
    "GEMINI_API_KEY_FILE": "a file that holds it",
    "GEMINI_API_KEY_COMMAND": "a command that prints it",
    "GOOGLE_API_KEY": "the same, by its other name",
    "GOOGLE_GEMINI_BASE_URL": "another address of its interface",
}

COMMANDS = (
    "What `--help` says of each command. How they work together, exit codes, JSON and files: "
    "[command line](cli.md)."
)
"""The introduction of docs/commands.md."""

TEXT = """\
# Configuration

<!-- Written by scripts/docs from the code; a test compares them. Change scripts/docs_text.py. -->

## blueflame.yaml

All keys but `version` may be left out. Layers, the later one winning key by key (lists and `gates`
are taken whole, but for the policy's that deny; `providers` and `catalogue` entry by entry):

1. the defaults below;
2. your own file, `blueflame/blueflame.yaml` in your configuration directory (on Linux
   `~/.config/blueflame/blueflame.yaml`);
3. `blueflame.yaml` at the root of the repository, or instead of it the file of `--config`;
4. flags of `run`.

`blueflame init` writes a file for a repository: its gates, and models by the keys that are set.
`blueflame config show --origin` prints what a session would get and where each value came from,
`run --dry-run` what differs from the defaults, and `config check` judges a file. A session keeps
the configuration that it was started with.

A file found in the repository decides nothing against you: it may not switch the sandbox off, mark
secrets, approve where you are asked, change `on_cap`, allow agents more than you do, raise
`budget.stop_usd` or one of `limits` above your own file's or the default, list other hosts under
`worktree.network` than you do, or say anything of `providers`, `catalogue` and, under
`environment`, of `registries`, `upstream_proxy`, `no_proxy` and `ca_file` that you do not say
yourself. Say that in your own file, with `--config` or with a flag.
An example with every key is [blueflame.example.yaml](../blueflame.example.yaml).

{keys}

A duration is written as `90s`, `10m` or `1h30m`, at most 24h. A command is a text or a list of
arguments. Models are `provider/model`; built-in providers are {providers}.
[Providers](providers.md) tells how to use Ollama, vLLM, llama.cpp and gateways.

Where no model is configured, two keys of different providers in the environment are enough: the
planner gets the strongest models, the developers the first provider's, the reviewers the others'.

### gitleaks as a gate

[gitleaks](https://github.com/gitleaks/gitleaks) knows many more kinds of secrets than the check of
the diff. It is found as a gate where the repository has a `.gitleaks.toml`, a `.gitleaksignore`, or
its hook for pre-commit; to add it by hand:

```yaml
gates:
  gitleaks:
    run: {gitleaks}
```

It judges the whole tree, and as with every gate only what is new against the base counts. A finding
is shown as path, line and rule, never as the secret. Comments `gitleaks:allow` do not excuse new
findings, and an agent may write `.gitleaks.toml` and `.gitleaksignore` only where a claim names
them. A command without `--redact` is refused. The program has to be in the sandbox, that is under
`/usr`; `doctor --repo` says whether it is. Where it is missing the gate does not finish, neither on
the base nor on the work: that blocks nothing, and is told.

{policy}

## The file itself

It is YAML 1.2, as UTF-8, of at most 64 KiB. An unknown key, a wrong value and a duplicate key are
refused, each with file, line, column and what to write instead; the exit code is 2 and nothing is
started. So are merge keys, tags of programs, more than one document, numbers with a leading zero,
NaN and infinities, and aliases that unfold to more than 200,000 values. `yes`, `no`, `on` and `off`
are texts.

`blueflame config schema` prints its JSON Schema, of which
[blueflame.schema.json](blueflame.schema.json) is a copy: an editor with the YAML language server
completes and checks keys by it. Write it next to the file and name it in the first line:

```yaml
# yaml-language-server: $schema=blueflame.schema.json
version: 1
```

A release reads one version of the format, named by `version`. A newer file is refused with advice.
An older one is brought up by `blueflame config migrate` (printed; `--write` writes it), comments
and order kept. There is one step so far: a file without `version` counts as version 0, and gets it.

## Environment

{variables}

`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, the `TEMPORAL_TLS_…` variables and
`TEMPORAL_PROFILE` are Temporal's own; with an address or a profile the bundled server is not used.
Keys reach workers of role `models` and no other process of Blue Flame. A key from a file or a
command is read again within ten seconds, and at once when the provider refuses it, so that it can
be rotated while sessions run.

### Encrypted histories

`blueflame codec --new-key k1` prints a key. With it in `BLUEFLAME_PAYLOAD_KEYS`, for the workers
and for the command line alike (`export BLUEFLAME_PAYLOAD_KEYS="$(pass show blueflame)"`),
everything that Temporal keeps of a session is encrypted by AES-256-GCM: inputs, results, signals,
messages of failures. Put a new key before the old ones to rotate, and keep the old ones for as long
as histories are retained. `blueflame codec` lets the Web UI decrypt in your own browser. Ids,
types, sizes and times stay readable, and so do the conversations and repositories on the workers'
disks.
"""


POLICY = """\
## Rules for tool calls

Each call of a tool is judged before it runs; [security](security.md) says what that is worth. A
denied call is answered with the rule that denies it and with what would be allowed, and the other
calls of the turn run. Rules narrow what claims and sandbox leave open, and never widen it.

Path patterns are those of claims: whole paths from the repository's root, `*` within a segment,
`**` across segments, and a pattern covers what is below it. Command patterns are a program and its
words, each of which may hold `*` and `?`; `*` alone at the end stands for any further words.
`allow_commands: [git log *, python -m pytest *, ls *]` lets exactly those run, and the builtins of
the shell; programs that only start others (`env`, `timeout`, `xargs` …) are judged by what they
start. `deny_commands: [npm run release*, rm -rf]` denies each command that begins so, with any
options and further words, and each of which that cannot be excluded. Where both say something,
deny wins.

Lists that deny (`deny_commands`, `blocked_paths`, `protected_paths`) are joined over all layers. Of
the others a file found in the repository may only leave something out.

| rule | denies | can be lifted |
|---|---|---|
{rules}"""

RULES = {
    "tools": "a tool that the role does not have",
    "claims": "a write outside the task's claims; what builds and tests leave behind "
    "(`__pycache__`, `build`, `node_modules` …) is not asked about in commands",
    "protected": "a write to `.git`, `blueflame.yaml`, the definitions of CI, `protected_paths`",
    "blocked": "a read or write of `blocked_paths`",
    "named-only": "a write to a lock file, to a script that a gate starts, or to what says what a "
    "gate runs, unless a claim other than `**` covers it",
    "read-paths": "a read outside `read_paths`",
    "write-paths": "a write outside `write_paths`",
    "deny-commands": "what `deny_commands` may name",
    "allow-commands": "what `allow_commands` does not certainly name",
    "unreadable": "a command that cannot be read with certainty; the place is named",
    "hidden-program": "an expansion where a program must stand, a program's output as commands, an "
    "unknown option before a program",
    "look-alike": "a program's name with letters that only look like others, or cannot be seen",
    "environment": "variables that make programs load or run something: `LD_PRELOAD`, `BASH_ENV`, "
    "`GIT_SSH_COMMAND` …",
    "git-config": "settings of git that can start programs or hooks; colour, pager, user, log are "
    "free",
    "git-history": "commits, rebases, worktrees in the worktree: work is committed after each turn",
    "git-remote": "push, fetch, pull, clone, changes of remotes, and `gh` and its kin",
    "network": "curl, wget, ssh and the like, but for addresses of this machine",
    "publish": "publishing and deploying: `npm publish`, `twine upload`, `kubectl` …",
    "recursion": "Blue Flame and its server, started from inside a session",
    "rights": "sudo, su, mount, docker and the like",
    "system-packages": "apt, dnf, brew and the like",
}
"""What denies, in the order in which it is asked."""
