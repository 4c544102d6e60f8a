#!/usr/bin/env python3
"""Writes tests/model/golden/FAMILY_VARIANT/: tiny checkpoints of every family and what they must give.

Each folder holds a checkpoint with random parameters (model.safetensors, config.json as transformers
5 writes it, config_v4.json with the keys of transformers 4) and expected.npz: the values that
transformers computes; nothing of PosLens takes part. Every parameter is random and of a size that
shows when a norm, a bias or a permutation is wrong: norm weights 1 + 0.3 N, biases 0.3 N, matrices
such that scores have a standard deviation of 0.5 to 4. Keys that change numbers are not at their
defaults. expected.npz has `tokens`, and for each intervention (its text in poslens's grammar, or
"plain") "<text> scores" and "<text> loss"; for "plain" also scores_heads, probs and hidden.

    python -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tools/golden/model_families.py tests/model/golden [NAME...]
"""

import importlib
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

SEQUENCES, LENGTH = 3, 16
LOWEST = torch.finfo(torch.float32).min

SIZES = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, vocab_size=53, max_position_embeddings=64)
ROPE = dict(rope_type="default", rope_theta=200.0)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=6.0, low_freq_factor=1.5,
              high_freq_factor=5.0, original_max_position_embeddings=24)
# Of these, the ramp from kept to stretched pairs is such that each key moves it.
YARN = dict(rope_type="yarn", rope_theta=20.0, factor=4.0, beta_fast=3.0, beta_slow=0.4, mscale=0.7,
            mscale_all_dim=0.3, original_max_position_embeddings=60, truncate=False)
YARN_GIVEN = dict(rope_type="yarn", rope_theta=300.0, factor=3.0, attention_factor=1.25,
                  original_max_position_embeddings=24)
YARN_RATIO = dict(rope_type="yarn", rope_theta=300.0, factor=None,
                  original_max_position_embeddings=32)
LINEAR = dict(rope_type="linear", rope_theta=100.0, factor=2.5)
DYNAMIC = dict(rope_type="dynamic", rope_theta=150.0, factor=3.0)
FULL, SLIDING = "full_attention", "sliding_attention"

ROTARY = ("rope=none", "mask=full", "positions=+1000")
EVERYTHING = ROTARY + ("rope=none@1", "mask=window:5", "mask=prefix:6", "rope=none mask=full@0-1",
                       "position=none")
ALIBI = ("position=none", "mask=full", "mask=prefix:6")

