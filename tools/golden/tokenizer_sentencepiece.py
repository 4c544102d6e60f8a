"""Writes tests/tokenizer/{llama-sp,gemma-sp}.gguf and sentencepiece.json.

Trains two small models with SentencePiece itself (byte-pair encoding, byte fallback, no
normalisation), one with a space put in front as in Llama 2, one without and with user-defined tokens
as in Gemma, writes them as GGUF metadata as llama.cpp's converter does, and keeps the ids that
SentencePiece gives.

    python tools/golden/tokenizer_sentencepiece.py       (needs: pip install sentencepiece gguf tokenizers)
"""

import io
import json
import pathlib

import gguf
import sentencepiece
from gguf import TokenType

from tokenizer_fixtures import CORPUS, TEXTS
from tokenizer_json import MORE_TEXTS, random_texts

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "tokenizer"
SPACE = "\u2581"
MODELS = {
    "llama-sp": dict(add_dummy_prefix=True, user_defined_symbols=[]),
    "gemma-sp": dict(add_dummy_prefix=False,
                     user_defined_symbols=["\n", "\n\n", "\n\n\n", SPACE * 2, SPACE * 3, "<tool>", "<b>"]),
}


def train(options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.splitlines()), model_writer=model, model_type="bpe", vocab_size=700,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        character_coverage=0.98, minloglevel=2, **options)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def write_gguf(name, model, add_space_prefix):
    tokens, scores, types = [], [], []
    for i in range(model.get_piece_size()):
        token = model.id_to_piece(i)
        kind = (TokenType.UNKNOWN if model.is_unknown(i) else TokenType.CONTROL if model.is_control(i)
                else TokenType.BYTE if model.is_byte(i) else TokenType.NORMAL)
        if token in MODELS[name]["user_defined_symbols"]:
            kind = TokenType.USER_DEFINED
            token = token.replace(SPACE, " ")  # as llama.cpp's converter does
        tokens.append(token)
        scores.append(model.get_score(i))
        types.append(kind)
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.eos_id())
    if not add_space_prefix:
        writer.add_add_space_prefix(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    texts = [*TEXTS, *MORE_TEXTS, *random_texts(100)]
    # SentencePiece cuts a text at a zero byte.
    texts = [text for text in texts if "\0" not in text]
    result = {"texts": texts}
    for name, options in MODELS.items():
        model = train(options)
        write_gguf(name, model, options["add_dummy_prefix"])
        result[name] = {"bos": model.bos_id(), "ids": [model.encode(text) for text in texts]}
        print(f"{name}: {model.get_piece_size()} tokens, {sum(map(len, result[name]['ids']))} ids")
    with open(FOLDER / "sentencepiece.json", "w", encoding="ascii") as file:
        json.dump(result, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
