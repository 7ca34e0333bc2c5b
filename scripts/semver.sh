#!/bin/sh
# What changed for users of the libraries since the last release. A report, never a failure: while
# the major version is 0, a minor version may break.
set -eu
cd "$(dirname "$0")/.."
last=$(git tag --list 'v*' --sort=-version:refname | head -n 1)
if [ -z "$last" ]; then
    echo "left out: there is no release to compare with"
    exit 77
fi
if ! cargo semver-checks --version >/dev/null 2>&1; then
    echo "left out: cargo-semver-checks is not installed (cargo install --locked cargo-semver-checks)"
    exit 77
fi
cargo semver-checks --workspace --exclude taut --baseline-rev "$last" ||
    echo "the above is a report: it fails nothing"
