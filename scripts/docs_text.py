"""The text of docs/configuration.md and docs/commands.md that does not come from code."""

VARIABLES = {
    "BLUEFLAME_DATA_DIR": "the data directory on this machine ([contents](operating.md#data))",
    "BLUEFLAME_HOST_UID": "the unprivileged user that a host worker becomes if root starts it",
    "BLUEFLAME_HOST_GID": "the group of that user",
    "BLUEFLAME_SNAPSHOT_BYTES": "how much disk space the snapshots of set-up may use on this host; "
    "the least recently used ones are removed first, and ones in use stay "
    "([operating](operating.md#disk-space))",
    "BLUEFLAME_CGROUP": "the path of a delegated cgroup (version 2) in which each command gets "
    "its own cgroup, or `own` ([operating](operating.md#limits-by-the-kernel))",
    "BLUEFLAME_TOOLCHAINS": "toolchains that this host may show in the sandbox, as a JSON list of "
    "paths; only for workers that you start yourself, because `run` and `up` set it "
    "([environments](environments.md))",
    "BLUEFLAME_REGISTRIES": "how set-up on this host may reach package registries: "
    "`registries`, `upstream_proxy`, `no_proxy` and `ca_file` as one JSON object; only for "
    "workers that you start yourself, because `run` and `up` set it "
    "([environments](environments.md#registries))",
    "BLUEFLAME_TEMPORAL_PORT": "the port that the bundled server tries first; 0: any free port",
    "BLUEFLAME_UI_PORT": "the port that the bundled Web UI tries first; 0: any free port",
    "BLUEFLAME_HOST_NAME": "this host's name in its task queue",
    "BLUEFLAME_PLAYBOOK": "the playbook of these workers' scripted model; `run --playbook` sets it",
    "BLUEFLAME_PROVIDERS": "the section `providers` as JSON; only for workers that you start "
    "yourself, because `run` and `up` set it. It takes precedence over the files",
    "BLUEFLAME_SANDBOX": "`none`: commands run without a sandbox on this host; a session without "
    "`sandbox: none` refuses such a host",
    "BLUEFLAME_PAYLOAD_KEYS": "keys as `id:base64,…`: the first encrypts histories, and all of "
    "them decrypt ([encrypted histories](#encrypted-histories))",
    "ANTHROPIC_API_KEY": "the key of provider `anthropic`",
    "ANTHROPIC_API_KEY_FILE": "a file that contains the key",
    "ANTHROPIC_API_KEY_COMMAND": "a command that prints the key (`pass show …`), run without a "
    "shell",
    "ANTHROPIC_BASE_URL": "another address of the provider's interface",
    "OPENAI_API_KEY": "the key of provider `openai`",
    "OPENAI_API_KEY_FILE": "a file that contains the key",
    "OPENAI_API_KEY_COMMAND": "a command that prints the key",
    "OPENAI_BASE_URL": "another address of the provider's interface",
    "GEMINI_API_KEY": "the key of provider `google`",
    "GEMINI_API_KEY_FILE": "a file that contains the key",
    "GEMINI_API_KEY_COMMAND": "a command that prints the key",
    "GOOGLE_API_KEY": "another name for `GEMINI_API_KEY`",
    "GOOGLE_GEMINI_BASE_URL": "another address of the provider's interface",
}

COMMANDS = (
    "This page has the `--help` text of each command. [Command line](cli.md) explains how the "
    "commands work together, exit codes, JSON output and files."
)
"""The introduction of docs/commands.md."""

