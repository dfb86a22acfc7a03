"""`activities.text.commit_subjects`: a long title does not become a long first line."""

from activities.text.commit_subjects import with_short_subject


def test_a_short_text_is_the_whole_message() -> None:
    assert with_short_subject("Add greet(name)") == "Add greet(name)"


def test_g30_a_title_of_500_characters_is_whole_below_a_short_subject() -> None:
    title = ("word " * 100).strip()
    subject, blank, body = with_short_subject(title).split("\n")
    assert (len(subject) <= 100, subject.endswith("..."), blank, body) == (True, True, "", title)
