"""How real servers word their refusals: which words mean what, and who says so.

Status and code decide where they can (`error_classes`). Many servers, however, report very
different faults as a plain 400, so that only the words differ. A row is added when a server is seen
to say something new; the newest known date is kept, so that old rows can be found and removed.
"""

import re
from typing import Final, Literal, NamedTuple

Meaning = Literal[
    "request", "blocked", "model", "credit", "key", "output", "overflow", "reasoning_replay"
]
"""`request`: only this request is at fault. `blocked`: a filter refuses the prompt. `model`: this
model cannot be used as configured, or by this account. `credit`, `key`: the account. `output`:
prompt and requested output together are too long, or the requested output is. `overflow`: the
prompt is. `reasoning_replay`: the server wants its reasoning back."""


class Wording(NamedTuple):
    """One way to say something."""

    meaning: Meaning
    server: str
    """Who says it: a provider, or a program that serves models."""
    seen: str
    """Year and month of the newest known report; rough for a row without a public one."""
    words: str
    """A regular expression, without regard to case."""
    at_5xx: bool = False
    """Whether it also counts beside a 5xx, whose pages may otherwise say anything."""


WORDINGS: Final = (
    Wording("request", "anthropic", "2026-03", r"image exceeds [\d.]+ ?MB maximum"),
    Wording("request", "anthropic", "2025-10", r"could not process (the )?image"),
    Wording("request", "anthropic", "2025-07", r"image dimensions exceed"),
    Wording("request", "openai", "2025-08", r"you uploaded an unsupported image"),
    Wording("request", "google", "2025-09", r"unable to process input image"),
    Wording("request", "ollama", "2026-02", r"does not support image|image input is not supported"),
    Wording("request", "llama.cpp", "2026-03", r"image input is not supported", at_5xx=True),
    Wording("blocked", "azure", "2026-03", r"content management policy|content filter"),
    Wording(
        "blocked", "openai", "2026-05", r"flagged as potentially violating|rejected by .*safety"
    ),
    Wording("blocked", "openrouter", "2026-01", r"input was flagged|requires moderation"),
    Wording("blocked", "anthropic", "2026-04", r"blocked (by|under) .*(content filtering|usage)"),
    Wording(
        "reasoning_replay",
        "deepseek",
        "2026-08",
        r"reasoning_(content|text).{0,80}(must be passed back|is missing|is required)"
        r"|missing .{0,3}reasoning_content",
    ),
    Wording("model", "anthropic", "2026-08", r"input_schema: JSON schema is invalid"),
    Wording("model", "openai", "2026-02", r"invalid schema for function"),
    Wording("model", "google", "2026-03", r"tools\[\d+\]\.function_?declarations"),
    Wording("model", "ollama", "2026-05", r"does not support (tools|tool use|function calling)"),
    Wording("model", "openrouter", "2026-02", r"no endpoints found that support"),
    Wording("model", "vllm", "2026-04", r"tool choice requires --enable-auto-tool-choice"),
    Wording("model", "llama.cpp", "2025-09", r"tools param requires --jinja", at_5xx=True),
    Wording("model", "openai", "2026-03", r"unsupported (parameter|value)|unknown parameter"),
    Wording("model", "anthropic", "2026-03", r"extra inputs are not permitted"),
    Wording("model", "openai", "2025-10", r"organization must be verified to"),
    Wording("model", "openai", "2026-05", r"model .{0,80}does not exist"),
    Wording("model", "openai", "2026-05", r"does not have access to (the )?model"),
    Wording("model", "groq", "2026-01", r"model .{0,80}(decommissioned|deprecated|retired)"),
    Wording("model", "openrouter", "2026-02", r"is not a valid model( id)?\b"),
    Wording("model", "mistral", "2026-01", r"\binvalid model\b"),
    Wording("model", "lm-studio", "2026-03", r"no models? loaded"),
    Wording("model", "google", "2026-05", r"models/\S+ is not (found|supported)"),
    Wording("credit", "anthropic", "2026-03", r"reached your specified .*usage limit"),
    Wording("credit", "anthropic", "2026-05", r"credit balance"),
    Wording("credit", "openai", "2026-05", r"exceeded your current quota|billing hard limit"),
    Wording(
        "credit", "google", "2026-04", r"enable billing|billing (account|is)|\bcredits? .*depleted"
    ),
    Wording("credit", "deepseek", "2026-05", r"insufficient (balance|credits?|funds)"),
    Wording("credit", "xai", "2026-03", r"used all available credits|spend(ing)? (limit|cap)"),
    Wording("key", "anthropic", "2026-06", r"organi[sz]ation has been (disabled|deactivated)"),
    Wording("key", "google", "2026-02", r"consumer .{0,80}has been suspended|reported as leaked"),
    Wording("key", "openai", "2026-04", r"(account|project|team) .{0,60}(deactivated|suspended)"),
    Wording("key", "google", "2026-04", r"(user )?location is not supported"),
    Wording("key", "openai", "2026-08", r"country, region, or territory not supported"),
    Wording("key", "google", "2026-04", r"api[ _]key[ _](not valid|not found|invalid|expired)"),
    Wording("key", "xai", "2026-03", r"(incorrect|invalid|wrong) api[ _-]key"),
    Wording("output", "anthropic", "2026-04", r"input length and .?max_tokens.? exceed"),
    Wording("output", "anthropic", "2026-02", r"maximum allowed number of output tokens"),
    Wording("output", "openai", "2025-12", r"supports at most \d+ completion tokens"),
    Wording("output", "google", "2026-01", r"maxOutputTokens .{0,60}supported range"),
    Wording("output", "vllm", "2026-03", r"max_(completion_)?tokens.{0,40} is too large"),
    Wording("output", "vllm", "2026-04", r"requested [1-9]\d* output tokens"),
    Wording(
        "output", "vllm", "2025-07", r"\(\d+ in (the messages|your prompt)[,;] *\d+ (in|for) the"
    ),
    Wording("output", "sglang", "2025-05", r"requested a total of \d+ tokens"),
    Wording("overflow", "anthropic", "2026-05", r"prompt is too long"),
    Wording("overflow", "anthropic", "2026-04", r"usage is required for long context"),
    Wording("overflow", "openai", "2026-05", r"exceeds the context window"),
    Wording("overflow", "openai", "2026-05", r"(maximum )?context length (is|of)", at_5xx=True),
    Wording("overflow", "openai", "2025-12", r"request too large"),
    Wording("overflow", "groq", "2026-01", r"reduce the length of the messages|reduce the length"),
    Wording("overflow", "google", "2026-05", r"input token count"),
    Wording("overflow", "litellm", "2026-02", r"context_?(window|length)_?exceeded", at_5xx=True),
    Wording("overflow", "llama.cpp", "2026-04", r"available context size", at_5xx=True),
    Wording("overflow", "llama.cpp", "2026-02", r"context size has been exceeded", at_5xx=True),
    Wording("overflow", "llama-cpp-python", "2025-03", r"exceeds? context window", at_5xx=True),
    Wording("overflow", "ollama", "2026-01", r"exceeded max context length", at_5xx=True),
    Wording("overflow", "xai", "2025-11", r"maximum prompt length"),
    Wording("overflow", "bedrock", "2025-12", r"input is too long for"),
    Wording("overflow", "minimax", "2026-01", r"context window exceeds"),
    Wording("overflow", "moonshot", "2026-01", r"exceeded model token limit"),
    Wording("overflow", "mistral", "2025-12", r"too large for model with \d+ maximum context"),
    Wording("overflow", "copilot", "2025-12", r"token count .{0,40}exceeds the (limit|maximum)"),
)
"""The first row that fits decides; within a meaning the order is free."""

