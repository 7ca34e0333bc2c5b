#!/usr/bin/env bash
# Boots small guests under emulation, with virtio-net and e1000e, once with Debian 12's kernel and
# once with Debian 13's. Runs traffic between the two cards of a guest, and writes the output of
# `taut show`, `doctor`, `where`, `record` and `set` to docs/live/guest-VERSION.txt. Not part of CI.
#
# Needs root, Debian, and the packages qemu-system-x86, busybox-static, kmod, cpio and xz-utils. The
# kernels come from the mirror that apt uses here, the second through a private apt root. No packet
# leaves a guest: its cards are joined by a hub that ends there. Some five minutes of one core each.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# TAUT names an existing binary.
taut=${TAUT:-}
if [ -z "$taut" ]; then
    cargo build --release --locked -p taut
    taut=${CARGO_TARGET_DIR:-target}/release/taut
fi

# The kernel of a release: its package, unpacked in $work/SUITE.
kernel() {
    local suite=$1 root=$work/apt-$1 mirror
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
    mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial" "$work/$suite"
    touch "$root/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
        >"$root/sources.list"
    local apt=(-o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State="$root/state" -o Dir::Cache="$root/cache" -o Dir::State::status="$root/status"
        -o APT::Sandbox::User=root)
    apt-get "${apt[@]}" -qq update
    local package
    package=$(apt-cache "${apt[@]}" depends linux-image-amd64 | awk '/Depends:/ { print $2; exit }')
    (cd "$work" && apt-get "${apt[@]}" -qq download "$package" &&
        dpkg-deb -x "$package"_*.deb "$suite")
    [ -d "$work/$suite/lib" ] || ln -s usr/lib "$work/$suite/lib"
}

# A root in memory: busybox, taut, and the modules of two cards.
root() {
    local tree=$1 version=$2 root=$3
    mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,lib64,"lib/x86_64-linux-gnu","lib/modules/$version"}
    cp "$(command -v busybox)" "$root/bin/busybox"
    install -m 755 "$repository/scripts/guest/init" "$root/init"
    strip -o "$root/bin/taut" "$taut"
    ldd "$taut" | awk '$3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | while read -r library; do
        cp -L "$library" "$root$(dirname "$library" | sed 's,^/usr,,')/"
    done
    depmod -b "$tree" "$version" || true
    local module
    for module in virtio_net e1000e virtio_pci sch_fq_codel tcp_diag udp_diag; do
        modprobe -S "$version" -d "$tree" --show-depends "$module" | awk '/^insmod/ { print $2 }'
    done | sort -u | while read -r module; do
        cp "$module" "$root/lib/modules/$version/"
    done
    cp "$tree/lib/modules/$version"/modules.{builtin,order} "$root/lib/modules/$version/"
    find "$root/lib/modules" -name '*.xz' -exec xz -d {} +
    depmod -b "$root" "$version"
}

for suite in bookworm trixie; do
    kernel "$suite"
    version=$(ls "$work/$suite/lib/modules")
    root "$work/$suite" "$version" "$work/root-$suite"
    (cd "$work/root-$suite" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/$suite.gz"
    timeout 1200 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -smp 1 -nographic -no-reboot \
        -kernel "$work/$suite/boot/vmlinuz-$version" -initrd "$work/$suite.gz" \
        -append "console=ttyS0 quiet panic=-1" -nic none \
        -netdev hubport,id=left,hubid=0 -device virtio-net-pci,netdev=left,romfile= \
        -netdev hubport,id=right,hubid=0 -device e1000e,netdev=right,romfile= \
        </dev/null >"$work/$suite.out"
    grep -q '^=== END' "$work/$suite.out" || {
        tail -n 30 "$work/$suite.out" >&2
        exit 1
    }
    tr -d '\r' <"$work/$suite.out" | sed -n '/=== BEGIN/,/=== END/p' | sed '1s/.*===/===/' \
        >"docs/live/guest-${version%%[-+]*}.txt"
done