# name: (model type, differences from the sizes, what else: see fixture())
FIXTURES = {
    "llama_llama3": ("llama", dict(head_dim=10, attention_bias=True, mlp_bias=True, rms_norm_eps=1e-2,
                                   tie_word_embeddings=True, rope_parameters=LLAMA3),
                     dict(interventions=EVERYTHING)),
    "llama_yarn": ("llama", dict(num_key_value_heads=1, head_dim=12, rope_parameters=YARN, rms_norm_eps=1e-3),
                   dict(shards=True)),
    "llama_dynamic": ("llama", dict(head_dim=8, num_key_value_heads=4, rope_parameters=DYNAMIC,
                                    hidden_act="gelu", max_position_embeddings=10), {}),
    "mistral_window": ("mistral", dict(head_dim=10, sliding_window=5, rope_parameters=LINEAR,
                                       rms_norm_eps=1e-2), {}),
    "mistral_full": ("mistral", dict(head_dim=8, sliding_window=None, rope_parameters=YARN_GIVEN,
                                     tie_word_embeddings=True), {}),
    "qwen2_window": ("qwen2", dict(use_sliding_window=True, max_window_layers=1, sliding_window=4,
                                   rope_parameters=ROPE, tie_word_embeddings=True,
                                   rms_norm_eps=1e-2), {}),
    "qwen2_yarn": ("qwen2", dict(use_sliding_window=False, sliding_window=4,
                                 rope_parameters=YARN_RATIO), {}),
    "qwen3_layer_types": ("qwen3", dict(head_dim=10, attention_bias=True, use_sliding_window=True,
                                        sliding_window=4, layer_types=[SLIDING, FULL, SLIDING],
                                        rope_parameters=ROPE, rms_norm_eps=1e-2),
                          dict(keep_layer_types=True)),
    "qwen3_tied": ("qwen3", dict(head_dim=8, tie_word_embeddings=True, rope_parameters=LINEAR), {}),
    "phi_head_norms": ("phi", dict(qk_layernorm=True, layer_norm_eps=1e-2,
                                   rope_parameters=dict(ROPE, partial_rotary_factor=0.7)), {}),
    "phi_dynamic": ("phi", dict(num_attention_heads=3, num_key_value_heads=3, hidden_act="gelu",
                                max_position_embeddings=12,
                                rope_parameters=dict(DYNAMIC, partial_rotary_factor=0.5)), {}),
    "phi_plain": ("phi", dict(rope_parameters=dict(ROPE, partial_rotary_factor=0.7),
                              num_key_value_heads=4), {}),
    "phi3_short": ("phi3", dict(
        sliding_window=6, original_max_position_embeddings=32, rms_norm_eps=1e-2,
        num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128,
        rope_parameters=dict(rope_type="longrope", rope_theta=300.0, partial_rotary_factor=0.75,
                             short_factor=[1.0, 1.4, 2.0], long_factor=[1.2, 2.5, 7.0],
                             attention_factor=1.15)), {}),
    "phi3_long": ("phi3", dict(
        original_max_position_embeddings=8, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="longrope", rope_theta=300.0, partial_rotary_factor=1.0,
                             short_factor=[1.0, 1.4, 2.0], long_factor=[1.2, 2.5, 7.0])), {}),
    "gemma_legacy_gelu": ("gemma", dict(head_dim=10, hidden_act="gelu", rope_parameters=ROPE,
                                        rms_norm_eps=1e-2), {}),
    "gemma_biases": ("gemma", dict(head_dim=8, attention_bias=True, num_key_value_heads=1,
                                   tie_word_embeddings=False, rope_parameters=LINEAR), {}),
    "gemma2_caps": ("gemma2", dict(head_dim=10, query_pre_attn_scalar=7, attn_logit_softcapping=2.0,
                                   final_logit_softcapping=1.5, sliding_window=4,
                                   rope_parameters=ROPE, rms_norm_eps=1e-2), {}),
    "gemma2_no_caps": ("gemma2", dict(head_dim=6, query_pre_attn_scalar=11,
                                      attn_logit_softcapping=None, final_logit_softcapping=None,
                                      sliding_window=5, layer_types=[FULL, SLIDING, SLIDING],
                                      attention_bias=True, rope_parameters=LLAMA3),
                       dict(keep_layer_types=True)),
    "gemma2_plain": ("gemma2", dict(head_dim=10, query_pre_attn_scalar=10, sliding_window=4,
                                    attn_logit_softcapping=3.0, final_logit_softcapping=2.5,
                                    rope_parameters=ROPE), {}),
    "gemma3_text": ("gemma3_text", dict(
        head_dim=10, query_pre_attn_scalar=9, final_logit_softcapping=1.5, sliding_window=3,
        attn_logit_softcapping=0.5, rms_norm_eps=1e-2, layer_types=[SLIDING, FULL, SLIDING],
        rope_parameters={FULL: dict(LINEAR, rope_theta=3e4), SLIDING: dict(ROPE, rope_theta=70.0)}),
                    dict(pattern=2)),
    "gemma3_plain": ("gemma3_text", dict(
        head_dim=10, query_pre_attn_scalar=10, sliding_window=4, layer_types=[SLIDING, SLIDING, FULL],
        rope_parameters={FULL: dict(LINEAR, rope_theta=2e4), SLIDING: dict(ROPE, rope_theta=1e4)}),
                     dict(pattern=3)),
    "gemma3_nested": ("gemma3", dict(
        head_dim=8, query_pre_attn_scalar=5, final_logit_softcapping=1.5, sliding_window=4,
        layer_types=[SLIDING, SLIDING, FULL], attention_bias=True,
        rope_parameters={FULL: dict(YARN_GIVEN), SLIDING: dict(ROPE)}), dict(pattern=3)),
    "olmo_clip": ("olmo", dict(clip_qkv=1.1, attention_bias=True, rope_parameters=ROPE), {}),
    "olmo_tied": ("olmo", dict(num_key_value_heads=4, tie_word_embeddings=True,
                               rope_parameters=DYNAMIC, max_position_embeddings=12), {}),
    "olmo2_biases": ("olmo2", dict(attention_bias=True, rope_parameters=ROPE, rms_norm_eps=1e-2), {}),
    "olmo2_tied": ("olmo2", dict(num_key_value_heads=1, tie_word_embeddings=True,
                                 rope_parameters=LINEAR), {}),
    "olmo3_yarn": ("olmo3", dict(num_hidden_layers=4, intermediate_size=28, sliding_window=4,
                                 rope_parameters={FULL: dict(YARN_GIVEN, rope_theta=80.0),
                                                  SLIDING: dict(ROPE, rope_theta=5e5)}), {}),
    "olmo3_one_theta": ("olmo3", dict(num_hidden_layers=4, intermediate_size=28, sliding_window=5,
                                      rope_parameters={FULL: dict(YARN_RATIO, factor=4.0, rope_theta=5e5,
                                                             original_max_position_embeddings=400),
                                                       SLIDING: dict(ROPE, rope_theta=5e5)}), {}),
    "olmo3_layer_types": ("olmo3", dict(layer_types=[FULL, SLIDING, FULL], sliding_window=5,
                                        attention_bias=True, tie_word_embeddings=True,
                                        rms_norm_eps=1e-2,
                                        rope_parameters={FULL: dict(ROPE, rope_theta=40.0),
                                                         SLIDING: dict(ROPE, rope_theta=5e5)}),
                          dict(keep_layer_types=True)),
    "smollm3_interval": ("smollm3", dict(no_rope_layer_interval=2, use_sliding_window=True,
                                         sliding_window=4, attention_bias=True, mlp_bias=True,
                                         rope_parameters=ROPE, rms_norm_eps=1e-2),
                         dict(drop=("no_rope_layers",))),
    "smollm3_plain": ("smollm3", dict(num_hidden_layers=4, intermediate_size=28,
                                      rope_parameters=LINEAR), dict(drop=("no_rope_layers",))),
    "smollm3_list": ("smollm3", dict(num_attention_heads=2, num_key_value_heads=1,
                                     no_rope_layers=[0, 1, 1], tie_word_embeddings=False,
                                     sliding_window=5, layer_types=[FULL, SLIDING, FULL],
                                     use_sliding_window=True, rope_parameters=YARN),
                     dict(keep_layer_types=True)),
    "gpt_neox_parallel": ("gpt_neox", dict(layer_norm_eps=1e-2, hidden_act="gelu",
                                           rope_parameters=dict(ROPE, partial_rotary_factor=0.7)), {}),
    "gpt_neox_sequential": ("gpt_neox", dict(num_attention_heads=3, use_parallel_residual=False,
                                             attention_bias=False, hidden_act="gelu_new",
                                             rope_parameters=dict(LINEAR, partial_rotary_factor=1.0)),
                            {}),
    "gpt2_by_layer": ("gpt2", dict(n_inner=40, scale_attn_by_inverse_layer_idx=True,
                                   layer_norm_epsilon=1e-2),
                      dict(interventions=("position=none", "mask=full", "positions=+40"))),
    "gpt2_plain": ("gpt2", dict(n_inner=None),
                   dict(interventions=("position=none", "mask=full", "positions=+3"))),
    "gpt2_unscaled": ("gpt2", dict(n_inner=None, scale_attn_weights=False, tie_word_embeddings=False,
                                   activation_function="gelu"),
                      dict(interventions=("position=none", "mask=full", "positions=+3"), gain=0.8)),
    "falcon_groups": ("falcon", dict(new_decoder_architecture=True, num_kv_heads=2, bias=True,
                                     ffn_hidden_size=40, layer_norm_epsilon=1e-2,
                                     rope_parameters=ROPE), {}),
    "falcon_one_norm": ("falcon", dict(new_decoder_architecture=True, num_kv_heads=4,
                                       num_ln_in_parallel_attn=1, tie_word_embeddings=False,
                                       activation="gelu_new", ffn_hidden_size=40,
                                       rope_parameters=LINEAR), {}),
    "falcon_multi_query": ("falcon", dict(multi_query=True, parallel_attn=False, num_kv_heads=4,
                                          ffn_hidden_size=None, rope_parameters=ROPE),
                           dict(legacy=True)),
    "falcon_alibi": ("falcon", dict(num_attention_heads=12, multi_query=False, alibi=True, bias=True,
                                    ffn_hidden_size=32, num_kv_heads=12),
                     dict(interventions=ALIBI)),
    "bloom_from_norm": ("bloom", dict(n_head=6, apply_residual_connection_post_layernorm=True,
                                      layer_norm_epsilon=1e-2), dict(interventions=ALIBI)),
    "bloom_plain": ("bloom", dict(n_head=4, tie_word_embeddings=False), dict(interventions=ALIBI)),
    "mpt_clip": ("mpt", dict(n_heads=6, layer_norm_epsilon=1e-2,
                             attn_config=dict(clip_qkv=1.1, softmax_scale=0.5)),
                 dict(interventions=ALIBI)),
    "mpt_plain": ("mpt", dict(n_heads=4, attn_config=dict(alibi_bias_max=8)),
                  dict(interventions=ALIBI)),
    "stablelm_head_norms": ("stablelm", dict(use_qkv_bias=True, qk_layernorm=True,
                                             layer_norm_eps=1e-2,
                                             rope_parameters=dict(ROPE, partial_rotary_factor=0.7)),
                            {}),
    "stablelm_parallel": ("stablelm", dict(use_parallel_residual=True, tie_word_embeddings=True,
                                           num_attention_heads=3, num_key_value_heads=1,
                                           rope_parameters=dict(LINEAR, partial_rotary_factor=0.25)),
                          {}),
    "starcoder2_window": ("starcoder2", dict(sliding_window=5, norm_epsilon=1e-2,
                                             rope_parameters=ROPE), {}),
    "starcoder2_no_bias": ("starcoder2", dict(use_bias=False, sliding_window=None, hidden_act="gelu",
                                              tie_word_embeddings=False, num_key_value_heads=1,
                                              rope_parameters=LLAMA3), {}),
    "cohere_head_norms": ("cohere", dict(use_qk_norm=True, logit_scale=0.3, attention_bias=True,
                                         layer_norm_eps=1e-2, rope_parameters=ROPE), {}),
    "cohere_plain": ("cohere", dict(num_key_value_heads=4, tie_word_embeddings=False,
                                    rope_parameters=LINEAR), {}),
}

