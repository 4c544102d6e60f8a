#!/usr/bin/env bash
# Puts English prose into the cache and prints its folder: the tutorial, the HOWTOs, the FAQ and the
# release notes of Python in reStructuredText, from the Debian package python3.11-doc. The package is
# unpacked rather than installed, since small images tell dpkg to drop /usr/share/doc. Once there, no
# network is needed.
set -euo pipefail
source "$(dirname "$0")/cache.sh"

text=$cache/python-documentation
if [[ ! -d $text ]]; then
  temporary=$(mktemp -d "$cache/fetch.XXXXXX")
  trap 'rm -rf "$temporary"' EXIT
  echo "Fetching the text (Debian package python3.11-doc) …" >&2
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  apt-cache show python3.11-doc >/dev/null 2>&1 || "${as_root[@]}" apt-get update -qq >&2
  # apt's own download user may not enter the cache folder.
  (cd "$temporary" && apt-get download -qq -o APT::Sandbox::User=root python3.11-doc >&2)
  sources=./usr/share/doc/python3.11/html/_sources
  dpkg-deb --fsys-tarfile "$temporary"/*.deb |
    tar -x -C "$temporary" --strip-components=7 "$sources"/{faq,howto,tutorial,whatsnew}
  rm "$temporary"/*.deb
  chmod 755 "$temporary"
  mv "$temporary" "$text"
  trap - EXIT
fi
echo "$text"
