#!/usr/bin/env python3
"""Writes a GGUF model as a folder with bf16 weights, the form in which models are published.

    tools/bf16_folder.py MODEL.gguf FOLDER

Needs torch, transformers, safetensors and gguf from PyPI. Dequantised weights are rounded to bf16.
"""

import argparse
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(
        args.model.parent, gguf_file=args.model.name, dtype=torch.float32)
    tied = model.config.tie_word_embeddings
    weights = {name: value.to(torch.bfloat16).contiguous()
               for name, value in model.state_dict().items()
               if not (tied and name == "lm_head.weight")}
    args.folder.mkdir(parents=True)
    save_file(weights, args.folder / "model.safetensors", metadata={"format": "pt"})
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.dtype = torch.bfloat16
    model.config.save_pretrained(args.folder)


if __name__ == "__main__":
    main()
