"""Too much of everything, and what is left running."""

from tests.security.case import (
    KERNEL,
    WORKS,
    Case,
    Effect,
    counted,
    flooded,
    grown,
    hoarded,
    python,
    survived,
)
from tests.waiting import shell_until

_MB = 1 << 20


def _counting(name: str, make: str, limit: int, control: str = WORKS, **limits: object) -> Case:
    """An attack that makes one thing after another and writes down how many it got."""
    text = (
        "made = []\ntry:\n while len(made) < 30_000:\n"
        f"  made.append({make})\n  if len(made) == {limit * 2}: break\n"
        "except (OSError, MemoryError): pass\n"
        "receipt(len(made))"
    )
    return Case(name, python(text), counted(limit), control, limits=limits)


_LINGER = 'import os, time; time.sleep(float(os.environ["LINGER"]))'
"""What is sampled is kept for a while; see `runs.SAMPLED`."""
_UP = shell_until("pid", "-s")
"""What was started in the background has got there."""
_FORK = "(lambda pid: pid or __import__('time').sleep(20) or os._exit(0))(os.fork())"

AMOUNTS = (
    _counting("processes", _FORK, 40, processes=40),
    _counting(
        "threads",
        "__import__('threading').Thread(target=__import__('time').sleep, args=(2,), daemon=True).start()",
        60,
        "an interpreter reports the kernel's refusal as RuntimeError, not as OSError",
        processes=60,
    ),
    _counting(
        "open files", "os.open('/dev/null', 0)", 8192, "the host's own bound is mostly lower"
    ),
    Case(
        "a large file",
        "head -c 6000000 /dev/zero >big",
        grown("big", 2 * _MB),
        limits={"file_bytes": 2 * _MB},
    ),
    Case(
        "a large file by seeking",
        python("os.pwrite(os.open('big', 65), bytes(3 << 20), 8 << 20)"),
        grown("big", 2 * _MB),
        limits={"file_bytes": 2 * _MB},
    ),
    Case(
        "a large file by allocation",
        python("os.posix_fallocate(os.open('big', 65), 0, 9 << 20)"),
        grown("big", 2 * _MB),
        limits={"file_bytes": 2 * _MB},
    ),
    Case(
        "a bomb in an archive",
        "head -c 30M /dev/zero | gzip >x.gz; zcat x.gz >big",
        grown("big", 2 * _MB),
        limits={"file_bytes": 2 * _MB},
    ),
    Case(
        "a bomb within a bomb",
        "head -c 30M /dev/zero | gzip | gzip >x.gz; zcat x.gz | zcat >big",
        grown("big", 2 * _MB),
        limits={"file_bytes": 2 * _MB},
    ),
    Case(
        "a bomb of XML",
        python(
            "text, name = '<!DOCTYPE x [<!ENTITY a \"' + 'x' * 1000 + '\">', 'a'\n"
            "for one in 'bc': text += f'<!ENTITY {one} \"' + f'&{name};' * 60 + '\">'; name = one\n"
            "import xml.dom.minidom as xml\n"
            "open('big', 'w').write(xml.parseString(text + f']><x>&{name};</x>').toxml())"
        ),
        grown("big", 2 * _MB),
        KERNEL,
        limits={"file_bytes": 2 * _MB},
    ),
    Case(
        "many middling files",
        "for i in $(seq 60); do head -c 4M /dev/zero >big$i; sleep $PAUSE; done; sleep $LINGER",
        grown("big", 200 * _MB),
        limits={"disk_bytes": 40 * _MB},
    ),
    Case(
        "output without end",
        "head -c 3000000 /dev/zero",
        flooded(100_000),
        limits={"output_bytes": 100_000},
    ),
    Case(
        "output of many processes",
        "for i in 1 2 3 4; do head -c 900000 /dev/zero & done; wait",
        flooded(100_000),
        limits={"output_bytes": 100_000},
    ),
    Case(
        "output of a daemon",
        f"setsid sh -c 'head -c 3000000 /dev/zero; echo >pid' & {_UP}",
        flooded(100_000),
        limits={"output_bytes": 100_000},
    ),
)


def _disk(name: str, make: str, effect: Effect, *, is_slow: bool = True) -> Case:
    """An attack that makes 60 files of 4 MB; `make` leaves the open descriptor of one in `file`."""
    text = (
        "import fcntl, mmap, time\n"
        "os.mkdir('c'); kept = []\n"
        f"for n in range(60):\n {make}\n"
        " receipt(4 * n); time.sleep(float(os.environ['PAUSE']))\n"
        "time.sleep(float(os.environ['LINGER']))"
    )
    limits: dict[str, object] = {"disk_bytes": 40 * _MB}
    return Case(name, python(text), effect, limits=limits, is_slow=is_slow)


