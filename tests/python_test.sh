#!/bin/bash
# Runs a Python test with the interpreter that ./test hands over (XC_PYTHON: the one of .venv).
#   python_test.sh SCRIPT.py [ARGUMENT…]
set -euo pipefail
if [[ -z ${XC_PYTHON:-} ]]; then
  echo "SKIPPED: XC_PYTHON is not set (run ./test)"
  exit 0
fi
exec "$XC_PYTHON" "$@"
