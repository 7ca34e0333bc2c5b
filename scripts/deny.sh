#!/bin/sh
# Licences, sources and banned crates among the dependencies: deny.toml.
set -eu
cd "$(dirname "$0")/.."
if ! cargo deny --version >/dev/null 2>&1; then
    echo "left out: cargo-deny is not installed (cargo install --locked cargo-deny)"
    exit 77
fi
cargo deny --locked check --hide-inclusion-graph bans licenses sources
