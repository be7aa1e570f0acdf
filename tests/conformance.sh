#!/bin/bash
# Runs self-checking programs: conformance.sh XLA SET [--stablehlo] [FLAG…]; all must pass. SET is hlo_conformance or
# more/hlo_conformance, in XC_DATA. With --stablehlo, the same programs as the folder stablehlo beside them has them.
set -euo pipefail
xla=$1
set=$2
shift 2
manifest="${XC_DATA:-}/$set/manifest.tsv"
if [[ ! -f $manifest ]]; then
  echo "SKIPPED: no sample data (XC_DATA/$set)"
  exit 0
fi
if [[ ${1:-} == --stablehlo ]]; then
  programs="$(dirname "$XC_DATA/$set")/stablehlo"
  set -- "--programs=$programs" "${@:2}"
  if [[ ! -d $programs ]]; then
    echo "SKIPPED: no StableHLO programs ($programs)"
    exit 0
  fi
fi
if [[ " $* " == *" --cpu=x86-64-v4 "* ]] && ! grep -qw avx512vl /proc/cpuinfo; then
  echo "SKIPPED: this machine has no AVX-512"
  exit 0
fi
exec "$xla" check "$manifest" "$@"
