"""Writes tests/tokenizer/json/: one tokenizer.json per family, and the ids that Hugging Face gives.

Each is trained by Hugging Face's tokenizers on a small text in many scripts, with the pipeline of a
published tokenizer.json (GPT-2, GPT-NeoX, Llama 3, Qwen 2, Phi-2, StarCoder 2, Falcon, BLOOM,
Cohere, GPT-4o, Llama 2 in both forms, Gemma) or one made up to reach the other options. NAME.json
is the tokenizer; NAME.ids.json has, for the texts of texts.json and for the random texts, the ids
with special tokens as text, with them recognised, and with the tokens around the text that the
post-processor adds.

    python tools/golden/tokenizer_json.py      (needs: pip install tokenizers)
"""

import json
import pathlib
import random
import unicodedata

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers,
                        processors, trainers)
from tokenizers.models import BPE

from tokenizer_fixtures import CORPUS, LLAMA3, QWEN2, TEXTS

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "tokenizer" / "json"

GPT4O = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CASES = r"[\w']+|(?<=\s)[^\W_]|[\u4e00-\u9fff\x{3040}-\x{30ff}]{1,2}|\p{^L}|[^\S\n]+|\n"

SPACE = "\u2581"
BYTE_LEVEL = dict(add_prefix_space=False, use_regex=False)


def split(pattern, behaviour="isolated", **options):
    return pre_tokenizers.Split(Regex(pattern), behavior=behaviour, **options)


def byte_level(*steps):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(**BYTE_LEVEL)])


def template(bos=None, eos=None):
    parts = ([bos] if bos else []) + ["$A"] + ([eos] if eos else [])
    return parts, [token for token in (bos, eos) if token]


def llama2_normalizer():
    return normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])


END = "<|endoftext|>"
SPECIAL = {"special": True, "normalized": False}
# name: normalizer, pre-tokenizer, special tokens, other added tokens, options
FAMILIES = {
    "gpt2": dict(pre=pre_tokenizers.ByteLevel(add_prefix_space=False), special=[END]),
    "gpt2_prefix": dict(pre=pre_tokenizers.ByteLevel(add_prefix_space=True), special=[END],
                        around=template(END, END)),
    "gpt_neox": dict(norm=normalizers.NFC(), pre=pre_tokenizers.ByteLevel(add_prefix_space=False),
                     special=[END], added=[AddedToken(" " * n, normalized=True) for n in (2, 4, 8)]),
    "llama3": dict(pre=byte_level(split(LLAMA3)), special=["<|begin_of_text|>", "<|im_start|>"],
                   around=template("<|begin_of_text|>"), sequence=True, ignore_merges=True),
    "qwen2": dict(norm=normalizers.NFC(), pre=byte_level(split(QWEN2)), special=[END, "<|im_start|>"],
                  added=[AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)]),
    "phi2": dict(pre=pre_tokenizers.ByteLevel(add_prefix_space=False), special=[END],
                 added=[AddedToken(" " * n, normalized=True) for n in range(2, 9)] +
                       [AddedToken("\t" * n, normalized=True) for n in range(2, 5)]),
    "starcoder2": dict(pre=pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)]), special=[END, "<fim_prefix>"]),
    "falcon": dict(pre=pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation(behavior="contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False),
        split("[0-9][0-9][0-9]")]), special=[END, ">>TITLE<<"]),
    "bloom": dict(pre=byte_level(split(BLOOM)), special=["<s>", "</s>"]),
    "cohere": dict(norm=normalizers.NFC(), pre=pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)]), special=["<BOS_TOKEN>", "<EOS_TOKEN>"],
        around=template("<BOS_TOKEN>")),
    "gpt4o": dict(pre=byte_level(split(GPT4O)), special=[END, "<|end|>"],
                  added=[AddedToken("<|user|>", rstrip=True, normalized=False),
                         AddedToken("<|tool|>", lstrip=True, normalized=False),
                         AddedToken("fox", single_word=True, normalized=False)]),
    "llama2": dict(norm=llama2_normalizer(), pre=None, special=["<s>", "</s>"], sentence_piece=True,
                   around=template("<s>"),
                   added=[AddedToken("[INST]", normalized=False), AddedToken("the fox", normalized=True)]),
    "llama2_metaspace": dict(
        pre=pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first", split=False),
        special=["<s>", "</s>"], sentence_piece=True, around=template("<s>", "</s>"),
        added=[AddedToken("<|user|>", rstrip=True, normalized=False, special=True)]),
    "metaspace_split": dict(
        norm=normalizers.NFKC(),
        pre=pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always", split=True),
        special=["<s>"], sentence_piece=True),
    "gemma": dict(norm=normalizers.Replace(" ", SPACE),
                  pre=pre_tokenizers.Split(" ", behavior="merged_with_previous"),
                  special=["<bos>", "<eos>"], sentence_piece=True, around=template("<bos>"),
                  added=[AddedToken("\n" * n, normalized=False) for n in range(1, 4)] +
                        [AddedToken("<unused0>", normalized=False)]),
    # Options that no family above reaches.
    "unknown": dict(norm=normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(),
                                               normalizers.Strip()]),
                    pre=pre_tokenizers.Whitespace(), special=["<unk>"], unk="<unk>", fuse=True,
                    letters="abcdefghijklmnopqrstuvwxyz'.,", decoder=None),
    "unknown_apart": dict(norm=normalizers.Sequence([normalizers.NFKD(),
                                                     normalizers.Replace(Regex(r"\s+"), " ")]),
                          pre=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                                       pre_tokenizers.Punctuation()]),
                          special=["<unk>"], unk="<unk>", letters="abcdefghijklmnopqrstuvwxyz'.,", decoder=None),
    "classes": dict(pre=byte_level(split(CASES)), special=[END]),
    "removed": dict(pre=byte_level(split(r"\p{L}+|\d", "removed", invert=True)), special=[END]),
    "previous": dict(pre=byte_level(split(r"[\s.,]", "merged_with_previous")), special=[END]),
    "next": dict(pre=byte_level(split(r"[\s.,]", "merged_with_next")), special=[END]),
    "contiguous": dict(pre=byte_level(split(r"[\s.,]", "contiguous")), special=[END]),
}