CLASSES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "phi": "Phi",
           "phi3": "Phi3", "gemma": "Gemma", "gemma2": "Gemma2", "gemma3_text": "Gemma3",
           "gemma3": "Gemma3", "olmo": "Olmo", "olmo2": "Olmo2", "olmo3": "Olmo3",
           "smollm3": "SmolLM3", "gpt_neox": "GPTNeoX", "gpt2": "GPT2", "falcon": "Falcon",
           "bloom": "Bloom", "mpt": "Mpt", "stablelm": "StableLm", "starcoder2": "Starcoder2",
           "cohere": "Cohere"}
# Their attention goes through torch.nn.functional, not through a function that can be registered.
FUNCTIONAL = {"falcon": "sdpa", "bloom": "eager", "mpt": "eager"}


class Capture:
    """Stands in for attention, rotation and masks; keeps scores and probabilities of every layer."""

    def __init__(self, model_type):
        name = "gemma3" if model_type == "gemma3_text" else model_type
        self.module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        self.functional = FUNCTIONAL.get(model_type)
        self.originals = {}
        for name in ("apply_rotary_pos_emb", "create_causal_mask",
                     "create_sliding_window_causal_mask", "build_alibi_tensor",
                     "build_mpt_alibi_tensor", "_get_alibi_slopes"):
            if hasattr(self.module, name):
                self.originals[name] = getattr(self.module, name)
        ALL_ATTENTION_FUNCTIONS.register("capture", self.attention)
        ALL_MASK_ATTENTION_FUNCTIONS.register("capture", eager_mask)
        self.sdpa, self.softmax = (torch.nn.functional.scaled_dot_product_attention,
                                   torch.nn.functional.softmax)
        self.replace()

    def replace(self):
        wrap = {"apply_rotary_pos_emb": self.rotate, "create_causal_mask": self.mask,
                "create_sliding_window_causal_mask": self.mask, "build_alibi_tensor": self.alibi,
                "build_mpt_alibi_tensor": self.alibi, "_get_alibi_slopes": self.alibi}
        for name, original in self.originals.items():
            setattr(self.module, name, lambda *a, _f=wrap[name], _o=original, **k: _f(_o, *a, **k))
        if self.functional == "sdpa":
            torch.nn.functional.scaled_dot_product_attention = self.captured_sdpa
        if self.functional == "eager":
            torch.nn.functional.softmax = self.captured_softmax

    def restore(self):
        for name, original in self.originals.items():
            setattr(self.module, name, original)
        torch.nn.functional.scaled_dot_product_attention = self.sdpa
        torch.nn.functional.softmax = self.softmax

    def start(self, text):
        """Prepares for one run under the interventions of a text; returns the first position."""
        self.without_rope, self.visible, self.without_alibi, first = (), {}, False, 0
        layers = range(99)
        i, j = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None, :]
        for part in () if text == "plain" else text.split():
            change, _, where = part.partition("@")
            low, _, high = where.partition("-")
            chosen = range(int(low), int(high or low) + 1) if where else layers
            key, value = change.split("=")
            kind, _, size = value.partition(":")
            if key == "rope" or (key == "position" and "apply_rotary_pos_emb" in self.originals):
                self.without_rope = chosen
            if key == "position":
                self.without_alibi = True
            if key == "positions":
                first = int(value)
            if key == "mask":
                seen = {"full": (i >= 0) & (j >= 0),
                        "window": (i - j >= 0) & (i - j < int(size or 0)),
                        "prefix": (j <= i) | ((i < int(size or 0)) & (j < int(size or 0)))}[kind]
                self.visible = {layer: seen for layer in chosen}
        self.layer, self.scores, self.probs = 0, [], []
        return first

    def rotate(self, original, q, k, *args, **options):
        return (q, k) if self.layer in self.without_rope else original(q, k, *args, **options)

    def alibi(self, original, *args, **options):
        return original(*args, **options) * (0.0 if self.without_alibi else 1.0)

    def float_mask(self):
        seen = self.visible[self.layer]
        return torch.zeros(seen.shape).masked_fill(~seen, LOWEST).expand(SEQUENCES, 1, -1, -1)

    def mask(self, original, **options):
        # The functional families take one mask for all layers, the others their own in attention().
        if self.functional and self.visible:
            return self.float_mask()
        return original(**options)

    def keep(self, scores, probs):
        self.scores.append(scores)
        self.probs.append(probs)
        self.layer += 1

    def attention(self, module, query, key, value, attention_mask, scaling=None, softcap=None,
                  **options):
        groups = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        scores = scaling * query @ key.transpose(2, 3)
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        mask = self.float_mask() if self.layer in self.visible else attention_mask
        probs = torch.softmax(scores + mask, dim=-1)
        self.keep(scores, probs)
        return (probs @ value).transpose(1, 2).contiguous(), probs

    def captured_sdpa(self, query, key, value, attn_mask=None, **options):
        groups = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros(attn_mask.shape).masked_fill(~attn_mask, LOWEST)
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5 + attn_mask
        probs = torch.softmax(scores, dim=-1)
        self.keep(scores, probs)
        return probs @ value

    def captured_softmax(self, x, *args, **options):
        probs = self.softmax(x, *args, **options)
        if x.ndim == 4:
            self.keep(x, probs)
        return probs


