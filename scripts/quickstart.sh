#!/usr/bin/env bash
# From a bare Debian 12 to a report on a real model: installs, builds, fetches SmolLM2-135M and
# English text, measures where its positional information comes from. Arguments go to `poslens
# analyze`.
set -euo pipefail
cd "$(dirname "$0")/.."

out=results/smollm2
scripts/install-deps.sh build
echo "Building …"
cmake --preset release -DPOSLENS_TESTS=OFF >/dev/null
cmake --build --preset release --target poslens
model=$(scripts/fetch-smollm2.sh)
text=$(scripts/fetch-text.sh)
echo "Analysing …"
mkdir -p "$(dirname "$out")"
# Windows, and not the starts of documents: openings are alike, and where something stands in the text
# would show up as if the model knew positions.
build/release/poslens analyze "$model" --text "$text" --cut windows --length 512 --sequences 16 \
  --out "$out" --force "$@"
echo
echo "The report: $PWD/$out/report.html"
