"""System calls that widen the kernel's attack surface or reach another process or namespace.

Numbers are those of x86-64. What a successful call gives is seen on the host: a namespace, a root,
a mount, a tracer or a descriptor in `/proc`, and otherwise a receipt in the worktree.
"""

from tests.security.case import KERNEL, WORKS, Case, held, python, receipt

_ROOT = "it needs the host's own root, which no private namespace has"


def _gives(name: str, text: str, control: str = WORKS, *, is_slow: bool = False) -> Case:
    """A call whose success is written down."""
    script = python(f"{text}\nreceipt()")
    return Case(name, script, receipt, control, is_x86=True, is_slow=is_slow)


def _holds(name: str, text: str, wanted: str, control: str = WORKS) -> Case:
    """A call whose effect the host sees while it is held."""
    return Case(name, python(f"child()\n{text}\nhold()"), held(wanted), control, is_x86=True)


def _space(name: str, flag: int, kind: str) -> tuple[Case, ...]:
    # A process namespace is entered by the next child only.
    text = f"if os.fork() == 0:\n call(272, {flag})\n if os.fork() == 0: hold(); os._exit(0)\n os.wait(); os._exit(0)\nos.wait()"
    cloned = f"pid = call(56, {flag} | 17, 0, 0, 0, 0)\nif pid == 0: hold(); os._exit(0)\nos.waitpid(pid, 0)"
    return (
        Case(f"unshare {name}", python(text), held(f"another {kind}"), is_x86=True),
        Case(f"clone {name}", python(cloned), held(f"another {kind}"), is_x86=True),
    )


NAMESPACES = (
    *_space("user", 0x10000000, "user"),
    *_space("mount", 0x00020000, "mnt"),
    *_space("network", 0x40000000, "net"),
    *_space("host name", 0x04000000, "uts"),
    *_space("messages", 0x08000000, "ipc"),
    *_space("cgroup", 0x02000000, "cgroup"),
    *_space("process", 0x20000000, "pid"),
    Case(
        "clone3 user",
        python(
            "given = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)\n"
            "pid = call(435, given, 64)\nif pid == 0: hold(); os._exit(0)\nos.waitpid(pid, 0)"
        ),
        held("another user"),
        is_x86=True,
    ),
    _gives("setns", "call(308, os.open('/proc/self/ns/uts', os.O_RDONLY), 0)"),
    _gives("uid 0", "os.setuid(0); assert os.getuid() == 0"),
    _gives("gid 0", "os.setgid(0); assert os.getgid() == 0"),
    _gives(
        "a capability raised",
        "assert int(open('/proc/self/status').read().split('CapEff:')[1].split()[0], 16)",
    ),
)

MOUNTS = (
    _holds("mount", "call(165, b'blueflame-attack', b'/tmp', b'tmpfs', 0, 0)", "mounted"),
    _gives("mount bind", "call(165, b'/usr', b'/tmp', 0, 4096, 0)"),
    _gives("mount made writable again", "call(165, b'/', b'/proc', b'proc', 0, 0)"),
    _gives("mount propagated", "call(165, b'none', b'/', 0, 16384 | 1 << 18, 0)"),
    _gives("umount2", "call(166, b'/proc', 2)"),
    _gives(
        "pivot_root",
        "call(165, b'x', b'/tmp', b'tmpfs', 0, 0); os.mkdir('/tmp/o'); call(155, b'/tmp', b'/tmp/o')",
    ),
    Case(
        "chroot",
        python(
            "pid = os.fork()\nif pid == 0: call(161, b'/usr'); hold(); os._exit(0)\nos.waitpid(pid, 0)"
        ),
        held("another root"),
        is_x86=True,
    ),
    _gives("open_tree", "call(428, -100, b'/usr', 1)"),
    _gives("move_mount", "call(429, call(428, -100, b'/usr', 1), b'', -100, b'/tmp', 4)"),
    _holds("fsopen", "call(430, b'tmpfs', 0)", "fscontext"),
    _holds("fspick", "call(433, -100, b'/proc', 0)", "fscontext", KERNEL),
    _gives(
        "mount_setattr", "call(442, -100, b'/tmp', 0, struct.pack('4Q', 1, 0, 0, 0), 32)", KERNEL
    ),
)

