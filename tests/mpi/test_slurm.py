#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program under srun, on a cluster of two hosts that this script makes: test_slurm.py MERCER [WORD...] [-jN]

The hosts are network namespaces (hosts.py), each with a slurmd of its own; host1 has the slurmctld. Nothing of the
machine is used or changed: keys, sockets, states and logs are in the folder of the test. Needs root, `ip` and Debian's
slurm-wlm and munge (tools/install-packages slurm); elsewhere the tests say that they skip.
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
from hosts import ADDRESSES, NAMES, NETWORK, hosts, need, on_host  # noqa: E402
from ranks import SURROUNDINGS, without_times  # noqa: E402

MERCER = program()
HANG = 120  # seconds
DAEMONS = ("munged", "slurmctld", "slurmd", "srun")
SURROUNDINGS |= {"OMPI_MCA_btl_tcp_if_include": NETWORK, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
CONFIGURATION = """
ClusterName=test
SlurmctldHost={names[0]}({addresses[0]})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
TmpFS={folder}/tmp.%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
KillWait=2
NodeName={names[0]} NodeAddr={addresses[0]} CPUs=2 State=UNKNOWN
NodeName={names[1]} NodeAddr={addresses[1]} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def daemon(running, words):
    """It ends with the hosts."""
    # pylint: disable-next=consider-using-with
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, env=SURROUNDINGS)
    running.callback(process.wait)
    running.callback(process.kill)


def wait_for(happens, what):
    end = time.monotonic() + HANG
    while not happens():
        assert time.monotonic() < end, what
        time.sleep(.05)


@contextlib.contextmanager
def cluster():
    """Words that run srun on host1, to be followed by its options and a program."""
    for name in DAEMONS:
        need(shutil.which(name, path=SURROUNDINGS["PATH"]), f"there is no {name}")
    folder = pathlib.Path("cluster").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("state", *(f"{kind}.{host}" for kind in ("spool", "tmp") for host in NAMES)):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    (folder / "slurm.conf").write_text(CONFIGURATION.format(names=NAMES, addresses=ADDRESSES, folder=folder), encoding="ascii")
    SURROUNDINGS["SLURM_CONF"] = str(folder / "slurm.conf")
    with hosts() as pids, contextlib.ExitStack() as running:
        daemon(running, ["munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                         f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"])
        wait_for((folder / "munge.socket").exists, "munged does not start")
        daemon(running, on_host(pids[0], "slurmctld", "-D"))
        for name, pid in zip(NAMES, pids):
            daemon(running, on_host(pid, "slurmd", "-D", "-N", name))
        listing = on_host(pids[0], "sinfo", "--noheader", "--Node", "--format", "%t")
        wait_for(lambda: subprocess.run(listing, capture_output=True, text=True, check=False, env=SURROUNDINGS).stdout.split() ==
                 ["idle", "idle"], "the nodes do not come up")
        yield on_host(pids[0], "srun", "--nodes=2", "--overcommit")


def start(words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=HANG, env=SURROUNDINGS)


def run(words):
    done = start(words)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def make_ring(rows):
    random = np.random.default_rng(2)
    angle = random.uniform(0, 2 * np.pi, rows)
    np.save("ring.npy", np.c_[np.cos(angle), np.sin(angle)] * random.normal(8, 1, (rows, 1)))


def kinds(srun):
    """The kinds of MPI for which there are a module here and a plug-in of Slurm."""
    listed = subprocess.run([*srun[:-2], "--mpi=list"], capture_output=True, text=True, check=False, env=SURROUNDINGS)
    found = [kind for kind, module in (("pmix", "openmpi"), ("pmi2", "mpich"))
             if kind in listed.stdout + listed.stderr and (pathlib.Path(MERCER).parent / f"mpi-{module}.so").exists()]
    need(found, "there is no module of an MPI that this Slurm starts")
    return found


@test
def a_fit_on_two_nodes_is_that_of_one_rank():
    make_ring(20000)
    words = [MERCER, "fit", "ring.npy", "-m", "kpca", "-k", "rbf:sigma=4", "-n", "3", "-o", "my.model", "--quiet"]
    run(words)
    expected = pathlib.Path("my.model").read_bytes()
    with cluster() as srun:
        names = run([*srun, "-n", "4", "hostname"]).split()
        assert sorted(set(names)) == list(NAMES), names
        for kind in kinds(srun):
            for count in (2, 3, 4):
                os.unlink("my.model")
                run([*srun, f"--mpi={kind}", "-n", count, *words])
                assert pathlib.Path("my.model").read_bytes() == expected, (kind, count)


@test
def an_evaluation_on_two_nodes_is_that_of_one_rank():
    random = np.random.default_rng(1)
    x = random.normal(size=(80, 4))
    np.save("data.npy", np.c_[x, x[:, 0] * x[:, 1]])
    words = [MERCER, "evaluate", "data.npy", "--target", "5", "-m", "kpls", "--tune=kernel.sigma=0.5:4:*2", "-n", "3"]
    expected = without_times(run([*words, "--json"]))
    with cluster() as srun:
        for kind in kinds(srun):
            assert without_times(run([*srun, f"--mpi={kind}", "-n", "3", *words, "--json"])) == expected, kind
            told = run([*srun, f"--mpi={kind}", "-n", "3", *words])
            assert re.search(r"3 ranks x 1 thread, \d[\d.]* k?B sent per rank\n", told), told


@test
def copies_that_do_not_know_each_other_are_refused():
    """A plain srun starts copies that each believe to be alone (open-mpi/ompi#13523). One copy of a step may run."""
    make_ring(300)
    words = [MERCER, "fit", "ring.npy", "-m", "kpca", "-n", "2", "-o", "my.model", "--quiet"]
    with cluster() as srun:
        done = start([*srun, "--mpi=none", "-n", "3", *words])
        assert done.returncode == 2 and not os.path.exists("my.model"), (done.returncode, done.stderr)
        assert done.stderr.count("3 copies were started that do not know each other: use srun --mpi=pmix") == 1, done.stderr
        run([*srun[:-2], "--mpi=none", "--nodes=1", "-n", "1", *words])
        assert os.path.exists("my.model")


def ticks(pid):
    """Processor time of a process: more than a second, and it is past the start of MPI."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[11])


@test
def a_rank_killed_on_the_other_node_ends_all():
    make_ring(1000000)
    script = 'echo $$ > pid.$(hostname).$$.new && mv pid.$(hostname).$$.new pid.$(hostname).$$ && exec "$@"'
    words = ["sh", "-c", script, "sh", MERCER, "fit", "ring.npy", "-m", "kpca", "-k", "rbf:sigma=4", "-n", "3", "-o", "my.model"]
    with cluster() as srun:
        kind = kinds(srun)[0]
        # pylint: disable-next=consider-using-with
        job = subprocess.Popen(list(map(str, [*srun, f"--mpi={kind}", "-n", "4", *words])), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=SURROUNDINGS)
        wait_for(lambda: len(list(pathlib.Path(".").glob("pid.host?.*[0-9]"))) == 4 or job.poll() is not None, "no ranks")
        files = sorted(pathlib.Path(".").glob("pid.host?.*[0-9]"))
        wait_for(lambda: all(ticks(path.name.split(".")[-1]) > 100 for path in files), "no rank computes")
        os.kill(int(files[-1].name.split(".")[-1]), signal.SIGKILL)  # host2
        assert job.wait(timeout=HANG) != 0 and not os.path.exists("my.model")
        for path in files:
            wait_for(lambda path=path: not os.path.exists(f"/proc/{path.name.split('.')[-1]}/exe"), f"{path.name} goes on")


if __name__ == "__main__":
    sys.exit(run_tests())
