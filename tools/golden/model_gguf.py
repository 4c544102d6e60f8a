#!/usr/bin/env python3
"""Writes model.gguf into some folders of tests/model/golden (see model_families.py).

The checkpoint of the folder as llama.cpp's converter would write it: names from the gguf package;
query and key of llama-like rotations permuted, fused projections split into query, key, value, Gemma's
norms plus 1, GPT-2's matrices transposed. expected.npz holds for both files.

    python -m venv venv && venv/bin/pip install torch safetensors gguf
    venv/bin/python tools/golden/model_gguf.py tests/model/golden
"""

import json
import pathlib
import sys

import gguf
import numpy as np
from safetensors.torch import load_file

Arch = gguf.MODEL_ARCH
FIXTURES = {"qwen2_yarn": Arch.QWEN2, "qwen3_tied": Arch.QWEN3, "phi_plain": Arch.PHI2,
            "phi3_short": Arch.PHI3, "gemma_legacy_gelu": Arch.GEMMA, "gemma2_plain": Arch.GEMMA2,
            "gemma3_plain": Arch.GEMMA3, "olmo_clip": Arch.OLMO, "olmo2_tied": Arch.OLMO2,
            "olmo3_one_theta": Arch.OLMO2, "smollm3_plain": Arch.SMOLLM3,
            "gpt_neox_parallel": Arch.GPTNEOX, "gpt2_plain": Arch.GPT2, "falcon_groups": Arch.FALCON,
            "bloom_plain": Arch.BLOOM, "mpt_plain": Arch.MPT, "stablelm_head_norms": Arch.STABLELM,
            "stablelm_parallel": Arch.STABLELM, "starcoder2_window": Arch.STARCODER2,
            "cohere_head_norms": Arch.COMMAND_R}
PERMUTED = (Arch.LLAMA, Arch.OLMO, Arch.SMOLLM3)
GEMMA = (Arch.GEMMA, Arch.GEMMA2, Arch.GEMMA3)


def pair_neighbours(array, heads):
    """Rows k and k + d/2 of a head become rows 2k and 2k + 1."""
    return array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def in_turn(array, groups, queries):
    """From each group's queries, key and value to all queries, all keys, all values."""
    parts = array.reshape(groups, queries + 2, -1, *array.shape[1:])
    rest = array.shape[1:]
    return np.concatenate([parts[:, :queries].reshape(-1, *rest), parts[:, queries].reshape(-1, *rest),
                           parts[:, queries + 1].reshape(-1, *rest)])


def first(config, *keys):
    return next((config[key] for key in keys if config.get(key) is not None), None)


