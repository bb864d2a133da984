# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of several ranks share."""
import json
import os
import re

# A launcher that started a script must not be taken for the one that is tested.
SURROUNDINGS = {name: value for name, value in os.environ.items()
                if not re.match("OMPI_|PMI|PMIX_|SLURM_|COLUMNS|MPI_LOCAL", name)}
SURROUNDINGS["OMP_NUM_THREADS"] = "1"


def without_times(text):
    """A report without what another run changes: times, and the machine's part that a rank has."""
    report = json.loads(text)
    for key in list(report):
        if key.startswith("seconds") or key in ("peak_memory_bytes", "threads", "store_reason"):
            del report[key]
    return json.dumps(report, indent=1)
