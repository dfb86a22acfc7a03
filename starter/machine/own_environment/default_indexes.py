"""The default package indexes of pip and npm, read from their own files without running them.

Only hosts are taken from the files. The person adds any that are not found.
"""

import re
import shutil
import sysconfig
import zipfile
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_PIP_INDEX: Final = "pip/_internal/models/index.py"
_PIP: Final = re.compile(
    r'PackageIndex\(\s*"(https://[^"]+)"(?:,\s*file_storage_domain="([\w.-]+)")?', re.ASCII
)
_NPM: Final = re.compile(r"default: ['\"](https://[^'\"]+)['\"]", re.ASCII)
_NPM_FILE: Final = "node_modules/@npmcli/config/lib/definitions/definitions.js"


def default_hosts(index: str) -> tuple[str, ...]:
    """Return the hosts of a tool's default index; empty if the tool is not found here.

    Args:
        index: the tool, as `activities.projects.proposal` names it.
    """
    if index == "pip":
        found = (match for text in _pip_texts() if (match := _PIP.search(text)))
        match = next(found, None)
        hosts = () if match is None else (urlsplit(match[1]).hostname, match[2])
        return tuple(each for each in hosts if each)
    if index == "npm":
        match = _NPM.search(_npm_text())
        host = None if match is None else urlsplit(match[1]).hostname
        return (host,) if host else ()
    return ()


def _pip_texts() -> list[str]:
    """Return the text of pip's own file, from the places where a Python keeps pip, or its wheel."""
    library = Path(sysconfig.get_path("stdlib"))
    folders = (library / "site-packages", Path("/usr/lib/python3/dist-packages"))
    plain = [each / _PIP_INDEX for each in folders]
    texts = [each.read_text(encoding="utf-8") for each in plain if each.is_file()]
    for folder in (library / "ensurepip/_bundled", Path("/usr/share/python-wheels")):
        for wheel in sorted(folder.glob("pip-*.whl")):
            with zipfile.ZipFile(wheel) as opened:
                texts.append(opened.read(_PIP_INDEX).decode())
    return texts


def _npm_text() -> str:
    program = shutil.which("npm")
    if program is None:
        return ""
    file = Path(program).resolve().parent.parent / _NPM_FILE
    return file.read_text(encoding="utf-8") if file.is_file() else ""
