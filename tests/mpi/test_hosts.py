#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program as ranks on two hosts: test_hosts.py MERCER openmpi|mpich [WORD...] [-jN]

A host here is a network namespace of this machine with a name, an address and a loopback device of its own; a cable
(veth) joins the two, and nothing else does. What ranks tell each other goes over that cable, where test_mpi.py has
shared memory. Needs root and `ip`; elsewhere the tests say that they skip.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import program, run_tests, test  # noqa: E402
from hosts import ADDRESSES, NETWORK, hosts, need, on_host  # noqa: E402
from ranks import SURROUNDINGS, all_end_soon, without_times  # noqa: E402

MERCER = program()
KIND = sys.argv.pop(2)
HANG = 120  # seconds
# What launchers ask a shell of another host for: `agent [-x] HOST COMMAND...`
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in {first}) host={pids[0]} ;; *) host={pids[1]} ;; esac
shift
exec nsenter -t $host --net --uts sh -c "cd '{folder}' && $*"
"""


@contextlib.contextmanager
def two_hosts():
    """Words that launch on two hosts, to be followed by [-n COUNT] and a program."""
    mpirun = shutil.which(f"mpirun.{KIND}")
    need(mpirun and (pathlib.Path(MERCER).parent / f"mpi-{KIND}.so").exists(), f"there is no mpirun or no module of {KIND}")
    with hosts() as pids:
        agent = pathlib.Path("agent")
        agent.write_text(AGENT.format(first=ADDRESSES[0], pids=pids, folder=os.getcwd()), encoding="ascii")
        agent.chmod(0o755)
        inside = on_host(pids[0], mpirun)
        if KIND == "openmpi":
            yield [*inside, "-q", "--allow-run-as-root", "--oversubscribe", "--mca", "plm_rsh_agent", agent.resolve(), "--mca",
                   "oob_tcp_if_include", NETWORK, "--mca", "btl_tcp_if_include", NETWORK, "--host",
                   f"{ADDRESSES[0]}:2,{ADDRESSES[1]}:2"]
        else:
            yield [*inside, "-launcher", "ssh", "-launcher-exec", agent.resolve(), "-iface", "cable", "-hosts",
                   f"{ADDRESSES[0]}:2,{ADDRESSES[1]}:2"]


def run(words):
    """What it printed; it must do well and say nothing else."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=HANG, env=SURROUNDINGS)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return done.stdout


def make_data(rows=61):
    x = np.random.default_rng(1).normal(size=(rows, 4))
    with open("data.csv", "w", encoding="ascii") as out:
        print("a,b,c,d,label", file=out)
        for row in x:
            print(*(f"{value:.6f}" for value in row), "yes" if row[0] + row[1] * row[2] > 0 else "no", sep=",", file=out)


TUNED = ["evaluate", "data.csv", "-m", "kpls", "--tune=kernel.sigma=0.25:4:*2", "-n", "3", "--json"]


@test
def the_hosts_are_two():
    """Else all the others would show nothing."""
    with two_hosts() as launch:
        said = run([*launch, "-n", "4", "sh", "-c", "echo $(hostname) $(ip -o -4 addr show cable | grep -o '10[0-9.]*/')"])
        assert sorted(said.split("\n")[:-1]) == [f"host{n} {ADDRESSES[n - 1]}/" for n in (1, 1, 2, 2)], said


@test
def ranks_of_two_hosts_are_as_one():
    make_data()
    expected = without_times(run([MERCER, *TUNED]))
    with two_hosts() as launch:
        for count in (2, 3, 4):
            assert without_times(run([*launch, "-n", count, MERCER, *TUNED])) == expected, count
        told = run([*launch, "-n", "4", MERCER, *TUNED[:-1]])
        assert re.search(r"4 ranks x 1 thread, \d[\d.]* k?B sent per rank\n", told), told


@test
def rows_that_are_spread_over_two_hosts_give_the_model_of_one():
    angle = np.random.default_rng(2).uniform(0, 2 * np.pi, 20000)
    np.save("ring.npy", np.c_[np.cos(angle), np.sin(angle)] * np.random.default_rng(3).normal(8, 1, (20000, 1)))
    for method in (["kpca", "-k", "rbf:sigma=4"], ["pca"]):
        words = [MERCER, "fit", "ring.npy", "-m", *method, "-n", "2", "--scale", "standard", "--quiet", "-o", "my.model"]
        run(words)
        expected = pathlib.Path("my.model").read_bytes()
        with two_hosts() as launch:
            for count in (2, 4):
                os.unlink("my.model")
                run([*launch, "-n", count, *words])
                assert pathlib.Path("my.model").read_bytes() == expected, (method, count)


@test
def a_rank_killed_on_the_other_host_ends_all():
    make_data()
    with two_hosts() as launch:
        script = 'echo $$ > pid.$(hostname).$$.new && mv pid.$(hostname).$$.new pid.$(hostname).$$ && exec "$@"'
        words = [*launch, "-n", "4", "sh", "-c", script, "sh", MERCER, *TUNED, "--repeats", "100000"]
        # pylint: disable-next=consider-using-with
        job = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, env=SURROUNDINGS)
        end = time.monotonic() + HANG
        while len(files := sorted(pathlib.Path(".").glob("pid.host?.*[0-9]"))) < 4:
            assert time.monotonic() < end and job.poll() is None, files
            time.sleep(.02)
        time.sleep(1)
        os.kill(int(files[-1].name.split(".")[-1]), signal.SIGKILL)  # host2
        assert all_end_soon(job, [int(path.name.split(".")[-1]) for path in files], "rank on the other host killed") != 0


if __name__ == "__main__":
    sys.exit(run_tests())
