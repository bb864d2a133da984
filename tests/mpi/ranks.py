# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of several ranks share."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

# A launcher that started a script must not be taken for the one that is tested.
SURROUNDINGS = {name: value for name, value in os.environ.items()
                if not re.match("OMPI_|PMI|PMIX_|SLURM_|COLUMNS|MPI_LOCAL", name)}
SURROUNDINGS["OMP_NUM_THREADS"] = "1"

SOON = 30  # seconds until all ranks have ended when one is gone: one or two, and more where the machine has other work

LAUNCHER_OPTIONS = {"openmpi": ["-q", "--oversubscribe", "--allow-run-as-root"], "mpich": []}
LAUNCHER_WORDS = {"openmpi": "Open MPI", "mpich": "HYDRA"}


def launcher(kind, mercer):
    """(the mpirun of this MPI, of which a system may have several, or None; why there is none)."""
    if not (pathlib.Path(mercer).parent / f"mpi-{kind}.so").exists():
        return None, f"the build has no module for {kind}"
    for name in (f"mpirun.{kind}", "mpirun", "mpiexec"):
        path = shutil.which(name)
        if path:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False,
                                  stdin=subprocess.DEVNULL, timeout=60)
            if LAUNCHER_WORDS[kind] in done.stdout:
                return path, None
    return None, f"there is no mpirun of {kind}"


def without_times(text):
    """A report without what another run changes: times, and the machine's part that a rank has."""
    report = json.loads(text)
    for key in list(report):
        if key.startswith("seconds") or key in ("peak_memory_bytes", "threads", "store_reason"):
            del report[key]
    return json.dumps(report, indent=1)


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def took(seconds, what, most=SOON):
    """Print the seconds until all ranks had ended."""
    print(f"     {what}: all ranks had ended after {seconds:.2f} s", flush=True)
    assert seconds < most, f"{what}: {seconds:.1f} s, and {most} are the most"


def all_end_soon(job, pids, what):
    """The status of a launched program that has just lost a rank, after all its processes have ended."""
    start = time.monotonic()
    while job.poll() is None or any(map(is_running, pids)):
        left = [pid for pid in pids if is_running(pid)]
        assert time.monotonic() < start + SOON, f"{what}: of {pids} {left} go on after {SOON} s; the launcher: {job.poll()}"
        time.sleep(0.02)
    took(time.monotonic() - start, what)
    return job.returncode
