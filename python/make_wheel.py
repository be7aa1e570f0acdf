"""Packs files into a wheel; equal inputs give equal bytes.

usage: make_wheel.py OUT.whl [options] FILE=PATH… | FILE…

FILE is installed at PATH, relative to site-packages; without PATH, at the part of its own path that begins with the name
of the package (the wheel's name). Name, version and tag are those of OUT.whl.

    --summary=TEXT        what the package does, in a line
    --requires=TEXT       a package that it needs (may be repeated)
    --license=FILE
    --command=NAME=ENTRY  a command that runs the function ENTRY
    --libraries=DIR       the shared libraries that the files in DIR's parent need lie at DIR, where their run paths
                          look; not those that every system with a C and C++ program has
"""

import argparse
import base64
import hashlib
import os
import re
import subprocess
import tempfile
import zipfile

# Of the system: the C library's parts, and the C++ library, of which a process must not hold two.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so.*")


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def stripped(path):
    """The bytes of a binary without what only debuggers read."""
    with tempfile.NamedTemporaryFile() as scratch:
        subprocess.run(["strip", "-o", scratch.name, path], check=True)
        return read(scratch.name)


def needed_libraries(paths):
    """Name and file of each shared library that the binaries need, directly or not."""
    found = {}
    for path in paths:
        for line in subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout.splitlines():
            name, _, rest = line.strip().partition(" ")
            if SYSTEM.fullmatch(os.path.basename(name)):
                continue
            file = rest.removeprefix("=> ").rsplit(" (", 1)[0]
            if not os.path.isfile(file):
                raise SystemExit(f"{path} needs {name}, which is not there")
            found[name] = file
    return found


def is_binary(data):
    return data.startswith(b"\x7fELF")


def record_line(place, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{place},sha256={digest},{len(data)}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--summary", required=True)
    parser.add_argument("--requires", action="append", default=[])
    parser.add_argument("--license")
    parser.add_argument("--command", action="append", default=[])
    parser.add_argument("--libraries")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    name, version, tag = re.fullmatch(r"([^-]+)-([^-]+)-(.+)\.whl", os.path.basename(options.out)).groups()
    contents, binaries = {}, []
    for item in options.files:
        file, _, place = item.partition("=")
        place = place or file[file.rindex(f"/{name}/") + 1 :]
        contents[place] = read(file)
        if is_binary(contents[place]):
            binaries.append((place, file))
            contents[place] = stripped(file)
    if options.libraries:
        beside = os.path.dirname(options.libraries) + "/"
        needed = needed_libraries([file for place, file in binaries if place.startswith(beside)])
        for library, file in needed.items():
            contents[f"{options.libraries}/{library}"] = read(file)
    executable = {place for place, data in contents.items() if is_binary(data)}
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {options.summary}\n"
    metadata += "License: Apache-2.0\nRequires-Python: >=3.11\n"
    metadata += "".join(f"Requires-Dist: {required}\n" for required in options.requires)
    contents[f"{info}/METADATA"] = metadata.encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents[f"{info}/WHEEL"] = wheel.encode()
    if options.license:
        contents[f"{info}/LICENSE"] = read(options.license)
    if options.command:
        commands = "".join(" = ".join(command.split("=")) + "\n" for command in options.command)
        contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{commands}".encode()
    record = "".join(record_line(place, data) for place, data in sorted(contents.items()))
    contents[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(options.out, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, data in sorted(contents.items()):
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if place in executable else 0o100644) << 16
            archive.writestr(entry, data)


if __name__ == "__main__":
    main()
