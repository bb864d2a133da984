# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts on this machine: network namespaces with names, addresses and loopback devices of their own. A cable (veth)
joins them, and nothing else does. Needs root and `ip`."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from harness import Skip

NAMES = ("host1", "host2")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
NETWORK = f"{ADDRESSES[0]}/24"


def need(condition, why):
    if not condition:
        raise Skip(why)


def quietly(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    need(done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def on_host(pid, *words):
    """The words of a command, on the host of a process."""
    return ["nsenter", "-t", str(pid), "--net", "--uts", *map(str, words)]


def end_all_of(pid):
    """What a failed test has left on the host of a process must not go on."""
    network = os.readlink(f"/proc/{pid}/ns/net")
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(folder / "ns/net") == network:
                os.kill(int(folder.name), signal.SIGKILL)


@contextlib.contextmanager
def hosts():
    """A process on each host."""
    need(os.geteuid() == 0 and shutil.which("ip") and shutil.which("nsenter"), "hosts are made by root, with ip and nsenter")
    with contextlib.ExitStack() as running:
        pids = []
        for name in NAMES:
            script = f"hostname {name} && ip link set lo up && echo ready && exec sleep 600"
            host = running.enter_context(subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", script],
                                                          stdout=subprocess.PIPE, text=True))
            running.callback(end_all_of, host.pid)
            need(host.stdout.readline() == "ready\n", "no network namespace can be made here")
            pids.append(host.pid)
        quietly("nsenter", "-t", pids[0], "--net", "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable",
                "netns", pids[1])
        for pid, address in zip(pids, ADDRESSES):
            quietly(*on_host(pid, "sh", "-c", f"ip addr add {address}/24 dev cable && ip link set cable up"))
        yield pids
