"""Proposes the set-up of projects in Rust, Go, Ruby, PHP, Java and Elixir.

Packages are fetched into an ignored folder of the worktree, because a command's home directory is
deleted when the command ends.
"""

import re
from datetime import timedelta

from activities.projects.manifests import (
    Files,
    as_table,
    first_line,
    json_object,
    table,
    text,
    toml,
)
from activities.projects.proposal import Language, Proposal, ToolchainNeed, hide
from workflows.domain.gate import GateSpec

READ = frozenset(
    {
        *("Cargo.toml", "rust-toolchain.toml", "rust-toolchain", "go.mod", "Gemfile", "Rakefile"),
        *(".ruby-version", "composer.json", "pom.xml", "mix.exs", ".java-version"),
    }
)
_GO_VERSION = re.compile(r"^(?:toolchain go|go )(\d[\w.]*)", re.MULTILINE)
_GRADLE = frozenset({"build.gradle", "build.gradle.kts"})
_IN = "/workspace"


def propose_other(files: Files, found: tuple[GateSpec, ...]) -> Proposal:
    """Return what all other languages in a folder need.

    Args:
        files: paths relative to the project's folder, with their bytes.
        found: gates that were detected in its files.
    """
    named = {gate.name: gate for gate in found}
    whole = Proposal()
    for propose in (_rust, _go, _ruby, _php, _java, _elixir):
        whole += propose(files, named)
    return whole


_Gates = dict[str, GateSpec]


def _rust(files: Files, found: _Gates) -> Proposal:
    manifest = toml(files, "Cargo.toml")
    if not manifest:
        return Proposal()
    pinned = table(toml(files, "rust-toolchain.toml"), "toolchain").get("channel")
    evidence = "rust-toolchain.toml" if isinstance(pinned, str) else "Cargo.toml"
    version = pinned if isinstance(pinned, str) else first_line(files, "rust-toolchain")
    gates = (found["cargo-test"],) if "cargo-test" in found else ()
    need = ToolchainNeed(language="rust", version=version, evidence=evidence)
    tables = ("dependencies", "dev-dependencies", "build-dependencies", "workspace", "target")
    if not any(as_table(manifest.get(each)) for each in tables):
        return Proposal(needs=(need,), gates=gates)
    locked = " --locked" if "Cargo.lock" in files else ""
    return Proposal(
        needs=(need,),
        setup=(f"mkdir -p target && {hide('target')} && cargo fetch{locked}",),
        indexes=("cargo",),
        variables={"CARGO_HOME": f"{_IN}/target/cargo-home"},
        gates=gates,
    )


def _go(files: Files, found: _Gates) -> Proposal:
    if "go.mod" not in files:
        return Proposal()
    version = _GO_VERSION.findall(text(files, "go.mod"))
    need = ToolchainNeed(language="go", version=max(version, default=""), evidence="go.mod")
    gates = (found["go-test"],) if "go-test" in found else ()
    if "go.sum" not in files or any(path.startswith("vendor/") for path in files):
        return Proposal(needs=(need,), gates=gates)
    return Proposal(
        needs=(need,),
        setup=(f"go mod vendor && {hide('vendor')}",),
        indexes=("go",),
        gates=gates,
    )


def _ruby(files: Files, _: _Gates) -> Proposal:
    if "Gemfile" not in files:
        return Proposal()
    is_rspec = ".rspec" in files or any(path.startswith("spec/") for path in files)
    argv = ("bundle", "exec", "rspec") if is_rspec else ("bundle", "exec", "rake", "test")
    has_tests = is_rspec or "Rakefile" in files
    return Proposal(
        needs=(_need("ruby", first_line(files, ".ruby-version"), "Gemfile"),),
        setup=(f"mkdir -p vendor/bundle && {hide('vendor/bundle')} && bundle install",),
        indexes=("bundler",),
        variables={"BUNDLE_PATH": "vendor/bundle"},
        gates=(GateSpec(name=argv[2], argv=argv),) if has_tests else (),
    )


def _php(files: Files, _: _Gates) -> Proposal:
    package = json_object(files, "composer.json")
    if not package:
        return Proposal()
    install = "composer install --no-interaction --no-progress"
    has_script = "test" in table(package, "scripts")
    has_phpunit = {"phpunit.xml", "phpunit.xml.dist"} & files.keys()
    gate = GateSpec(name="composer-test", argv=("composer", "test"))
    if not has_script:
        gate = GateSpec(name="phpunit", argv=("vendor/bin/phpunit",))
    return Proposal(
        needs=(_need("php", "", "composer.json"),),
        setup=(f"{install} && {hide('vendor')}",),
        indexes=("composer",),
        gates=(gate,) if has_script or has_phpunit else (),
    )


def _java(files: Files, _: _Gates) -> Proposal:
    need = _need("java", first_line(files, ".java-version"), "its build file")
    if "pom.xml" in files:
        maven = "./mvnw" if "mvnw" in files else "mvn"
        store = f"-Dmaven.repo.local={_IN}/target/repository"
        hidden = f"mkdir -p target && {hide('target')}"
        argv = (maven, "-o", "-q", store, "test")
        return Proposal(
            needs=(need,),
            setup=(f"{hidden} && {maven} -q {store} test-compile dependency:go-offline",),
            indexes=("maven",),
            gates=(GateSpec(name="maven-test", argv=argv, timeout=timedelta(minutes=20)),),
        )
    if not _GRADLE & files.keys():
        return Proposal()
    gradle = "./gradlew" if "gradlew" in files else "gradle"
    hidden = f"mkdir -p .gradle && {hide('.gradle')}"
    argv = (gradle, "--offline", "test")
    return Proposal(
        needs=(need,),
        setup=(f"{hidden} && {gradle} testClasses",),
        indexes=("gradle",),
        variables={"GRADLE_USER_HOME": f"{_IN}/.gradle/home"},
        gates=(GateSpec(name="gradle-test", argv=argv, timeout=timedelta(minutes=20)),),
    )


def _elixir(files: Files, _: _Gates) -> Proposal:
    if "mix.exs" not in files:
        return Proposal()
    hidden = f"mkdir -p deps _build && {hide('deps')} && {hide('_build')}"
    return Proposal(
        needs=(_need("elixir", "", "mix.exs"),),
        setup=(f"{hidden} && mix local.hex --force && mix deps.get",),
        indexes=("hex",),
        variables={"MIX_HOME": f"{_IN}/_build/mix", "HEX_HOME": f"{_IN}/_build/hex"},
        gates=(GateSpec(name="mix-test", argv=("mix", "test")),),
    )


def _need(language: Language, version: str, evidence: str) -> ToolchainNeed:
    return ToolchainNeed(language=language, version=version, evidence=evidence)
