#!/usr/bin/env python3
"""The parameter-free Transformer of arXiv 2509.21042 as one writes it in PyTorch: whole batches, the
rotary function of transformers on queries and keys, and the scores of every layer kept until the
means are taken.

The peer that `poslens simulate` is measured against. Needs torch from PyPI. Prints the seconds of
the computation, without imports. --frugal turns keys and queries once and forgets a layer's scores
once they are averaged: what somebody who is short of memory would write.
"""

import argparse
import math
import time

import torch


def normalise(x, norm):
    if norm == "l2":
        return torch.nn.functional.normalize(x, dim=-1)
    if norm == "layernorm":
        return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-12)
    return x


def rotary_table(n, dim, theta):
    inverse = theta ** (-torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    angles = torch.arange(n, dtype=torch.float32)[:, None] * inverse
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(y, cosine, sine):
    half = y.shape[-1] // 2
    turned = torch.cat([-y[..., half:], y[..., :half]], dim=-1)
    return y * cosine + turned * sine


def recency_probability(scores, frugal):
    """#{i > k > j: S_ik > S_ij} / (B n (n-1) (n-2) / 6)."""
    samples, n, _ = scores.shape
    hits = 0
    if not frugal:
        i, k, j = torch.meshgrid(*[torch.arange(n)] * 3, indexing="ij")
        later = scores[:, :, :, None] > scores[:, :, None, :]  # [sample, i, k, j]
        hits = (later & ((i > k) & (k > j))).sum().item()
        return hits / (samples * n * (n - 1) * (n - 2) / 6)
    for i in range(2, n):
        row = scores[:, i, :i]
        later = row[:, None, :] > row[:, :, None]  # [sample, j, k]
        hits += torch.triu(later, diagonal=1).sum().item()
    return hits / (samples * n * (n - 1) * (n - 2) / 6)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=50)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.0)
    parser.add_argument("--norm", choices=["l2", "layernorm", "none"], default="l2")
    parser.add_argument("--score-scale", choices=["none", "inv-sqrt-dim", "inv-dim"], default="none")
    parser.add_argument("--inputs", choices=["sphere", "gaussian"], default="sphere")
    parser.add_argument("--rope", type=float, default=0.0, help="theta; 0: none")
    parser.add_argument("--mask", choices=["causal", "full"], default="causal")
    parser.add_argument("--no-residual", action="store_true")
    parser.add_argument("--recency", action="store_true")
    parser.add_argument("--frugal", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="save the mean scores here (.npy)")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    start = time.perf_counter()
    scale = {"none": 1.0, "inv-sqrt-dim": args.dim**-0.5, "inv-dim": 1 / args.dim}[args.score_scale]
    with torch.inference_mode():
        own = torch.randn(args.samples, args.n, args.dim)
        shared = torch.randn(args.samples, 1, args.dim)
        x = own + math.sqrt(args.alpha / (1 - args.alpha)) * shared
        if args.inputs == "sphere":
            x = torch.nn.functional.normalize(x, dim=-1)
        else:
            x = x / math.sqrt(args.dim)
        hidden = torch.triu(torch.ones(args.n, args.n, dtype=torch.bool), diagonal=1)
        if args.rope:
            cosine, sine = rotary_table(args.n, args.dim, args.rope)
        means, kept = [], []
        for layer in range(args.layers):
            y = normalise(x, args.norm)
            queries = rotate(y, cosine, sine) if args.rope else y
            keys = rotate(y, cosine, sine) if args.rope and not args.frugal else queries
            scores = queries @ keys.transpose(1, 2) * scale
            if args.frugal:
                means.append(scores.mean(0))
            else:
                kept.append(scores)
            if args.recency:
                share = recency_probability(scores, args.frugal)
                print(f"layer {layer + 1}: recency {share:.4f}")
            if args.mask == "causal":
                scores = scores.masked_fill(hidden, -math.inf)
            attended = torch.softmax(scores, dim=-1) @ y
            x = attended if args.no_residual else attended + x
        means += [scores.mean(0) for scores in kept]
    print(f"seconds {time.perf_counter() - start:.3f}")
    if args.out:
        import numpy

        numpy.save(args.out, torch.stack(means).numpy())


if __name__ == "__main__":
    main()
