"""Every way in which a file is often wrong: one complaint with its place and the remedy, code 2."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starter.cli import app
from starter.console.exit_codes import ExitCode

V = b"version: 1\n"
BOMB = "\n".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 12))

CASES: dict[str, tuple[bytes, str]] = {
    "a tab": (V + b"budget:\n\tstop_usd: 1\n", "3:1: a tab; indent with spaces"),
    "a tab at the beginning": (V + b"\tturns: 3\n", "2:1: a tab; indent with spaces"),
    "a tab before a value": (V + b"pacing:\twave\n", "2:8: a tab; indent with spaces"),
    "a key twice": (V + b"turns: 1\nturns: 2\n", "3:1: the key 'turns' stands twice; remove one"),
    "a key twice in a flow map": (
        V + b"budget: {stop_usd: 1, stop_usd: 2}\n",
        "2:23: the key 'stop_usd' stands twice; remove one",
    ),
    "a key twice by an alias": (
        V + b"&a turns: 1\n*a : 2\n",
        "2:1: the key 'turns' stands twice",
    ),
    "an alias bomb": (
        V + b"x0: &x0 [a, a]\n" + BOMB.encode(),
        "2:10: too large or too deep once its aliases are unfolded; write less, without aliases",
    ),
    "an alias of itself": (V + b"turns: &a [*a]\n", "2:8: too large or too deep once its aliases"),
    "an unknown alias": (V + b"turns: *x\n", "2:8: found undefined alias 'x'; put a text that"),
    "a merge key": (V + b"budget: &b {}\n<<: *b\n", "3:1: merge keys ('<<') are not read; write"),
    "a text for a number": (V + b"turns: many\n", "2:1: turns: must be a whole number, not 'many'"),
    "a number for a duration": (
        V + b"command_timeout: 90\n",
        "2:1: command_timeout: a duration is written as 90s",
    ),
    "a text for a mapping": (
        V + b"budget: 5\n",
        "mapping of keys to values, not 5; its keys are burn_usd_per_minute, stop_usd, warn_usd",
    ),
    "a mapping for a text": (
        V + b"pacing: {a: 1}\n",
        "2:1: pacing: must be 'wave' or 'flow', not a",
    ),
    "a text for a list": (
        V + b"worktree:\n  copy: .env\n",
        "3:3: worktree.copy: must be a list, not '.env'",
    ),
    "a number in a list of texts": (
        V + b"gates:\n  a:\n    run: [x, 1]\n",
        "4:14: gates.a.run.1: must be a text (put it in quotes), not 1",
    ),
    "a list for a mapping deep inside": (
        V + b"gates:\n  a: [x]\n",
        "3:3: gates.a: must be a mapping of keys to values, not a list",
    ),
    "an unknown key near a known one": (
        V + b"budget: {stop_us: 1}\n",
        "2:10: budget.stop_us: unknown key 'stop_us'; did you mean 'stop_usd'?",
    ),
    "an unknown key near none": (
        V + b"zzz: 1\n",
        "2:1: zzz: unknown key 'zzz'; known are agents, approvals, attempts",
    ),
    "a key with a letter that looks alike": (
        V + "p\u0430cing: wave\n".encode(),
        "unknown key 'p\u0430cing' (it is written with U+0430); did you mean 'pacing'?",
    ),
    "a key with a letter that is not seen": (
        V + "pacing\u200b: wave\n".encode(),
        "unknown key 'pacing\\u200b' (it is written with U+200B); did you mean 'pacing'?",
    ),
    "a spelling of our own code": (
        V + b"concurrency: {validation: 2}\n",
        "unknown key 'validation'; did you mean 'validate'?",
    ),
    "no version": (b"turns: 1\n", "1:1: the document: the key 'version' is missing here; write"),
    "a newer version": (
        b"version: 2\n",
        "1:1: version: this release reads version 1, not 2, which is of a newer",
    ),
    "an older version": (
        b"version: 0\n",
        "1:1: version: this release reads version 1, not 0; write",
    ),
    "a version that is a text": (
        b"version: '1'\n",
        "1:1: version: this release reads version 1, not '1'; write 'version: 1'",
    ),
    "a version that is true": (
        b"version: true\n",
        "1:1: version: this release reads version 1, not true; write 'version: 1'",
    ),
    "a version that is a fraction": (
        b"version: 1.0\n",
        "this release reads version 1, not 1.0; write",
    ),
    "no number": (V + b"budget: {stop_usd: .nan}\n", "2:20: .nan is not a finite number"),
    "no number, as a text": (
        V + b"budget: {stop_usd: NaN}\n",
        "2:10: budget.stop_usd: must be a number, not 'NaN'",
    ),
    "an infinite number": (
        V + b"budget: {warn_usd: -.inf}\n",
        "2:20: -.inf is not a finite number",
    ),
    "a number that overflows": (
        V + b"budget: {stop_usd: 1e999}\n",
        "2:20: 1e999 is not a finite number",
    ),
    "more money than there is": (
        V + b"budget: {stop_usd: 1000001}\n",
        "2:10: budget.stop_usd: must be at most 1000000, not 1000001",
    ),
    "a number with thousands of digits": (
        V + b"turns: " + b"9" * 9_000,
        "9… cannot be read as int",
    ),
    "an octal number": (V + b"turns: 010\n", "2:8: '010' begins with 0, which some read as octal"),
    "yes for a choice": (
        V + b"approvals:\n  plan: yes\n",
        "3:3: approvals.plan: must be 'ask' or 'auto', not 'yes'",
    ),
    "off for a choice": (
        V + b"sandbox: off\n",
        "2:1: sandbox: must be 'required' or 'none', not 'off'",
    ),
    "true for a number": (V + b"turns: true\n", "2:1: turns: must be a whole number, not true"),
    "on, in the older YAML": (
        b"%YAML 1.1\n---\n" + V + b"pacing: on\n",
        "4:1: pacing: must be 'wave' or 'flow', not true",
    ),
    "an unquoted date": (
        V + b"pacing: 2026-01-02\n",
        "2:9: put '2026-01-02' in quotes: an unquoted",
    ),
    "a tag": (
        V + b"turns: !!python/object:os.system x\n",
        "2:8: the tag 'tag:yaml.org,2002:python/object:os.sys",
    ),
    "a tag that does not fit": (
        V + b"budget: !!map x\n",
        "2:9: the tag 'tag:yaml.org,2002:map' is not",
    ),
    "nothing": (b"", "1:1: empty; write at least 'version: 1'"),
    "nothing but a comment": (b"# version: 1\n", "1:1: the document: must be a mapping of keys"),
    "nothing but blanks": (b" \n\n", "1:1: empty; write at least 'version: 1'"),
    "a list at the top": (
        b"- version: 1\n",
        "1:1: the document: must be a mapping of keys to values, not a list",
    ),
    "a text at the top": (
        b"hello\n",
        "1:1: the document: must be a mapping of keys to values, not 'hello'",
    ),
    "two documents": (V + b"---\n" + V, "2:1: a second document begins here; a file holds one"),
    "a binary": (b"\x7fELF\x02\x01\x00\xff", "1:8: not UTF-8; save the file as UTF-8"),
    "a null byte": (V + b"pacing: \0\n", "2:9: the character U+0000 is not allowed; remove it"),
    "Latin-1": (V + b"# f\xfcr\n", "2:4: not UTF-8; save the file as UTF-8"),
    "UTF-16": ("version: 1\n".encode("utf-16"), "1:1: not UTF-8; save the file as UTF-8"),
    "CRLF": (b"version: 1\r\nturns: x\r\n", "2:1: turns: must be a whole number, not 'x'"),
    "a byte order mark": (
        b"\xef\xbb\xbf" + V + b"turns: x\n",
        "2:1: turns: must be a whole number",
    ),
    "ten megabytes": (V + b"#" * 10_000_000, "over 65,536 bytes; shorten it"),
    "ten megabytes of letters": ("ü".encode() * 5_000_000, "over 65,536 bytes; shorten it"),
    "a deep list": (
        V + b"turns: " + b"[" * 1_000,
        "2:205: nested deeper than 200; write it flatter",
    ),
    "a deeper list": (V + b"turns: " + b"[" * 700, "nested deeper than 200; write it flatter"),
    "a deep mapping": (
        V + b"".join(b" " * n + b"a:\n" for n in range(250)),
        "203:202: too large or too deep",
    ),
    "a quote that is not closed": (V + b"pacing: 'wave\n", "end of stream; a quote is not closed"),
    "a bracket that is not closed": (V + b"turns: [1\n", "3:1: expected ',' or ']'"),
    "a colon in a text": (
        V + b"pacing: a: b\n",
        "2:10: mapping values are not allowed here; indent",
    ),
    "a key without a colon": (
        V + b"pacing\n",
        "3:1: could not find expected ':'; write 'key: value'",
    ),
    "a text that begins with @": (
        V + b"pacing: @x\n",
        "cannot start any token; put the text in quotes",
    ),
    "a key without a name": (V + b": wave\n", "2:1: a key without a name; write 'name: value'"),
    "a key that is a list": (V + b"? [a]\n: 1\n", "2:3: a key must be plain text"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_an_invalid_file_is_reported_with_its_position(name: str, tmp_path: Path):
    content, expected = CASES[name]
    file = tmp_path / "wrong.yaml"
    file.write_bytes(content)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "none")}
    result = CliRunner().invoke(app, ["config", "check", str(file)], env=environment)
    assert result.exit_code == ExitCode.USAGE
    assert result.stdout == ""
    first, *more = result.stderr.removeprefix("error: ").splitlines()
    assert more == []
    assert re.match(rf"{re.escape(str(file))}:\d+:\d+: .", first)
    assert len(first) < 500
    assert expected in first
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfversion: 1\nturns: 7\n",
        b"version: 1\r\nturns: 7\r\n",
        b"version: 1\nturns: &n 7\nattempts: *n\n",
        b'{"version": 1, "turns": 7}',
        b"---\nversion: 1\nturns: 7\n...\n",
        b"version: 1\nturns: 0o7\n",
        b"version: 1\nbudget:\nturns: 7\n",
    ],
)
def test_unusual_but_valid_yaml_is_read(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    shown = CliRunner().invoke(app, ["config", "show", "--config", str(file)])
    assert shown.exit_code == ExitCode.COMPLETE
    assert "turns: 7\n" in shown.stdout
