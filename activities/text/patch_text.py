"""The text of a patch, in which names of files can be told apart, whatever bytes they hold."""


def patch_text(patch: bytes) -> str:
    r"""Decode a patch of `git diff`.

    Args:
        patch: with names as they are (`core.quotePath=false`).

    Returns:
        Names with each byte that is not UTF-8 written out (`caf\xe9`); in the lines of files such
        bytes become U+FFFD, as wherever files are shown.
    """
    lines: list[str] = []
    is_head = True
    for line in patch.split(b"\n"):
        # Each line of a hunk begins with a blank, a sign or a backslash.
        if line.startswith(b"diff --git "):
            is_head = True
        elif line.startswith(b"@@ "):
            is_head = False
        lines.append(line.decode("utf-8", "backslashreplace" if is_head else "replace"))
    return "\n".join(lines)
