"""What make_wheel.py refuses and finds, on files that every machine with the project's packages has.

usage: make_wheel_check.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import wheel_binaries
import wheel_notices

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
MAKE_WHEEL = str(pathlib.Path(__file__).with_name("make_wheel.py"))


def refused(call, *words):
    try:
        call()
    except SystemExit as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(f"not refused: {words}")


def check_needed():
    protobuf = wheel_binaries.needed_libraries([f"{LIBRARIES}/libprotobuf.so.32"])
    assert set(protobuf) == {"libz.so.1"}, protobuf
    assert not wheel_binaries.needed_libraries([f"{LIBRARIES}/libprotobuf.so.32"], ["libz.so.1"])
    # What only a provided library needs is not taken either.
    gfortran = wheel_binaries.needed_libraries([f"{LIBRARIES}/libgfortran.so.5"])
    assert set(gfortran) == {"libquadmath.so.0"}, gfortran


def check_platform():
    assert wheel_binaries.platform_tag([]) == "manylinux_2_17_x86_64"
    versions = wheel_binaries.symbol_versions(f"{LIBRARIES}/libprotobuf.so.32")
    assert versions["GLIBC"] >= (2, 14) and versions["GLIBCXX"] >= (3, 4, 21), versions
    # A C++ library newer than the C library asks for newer systems.
    wheel_binaries.symbol_versions = lambda path: {"GLIBC": (2, 14), "GLIBCXX": (3, 4, 30)}
    assert wheel_binaries.platform_tag(["a"]) == "manylinux_2_35_x86_64"
    wheel_binaries.symbol_versions = lambda path: {"GLIBCXX": (3, 9, 0)}
    refused(lambda: wheel_binaries.platform_tag(["a"]), "GLIBCXX_3.9.0")


def check_notices(folder):
    found = wheel_notices.archives(["-L/usr/lib/llvm-19/lib", "-lLLVMCore", "-lz", "-l:liblapack.a", "-Wl,-x"])
    assert [os.path.basename(path) for path in found] == ["libLLVMCore.a", "liblapack.a"], found
    texts = wheel_notices.debian_notices([*found, f"{LIBRARIES}/libz.so.1"])
    assert {name for name in texts if "/" not in name} == {"lapack.txt", "llvm-toolchain-19.txt", "zlib.txt"}, texts
    stray = pathlib.Path(folder, "stray.so")
    stray.write_bytes(b"\x7fELF")
    refused(lambda: wheel_notices.debian_notices([str(stray)]), "stray.so", "licence")
    header = pathlib.Path(folder, "part.h")
    header.write_text("/**\n * Some Licence\n *\n * of some part\n */\nint x;\n")
    assert wheel_notices.named_notice(str(header)) == "Some Licence\n\nof some part\n"
    header.write_text("int x;\n")
    refused(lambda: wheel_notices.named_notice(str(header)), "part.h")


def check_tag(folder):
    """A wheel whose name promises older systems than its binaries run on is not made."""
    out = os.path.join(folder, "part-1-py3-none-manylinux_2_5_x86_64.whl")
    text = os.path.join(folder, "TEXT")
    pathlib.Path(text).write_text("text\n")
    command = [sys.executable, MAKE_WHEEL, out, "--summary=A part", "--python=>=3.10", f"--readme={text}"]
    command += [f"--license={text}", "--license-expression=MIT", "--libraries=part/libs"]
    done = subprocess.run([*command, f"{LIBRARIES}/libz.so.1=part/a.so"], capture_output=True, text=True)
    assert done.returncode and "manylinux_2_17_x86_64" in done.stderr and not os.path.exists(out), done.stderr


def main():
    check_needed()
    with tempfile.TemporaryDirectory() as folder:
        check_notices(folder)
        check_tag(folder)
    check_platform()
    print("make_wheel.py: ok")


if __name__ == "__main__":
    main()
