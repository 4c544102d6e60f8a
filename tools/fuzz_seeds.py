"""Writes the seeds of tests/fuzz/corpus: small sound files, and some that are unsound in one place.

    python tools/fuzz_seeds.py      (needs: pip install gguf numpy safetensors transformers)
"""

import json
import pathlib
import struct

import gguf
import numpy as np
import safetensors.numpy
import transformers
from gguf import GGMLQuantizationType as Type

CORPUS = pathlib.Path(__file__).parents[1] / "tests" / "fuzz" / "corpus"

QUANTISED = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K, Type.Q3_K, Type.Q4_K,
             Type.Q5_K, Type.Q6_K, Type.IQ4_NL, Type.IQ4_XS]

# Keys that make any family's model tiny; each class takes those that it knows.
TINY = dict(hidden_size=2, intermediate_size=2, num_hidden_layers=1, num_attention_heads=1,
            num_key_value_heads=1, head_dim=2, vocab_size=2, max_position_embeddings=16, n_embd=2,
            n_head=1, n_layer=1, n_inner=2, n_positions=16, d_model=2, n_heads=1, n_layers=1,
            max_seq_len=16, num_kv_heads=1, rotary_pct=1.0)

FAMILIES = ["Llama", "Mistral", "Qwen2", "Qwen3", "Phi", "Phi3", "Gemma", "Gemma2", "Gemma3Text",
            "Olmo", "Olmo2", "Olmo3", "SmolLM3", "GPTNeoX", "GPT2", "Falcon", "Bloom", "Mpt",
            "StableLm", "Starcoder2", "Cohere"]


def write(entry, name, content):
    folder = CORPUS / entry
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed_{name}").write_bytes(content)


def safetensors_file(header, data=b"12345678"):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write_safetensors():
    sound = {f"t{i}": np.arange(4, dtype=kind).reshape(2, 2)
             for i, kind in enumerate([np.float64, np.float32, np.float16, np.int64, np.uint8])}
    write("safetensors", "sound", safetensors.numpy.save(sound, metadata={"format": "pt"}))
    write("safetensors", "no_tensors", safetensors_file({}, b""))
    line = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    write("safetensors", "scalar", safetensors_file({"t": {**line, "shape": [], "dtype": "F64"}}))
    write("safetensors", "empty", safetensors_file({"t": {**line, "shape": [0, 9],
                                                          "data_offsets": [8, 8]}}))
    for name, change in {"beyond": {"data_offsets": [4, 12]}, "backwards": {"data_offsets": [8, 0]},
                         "vast": {"shape": [2**32, 2**32]}, "type": {"dtype": "F4"},
                         "negative": {"shape": [-2]}, "rank": {"shape": [1] * 9},
                         "bf16": {"dtype": "BF16", "shape": [4]}}.items():
        write("safetensors", name, safetensors_file({"t": {**line, **change}}))
    write("safetensors", "overlap", safetensors_file({"t": line, "u": line}))
    write("safetensors", "twice", safetensors_file(
        b'{"t":{"dtype":"U8","shape":[1],"shape":[2],"data_offsets":[0,2]}}'))
    write("safetensors", "long", struct.pack("<Q", 2**63) + b"{}")


