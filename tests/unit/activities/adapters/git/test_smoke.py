from pathlib import Path
from activities.ports.git import *
from .conftest import *
from .conftest import SESSION, WHEN
import os

async def test_all(home: Home):
    home.make({"a.txt": "one\n", "d/b.txt": "two\n", ".gitignore": "ign/\n"})
    facts = await home.user.inspect(home.path, None)
    print(facts)
    wt = await home.start()
    async with home.host.lock("t1") as fd:
        await home.host.restore("t1", home.base)
        (wt / "a.txt").write_text("uno\n"); (wt/"new").mkdir(); (wt/"new/x.sh").write_text("x"); (wt/"new/x.sh").chmod(0o755)
        (wt/"ign").mkdir(); (wt/"ign/z").write_text("z")
        os.unlink(wt/"d/b.txt"); os.symlink("a.txt", wt/"l")
        os.mkfifo(wt/"p")
        c = await home.host.collect("t1")
        print(c)
        print(await home.host.ignored("t1"))
        k = await home.host.checkpoint(home.request("t1", c))
        assert await home.host.checkpoint(home.request("t1", c)) == k
        print(await home.host.read_checkpoint("refs/blueflame/s1/tasks/t1/1"))
        await home.host.restore("t1", home.base)
        assert sorted(os.listdir(wt)) == [".git", ".gitignore", "a.txt", "d", "ign"]
        await home.host.restore("t1", k)
        assert sorted(os.listdir(wt)) == [".git", ".gitignore", "a.txt", "ign", "l", "new"]
        c2 = await home.host.collect("t1")
        assert c2.tree == c.tree and not c2.changes, c2
    t = await home.commit_work()
    print((await home.host.diff(home.base, t)).decode())
    print(await home.host.changed_paths(home.base, t))
    await home.host.advance("refs/blueflame/s1/merged", t, None)
    b = await home.host.bundle("refs/blueflame/s1/merged", home.base)
    r = await home.user.land(LandRequest(path=home.path, bundle=b, ref="refs/heads/blueflame/s1", old=None, new=t))
    print(r)
    print(await home.user.fast_forward(FastForwardRequest(path=home.path, branch="main", old=home.base, new=t)))
    print(home.run("status"), home.run("log","--stat"))
    await home.host.checkout(t, home.top/"gate")
    print(os.listdir(home.top/"gate"), await home.host.refs(SESSION), await home.host.read_file(t,"l"))
    m = await home.host.merge(home.base, (MergePart(commit=t, message="m"),), WHEN)
    print(m)
    await home.host.remove_worktree("t1"); await home.host.remove_worktree("t1")
