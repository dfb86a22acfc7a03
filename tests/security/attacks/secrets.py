"""Keys: in environments, descriptors, memory, command lines, and where programs keep them."""

from tests.security.case import Case, leaked, python

_STORES = (
    *(".aws/credentials", ".netrc", ".git-credentials", ".docker/config.json", ".pypirc"),
    *(".config/gh/hosts.yml", ".bash_history", ".kube/config", ".ssh/id_ed25519"),
)

CASES = (
    Case("the environment by env", "env", leaked),
    Case("the environment by the shell", "set; export -p; declare -p", leaked),
    Case("the environment by Python", python("print(os.environ)"), leaked),
    Case("its own environment in /proc", "cat /proc/self/environ", leaked),
    Case("its parent's environment", "cat /proc/$PPID/environ /proc/$$/environ", leaked),
    Case("the environment of process 1", "cat /proc/1/environ", leaked),
    Case("every environment in /proc", "cat /proc/*/environ", leaked),
    Case("every thread's environment", "cat /proc/*/task/*/environ", leaked),
    Case("a key by its name", 'echo "$X_API_KEY"; printenv X_API_KEY', leaked),
    Case("a key sent out in a file name", 'touch "k-$X_API_KEY"; ls', leaked),
    Case(
        "a key in the memory of process 1",
        python(
            "for line in open('/proc/1/maps'):\n"
            " span, mode = line.split()[:2]\n"
            " if '[stack]' not in line: continue\n"
            " low, high = (int(one, 16) for one in span.split('-'))\n"
            " memory = os.open('/proc/1/mem', os.O_RDONLY)\n"
            " sys.stdout.buffer.write(os.pread(memory, high - low, low))"
        ),
        leaked,
    ),
    Case(
        "descriptors that were left open",
        "cat /proc/self/fd/[3-9]* <&- 2>&-; cat /proc/$$/fd/[3-9]* /proc/1/fd/[3-9]* 2>&-; env",
        leaked,
    ),
    Case(
        "the auxiliary vector and command lines",
        "cat /proc/*/cmdline /proc/*/auxv /proc/*/environ",
        leaked,
    ),
    *(Case(f"~/{name}", f'cat ~/{name} "$HOST/{name}"', leaked) for name in _STORES),
)
