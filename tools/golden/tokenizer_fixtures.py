"""Writes tests/tokenizer/{smollm,gpt-2,llama-bpe,qwen2}.gguf and encodings.json.

Trains one tiny byte-level BPE tokenizer per pre-tokenizer with Hugging Face's tokenizers, writes
its vocabulary as GGUF metadata with gguf's own writer, and keeps the ids that tokenizers gives for
texts that are hard to cut. Pipelines are those of the published tokenizer.json files (SmolLM2, GPT-2,
Llama 3, Qwen 2.5).

    python tools/golden/tokenizer_fixtures.py      (needs: pip install tokenizers gguf)
"""

import json
import pathlib
import unicodedata

import gguf
from gguf import TokenType
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "tokenizer"

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def split(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


PRE_TOKENIZERS = {
    "smollm": pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]),
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "llama-bpe": split(LLAMA3),
    "qwen2": split(QWEN2),
}
CONTROL = "<|endoftext|>"
# In the vocabulary, and out of reach of merges.
UNMERGED = "\u0120strawberry"
# Not special: found in the text before it is cut, the longest first.
USER_DEFINED = {"gpt-2": ["    ", "  ", "<tool>"], "qwen2": ["<think>", "</think>"]}

CORPUS = """
The quick brown fox jumps over the lazy dog. The dog didn't mind; it's used to the fox's jumps.
I'll say that they've been here, we're not sure, I'm not, he'd know. It isn't 'quoted' text.
In 2024 there were 12345 cases, 3.14159 on average, i.e. 1,000,000 in 365 days; 100 % of 42.
Positional information comes from the mask, from the encoding, or from what training made of it.
for (int i = 0; i < count; ++i) {\n    total += values[i];\n\treturn total;\n}\r\n\r\n
def f(x):\n    return x ** 2  # comment\n\n\n    if x == 1:\n        print("x")\n
Grüße aus Köln: Äpfel, Öl und Übung, naïve café, déjà vu, garçon, smörgåsbord.
Привет, как дела? Это проверка текста. Привет, мир.
日本語のテキストと中文的文字。日本語、中文、한국어 텍스트。
مرحبا بالعالم العربية שלום עולם हिन्दी में पाठ ไทยข้อความ
“quotes” … — – ‘single’ don’t 🙂 👩‍👩‍👧‍👦 🇫🇷 ✓ ½ ² ³
""" * 3

TEXTS = [
    "", " ", "   ", "a", "\n", "\n\n\n", "\r\n\r\nCRLF\r\n", "\t", "a\tb\t\tc",
    "Hello world", "  leading and trailing  ", "two  spaces   three    four     five",
    "The quick brown fox jumps over the lazy dog.",
    "It's 12345\n\n x", "1234567890 12 345 6,789.01 0x1F 3e-10", "a1b22c333d4444", " 1  2   3",
    "x = 1;  7\t8\n9", "Ⅷ ² ³ ¼ ٣٤٥ १२३ ௧",
    "I'LL we'Ve DON'T it'S you'RE 'S 's 'T'd'm", "don’t (curly) ‘single’",
    "'\u017f '\u017fs it'\u017f \u212a'\u212a",
    "''s '' ' 'll'll", "naïve café — “quotes” … ½ ﬁ ligature",
    "\u01c5 \u0149 \u0130i \u00df \u1e9e \u017f \u212a \u212b",
    "a\u0301 combining \u0301x; A\u030a Å \u212b; e\u0301\u0323 \u1e69 s\u0323\u0307 s\u0307\u0323",
    "\u1100\u1161\u11a8 \uac01 \u0958 \u2126 \ufb1d \U0001d15e",
    "日本語のテキストと中文混排。한국어도", "mixed\u3000ideographic space、、。",
    "Привет, как дела? мир", "مرحبا بالعالم ١٢٣ العربية", "שלום\u200f עולם\u202e abc",
    "हिन्दी में पाठ ไทยข้อความ", "🙂👩‍👩‍👧‍👦 family 🇫🇷 ❤\ufe0f 1\ufe0f\u20e3",
    "\u00a0nbsp\u00a0\u00a0x\u2003em\u2028line\u2029para\u0085next\u180evowel\u200bzero\u2060\ufeff",
    " \u00a0 \u2003\n \u2028x", "\u0000\u0001 control \u007f\u0004\u0006!\u0004!", "\x0b\x0c\x1c\x1d\x1f x",
    "!!!???...,,,   :::", "foo_bar camelCase SCREAMING_CASE kebab-case __init__ --- ===",
    "def f(x):\n    return x**2  # comment\n\tindent\ttabs\n\n    \n  end",
    "https://example.org/a?b=c&d=%20e", "a\r\nb\tc d\r\r\n\n\r", ".\n\n.\r\n ?\n x", " \n \n  x \n",
    "a" * 300, "ab" * 150, "the" * 100, " " * 200 + "x", "\n" * 50 + " " * 50, "é" * 80,
    "I'LLama they'RElated 'Tis 'tis 'MORNING '\u017fa 'dD",
    "x \u180e!\u180e y\u180e\u180e z", "strawberry strawberry  strawberry", "<|endoftext|> literal <|endoftext|>",
    "<think>x</think> <tool><tool>", "<think <tool", "     x      y",
    "\U0010ffff \ue000 \U000e0041", "\ud7ff\ufffd",
]


