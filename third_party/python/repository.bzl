"""Headers and sources that Python extensions are built with: CPython's, nanobind's and NumPy's, all those of .venv."""

_QUESTION = "; ".join([
    "import nanobind, numpy, sys, sysconfig",
    "print(nanobind.__path__[0])",
    "print(numpy.get_include())",
    "print(sysconfig.get_paths()['include'])",
    "print('cp%d%d' % sys.version_info[:2])",
    "import importlib.metadata as metadata",
    "print(metadata.distribution('nanobind').locate_file('nanobind-%s.dist-info' % nanobind.__version__))",
])

_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["nanobind_license/LICENSE", "nanobind/ext/robin_map/include/tsl/robin_map.h"])

cc_library(
    name = "headers",
    hdrs = glob(["python_include/**/*.h", "numpy_include/**/*.h"]),
    includes = ["python_include", "numpy_include"],
)

cc_library(
    name = "nanobind",
    srcs = ["nanobind/src/nb_combined.cpp"],
    hdrs = glob(["nanobind/include/**/*.h"]),
    textual_hdrs = glob(["nanobind/src/*.h", "nanobind/src/*.cpp", "nanobind/ext/**/*.h"]),
    copts = ["-fvisibility=hidden", "-fno-strict-aliasing", "-DNDEBUG", "-DNB_COMPACT_ASSERTIONS", "-w"],
    includes = ["nanobind/include", "nanobind/ext/robin_map/include"],
    deps = [":headers"],
)
"""

def _python_headers_impl(ctx):
    root = ctx.path(Label("//:WORKSPACE")).dirname
    python = root.get_child(".venv").get_child("bin").get_child("python")
    if not python.exists:
        fail("there is no .venv: run third_party/install first")
    found = ctx.execute([python, "-c", _QUESTION])
    if found.return_code != 0:
        fail("nanobind or NumPy is missing from .venv: run third_party/install\n" + found.stderr)
    nanobind, numpy, python_include, tag, nanobind_info = found.stdout.strip().split("\n")
    if not ctx.path(python_include).get_child("Python.h").exists:
        # A virtual environment may belong to a Python whose headers are a package of their own.
        fail("no Python.h in " + python_include + ": install the headers of .venv's Python (python3-dev)")
    ctx.symlink(nanobind, "nanobind")
    ctx.symlink(nanobind_info + "/licenses", "nanobind_license")
    ctx.symlink(numpy, "numpy_include")
    ctx.symlink(python_include, "python_include")
    ctx.file("WORKSPACE", "workspace(name = \"python_headers\")\n")
    ctx.file("BUILD", _BUILD)
    version = "%s.%s" % (tag[2], tag[3:])
    ctx.file("tag.bzl", "PYTHON_TAG = \"%s\"\nPYTHON_VERSION = \"%s\"\n" % (tag, version))

python_headers = repository_rule(implementation = _python_headers_impl, local = True)
