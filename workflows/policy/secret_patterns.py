"""What well-known kinds of keys look like.

They catch what is left lying about by mistake. They are no proof that a text holds no secret: a
password is any word. Each kind names the plain text that every such key holds, because looking for
that first is a hundred times faster. Shared by what is copied into worktrees and by what comes out
of them.
"""

import re
from typing import Final

KINDS: Final[tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...]] = tuple(
    (name, signs, re.compile(pattern))
    for name, signs, pattern in (
        (
            "a private key",
            (b"PRIVATE KEY",),
            rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----",
        ),
        ("a private key", (b"PuTTY-User-Key-File-",), rb"PuTTY-User-Key-File-\d"),
        ("an age key", (b"AGE-SECRET-KEY-1",), rb"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
        ("an AWS key id", (b"AKIA", b"ASIA"), rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("an Anthropic key", (b"sk-ant-",), rb"\bsk-ant-[A-Za-z0-9_-]{20,}"),
        (
            "an OpenAI key",
            (b"sk-",),
            rb"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})",
        ),
        ("an Azure storage key", (b"AccountKey=",), rb"\bAccountKey=[A-Za-z0-9+/]{86}=="),
        ("a Databricks token", (b"dapi",), rb"\bdapi[0-9a-f]{32}\b"),
        ("a DigitalOcean token", (b"_v1_",), rb"\bdo[opr]_v1_[0-9a-f]{64}\b"),
        ("a Google API key", (b"AIza",), rb"\bAIza[0-9A-Za-z_-]{35}"),
        ("a Google client secret", (b"GOCSPX-",), rb"\bGOCSPX-[A-Za-z0-9_-]{28}"),
        (
            "a GitHub token",
            (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
            rb"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40})",
        ),
        ("a GitLab token", (b"glpat-",), rb"\bglpat-[A-Za-z0-9_-]{20}"),
        ("a Hugging Face token", (b"hf_",), rb"\bhf_[A-Za-z]{34}\b"),
        ("a SendGrid key", (b"SG.",), rb"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
        ("a Slack token", (b"xox",), rb"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
        (
            "a Slack webhook",
            (b"hooks.slack.com",),
            rb"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/\w{20,}",
        ),
        ("a Stripe key", (b"k_live_",), rb"\b[sr]k_live_[A-Za-z0-9]{20,}"),
        ("an npm token", (b"npm_",), rb"\bnpm_[A-Za-z0-9]{36}"),
        ("a PyPI token", (b"pypi-AgEI",), rb"\bpypi-AgEI[A-Za-z0-9_-]{20,}"),
        ("a Vault token", (b"hvs.",), rb"\bhvs\.[A-Za-z0-9_-]{24,}"),
    )
)


def first_of_each(text: bytes) -> tuple[tuple[int, str], ...]:
    """Find the first key of each kind.

    Args:
        text: lines; NUL bytes are not looked at, so that UTF-16 hides nothing.

    Returns:
        Line number from 1, and the kind in words; by line.
    """
    plain = text.replace(b"\0", b"")
    found = [
        (match.start(), name)
        for name, signs, kind in KINDS
        if any(sign in plain for sign in signs) and (match := kind.search(plain))
    ]
    return tuple((plain.count(b"\n", 0, start) + 1, name) for start, name in sorted(found))
