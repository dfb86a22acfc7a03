"""`notify`: lists targets without their addresses, and tries each of them once."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starter.cli import app
from starter.console.exit_codes import ExitCode
from tests.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with receiving() as receiver:
        yield receiver


def typed(folder: Path, section: str, *arguments: str) -> tuple[int, str, str]:
    own = folder / "blueflame" / "blueflame.yaml"
    own.parent.mkdir(exist_ok=True)
    own.write_text(f"version: 1\n{section}\n")
    variables = {"XDG_CONFIG_HOME": str(folder)}
    result = CliRunner().invoke(app, ["notify", *arguments], env=variables)
    return result.exit_code, result.stdout, result.stderr


def section(folder: Path, port: int) -> str:
    key = folder / "ops.key"
    key.write_text("0123456789abcdef")
    key.chmod(0o600)
    return (
        f"notifications:\n  targets: {{phone: 'json://127.0.0.1:{port}/phone'}}\n"
        f"  webhooks: {{ops: {{url: 'http://127.0.0.1:{port}/ops', secret_file: '{key}'}}}}\n"
        "  quiet_hours: '00:00-23:59'"
    )


def test_each_target_gets_one_message_also_in_quiet_hours(
    tmp_path: Path, receiver: Receiver
) -> None:
    code, out, _ = typed(tmp_path, section(tmp_path, receiver.port), "--test")
    assert code == ExitCode.COMPLETE
    assert [line.split(maxsplit=1) for line in out.splitlines()] == [
        ["phone", "sent"],
        ["ops", "sent"],
    ]
    assert sorted(post.path for post in receiver.posts) == ["/ops", "/phone"]
    assert receiver.to("/ops")[0].json["kind"] == "test"


def test_a_target_that_fails_is_named_with_its_reason(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers += [500, 500]
    code, out, _ = typed(tmp_path, section(tmp_path, receiver.port), "--test", "--json")
    assert code == ExitCode.FAILED
    faults = {each["target"]: each["fault"] for each in json.loads(out)["tried"]}
    assert faults["ops"] == "the server answered with status 500"
    assert faults["phone"].startswith("the service did not accept it")


def test_without_an_option_targets_are_listed_and_nothing_is_sent(
    tmp_path: Path, receiver: Receiver
) -> None:
    code, out, _ = typed(tmp_path, section(tmp_path, receiver.port))
    assert (code, receiver.posts) == (ExitCode.COMPLETE, [])
    assert out.splitlines()[1:3] == ["  phone            Apprise", "  ops              webhook"]
    assert str(receiver.port) not in out
    assert "quiet hours: 00:00-23:59" in out
    document = json.loads(typed(tmp_path, section(tmp_path, receiver.port), "--json")[1])
    assert document["targets"] == {"phone": "apprise", "ops": "webhook"}


def test_without_a_target_it_says_where_to_add_one(tmp_path: Path) -> None:
    code, out, _ = typed(tmp_path, "turns: 5", "--test")
    assert code == ExitCode.FAILED
    assert f"add `notifications.targets` to '{tmp_path}/blueflame/blueflame.yaml'" in out


def test_a_wrong_section_is_an_error_of_usage(tmp_path: Path) -> None:
    code, _, err = typed(tmp_path, "notifications: {targets: {phone: x}}", "--test")
    assert code == ExitCode.USAGE
    assert "begins with its service" in err
