import subprocess
import sys
from pathlib import Path

from activities.adapters.sandbox import seccomp

ROOT = Path(seccomp.__file__).resolve().parents[3]


def test_the_program_is_made_once():
    program = seccomp.program()
    assert len(program) % 8 == 0
    assert seccomp.program() is program


def test_without_the_library_nothing_is_started():
    script = (
        "import sys; sys.modules['pyseccomp'] = None; sys.path.insert(0, sys.argv[1])\n"
        "from activities.adapters.sandbox import seccomp\n"
        "seccomp.program()"
    )
    done = subprocess.run(
        (sys.executable, "-c", script, str(ROOT)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "SandboxUnavailableError" in done.stderr
    assert "apt-get install libseccomp2" in done.stderr
