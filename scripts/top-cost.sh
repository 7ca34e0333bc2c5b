#!/bin/sh
# Measures the cost of `taut top`: CPU time over ten seconds with 64 queues of a tree instead of
# /sys, in per cent of a core. The target is below 3. Needs tmux.
# usage: scripts/top-cost.sh
# Exit codes: 0 ok, 1 failed, 3 above the target, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
command -v tmux >/dev/null || { echo "top-cost.sh: tmux is not here" >&2; exit 77; }
cargo build --quiet --release --locked -p taut
taut=$PWD/${CARGO_TARGET_DIR:-target}/release/taut
case ${CARGO_TARGET_DIR:-} in /*) taut=$CARGO_TARGET_DIR/release/taut ;; esac
dir=$(mktemp -d)
socket=taut-cost-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

for device in eth0 eth1 eth2 eth3; do
    at=$dir/class/net/$device
    mkdir -p "$at/device" "$at/statistics"
    echo 0x1003 >"$at/flags"
    echo 0x1af4 >"$at/device/vendor"
    echo 1000 >"$at/speed"
    echo 1500 >"$at/mtu"
    echo 7 | tee "$at/statistics/tx_packets" >"$at/statistics/tx_bytes"
    for queue in $(seq 0 15); do
        limits=$at/queues/tx-$queue/byte_queue_limits
        mkdir -p "$limits"
        for file in limit=40000 inflight=2000 limit_min=0 limit_max=1879048192 hold_time=1000 \
            stall_thrs=0 stall_cnt=0 stall_max=0; do
            echo "${file#*=}" >"$limits/${file%=*}"
        done
    done
done

tmux -f /dev/null -L "$socket" new-session -d -x 120 -y 40 "exec $taut top --sysfs $dir"
process=$(tmux -L "$socket" list-panes -F '#{pane_pid}')
ticks() { awk '{ print $14 + $15 }' "/proc/$process/stat"; }
sleep 2
before=$(ticks)
sleep 10
after=$(ticks)
tmux -L "$socket" capture-pane -p | head -1
awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN {
    percent = 100 * ticks / hz / 10
    printf "taut top with 64 queues: %.1f %% of a core\n", percent
    exit percent < 3 ? 0 : 3
}'
