"""Ways to write a command: texts that look like one, and what hides one that is denied."""

import functools
import re
from collections.abc import Callable

from hypothesis import strategies as st

from tests.unit.policy.commands.command_table import DENIED

# --- texts that no one wrote ---------------------------------------------------------------------

SHELLISH = "ab \t\n;|&<>()$`'\"{}[]\\#=!*?~-+@:,.%^/0EOFé\u200b\x00\r\ufdd0"
TOKENS = (
    "git", "push", "echo", "$(", ")", "`", "'", "\"", ";", "&&", "||", "|", "&", "(", "{", "}",
    "\n", "if", "then", "else", "fi", "for", "in", "do", "done", "while", "case", "esac", "<<",
    "<<-", "<<<", "EOF", ">", ">>", "<", "2>&1", "$x", "${x}", "$((", "))", "[[", "]]", "[", "]",
    "\\", "!", "function", "f()", "=", "a=1", "#", "-c", "bash", "eval", "*", "?", "{a,b}",
    "$'\\x67'", "<(", ">(", "$", "x=", "[0]", "+=", "((", "${", "<&", "&>", ">|", "|&", ";;",
    "coproc", "time", "exec", "trap", "@(", "$[", "~", "${x:-", "'a'", "0",
)  # fmt: skip
"""Harmless programs only, and what bash's grammar is made of."""
GAPS = st.sampled_from((" ", " ", " ", "", "\n", "\t", "\\\n", " \\\n "))

shellish = st.text(alphabet=SHELLISH, max_size=60)
tokens = st.lists(st.tuples(st.sampled_from(TOKENS), GAPS).map("".join), max_size=15).map("".join)
anything = st.one_of(st.text(max_size=80), shellish, tokens)

# --- a command inside another one ----------------------------------------------------------------

Wrap = Callable[[str], str]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


TEXT_WRAPS: dict[str, Wrap] = {
    "subshell": lambda c: f"(\n{c}\n)",
    "group": lambda c: f"{{\n{c}\n}}",
    "substitution": lambda c: f"echo $(\n{c}\n)",
    "quoted substitution": lambda c: f'echo "$(\n{c}\n)"',
    "process": lambda c: f"cat <(\n{c}\n)",
    "and": lambda c: f"true &&\n{c}",
    "or": lambda c: f"false ||\n{c}",
    "after": lambda c: f"echo a; {c}",
    "pipe": lambda c: f"true | {{\n{c}\n}}",
    "background": lambda c: f"{{\n{c}\n}} & wait",
    "time": lambda c: f"time {{\n{c}\n}}",
    "coproc": lambda c: f"coproc {{\n{c}\n}}; wait",
    "not": lambda c: f"! {{\n{c}\n}}",
    "if": lambda c: f"if true; then\n{c}\nfi",
    "while": lambda c: f"while true; do\n{c}\nbreak; done",
    "for": lambda c: f"for i in 1; do\n{c}\ndone",
    "case": lambda c: f"case a in a)\n{c}\n;; esac",
    "function": lambda c: f"f() {{\n{c}\n}}; f",
    "assignment": lambda c: f"x=$(\n{c}\n)",
    "bash -c": lambda c: f"bash -c {quoted(c)}",
    "sh -ec": lambda c: f"sh -ec {quoted(c)}",
    "eval": lambda c: f"eval {quoted(c)}",
    "env bash": lambda c: f"env X=1 timeout -k 1 5 bash --norc -c {quoted(c)} name",
    "xargs sh": lambda c: f"echo | xargs -n1 nice -n 1 bash -c {quoted(c)}",
    "find": lambda c: f"find . -maxdepth 0 -exec bash -c {quoted(c)} \\;",
    "here-document": lambda c: f"bash <<'q{len(c)}'\n{c}\nq{len(c)}\n",
    "here-string": lambda c: f"bash <<< {quoted(c)}",
    "trap": lambda c: f"trap {quoted(c)} EXIT",
}
PREFIXES = (
    "env ", "env -i A=1 PATH=$PATH ", "timeout 5 ", "timeout -s KILL 5 ", "nice -n 3 ", "nohup ",
    "setsid -w ", "stdbuf -oL ", "command ", "exec ", "builtin command ", "time ", "env A=1 B=2 ",
    ">/dev/null ", "echo x | xargs -I% ", "xargs -a /dev/null -n 1 ",
)  # fmt: skip
"""For commands that are one program with its words."""
OPAQUE_WRAPS = frozenset({"coproc", "find", "not", "time", "xargs sh"})
"""Behind these the policy cannot tell what runs, so that they are denied as they are."""
SIMPLE = tuple(
    command
    for command, _ in DENIED
    if not any(mark in command for mark in "|&;\n(){}<>`=!")
    and not command.startswith(("if ", "#"))
)


