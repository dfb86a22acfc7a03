"""The kernel's files: `/proc/sys`, `/sys`, `/dev`, cgroups, and what `/proc` shows of others."""

from tests.security.case import KERNEL, WORKS, Case, python, receipt

_ROOT = "it needs the host's own root, which no private namespace has"


def _sets(name: str, path: str, value: str, control: str = _ROOT) -> Case:
    """A setting that is changed if it can be; the receipt is written only once it was written."""
    return Case(name, f"echo '{value}' >{path} && echo set >receipt", receipt, control)


def _opens(name: str, path: str, control: str = KERNEL) -> Case:
    return Case(
        name, python(f"os.open('{path}', os.O_RDWR | os.O_NONBLOCK)\nreceipt()"), receipt, control
    )


CASES = (
    _sets("who is run for a core", "/proc/sys/kernel/core_pattern", "|/bin/false"),
    _sets("who is run for a module", "/proc/sys/kernel/modprobe", "/bin/false"),
    _sets("who is run for a hot plug", "/sys/kernel/uevent_helper", "/bin/false"),
    _sets("the magic key", "/proc/sysrq-trigger", "h"),
    _sets("a new binary format", "/proc/sys/fs/binfmt_misc/register", ":e:M::E::/bin/false:"),
    _sets("memory overcommitted", "/proc/sys/vm/overcommit_memory", "1"),
    _sets("addresses no longer random", "/proc/sys/kernel/randomize_va_space", "0"),
    _sets("the host's name by its file", "/proc/sys/kernel/hostname", "evil"),
    _sets("forwarding", "/proc/sys/net/ipv4/ip_forward", "1", WORKS),
    _sets("ports for everybody", "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", WORKS),
    _sets("who may ping", "/proc/sys/net/ipv4/ping_group_range", "0 0", WORKS),
    _sets("more user namespaces", "/proc/sys/user/max_user_namespaces", "999", WORKS),
    _sets("its own user map", "/proc/self/uid_map", "0 0 4294967295"),
    _sets("groups allowed again", "/proc/self/setgroups", "allow"),
    _sets("killed last", "/proc/self/oom_score_adj", "-1000"),
    _sets("a latency for the whole machine", "/dev/cpu_dma_latency", "0"),
    _sets("a word in the kernel's log", "/dev/kmsg", "evil"),
    Case("a cgroup of its own", "mkdir /sys/fs/cgroup/evil && echo made >receipt", receipt, _ROOT),
    Case(
        "out of its cgroup",
        "echo $$ >/sys/fs/cgroup/cgroup.procs && echo out >receipt",
        receipt,
        _ROOT,
    ),
    Case("the devices in /sys", "ls /sys/class >receipt; [ -s receipt ] || rm receipt", receipt),
    Case(
        "the network cards",
        "grep -v lo: /proc/net/dev | tail -n +3 >receipt; cat /sys/class/net/lo/mtu >>receipt;"
        "[ -s receipt ] || rm receipt",
        receipt,
    ),
    Case(
        "a process of the host's by its number",
        "cat /proc/$BYSTANDER/cmdline >receipt || rm receipt",
        receipt,
        way="left",
    ),
    Case(
        "a signal to a process of the host's",
        "kill -0 $BYSTANDER && echo reached >receipt",
        receipt,
        way="left",
    ),
    Case(
        "the priority of a process of the host's",
        "renice -n 19 -p $BYSTANDER && echo done >receipt",
        receipt,
        way="left",
    ),
    _opens("a device: kernel memory", "/dev/mem", _ROOT),
    _opens("a device: ports", "/dev/port", _ROOT),
    _opens("a device: the machine monitor", "/dev/kvm"),
    _opens("a device: file systems", "/dev/fuse"),
    _opens("a device: tunnels", "/dev/net/tun"),
    _opens("a device: page faults", "/dev/userfaultfd"),
    _opens("a device: sockets to the host", "/dev/vsock"),
    _opens("a device: a disk", "/dev/vda", _ROOT),
    _opens("a device: loops", "/dev/loop-control", _ROOT),
    _opens("a device: snapshots", "/dev/btrfs-control", _ROOT),
    _opens("a device: a console", "/dev/tty1", _ROOT),
    _opens("a device: the terminal", "/dev/tty", "there is none in the control either"),
    _opens("the kernel's memory as a file", "/proc/kcore", _ROOT),
    Case(
        "timers and keys of others",
        "cat /proc/keys /proc/timer_list /proc/sched_debug >receipt; [ -s receipt ] || rm receipt",
        receipt,
        KERNEL,
    ),
)
