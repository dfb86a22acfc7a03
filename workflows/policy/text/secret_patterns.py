"""Secrets that have a known form, such as providers' keys and private keys.

One table for every use: files that are copied, lines that a task adds, and texts that are shown
to a model or kept in a history. A form is public (the provider documents it) and has a literal
beginning, so a text without any of the beginnings costs only a search. Secrets without a form (a
password, a company's own token) are not found here.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class FoundSecret(NamedTuple):
    """Where a text holds something that looks like a secret."""

    kind: str
    """With its article, for use in a sentence: `a GitHub token`."""
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""


class _Form(NamedTuple):
    kind: str
    beginnings: tuple[str, ...]
    """A text without any of these holds none."""
    pattern: re.Pattern[str]


def _form(kind: str, beginnings: str, pattern: str) -> _Form:
    return _Form(kind, tuple(beginnings.split(" ")), re.compile(pattern, re.ASCII))


_KEY_BODY = r"(?:[\s\S]{0,20000}?-----END [A-Z0-9 ]{1,60}-----|[A-Za-z0-9+/=\s\\]*)"
_FORMS: Final = (
    _form(
        "a private key",
        "PRIVATE",
        rf"-----BEGIN (?:[A-Z0-9]+ ){{0,3}}PRIVATE KEY(?: BLOCK)?-----{_KEY_BODY}",
    ),
    _form("a private key", "PuTTY-User-Key-File-", r"PuTTY-User-Key-File-\d[\s\S]{0,20000}"),
    _form("an AWS key id", "AKIA ASIA", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    _form(
        "an AWS secret key",
        "secret_access_key SECRET_ACCESS_KEY",
        r"(?i:aws_secret_access_key)[\"']?\s{0,9}[=:]\s{0,9}[\"']?[A-Za-z0-9/+]{40}\b",
    ),
    _form("an age key", "AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    _form("an Azure storage key", "AccountKey=", r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
    _form("a Databricks token", "dapi", r"\bdapi[0-9a-f]{32}\b"),
    _form("a DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    _form("a Google client secret", "GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    _form("a Hugging Face token", "hf_", r"\bhf_[A-Za-z]{34}\b"),
    _form("a SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _form(
        "a Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/\w{20,}",
    ),
    _form("a Vault token", "hvs.", r"\bhvs\.[A-Za-z0-9_-]{24,}"),
    _form("an Anthropic key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    _form(
        "an OpenAI key",
        "sk-",
        r"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})",
    ),
    _form("a Google API key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}"),
    _form(
        "a GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255})",
    ),
    _form("a GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _form("a Slack token", "xox", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    _form("a Stripe key", "k_live_", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    _form("an npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    _form("a PyPI token", "pypi-AgEI", r"\bpypi-AgEI[A-Za-z0-9_-]{20,}"),
)
_KEY_LIKE: Final = re.compile(r"\b(?:sk-|AIza|AQ\.)[A-Za-z0-9_*.\-]{8,}")


def secrets_in(text: str) -> tuple[FoundSecret, ...]:
    """Find what looks like a secret.

    Args:
        text: of any length; bytes may be decoded as Latin-1.

    Returns:
        In the order of the text, without overlaps.
    """
    every = sorted(_all(text), key=lambda each: (each.start, -each.end))
    found: list[FoundSecret] = []
    for each in every:
        if not found or each.start >= found[-1].end:
            found.append(each)
    return tuple(found)


def first_of_each(text: bytes) -> tuple[tuple[int, str], ...]:
    """Find the first secret of each kind.

    Args:
        text: lines of any encoding. NUL bytes are removed, so that UTF-16 hides nothing, and also
            read as blanks, so that a NUL before a secret does not hide it.

    Returns:
        Line number from 1, and the kind; ordered by line.
    """
    first: dict[str, int] = {}
    for plain in dict.fromkeys((text.replace(b"\0", b""), text.replace(b"\0", b" "))):
        for found in secrets_in(plain.decode("latin-1")):
            line = plain.count(b"\n", 0, found.start) + 1
            first[found.kind] = min(line, first.get(found.kind, line))
    return tuple(sorted((line, kind) for kind, line in first.items()))


def without_secrets(text: str) -> str:
    """Replace what looks like a secret with its kind in brackets: `[a GitHub token]`.

    Returns:
        The same object if there is none. Applying it twice changes nothing more.
    """
    found = secrets_in(text)
    if not found:
        return text
    parts: list[str] = []
    end = 0
    for each in found:
        parts += (text[end : each.start], f"[{each.kind}]")
        end = each.end
    return "".join((*parts, text[end:]))


def without_key_like(text: str) -> str:
    """Replace what begins like a model provider's key with `[key]`, even if short or masked.

    For a provider's own error messages, which quote a part of the refused key
    (`sk-proj-****abcd`). Elsewhere it would mistake ordinary words for keys.
    """
    return _KEY_LIKE.sub("[key]", text)


def _all(text: str) -> Iterator[FoundSecret]:
    for kind, beginnings, pattern in _FORMS:
        if any(beginning in text for beginning in beginnings):
            for match in pattern.finditer(text):
                yield FoundSecret(kind, match.start(), match.end())
