#!/usr/bin/env python3
"""Writes a folder shaped like Llama-3.1-8B: its config.json, and random bf16 weights of the embedding
and the first layers alone. For measuring speed and memory at the size people really use; 2.8 GB
with 4 layers. The config names all layers, so probe it with --layers 0-3.

    tools/random_llama.py FOLDER [--layers 4] [--tokens FILE --length 1024 --sequences 8]

Needs numpy from PyPI. Weights are normal with standard deviation 0.02, norms are one.
"""

import argparse
import json
import struct
from pathlib import Path

import numpy

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "attention_bias": False,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}


def tensors(layers):
    hidden, width = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    keys = hidden // CONFIG["num_attention_heads"] * CONFIG["num_key_value_heads"]
    yield "model.embed_tokens.weight", (CONFIG["vocab_size"], hidden)
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (hidden,)
        yield prefix + "post_attention_layernorm.weight", (hidden,)
        for name, shape in {"q": (hidden, hidden), "k": (keys, hidden), "v": (keys, hidden),
                            "o": (hidden, hidden)}.items():
            yield f"{prefix}self_attn.{name}_proj.weight", shape
        for name, shape in {"gate": (width, hidden), "up": (width, hidden),
                            "down": (hidden, width)}.items():
            yield f"{prefix}mlp.{name}_proj.weight", shape


def values(shape, generator):
    if len(shape) == 1:
        return numpy.full(shape, 0x3F80, dtype="<u2")  # one
    rows = generator.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
    return ((rows.view("<u4") + 0x8000) >> 16).astype("<u2")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=Path, help="write random token ids here as well")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--sequences", type=int, default=8)
    args = parser.parse_args()

    generator = numpy.random.default_rng(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    header, offset = {}, 0
    for name, shape in tensors(args.layers):
        size = 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(args.folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors(args.layers):
            rows = max(1, (1 << 24) // shape[-1])  # of what is made at once
            for first in range(0, shape[0], rows if len(shape) > 1 else shape[0]):
                part = (min(rows, shape[0] - first), *shape[1:]) if len(shape) > 1 else shape
                values(part, generator).tofile(file)
    if args.tokens:
        ids = generator.integers(0, CONFIG["vocab_size"], (args.sequences, args.length))
        args.tokens.write_text(json.dumps({"tokens": ids.tolist()}) + "\n")


if __name__ == "__main__":
    main()
