#!/usr/bin/env python3
"""Adds observables.npz to some folders of tests/model/golden: all that a probe can keep of a run.

transformers runs the checkpoint of the folder under several interventions; hooks take what passes
between its modules, and numpy averages it. Nothing of PosLens takes part. For each intervention
("plain" for none), with positions i, j and three sequences:

    scores_heads [layers, heads, n, n], probs, variance [layers, n, n]: of the scores before the mask
    hidden [layers + 1, n, hidden]: the residual stream, then after each layer
    a to g [layers, n, n]: the Gram maps of Figure 3 of arXiv 2509.21042; b is 0 where hidden
    pool5 ...: scores, probs, scores_heads, scores_groups (two), variance of the sequences' block
        means, all over blocks of 5 x 5 pairs that the mask shows, NaN where there are none; and of
        the scores the means of diagonals (i - j from 1 - n on), rows and columns

    venv/bin/pip install torch transformers
    venv/bin/python tools/golden/model_observables.py tests/model/golden
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import torch
import transformers

from model_families import (CLASSES, FUNCTIONAL, LENGTH, LOWEST, SEQUENCES, Capture, layers_of, run)

FEW = ("plain", "mask=full", "mask=window:5")
CASES = {
    "llama_llama3": ("plain", "rope=none", "rope=theta:40 mask=prefix:6", "mask=full@0-1 rope=none@1",
                     "mask=window:5 positions=+1000"),
    "qwen3_tied": FEW,         # norms of query and key
    "gpt_neox_parallel": FEW,  # attention and feed-forward side by side
    "olmo2_biases": FEW,       # norms after the parts only
    "gemma2_caps": FEW,        # norms on both sides, capped scores, windows
    "bloom_from_norm": ("plain", "position=none", "mask=full"),  # ALiBi; adds to the normed input
}
POOL = 5


class Keeper(Capture):
    """Also keeps the scores as they are before softcap and bias."""

    def start(self, text):
        self.scaled = []
        parts = [] if text == "plain" else text.split()
        kept = [p for p in parts if not p.startswith("rope=theta")]
        return super().start(" ".join(kept) or "plain")

    def alibi(self, original, *args, **options):
        self.slopes = super().alibi(original, *args, **options)
        return self.slopes

    def attention(self, module, query, key, value, attention_mask, scaling=None, **options):
        repeated = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
        self.scaled.append(scaling * query @ repeated.transpose(2, 3))
        return super().attention(module, query, key, value, attention_mask, scaling, **options)

    def captured_softmax(self, x, *args, **options):
        if x.ndim == 4:
            self.scaled.append(x - self.slopes[:, None, None] * torch.arange(LENGTH))
        return super().captured_softmax(x, *args, **options)


# Names of the modules of a layer: what query, key and value come from; the output projection; the
# feed-forward.
PARTS = {"gpt_neox": ("attention.query_key_value", "attention.dense", "mlp.dense_h_to_4h"),
         "bloom": ("self_attention.query_key_value", "self_attention.dense", "mlp.dense_h_to_4h")}
LLAMA = ("self_attn.q_proj", "self_attn.o_proj", "mlp.up_proj")


def stages(model, model_type, capture, tokens, text):
    """Runs the model; what passed through each layer, a list of dictionaries."""
    kept = [dict() for _ in layers_of(model)]
    handles = []
    query, output, up = PARTS.get(model_type, LLAMA)
    for keep, layer in zip(kept, layers_of(model)):
        def before(name, keep=keep):
            return lambda module, args: keep.__setitem__(name, args[0])
        handles += [layer.get_submodule(query).register_forward_pre_hook(before("a")),
                    layer.get_submodule(output).register_forward_pre_hook(before("c")),
                    layer.get_submodule(output).register_forward_hook(
                        lambda module, args, out, keep=keep: keep.__setitem__("d", out)),
                    layer.get_submodule(up).register_forward_pre_hook(before("f"))]
        for norm in ("pre_feedforward_layernorm", "post_attention_layernorm"):
            if hasattr(layer, norm) and model_type not in ("gpt_neox", "olmo2"):
                handles.append(getattr(layer, norm).register_forward_pre_hook(before("e")))
                break
    _, probs, hidden, _, _ = run(model, tokens, capture, text)
    for handle in handles:
        handle.remove()
    for layer, keep in enumerate(kept):
        keep["g"] = hidden[layer + 1]
        if model_type == "gpt_neox":
            keep["e"] = hidden[layer] + keep["d"]
        if model_type == "olmo2":
            keep["e"] = keep["f"]
    return kept, probs, hidden


def pooled(values, shown):
    """Means over blocks of the shown pairs of [..., n, n]; NaN where there are none."""
    n = values.shape[-1]
    values = np.where(shown, values, np.nan)
    edges = range(0, n, POOL)
    rows = [[np.nanmean(values[..., i:i + POOL, j:j + POOL], (-2, -1)) for j in edges] for i in edges]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def profiles(values, shown):
    n = values.shape[-1]
    values = np.where(shown, values, np.nan)
    lags = [np.nanmean(np.diagonal(values, -t)) for t in range(1 - n, n)]
    return np.array(lags), np.nanmean(values, 1), np.nanmean(values, 0)


def with_theta(model, theta):
    """Another base for the rotation, scaled as the configuration says."""
    rotary = model.base_model.rotary_emb
    before = rotary.config.rope_parameters
    rotary.config.rope_parameters = dict(before, rope_theta=theta)
    return type(rotary)(rotary.config), before


def case(model, model_type, capture, tokens, text):
    saved = None
    if "rope=theta" in text:
        saved = model.base_model.rotary_emb
        model.base_model.rotary_emb, before = with_theta(model, float(
            text.split("rope=theta:")[1].split()[0]))
    kept, probs, hidden = stages(model, model_type, capture, tokens, text)
    if saved is not None:
        model.base_model.rotary_emb = saved
        saved.config.rope_parameters = before
    scores = torch.stack(capture.scores)
    if capture.functional and model_type == "bloom":
        hidden_pairs = scores < LOWEST / 2
    else:
        hidden_pairs = probs == 0
    shown = ~hidden_pairs[:, 0, 0].numpy()  # [layers, n, n]
    scores = scores.double().numpy()
    probs = probs.double().numpy()
    values = {"scores_heads": np.where(shown[:, None], scores.mean(1), 0),
              "probs": probs.mean((1, 2)),
              "variance": np.where(shown, scores.mean(2).var(1, ddof=1), 0),
              "hidden": hidden.double().numpy().mean(1)}
    scaled = torch.stack(capture.scaled).double().numpy()
    values["b"] = np.where(shown, scaled.mean((1, 2)), 0)
    for stage in "acdefg":
        u = torch.stack([keep[stage] for keep in kept]).double().numpy()
        values[stage] = np.tril((u @ u.swapaxes(-1, -2)).mean(1))
    layers = range(len(shown))
    for name, map_of in {"scores": lambda l: scores[l].mean((0, 1)), "probs": lambda l: probs[l].mean((0, 1)),
                         "scores_heads": lambda l: scores[l].mean(0)}.items():
        values[f"pool{POOL} {name}"] = np.stack([pooled(map_of(l), shown[l]) for l in layers])
    values[f"pool{POOL} scores_groups"] = np.stack(
        [np.stack([pooled(scores[l][g::2].mean((0, 1)), shown[l]) for l in layers]) for g in (0, 1)])
    values[f"pool{POOL} variance"] = np.stack(
        [pooled(scores[l].mean(1), shown[l]).var(0, ddof=1) for l in layers])
    every = [profiles(scores[l].mean((0, 1)), shown[l]) for l in layers]
    for k, name in enumerate(("diagonals", "rows", "columns")):
        values[f"{name}"] = np.stack([one[k] for one in every])
    return {f"{text} {name}": np.ascontiguousarray(value, np.float32) for name, value in values.items()}


def main(root):
    warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing are NaN, as they should be
    for name, texts in CASES.items():
        folder = root / name
        model_type = json.loads((folder / "config.json").read_text())["model_type"]
        capture = Keeper(model_type)
        head = getattr(transformers, CLASSES[model_type] + "ForCausalLM")
        model = head.from_pretrained(folder, dtype=torch.float32, attn_implementation=FUNCTIONAL.get(
            model_type, "capture")).eval()
        tokens = torch.from_numpy(np.load(folder / "expected.npz")["tokens"]).long()
        values = {}
        for text in texts:
            values.update(case(model, model_type, capture, tokens, text))
        # The same run as expected.npz's.
        expected = np.load(folder / "expected.npz")["plain hidden"]
        assert np.abs(values["plain hidden"] - expected).max() < 1e-5, name
        np.savez_compressed(folder / "observables.npz", **values)
        capture.restore()
        print(name, (folder / "observables.npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