def randomise(model, model_type, gain):
    generator = torch.Generator().manual_seed(1)
    zero_based = model_type.startswith("gemma")  # whose norms store w - 1
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith("bias"):
                value = 0.3 * noise
            elif "norm" in name or ".ln_" in name:
                value = 0.3 * noise + (0 if zero_based else 1)
            else:
                conv1d = model_type == "gpt2" and ".h." in name
                inputs = parameter.shape[0 if conv1d else -1]
                queries = any(part in name for part in (
                    "q_proj", "k_proj", "qkv", "query_key_value", "c_attn"))
                value = (gain if queries else 1.0) * noise / inputs ** 0.5
                if "embed" in name or "wte" in name or "wpe" in name:
                    value = 0.7 * noise if model_type != "gpt2" else 0.5 * noise
            if not zero_based:
                value = value.half().float()
            parameter.copy_(value)


def build(model_type, changes):
    prefix = CLASSES[model_type]
    sizes = dict(SIZES)
    if model_type == "gpt2":
        sizes = dict(n_embd=24, n_layer=3, n_head=4, n_positions=64, vocab_size=53)
    if model_type == "mpt":
        sizes = dict(d_model=24, n_layers=3, max_seq_len=32, vocab_size=53)
    if model_type == "bloom":
        sizes = dict(hidden_size=24, n_layer=3, vocab_size=53)
    if model_type in ("falcon", "gpt_neox"):
        del sizes["num_key_value_heads"]
    sizes.update(changes, bos_token_id=1, eos_token_id=2, pad_token_id=None)
    name = FUNCTIONAL.get(model_type, "capture")
    if model_type == "gemma3":
        vision = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                      num_attention_heads=2, image_size=8, patch_size=4)
        text = transformers.Gemma3TextConfig(**sizes)
        config = transformers.Gemma3Config(text_config=text, vision_config=vision,
                                           mm_tokens_per_image=4, attn_implementation=name)
        return transformers.Gemma3ForConditionalGeneration._from_config(
            config, attn_implementation=name)
    config_prefix = "Gemma3Text" if model_type == "gemma3_text" else prefix
    config = getattr(transformers, config_prefix + "Config")(**sizes, attn_implementation=name)
    head = "GPT2LMHeadModel" if model_type == "gpt2" else prefix + "ForCausalLM"
    return getattr(transformers, head)._from_config(config, attn_implementation=name)


