#!/usr/bin/env bash
# Measures TCP streams and ping with flent through the kernel's bridge, taut forward and a tunnel,
# in network namespaces of its own. Installs flent and matplotlib into target/tools/flent if flent
# is not in PATH. Needs root, iperf (2), fping, ping and tc; arguments as for flent.py.
# usage: scripts/flent.sh [--short | --write] [--length SECONDS] [--out DIR]
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in iperf fping ping tc ip nsenter; do
    command -v "$program" >/dev/null || { echo "flent.sh: $program is not installed" >&2; exit 77; }
done
unshare --net true 2>/dev/null || { echo "flent.sh: needs root" >&2; exit 77; }
tools=$PWD/target/tools/flent
export PATH=$PATH:$tools/bin
if ! command -v flent >/dev/null; then
    { python3 -m venv "$tools" &&
        timeout 5m "$tools/bin/pip" install --quiet --disable-pip-version-check \
            flent==2.3.0 matplotlib==3.11.2; } >/dev/null 2>&1 || {
        echo "flent.sh: flent cannot be installed" >&2
        exit 77
    }
fi
cargo build --quiet --release --locked -p taut
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/tunnel cargo build --quiet --release --locked \
    --manifest-path examples/tunnel/Cargo.toml
exec scripts/flent.py "$@"
