#!/bin/sh
# Sends over AF_XDP into a shaper of 50 Mbit/s, in a network namespace of its own. Prints the limit
# and the bytes in flight before and after `taut send` is stopped for 1 s (SIGSTOP), and after the
# link is down for 1 s. Needs root; takes about 15 s.
# usage: scripts/ring-pause.sh [LIMIT [DRIVER]]
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -gt 2 ]; then
    echo "usage: scripts/ring-pause.sh [LIMIT [DRIVER]]" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
netns=taut-pause-$$
ip netns add "$netns" 2>/dev/null || {
    echo "ring-pause: cannot create a network namespace" >&2
    exit 77
}
send=
trap '[ -z "$send" ] || kill "$send" 2>/dev/null || true; ip netns del "$netns"' EXIT
trap 'exit 1' HUP INT TERM

# The shaper is on a veth below a macvlan: AF_XDP bypasses the discipline of its own device.
ip -n "$netns" link add shaped type veth peer name far
ip -n "$netns" link set shaped up
ip -n "$netns" link set far up
ip netns exec "$netns" tc qdisc add dev shaped root tbf rate 50mbit burst 10k limit 4m
ip -n "$netns" link add link shaped name upper type macvlan mode bridge
ip -n "$netns" link set upper up

show() {
    ip netns exec "$netns" "$taut" show upper -j | python3 -c '
import json, sys
row = json.load(sys.stdin)["rows"][0]
text = "{:<24} limit {:>8,}   in flight {:>8,}"
print(text.format(sys.argv[1], row["limit"], row["inflight"]))' "$1"
}

"$taut" send -n "$netns" upper --driver "${2:-af_xdp}" --limit "${1:-taut}" --stall-threshold 3s \
    --duration 13s &
send=$!
sleep 4
show "after 4 s"
kill -STOP "$send"
sleep 1
kill -CONT "$send"
sleep 0.1
show "0.1 s after a pause"
sleep 0.9
show "1 s after a pause"
sleep 2
show "3 s after a pause"
ip -n "$netns" link set shaped down
sleep 1
ip -n "$netns" link set shaped up
sleep 1
show "1 s after a link flap"
wait "$send"
