# Sourced by the scripts that fetch: where fetched things stay.
cache=${POSLENS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/poslens}
mkdir -p "$cache"

# cached NAME SHA-256 TITLE MAKE: prints the path of a file in the cache. Where it is not there, or is
# another one, `MAKE FOLDER` puts it into a temporary folder first.
cached() {
  local name=$1 checksum=$2 title=$3 make=$4
  local file=$cache/$name
  if [[ ! -f $file ]] || ! has_checksum "$file" "$checksum"; then
    temporary=$(mktemp -d "$cache/fetch.XXXXXX")
    trap 'rm -rf "$temporary"' EXIT
    echo "Fetching $title …" >&2
    "$make" "$temporary"
    if ! has_checksum "$temporary/$name" "$checksum"; then
      echo "$(basename "$0"): $name: expected SHA-256 $checksum, found" \
        "$(sha256sum "$temporary/$name" | cut -d' ' -f1)" >&2
      exit 1
    fi
    mv "$temporary/$name" "$file"
  fi
  echo "$file"
}

has_checksum() { echo "$2  $1" | sha256sum --check --status; }