TEXT = """\
# Configuration

<!-- Written by scripts/docs from the code; a test compares them. Change scripts/docs_text.py. -->

- [blueflame.yaml](#blueflameyaml): where it is, all keys, default models, a gate for secrets
- [Rules for tool calls](#rules-for-tool-calls): what agents may run, read and write
- [File format and schema](#file-format-and-schema): syntax, completion in editors, migration
- [Environment variables](#environment-variables): keys of providers, ports, encryption

## blueflame.yaml

You may leave out every key except `version`. Blue Flame reads these layers:

1. the defaults below
2. your own file, `blueflame/blueflame.yaml` in your configuration directory (on Linux
   `~/.config/blueflame/blueflame.yaml`)
3. the file that you pass with `--config`; without that option, `blueflame.yaml` at the root of the
   repository
4. the options of `run`

A later layer overrides an earlier one key by key, with these rules:

- A list or the mapping `gates` replaces the earlier one as a whole.
- `providers` and `catalogue` are replaced entry by entry.
- The policy's [lists that deny](#rules-for-tool-calls) are joined.

A session keeps the configuration that it was started with.

Commands for the configuration:

- `blueflame init` writes a file for a repository: its gates, and models for the keys that are set.
- `blueflame config check` validates a file.
- `blueflame config show --origin` prints each value that a session would get, and its origin.
- `blueflame run --dry-run` prints the values that differ from the defaults.

### What a repository's file may not do

A repository's file is the `blueflame.yaml` that Blue Flame finds in the repository. It cannot give
itself more than you allow. It may not:

- switch the sandbox off
- permit secrets (`worktree.allow_secret`), or name a path in your home in `environment.variables`
- approve automatically where you want to be asked
- change `on_cap`
- raise a limit above your own value or, if you set none, the default: `budget.stop_usd`, `limits`,
  the limits under `agents`, and `memory_mb`, `processes`, `file_mb` and `disk_mb` of `environment`
- list hosts, toolchains or a root folder that your own file does not list
- allow agents more tools, commands or paths than you do
- set `providers`, `catalogue`, or `registries`, `upstream_proxy`, `no_proxy` and `ca_file` under
  `environment`, unless the value equals your own

Set these in your own file, in the file of `--config`, or with an option.

### Keys

[blueflame.example.yaml](../blueflame.example.yaml) is an example with every key.

{keys}

A duration is written as `90s`, `10m` or `1h30m`, at most 24h. A command is a string or a list of
arguments. Models are `provider/model`; built-in providers are {providers}.
[Providers](providers.md) explains how to use Ollama, vLLM, llama.cpp and gateways.

### Default models

If no models are configured, Blue Flame chooses them by the provider keys in the environment. One
key is enough.

- **The planner** gets each provider's strongest model.
- **The developers** get the first provider's standard model.
- **The reviewers** get the other providers' standard models. With one provider, its strongest model
  reviews, and a notice says that it is of the author's family.

### gitleaks as a gate

[gitleaks](https://github.com/gitleaks/gitleaks) knows many more kinds of secrets than the diff
check. Blue Flame detects it as a gate if the repository has a `.gitleaks.toml`, a
`.gitleaksignore`, or gitleaks' hook for pre-commit. You can also add it yourself:

```yaml
gates:
  gitleaks:
    run: {gitleaks}
```

- gitleaks scans the whole tree. As with every gate, only findings that the base does not have
  count.
- A finding is shown as path, line and rule, never as the secret. A command without `--redact` is
  refused.
- A comment `gitleaks:allow` does not excuse a new finding.
- An agent may write `.gitleaks.toml` and `.gitleaksignore` only if a claim names them.
- The program must be in the sandbox, for example under `/usr`; `doctor --repo` checks this. If it
  is missing, the gate [judges nothing](concepts.md#the-gates). A notice says so.

{policy}

## File format and schema

The file is YAML 1.2 in UTF-8, of at most 64 KiB. `yes`, `no`, `on` and `off` are strings. Blue
Flame refuses:

- an unknown key, an invalid value, or a duplicate key
- merge keys, tags, and more than one document
- numbers with a leading zero, NaN and infinities
- aliases that expand to more than 200,000 values

Each error has file, line, column, and what to write instead. The exit code is 2, and nothing is
started.

**Completion in editors.** `blueflame config schema` prints the JSON Schema. The repository of Blue
Flame has a copy, [blueflame.schema.json](blueflame.schema.json). An editor with the YAML language
server uses it to complete and check keys. Write the schema next to your file and name it in the
first line:

```yaml
# yaml-language-server: $schema=blueflame.schema.json
version: 1
```

**Migration.** A release reads one version of the format, the key `version`. It refuses a newer file
and says what to do. `blueflame config migrate` converts an older file and keeps comments and order.
It prints the result; `--write` changes the file instead. So far there is one conversion: a file
without `version` counts as version 0 and gets the key.

## Environment variables

{variables}

`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, the `TEMPORAL_TLS_…` variables and
`TEMPORAL_PROFILE` are Temporal's own. With an address or a profile, the bundled server is not used.

Keys reach workers of role `models` and no other process of Blue Flame. You can rotate a key from a
file or a command while sessions run: Blue Flame uses a value for at most ten seconds, and reads
it again at once when the provider refuses it.

### Encrypted histories

To encrypt what Temporal keeps of a session:

1. Print a key: `blueflame codec --new-key k1`.
2. Set it for the workers and for the command line:
   `export BLUEFLAME_PAYLOAD_KEYS="$(pass show blueflame)"`.

AES-256-GCM then encrypts inputs, results, signals and failure messages. Ids, types, sizes and times
stay readable, and so do the conversations and repositories on the workers' disks.

To rotate, put the new key before the old ones. Keep an old key as long as histories that it
encrypted are retained. `blueflame codec` lets the Web UI decrypt in your own browser. """


