#!/bin/sh
# Checks that the same source gives the same bytes: builds twice, in two directories, without a
# common cache.
#   scripts/reproducible.sh           the libraries for C; about a minute of one core
#   scripts/reproducible.sh taut      the command; some ten minutes of one core
set -eu
cd "$(dirname "$0")/.."
crate="${1:-taut-dql-capi}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
registry="${CARGO_HOME:-$HOME/.cargo}"

build() { # DIR: a clean copy of the source, built there
    mkdir -p "$1"
    git ls-files -z | tar --null --files-from=- -cf - | tar -xf - -C "$1"
    # Without the paths of the build directory and of the registry.
    (cd "$1" && CARGO_TARGET_DIR="$1/target" CARGO_INCREMENTAL=0 \
        RUSTFLAGS="--remap-path-prefix=$1=/taut --remap-path-prefix=$registry=/cargo" \
        cargo build --quiet --release --locked -p "$crate")
}
build "$work/one"
build "$work/a-longer-name/two"

failed=0 compared=0
for file in "$work"/one/target/release/*; do
    case "$file" in *.d | *.rlib) continue ;; esac
    [ -f "$file" ] || continue
    name=$(basename "$file")
    compared=$((compared + 1))
    if cmp -s "$file" "$work/a-longer-name/two/target/release/$name"; then
        sha256sum "$file" | sed "s, .*,  $name,"
    else
        echo "$name differs" >&2
        failed=1
    fi
    # No path of this machine is in the result.
    if grep -aqF "$work" "$file" || grep -aqF "$registry" "$file"; then
        echo "$name names the directory that it was built in" >&2
        failed=1
    fi
done
[ "$compared" -gt 0 ] || { echo "nothing was built" >&2; exit 1; }
exit "$failed"