def write_gguf_tokenizer():
    """Vocabularies of both kinds, and each pre-tokenizer that is unlike the others."""
    def save(name, model, tokens, types, change=lambda writer: None):
        path = CORPUS / "gguf_tokenizer" / f"seed_{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_tokenizer_model(model)
        writer.add_token_list(tokens)
        writer.add_token_types(types)
        writer.add_bos_token_id(0)
        change(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    tokens = ["<s>", "a", "b", "ab", "\u0120", "\u0120a", "1", "T", "h", "<tool>", "\u00c3", "\u00a9"]
    types = [3] + [1] * 8 + [4, 1, 1]

    def merges(pre, *pairs):
        def change(writer):
            writer.add_tokenizer_pre(pre)
            writer.add_token_merges(list(pairs) or ["a b", "\u0120 a"])
        return change

    for pre in ["gpt-2", "olmo", "llama-bpe", "qwen2", "gpt-4o", "tekken", "smollm", "falcon", "bloom"]:
        save(pre, "gpt2", tokens, types, merges(pre))
    save("unknown_pre", "gpt2", tokens, types, merges("gpt-3"))
    save("merge_of_none", "gpt2", tokens, types, merges("gpt-2", "a q"))
    save("merge_twice", "gpt2", tokens, types, merges("gpt-2", "a b", "a b"))
    save("types", "gpt2", tokens, types[1:], merges("gpt-2"))

    pieces = (["<s>", "<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)] +
              ["\u2581", "a", "b", "ab", "\u2581a", "<tool>", "\n"])
    kinds = [3, 2] + [6] * 256 + [1] * 5 + [4, 4]
    def scores(values, space):
        def change(writer):
            writer.add_token_scores(values)
            writer.add_add_space_prefix(space)
        return change
    values = [-float(i) for i in range(len(pieces))]
    save("llama", "llama", pieces, kinds, scores(values, True))
    save("gemma", "llama", pieces, kinds, scores(values, False))
    save("scores", "llama", pieces, kinds, scores(values[1:], True))
    save("bytes", "llama", pieces[3:], kinds[3:], scores(values[3:], True))


def write_gguf():
    path = CORPUS / "gguf" / "seed_sound"
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in {"uint8": 1, "int8": -1, "uint16": 2, "int16": -2, "uint32": 3, "int32": -3,
                        "uint64": 4, "int64": -4, "float32": 0.5, "float64": 0.25, "bool": True,
                        "string": "s"}.items():
        getattr(writer, f"add_{name}")(f"k.{name}", value)
    for name, values in {"texts": ["a", "bc"], "integers": [1, 2], "numbers": [0.5, 1.5],
                         "flags": [True, False]}.items():
        writer.add_array(f"k.{name}", values)
    writer.add_tensor("f32", np.ones((2, 3), np.float32))
    writer.add_tensor("f16", np.ones(3, np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    sound = path.read_bytes()
    write("gguf", "cut", sound[: len(sound) - 5])
    write("gguf", "v2", sound[:4] + struct.pack("<I", 2) + sound[8:])
    write("gguf", "big_endian", sound[:4] + struct.pack(">I", 3) + sound[8:])
    write("gguf", "many", sound[:8] + struct.pack("<QQ", 2**60, 2**60) + sound[24:])

    def one_tensor(kind, shape, offset=0, data=b""):
        extents = b"".join(struct.pack("<Q", extent) for extent in shape)
        header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"t"
        header += struct.pack("<I", len(shape)) + extents + struct.pack("<IQ", kind, offset)
        return header + bytes(-len(header) % 32) + data

    for kind in QUANTISED:
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        block = bytes(range(size)) if size < 256 else bytes(size)
        write("gguf", kind.name.lower(), one_tensor(kind, [elements], 0, block))
    write("gguf", "vast", one_tensor(0, [2**31, 2**31, 2**31]))
    write("gguf", "odd_offset", one_tensor(0, [1], 3, bytes(8)))
    write("gguf", "far_offset", one_tensor(0, [1], 2**64 - 32, bytes(8)))
    write("gguf", "rank", one_tensor(0, [1] * 5, 0, bytes(8)))


def write_configs():
    for family in FAMILIES:
        kind = getattr(transformers, f"{family}Config")
        known = {**kind().to_dict(), **getattr(kind, "attribute_map", {})}
        config = kind(**{key: value for key, value in TINY.items() if key in known})
        text = config.to_json_string(use_diff=False)
        write("config", kind.model_type, json.dumps(json.loads(text), separators=(",", ":")).encode())
    llama = {"model_type": "llama", **TINY, "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
    for name, scaling in {
            "linear": {"type": "linear", "factor": 2.0},
            "dynamic": {"rope_type": "dynamic", "factor": 2.0},
            "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                       "high_freq_factor": 4.0, "original_max_position_embeddings": 8},
            "yarn": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1},
            "longrope": {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [2.0],
                         "original_max_position_embeddings": 8}}.items():
        write("config", f"llama_{name}", json.dumps({**llama, "rope_scaling": scaling}).encode())
    for name, change in {"layers": {"num_hidden_layers": 2**31 - 1}, "text": {"hidden_size": "2"},
                         "zero": {"num_attention_heads": 0}, "null": {"hidden_size": None},
                         "negative": {"num_key_value_heads": -1}, "vast": {"vocab_size": 2**62},
                         "tiny_theta": {"rope_theta": 5e-324}}.items():
        write("config", f"llama_{name}", json.dumps({**llama, **change}).encode())
    write("config", "nested", b'{"a":' * 70 + b"1" + b"}" * 70)
    write("config", "twice", b'{"model_type":"llama","model_type":"gpt2"}')


def write_tokenizers():
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_tokens = {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}
    sound = {
        "added_tokens": [{"id": 3, "content": "<s>", **flags}],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}}

    def seed(name, **change):
        write("tokenizer", name, json.dumps({**sound, **change}, separators=(",", ":")).encode())

    def split(pattern, behavior="Isolated"):
        return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}

    seed("plain")
    for name, pattern in [("words", r"\w+|[^\w\s]+"), ("classes", r"[a-c[x]\d]|[^\S\n]{1,3}|\p{Han}|\x{41}"),
                          ("groups", r"(?i:'s|(?<=a)b(?!c))|(x)*y"), ("slow", "(?:a|aa)+[bc]")]:
        seed(name, pre_tokenizer=split(pattern))
    for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        seed(behavior.lower(), pre_tokenizer=split("[ab]", behavior))
    steps = [{"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"},
             {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}]
    seed("byte_level", pre_tokenizer={"type": "Sequence", "pretokenizers": steps}, decoder={"type": "ByteLevel"})
    seed("metaspace", pre_tokenizer={"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True})
    seed("whitespace", pre_tokenizer={"type": "Whitespace"}, normalizer={"type": "Lowercase"})
    forms = [{"type": "NFKC"}, {"type": "Strip", "strip_left": True, "strip_right": True},
             {"type": "Prepend", "prepend": "_"}, {"type": "Replace", "pattern": {"String": " "}, "content": "_"}]
    seed("normalizers", normalizer={"type": "Sequence", "normalizers": forms})
    around = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
              "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}}
    seed("template", post_processor=around, bos_token="<s>", add_bos_token=True)
    seed("bytes", added_tokens=[], model={
        "type": "BPE", "unk_token": "a", "byte_fallback": True, "fuse_unk": True, "ignore_merges": True,
        "vocab": {**sound["model"]["vocab"], **byte_tokens}, "merges": ["a b"]})
    seed("added", added_tokens=[{**flags, "id": 3 + i, "content": "<" + "s" * i + ">", name: value}
                                for i, (name, value) in enumerate([("lstrip", True), ("rstrip", True), (
                                    "single_word", True), ("normalized", True), ("special", False)])])


def main():
    write_safetensors()
    write_gguf()
    write_gguf_tokenizer()
    write_configs()
    write_tokenizers()
    for folder in sorted(CORPUS.iterdir()):
        sizes = [file.stat().st_size for file in folder.iterdir()]
        print(folder.name, len(sizes), "files,", sum(sizes), "bytes")


if __name__ == "__main__":
    main()
