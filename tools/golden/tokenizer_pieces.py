"""Writes tests/tokenizer/pieces.json: where the pre-tokenizers that GGUF files name cut texts.

Normalizers and pre-tokenizers are those of the tokenizer.json files from which llama.cpp's converter
makes the names; Hugging Face's tokenizers do the cutting. A piece is given by its length in bytes,
after normalisation.

    python tools/golden/tokenizer_pieces.py      (needs: pip install tokenizers)
"""

import json
import pathlib

from tokenizers import normalizers, pre_tokenizers

from tokenizer_fixtures import LLAMA3, QWEN2, TEXTS
from tokenizer_json import BLOOM, FAMILIES, GPT4O, MORE_TEXTS, byte_level, random_texts, split

OUTPUT = pathlib.Path(__file__).parents[2] / "tests" / "tokenizer" / "pieces.json"

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
TEKKEN = GPT4O.replace(CONTRACTION, "").replace("{1,3}", "")
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
DIGITS = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), GPT2])
NFC = normalizers.NFC()
# Normalizer, pre-tokenizer, and the names that mean them.
PIPELINES = [
    (None, GPT2, ["gpt-2", "gpt2", "phi-2"]),
    (NFC, GPT2, ["olmo", "mpt"]),
    (None, byte_level(split(LLAMA3)),
     ["llama-bpe", "llama3", "llama-v3", "falcon3", "dbrx", "smaug-bpe"]),
    (NFC, byte_level(split(QWEN2)), ["qwen2", "deepseek-r1-qwen", "stablelm2"]),
    (None, byte_level(split(GPT4O)), ["gpt-4o", "llama4"]),
    (None, byte_level(split(TEKKEN)), ["tekken"]),
    (None, DIGITS, ["smollm", "starcoder", "refact"]),
    (NFC, DIGITS, ["command-r"]),
    (None, FAMILIES["falcon"]["pre"], ["falcon"]),
    (None, byte_level(split(BLOOM)), ["bloom"]),
]
CASED_TEXTS = [
    "HTTPServer fooBarBAZ aB AbC ABc It'S IT'LL don'T ’s",
    "ÉTÉs éTÉ ΑΒγδ ПРивет ǅabc ʰAʰ ªº ⅷⅧ",
    "A\u0301b a\u0301B \u0301x 日本Aa日 กิA",
    "a/b//c\n/d ./\n../ \"x\"/\r\n 12345678 1a2B3",
    " 1 22 333 4444 $12 +3=4 ~5|6`7` 1,234.5 ٣٤٥٦ x²³",
]


def pieces(normalizer, pre_tokenizer, text):
    if normalizer:
        text = normalizer.normalize_str(text)
    # Each character stands for a byte.
    return [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def main():
    texts = [*TEXTS, *MORE_TEXTS, *CASED_TEXTS, *random_texts(60)]
    result = {"texts": texts, "pipelines": [
        {"names": names, "pieces": [pieces(normalizer, pre, text) for text in texts]}
        for normalizer, pre, names in PIPELINES]}
    assert len({json.dumps(pipeline["pieces"]) for pipeline in result["pipelines"]}) == len(PIPELINES)
    with open(OUTPUT, "w", encoding="ascii") as file:
        json.dump(result, file, separators=(",", ":"))
    print(f"{len(texts)} texts, {len(PIPELINES)} pipelines")


if __name__ == "__main__":
    main()
