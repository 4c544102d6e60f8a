#!/usr/bin/env bash
# Installs what the tests need, builds, and runs everything: the unit tests as released, under the
# address and undefined-behaviour sanitizers, the threaded parts under the thread sanitizer, the
# linters, and the checks on real models.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

configure() {
  cmake --preset "$1" -DPOSLENS_TESTS=ON -DPOSLENS_WARNINGS_AS_ERRORS=ON "${@:2}" >/dev/null
}

step "Dependencies"
scripts/install-deps.sh test
POSLENS_SMOLLM2=$(scripts/fetch-smollm2.sh)
POSLENS_GEMMA3=$(scripts/fetch-gemma3.sh)
POSLENS_TEXT=$(scripts/fetch-text.sh)
export POSLENS_SMOLLM2 POSLENS_GEMMA3 POSLENS_TEXT

step "Release build"
configure release -DPOSLENS_BENCHMARKS=ON
cmake --build --preset release

step "Unit tests"
ctest --preset release --label-regex unit --parallel "$(nproc)" --output-on-failure

step "Format and lint"
scripts/lint.sh build/release

step "Address and undefined-behaviour sanitizers"
configure asan
cmake --build --preset asan
ctest --preset asan --label-regex unit --parallel "$(nproc)" --output-on-failure

step "Thread sanitizer"
configure tsan
cmake --build --preset tsan --target test_core test_simulation test_model
OMP_NUM_THREADS=1 ctest --preset tsan --tests-regex '^(core|simulation|model)\.' --output-on-failure

step "Real models, published figures, long runs"
ctest --preset release --label-regex 'real|slow' --output-on-failure
step "Done"
