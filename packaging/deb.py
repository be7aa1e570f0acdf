"""Makes a Debian package of an installation. Run by `third_party/bazel run //:deb -- OUT.deb`.

usage: deb.py FILES… -- OUT.deb [--uncompressed]
"""

import os
import re
import subprocess
import sys
import tempfile

import install

CONTROL = """Package: xc
Version: {version}
Architecture: amd64
Maintainer: The xc authors <xc@localhost>
Installed-Size: {size}
Depends: {depends}
Recommends: libdnnl2
Section: libdevel
Priority: optional
Description: compact compiler for tensor programs
 Compiles programs in HLO and StableHLO to native code: the command xla,
 a library with a C and a C++ interface, and a library that only runs
 programs that were compiled ahead of time.
"""


def package_of(library):
    """The Debian package that a file belongs to, with the least version that will do: the one here."""
    # Before and after /lib became a link to /usr/lib, packages say either.
    real = os.path.realpath(library)
    for path in (library, real, real.removeprefix("/usr"), "/usr" + real):
        done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if done.returncode == 0:
            name = done.stdout.partition(":")[0]
            version = subprocess.run(
                ["dpkg-query", "-W", "-f=${Version}", name], check=True, capture_output=True, text=True
            ).stdout
            # Rebuilt packages (+b1) and security updates have what this one has.
            return name, re.sub(r"\+b\d+$", "", version)
    raise SystemExit(f"{library} belongs to no Debian package")


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    files = install.by_name(os.path.abspath(path) for path in sys.argv[1:at])
    arguments = [argument for argument in sys.argv[at + 1 :] if argument != "--"]
    compression = "-Znone" if "--uncompressed" in arguments else "-Zgzip"
    arguments = [argument for argument in arguments if argument != "--uncompressed"]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        raise SystemExit("usage: third_party/bazel run //:deb -- OUT.deb")
    out = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd()), arguments[0])
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        root = install.install(files, "/usr", scratch)
        libraries = install.needed_libraries([files["libxc.so"], files["libxcrt.so"]])
        packages = dict(package_of(file) for file in libraries.values())
        depends = [f"{name} (>= {version})" for name, version in sorted(packages.items())]
        depends += ["libc6 (>= 2.36)", "libstdc++6 (>= 12)"]
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(root) for name in names)
        control = CONTROL.format(version=install.VERSION, size=size // 1024, depends=", ".join(depends))
        install.place(scratch, "DEBIAN/control", control)
        subprocess.run(
            ["dpkg-deb", compression, "--root-owner-group", "--build", scratch, out],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    print(f"made {out}: {os.path.getsize(out) / 2**20:.1f} MiB; depends on {', '.join(depends)}")


if __name__ == "__main__":
    main()
