"""Times of ten features of a ring: paper 000, Table 1 and Figure 1."""
import json

import ring


def measure(lab):
    """(sizes, seconds by store and method), one thread, the best of three runs, the kernel matrix included.

    Figure 1 measures and leaves them in the build folder, where Table 1 finds them.
    """
    kept = lab.build / "experiments" / f"ring-times{'-quick' * lab.quick}.json"
    if lab.name == "000_table1" and kept.exists():
        return json.loads(kept.read_text(encoding="ascii"))
    sizes = (200, 400) if lab.quick else ring.SIZES

    def seconds(*fit):
        return min(ring.fit(lab, *fit)["seconds"] for _ in range(1 if lab.quick else 3))

    times = {store: {name: [seconds(rows, rows, method, 10, "--store", store) for rows in sizes]
                     for name, method in ring.METHODS.items()} for store in ("dense", "auto")}
    kept.write_text(json.dumps((sizes, times)), encoding="ascii")
    return sizes, times
