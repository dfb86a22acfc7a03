import pytest

from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.environment_values import expanded
from starter.configuration.file_shape import read_file
from workflows.domain.environment import ProjectEnvironment


def read(section: str, *, from_repository: bool = False) -> None:
    text = f"version: 1\nenvironment: {section}\n"
    read_file(text, "f.yaml", from_repository=from_repository)


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ("{toolchains: [bin]}", "by its whole path"),
        ("{toolchains: [~root/x]}", "by its whole path"),
        ("{toolchains: [/opt/../etc]}", "have no place in it"),
        ("{toolchains: ['/opt/a:/etc']}", "have no place in it"),
        ("{variables: {PATH: /x}}", "the sandbox sets it"),
        ("{variables: {GIT_DIR: /x}}", "the sandbox sets it"),
        ("{variables: {LD_PRELOAD: /x}}", "the sandbox sets it"),
        ("{variables: {https_proxy: 'http://x'}}", "the sandbox sets it"),
        ("{variables: {NPM_TOKEN: x}}", "looks like a secret"),
        ("{variables: {AWS_SECRET_ACCESS_KEY: x}}", "looks like a secret"),
        ("{variables: {1A: x}}", "environment.variables"),
        ("{image: /}", "environment.image"),
        ("{root: image}", "by its whole path"),
    ],
)
def test_an_invalid_environment_section_is_refused(section: str, fault: str):
    with pytest.raises(ConfigurationError, match=fault.replace(".", r"\.")):
        read(section)


def test_a_repository_names_no_place_in_a_home():
    read("{variables: {JAVA_HOME: ~/jdk}}")
    with pytest.raises(ConfigurationError, match="in your home"):
        read("{variables: {JAVA_HOME: ~/jdk}}", from_repository=True)


def test_a_tilde_is_the_home_of_the_user_who_wrote_it():
    told = ProjectEnvironment(
        toolchains=("~/.cargo/", "/opt/go"), variables={"RUSTUP_HOME": "~/.rustup", "A": "~"}
    )
    assert expanded(told, {"HOME": "/home/me/"}) == ProjectEnvironment(
        toolchains=("/home/me/.cargo", "/opt/go"),
        variables={"RUSTUP_HOME": "/home/me/.rustup", "A": "~"},
    )
    with pytest.raises(ConfigurationError, match="HOME is not set"):
        expanded(told, {})