_ROWS: Final = [(each, re.compile(each.words, re.IGNORECASE | re.DOTALL)) for each in WORDINGS]
_INPUT: Final = re.compile(
    r"limit: (\d+) \+ \d+ >|\((\d+) in (?:the messages|your prompt)|(\d+) tokens from the input"
    r"|has (\d+) input tokens|passed (\d+) input tokens",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(
    r"\+ \d+ > (\d+)|context length (?:is|of)(?: only)? (\d+)", re.IGNORECASE
)
_LEAST_ROOM: Final = 1_000
"""Tokens of output without which an answer is of no use."""
_LONGEST: Final = 4_000
_SERVER_ERROR: Final = 500


def meaning_of(message: str, status: int) -> Meaning | None:
    """Return what a refusal's words mean; None: they are not known.

    Args:
        message: the server's words.
        status: the HTTP status.
    """
    said = message[:_LONGEST]
    for wording, pattern in _ROWS:
        if (status < _SERVER_ERROR or wording.at_5xx) and pattern.search(said):
            is_prompt = wording.meaning == "output" and _is_prompt_too_long(said)
            return "overflow" if is_prompt else wording.meaning
    return None


def _is_prompt_too_long(said: str) -> bool:
    """Whether the prompt alone leaves no room, so that a shorter output would not help."""
    prompt, limit = _number(_INPUT, said), _number(_LIMIT, said)
    return prompt is not None and limit is not None and limit - prompt < _LEAST_ROOM


def _number(pattern: re.Pattern[str], said: str) -> int | None:
    found = pattern.search(said)
    return next((int(each) for each in found.groups() if each), None) if found else None
