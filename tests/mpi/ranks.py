# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of several ranks share."""
import json
import os
import pathlib
import re
import shutil
import subprocess

# A launcher that started a script must not be taken for the one that is tested.
SURROUNDINGS = {name: value for name, value in os.environ.items()
                if not re.match("OMPI_|PMI|PMIX_|SLURM_|COLUMNS|MPI_LOCAL", name)}
SURROUNDINGS["OMP_NUM_THREADS"] = "1"

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
