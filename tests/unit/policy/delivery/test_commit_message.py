"""Messages of commits: a short subject, the whole story, nothing that a service acts on."""

from workflows.policy.delivery.commit_message import shortened, task_message


def test_a_short_text_is_the_whole_message() -> None:
    assert shortened("Add greet(name)") == "Add greet(name)"


def test_g30_a_title_of_500_characters_is_whole_below_a_short_subject() -> None:
    title = ("word " * 100).strip()
    subject, blank, body = shortened(title).split("\n")
    assert (len(subject) <= 100, subject.endswith("..."), blank, body) == (True, True, "", title)


def test_the_message_says_what_why_and_which_criteria() -> None:
    criteria = ("`price('EUR')` gives cents", "Rounding is half to even, as in the old code " * 2)
    assert task_message("Add a currency", "Prices had none.\n\n- see `cart.py`", criteria) == (
        "Add a currency\n\n"
        "Prices had none.\n\n- see `cart.py`\n\n"
        "Criteria met:\n"
        "- `price('EUR')` gives cents\n"
        "- Rounding is half to even, as in the old code Rounding is half to even,\n"
        "  as in the old code"
    )


def test_without_a_summary_and_criteria_the_subject_is_all() -> None:
    assert task_message("Add a currency", " \n", ()) == "Add a currency"


def test_a_summary_mentions_no_one_and_closes_nothing() -> None:
    told = task_message(
        "Add x", "Fixes #12, thanks @ann; see https://git.example/i/3", ("Close #4",)
    )
    assert not [words for words in ("#12", "@ann", "https://", "#4") if words in told]


def test_long_lines_are_broken_and_blocks_are_not() -> None:
    code = f"    {'x ' * 60}"
    lines = task_message("Add x", f"{'word ' * 40}\n{code}", ()).splitlines()
    assert max(len(line) for line in lines if line != code.rstrip()) <= 72
    assert code.rstrip() in lines


def test_a_summary_that_repeats_a_key_does_not_bring_it_into_the_history() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert key[:12] not in task_message("Add x", f"I found {key} in the log.", ())