MORE_TEXTS = [
    "<|begin_of_text|>x<|im_start|>user\nhi<|im_end|>", "<s>a</s> <s> b <bos>c<eos><unk>",
    "<|user|>  \n hello   <|tool|> x <|tool|>y <|end|>", "fox foxes a fox, outfox fox", "the fox the  fox",
    "[INST] x [INST]", " <s> ", "<unused0>\n\n\n\n<unused0> \n", "İstanbul ΣΑΣ ẞ Ǆ", "ＦＵＬＬ width ﬁ ① ㎏ ½",
    "<0x41> <0x0A>", "\u2581 \u2581a\u2581\u2581", "a\u200db \u0301 x\u0301", "1x 22x x{,2} 12345x", "ⓐⒶ ª Ⅷ",
    ">>TITLE<<1234567 x12y345", "    four        eight\t\t\ttabs", "¹²³ ¼ Â² 12²3",
]


def random_texts(count):
    """Characters of all scripts, assigned in Unicode 14 (the oldest of the libraries compared)."""
    rng = random.Random(20261130)
    blocks = [(0x20, 0x7f), (0x09, 0x0e), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0xe00),
              (0xe00, 0x1200), (0x1e00, 0x2100), (0x2100, 0x2800), (0x3000, 0x3100), (0x4e00, 0x9fff),
              (0xac00, 0xd7a4), (0xf900, 0xfb50), (0xfb50, 0xfffe), (0x1d400, 0x1d800), (0x1f000, 0x1fb00)]
    words = ["the", " fox", "  ", "\n", "12345", "'s", "'LL", ".", SPACE, "<s>", "é", "e\u0301", "\r\n", "日本語", " \t"]
    texts = []
    for _ in range(count):
        text = ""
        for _ in range(rng.randrange(1, 24)):
            if rng.random() < 0.4:
                text += rng.choice(words)
                continue
            first, end = rng.choice(blocks)
            character = chr(rng.randrange(first, end))
            if unicodedata.category(character) not in ("Cn", "Cs"):
                text += character
        texts.append(text)
    return texts


