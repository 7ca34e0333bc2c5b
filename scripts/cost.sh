#!/bin/sh
# Counts instructions. usage: scripts/cost.sh [--check | --limits | --qdiscs], see cost.py.
exec "$(dirname "$0")/cost.py" "$@"
