#!/bin/sh
# Packs every crate of the workspace in the order of its dependencies, and checks each package by
# itself. Nothing is uploaded.
#   scripts/packages.sh            packs and checks; seconds, and no network
#   scripts/packages.sh --publish  first all steps of `cargo publish` except the upload: queries
#                                  the registry, and builds each crate from its package; minutes
set -eu
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
if [ "${1-}" = --publish ]; then
    cargo publish --workspace --dry-run --locked --allow-dirty
fi
rm -rf "$target/package"
log=$(mktemp)
cargo package --workspace --no-verify --locked --offline --allow-dirty >"$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }
rm "$log"

failed=0
wrong() { echo "$name: $*" >&2; failed=1; }
unpacked="$target/package/look"
mkdir -p "$unpacked"
count=0
for package in "$target"/package/*.crate; do
    name=$(basename "$package" .crate)
    count=$((count + 1))
    tar -xzf "$package" -C "$unpacked"
    for file in README.md LICENSE-MIT LICENSE-APACHE Cargo.toml; do
        [ -f "$unpacked/$name/$file" ] || wrong "no $file"
    done
    for key in description license readme keywords categories rust-version; do
        grep -q "^$key = " "$unpacked/$name/Cargo.toml" || wrong "no $key in Cargo.toml"
    done
    # Files that the source includes must be in the package.
    (cd "$unpacked/$name" &&
        grep -rnoE 'include_(str|bytes)!\("[^"]+"\)|#\[path = "[^"]+"\]' --include='*.rs' . |
        sed -E 's/^([^:]+):[0-9]+:[^"]*"([^"]+)".*/\1 \2/') |
        while read -r source included; do
            [ -e "$unpacked/$name/$(dirname "$source")/$included" ] ||
                echo "$source includes $included"
        done >"$unpacked/missing"
    while read -r line; do wrong "$line, which is not packed"; done <"$unpacked/missing"
done
rm -rf "$unpacked"
[ "$count" -gt 0 ] || { echo "nothing was packed" >&2; exit 1; }
[ "$failed" -eq 0 ] || exit 1
echo "$count packages, each with its README, licences and included files"
