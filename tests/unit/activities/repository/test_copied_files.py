import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.repository.copied_files import MAX_COPY_BYTES, refuse, refuse_content


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".env.production",
        ".env.local",
        ".ENV",
        "deploy/prod.env",
        ".envrc",
        "certs/server.pem",
        "server.key",
        "id_rsa",
        "keys/id_ed25519_work",
        "credentials",
        "aws/credentials.json",
        "gcp-credentials-prod.json",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "store.p12",
        "terraform.tfstate.backup",
        ".ssh/config",
        "home/.aws/config",
        "secrets.yaml",
    ],
)
def test_secret_looking_names_are_refused_unless_marked(path: str):
    """Field report R24."""
    reason = refuse(path, 10)
    assert reason is not None
    assert repr(path) in reason
    assert "worktree.allow_secret" in reason
    assert refuse(path, 10, allow_secret=(path,)) is None
    assert refuse(path, 10, allow_secret=(f"./{path}",)) is None
    assert refuse(path, 10, allow_secret=("other", "*")) is not None


@pytest.mark.parametrize(
    "path",
    [
        ".env.test",
        ".env.example",
        ".env.local.example",
        "app/.env.sample",
        "generated/client.ts",
        "keyboard.py",
        "id_rsa.pub",
        "environment.yml",
        "monkey.txt",
        "src/generated/ключ.txt",
    ],
)
def test_ordinary_names_are_not(path: str):
    assert refuse(path, 10) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "~/x",
        "C:/x",
        "a\\b",
        "../x",
        "a/../../x",
        ".git/config",
        "sub/.GIT/hooks/pre-commit",
        "sub/.git",
        ".git./config",
        "git~1/config",
        "a\nb",
        "a\x00b",
        "a\x1bb",
    ],
)
def test_paths_that_lead_elsewhere_are_refused_even_if_marked(path: str):
    assert refuse(path, 10, allow_secret=(path,)) is not None


def test_size():
    assert refuse("a.bin", MAX_COPY_BYTES) is None
    reason = refuse("a.bin", MAX_COPY_BYTES + 1, allow_secret=("a.bin",))
    assert reason is not None
    assert "50 MiB" in reason


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        (b"-----BEGIN RSA " + b"PRIVATE KEY-----", "a private key"),
        (b"-----BEGIN " + b"PRIVATE KEY-----", "a private key"),
        (b"-----BEGIN PGP " + b"PRIVATE KEY BLOCK-----", "a private key"),
        (b"PuTTY-User-Key-" + b"File-3: ssh-ed25519", "a private key"),
        (b"id=AKIA" + b"ABCDEFGHIJKLMNOP", "an AWS key id"),
        (b"sk-ant-" + b"api03-" + b"a" * 40, "an Anthropic key"),
        (b"sk-proj-" + b"aB3_" * 10, "an OpenAI key"),
        (b"sk-" + b"a1B2" * 12, "an OpenAI key"),
        (b"AIza" + b"Sy0123456789_abcdefghijklmnopqrstuv", "a Google API key"),
        (b"ghp_" + b"a1" * 18, "a GitHub token"),
        (b"github_pat_" + b"A1" * 25, "a GitHub token"),
        (b"glpat-" + b"x" * 20, "a GitLab token"),
        (b"xoxb-" + b"1234567890-abc", "a Slack token"),
        (b"sk_live_" + b"a" * 24, "a Stripe key"),
        (b"npm_" + b"a" * 36, "an npm token"),
        (b"pypi-AgEI" + b"a" * 30, "a PyPI token"),
    ],
)
def test_secrets_in_the_content_are_named_by_line_and_never_shown(secret: bytes, kind: str):
    content = b"first\nKEY=" + secret + b"\nlast\n"
    reason = refuse_content("settings.ini", content)
    assert reason is not None
    assert f"line 2 looks like {kind}" in reason
    assert secret.decode() not in reason
    assert refuse_content("settings.ini", content, allow_secret=("settings.ini",)) is None


def test_utf_16_hides_nothing():
    assert refuse_content("a.txt", ("sk-ant-" + "a" * 40).encode("utf-16")) is not None


@pytest.mark.parametrize(
    "content", [b"", b"sk-learn-estimator-html-block-of-something", b"task-" + b"a" * 40, b"AKIA"]
)
def test_ordinary_content_is_not_refused(content: bytes):
    assert refuse_content("a.txt", content) is None


@given(st.text(), st.integers(min_value=0))
def test_a_path_that_passes_stays_inside(path: str, size: int):
    if refuse(path, size) is None:
        parts = path.split("/")
        assert not path.startswith("/")
        assert ".." not in parts
        assert ".git" not in [part.casefold() for part in parts]
        assert size <= MAX_COPY_BYTES
