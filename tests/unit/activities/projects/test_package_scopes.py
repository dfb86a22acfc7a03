"""Which changes concern the gates of one package among several."""

import pytest

from activities.projects.package_scopes import MAX_PATTERNS, package_scope
from activities.projects.project_look import propose

FOLDERS = ("apps/web/", "packages/tool-kit/", "packages/other/")
FILES = {
    "README.md": b"",
    "scripts/build.sh": b"",
    "packages/shared/x.ts": b"",
    "packages/tsconfig.json": b"",
    "apps/web/package.json": b'{"name": "web-app", "dependencies": {"@acme/kit": "*"}}',
    "packages/tool-kit/package.json": b'{"name": "@acme/kit"}',
    "packages/other/package.json": b'{"name": "@acme/other"}',
}
COMMON = ("*", "packages/*", "packages/shared/**", "scripts/**")


@pytest.mark.parametrize(
    ("folder", "more", "own"),
    [
        ("packages/other/", {}, ("packages/other/**",)),
        ("packages/tool-kit/", {}, ("packages/tool-kit/**",)),
        ("apps/web/", {}, ("apps/web/**", "packages/tool-kit/**")),
        (
            "packages/other/",
            {"packages/other/setup.cfg": b"install_requires = tool_kit"},
            ("packages/tool-kit/**", "packages/other/**"),
        ),
        (
            "packages/other/",
            {"packages/other/Makefile": b"test:\n\tmake -C ../../apps/web"},
            ("apps/web/**", "packages/tool-kit/**", "packages/other/**"),
        ),
    ],
)
def test_a_package_is_concerned_by_itself_its_dependencies_and_shared_files(
    folder: str, more: dict[str, bytes], own: tuple[str, ...]
):
    assert package_scope({**FILES, **more}, folder, FOLDERS) == (*own, *COMMON)


def test_a_package_with_a_very_wide_scope_is_judged_on_every_change():
    files = {**FILES, **{f"folder{number}/x": b"" for number in range(MAX_PATTERNS)}}
    assert package_scope(files, "apps/web/", FOLDERS) == ()


def test_the_gates_of_a_monorepo_are_proposed_with_their_paths():
    files = {
        "README.md": b"",
        "alpha/pyproject.toml": b"[project]\nname = 'alpha'\n[tool.pytest.ini_options]\n",
        "alpha/test_a.py": b"def test(): pass",
        "web/package.json": b'{"scripts": {"test": "node --test", "lint": "eslint ."}}',
    }
    gates = {gate.name: gate for gate in propose(files).gates}
    assert gates["web-npm-test"].paths == ("web/**", "*")
    assert gates["web-npm-lint"].cheap
    assert not gates["web-npm-test"].cheap
