#!/bin/sh
# Replays every conformance vector through the C interface on an emulated Cortex-M4 (mps2-an386)
# without an operating system. Needs qemu-system-arm, arm-none-eabi-gcc and Rust's
# thumbv7em-none-eabihf.
# usage: scripts/bare-metal.sh
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
target=thumbv7em-none-eabihf
for tool in qemu-system-arm arm-none-eabi-gcc; do
    command -v "$tool" >/dev/null || { echo "bare-metal.sh: $tool is not here" >&2; exit 77; }
done
rustup target add "$target" >/dev/null 2>&1 ||
    { echo "bare-metal.sh: no standard library for $target" >&2; exit 77; }
cargo build --quiet --locked --release -p taut-dql-capi --no-default-features --target "$target"
library=${CARGO_TARGET_DIR:-target}/$target/release/libtaut_dql_capi.a
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
count=0
cp crates/dql/tests/vectors/* "$dir"
gzip -d "$dir"/*.gz
for operations in "$dir"/*.ops; do
    expected=${operations%.ops}.expected
    arm-none-eabi-gcc -std=c11 -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib \
        -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
        -DOPS="\"$operations\"" -DEXPECTED="\"$expected\"" \
        -I crates/capi/include -T crates/capi/tests/bare/link.ld \
        crates/capi/tests/bare/main.c "$library" -Wl,--gc-sections -Wl,-z,noexecstack -lgcc \
        -o "$dir/program"
    timeout 120 qemu-system-arm -machine mps2-an386 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$dir/program" ||
        { echo "bare-metal.sh: ${operations##*/} failed with $?" >&2; exit 1; }
    count=$((count + 1))
done
size=$(arm-none-eabi-size "$dir/program" | awk 'NR == 2 { print $3 }')
echo "$count vectors agree on a Cortex-M4; data: $size bytes"
