#!/bin/sh
# Builds the senders over two AF_XDP crates and prints their table: a loop without a queue, as in the
# crate's own examples (plain), compared with a taut queue. Checks the faults by the exit code of
# each run.
#
# usage: scripts/xsk.sh [--runs N] [--packets N] [--record] [LIBRARY...]
#        LIBRARY: xdpilone or xsk-rs [default: both]
#        --record: keeps the runs in docs/live/xsk.jsonl; scripts/stacks.py writes the page from it
# Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 77 cannot run here (root; for xsk-rs: libelf,
# m4 and clang). CLANG names another clang.
set -eu
cd "$(dirname "$0")/.."

runs=7 packets=1000000 libraries= record=
while [ $# -gt 0 ]; do
    case $1 in
        --runs) runs=$2; shift ;;
        --packets) packets=$2; shift ;;
        --record) record=docs/live/xsk.jsonl ;;
        xdpilone | xsk-rs) libraries="$libraries $1" ;;
        *) sed -n '5,9s/^# //p' "$0" >&2; exit 2 ;;
    esac
    shift
done

if [ "$(id -u)" -ne 0 ]; then
    echo "xsk.sh: needs root: skipped" >&2
    exit 77
fi

# libxdp-sys compiles BPF programs; Debian names its clang with a version.
for name in "${CLANG:-clang}" clang clang-19 clang-16 clang-14; do
    command -v "$name" >/dev/null && CLANG=$name && break
done
export CLANG CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

results=$(mktemp)
trap 'rm -f "$results"' EXIT
failed=0 measured=
for library in ${libraries:-xdpilone xsk-rs}; do
    if ! cargo build --quiet --release --locked --manifest-path "examples/$library/Cargo.toml"; then
        [ "$library" = xsk-rs ] || exit 1
        echo "xsk.sh: $library cannot be built here: skipped" >&2
        continue
    fi
    measured="$measured $library"
    sender="$CARGO_TARGET_DIR/release/$(echo "$library" | tr - _)_sender"
    # Alternately, so that a busy machine affects all rows.
    for _ in $(seq "$runs"); do
        for limit in plain dql taut; do
            timeout 300 "$sender" --limit $limit --packets "$packets" --json >>"$results"
        done
    done
    for limit in plain dql taut; do
        timeout 300 "$sender" --limit $limit --rate 100mbit --json >>"$results"
    done
    for fault in completions held removed peer-down stopped; do
        # The plain loop is expected to hang or to lose packets: its exit code is not checked.
        timeout 300 "$sender" --limit plain --fault $fault --json >>"$results" || true
        for limit in dql taut; do
            timeout 300 "$sender" --limit $limit --fault $fault --json >>"$results" || failed=1
        done
    done
done
[ -n "$measured" ] || exit 77
[ -z "$record" ] || cat "$results" >"$record"
scripts/xsk.py "$results"
exit $failed