def layers_of(model):
    base = model.base_model
    base = getattr(base, "language_model", base)
    return next(getattr(base, name) for name in ("layers", "h", "blocks") if hasattr(base, name))


def run(model, tokens, capture, text):
    """Values of one run: scores, probs, hidden, loss."""
    first = capture.start(text)
    hidden, handles = [], []
    for layer in layers_of(model):
        take = lambda module, args, kwargs: hidden.append(args[0] if args else
                                                          kwargs["hidden_states"])
        handles.append(layer.register_forward_pre_hook(take, with_kwargs=True))
    last = []
    handles.append(layers_of(model)[-1].register_forward_hook(
        lambda module, args, out: last.append(out[0] if isinstance(out, tuple) else out)))
    wpe = getattr(model.base_model, "wpe", None)
    saved = None if wpe is None else wpe.weight.detach().clone()
    options = {}
    if type(model).__name__ not in ("BloomForCausalLM", "MptForCausalLM"):
        options["position_ids"] = (first + torch.arange(LENGTH)).expand(SEQUENCES, -1)
    with torch.no_grad():
        if wpe is not None and capture.without_alibi:
            wpe.weight.zero_()
        logits = model(tokens, use_cache=False, **options).logits
        if wpe is not None:
            wpe.weight.copy_(saved)
    for handle in handles:
        handle.remove()
    losses = torch.nn.functional.cross_entropy(logits[:, :-1].double().flatten(0, 1),
                                               tokens[:, 1:].flatten(), reduction="none")
    return (torch.stack(capture.scores), torch.stack(capture.probs), torch.stack(hidden + last),
            losses.reshape(SEQUENCES, -1), logits)


