#!/usr/bin/env bash
# Checks format (clang-format) and code (clang-tidy) of every source file of the project. Needs a
# configured build: lint.sh [build folder, build/release by default].
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}

mapfile -t sources < <(git ls-files '*.h' '*.cc')
clang-format --dry-run --Werror "${sources[@]}"
git ls-files 'src/*.cc' 'tests/*.cc' 'bench/*.cc' ':!tests/package/*' ':!tests/fuzz/fuzzer.cc' |
  xargs --max-procs="$(nproc)" --max-args=2 clang-tidy --quiet -p "$build" 2>/dev/null
echo "Format and lint: clean"
