#!/bin/sh
# Builds the command without its features `lab` and `sim`. Checks its size and its answers about
# the verbs that it lacks.
# Exit codes: 0 ok, 1 failed.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "features.sh: $*" >&2; exit 1; }
target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --release --locked -p taut --no-default-features
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
taut=$work/taut
strip -o "$taut" "$target/release/taut"

bytes=$(wc -c <"$taut")
# As it is released: CI builds without link time optimisation.
if [ "${CARGO_PROFILE_RELEASE_LTO-}" != off ]; then
    [ "$bytes" -le 3200000 ] || fail "$bytes bytes stripped, 3200000 at most"
fi
"$taut" | grep -q '^Usage: taut' || fail "no help without a verb"
for pair in lab:lab sim:sim replay:sim; do
    verb=${pair%:*} feature=${pair#*:} code=0
    "$taut" "$verb" --help 2>"$work/message" || code=$?
    [ "$code" -eq 2 ] || fail "$verb: exit code $code, not 2"
    grep -q "the feature \`$feature\`" "$work/message" || fail "$verb: $(cat "$work/message")"
    if "$taut" --help | grep -q "^  $verb "; then fail "the help lists $verb"; fi
done
echo "without features: $bytes bytes stripped"
