#!/usr/bin/env bash
# Builds the Python wheel and tests it in a fresh virtual environment, with its files alone.
# usage: scripts/python.sh [--ray]    with --ray also a sweep on a local Ray (79 MB to download)
# PYTHON=python3.10 selects another interpreter. TAUT_COMMAND is the command `taut`, whose output a
# sweep must equal.
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
cannot() { echo "python.sh: $*" >&2; exit 77; }

target=${CARGO_TARGET_DIR:-$PWD/target}/python
mkdir -p "$target"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    cannot "no Python 3.10 or later"
# Recreated each time: packages of an earlier run must not affect this one.
rm -rf "$target/tools" "$target/fresh" "$target/wheels"
for environment in tools fresh; do
    "$python" -m venv "$target/$environment" >/dev/null 2>&1 ||
        cannot "no virtual environment can be made"
done
quiet=(--quiet --disable-pip-version-check)
"$target/tools/bin/pip" install "${quiet[@]}" 'maturin>=1.9,<2' || cannot "maturin is not available"

CARGO_TARGET_DIR=$target "$target/tools/bin/maturin" build --quiet --locked --profile quick \
    --manifest-path crates/python/Cargo.toml --out "$target/wheels"
wheel=$(echo "$target"/wheels/taut-*.whl)
"$target/fresh/bin/pip" install "${quiet[@]}" numpy || cannot "numpy is not available"
"$target/fresh/bin/pip" install "${quiet[@]}" "$wheel"

here=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r crates/python/tests crates/python/examples crates/python/README.md "$scratch"
cd "$scratch"
export PYTHONDONTWRITEBYTECODE=1
TAUT_VECTORS=$here/crates/dql/tests/vectors timeout 120 "$target/fresh/bin/python" -m unittest \
    discover -s tests
timeout 120 "$target/fresh/bin/python" examples/figures.py "$scratch/figures" \
    >"$scratch/figures.txt"
[ "$(wc -l <"$scratch/figures.txt")" -gt 10 ] || { cat "$scratch/figures.txt"; exit 1; }
if "$target/fresh/bin/pip" install "${quiet[@]}" mypy; then
    "$target/fresh/bin/python" -m mypy --strict --no-error-summary -p taut
    "$target/fresh/bin/python" -m mypy.stubtest --concise taut
else
    echo "python.sh: left out: mypy is not available" >&2
fi
if [ "${1-}" = --ray ]; then
    "$target/fresh/bin/pip" install "${quiet[@]}" ray || cannot "Ray is not available"
    # Its files, in a temporary home.
    HOME=$scratch timeout 300 "$target/fresh/bin/python" tests/ray_sweep.py
fi
echo "$(basename "$wheel"): tested with $("$target/fresh/bin/python" --version)"
