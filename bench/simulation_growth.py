#!/usr/bin/env python3
"""Checks how the cost of `poslens simulate` grows: with samples, with the width, with threads.

    bench/simulation_growth.py build/release/poslens [--runs 5]

Compares the computation's seconds as the artefact records them, the least of some runs each.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BASE = {"n": 50, "dim": 64, "layers": 4, "samples": 200000}
# name, the two runs, whose seconds are divided, and the range wanted
CHECKS = [
    ("10 x samples", {"samples": 2000000}, {}, (9, 11)),
    ("10 x samples, RoPE", {"samples": 400000, "rope": 10000}, {"samples": 40000, "rope": 10000},
     (9, 11)),
    ("width 4096 / 64", {"dim": 4096}, {}, (0, 1.3)),
    ("one thread / two", {"threads": 1}, {"threads": 2}, (1.85, 2.2)),
]


def seconds(program, changes):
    options = [text for key, value in {**BASE, **changes}.items() for text in (f"--{key}", str(value))]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "map.npz"
        subprocess.run([program, "simulate", *options, "--quiet", "--out", out], check=True)
        with zipfile.ZipFile(out) as archive:
            return json.loads(archive.read("meta.json"))["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    failed = False
    for name, above, below, (low, high) in CHECKS:
        pairs = [(seconds(args.program, above), seconds(args.program, below))
                 for _ in range(args.runs)]
        numerator, denominator = (min(times) for times in zip(*pairs))
        ratio = numerator / denominator
        ok = low <= ratio <= high
        failed |= not ok
        print(f"{name:<20} {numerator:7.3f} s / {denominator:6.3f} s = {ratio:5.2f}   "
              f"wanted {low} to {high}: {'ok' if ok else 'NO'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
