#!/bin/bash
# Tries the Debian package and the runtime where nothing else is: in two minimal Debian 12 systems made by debootstrap.
#   third_party/bazel run //:deb -- /tmp/xc.deb
#   third_party/bazel run //:install -- /tmp/xc_bundle --bundle
#   packaging/bare_root.sh /tmp/xc.deb /tmp/xc_bundle
# In the first one the package is installed, the C++ example finds it by CMake, compiles a module, runs it and prints its
# profile, and a model is compiled ahead of time. In the second one, which has neither the compiler nor the libraries
# that the package depends on, the C example runs that model with the runtime library of the bundle.
# Needs root, debootstrap and the network; takes about five minutes.
set -euo pipefail
(($# == 2)) || { sed -n '2,9s/^# \?//p' "$0" >&2; exit 2; }
package=$(realpath "$1") bundle=$(realpath "$2")
work=$(mktemp -d)
trap 'umount "$work/first/proc" 2>/dev/null || true; rm -rf "$work"' EXIT

say() { echo "bare_root: $*" >&2; }
for name in first second; do
  say "making the $name system"
  debootstrap --variant=minbase bookworm "$work/$name" >"$work/$name.log" || { tail -5 "$work/$name.log" >&2; exit 1; }
done

say "installing the package, CMake and a compiler"
first=$work/first
cp "$package" "$first/root/xc.deb"
cp /etc/resolv.conf "$first/etc/resolv.conf"
mount -t proc proc "$first/proc"
chroot "$first" sh -euc '
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends /root/xc.deb cmake g++ make
' >"$work/install.log" 2>&1 || { tail -5 "$work/install.log" >&2; exit 1; }

say "the examples"
chroot "$first" sh -euc '
  cd /root
  xla --version
  for language in cpp c; do
    cmake -S /usr/share/doc/xc/examples/$language -B $language >/dev/null
    cmake --build $language >/dev/null
  done
  cpp/compile_and_run
  c/run_linked
  xla compile /usr/share/doc/xc/examples/c/layer.hlo -o layer.xcp
'

say "the runtime alone"
app=$work/second/opt/app
mkdir -p "$app"
cp -a "$bundle/lib" "$app/"
rm "$app/lib/libxc.so"
cp "$first/root/c/run_program" "$first/root/layer.xcp" "$app/"
chroot "$work/second" sh -euc 'cd /opt/app; LD_LIBRARY_PATH=lib ./run_program layer.xcp'
say "all of it ran"
