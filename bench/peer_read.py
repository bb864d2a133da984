#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time reading a table by a peer, in a process of its own: peer_read.py PEER FILE REPEATS

PEER is pandas (its C reader as it is), pandas-exact (the same, rounding correctly as we do) or
sklearn (load_svmlight_file). Prints one JSON object with the fields of bench_read.
"""
import json
import sys
import time


def main():
    peer, path, repeats = sys.argv[1:4]
    if peer == "sklearn":
        from sklearn.datasets import load_svmlight_file

        def read():
            return load_svmlight_file(path)[0]
    else:
        import pandas

        def read():
            precision = "round_trip" if peer == "pandas-exact" else None
            return pandas.read_csv(path, engine="c", float_precision=precision).to_numpy(float)
    times = []
    for _ in range(int(repeats)):
        wall, cpu = time.perf_counter(), time.process_time()
        table = read()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    print(json.dumps({"read_s": min(wall for wall, _ in times),
                      "read_cpu_s": min(cpu for _, cpu in times), "rows": table.shape[0]}))


if __name__ == "__main__":
    main()
