#!/usr/bin/env bash
# Runs every command of a page's ```sh blocks, in order, in a new folder: run_examples.sh PROGRAM
# PAGE. MODEL and TEXT are what the page calls so.
set -euo pipefail
program=$(realpath "$1")
page=$(realpath "$2")
: "${MODEL:?names a model}" "${TEXT:?names a text}"
export MODEL TEXT

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$program" "$folder/bin/poslens"
export PATH="$folder/bin:$PATH"

commands=$(sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$page")
[ -n "$commands" ] || { echo "$page: no commands" >&2; exit 1; }
cd "$folder"
bash -euxo pipefail -c "$commands"
