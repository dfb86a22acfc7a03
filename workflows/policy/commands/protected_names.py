"""The files that programs of others obey by their name alone: tables, and how names are compared.

| table               | obeyed by                                   | who may write it             |
|---------------------|---------------------------------------------|------------------------------|
| `PROTECTED`         | Blue Flame, git, a CI service after a push  | no agent                     |
| `RUN_BY_THEMSELVES` | an editor, a shell, a hook manager, git or  | a task with a claim other    |
|                     | another agent, when someone opens the folder| than `**`                    |
| `LOCK_FILES`        | package managers                            | the same                     |

Names are compared as the most lenient file system reads them, so that `Blueflame.yaml` and
`Makefile.` are no way around a table.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from workflows.policy.plan.claims import is_claimed
from workflows.policy.text.lenient_names import as_read_elsewhere

_CI: Final = {
    "GitHub": (".github/workflows", ".github/actions"),
    "GitLab": (".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab/ci"),
    "CircleCI": (".circleci",),
    "Jenkins": ("Jenkinsfile", "Jenkinsfile.*", "*.jenkinsfile"),
    "Azure": ("azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines"),
    "Bitbucket": ("bitbucket-pipelines.yml",),
    "Buildkite": (".buildkite", "buildkite.yml", "buildkite.yaml"),
    "Drone": (".drone.yml", ".drone.yaml", ".drone.star", ".drone.jsonnet"),
    "Travis": (".travis.yml", ".travis.yaml"),
    "Woodpecker": (".woodpecker.yml", ".woodpecker.yaml", ".woodpecker"),
    "Forgejo": (".forgejo/workflows", ".forgejo/actions"),
    "Gitea": (".gitea/workflows", ".gitea/actions"),
    "Cirrus": (".cirrus.yml", ".cirrus.yaml", ".cirrus.star"),
    "AppVeyor": ("appveyor.yml", ".appveyor.yml", "appveyor.yaml", ".appveyor.yaml"),
    "AWS CodeBuild": ("buildspec*.yml", "buildspec*.yaml", "appspec.yml", "appspec.yaml"),
    "Google Cloud Build": ("cloudbuild*.yaml", "cloudbuild*.yml", "cloudbuild*.json"),
    "TeamCity": (".teamcity",),
    "Bamboo": ("bamboo-specs",),
    "Semaphore": (".semaphore",),
    "Codeship": ("codeship-steps.yml", "codeship-services.yml"),
    "SourceHut": (".build.yml", ".builds"),
    "Zuul": (".zuul.yaml", ".zuul.d", "zuul.yaml", "zuul.d"),
    "Tekton": (".tekton",),
    "GoCD": ("*.gocd.yaml", "*.gocd.yml", "*.gocd.json"),
    "Screwdriver": ("screwdriver.yaml",),
    "Vela": (".vela.yml", ".vela.yaml"),
    "Harness": (".harness",),
    "Buddy": ("buddy.yml", ".buddy"),
    "Bitrise": ("bitrise.yml",),
    "Codemagic": ("codemagic.yaml",),
    "Wercker": ("wercker.yml",),
    "Shippable": ("shippable.yml",),
    "Prow": (".prow.yaml", ".prow"),
    "OneDev": (".onedev-buildspec.yml",),
    "Earthly": (".earthly-ci.yml",),
    "Xcode Cloud": ("ci_scripts",),
}
PROTECTED: Final = (
    *(".gitmodules", "blueflame.yaml"),
    *(pattern for patterns in _CI.values() for pattern in patterns),
)
RUN_BY_THEMSELVES: Final = {
    "VS Code": (
        *("**/.vscode/tasks.json", "**/.vscode/settings.json", "**/.vscode/launch.json"),
        *("**/.vscode/mcp.json", "**/*.code-workspace"),
    ),
    "a development container": ("**/.devcontainer", "**/.devcontainer.json", ".gitpod.yml"),
    "an IDE of JetBrains": ("**/.idea", "**/.run/*.run.xml", ".fleet"),
    "Visual Studio": ("**/.vs",),
    "Zed": ("**/.zed",),
    "Vim": ("**/.exrc", "**/.vimrc", "**/.lvimrc", "**/.nvimrc", "**/.nvim.lua", "**/_vimrc"),
    "Emacs": ("**/.dir-locals.el", "**/.dir-locals-2.el"),
    "a debugger": ("**/.gdbinit", "**/.lldbinit"),
    "the shell of everyone who enters the folder": (
        *("**/.envrc", "**/.mise.toml", "**/mise.toml", "**/.mise", "**/.autoenv", "**/.env.zsh"),
    ),
    "git's hooks": (
        *(".husky", ".githooks", "lefthook.yml", ".lefthook.yml", "lefthook-local.yml"),
        *(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", ".overcommit.yml"),
    ),
    "a coding agent": (
        *("**/.claude/settings*.json", "**/.claude/hooks", "**/.mcp.json", "**/.cursor"),
        *("**/.codex", "**/.gemini", "**/.windsurf", "**/.continue", "**/.kiro"),
    ),
    "git": ("**/.gitattributes",),  # a filter that it no longer names encrypts nothing
    "Windows": ("**/autorun.inf", "**/desktop.ini"),
}
"""By who runs or obeys them."""
LOCK_FILES: Final = (
    "**/poetry.lock",
    "**/uv.lock",
    "**/pdm.lock",
    "**/pylock.toml",
    "**/Pipfile.lock",
    "**/requirements*.lock",
    "**/package-lock.json",
    "**/npm-shrinkwrap.json",
    "**/pnpm-lock.yaml",
    "**/yarn.lock",
    "**/bun.lock",
    "**/bun.lockb",
    "**/Cargo.lock",
    "**/go.sum",
    "**/Gemfile.lock",
    "**/composer.lock",
    "**/flake.lock",
)


@lru_cache(maxsize=256)
def _folded(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pattern.casefold() for pattern in patterns)


def is_named(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a path is covered by one of the patterns, on some file system."""
    return is_claimed(path, patterns) or is_claimed(
        as_read_elsewhere(path), _folded(tuple(patterns))
    )


def runner_of(path: str) -> str | None:
    """Return who runs or obeys a file as soon as a person opens its folder; None if no one does."""
    return next((who for who, names in RUN_BY_THEMSELVES.items() if is_named(path, names)), None)
