"""A complaint names file, line, column and remedy; nothing harmful unfolds."""

import pytest
from hypothesis import given
from pydantic import BaseModel, Field, JsonValue

from activities.yaml_documents.model_reader import DocumentError, parse_document, read_document
from tests.unit.broken_yaml import yaml_texts

pytestmark = pytest.mark.fuzz


class Leaf(BaseModel, frozen=True, extra="forbid"):
    colour: str = "green"
    size: int = Field(default=1, ge=1)


class Tree(BaseModel, frozen=True, extra="forbid"):
    name: str
    leaves: tuple[Leaf, ...] = ()
    notes: dict[str, JsonValue] = {}
    crown: Leaf | None = None


def test_reads_a_document() -> None:
    tree = parse_document(
        Tree, "name: oak\nleaves:\n  - colour: red\n    size: 0x10\ncrown: {}\n", "t.yaml"
    )
    assert tree == Tree(name="oak", leaves=(Leaf(colour="red", size=16),), crown=Leaf())


def test_reads_json_as_well() -> None:
    assert parse_document(Tree, '{"name": "oak", "notes": {"a": [1, null]}}', "t").notes == {
        "a": [1, None]
    }


def test_the_halves_of_a_character_become_one() -> None:
    text = r'{"name": "\ud83d\ude00", "notes": {"\ud83d\ude00": "\ud83d!"}}'
    tree = parse_document(Tree, text, "t", keeps_halves=True)
    assert (tree.name, tree.notes) == ("\U0001f600", {"\U0001f600": "\ud83d!"})
    with pytest.raises(DocumentError, match="t:1:10: half of a character"):
        parse_document(Tree, text.replace(r"\ude00", ""), "t")
    with pytest.raises(DocumentError, match="half of a character"):
        parse_document(Tree, r'{"name": "x", "notes": {"\ud83d": 1}}', "t", keeps_halves=True)


def test_an_alias_is_allowed() -> None:
    text = "name: &n oak\nnotes: {a: *n}\n"
    assert parse_document(Tree, text, "t").notes == {"a": "oak"}