_CHILD = "import time\npid = os.fork()\nif pid == 0: time.sleep(20); os._exit(0)\n"
_KILL = "\nos.kill(pid, 9)"
PROCESSES = (
    _holds("ptrace of a child", f"{_CHILD}call(101, 0x4206, pid, 0, 0)", "traced"),
    _holds(
        "ptrace by a child",
        "if os.fork() == 0: call(101, 0, 0, 0, 0); hold(); os._exit(0)\nos.wait()",
        "traced",
    ),
    _gives(
        "process_vm_readv",
        "word = ctypes.create_string_buffer(b'x', 8)\n"
        "one = struct.pack('2Q', ctypes.addressof(word), 8)\ncall(310, os.getpid(), one, 1, one, 1, 0)",
    ),
    _gives(
        "process_vm_writev",
        "word = ctypes.create_string_buffer(b'x', 8)\n"
        "one = struct.pack('2Q', ctypes.addressof(word), 8)\ncall(311, os.getpid(), one, 1, one, 1, 0)",
    ),
    _gives("pidfd_getfd", f"{_CHILD}call(438, os.pidfd_open(pid), 0, 0){_KILL}"),
    _gives("kcmp", "call(312, os.getpid(), os.getpid(), 0, 0, 1)", KERNEL),
    _gives("move_pages", "call(279, 0, 0, 0, 0, 0, 0)", KERNEL),
    _gives(
        "memory of process 1 by its file",
        "os.pwrite(os.open('/proc/1/mem', os.O_RDWR), b'x', 0)",
        "where it works it destroys process 1, in a control as well",
    ),
)

_PERF = "struct.pack('2I2Q', 1, 112, 0, 0) + bytes(16) + struct.pack('Q', 0x61) + bytes(64)"
KERNELS = (
    _holds("io_uring", "call(425, 8, bytes(120))", "io_uring", KERNEL),
    _holds("userfaultfd", "call(323, 1)", "userfaultfd", KERNEL),
    _holds(
        "bpf map",
        "call(321, 0, struct.pack('5I', 2, 4, 4, 1, 0) + bytes(60), 72)",
        "bpf-map",
        KERNEL,
    ),
    _gives("bpf program", "call(321, 5, bytes(120), 120)", _ROOT),
    _holds("perf_event_open", f"call(298, {_PERF}, 0, -1, -1, 0)", "perf_event", KERNEL),
    _holds("fanotify", "call(300, 0x200, 0)", "fanotify", KERNEL),
    _holds("memfd_secret", "call(447, 0)", "secretmem", KERNEL),
    _gives("add_key", "call(248, b'user', b'blueflame-attack', b'x', 1, -2)"),
    _gives("keyctl", "call(250, 1, 0)"),
    _gives("keyctl of the session", "call(250, 0, -3, 1)"),
    _gives("request_key", "call(248, b'user', b'k', b'x', 1, -2); call(249, b'user', b'k', 0, -2)"),
    _gives(
        "name_to_handle_at",
        "call(303, -100, b'/usr', struct.pack('Ii', 128, 0) + bytes(128), bytes(4), 0)",
    ),
    _gives("open_by_handle_at", "call(304, -100, struct.pack('Ii', 8, 1) + bytes(8), 0)", _ROOT),
    _gives("modify_ldt", "call(154, 0, bytes(64), 64)", KERNEL),
    _gives("personality: predictable addresses", "call(135, 0x0040000)"),
    _gives("personality: memory that can be executed", "call(135, 0x0400000)", is_slow=True),
    _gives("personality: an older kernel", "call(135, 0x0020000)", is_slow=True),
    _gives("personality with high bits", "call(135, 0x0040000 | 0xFFFFFFFF << 32)", is_slow=True),
    _gives(
        "personality by a program",
        "import subprocess; subprocess.run(['setarch', '-R', 'true'], check=True)",
        is_slow=True,
    ),
    _gives("set_mempolicy", "call(238, 0, 0, 0)", KERNEL, is_slow=True),
    _gives(
        "statmount",
        "call(457, struct.pack('IIQQ', 24, 0, 1, 1), bytes(512), 512, 0)",
        KERNEL,
        is_slow=True,
    ),
    _gives("ioperm", "call(173, 0x80, 1, 1)", _ROOT),
    _gives("iopl", "call(172, 3)", _ROOT),
    _gives("kexec_load", "call(246, 0, 0, 0, 0)", _ROOT),
    _gives("init_module", "call(175, b'', 0, b'')", _ROOT),
    _gives("finit_module", "call(313, 0, b'', 0)", _ROOT),
    _gives("delete_module", "call(176, b'none', 0)", _ROOT),
    _gives("reboot", "call(169, 0xfee1dead, 672274793, 0x89abcdef, 0)", _ROOT),
    _gives("swapon", "call(167, b'a.txt', 0)", _ROOT),
    _gives("acct", "call(163, b'a.txt')", _ROOT),
    _gives("quotactl", "call(179, 0x800007 << 8, b'/dev/null', 0, bytes(256))", _ROOT),
    _gives("the kernel's log", "call(103, 10, 0, 0)", KERNEL),
    _gives("settimeofday", "call(164, struct.pack('2q', 0, 0), 0)", _ROOT),
    _gives("clock_settime", "call(227, 0, struct.pack('2q', 0, 0))", _ROOT),
    _gives("adjtimex", "call(159, bytes(208))"),
    _gives("sethostname", "call(170, b'evil', 4); assert os.uname().nodename == 'evil'"),
    _gives("setdomainname", "call(171, b'evil', 4)"),
    _gives("vhangup", "call(153)", "it would hang up the caller's terminal"),
    _gives("ustat", "call(136, os.stat('/usr').st_dev, bytes(64))", KERNEL),
    _gives("sysfs", "call(139, 3)"),
    _gives("a shared segment beyond every limit", "call(29, 0, 1 << 30, 0o1600)"),
)

