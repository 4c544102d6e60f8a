#!/usr/bin/env python3
"""Runs `poslens simulate` and its PyTorch peer in turn and prints ratios of whole-process times.

    bench/compare_simulation.py build/release/poslens --python VENV/bin/python [--case NAME] [--runs 3]
                                [--frugal]

VENV holds torch from PyPI. Everything is measured in one go on one machine; the ratio is the median
of the pairs' ratios. The peer's time is that of its computation alone, without importing torch; ours
is the whole process, and its computation alone (as the artefact records it) stands beside it.
"""

import argparse
import json
import statistics
import sys
import tempfile
import zipfile
from pathlib import Path

from processes import run, seconds_of

CASES = {
    "l2": "--n 50 --dim 64 --samples 100000 --layers 4",
    "layernorm": "--n 50 --dim 64 --samples 100000 --layers 4 --norm layernorm"
    " --score-scale inv-sqrt-dim",
    "rope": "--n 50 --dim 64 --samples 100000 --layers 4 --rope 10000",
    "recency": "--n 10 --dim 16 --samples 1000000 --layers 4 --norm layernorm"
    " --score-scale inv-sqrt-dim --inputs gaussian --recency",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--frugal", action="store_true", help="the peer that spares memory")
    args = parser.parse_args()
    peer = str(Path(__file__).parent / "peers" / "simulate_pytorch.py")

    print(f"{'case':<10} {'peer s':>8} {'peer MB':>8} {'ours s':>8} {'ours MB':>8} "
          f"{'in-process s':>12} {'ratio':>7}")
    for case in args.case or CASES:
        options = CASES[case].split()
        rows = []
        for _ in range(args.runs):
            frugal = ["--frugal"] if args.frugal else []
            _, peer_memory, text = run([args.python, peer, *options, *frugal])
            peer_seconds = seconds_of(text)
            with tempfile.TemporaryDirectory() as folder:
                out = f"{folder}/map.npz"
                seconds, memory, _ = run([args.program, "simulate", *options, "--out", out])
                with zipfile.ZipFile(out) as archive:
                    inner = json.loads(archive.read("meta.json"))["seconds"]
            rows.append((peer_seconds, peer_memory, seconds, memory, inner, peer_seconds / seconds))
        peer_seconds, peer_memory, seconds, memory, inner, ratio = map(
            statistics.median, zip(*rows))
        print(f"{case:<10} {peer_seconds:8.2f} {peer_memory / 1e6:8.0f} {seconds:8.3f} "
              f"{memory / 1e6:8.0f} {inner:12.3f} {ratio:7.1f}")


if __name__ == "__main__":
    main()