def test_an_anchor_may_be_named_again() -> None:
    text = "name: &n oak\nnotes: {a: *n, b: &n elm, c: *n}\n"
    assert parse_document(Tree, text, "t").notes == {"a": "oak", "b": "elm", "c": "elm"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "t.yaml:1:1: the document: "),
        ("- a\n", "t.yaml:1:1: the document: "),
        (
            "name: oak\nleafs: []\n",
            "t.yaml:2:1: leafs: unknown key 'leafs'; did you mean 'leaves'?",
        ),
        (
            "name: oak\nleaves:\n- size: 2\n  color: red\n",
            "t.yaml:4:3: leaves.0.color: unknown key 'color'; did you mean 'colour'?",
        ),
        ("name: oak\ncrown: {zzz: 1}\n", "unknown key 'zzz'; known are colour, size"),
        ("name: oak\nleaves:\n- size: 0\n", "t.yaml:3:3: leaves.0.size: "),
        ("name: oak\nleaves:\n- size: big\n", "t.yaml:3:3: leaves.0.size: "),
        ("name: oak\nname: elm\n", "t.yaml:2:1: the key 'name' stands twice; remove one"),
        ("name: &a oak\nname: &a elm\n", "t.yaml:2:1: the key 'name' stands twice"),
        ("name: oak\nnotes: {when: 2026-01-02}\n", "t.yaml:2:15: put '2026-01-02' in quotes"),
        ("!!timestamp x\n\ny", r"t.yaml:1:1: put 'x\ny' in quotes"),
        ("name: oak\nnotes: {n: .nan}\n", "t.yaml:2:12: .nan is not a finite number"),
        ("name: oak\nnotes: {n: 1e309}\n", "t.yaml:2:12: 1e309 is not a finite number"),
        ("name: !!python/object:os.system {}\n", "t.yaml:1:7: the tag "),
        ("name: oak\n\tleaves: []\n", "t.yaml:2:1: "),
        ("name: oak\nnotes: {? [a] : 1}\n", "t.yaml:2:11: a key must be plain text"),
        ("name: [\n", "t.yaml:2:1: "),
        ("name: *missing\n", "t.yaml:1:7: "),
        ("name: oak\nnotes: {a: &a [*a]}\n", "too large or too deep"),
        ("name: oak\nnotes: {a: " + "[" * 400 + "]" * 400 + "}\n", "deep"),
        ("name: oak\x00\n", "t.yaml:1:10: the character U+0000 is not allowed; remove it"),
        ("name: oak\nnotes: {a: \x07}\n", "t.yaml:2:12: the character U+0007 is not allowed"),
        ("name: " + "9" * 5_000, "9… cannot be read as int; put a text in quotes"),
        ("name: 0x_\n", "t.yaml:1:7: '0x_' cannot be read as int"),
        ("name: !!int ''\n", "t.yaml:1:7: '' cannot be read as int"),
        ("name: !!bool foo\n", "t.yaml:1:7: 'foo' cannot be read as bool"),
        ("name: !!float foo\n", "t.yaml:1:7: 'foo' cannot be read as float"),
        ("name: !!str [a]\n", "t.yaml:1:7: the tag 'tag:yaml.org,2002:str' is not allowed here"),
        ("leaves: !!seq foo\n", "t.yaml:1:9: the tag 'tag:yaml.org,2002:seq' is not allowed"),
        ("leaves: !!seq {a: 1}\n", "t.yaml:1:9: the tag 'tag:yaml.org,2002:seq' is not allowed"),
        ("crown: !!map foo\n", "t.yaml:1:8: the tag 'tag:yaml.org,2002:map' is not allowed"),
        ("crown: !!map [a]\n", "t.yaml:1:8: the tag 'tag:yaml.org,2002:map' is not allowed"),
        ('name: "\\ud800"\n', "t.yaml:1:7: half of a character"),
        ('"\\ud800": oak\n', "t.yaml:1:1: half of a character"),
        ("name: 010\n", "t.yaml:1:7: '010' begins with 0, which some read as octal"),
        ("crown: &c {}\n<<: *c\n", "t.yaml:2:1: merge keys ('<<') are not read"),
        ('"a\\nb": oak\n', r"t.yaml:1:1: a\nb: unknown key 'a\nb'; known are"),
        ("name: *\u2028\n", "t.yaml:1:"),
        ("~: oak\n", "t.yaml:1:1: put '~' in quotes: a key must be plain text"),
        ("2026-01-02: oak\n", "t.yaml:1:1: put '2026-01-02' in quotes: a key must be plain text"),
        ("!!seq x: oak\n", "t.yaml:1:1: put 'x' in quotes: a key must be plain text"),
        (": oak\n", "t.yaml:1:1: a key without a name"),
        ("name: oak\n" + "x" * 999 + ": 1\n", f"t.yaml:2:1: {'x' * 60}: unknown key 'xxx"),
    ],
)
def test_says_where_and_what(text: str, complaint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(Tree, text, "t.yaml")
    assert complaint in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3


def test_an_alias_bomb_does_not_unfold() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    with pytest.raises(DocumentError, match="too large or too deep once its aliases are unfolded"):
        parse_document(Tree, "\n".join(lines), "bomb.yaml")


def test_names_at_most_ten_mistakes() -> None:
    text = "name: oak\n" + "".join(f"x{n}: 1\n" for n in range(14))
    with pytest.raises(DocumentError) as caught:
        parse_document(Tree, text, "t.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "t.yaml: and 4 more"


@given(yaml_texts("name: oak", "name", "leaves", "colour", "size", "notes", "crown"))
def test_any_text_is_a_document_or_a_complaint(text: str) -> None:
    outcome: str | Tree
    try:
        outcome = parse_document(Tree, text, "t.yaml")
    except DocumentError as error:
        outcome = str(error)
    assert isinstance(outcome, Tree) or outcome.startswith("t.yaml:")


def test_each_key_keeps_its_place() -> None:
    text = "name: oak\nleaves:\n- colour: red\n  size: 2\n"
    places = read_document(Tree, text, "t.yaml").places
    assert places["leaves",] == (2, 1)
    assert places["leaves", 0, "size"] == (4, 3)


def test_letters_that_look_like_others_are_named() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(Tree, "n\u0430me: oak\n", "t.yaml")
    assert "(it is written with U+0430); did you mean 'name'?" in str(caught.value)
