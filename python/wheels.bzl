"""A wheel with all that make_wheel.py wants of it."""

VERSION = "0.1.0"

# The oldest systems whose C and C++ libraries have what Debian 12's compiler uses; make_wheel.py checks it.
PLATFORM = "manylinux_2_36_x86_64"

# The project's own, and those of what is linked into or packed beside its libraries: LLVM; Abseil; protobuf, LAPACK,
# RE2, zstd, nanobind; FarmHash; zlib; GCC's run-time libraries.
LICENSES = " AND ".join([
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "MIT",
    "Zlib",
    "GPL-3.0-or-later WITH GCC-exception-3.1",
    "LGPL-2.1-or-later",
])

def wheel(name, package, tag, files, options, srcs = [], folder = "", tags = []):
    """Packs the wheel of `package`.

    files: arguments of make_wheel.py; options: further ones; srcs: the labels that both of them name.
    """
    native.genrule(
        name = name,
        srcs = srcs + [
            "//:LICENSE",
            "//:README.md",
            "//:libxc_options",
            "//python:make_wheel.py",
            "//python:wheel_binaries.py",
            "//python:wheel_notices.py",
        ],
        outs = ["{}{}-{}-{}-{}.whl".format(folder, package, VERSION, tag, PLATFORM)],
        cmd = " ".join([
            "python3 $(location //python:make_wheel.py) $@",
            "--libraries=%s/libs" % package,
            "--license=$(location //:LICENSE)",
            "'--license-expression=%s'" % LICENSES,
            "--linked=$(location //:libxc_options)",
            "--readme=$(location //:README.md)",
        ] + ["'%s'" % option for option in options] + files),
        tags = tags,
        visibility = ["//visibility:public"],
    )
