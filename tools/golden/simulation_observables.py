#!/usr/bin/env python3
"""Writes tests/simulation/observables.json: what `poslens simulate` keeps of single samples, by numpy.

Nothing here shares code with src/simulation: the random numbers are Philox counters (Salmon et al.
2011) and the method of Box and Muller as the dense engine numbers them, in double precision; layers
are matrices; the readout is numpy.linalg.solve on rows that all lie in memory.

    pip install numpy && python tools/golden/simulation_observables.py
"""

import json
import pathlib

import numpy as np

ROUNDS = 7  # of Philox4x32
SHARED = 2 << 28  # second counter word: what a number is for, and the panel of four tokens


def philox(first, second, samples, seed):
    """Words [len(first), samples, 4] of Philox4x32 for the counters (first, second, sample)."""
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    shape = (len(first), len(samples))
    c = [
        np.broadcast_to(np.asarray(first, np.uint64)[:, None], shape),
        np.full(shape, second, np.uint64),
        np.broadcast_to(np.asarray(samples, np.uint64) & mask, shape),
        np.broadcast_to(np.asarray(samples, np.uint64) >> shift, shape),
    ]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(ROUNDS):
        p0 = c[0] * np.uint64(0xD2511F53)
        p1 = c[2] * np.uint64(0xCD9E8D57)
        c = [
            (p1 >> shift) ^ c[1] ^ np.uint64(key[0]),
            p1 & mask,
            (p0 >> shift) ^ c[3] ^ np.uint64(key[1]),
            p0 & mask,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, axis=-1)


def four_normals(first, second, samples, seed):
    """[len(first), samples, 4]: of words 0 and 1, then of words 2 and 3."""
    words = philox(first, second, samples, seed)
    uniform = ((words[..., 0::2] >> np.uint64(1)).astype(float) + 0.5) * 2.0**-31
    radius = np.sqrt(-2 * np.log(uniform))
    angle = words[..., 1::2].astype(float) * (2 * np.pi / 2**32)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(*pairs.shape[:2], 4)


def inputs(case, samples):
    """[samples, n, dim]; n is a multiple of four."""
    n, dim, seed = case["n"], case["dim"], case["seed"]
    panels = [four_normals(range(dim), p, samples, seed) for p in range(n // 4)]
    x = np.concatenate(panels, axis=2).transpose(1, 2, 0)
    shared = four_normals(range(0, dim, 4), SHARED, samples, seed)
    shared = shared.transpose(1, 0, 2).reshape(len(samples), 1, dim)
    x = x + np.sqrt(case["alpha"] / (1 - case["alpha"])) * shared
    return x / np.linalg.norm(x, axis=2, keepdims=True)


def visible(case):
    i, j = np.indices((case["n"], case["n"]))
    kind, _, size = case["mask"].partition(":")
    if kind == "full":
        return np.ones_like(i, bool)
    return (j <= i) | ((i < int(size or 0)) & (j < int(size or 0)))


def normed(case, x):
    if case["norm"] == "layernorm":
        x = x - x.mean(axis=2, keepdims=True)
        return x / np.sqrt(np.mean(x**2, axis=2, keepdims=True) + 1e-12)
    return x / np.linalg.norm(x, axis=2, keepdims=True)


def rotated(case, y):
    if case["rope"] is None:
        return y
    half = case["dim"] // 2
    angle = np.arange(case["n"])[:, None] * case["rope"] ** (-np.arange(half) / half)
    a, b = y[..., :half], y[..., half:]
    return np.concatenate(
        [a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=2
    )


def run(case, samples):
    """Residual streams [layers + 1, samples, n, dim] and scores [layers, samples, n, n]."""
    x = inputs(case, samples)
    scale = case["dim"] ** -0.5 if case["norm"] == "layernorm" else 1
    seen = visible(case)
    streams, scores = [x], []
    for _ in range(case["layers"]):
        y = normed(case, x)
        q = rotated(case, y)
        scores.append(scale * q @ q.transpose(0, 2, 1))
        weights = np.where(seen, np.exp(scores[-1]), 0)
        x = weights / weights.sum(axis=2, keepdims=True) @ y + case["residual"] * x
        streams.append(x)
    return np.array(streams), np.array(scores)


def monotonicity(case, scores):
    """The share of rows of one layer [samples, n, n] that increase over the keys before the query."""
    seen = visible(case)
    shares = []
    for i in range(case["n"]):
        keys = [j for j in range(i) if seen[i, j]]
        if len(keys) > 1:
            shares.append(np.mean(np.all(np.diff(scores[:, i, keys], axis=1) > 0, axis=1)))
    return float(np.mean(shares))


def readout(case, scores):
    """R^2 and mean absolute error of a ridge fit on the first half of the samples of one layer."""
    keys, n = case["readout_keys"], case["n"]
    halves = np.split(scores[:, keys:, :keys], 2)
    train, test = [half.reshape(-1, keys) for half in halves]
    position = np.tile(np.arange(keys, n, dtype=float), len(halves[0]))
    mean = train.mean(axis=0)
    design = train - mean
    penalty = 1e-4 * np.mean(np.var(train, axis=0))
    matrix = design.T @ design / len(design) + penalty * np.eye(keys)
    weights = np.linalg.solve(matrix, design.T @ (position - position.mean()) / len(design))
    error = position.mean() + (test - mean) @ weights - position
    return 1 - np.mean(error**2) / np.var(position), np.mean(np.abs(error))


def main():
    base = {"n": 8, "dim": 16, "layers": 3, "alpha": 0.0, "norm": "l2", "residual": 1.0}
    base |= {"rope": None, "mask": "causal", "seed": 7, "samples": 80, "readout_keys": 3}
    cases = [
        base,
        base | {"alpha": 0.4, "rope": 100.0, "seed": (5 << 32) + 1, "readout_keys": 4},
        base | {"alpha": 0.5, "norm": "layernorm", "residual": 0.0, "n": 12, "readout_keys": 6},
        base | {"mask": "prefix:3", "dim": 8, "residual": 0.5},
        base | {"mask": "full", "seed": 11},
    ]
    for case in cases:
        streams, scores = run(case, range(case["samples"]))
        case["scores"] = scores.mean(axis=1).ravel().tolist()
        case["monotonicity"] = [monotonicity(case, layer) for layer in scores]
        length = np.linalg.norm(streams, axis=3)
        case["hidden_norm"] = length.mean(axis=1).ravel().tolist()
        products = streams @ streams.transpose(0, 1, 3, 2)
        cosines = products / (length[..., :, None] * length[..., None, :])
        case["hidden_cosine"] = cosines.mean(axis=1).ravel().tolist()
        readouts = np.array([readout(case, layer) for layer in scores])
        case["readout_r2"], case["readout_error"] = readouts.T.tolist()
        print(case["readout_r2"], case["readout_error"], case["monotonicity"])
    rounded = json.loads(json.dumps(cases), parse_float=lambda text: round(float(text), 8))
    path = pathlib.Path(__file__).parents[2] / "tests" / "simulation" / "observables.json"
    path.write_text(json.dumps(rounded, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
