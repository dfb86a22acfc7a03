"""Attacks on a snapshot from a worktree that has it beneath: nothing of it may ever change."""

from tests.security.case import Case, changed, leaked, python

_NO_CONTROL = "without a layer there is no snapshot to reach"

_WAYS = {
    "write": "echo bad >lib/installed",
    "truncate": "truncate -s 0 lib/installed; : >lib/bin/tool",
    "delete and make again": "rm -r lib && mkdir -p lib && echo bad >lib/installed",
    "rename over": "echo bad >x && mv x lib/installed",
    "hard link": "ln lib/installed lib/link && echo bad >>lib/link",
    "mode and time": "chmod 6777 lib/installed lib lib/bin/tool; touch -d @0 lib/installed lib",
    "link in its place": 'rm -r lib; ln -s "$UP" lib; ls lib; ln -s "$HOST" out; cat out/.netrc',
    "mount above": "mount -t tmpfs none lib; umount /workspace; umount -l lib",
    "through process 1": "for each in /proc/1/root /proc/1/cwd /proc/*/fd/*; do"
    " echo bad >$each/lib/installed; ls $each; done",
}
_PYTHON = {
    "shared mapping": """
import mmap
file = os.open("lib/installed", os.O_RDONLY)
os.chmod("lib/installed", 0o777)
try:
    mapped = mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    mapped[0:3] = b"bad"
except (OSError, PermissionError):
    pass
""",
    "descriptor from before": """
file = os.open("lib/installed", os.O_RDONLY)
open("lib/installed", "a").write("bad")
open(f"/proc/self/fd/{file}", "r+").write("bad")
""",
    "handle": """
import ctypes
handle = (ctypes.c_char * 200)()
struct.pack_into("I", handle, 0, 128)
mount = ctypes.c_int()
libc.name_to_handle_at(-100, b"lib/installed", handle, ctypes.byref(mount), 0)
found = libc.open_by_handle_at(os.open("lib", os.O_RDONLY), handle, os.O_RDWR)
os.write(found, b"bad")
""",
    "whiteout by hand": """
import stat
for name in ("lib/installed", "w"):
    try:
        os.mknod(name, stat.S_IFCHR, 0)
    except OSError:
        pass
""",
}
_MARKS = """
for name in ("opaque", "redirect", "origin", "metacopy", "whiteout"):
    for place in ("lib", "lib/installed", "attack.py", "d"):
        for value in (b"y", os.environ["HOST"].encode(), b"/etc", b"../../person"):
            try:
                os.setxattr(place, f"user.overlay.{name}", value)
            except OSError:
                pass
"""
_READ_BACK = 'ls -R lib d; cat lib/* d/* d/.netrc lib/.netrc "$HOST/.netrc"'

CASES = (
    *(Case(f"snapshot: {name}", script, changed, _NO_CONTROL) for name, script in _WAYS.items()),
    *(
        Case(f"snapshot: {name}", python(text), changed, _NO_CONTROL)
        for name, text in _PYTHON.items()
    ),
    Case("marks of the overlay: change", python(_MARKS), changed, _NO_CONTROL),
    Case("marks of the overlay: read", f"{python(_MARKS)}\n{_READ_BACK}", leaked, _NO_CONTROL),
)
