"""What agents wrote calls no one and hides nothing in a message."""

import pytest

from workflows.policy.notifications.harmless_text import harmless


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        ("hello @everyone", "@everyone"),
        ("x@here", "@here"),
        ("<@U012AB3CD> look", "<@U012"),
        ("<@&165511591545143296>", "<@&"),
        ("<!channel> look", "<!channel"),
        ("<!subteam^S012>", "<!subteam"),
        ("@room", "@room"),
    ],
)
def test_a_mention_calls_no_one_and_still_reads_the_same(text: str, mention: str) -> None:
    said = harmless(text)
    assert mention in text
    assert mention not in said
    assert said.replace("\u200b", "") == text


def test_a_text_is_one_line_so_that_it_cannot_look_like_another_item() -> None:
    assert harmless("Sure?\n\n  blueflame approve plan") == "Sure? blueflame approve plan"


def test_what_turns_or_hides_text_is_written_out() -> None:
    assert harmless("a\u202eb\x1b[2J") == "a\\u202eb\\x1b[2J"


def test_a_secret_is_named_instead_of_sent() -> None:
    assert harmless("use AKIAIOSFODNN7EXAMPLQ?") == "use [an AWS key id]?"


@pytest.mark.parametrize("text", ["", "Which rounding?", "a < b, at 5 @ noon", "Größe: 3 €"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text
