"""Writes tests/tokenizer/real_multilingual.json: a sample in many scripts, and llama.cpp's ids for it.

The sample is 200 lines, drawn from a seed out of the sentences below (written for this purpose), one
text with line ends, and texts that spell special tokens. Ids come from llama.cpp's own tokenizer,
without BOS; special tokens are recognised. xllamacpp carries llama.cpp's server, which listens on the loopback interface only.

    python tools/golden/llama_cpp_ids.py smollm2=SmolLM2-135M-Instruct.Q4_1.gguf \\
        gemma3=gemma-3-270m-q4_k_m.gguf      (needs: pip install xllamacpp)
"""

import json
import pathlib
import random
import sys
import urllib.request

import xllamacpp

OUTPUT = pathlib.Path(__file__).parents[2] / "tests" / "tokenizer" / "real_multilingual.json"

SENTENCES = [
    # Latin
    "The ferry leaves at noon, and nobody has counted the chairs.",
    "I'd say we've seen worse; they'll manage, won't they?",
    "Übermäßig große Bäume säumen die Straße, sagt Frau Öztürk.",
    "L'été dernier, ma sœur a vu l'Île-d'Yeu où naît la brume.",
    "El pingüino soñó: ¿quién pintó el corazón de añil? ¡Nadie!",
    "Não há pão, avó; só maçãs e limões à mão.",
    "Zażółć gęślą jaźń, a potem idź po mąkę.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy vedle řeky.",
    "Çalışkan öğrenci İstanbul'da ışığı söndürdü.",
    "Þórður keypti æðislegan fisk á Ísafirði.",
    "Tiếng Việt có nhiều dấu: ổ bánh mì, phở, nước chấm.",
    "Ħafna għasafar jgħannu filgħodu qrib ir-raħal.",
    # Greek, Cyrillic, Armenian, Georgian
    "Η θάλασσα είναι ήρεμη σήμερα, αλλά ο άνεμος θ’ αλλάξει.",
    "ᾆδε, ὦ Μοῦσα, τὴν ὁδὸν τοῦ ἀνδρός.",
    "Съешь ещё этих мягких булок, да выпей чаю у окна.",
    "Щаслива їжачиха з’їла ґрона біля річки.",
    "Њежни ђак шаље љубичасто цвеће у Ђенову.",
    "Ծովը հանգիստ է, և նավակը դանդաղ է գնում։",
    "ზღვა მშვიდია და ნავი ნელა მიდის.",
    # Right to left
    "يجلس القط على السطح ويراقب المدينة، ثم ينام.",
    "السَّلامُ عَلَيْكُم ورحمةُ اللهِ يا أهلَ البيت",
    "گربه‌ای روی پشت‌بام نشسته و شهر را می‌بیند.",
    "הספינה יוצאת בצהריים, ואיש לא ספר את הכיסאות.",
    "שָׁלוֹם עֲלֵיכֶם אַחִים יְקָרִים",
    # South and South-East Asia
    "नाव दोपहर को चलती है और किसी ने कुर्सियाँ नहीं गिनीं।",
    "নৌকা দুপুরে ছাড়ে, কেউ চেয়ার গোনেনি।",
    "படகு மதியம் புறப்படுகிறது, யாரும் நாற்காலிகளை எண்ணவில்லை.",
    "పడవ మధ్యాహ్నం బయలుదేరుతుంది.",
    "เรือออกตอนเที่ยงและไม่มีใครนับเก้าอี้",
    "ເຮືອອອກຕອນທ່ຽງ ແລະ ບໍ່ມີໃຜນັບຕັ່ງ",
    "လှေသည် မွန်းတည့်ချိန်တွင် ထွက်ခွာသည်။",
    "ទូកចេញដំណើរនៅពេលថ្ងៃត្រង់។",
    "གྲུ་གཟིངས་ཉིན་གུང་ལ་འགྲོ།",
    # East Asia
    "渡船中午出发，没有人数过椅子。",
    "請問這班船甚麼時候開？我們還有三分鐘。",
    "船は正午に出ます。椅子を数えた人はいません！",
    "カタカナとﾊﾝｶｸｶﾅとひらがなを混ぜて書く。",
    "배는 정오에 떠나고, 아무도 의자를 세지 않았다.",
    "𠮷野家で𩸽を食べた。",
    # Others
    "ሰላም ለሁሉም፣ ጀልባው እኩለ ቀን ላይ ይሄዳል።",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᎠᏂᏬᏂᏍᎬ",
    "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ",
    # Emoji, with joiners, tones, flags and keycaps
    "👩‍👩‍👧‍👦 👨🏽‍🚀🧑🏿‍🤝‍🧑🏻 🏳️‍🌈 🇫🇮🇯🇵🇧🇷 1️⃣#️⃣ ❤️‍🔥 ☕︎ ☕️",
    "😀😃 so 🙃, 🫠🫥 and 🪿!",
    # Digits and numbers
    "In 1987 there were 12345678 of 90,210.55 (−3.2e-10 %), 0x1F4A9 and 007.",
    "١٢٣٤٥٦٧٨٩٠ and ۱۲۳۴ and १२३४ and ๑๒๓ and ４５６ and Ⅻ ⅷ ½ ¾ x² H₂O ①②",
    # Code
    "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }  // O(n)",
    "def f(x, *args, **kw):\treturn {k: v ** 2 for k, v in kw.items() if v != None}",
    "SELECT name, COUNT(*) FROM t WHERE x >= 10 AND y <> 'it''s' GROUP BY 1;",
    "<div class=\"a b\">&nbsp;x&#39;s</div> <!-- https://example.org/?q=%20a&b=c#d -->",
    "C:\\temp\\new_file.txt $HOME/${x:-y} `ls -la | grep '^d'` fooBarBaz __init__ SCREAMING_CASE",
    # Combining marks, odd spaces, controls
    "a\u0301e\u0300\u0323o\u0302\u031bZ\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334 n\u0303 vs ñ",
    "\u00a0nbsp\u2003em\u2009thin\u3000wide\u200bzero\u2060joiner\ufeffmark\u00adsoft",
    "tabs\t\tand   three  spaces    four     five      six",
    "\u1112\u1161\u11ab\u1100\u1173\u11af and 한글 and \u212b\u2126 \ufb01\ufb03 \u01c5",
    "\u202eright to left\u202c and \u2066isolated\u2069 and \u0000\u0001\u001b[0m\u007f",
    "“quotes” ‘single’ «guillemets» „German“ — dash … ellipsis ‰ № ™ © § ¶ † •",
    "∀ε>0 ∃δ: |x−a|<δ ⇒ ‖f(x)−f(a)‖ ≤ ε, ∑ᵢ xᵢ² ≈ 𝔼[𝑋] ∈ ℝⁿ",
    "'S 'T 'RE it'S we'VE I'LL you'd 'tis ''quoted'' don’t",
    "!!!???... ,,, ;;; ::: --- === *** ### ~~~ @@@ $$$ %%% ^^^ &&& ((([[[{{{",
]
SPECIAL = [
    "<|im_start|>user\nHello, you.<|im_end|>\n<|im_start|>assistant\n",
    "one<|endoftext|>two <|endoftext|> three<|endoftext",
    "<bos>x<eos> <start_of_turn>model\ny<end_of_turn>\n",
    "<unk> <pad> <unused7><unused8> <mask> [multimodal] <repo_name>a<file_sep>",
    "<b>bold</b> <table><tr><td>1</td></tr></table> <s>a</s>",
]
SEPARATORS = [" ", " ", " ", "  ", "", "\t", " — ", ", ", "/", "\u00a0", "\u3000", "   "]
LINE_ENDS = ["\n", "\n", "\n\n", "\r\n", "\n\n\n", " \n", "\n  ", "\n\t"]


