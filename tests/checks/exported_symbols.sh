#!/bin/bash
# The core library exports its C API and nothing else: exported_symbols.sh LIBRARY HEADER…
# Each function that the headers declare must be there, and no other symbol.
set -euo pipefail
library=$1
shift
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort -u)
declared=$(cat -- "$@" | grep -v '^ \*' | grep -oE '\bxc_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u)
if [[ $exported != "$declared" ]]; then
  echo "differences between what $library exports (>) and its headers declare (<):"
  diff <(echo "$declared") <(echo "$exported")
  exit 1
fi
echo "$(wc -l <<<"$exported") symbols"
