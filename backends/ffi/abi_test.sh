#!/bin/bash
# Compiles abi_check.cc, which compares abi.h with XLA's header, in the wheels of jaxlib and TensorFlow.
set -euo pipefail
python=${XC_PEERS_PYTHON:-}
if [[ -z $python || ! -x $python ]]; then
  echo "SKIPPED: JAX is not installed (third_party/install --peers)"
  exit 0
fi
headers=$("$python" -c 'import importlib.util as u, pathlib as p
for name, path in (("jaxlib", "include"), ("tensorflow", "include")):
    spec = u.find_spec(name)
    if spec and (p.Path(spec.origin).parent / path / "xla/ffi/api/c_api.h").exists():
        print(p.Path(spec.origin).parent / path)')
[[ -n $headers ]] || { echo "SKIPPED: no wheel has xla/ffi/api/c_api.h"; exit 0; }
for folder in $headers; do
  g++ -std=c++20 -fsyntax-only -I. -isystem "$folder" backends/ffi/abi_check.cc
  echo "equal to $folder/xla/ffi/api/c_api.h"
done
