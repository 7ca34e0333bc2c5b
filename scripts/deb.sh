#!/bin/sh
# Builds a Debian package of the command, with its man pages, completions and systemd unit. Installs
# it into a root of its own, uses it there, removes it, and checks that no file remains.
# Needs cargo-deb and dpkg.
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
skip() { echo "left out: $*"; exit 77; }
fail() { echo "deb.sh: $*" >&2; exit 1; }
cargo deb --version >/dev/null 2>&1 ||
    skip "cargo-deb is not installed (cargo install --locked cargo-deb)"
command -v dpkg >/dev/null || skip "dpkg is not here"
target="${CARGO_TARGET_DIR:-target}"
mkdir -p target "$target"
target=$(cd "$target" && pwd)

cargo build --quiet --release --locked -p taut
rm -rf target/manual
"$target/release/taut" manual target/manual 2>/dev/null
rm -rf "$target/debian"
cargo deb --quiet --no-build --strip --locked -p taut >/dev/null
package=$(ls "$target"/debian/taut_*.deb)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 1' HUP INT TERM

mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
# The root has none of the dependencies, and no shell for maintainer scripts: these run outside, on
# the root's files.
dpkg_in() {
    dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless \
        --log=/dev/null "$@" 2>"$root/said" ||
        { cat "$root/said" >&2; return 1; }
}
files() { find "$root/usr" "$root/etc" "$root/lib" ! -type d 2>/dev/null | sort; }

files >"$root/before"
dpkg_in --install "$package" >/dev/null
"$root/usr/bin/taut" --version
"$root/usr/bin/taut" sim --list | grep -q rr-under-load
for wanted in usr/share/man/man1/taut.1.gz usr/share/man/man1/taut-doctor.1.gz \
    usr/share/bash-completion/completions/taut usr/share/zsh/vendor-completions/_taut \
    usr/share/fish/vendor_completions.d/taut.fish usr/share/doc/taut/copyright; do
    [ -s "$root/$wanted" ] || fail "$wanted is not in the package"
done
unit=$(find "$root/usr/lib/systemd" "$root/lib/systemd" -name taut-exporter.service 2>/dev/null |
    head -n 1)
[ -n "$unit" ] || fail "the package has no systemd unit"
[ ! -e "$root/etc/systemd/system/multi-user.target.wants/taut-exporter.service" ] ||
    fail "the unit was enabled"
bash -n "$root/usr/share/bash-completion/completions/taut"
if command -v man >/dev/null; then
    man --warnings -l "$root/usr/share/man/man1/taut-forward.1.gz" >/dev/null 2>"$root/man-said"
    [ ! -s "$root/man-said" ] || { cat "$root/man-said" >&2; fail "man warns about the page"; }
fi
dpkg_in --purge taut >/dev/null
files >"$root/after"
cmp -s "$root/before" "$root/after" ||
    { diff "$root/before" "$root/after" >&2; fail "files were left"; }
size=$(du -k "$package" | cut -f1)
echo "$(basename "$package"): $size KB, installed, used and removed"
