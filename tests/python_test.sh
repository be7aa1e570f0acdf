#!/bin/bash
# Runs a Python test with an interpreter that ./test hands over: the one of .venv (XC_PYTHON), or with --peers the one that
# has TensorFlow and JAX (XC_PEERS_PYTHON).
#   python_test.sh [--peers] SCRIPT.py [ARGUMENT…]
# --no-tensorflow alone: the build found no TensorFlow, so that there is nothing to test.
set -euo pipefail
python=${XC_PYTHON:-}
missing="XC_PYTHON is not set (run ./test)"
if [[ $1 == --no-tensorflow ]]; then
  echo "SKIPPED: TensorFlow is not installed (third_party/install --peers)"
  exit 0
fi
if [[ $1 == --peers ]]; then
  shift
  python=${XC_PEERS_PYTHON:-}
  missing="TensorFlow and JAX are not installed (third_party/install --peers)"
fi
if [[ -z $python ]]; then
  echo "SKIPPED: $missing"
  exit 0
fi
exec "$python" "$@"