def to_v4(config, model_type, extra):
    """The same model under the keys of transformers 4."""
    config = json.loads(json.dumps(config))
    text = config.get("text_config", config)
    rope = text.pop("rope_parameters", None)
    for owner in {id(x): x for x in (config, text)}.values():
        owner.pop("_sliding_window_pattern", None)
        if "dtype" in owner:
            owner["torch_dtype"] = owner.pop("dtype")
    config["transformers_version"] = "4.45.0"
    for key in extra.get("drop", ()):
        text.pop(key, None)
    if not extra.get("keep_layer_types"):
        text.pop("layer_types", None)
    if "pattern" in extra:
        text["sliding_window_pattern"] = extra["pattern"]
    if rope is not None:
        full = rope.get(FULL, rope)
        scaling = {key: value for key, value in full.items()
                   if key not in ("rope_theta", "partial_rotary_factor")}
        text["rope_scaling"] = None if scaling["rope_type"] == "default" else scaling
        text["rope_theta"] = full["rope_theta"]
        if scaling["rope_type"] == "linear" and FULL not in rope:
            scaling["type"] = scaling.pop("rope_type")  # as the oldest files have it
        if "partial_rotary_factor" in full:
            text["partial_rotary_factor"] = full["partial_rotary_factor"]
        if SLIDING in rope and model_type.startswith("gemma3"):
            text["rope_local_base_freq"] = rope[SLIDING]["rope_theta"]
        if model_type == "gpt_neox":
            text["rotary_emb_base"] = text.pop("rope_theta")
            text["rotary_pct"] = text.pop("partial_rotary_factor")
    if extra.get("legacy"):
        for new, old in (("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer"),
                         ("num_kv_heads", "n_head_kv")):
            config[old] = config.pop(new)
    return config