# --- a substitution in some place of a command ---------------------------------------------------

SPOTS = (
    "echo §", 'echo "§"', "echo '§'", "echo $'§'", 'echo $"§"', "echo a§b", 'echo "a"§',
    "echo \\§", 'echo "\\§"', 'echo "$ §"', "echo $ §", "echo ${x:-§}", 'echo "${x:-§}"',
    "echo ${x:-'§'}", "echo \"${x:-'§'}\"", 'echo "${x:-"§"}"', "echo ${x:=§}", "echo ${x/a/§}",
    "echo \"${HOME#'§'}\"", "echo ${x[§]}", "echo ${x['§']}", "echo ${HOME:§}", "echo $((§))",
    "echo $((1+'§'))", "echo \"$(('a[§]'))\"", "echo $[§]", "echo $['§']", "((§))", "(('a[§]'))",
    '(("a[§]"))', "let §", "let 'a[§]'", "x=§", 'x="§"', "x='§'", "x[§]=1", "x['§']=1",
    "x='a[§]'; ((x))", "x='a[§]'; echo ${!x}", "x=(§)", "x=('a[§]'); ((x))", "x=([§]=1)",
    "x=(['§']=1)", "x+=§",
    "export x=§", "export 'x[§]=1'", "declare x=§", "declare -i 'x=a[§]'", "typeset -i x='a[§]'",
    "declare -n x='a[§]'; echo $x", "[ § ]", "[ -v 'a[§]' ]", "test 'a[§]' -eq 1", "[[ § ]]",
    "[[ a == § ]]", "[[ a =~ § ]]", "[[ -v 'a[§]' ]]", "[[ 'a[§]' -eq 1 ]]", "printf -v 'a[§]' x",
    "read 'a[§]' <<< x", "unset 'a[§]'", "getopts x 'a[§]' -x", "wait -n -p 'a[§]'",
    "case § in a) ;; esac", "case a in §) ;; esac", "case a in a) § ;; esac",
    "for x in §; do :; done", "for ((;§0;)); do :; done", "select x in §; do break; done",
    "if §; then :; fi", "! §", "time §", "(§)", "{ §; }", "§ &", ": | §", "§ | :", ": && §",
    "false || §", "f() { §; }; f", "f() { :; } > §; f", "echo > §", "cat < §", "cat <<< §",
    "cat <<< '§'", "cat <<E\n§\nE", "cat <<'E'\n§\nE", 'cat <<"E"\n§\nE', "cat <<E\n'§'\nE",
    "cat <<E\n${x:-'§'}\nE", "cat <<E\n\\§\nE", "cat <<-E\n\t§\n\tE", "cat <<E\n$((§))\nE",
    "cat < <(§)", "echo > >(§)", "cat <(§)", "cat <<E <<F\nE\n§\nF", "echo {a,§}", "echo *§",
    "echo ~§", "shopt -s extglob\necho @(§)", "bash -c §", "bash -c '§'", 'bash -c "§"', "eval §",
    "eval '§'", "eval \\§", "trap '§' EXIT", 'trap "§" EXIT', "# §\n:", ": #§", "echo '\n§'",
    "x='§'; echo \"${x@P}\"", "PS4='§'; set -x; :", "coproc §", "exec §", "x=$ §", "cat <$ §",
    "mapfile -C '§' -c 1 a <<< b", "compgen -C '§' x", "shopt -s expand_aliases\nalias g='§'\ng",
    "bash <<< '§'", "bash < <(echo '§')", "env bash <<< '§'", "f() { bash; }; f <<< '§'",
    "echo '§' | env sh",
)  # fmt: skip
"""Each holds `§` where a command may stand, or what is replaced by its output; not all run it."""
PRINTED = tuple(spot for spot in SPOTS if not re.search(r"\(\(|\[|let |x='|PS4", spot))
"""Those of them where bash takes nothing for an expression."""
INSIDE = ("$(§)", "`§`", "<(§)", "§", "$( § )", '"$(§)"', "$(\n§\n)", "${x:-$(§)}", "$(: # )\n§)")
"""Forms that the command in such a place may have."""


