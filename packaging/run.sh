#!/bin/bash
# Runs a script of this folder on the files that Bazel built, with the caller's arguments behind --.
#   run.sh SCRIPT.py FILES… -- ARGUMENTS…
set -euo pipefail
exec python3 "$@"
