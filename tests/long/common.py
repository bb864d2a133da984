"""What the long tests share: running the tool and counting what holds."""
import json
import os
import sys
import tempfile

MERCER = os.path.abspath(sys.argv[1])
COUNTS = {True: 0, False: 0}


def check(name, good, detail=""):
    COUNTS[bool(good)] += 1
    print(f"{'ok  ' if good else 'FAIL'} {name}: {detail}", flush=True)


def run(*args):
    """Run the tool; return status, parsed JSON from stdout and peak memory in bytes."""
    with tempfile.TemporaryFile() as out:
        pid = os.posix_spawn(MERCER, [MERCER, *map(str, args)], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        _, status, usage = os.wait4(pid, 0)
        out.seek(0)
        text = out.read().decode()
    return os.waitstatus_to_exitcode(status), json.loads(text) if text else None, usage.ru_maxrss * 1024


def run_all(tests, wanted):
    """Each test, or those wanted by name, gets a scratch folder; the status of the script."""
    with tempfile.TemporaryDirectory() as folder:
        for test in tests:
            if not wanted or test.__name__ in wanted:
                test(folder)
    print(f"{COUNTS[True]} passed, {COUNTS[False]} failed")
    return 1 if COUNTS[False] else 0