@st.composite
def hidden(draw: st.DrawFn, command: str = "git push") -> str:
    """Return a command in up to three such places, each inside the next.

    Only the innermost one is reckoned with: what a program prints, and bash then takes for an
    expression, no one can read before it runs.
    """
    spots = [draw(st.sampled_from(SPOTS)), *draw(st.lists(st.sampled_from(PRINTED), max_size=2))]
    for spot in spots:
        command = spot.replace("§", draw(st.sampled_from(INSIDE)).replace("§", command))
    return command


EDITS = st.lists(
    st.tuples(st.integers(0, 80), st.sampled_from([*"'\"\\$`(){}[]<>|&;# \n\t=*~!0", ""])),
    max_size=3,
)
"""Where to put which letter; an empty one takes a letter away."""


def edited(text: str, edits: list[tuple[int, str]]) -> str:
    """Return a text with some letters put in or taken out."""
    for place, letter in edits:
        at = place % (len(text) + 1)
        text = text[:at] + letter + text[at + (not letter) :]
    return text


# --- a word with the same meaning ----------------------------------------------------------------


def _quoted_letter(letter: str) -> list[str]:
    code = ord(letter)
    return [
        letter,
        letter,
        f"\\{letter}",
        f"'{letter}'",
        f'"{letter}"',
        f"$'\\x{code:02x}'",
        f"$'\\{code:03o}'",
        f"$'\\u{code:04x}'",
        f'$"{letter}"',
        f"{letter}\\\n",
        f"{letter}''",
        f'{letter}""',
    ]


def _expanded_letter(letter: str) -> list[str]:
    return [f"${{none}}{letter}", f"$(){letter}", f'"${{none}}"{letter}']


@functools.cache
def requoted(text: str) -> st.SearchStrategy[str]:
    """Write each word of a plain command in other quotes."""
    letters = (
        st.sampled_from((" ", "  ", "\t", " \\\n", " >/dev/null "))
        if letter == " "
        else st.sampled_from(_quoted_letter(letter))
        for letter in text
    )
    return st.tuples(*letters).map("".join)


@functools.cache
def disguised(word: str) -> st.SearchStrategy[str]:
    """Write a word in other quotes, with expansions between that leave nothing."""
    letters = (
        st.sampled_from((*_quoted_letter(letter), *_expanded_letter(letter))) for letter in word
    )
    return st.tuples(*letters).map("".join)


pushing = st.tuples(
    st.sampled_from(["", *[p for p in PREFIXES if "xargs" not in p]]),
    disguised("git"),
    st.sampled_from([" ", "\t", " \\\n ", " -C . ", " -c a.b=c ", " >/dev/null ", "  $none "]),
    disguised("push"),
).map("".join)
