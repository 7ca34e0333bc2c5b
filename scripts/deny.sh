#!/bin/sh
# Licences, sources and banned crates among the dependencies: deny.toml.
set -eu
cd "$(dirname "$0")/.."
if ! cargo deny --version >/dev/null 2>&1; then
    echo "left out: cargo-deny is not installed (cargo install --locked cargo-deny)"
    exit 77
fi
cargo deny --locked check --hide-inclusion-graph bans licenses sources
# A workspace of its own; none of it compiles C, so the exception for that is not met.
cargo deny --locked --manifest-path crates/python/Cargo.toml --config deny.toml check \
    --hide-inclusion-graph --allow unused-wrapper bans licenses sources
