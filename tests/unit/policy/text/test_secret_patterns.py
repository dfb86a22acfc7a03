"""`policy.text.secret_patterns`: what looks like a secret goes, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.policy.text.secret_patterns import secrets_in, without_key_like, without_secrets

pytestmark = pytest.mark.fuzz

# Joined here, so that this file itself holds none.
BODY = "a1B2" * 12
SECRETS = [
    ("sk-ant-" + "api03-" + BODY, "an Anthropic key"),
    ("sk-" + "proj-" + BODY, "an OpenAI key"),
    ("AIza" + "SyD0123456789_abcdefghijklmnopqrstu", "a Google API key"),
    ("ghp_" + BODY[:36], "a GitHub token"),
    ("github_pat_" + BODY, "a GitHub token"),
    ("glpat-" + BODY[:20], "a GitLab token"),
    ("xoxb-" + "1234567890-abc", "a Slack token"),
    ("sk_live_" + BODY[:24], "a Stripe key"),
    ("npm_" + BODY[:36], "an npm token"),
    ("pypi-AgEI" + BODY, "a PyPI token"),
    ("AKIA" + "ABCDEFGHIJKLMNOP", "an AWS key id"),
    ('aws_secret_access_key = "' + BODY[:40], "an AWS secret key"),
    (
        "-----BEGIN RSA " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nabc+/=\n"
        "-----END RSA " + "PRIVATE KEY-----",
        "a private key",
    ),
]
ORDINARY = [
    "",
    "sk-learn-estimator-html-block",
    "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "AKIA is how an AWS key id begins",
    "-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----",
    "the constant npm_config_registry and the folder ghp_pages",
    "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
]


@pytest.mark.parametrize(("secret", "kind"), SECRETS)
def test_each_kind_is_replaced_by_its_name(secret: str, kind: str):
    assert without_secrets(f"x = {secret}\n--- the rest") == f"x = [{kind}]\n--- the rest"


def test_a_private_key_without_its_end_goes_as_far_as_it_goes():
    begins = "-----BEGIN " + "PRIVATE KEY-----"
    assert without_secrets(f"{begins}\\nMIIabc+/=\\n, and more") == "[a private key], and more"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str):
    assert without_secrets(text) is text


@given(
    before=st.text(max_size=40),
    after=st.text(alphabet=st.characters(exclude_categories=["L", "N"]), max_size=40),
    chosen=st.sampled_from(SECRETS[:-1]),
)
def test_no_secret_is_left_in_any_context(before: str, after: str, chosen: tuple[str, str]):
    secret, _ = chosen
    text = without_secrets(f"{before} {secret} {after}")
    assert secret not in text
    assert without_secrets(text) == text


@given(st.text())
def test_any_text_is_taken_and_finds_are_in_order(text: str):
    ends = [0]
    for found in secrets_in(text):
        assert ends[-1] <= found.start < found.end
        ends.append(found.end)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Incorrect API key provided: sk-proj-****abcd.", "Incorrect API key provided: [key]"),
        ("bad key AIzaSyD01234", "bad key [key]"),
        ("AQ.Ab8RN6Ixyz is refused", "[key] is refused"),
        ("sk-short is no key", "sk-short is no key"),
        ("the task-oriented model", "the task-oriented model"),
    ],
)
def test_a_short_or_masked_key_goes_from_a_providers_message(said: str, shown: str):
    assert without_key_like(said) == shown
