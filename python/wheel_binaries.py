"""What a wheel must know of shared libraries: what they need, the system that can load them, their bytes without what
only debuggers read."""

import re
import subprocess
import tempfile

# Of the system: the C library's parts, and the C++ library, of which a process must not hold two.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so.*")

# The C++ library that a system with this C library has at least: what the tags manylinux_2_N promise.
CXX_LIBRARIES = {
    (2, 17): (3, 4, 19),
    (2, 24): (3, 4, 22),
    (2, 27): (3, 4, 24),
    (2, 28): (3, 4, 24),
    (2, 31): (3, 4, 28),
    (2, 34): (3, 4, 29),
    (2, 35): (3, 4, 30),
    (2, 36): (3, 4, 30),
    (2, 38): (3, 4, 32),
    (2, 39): (3, 4, 33),
}


def is_binary(data):
    return data.startswith(b"\x7fELF")


def stripped(path):
    """The bytes of a binary without what only debuggers read."""
    with tempfile.NamedTemporaryFile() as scratch:
        subprocess.run(["strip", "-o", scratch.name, path], check=True)
        with open(scratch.name, "rb") as stream:
            return stream.read()


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_names(path):
    """The libraries that a binary itself names."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", output("readelf", "-dW", path))


def needed_libraries(paths, provided=()):
    """Name and file of each shared library that the binaries need, directly or not, but for those of the system and the
    `provided` ones, which another package has loaded before, and what only those need."""
    found, todo = {}, list(paths)
    while todo:
        path = todo.pop()
        wanted = [name for name in needed_names(path) if not SYSTEM.fullmatch(name) and name not in provided]
        if not wanted:
            continue
        places = dict(re.findall(r"^\s*(\S+) => (/.*) \(0x", output("ldd", path), re.MULTILINE))
        for name in wanted:
            if name not in places:
                raise SystemExit(f"{path} needs {name}, which is not there")
            if name not in found:
                found[name] = places[name]
                todo.append(places[name])
    return found


def symbol_versions(path):
    """The newest version of each library's symbols that a binary needs: {"GLIBC": (2, 34), …}."""
    newest = {}
    for library, version in re.findall(r"Name: ([A-Z]+)_([0-9.]+)\s+Flags", output("readelf", "-VW", path)):
        numbers = tuple(int(part) for part in version.split("."))
        newest[library] = max(newest.get(library, ()), numbers)
    return newest


def platform_tag(paths):
    """The oldest systems that have all that the binaries need."""
    glibc, cxx = (2, 17), ()
    for path in paths:
        versions = symbol_versions(path)
        glibc = max(glibc, versions.get("GLIBC", ()))
        cxx = max(cxx, versions.get("GLIBCXX", ()))
    fitting = [system for system, library in CXX_LIBRARIES.items() if library >= cxx]
    if not fitting:
        raise SystemExit(f"no system is known that has GLIBCXX_{'.'.join(map(str, cxx))}")
    return "manylinux_%d_%d_x86_64" % max(glibc, min(fitting))