_PIECE = "os.write(file, bytes(4 << 20))"
DISK = (
    _disk(
        "files in a closed folder",
        "os.chmod('c', 0o700); file = os.open(f'c/{n}', 65); os.chmod('c', 0)\n"
        f" {_PIECE}; os.close(file)",
        hoarded(200 * _MB),
        is_slow=False,
    ),
    _disk(
        "files below a path that is too long",
        "if not n:\n"
        "  for _ in range(40): os.mkdir('c' * 250); os.chdir('c' * 250)\n"
        "  at = os.open('.', 0); os.chdir(os.environ.get('WORK'))\n"
        f" file = os.open(str(n), 65, dir_fd=at); {_PIECE}; os.close(file)",
        hoarded(200 * _MB),
    ),
    _disk(
        "nameless files of a process that hides them",
        f"libc.prctl(4, 0, 0, 0, 0); file = os.open('.', os.O_TMPFILE | 2); {_PIECE}",
        counted(200),
    ),
    _disk(
        "nameless files that are only mapped",
        f"file = os.open('.', os.O_TMPFILE | 2); {_PIECE}\n"
        " kept.append(libc.mmap(None, 4 << 20, 3, 1, file, 0)); os.close(file)",
        counted(200),
    ),
    _disk(
        "files that are allocated and never written",
        "file = os.open(f'big{n}', 65); os.posix_fallocate(file, 0, 4 << 20); os.close(file)",
        grown("big", 200 * _MB),
    ),
)


def _memory(name: str, script: str) -> Case:
    return Case(name, f"{script}\necho 99 >receipt", counted(1), limits={"memory_bytes": 60 * _MB})


MEMORY = (
    _memory(
        "memory of one process",
        f"python3 -c 'x = bytearray(b\"1\") * (200 << 20); {_LINGER}' && true",
    ),
    _memory(
        "memory of several",
        f"for i in 1 2 3 4; do python3 -c 'x = bytearray(b\"1\") * (50 << 20); {_LINGER}' & done; wait",
    ),
    _memory(
        "memory in nameless files",
        f"python3 -c 'import os; f = os.memfd_create(\"x\"); os.write(f, bytes(200 << 20)); {_LINGER}'",
    ),
    _memory(
        "memory of a process that hides it",
        "python3 -c 'import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0);"
        f' x = bytearray(b"1") * (200 << 20); {_LINGER}\' && true',
    ),
    _memory(
        "memory that is shared",
        f"python3 -c 'import mmap; x = mmap.mmap(-1, 200 << 20); x.write(bytes(200 << 20)); {_LINGER}'",
    ),
)

SEGMENTS = Case(
    "memory in segments that no one is attached to",
    python(
        "libc.shmat.restype = ctypes.c_void_p\n"
        "made = 0\n"
        "try:\n"
        " for _ in range(5):\n"
        "  segment = call(29, 0, 40 << 20, 0o1600)\n"
        "  at = libc.shmat(segment, None, 0)\n"
        "  ctypes.memset(at, 1, 40 << 20); libc.shmdt(ctypes.c_void_p(at)); made += 40\n"
        "except OSError: pass\n"
        "receipt(made)"
    ),
    counted(60),
    limits={"memory_bytes": 60 * _MB},
    is_x86=True,
)

_BEAT = "sh -c 'echo $$ >pid; exec sleep 600'"
DAEMONS = (
    Case("a background process", f"{_BEAT} & {_UP}", survived, way="left"),
    Case("nohup", f"nohup {_BEAT} >/dev/null 2>&1 & {_UP}", survived, way="left"),
    Case("disown", f"{_BEAT} & disown; {_UP}", survived, way="left"),
    Case("a session of its own", f"setsid {_BEAT} >/dev/null 2>&1 & {_UP}", survived, way="left"),
    Case(
        "a double fork",
        f"(setsid sh -c '{_BEAT.replace(chr(39), chr(34))} &' &) >/dev/null 2>&1; {_UP}",
        survived,
        way="left",
    ),
    Case(
        "a session with an empty environment",
        f"env -i /usr/bin/setsid /bin/{_BEAT} >/dev/null 2>&1 & {_UP}",
        survived,
        way="left",
    ),
    Case(
        "deaf to signals",
        python(
            "import signal, time\n"
            "if os.fork() == 0:\n"
            " os.setsid()\n"
            " for one in range(1, 64):\n"
            "  if one not in (9, 19, 32, 33): signal.signal(one, signal.SIG_IGN)\n"
            " if os.fork() == 0: open('pid', 'w').write('up'); time.sleep(600)\n"
            " os._exit(0)\n"
            "for _ in range(6000): os.path.exists('pid') or time.sleep(0.01)"
        ),
        survived,
        way="left",
    ),
    Case(
        "stopped, so that it cannot be asked",
        f"{_BEAT} & {_UP}; kill -STOP $(cat pid)",
        survived,
        way="left",
    ),
    Case("with the output kept open", f"{_BEAT} & echo up; {_UP}", survived, way="left"),
)

CASES = (*AMOUNTS, *DISK, *MEMORY, SEGMENTS, *DAEMONS)
