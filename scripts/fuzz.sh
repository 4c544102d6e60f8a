#!/usr/bin/env bash
# Fuzzes one reader for some seconds: fuzz.sh TARGET [SECONDS]. Needs the preset "fuzz" to be built.
# What reaches new code is kept in build/fuzz/corpus/TARGET between runs.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?usage: fuzz.sh TARGET [SECONDS]}
seconds=${2:-600}

corpus=$repository/build/fuzz/corpus/$target
mkdir -p "$corpus"
# Room for the 256 byte tokens that SentencePiece's vocabulary has.
longest=4096
if [[ $target == gguf_tokenizer ]]; then longest=8192; fi
options=(-max_total_time="$seconds" -max_len=$longest -timeout=10 -rss_limit_mb=1024)
dictionary=$repository/tests/fuzz/$target.dict
if [[ -f $dictionary ]]; then options+=(-dict="$dictionary"); fi
exec "$repository/build/fuzz/tests/fuzz/fuzz_$target" "${options[@]}" -print_final_stats=1 \
  "$corpus" "$repository/tests/fuzz/corpus/$target"
