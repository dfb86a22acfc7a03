"""Reaching files that are not the attack's: by path, by link, by descriptor, by race, by name."""

from tests.security.case import Case, changed, leaked, python

_KEY = "$HOST/.ssh/id_ed25519"

READING = (
    Case("a key by its path", f"cat {_KEY}", leaked),
    Case("a key by a relative path", "cat $UP/.ssh/id_ed25519", leaked),
    Case("a key over the root and back", f"cat ///../..{_KEY}", leaked),
    Case("a key through the root of process 1", f"cat /proc/1/root{_KEY}", leaked),
    Case("a key through its own root", f"cat /proc/self/root{_KEY}", leaked),
    Case("a key through a thread's root", f"cat /proc/thread-self/root{_KEY}", leaked),
    Case("a key through its working directory", "cat /proc/self/cwd/$UP/.ssh/id_ed25519", leaked),
    Case("a key with a case-folded name", f"cat {_KEY} {_KEY}/. ${{HOST^^}}/.ssh/*", leaked),
    Case("keys by a glob", "cat $HOST/.*/*", leaked),
    Case(
        "keys by a search",
        'find "$HOST" "$UP" /home /root -name "id_*" -exec cat {} + 2>&-',
        leaked,
    ),
    Case("keys by an archive of the home", "tar cf keys.tar -C $HOST .", leaked),
    Case("a copy that keeps everything", "cp -a $HOST copy", leaked),
    Case("another task's worktree", "cat $OTHER/notes.txt ../other-task/notes.txt", leaked),
    Case("another task's, over its own", "cat $WORK/../other-task/notes.txt", leaked),
    Case(
        "a folder opened before it goes up",
        python(
            "fd = os.open('.', os.O_PATH)\n"
            "for part in os.environ['UP'].split('/'): fd = os.open(part, os.O_PATH, dir_fd=fd)\n"
            "print(open(os.open('.netrc', os.O_RDONLY, dir_fd=fd)).read())"
        ),
        leaked,
    ),
    Case("a link to a key", f"ln -s {_KEY} k; cat k", leaked),
    Case("a relative link to a key", "ln -s $UP/.netrc k; cat k", leaked),
    Case("a link to a folder", "ln -s $HOST to; cat to/.netrc", leaked),
    Case("a chain of links", "ln -s $HOST a; ln -s a b; ln -s b/.ssh c; cat c/id_ed25519", leaked),
    Case("a link through /proc", "ln -s /proc/self/root r; cat r$HOST/.netrc", leaked),
    Case("a hard link to a key", f"ln {_KEY} k; cat k", leaked),
    Case(
        "a hard link by descriptor",
        python(
            "fd = os.open(os.environ['HOST'] + '/.netrc', os.O_RDONLY)\n"
            "libc.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, b'k', 0x400)"
        ),
        leaked,
    ),
    Case("a listing tells no path of the person's", "ls $HOST/.ssh && cat $HOST/.ssh/*", leaked),
)

_RACE = python(
    "import threading\n"
    "os.mkdir('real')\n"
    "def turn():\n"
    " for _ in range(300):\n"
    "  os.symlink(os.environ['HOST'], 'new'); os.rename('new', 'link')\n"
    "  os.symlink('real', 'new'); os.rename('new', 'link')\n"
    " os.symlink(os.environ['HOST'], 'new'); os.rename('new', 'link')\n"
    "racing = threading.Thread(target=turn); racing.start()\n"
    "def write():\n"
    " try: open('link/.profile', 'a').write('pwned')\n"
    " except OSError: pass\n"
    "while racing.is_alive(): write()\n"
    "write()"
)