def train(name, norm=None, pre=None, special=(), added=(), around=None, sequence=False,
          sentence_piece=False, ignore_merges=False, unk=None, fuse=False, letters=None, decoder=""):
    byte = not sentence_piece and unk is None
    tokenizer = Tokenizer(BPE(unk_token=unk))
    if norm:
        tokenizer.normalizer = norm
    # Trained on words, for a text without cuts would become one token.
    training = pre
    if sentence_piece:
        training = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="never")
    tokenizer.pre_tokenizer = training
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte else list(letters or "")
    # The limit leaves characters out: they become bytes or unknown.
    options = dict(limit_alphabet=len(letters)) if letters else {}
    if sentence_piece:
        options = dict(limit_alphabet=90)
    tokens = list(special) + ([f"<0x{b:02X}>" for b in range(256)] if sentence_piece else [])
    trainer = trainers.BpeTrainer(vocab_size=len(tokens) + 256 + 500, show_progress=False,
                                  special_tokens=tokens, initial_alphabet=alphabet, **options)
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    # Made anew, for the trainer's special tokens stay added otherwise. Some only behind the vocabulary.
    vocabulary = {token: i for i, token in enumerate(model["vocab"])}
    result = Tokenizer(BPE(vocab=vocabulary, merges=merges, ignore_merges=ignore_merges, unk_token=unk
                           or ("<unk>" if "<unk>" in vocabulary else None),
                           byte_fallback=sentence_piece, fuse_unk=fuse or sentence_piece))
    if norm:
        result.normalizer = norm
    if pre:
        result.pre_tokenizer = pre
    result.add_tokens([AddedToken(token, **SPECIAL) for token in special])
    result.add_tokens(list(added))
    if around:
        parts, names = around
        processor = processors.TemplateProcessing(
            single=parts, special_tokens=[(n, result.token_to_id(n)) for n in dict.fromkeys(names)])
        result.post_processor = processors.Sequence(
            [processors.ByteLevel(trim_offsets=False), processor]) if sequence else processor
    if byte:
        result.decoder = decoders.ByteLevel()
    elif sentence_piece:
        result.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(),
                                            decoders.Fuse()])
    return result


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = [*TEXTS, *MORE_TEXTS]
    random_ones = random_texts(200)
    with open(FOLDER / "texts.json", "w", encoding="ascii") as file:
        json.dump({"texts": texts, "random": random_ones}, file, separators=(",", ":"))
    for name, options in FAMILIES.items():
        tokenizer = train(name, **options)
        text = tokenizer.to_str()
        # Older files write merges as texts.
        content = json.loads(text)
        if name in ("gpt2", "falcon", "llama2"):
            content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
        with open(FOLDER / f"{name}.json", "w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False, separators=(",", ":"))
        tokenizer = Tokenizer.from_file(str(FOLDER / f"{name}.json"))
        everything = [*texts, *random_ones]
        def ids(around):
            return [tokenizer.encode(t, add_special_tokens=around).ids for t in everything]
        result = {"recognised": ids(False)}
        around = tokenizer.encode("a", add_special_tokens=True).ids
        inside = tokenizer.encode("a", add_special_tokens=False).ids
        start = next(i for i in range(len(around)) if around[i:i + len(inside)] == inside)
        result["front"], result["behind"] = around[:start], around[start + len(inside):]
        tokenizer.encode_special_tokens = True
        # Those that differ, by the text's number.
        result["as_text"] = {str(i): row for i, row in enumerate(ids(False)) if row != result["recognised"][i]}
        with open(FOLDER / f"{name}.ids.json", "w", encoding="ascii") as file:
            json.dump(result, file, separators=(",", ":"))
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, {len(content['model']['merges'])} merges, "
              f"{sum(map(len, result['recognised']))} ids, {len(result['as_text'])} texts with special tokens, "
              f"{result['front']} in front, {result['behind']} behind")


if __name__ == "__main__":
    main()