def save(folder, model, model_type, extra):
    """Writes the checkpoint; returns config.json."""
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size="20KB" if extra.get("shards") else "1GB")
    (folder / "generation_config.json").unlink(missing_ok=True)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    short = not model_type.startswith("gemma")
    if short:
        config["dtype"] = "float16"
        for file in folder.glob("*.safetensors"):
            tensors = {name: tensor.half() for name, tensor in load_file(file).items()}
            save_file(tensors, file, metadata={"format": "pt"})
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    v4 = to_v4(config, model_type, extra)
    (folder / "config_v4.json").write_text(json.dumps(v4, indent=1, sort_keys=True) + "\n")


def same_under_v4(folder, model, tokens, capture, name, logits):
    """transformers reads the same model from config_v4.json."""
    with tempfile.TemporaryDirectory() as copy:
        for file in folder.glob("*.safetensors*"):
            shutil.copy(file, copy)
        shutil.copy(folder / "config_v4.json", pathlib.Path(copy) / "config.json")
        again = type(model).from_pretrained(copy, dtype=torch.float32, attn_implementation=name)
    return (run(again.eval(), tokens, capture, "plain")[4] - logits).abs().max().item()


def fixture(folder, name, model_type, changes, extra):
    torch.manual_seed(0)
    capture = Capture(model_type)
    model = build(model_type, changes).eval()
    randomise(model, model_type, extra.get("gain", 1.3))
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(3, 53, (SEQUENCES, LENGTH), generator=generator)
    values = {"tokens": tokens.numpy().astype(np.int32)}
    for text in ("plain", *extra.get("interventions", ROTARY)):
        scores, probs, hidden, losses, logits = run(model, tokens, capture, text)
        shown = probs[:, :, :1] > 0
        spread = scores[shown.expand_as(scores)].std().item()
        scores = scores.masked_fill(scores < LOWEST / 2, 0)
        values[f"{text} scores"] = scores.double().mean((1, 2)).float().numpy()
        values[f"{text} loss"] = losses.mean(0).numpy()
        if text == "plain":
            values["plain scores_heads"] = scores.double().mean(1).float().numpy()
            values["plain probs"] = probs.double().mean((1, 2)).float().numpy()
            values["plain hidden"] = hidden.double().mean(1).float().numpy()
            plain = logits
        note = "" if 0.5 <= spread <= 4 else "  <- spread"
        print(f"{name} {text}: score std {spread:.2f}, loss {losses.mean():.3f}{note}")
    save(folder / name, model, model_type, extra)
    np.savez_compressed(folder / name / "expected.npz", **values)
    if not extra.get("legacy"):
        off = same_under_v4(folder / name, model, tokens, capture,
                            FUNCTIONAL.get(model_type, "capture"), plain)
        assert off < 1e-5, f"{name}: config_v4.json is another model: {off}"
    capture.restore()


def main(folder, names):
    for name, (model_type, changes, extra) in FIXTURES.items():
        if not names or name in names:
            fixture(folder, name, model_type, changes, extra)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
