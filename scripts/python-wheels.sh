#!/usr/bin/env bash
# Builds the Python wheels of a release, for x86-64 and arm64, glibc (2.17 and later) and musl, on
# any machine with rustup and pip: zig links them. usage: scripts/python-wheels.sh DIR
# Exit codes: 0 all were built, 1 some were not, 77 cannot run here.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: scripts/python-wheels.sh DIR" >&2; exit 2; }
mkdir -p "$1"
wheels=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
cannot() { echo "python-wheels.sh: $*" >&2; exit 77; }

target=${CARGO_TARGET_DIR:-$PWD/target}/python
mkdir -p "$target"
"${PYTHON:-python3}" -m venv "$target/release" >/dev/null 2>&1 ||
    cannot "no virtual environment can be made"
"$target/release/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' ziglang ||
    cannot "maturin and zig are not available"
# maturin looks for zig beside its own Python.
export PATH=$target/release/bin:$PATH
failed=0
for built in x86_64-unknown-linux-gnu:manylinux2014 x86_64-unknown-linux-musl:musllinux_1_2 \
    aarch64-unknown-linux-gnu:manylinux2014 aarch64-unknown-linux-musl:musllinux_1_2; do
    triple=${built%%:*}
    if rustup target add "$triple" >/dev/null 2>&1 &&
        CARGO_TARGET_DIR=$target maturin build --quiet --release --locked --zig --target "$triple" \
            --compatibility "${built##*:}" --manifest-path crates/python/Cargo.toml \
            --out "$wheels"; then
        echo "built for $triple"
    else
        echo "python-wheels.sh: not built for $triple" >&2
        failed=1
    fi
done
exit $failed
