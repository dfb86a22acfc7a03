"""Which files can be read, each key once."""

import pytest

from activities.repository.structured_files import MAX_BYTES, is_structured, structure_fault


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("a.json", '{"a": 1, "b": [{"a": 2}]}', None),
        ("a.json", '{"a": 1, "b": {"c": 1, "c": 2}}', "it holds 'c' twice"),
        ("a.json", '{"a": 1,}', "not valid JSON"),
        ("package-lock.json", '{"a": 1, "a": 1}', "it holds 'a' twice"),
        ("a.toml", "[a]\nb = 1\n", None),
        ("a.toml", "a = 1\na = 2\n", "not valid TOML"),
        ("a.toml", "package = 1\n", None),
        ("uv.lock", '[[package]]\nname = "x"\n[[package]]\nname = "y"\n', None),
        ("Cargo.lock", '[[package]]\nname = "x"\n[[package]]\nname = "x"\n', "twice"),
        ("Cargo.lock", '[[package]]\nversion = "1"\n[[package]]\nversion = "1"\n', None),
        ("a.yaml", "a: 1\nb:\n- a: 1\n- a: 2\n---\na: 1\n", None),
        ("a.yml", "b:\n- a: 1\n  a: 2\n", "it holds 'a' twice"),
        ("a.yaml", "a: &x {b: 1}\nc:\n  <<: *x\n  d: *x\n", None),
        ("a.yaml", "a: !Ref b\n? [x]\n: 1\n", None),
        ("a.yaml", "", None),
        ("a.yaml", "a: [1\n", "not valid YAML"),
        ("pnpm-lock.yaml", "a: 1\na: 1\n", "it holds 'a' twice"),
        ("a.json", "[" * 100_000, "not valid JSON"),
        ("a.json", " " * (MAX_BYTES + 1), None),
        ("a.py", "a = 1\na = 1\n", None),
    ],
)
def test_structure(path: str, text: str, fault: str | None) -> None:
    found = structure_fault(path, text.encode())
    assert (fault is None and found is None) or (fault or "") in (found or "-")


def test_bytes_that_are_not_text_are_invalid() -> None:
    assert "not valid JSON" in (structure_fault("a.json", b"\xff") or "")


def test_only_names_of_known_formats_are_looked_at() -> None:
    names = ("x/pyproject.toml", "uv.lock", "a.lock", "yaml")
    assert [is_structured(name) for name in names] == [True, True, False, False]
