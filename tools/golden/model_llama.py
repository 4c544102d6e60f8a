#!/usr/bin/env python3
"""Writes tests/model/golden/llama_*.gguf and the values they must give, llama_*.npz.

Tiny Llama checkpoints with random parameters, run by transformers; nothing of PosLens takes part.
Every parameter is random and of a size that shows when a norm, a bias or a permutation is wrong:
norm weights 1 + 0.3 N, biases 0.3 N, matrices such that scores have a standard deviation of 0.5 to 4.

    python -m venv venv && venv/bin/pip install torch transformers gguf
    venv/bin/python tools/golden/model_llama.py tests/model/golden
"""

import pathlib
import sys

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama import modeling_llama

SEQUENCES, LENGTH = 3, 24

# Differences from BASE. `type` is how the matrices are stored.
BASE = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, head_dim=10, vocab_size=61, max_position_embeddings=64,
            rms_norm_eps=1e-2, tie_word_embeddings=False, attention_bias=False, mlp_bias=False,
            rope_parameters=dict(rope_type="default", rope_theta=5000.0))
FIXTURES = {
    "llama_plain": dict(),
    "llama_biases_tied": dict(hidden_size=24, num_attention_heads=6, num_key_value_heads=3,
                              head_dim=8, attention_bias=True, mlp_bias=True,
                              tie_word_embeddings=True),
    "llama_divisors": dict(num_key_value_heads=1, head_dim=12,
                           rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=8.0,
                                                low_freq_factor=1.0, high_freq_factor=4.0,
                                                original_max_position_embeddings=32)),
    "llama_linear": dict(num_hidden_layers=2, num_key_value_heads=4, head_dim=6,
                         rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=3.0)),
    "llama_q8_0": dict(intermediate_size=64, head_dim=16, type="Q8_0"),
    "llama_q4_1": dict(intermediate_size=64, head_dim=16, type="Q4_1"),
}
# name: layers without RoPE, mask(i, j), first position
INTERVENTIONS = {
    "plain": ((), lambda i, j: j <= i, 0),
    "norope": (range(99), lambda i, j: j <= i, 0),
    "norope_layer1": ((1,), lambda i, j: j <= i, 0),
    "full": ((), lambda i, j: (i >= 0) & (j >= 0), 0),
    "window5": ((), lambda i, j: (i - j >= 0) & (i - j < 5), 0),
    "prefix6": ((), lambda i, j: (j <= i) | ((i < 6) & (j < 6)), 0),
    "shift1000": ((), lambda i, j: j <= i, 1000),
}


class Capture:
    """Stands in for attention and the rotation; keeps scores and probabilities of every layer."""

    def __init__(self):
        self.rotate = modeling_llama.apply_rotary_pos_emb
        modeling_llama.apply_rotary_pos_emb = self.maybe_rotate
        ALL_ATTENTION_FUNCTIONS.register("capture", self.attention)
        self.start((), None)

    def start(self, without_rope, visible):
        self.without_rope, self.visible = without_rope, visible
        self.layer, self.scores, self.probs = 0, [], []

    def maybe_rotate(self, q, k, *args, **options):
        return (q, k) if self.layer in self.without_rope else self.rotate(q, k, *args, **options)

    def attention(self, module, query, key, value, attention_mask, scaling, **options):
        groups = module.num_key_value_groups
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        scores = scaling * query @ key.transpose(2, 3)
        probs = torch.softmax(scores.masked_fill(~self.visible, -torch.inf), dim=-1)
        self.scores.append(scores)
        self.probs.append(probs)
        self.layer += 1
        return (probs @ value).transpose(1, 2).contiguous(), probs


def randomise(model, config):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name:
                parameter.copy_(1 + 0.3 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.3 * noise)
            else:
                gain = 1.3 if "q_proj" in name or "k_proj" in name else 1.0
                parameter.copy_(gain * noise / parameter.shape[-1] ** 0.5)


def pair_neighbours(array, heads):
    """The converter's permutation: rows k and k + d/2 of a head become rows 2k and 2k + 1."""
    return array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def pair_halves(array, heads):
    return array.reshape(heads, -1, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm"}


def gguf_name(name):
    fixed = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight":
             "output_norm.weight", "lm_head.weight": "output.weight"}
    if name in fixed:
        return fixed[name]
    _, _, layer, rest = name.split(".", 3)
    module, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{NAMES[module]}.{kind}"


def write_gguf(path, model, config, kind):
    """Writes the file and, when it is quantised, gives the model what the file holds."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(path.stem)
    writer.add_vocab_size(config.vocab_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "llama3":
        plain = rope["rope_theta"] ** -(np.arange(0, config.head_dim, 2) / config.head_dim)
        scaled = model.model.rotary_emb.inv_freq.double().numpy()
        writer.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))
    stored = gguf.GGMLQuantizationType[kind]
    for name, parameter in model.named_parameters():
        array = parameter.detach().numpy()
        heads = (config.num_attention_heads if "q_proj" in name else
                 config.num_key_value_heads if "k_proj" in name else 0)
        if heads:
            array = pair_neighbours(array, heads)
        array = np.ascontiguousarray(array)
        if kind == "F32" or array.ndim == 1:
            writer.add_tensor(gguf_name(name), array)
            continue
        blocks = gguf.quants.quantize(array, stored)
        writer.add_tensor(gguf_name(name), blocks, raw_dtype=stored)
        array = gguf.quants.dequantize(blocks, stored)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(pair_halves(array, heads) if heads else array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def expected(model, tokens, capture):
    values = {}
    i = torch.arange(LENGTH)
    for name, (without_rope, mask, first) in INTERVENTIONS.items():
        capture.start(without_rope, mask(i[:, None], i[None, :]))
        with torch.no_grad():
            logits = model(tokens, position_ids=(first + i).expand(SEQUENCES, -1),
                           use_cache=False).logits
        scores, probs = torch.stack(capture.scores), torch.stack(capture.probs)
        losses = torch.nn.functional.cross_entropy(
            logits[:, :-1].double().flatten(0, 1), tokens[:, 1:].flatten(),
            reduction="none").reshape(SEQUENCES, -1)
        values[f"{name}_scores"] = scores.double().mean((1, 2)).float().numpy()
        values[f"{name}_loss"] = losses.mean(0).numpy()
        if name == "plain":
            values["plain_scores_heads"] = scores.double().mean(1).float().numpy()
        if name in ("plain", "full"):
            values[f"{name}_probs"] = probs.double().mean((1, 2)).float().numpy()
            values[f"{name}_variance"] = (
                scores.double().mean(2).var(1).float().numpy())
        print(f"  {name}: score std {scores.std(dim=(1, 2, 3, 4)).numpy().round(2)}, "
              f"loss {losses.mean():.3f}")
    return values


def main(folder):
    torch.manual_seed(0)
    capture = Capture()
    for name, changes in FIXTURES.items():
        print(name)
        changes = dict(BASE, **changes)
        kind = changes.pop("type", "F32")
        config = LlamaConfig(**changes, attn_implementation="capture")
        model = LlamaForCausalLM(config).eval()
        randomise(model, config)
        write_gguf(folder / f"{name}.gguf", model, config, kind)
        generator = torch.Generator().manual_seed(2)
        tokens = torch.randint(config.vocab_size, (SEQUENCES, LENGTH), generator=generator)
        values = expected(model, tokens, capture)
        np.savez_compressed(folder / f"{name}.npz", tokens=tokens.numpy().astype(np.int32), **values)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
