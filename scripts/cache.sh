# Sourced by the scripts that fetch: where fetched things stay.
cache=${POSLENS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/poslens}
mkdir -p "$cache"
