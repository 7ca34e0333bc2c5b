# Busy loops at ordinary priority, for scripts that measure a machine with too much to do.

loops=

# Only what was started here, by its number.
stop_loops() {
    for pid in $loops; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    loops=
}

# start_loops COUNT: so many, and none of before.
start_loops() {
    stop_loops
    left=$1
    while [ "$left" -gt 0 ]; do
        sh -c 'while :; do :; done' &
        loops="$loops $!"
        left=$((left - 1))
    done
}