WRITING = (
    Case("a start-up file by its path", "echo pwned >>$HOST/.profile", changed),
    Case("a start-up file by a relative path", "echo pwned >>$UP/.profile", changed),
    Case("a start-up file through process 1", "echo pwned >>/proc/1/root$HOST/.profile", changed),
    Case(
        "a start-up file through its own root", "echo pwned >/proc/self/root$HOST/.profile", changed
    ),
    Case("everything deleted", "rm -rf $HOST", changed),
    Case("a file deleted by a relative path", "rm -f $UP/.profile", changed),
    Case("a file moved away", "mv $HOST/.profile .", changed),
    Case("a file put in place", "echo x >k; mv k $HOST/.ssh/authorized_keys", changed),
    Case("a mode opened", "chmod 777 $HOST/.ssh $HOST/.ssh/id_ed25519", changed),
    Case("a file cut to nothing", "truncate -s 0 $HOST/.profile", changed),
    Case("the person's checkout", "echo pwned >>$CHECKOUT/a.txt", changed),
    Case(
        "a hook of the person's",
        "mkdir -p $CHECKOUT/.git/hooks; echo x >$CHECKOUT/.git/hooks/pre-commit",
        changed,
    ),
    Case(
        "the person's git configuration",
        "git config -f $CHECKOUT/.git/config core.fsmonitor x",
        changed,
    ),
    Case(
        "the person's own git configuration",
        "HOME=$HOST git config --global alias.st '!x'",
        changed,
    ),
    Case("another task's work", "echo pwned >>$OTHER/a.txt", changed),
    Case("another task's git file", "echo 'gitdir: /tmp' >$OTHER/.git", changed),
    Case("a link to a file, written", "ln -s $HOST/.profile k; echo pwned >k", changed),
    Case("a link to a folder, written below", "ln -s $HOST to; echo pwned >to/.profile", changed),
    Case(
        "a link that is put in place by rename",
        "ln -s $HOST to; mkdir e; mv -T to e/to; echo x >e/to/new",
        changed,
    ),
    Case("a hard link to a file, written", "ln $HOST/.profile h; echo pwned >h", changed),
    Case("a hard link to git's HEAD, written", "ln $GIT/HEAD h; echo pwned >h", changed),
    Case("a race between a folder and a link", _RACE, changed),
    Case(
        "an archive with absolute names",
        "echo x >k; tar cPf x.tar --transform s,k,$HOST/.profile, k; tar xPf x.tar",
        changed,
    ),
    Case(
        "an archive that goes up",
        "echo x >k; tar cPf x.tar --transform s,k,$UP/.profile, k; tar xPf x.tar",
        changed,
    ),
    Case(
        "an archive with a link before the file",
        python(
            "import io, tarfile\n"
            "with tarfile.open('x.tar', 'w') as tar:\n"
            " link = tarfile.TarInfo('to'); link.type = tarfile.SYMTYPE\n"
            " link.linkname = os.environ['HOST']; tar.addfile(link)\n"
            " tar.addfile(tarfile.TarInfo('to/.profile'), io.BytesIO(b''))\n"
            "os.system('tar xPf x.tar')"
        ),
        changed,
    ),
    Case(
        "a zip that goes up",
        python(
            "import zipfile\n"
            "with zipfile.ZipFile('x.zip', 'w') as made: made.writestr('../x', 'pwned')\n"
            "for one in zipfile.ZipFile('x.zip').infolist():\n"
            " open(os.path.join(os.environ['HOST'], 'run', one.filename), 'w').write('pwned')"
        ),
        changed,
    ),
    Case(
        "a patch that goes up",
        (
            "printf -- '--- a/%s\\n+++ b/%s\\n@@ -1 +1 @@\\n-# theirs\\n+pwned\\n' $UP/.profile $UP/.profile"
            " | git apply --unsafe-paths -p1"
        ),
        changed,
    ),
    Case(
        "percent signs are no path",
        'cat $HOST/%2e%2e/.x; python3 -c "import urllib.request as u, os;'
        "u.urlopen('file://' + os.environ['HOST'] + '/%2Enetrc').read()\"; echo x >$HOST/.n",
        changed,
    ),
    Case(
        "names in other encodings",
        python(
            "up = os.environ['UP'].encode()\n"
            "for name in (up, up.replace(b'..', b'\\xc0\\xae.'), up.replace(b'/', b'\\xe2\\x88\\x95')):\n"
            " try: open(name + b'/.profile', 'ab').write(b'pwned')\n"
            " except OSError: pass"
        ),
        changed,
    ),
    Case(
        "a device node for a disk",
        "mknod disk b 254 0 && head -c 1 disk >receipt",
        changed,
        "making a device node needs the host's own root",
    ),
)

CASES = (*READING, *WRITING)
