#!/usr/bin/env bash
# Installs what the checks use beyond cargo, a C compiler and Python, each only where it is missing: mdbook, cargo-deny
# and cargo-deb into DIR (target/tools), and where CI=true also Debian's packages for bare metal and captures, as root.
# Unoptimised, since building them is what takes the time: three minutes on two cores. What cannot be had is named,
# and whatever needs it leaves itself out. Put DIR/bin into PATH.
# usage: scripts/tools.sh [DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${1-$PWD/target/tools}
export PATH=$tools/bin:$PATH

crate() { # crate PROGRAM VERSION [cargo's arguments]; versions that build with the compiler of CONTRIBUTING.md
    local program=$1 version=$2
    shift 2
    ! command -v "$program" >/dev/null || return 0
    echo "installing $program $version"
    CARGO_TARGET_DIR=$tools/build timeout 15m cargo install --quiet --locked --debug --root "$tools" \
        "$program@$version" "$@" 2>/dev/null || echo "tools.sh: no $program can be had" >&2
}
crate mdbook 0.5.4 --no-default-features --features search
crate cargo-deb 3.8.0
crate cargo-deny 0.20.2
rm -rf "$tools/build"

wanted=()
for pair in qemu-system-arm:qemu-system-arm arm-none-eabi-gcc:gcc-arm-none-eabi tshark:tshark valgrind:valgrind; do
    command -v "${pair%%:*}" >/dev/null || wanted+=("${pair##*:}")
done
if [ ${#wanted[@]} -gt 0 ]; then
    if [ "${CI-}" = true ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        echo "installing ${wanted[*]}"
        { DEBIAN_FRONTEND=noninteractive timeout 10m apt-get install -y --no-install-recommends "${wanted[@]}" ||
            { timeout 5m apt-get update &&
                DEBIAN_FRONTEND=noninteractive timeout 10m apt-get install -y --no-install-recommends "${wanted[@]}"; }
        } >/dev/null 2>&1 || echo "tools.sh: not all of ${wanted[*]} can be had" >&2
    else
        echo "not here, and left out: ${wanted[*]}"
    fi
fi
