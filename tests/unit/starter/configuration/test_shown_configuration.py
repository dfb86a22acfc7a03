"""What `config show` says is what a session gets, and where each value came from."""

from pathlib import Path

from activities.ports.endpoints import Abilities, ProviderEntry
from starter.configuration.effective_configuration import combine, load_configuration
from starter.configuration.file_shape import read_file
from starter.configuration.layers import Sources, read_layers
from starter.configuration.shown_configuration import lines, shown_configuration

KEYS = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y"}
EXAMPLE = Path(__file__).parents[4] / "blueflame.example.yaml"


def test_what_is_shown_gives_the_same_session(tmp_path: Path):
    layers = read_layers(Sources(config=EXAMPLE))
    given = combine(layers, KEYS)
    for with_origins in (False, True):
        text = "\n".join(lines(shown_configuration(layers, KEYS), with_origins=with_origins))
        path = tmp_path / "shown.yaml"
        path.write_text(text)
        found = load_configuration(Sources(config=path), {})
        assert (found.session, found.providers) == (given.session, given.providers)


def test_providers_and_models_are_shown_one_by_one(tmp_path: Path):
    user = tmp_path / "user.yaml"
    user.write_text(
        "version: 1\n"
        "providers:\n  local: {base_url: 'http://127.0.0.1:11434/v1'}\n"
        "catalogue:\n  local/qwen2.5:7b: {prices: {input_usd: 0, output_usd: 0.5}}\n"
    )
    entry = ProviderEntry(base_url="http://127.0.0.1:1/v1", abilities=Abilities(streaming=False))
    layers = read_layers(Sources(user=user, providers={"other": entry}))
    found = shown_configuration(layers, KEYS)
    text = "\n".join(lines(found, with_origins=False))
    again = read_file(text, "x").value
    given = combine(layers, KEYS)
    assert (again.providers, again.catalogue) == (given.providers, given.session.catalogue)
    assert str(found.settings["catalogue.local/qwen2.5:7b"].origin) == f"{user}:5"
    assert found.settings["providers.other"].value == {
        "base_url": "http://127.0.0.1:1/v1",
        "abilities": {"streaming": False},
    }
    assert str(found.settings["providers.other"].origin) == "BLUEFLAME_PROVIDERS"
    assert not {"providers", "catalogue"} & set(found.settings)


def test_without_models_and_files_the_defaults_are_shown():
    found = shown_configuration((), {})
    text = "\n".join(lines(found, with_origins=False))
    assert "  # planner: no model; set a provider's key, or name one" in text
    assert "# gates: detected from the repository's files" in text
    assert read_file(text, "x").value.turns == 60
    assert {str(setting.origin) for setting in found.settings.values()} == {"default"}
    assert found.settings["gates"].value is None


def test_each_value_says_where_it_came_from(tmp_path: Path):
    user = tmp_path / "user.yaml"
    user.write_text("version: 1\nbudget:\n  stop_usd: 3\n")
    (tmp_path / "blueflame.yaml").write_text("version: 1\nturns: 5\ngates:\n  a: {run: x}\n")
    flags = {"pacing": "flow"}
    sources = Sources(user, tmp_path, None, flags, {"pacing": "--pacing"})
    found = shown_configuration(read_layers(sources), KEYS)
    said = dict(line.rsplit(" # ", 1) for line in lines(found, with_origins=True) if " # " in line)
    origins = {line.strip(): origin for line, origin in said.items()}
    assert origins["stop_usd: 3"] == f"{user}:3"
    assert origins["turns: 5"] == "blueflame.yaml:2"
    assert origins["a: {run: [x], timeout: 10m}"] == "blueflame.yaml:3"
    assert origins["pacing: flow"] == "--pacing"
    assert origins["attempts: 3"] == "default"
    assert origins["reviewer: [openai/gpt-6.1-terra]"] == "default (keys in the environment)"
    assert found.settings["budget.stop_usd"].origin.model_dump() == {
        "layer": "user",
        "source": str(user),
        "line": 3,
        "column": 3,
    }
