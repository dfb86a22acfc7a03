"""Released projects in Python, each with one more function and a test for it."""

from typing import Final

from benchmarks.strangers.stranger_shape import Archive, Part, Project

ITSDANGEROUS: Final = Archive(
    "pypi",
    "itsdangerous",
    "2.2.0",
    "e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173",
)
IS_ENCODED: Final = '''

def is_encoded(value: str | bytes) -> bool:
    """Return whether a value can be decoded."""
    try:
        base64_decode(value)
    except BadData:
        return False
    return True
'''
TEST_OF_IS_ENCODED: Final = """

def test_is_encoded() -> None:
    from itsdangerous.encoding import is_encoded

    assert is_encoded(base64_encode("text"))
    assert not is_encoded("12345")
"""
PYTHON: Final = (
    Project(
        name="itsdangerous",
        kinds=("src layout", "third-party tests"),
        parts=(Part(ITSDANGEROUS),),
        appended={
            "src/itsdangerous/encoding.py": IS_ENCODED,
            "tests/test_itsdangerous/test_encoding.py": TEST_OF_IS_ENCODED,
        },
    ),
    Project(
        name="markupsafe",
        kinds=("compiled", "uv"),
        parts=(
            Part(
                Archive(
                    "pypi",
                    "markupsafe",
                    "3.0.4",
                    "2e9ad7dd851bf45fab9f75cbff4cb493fee9979e8d8c7c9c3ee119022518edd6",
                )
            ),
        ),
        appended={
            "src/markupsafe/__init__.py": '''

def is_markup(value: t.Any, /) -> bool:
    """Return whether a value needs no escaping."""
    return hasattr(value, "__html__")
''',
            "tests/test_markupsafe.py": """

def test_is_markup() -> None:
    from markupsafe import is_markup

    assert is_markup(Markup("safe"))
    assert not is_markup("unsafe")
""",
        },
    ),
    Project(
        name="click",
        kinds=("uv", "pytest-xdist", "src layout"),
        parts=(
            Part(
                Archive(
                    "pypi",
                    "click",
                    "8.5.1",
                    "9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4",
                )
            ),
        ),
        appended={
            "src/click/formatting.py": '''

def longest_line(text: str) -> int:
    """Return how many characters the longest line of a text has."""
    return max((len(line) for line in text.splitlines()), default=0)
''',
            "tests/test_formatting.py": """

def test_longest_line():
    from click.formatting import longest_line

    assert longest_line("one\\nthree\\n") == 5
    assert longest_line("") == 0
""",
        },
    ),
    Project(
        name="inflect",
        kinds=("doctests", "extras", "third-party tests"),
        parts=(
            Part(
                Archive(
                    "pypi",
                    "inflect",
                    "7.6.0",
                    "b46875b50534a7cd5fcfb5a7c971bb93fe68948c43ca53e9833bd1e1a69221bd",
                )
            ),
        ),
        appended={
            "inflect/__init__.py": '''

def words_in(text: str) -> int:
    """
    Count the words of a text.

    >>> words_in("two words")
    2
    """
    return len(text.split())
''',
            "tests/test_join.py": """

def test_words_in():
    assert inflect.words_in("") == 0
""",
        },
    ),
    Project(
        name="flask",
        kinds=("src layout", "extras", "uv"),
        parts=(
            Part(
                Archive(
                    "pypi",
                    "flask",
                    "3.1.3",
                    "0ef0e52b8a9cd932855379197dd8f94047b359ca0a78695144304cb45f87c9eb",
                )
            ),
        ),
        appended={
            "src/flask/helpers.py": '''

def is_nested_blueprint(name: str) -> bool:
    """Return whether a blueprint's name says that it is in another one."""
    return len(_split_blueprint_path(name)) > 1
''',
            "tests/test_helpers.py": """

def test_is_nested_blueprint():
    from flask.helpers import is_nested_blueprint

    assert is_nested_blueprint("parent.child")
    assert not is_nested_blueprint("parent")
""",
        },
    ),
    Project(
        name="structlog",
        kinds=("src layout", "third-party tests"),
        parts=(
            Part(
                Archive(
                    "pypi",
                    "structlog",
                    "26.1.0",
                    "f63a716cbd1b1291cf7661de7794b455acfa4c43c5bcf1630e6ad5ddc1adb3b7",
                )
            ),
        ),
        appended={
            "src/structlog/_utils.py": '''

def has_processname() -> bool:
    """
    Whether the process has a name of its own.
    """
    return get_processname() not in ("n/a", "MainProcess")
''',
            "tests/test_utils.py": '''

def test_has_processname():
    """
    The main process has no name of its own.
    """
    from structlog._utils import has_processname

    assert not has_processname()
''',
        },
    ),
    Project(
        name="aiosignal",
        kinds=("doctests", "third-party tests", "compiled"),
        parts=(
            Part(
                Archive(
                    "pypi",
                    "aiosignal",
                    "1.4.0",
                    "f47eecd9468083c2029cc99945502cb7708b082c232f9aca65da147157b251c7",
                )
            ),
        ),
        appended={
            "aiosignal/__init__.py": '''

def is_ready(signal: "Signal[Unpack[_Ts]]") -> bool:
    """Return whether a signal can be sent, and has a receiver.

    >>> is_ready(Signal(None))
    False
    """
    return signal.frozen and len(signal) > 0
''',
            "tests/test_signals.py": """

def test_ready_once_frozen(owner: Owner) -> None:
    from aiosignal import is_ready

    signal = Signal(owner)
    signal.append(mock.Mock())
    assert not is_ready(signal)
    signal.freeze()
    assert is_ready(signal)
""",
        },
    ),
)
