#!/usr/bin/env python3
"""What one does today: transformers, one sequence at a time, plain or with a capture hook.

The peer that `poslens probe` is measured against. Needs torch, transformers (and gguf, for a GGUF
file) from PyPI.

--attention sdpa runs the model and its loss, without maps. --attention hook replaces the attention
function by one that makes the scores of all heads, adds their mean over heads to the layer's map,
and goes on with softmax and values: the cheapest way to get the maps out of transformers, since
output_attentions keeps every head of every layer and gives probabilities. Prints the seconds of the
passes, without loading, and tokens per second.
"""

import argparse
import json
import time
from pathlib import Path

import torch
import transformers
from transformers import AttentionInterface, AutoConfig, AutoModelForCausalLM

MAPS = {}


def capture(module, query, key, value, attention_mask, scaling=None, **_):
    groups = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(groups, dim=1)
    value = value.repeat_interleave(groups, dim=1)
    scores = query @ key.transpose(-1, -2) * scaling
    mean = scores.mean(dim=(0, 1)).float()
    if module.layer_idx in MAPS:
        MAPS[module.layer_idx] += mean
    else:
        MAPS[module.layer_idx] = mean
    n = query.shape[2]
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    weights = torch.softmax(scores.masked_fill_(hidden, -torch.inf), dim=-1, dtype=torch.float32)
    out = weights.to(query.dtype) @ value
    return out.transpose(1, 2).contiguous(), None


def load(path, dtype, layers):
    options = {"dtype": dtype}
    folder = str(path)
    if path.suffix == ".gguf":
        folder, options["gguf_file"] = str(path.parent), path.name
    if layers:
        config = AutoConfig.from_pretrained(folder, **{k: v for k, v in options.items()
                                                       if k == "gguf_file"})
        config.num_hidden_layers = layers
        options["config"] = config
    return AutoModelForCausalLM.from_pretrained(folder, **options).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="a folder or a GGUF file")
    parser.add_argument("--tokens", required=True, help='{"tokens": [[...], ...]}')
    parser.add_argument("--attention", choices=["hook", "sdpa"], required=True)
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--layers", type=int, default=0, help="only the first; 0: all")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--out", help="save the mean scores here (.npy)")
    args = parser.parse_args()

    transformers.logging.set_verbosity_error()
    dtype = torch.float32 if args.dtype == "f32" else torch.bfloat16
    tokens = torch.tensor(json.loads(Path(args.tokens).read_text())["tokens"])
    AttentionInterface.register("hook", capture)
    with torch.inference_mode():
        model = load(args.model, dtype, args.layers)
        model.set_attn_implementation(args.attention)
        model(input_ids=tokens[:1, :64])  # warm
        MAPS.clear()
        start = time.perf_counter()
        for batch in tokens.split(args.batch):
            model(input_ids=batch, labels=batch, use_cache=False)
        seconds = time.perf_counter() - start
    print(f"seconds {seconds:.3f} tokens/s {tokens.numel() / seconds:.1f}")
    if args.out:
        import numpy

        maps = torch.stack([MAPS[layer] for layer in sorted(MAPS)]) * (args.batch / len(tokens))
        numpy.save(args.out, maps.numpy())


if __name__ == "__main__":
    main()