_TERMINAL = "import fcntl, pty\nprimary, other = pty.openpty()\nos.setsid()\nfcntl.ioctl(other, 0x540E, 0)\n"
TERMINALS = (
    _gives("TIOCSTI", f"child()\n{_TERMINAL}call(16, other, 0x5412, b'x')", KERNEL),
    _gives(
        "TIOCSTI with high bits",
        f"child()\n{_TERMINAL}call(16, other, 0x5412 | 1 << 40, b'x')",
        KERNEL,
    ),
    _gives("TIOCSETD", f"child()\n{_TERMINAL}call(16, other, 0x5423, struct.pack('i', 0))"),
    _gives("TIOCLINUX", "call(16, 0, 0x541C, b'\\x06')", "it exists on a real console only"),
)

_FAMILIES = (
    ("netlink", 16, 3, WORKS),
    ("packet", 17, 3, WORKS),
    ("vsock", 40, 1, KERNEL),
    ("crypto", 38, 5, KERNEL),
    ("bluetooth", 31, 3, KERNEL),
    ("xdp", 44, 3, KERNEL),
    ("rds", 21, 5, KERNEL),
    ("tipc", 30, 1, KERNEL),
    ("can", 29, 3, KERNEL),
)
SOCKETS = (
    *(
        _gives(f"socket {name}", f"socket.socket({number}, {kind}, 0)", control)
        for name, number, kind, control in _FAMILIES
    ),
    _gives("socket with high bits", "call(41, 16 | 1 << 32, 3, 0)"),
    _gives("socket raw", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    _gives("a pair of another family", "socket.socketpair(16, 3)", "no kernel has pairs of them"),
)

_OTHER_ABI = (
    "import mmap\n"
    "page = mmap.mmap(-1, 4096, prot=7)\n"
    "page.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\n"
    "at = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
    "assert ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0"
)
ABIS = (
    _gives("the 32-bit numbering", _OTHER_ABI, KERNEL),
    _gives("the x32 numbering", "call(0x40000000 + 39)", KERNEL),
)

CASES = (*NAMESPACES, *MOUNTS, *PROCESSES, *KERNELS, *TERMINALS, *SOCKETS, *ABIS)
