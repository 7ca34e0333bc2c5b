# Busy loops at ordinary priority, for scripts that measure an overloaded machine.

loops=

# Stops only the loops started here, by process id.
stop_loops() {
    for pid in $loops; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    loops=
}

# start_loops COUNT: stops previous loops and starts COUNT new ones.
start_loops() {
    stop_loops
    left=$1
    while [ "$left" -gt 0 ]; do
        sh -c 'while :; do :; done' &
        loops="$loops $!"
        left=$((left - 1))
    done
}
