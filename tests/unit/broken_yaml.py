"""Texts for parsers to stumble over: YAML that is nearly right, and text that is none."""

from hypothesis import strategies as st

SCALARS = st.sampled_from(
    (
        "0", "-1", "2", "010", "1_0", "0x10", "0x_", "0b_", "0o10", "1:30", "1e999", ".inf", ".nan",
        "~", "true", "yes", "2026-01-02", "<<", "*a", "&a", "!x", "@x", "`x", "%x", "|", ">", "?",
        ":", "-", "--", "...", "---", "#", "''", "[]", "{}", "[[]]", "\t", "\ufeff", "\x07", "\x85",
        "'\\u0000'", '"\\ud800"', "\u2028", "p\u0430cing", "9" * 5_000, "!!str [a]", "!!map x",
        "!!map [a]", "!!seq x", "!!seq {a: 1}", "!!set {a}", "!!int x", "!!int ''", "!!bool x",
        "!!float x", "!!float ''", "!!null x", "!!binary aGk=", "!!timestamp x", "!!omap [a: 1]",
    )
)  # fmt: skip
"""Values that some parser, or some reader, takes for something else."""


def yaml_texts(*words: str) -> st.SearchStrategy[str]:
    """Return texts that use a format's own words, in odd ways.

    Args:
        words: keys and values of the format.
    """
    word = st.sampled_from(words) | SCALARS | st.text(max_size=8)
    value = st.recursive(
        word,
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
            | st.lists(st.tuples(word, inner), max_size=3).map(
                lambda pairs: f"{{{', '.join(f'{key}: {item}' for key, item in pairs)}}}"
            )
        ),
        max_leaves=6,
    )
    line = st.builds("{}{}: {}".format, st.sampled_from(("", "", "  ", "- ", "\t")), word, value)
    document = st.lists(line | word, max_size=6).map("\n".join)
    return (
        document
        | document.map(f"{words[0]}\n".__add__)
        | st.text()
        | st.binary().map(lambda data: data.decode("latin-1"))
    )
