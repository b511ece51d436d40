# Sourced by the scripts beside it: where things are.
set -euo pipefail
shopt -s inherit_errexit
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=${tools%/tests/tools}
cache=${BLACKWELL_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/blackwell-inference}
export PIP_CACHE_DIR=$cache/pip

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The key of a cache folder: what must be equal for its content to be of use.
key() { sha256sum | cut -c1-16; }

# One at a time: two checkouts may ask the cache for the same folder at once. Held until the script ends.
lock() {
    mkdir -p "$cache"
    exec 9>"$cache/$1.lock"
    flock 9
}