def sample(seed, count):
    rng = random.Random(seed)
    lines = list(SENTENCES)
    while len(lines) < count:
        line = rng.choice(["", "", "", " ", "  ", "\t"])
        for part in rng.sample(SENTENCES, rng.randint(1, 3)):
            # A cut may part a letter from its mark, or an emoji from its joiner.
            first = rng.randrange(len(part)) if rng.random() < 0.5 else 0
            line += part[first:first + rng.randint(1, 60)] + rng.choice(SEPARATORS)
        if rng.random() < 0.3:
            line += str(rng.randrange(10 ** rng.randint(1, 12)))
        lines.append(line)
    return lines, "".join(line + rng.choice(LINE_ENDS) for line in rng.sample(lines, 40))


class LlamaCpp:
    def __init__(self, path):
        options = xllamacpp.CommonParams()
        options.model.path = path
        options.n_ctx = 256
        options.n_parallel = 1
        options.warmup = False
        options.cpuparams.n_threads = 1
        self.server = xllamacpp.Server(options)

    def ids(self, text):
        question = {"content": text, "add_special": False, "parse_special": True}
        request = urllib.request.Request(self.server.listening_address + "/tokenize",
                                         json.dumps(question).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["tokens"]


def main():
    lines, text = sample(seed=5, count=200)
    result = {"lines": lines, "text": text, "special": SPECIAL}
    for argument in sys.argv[1:]:
        name, path = argument.split("=", 1)
        model = LlamaCpp(path)
        result[name] = {"lines": [model.ids(line) for line in lines], "text": model.ids(text),
                        "special": [model.ids(line) for line in SPECIAL]}
        print(f"{name}: {sum(map(len, result[name]['lines']))} ids of lines, "
              f"{len(result[name]['text'])} of the text")
    with open(OUTPUT, "w", encoding="ascii") as file:
        json.dump(result, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
