#!/bin/sh
# Installs the C libraries as a distribution would (cargo-c: shared and static library, header,
# pkg-config file) into a directory of its own, and builds programs against that alone, shared and
# static.
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
skip() { echo "left out: $*"; exit 77; }
fail() { echo "cinstall.sh: $*" >&2; exit 1; }
cargo cinstall --version >/dev/null 2>&1 ||
    skip "cargo-c is not installed (cargo install --locked cargo-c)"
command -v pkg-config >/dev/null || skip "pkg-config is not here"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 1' HUP INT TERM

# The C flags of the project's tests.
strict="-std=c11 -Wall -Wextra -Werror -pedantic"
cargo cinstall --release --locked -p taut-dql-capi --prefix=/usr --libdir=/usr/lib \
    --destdir="$root" >"$root/said" 2>&1 || { cat "$root/said" >&2; exit 1; }
export PKG_CONFIG_PATH="$root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
for file in usr/include/taut.h usr/lib/libtaut.a usr/lib/libtaut.so usr/lib/pkgconfig/taut.pc; do
    [ -s "$root/$file" ] || fail "$file was not installed"
done
# While the major version is 0, the minor version is the one that breaks.
soname=$(objdump -p "$root/usr/lib/libtaut.so" | sed -n 's/ *SONAME *//p')
[ "$soname" = libtaut.so.0.1 ] || fail "the shared library calls itself $soname"
[ "$(pkg-config --modversion taut)" = "$(cargo pkgid -p taut-dql-capi | sed 's/.*[#@]//')" ] ||
    fail "taut.pc has another version"

for program in detectors limits misuse queue registered; do
    # Word lists.
    # shellcheck disable=SC2046,SC2086
    cc $strict -Icrates/capi/tests/c "crates/capi/tests/c/$program.c" \
        $(pkg-config --cflags --libs taut) -o "$root/shared"
    LD_LIBRARY_PATH="$root/usr/lib" "$root/shared" || fail "$program, shared"
    readelf -d "$root/shared" | grep -q 'libtaut.so' ||
        fail "$program is not linked with the shared library"
    # shellcheck disable=SC2046,SC2086
    cc $strict -Icrates/capi/tests/c "crates/capi/tests/c/$program.c" $(pkg-config --cflags taut) \
        "$root/usr/lib/libtaut.a" \
        $(pkg-config --static --libs taut | sed 's/-ltaut//') -o "$root/static"
    "$root/static" || fail "$program, static"
done
(cd "$root" && find usr -type f -o -type l | sort)
