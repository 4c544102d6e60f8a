#!/usr/bin/env python3
"""The machine's matrix-product rate on a model's own shapes: torch's linear layers, oneDNN for bf16.

Prints the seconds that all products of the given layers (and the head) take over a number of tokens
when nothing else is done, and their GFLOP/s: linear layers over all tokens at once, queries with
keys and probabilities with values of all heads of a sequence at once, of which a causal run needs
half.
"""

import argparse
import json
import time
from pathlib import Path

import torch


def best_seconds(call):
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def linear_seconds(tokens, outputs, inputs, dtype):
    x, weight = torch.randn(tokens, inputs).to(dtype), torch.randn(outputs, inputs).to(dtype)
    return best_seconds(lambda: torch.nn.functional.linear(x, weight))


def attention_seconds(length, heads, head_dim, dtype):
    """Of all pairs of one sequence: queries with keys, and probabilities with values."""
    query, key = (torch.randn(heads, length, head_dim).to(dtype) for _ in range(2))
    scores, out = torch.empty(heads, length, length, dtype=dtype), torch.empty_like(query)
    return (best_seconds(lambda: torch.bmm(query, key.transpose(1, 2), out=scores)),
            best_seconds(lambda: torch.bmm(scores, key, out=out)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="config.json")
    parser.add_argument("--dtype", choices=["f32", "bf16"], required=True)
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--head", action="store_true")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--tokens", type=int, default=8192)
    args = parser.parse_args()

    config = json.loads(args.config.read_text())
    hidden, width = config["hidden_size"], config["intermediate_size"]
    head_dim = config.get("head_dim") or hidden // config["num_attention_heads"]
    queries = config["num_attention_heads"] * head_dim
    keys = config["num_key_value_heads"] * head_dim
    # The last layer asked for needs its queries and keys alone, unless the head follows.
    whole = args.layers - (0 if args.head else 1)
    counts = {(queries, hidden): args.layers, (keys, hidden): args.layers}
    for shape, times in (((keys, hidden), 1), ((hidden, queries), 1), ((width, hidden), 2),
                         ((hidden, width), 1)):
        counts[shape] = counts.get(shape, 0) + times * whole
    dtype = torch.float32 if args.dtype == "f32" else torch.bfloat16
    total, operations = 0.0, 0.0
    with torch.inference_mode():
        for (outputs, inputs), count in counts.items():
            total += count * linear_seconds(args.tokens, outputs, inputs, dtype)
            operations += count * 2 * args.tokens * outputs * inputs
        if args.head:
            total += 8 * linear_seconds(args.tokens // 8, config["vocab_size"], hidden, dtype)
            operations += 2 * args.tokens * config["vocab_size"] * hidden
        scores, values = attention_seconds(args.length, config["num_attention_heads"], head_dim,
                                           dtype)
    sequences = args.tokens / args.length
    total += sequences / 2 * (args.layers * scores + whole * values)
    operations += args.tokens * args.length * queries * (args.layers + whole)
    print(f"seconds {total:.3f} GFLOP/s {operations / total / 1e9:.0f}")


if __name__ == "__main__":
    main()
