"""What process 1 holds for Blue Flame: the descriptor of the worktree's lock.

Controls inherit it, as every child of process 1 would.
"""

from tests.security.case import KERNEL, Case, python, receipt, relocked


def _each(name: str, what: str, control: str = "works", *, is_slow: bool = True) -> Case:
    """Do something with every open file of every process, in the shell."""
    script = (
        "for f in /proc/[0-9]*/fd/* /proc/[0-9]*/task/[0-9]*/fd/*; do\n"
        f" if [ -f $f ] && [[ $(readlink $f) != *.netrc ]]; then {what}; fi\ndone 2>&1"
    )
    return Case(name, script, relocked, control, is_slow=is_slow)


_OPEN = """
import fcntl, glob, stat
def files():
    for one in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if stat.S_ISREG(os.stat(one).st_mode) and not os.readlink(one).startswith(os.getcwd()):
                yield one
        except OSError: pass
"""

CASES = (
    _each("a lent lock, written", "head -c 3000000 /dev/zero >>$f", is_slow=False),
    _each("a lent lock, made large", "truncate -s 3000000 $f"),
    _each("a lent lock, closed by its mode", "chmod 0 $f", is_slow=False),
    _each("a lent lock, opened by its mode", "chmod 4777 $f"),
    _each("a lent lock, linked", "ln -L $f hard$((n+=1))", KERNEL),
    Case(
        "a lent lock, released",
        "for n in $(seq 3 60); do flock -u $n; done 2>&1; ls -l /proc/[0-9]*/fd",
        relocked,
    ),
    Case(
        "a lent lock, with an attribute",
        python(f"{_OPEN}\nfor one in files(): os.setxattr(one, 'user.evil', b'x' * 2000)"),
        relocked,
        KERNEL,
        is_slow=True,
    ),
    Case(
        "a lease on a lent lock, so that opening it waits",
        python(
            f"{_OPEN}\nfor one in files():\n"
            " fcntl.fcntl(os.open(one, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK); receipt(one)"
        ),
        receipt,
        KERNEL,
    ),
    Case(
        "the memory and the files of process 1",
        "ls /proc/1/map_files/ /proc/1/fd/ >receipt 2>/dev/null; cat /proc/1/maps >>receipt;"
        "[ -s receipt ] || rm receipt",
        receipt,
    ),
)
