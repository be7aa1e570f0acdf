#!/bin/bash
# What Bazel asks before each build (--workspace_status_command): the commit, for builds with --stamp.
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null) || commit=
if [[ -n $commit ]] && [[ -n $(git -C "$root" status --porcelain --untracked-files=no 2>/dev/null) ]]; then
  commit+=" with changes"
fi
echo "STABLE_XC_COMMIT $commit"
