#!/bin/bash
# Runs Python (XC_PYTHON, else the one of .venv) with the package `xla` of the tree on its path.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
runfiles=${BASH_SOURCE[0]}.runfiles/xc
[[ -d $runfiles ]] || runfiles=${RUNFILES_DIR:-$here/..}
export PYTHONPATH=$runfiles/python${PYTHONPATH:+:$PYTHONPATH}
exec "${XC_PYTHON:-$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.venv/bin/python}" "$@"
