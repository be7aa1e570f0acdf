#!/bin/bash
# Runs the self-checking programs of XC_DATA/hlo_conformance: conformance.sh XLA [FLAG…]; all must pass.
set -euo pipefail
manifest="${XC_DATA:-}/hlo_conformance/manifest.tsv"
if [[ ! -f $manifest ]]; then
  echo "SKIPPED: no sample data (XC_DATA)"
  exit 0
fi
exec "$1" check "$manifest" "${@:2}"
