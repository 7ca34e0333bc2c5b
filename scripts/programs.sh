#!/bin/sh
# Builds the example programs and the command, measures all rows, and writes docs/programs.md. Each
# run is kept in docs/live/programs.json: a stopped script continues. Options are those of
# scripts/programs.py, such as `--runs 1 --seconds 3 --rows '20mbit-*'`. Needs root, ip and tc, and
# an idle machine for about 45 minutes.
# usage: scripts/programs.sh [OPTIONS]
# Exit codes: those of scripts/programs.py.
set -eu
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR="$target"
[ "$(id -u)" -eq 0 ] || { echo "skipped: network namespaces need root" >&2; exit 77; }
cargo build --quiet --release --locked -p taut
for example in tunnel gotatun; do
    cargo build --quiet --release --locked --manifest-path "examples/$example/Cargo.toml"
done
if command -v go >/dev/null; then
    cargo build --quiet --release --locked -p taut-dql-capi
    (cd examples/wireguard-go &&
        CGO_LDFLAGS="-L$target/release" go build -o "$target/release/wireguard-taut" .)
    set -- --program wireguard-go="$target/release/wireguard-taut" "$@"
else
    echo "skipped: wireguard-go needs Go 1.24" >&2
fi
exec scripts/programs.py --record --page --taut "$target/release/taut" \
    --program tunnel="$target/release/tunnel" --program gotatun="$target/release/gotatun-taut" "$@"
