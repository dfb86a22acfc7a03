"""The system calls that a sandboxed command may not make, as a program for bubblewrap.

It denies calls that widen the kernel's attack surface or reach another process or namespace. The
list only removes, so that ordinary toolchains run unchanged. It does not judge paths or arguments
in memory, because seccomp cannot see them.
"""

import ctypes.util
import errno
import functools
import tempfile
from collections.abc import Iterator
from types import ModuleType

from activities.ports.sandbox_port import SandboxUnavailableError

_NAMESPACES = "unshare setns"
_MOUNTS = (
    "mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig "
    "fsmount fspick mount_setattr"
)
_OTHER_PROCESSES = (
    "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd "
    "move_pages migrate_pages"
)
_KERNEL = (
    "bpf perf_event_open userfaultfd kexec_load kexec_file_load init_module finit_module "
    "delete_module create_module query_module get_kernel_syms reboot swapon swapoff acct quotactl "
    "quotactl_fd nfsservctl lookup_dcookie syslog _sysctl sysfs ustat uselib vm86 vm86old "
    "modify_ldt iopl ioperm memfd_secret"
)
_MACHINE = (
    "sethostname setdomainname settimeofday clock_settime clock_settime64 clock_adjtime "
    "clock_adjtime64 adjtimex stime vhangup"
)
_PLACEMENT = "mbind set_mempolicy get_mempolicy set_mempolicy_home_node"
"""Where memory lies: for the tuning of machines, with a history of kernel bugs."""
_KEYS = "add_key request_key keyctl"
_HANDLES = "name_to_handle_at open_by_handle_at fanotify_init fanotify_mark"
_DENIED = (
    f"{_NAMESPACES} {_MOUNTS} {_OTHER_PROCESSES} {_KERNEL} {_MACHINE} {_PLACEMENT} {_KEYS} "
    f"{_HANDLES}".split()
)

_PERSONALITY_QUERY = 0xFFFFFFFF
"""Asks for the execution domain and changes nothing; sanitizers do so. Everything else is denied:
it makes memory executable and addresses predictable, or imitates older kernels."""

_ABSENT = (
    "clone3 io_uring_setup io_uring_enter io_uring_register statmount listmount open_tree_attr"
)
"""Answered with ENOSYS, so that libraries use their older way (whose flags can be judged)."""

_CLONE_FLAGS = (
    0x00020000,
    0x02000000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""

_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET and AF_INET6 of the sandbox's own empty network; all others are refused."""
_LAST_FAMILY = 64

_TERMINAL_IOCTLS = (0x5412, 0x541C, 0x5423)
"""TIOCSTI and TIOCLINUX type as if they were the person; TIOCSETD loads line disciplines."""

_LARGEST_SHARED_SEGMENT = 64 << 10
"""System V segments belong to no process once detached, so the watchdog cannot see them. This limit
allows 256 MB in the kernel's 4,096 segments. Programs that still use them need a few bytes."""

_UNKNOWN_CALL = -1
"""What libseccomp returns for an unknown name."""

_Rule = tuple[int, str, tuple[object, ...]]
"""Action, name of the call, conditions on its arguments."""


@functools.cache
def program() -> bytes:
    """Return the compiled filter; made once per process.

    Raises:
        SandboxUnavailableError: libseccomp or its binding is missing. There is no fallback:
            without the filter ptrace, keyctl, io_uring, vsock and netlink are open.
    """
    library = _binding()
    filters = library.SyscallFilter(library.ALLOW)
    filters.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
    for action, name, conditions in _rules(library):
        # A call that this version of libseccomp does not know is left out.
        if library.resolve_syscall(library.Arch.NATIVE, name) != _UNKNOWN_CALL:
            filters.add_rule(action, name, *conditions)
    with tempfile.TemporaryFile() as target:
        filters.export_bpf(target)
        target.seek(0)
        return target.read()


def _binding() -> ModuleType:
    """Return the module pyseccomp, which has no types."""
    try:
        import pyseccomp  # pyright: ignore[reportMissingTypeStubs] -- it ships none
    except (ImportError, OSError, RuntimeError) as error:
        found = ctypes.util.find_library("seccomp")
        raise SandboxUnavailableError(
            f"The system-call filter cannot be made (libseccomp: {found!r}): {error}. "
            "Install it: `apt-get install libseccomp2`, and run `make setup` again."
        ) from error
    return pyseccomp


def _rules(library: ModuleType) -> Iterator[_Rule]:
    denied, absent = library.ERRNO(errno.EPERM), library.ERRNO(errno.ENOSYS)
    for name in _DENIED:
        yield denied, name, ()
    for name in _ABSENT.split():
        yield absent, name, ()
    for flag in _CLONE_FLAGS:
        yield denied, "clone", (library.Arg(0, library.MASKED_EQ, flag, flag),)
    yield from _socket_rules(library)
    for request in _TERMINAL_IOCTLS:
        # The kernel reads only the low 32 bits; a comparison of all 64 could be circumvented.
        low = library.Arg(1, library.MASKED_EQ, 0xFFFFFFFF, request)
        yield denied, "ioctl", (low,)
    other = library.Arg(0, library.NE, _PERSONALITY_QUERY)
    yield denied, "personality", (other,)
    yield denied, "shmget", (library.Arg(1, library.GT, _LARGEST_SHARED_SEGMENT),)


def _socket_rules(library: ModuleType) -> Iterator[_Rule]:
    refused = library.ERRNO(errno.EAFNOSUPPORT)
    for family in range(_LAST_FAMILY):
        if family not in _FAMILIES:
            same = library.Arg(0, library.MASKED_EQ, 0xFFFFFFFF, family)
            yield refused, "socket", (same,)
    for bit in range(_LAST_FAMILY.bit_length() - 1, 32):
        above = library.Arg(0, library.MASKED_EQ, 1 << bit, 1 << bit)
        yield refused, "socket", (above,)
