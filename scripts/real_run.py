#!/usr/bin/env python3
"""Run a session on a released third-party project, through all three official SDKs over HTTP.

The project's source is fetched by its package name and becomes a git repository in a temporary
folder. The models are simulated (a playbook answers in the providers' formats). Everything else is
real: the SDKs, the server, git, the sandbox, and the project's own tests as the gate. Prints one
line of JSON at the end, and exits with 0 only if every check passed.
"""

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "toolz==1.2.0"
TESTS = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "python", "-m", "pytest", "-q")
CONFIG = """\
version: 1
models:
  planner: [anthropic/claude-sonnet-5-5]
  developer: [openai/gpt-6.1-terra]
  reviewer: [google/gemini-4-argon]
gates:
  tests: {run: [%s, "-p", "no:cacheprovider"], timeout: 5m}
# The project's tests need pytest: show that of Blue Flame's virtual environment.
environment: {toolchains: [%s]}
"""


def fetch(folder: Path) -> Path:
    """Download the package's source distribution and unpack it; return its folder."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*pip, "-d", str(folder), PACKAGE], check=True)
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def git(root: Path, *arguments: str) -> str:
    """Run git as a person would, with a fixed author."""
    command = ("git", "-c", "user.name=someone", "-c", "user.email=someone@localhost")
    ran = subprocess.run([*command, *arguments], cwd=root, check=True, capture_output=True)
    return ran.stdout.decode().strip()


def make_repository(root: Path) -> None:
    """Commit the source, then make an uncommitted change."""
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "As released")
    readme = root / "README.rst"
    readme.write_text(readme.read_text() + "\nnot committed yet\n")
    (root / "scratch.txt").write_text("mine\n")


def picture(root: Path) -> dict[str, str]:
    """Return a digest of every file of the checkout, and of git's state."""
    own = [root / ".git" / name for name in ("index", "HEAD", "config")]
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted([*files, *own])
    }


async def run_session(scratch: Path, repository: Path) -> tuple[int, str, list[dict[str, object]]]:
    """Run the session against a simulator; return exit code, output, and its requests."""
    from activities.adapters.models.scripted.playbook import parse_playbook
    from activities.adapters.models.simulator.simulator_server import Simulator

    script = ROOT / "examples/real_run/playbook.yaml"
    playbook = parse_playbook(script.read_text(encoding="utf-8"), script.name)
    config = scratch / "blueflame.yaml"
    words = ", ".join(json.dumps(word) for word in TESTS)
    config.write_text(CONFIG % (words, json.dumps(sys.prefix)))
    async with Simulator(playbook) as simulator:
        urls = simulator.base_urls
        keys = {name: f"simulated-{name}-key" for name in urls}
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "PYTHONPATH": str(ROOT),
            "BLUEFLAME_DATA_DIR": str(scratch / "data"),
            "BLUEFLAME_TEMPORAL_PORT": "0",
            "BLUEFLAME_UI_PORT": "0",
            "ANTHROPIC_API_KEY": keys["anthropic"],
            "ANTHROPIC_BASE_URL": urls["anthropic"],
            "OPENAI_API_KEY": keys["openai"],
            "OPENAI_BASE_URL": urls["openai"],
            "GEMINI_API_KEY": keys["google"],
            "GOOGLE_GEMINI_BASE_URL": urls["google"],
        }
        arguments = ("run", "Make three small improvements and note them", "--auto-approve")
        places = ("--repo", str(repository), "--config", str(config))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "starter", *arguments, *places,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            cwd=scratch,
        )  # fmt: skip
        output, _ = await process.communicate()
        return (
            process.returncode or 0,
            output.decode(),
            [dict(entry) for entry in simulator.log.entries],
        )


def session_branch(repository: Path) -> str | None:
    """Return the session's branch, if one was delivered."""
    pattern = "refs/heads/blueflame/*"
    found = git(repository, "for-each-ref", "--format=%(refname:short)", pattern).split()
    return found[0] if len(found) == 1 else None


def tests_pass(repository: Path, branch: str, scratch: Path) -> bool:
    """Run the project's own tests on a fresh clone of the branch."""
    clone = scratch / "clone"
    git(scratch, "clone", "-q", "--branch", branch, str(repository), str(clone))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(TESTS, cwd=clone, env={"PATH": path}, check=False, capture_output=True)
    return ran.returncode == 0


def roles_by_provider(asked: list[dict[str, object]]) -> dict[str, list[str]]:
    """Return which roles used which dialect."""
    seen: dict[str, set[str]] = {}
    for each in asked:
        seen.setdefault(str(each["dialect"]), set()).add(str(each["role"]))
    return {dialect: sorted(roles) for dialect, roles in sorted(seen.items())}


async def main() -> int:
    """Run and check; return the exit code."""
    # There are no options: `--help` or a typing error must not start a session.
    argparse.ArgumentParser(prog="scripts/real_run", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="blueflame-real-") as name:
        return await checked(Path(name))


async def checked(scratch: Path) -> int:
    """Run in a temporary folder and report."""
    os.chmod(scratch, 0o755)  # noqa: PTH101, S103 (the host's user must pass; made by tempfile, before anything else runs)
    repository = fetch(scratch)
    make_repository(repository)
    before = picture(repository)
    code, output, asked = await run_session(scratch, repository)
    print(output, file=sys.stderr)
    branch = session_branch(repository)
    figures: dict[str, object] = {
        "exit_code": code,
        "branch": branch,
        "checkout_is_identical": picture(repository) == before,
        "tests_pass_on_branch": branch is not None and tests_pass(repository, branch, scratch),
        "roles": roles_by_provider(asked),
        "model_calls": len(asked),
    }
    print(json.dumps(figures))
    wanted = {"anthropic": ["planner"], "openai": ["developer"], "gemini": ["reviewer"]}
    is_well = (
        code == 0
        and figures["checkout_is_identical"]
        and figures["tests_pass_on_branch"]
        and figures["roles"] == dict(sorted(wanted.items()))
    )
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