class Converter:
    def __init__(self, folder, arch):
        self.config = json.loads((folder / "config.json").read_text())
        self.arch = arch
        self.writer = gguf.GGUFWriter(folder / "model.gguf", gguf.MODEL_ARCH_NAMES[arch])
        self.layers = first(self.config, "num_hidden_layers", "n_layer", "n_layers")
        self.heads = first(self.config, "num_attention_heads", "n_head", "n_heads")
        self.hidden = first(self.config, "hidden_size", "n_embd", "d_model")
        self.groups = first(self.config, "num_key_value_heads", "num_kv_heads") or self.heads
        self.head_dim = self.config.get("head_dim") or self.hidden // self.heads
        self.tensors = {name: tensor.float().numpy() for name, tensor in
                        load_file(folder / "model.safetensors").items()}
        self.short = self.config["dtype"] == "float16"

    def metadata(self):
        config, writer, arch = self.config, self.writer, self.arch
        writer.add_name("tiny")
        writer.add_context_length(first(config, "max_position_embeddings", "n_positions",
                                        "max_seq_len") or 64)
        writer.add_embedding_length(self.hidden)
        writer.add_block_count(self.layers)
        writer.add_feed_forward_length(first(config, "intermediate_size", "n_inner",
                                             "ffn_hidden_size") or 4 * self.hidden)
        writer.add_head_count(self.heads)
        if arch not in (Arch.GPTNEOX, Arch.GPT2, Arch.BLOOM, Arch.MPT):
            writer.add_head_count_kv(self.groups)
        writer.add_vocab_size(config["vocab_size"])
        if config.get("head_dim"):
            writer.add_key_length(self.head_dim)
            writer.add_value_length(self.head_dim)
        epsilon = first(config, "rms_norm_eps")
        if epsilon is not None:
            writer.add_layer_norm_rms_eps(epsilon)
        else:
            writer.add_layer_norm_eps(first(config, "layer_norm_eps", "layer_norm_epsilon",
                                            "norm_epsilon") or 1e-5)
        if config.get("rope_parameters"):
            self.rope()
        if arch in (Arch.GPTNEOX, Arch.STABLELM):
            writer.add_parallel_residual(config["use_parallel_residual"])
        if arch == Arch.MPT:
            writer.add_max_alibi_bias(8.0)
        if config.get("clip_qkv"):
            writer.add_clamp_kqv(config["clip_qkv"])
        if config.get("attn_logit_softcapping") and arch == Arch.GEMMA2:
            writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        if config.get("final_logit_softcapping"):
            writer.add_final_logit_softcapping(config["final_logit_softcapping"])
        if config.get("logit_scale"):
            writer.add_logit_scale(config["logit_scale"])
        if config.get("sliding_window") and not arch == Arch.QWEN2:
            writer.add_sliding_window(config["sliding_window"])
        if arch == Arch.GEMMA3:
            writer.add_array("gemma3.attention.sliding_window_pattern",
                             [kind == "sliding_attention" for kind in config["layer_types"]])

    def rope(self):
        rope = self.config["rope_parameters"]
        rope = rope.get("full_attention", rope)
        writer, types = self.writer, gguf.RopeScalingType
        writer.add_rope_freq_base(rope["rope_theta"])
        dim = int(self.head_dim * rope.get("partial_rotary_factor", 1.0))
        writer.add_rope_dimension_count(dim)
        kind = rope["rope_type"]
        if kind == "linear":
            writer.add_rope_scaling_type(types.LINEAR)
            writer.add_rope_scaling_factor(rope["factor"])
        if kind == "yarn":
            original = rope["original_max_position_embeddings"]
            writer.add_rope_scaling_type(types.YARN)
            writer.add_rope_scaling_factor(
                rope["factor"] or self.config["max_position_embeddings"] / original)
            writer.add_rope_scaling_orig_ctx_len(original)
        if kind == "longrope":
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            writer.add_rope_scaling_attn_factors(rope["attention_factor"])
            for length in ("long", "short"):
                writer.add_tensor(f"rope_factors_{length}.weight",
                                  np.array(rope[f"{length}_factor"], np.float32))

    def rewrite(self, name, array):
        if self.arch in PERMUTED and ".q_proj." in name:
            return pair_neighbours(array, self.heads)
        if self.arch in PERMUTED and ".k_proj." in name:
            return pair_neighbours(array, self.groups)
        if "query_key_value" in name:
            return in_turn(array, self.groups, self.heads // self.groups)
        if self.arch in GEMMA and "norm" in name:
            return array + 1
        if self.arch == Arch.GPT2 and ".h." in name and array.ndim == 2:
            return array.T
        return array

    def run(self):
        self.metadata()
        names = gguf.get_tensor_name_map(self.arch, self.layers)
        joined = {}
        for name, array in self.tensors.items():
            if ".norms." in name:  # StableLM's, one tensor per head
                stem, _, rest = name.partition(".norms.")
                head, _, kind = rest.partition(".")
                joined.setdefault((stem, kind), {})[int(head)] = array
                continue
            self.add(names, name, self.rewrite(name, array))
        for (stem, kind), parts in joined.items():
            self.add(names, f"{stem}.{kind}", np.stack([parts[h] for h in sorted(parts)]))
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()

    def add(self, names, name, array):
        if self.arch == Arch.GPT2 and not name.startswith("transformer."):
            name = f"transformer.{name}"
        if self.arch == Arch.BLOOM:  # as the package knows its names
            name = name.removeprefix("transformer.")
        found = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert found is not None, name
        kind = np.float16 if self.short and array.ndim == 2 and "norm" not in found else np.float32
        self.writer.add_tensor(found, np.ascontiguousarray(array, kind))


def main(folder):
    for name, arch in FIXTURES.items():
        Converter(folder / name, arch).run()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