POLICY = """\
## Rules for tool calls

Blue Flame judges each tool call before it runs. If a rule denies the call, the answer names the
rule and what would be allowed. The other calls of the turn run. Rules only narrow what the claims
and the sandbox allow. [Security](security.md) explains how far they protect you.

- **Path patterns** work like claims. A pattern is a whole path from the repository's root, and
  covers everything below it. `*` matches within a segment, `**` across segments.
- **Command patterns** are a program and its words. Each word may contain `*` and `?`. A single `*`
  as the last word stands for any further words.
- **`allow_commands: [git log *, python -m pytest *, ls *]`** allows exactly these commands, and the
  shell's builtins. Programs that only start others (`env`, `timeout`, `xargs` …) are judged by what
  they start.
- **`deny_commands: [npm run release*, rm -rf]`** denies each command that begins with these words,
  with any options and further words. If Blue Flame cannot tell whether a command begins with them,
  it denies the command too.
- **If both match**, deny wins.
- **Layers.** The lists that deny (`deny_commands`, `blocked_paths`, `protected_paths`) are joined
  over all layers. A repository's file may only shorten the other lists.

| rule | denies | can be lifted |
|---|---|---|
{rules}"""

RULES = {
    "tools": "a tool that the role does not have",
    "claims": "a write outside the task's claims; commands may still leave files of builds and "
    "tests there (`__pycache__`, `build`, `node_modules` …)",
    "protected": "a write to `.git`, `blueflame.yaml`, CI definitions or `protected_paths`",
    "blocked": "a read or write of `blocked_paths`",
    "named-only": "a write to a lock file, a script that a gate starts, or a file that configures "
    "a gate, unless a claim other than `**` covers it",
    "read-paths": "a read outside `read_paths`",
    "write-paths": "a write outside `write_paths`",
    "deny-commands": "a command that may match `deny_commands`",
    "allow-commands": "a command that does not certainly match `allow_commands`",
    "unreadable": "a command that Blue Flame cannot parse with certainty; the answer names the "
    "place",
    "hidden-program": "a command whose program is unknown: an expansion in its place, a program's "
    "output run as commands, or an unknown option before it",
    "look-alike": "a program's name with invisible letters, or with letters that look like others",
    "environment": "variables that make programs load or run something: `LD_PRELOAD`, `BASH_ENV`, "
    "`GIT_SSH_COMMAND` …",
    "git-config": "git settings that can start programs or hooks; settings of color, pager, user "
    "and log are allowed",
    "git-history": "commits, rebases and worktrees within the worktree; Blue Flame commits the "
    "work after each turn",
    "git-remote": "push, fetch, pull, clone and changes of remotes; `gh` and similar programs",
    "network": "curl, wget, ssh and similar programs, except for addresses of this machine",
    "publish": "publishing and deploying: `npm publish`, `twine upload`, `kubectl` …",
    "recursion": "Blue Flame and its server, started from inside a session",
    "rights": "sudo, su, mount, docker and similar programs",
    "system-packages": "apt, dnf, brew and similar programs",
}
"""The rules that deny, in the order in which they are checked."""
