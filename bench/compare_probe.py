#!/usr/bin/env python3
"""Runs `poslens probe` and its peers in turn over the same token ids and prints ratios.

    bench/compare_probe.py build/release/poslens MODEL --config CONFIG.JSON --python VENV/bin/python
                           [--dtype bf16|f32] [--layers N] [--runs 3] [--rate-only]

MODEL is a folder or a GGUF file of a Llama-like model and CONFIG.JSON its shapes; VENV holds torch,
transformers, accelerate and gguf from PyPI. Random ids, 8 sequences of 1024. A ratio is the peer's
seconds, without loading, to those of our whole process; the share is that of the machine's
matrix-product rate, measured on the model's own shapes in the same run, to our own seconds (loading
included, starting the program and writing the file not). Medians of the runs' ratios.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import zipfile
from pathlib import Path

from processes import run, seconds_of

PEERS = Path(__file__).parent / "peers"
LENGTH, SEQUENCES = 1024, 8


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("model", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--dtype", choices=["bf16", "f32"], default="bf16")
    parser.add_argument("--layers", type=int, default=0, help="only the first; 0: all, and the loss")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rate-only", action="store_true", help="without transformers")
    args = parser.parse_args()
    config = json.loads(args.config.read_text())
    layers = args.layers or config["num_hidden_layers"]

    with tempfile.TemporaryDirectory() as folder:
        tokens, out = Path(folder) / "tokens.json", Path(folder) / "map.npz"
        generator = random.Random(0)
        ids = [[generator.randrange(config["vocab_size"]) for _ in range(LENGTH)]
               for _ in range(SEQUENCES)]
        tokens.write_text(json.dumps({"tokens": ids}))
        ours = [args.program, "probe", args.model, "--tokens", tokens, "--length", LENGTH,
                "--sequences", SEQUENCES, "--dtype", args.dtype, "--out", out, "--quiet"]
        rate = [args.python, PEERS / "matrix_rate.py", "--config", args.config, "--dtype",
                args.dtype, "--layers", layers, "--length", LENGTH, "--tokens", LENGTH * SEQUENCES]
        if args.layers:
            ours += ["--layers", f"0-{layers - 1}"]
        else:
            rate += ["--head"]
        peer = [args.python, PEERS / "probe_transformers.py", args.model, "--tokens", tokens,
                "--dtype", args.dtype, "--layers", args.layers, "--attention"]
        rows = []
        for _ in range(args.runs):
            products = run(rate)[2]
            out.unlink(missing_ok=True)
            whole, memory, _ = run(ours)
            with zipfile.ZipFile(out) as archive:
                inner = json.loads(archive.read("meta.json"))["seconds"]
            row = [whole, inner, memory / 1e6, seconds_of(products) / inner]
            if not args.rate_only:
                sdpa = seconds_of(run([*peer, "sdpa"])[2])
                hook = seconds_of(run([*peer, "hook"])[2])
                row += [sdpa, hook, sdpa / whole, hook / whole]
            rows.append(row)
            print(" ".join(f"{value:.2f}" for value in row), "|", products.strip(), flush=True)
        names = ["our seconds", "in process", "peak MB", "share of rate", "SDPA seconds",
                 "hook seconds", "ratio to SDPA", "ratio to hook"]
        for name, value in zip(names, map(statistics.median, zip(*rows))):
            print(f"{name:<14} {value:9.2f}")


if __name__ == "__main__":
    main()
