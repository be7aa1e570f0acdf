#!/bin/bash
# The C example compiles and runs a module through the core library; broken input gets a message and status 2.
#   c_example.sh RUN_HLO LIBXC.so SMALL.hlo
set -euo pipefail
output=$("$1" "$2" "$3")
echo "$output"
grep -q '^output 0: ' <<<"$output"
broken="${TEST_TMPDIR:-/tmp}/broken.hlo"
echo 'HloModule broken ENTRY e { ROOT a = f32[2] add(b, c) }' >"$broken"
status=0
message=$("$1" "$2" "$broken" 2>&1) || status=$?
echo "$message"
[[ $status == 2 ]] && grep -q 'error: compile:' <<<"$message"