def train(name):
    tokenizer = Tokenizer(BPE())
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[name]
    tokenizer.decoder = decoders.ByteLevel()
    # SmolLM2's vocabulary lacks bytes that its training text lacks; so does this one.
    alphabet = [] if name == "smollm" else pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=560, special_tokens=[CONTROL], show_progress=False,
                                  initial_alphabet=alphabet)
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = model["vocab"]
    vocabulary[UNMERGED] = len(vocabulary)
    merges = [tuple(merge) for merge in model["merges"]]
    # Made anew, so that the control token is in the vocabulary but not looked for in the text.
    tokenizer.model = BPE(vocab=vocabulary, merges=merges, ignore_merges=name == "llama-bpe")
    plain = Tokenizer(tokenizer.model)
    plain.normalizer = tokenizer.normalizer
    plain.pre_tokenizer = tokenizer.pre_tokenizer
    plain.decoder = tokenizer.decoder
    plain.add_tokens([AddedToken(text, normalized=False, special=False)
                      for text in USER_DEFINED.get(name, [])])
    return plain, merges


def write_gguf(name, tokenizer, merges):
    tokens = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    user_defined = USER_DEFINED.get(name, [])
    types = [TokenType.CONTROL if token == CONTROL else
             TokenType.USER_DEFINED if token in user_defined else
             TokenType.NORMAL for token in tokens]
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(tokenizer.token_to_id(CONTROL))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def kept_bytes(tokenizer, name, text):
    """What is left of a text: all of it, but for bytes that the vocabulary lacks."""
    if name == "qwen2":
        text = unicodedata.normalize("NFC", text)
    if name != "smollm":
        return text.encode()
    to_character = bytes_to_unicode()
    return bytes(byte for byte in text.encode()
                 if tokenizer.token_to_id(to_character[byte]) is not None)


def bytes_to_unicode():
    """GPT-2's alphabet: printable bytes as themselves, the others from U+0100 on."""
    itself = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in itself]
    return {byte: chr(byte) for byte in itself} | {
        byte: chr(256 + i) for i, byte in enumerate(others)}


def main():
    result = {"texts": TEXTS, "tokenizers": {}}
    for name in PRE_TOKENIZERS:
        tokenizer, merges = train(name)
        write_gguf(name, tokenizer, merges)
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
        decoded = [kept_bytes(tokenizer, name, text) for text in TEXTS]
        for row, kept in zip(ids, decoded):
            assert tokenizer.decode(row, skip_special_tokens=False) == kept.decode(errors="replace")
        result["tokenizers"][name] = {"ids": ids, "decoded": [kept.hex() for kept in decoded]}
        lost = sum(kept != text.encode() for kept, text in zip(decoded, TEXTS))
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, {len(merges)} merges, "
              f"{sum(map(len, ids))} ids, {lost} of {len(TEXTS)} texts not as they were")
    with open(FOLDER / "encodings.json", "w", encoding="ascii") as file:
        json.dump(result, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
