"""The TensorFlow wheel of a virtual environment as a repository: its headers and libraries, or, where it is not
installed, an empty one whose AVAILABLE is False."""

def _tensorflow_wheel_impl(ctx):
    root = ctx.path(Label("//:WORKSPACE")).dirname
    found = None
    lib = root.get_child(ctx.attr.environment).get_child("lib")
    if lib.exists:
        for python in lib.readdir():
            candidate = python.get_child("site-packages").get_child("tensorflow")
            if candidate.get_child("include").get_child("tensorflow").get_child("c").exists:
                found = candidate
    ctx.file("defs.bzl", "AVAILABLE = %s\n" % (found != None))
    if found == None:
        ctx.file("BUILD.bazel", "")
        return
    ctx.symlink(found.get_child("include"), "include")
    for name in ["libtensorflow_framework.so.2", "libtensorflow_cc.so.2", "THIRD_PARTY_NOTICES.txt"]:
        if found.get_child(name).exists:
            ctx.symlink(found.get_child(name), name)
    ctx.file("BUILD.bazel", """
exports_files(glob(["THIRD_PARTY_NOTICES.txt"]))

# With the copies of Abseil, Eigen and protobuf that the wheel brings.
cc_library(
    name = "cc_api",
    hdrs = glob(["include/%s/**" % folder for folder in [
        "Eigen", "absl", "google", "ml_dtypes", "tensorflow", "third_party", "tsl", "unsupported", "xla",
    ]]),
    srcs = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"],
    includes = ["include"],
    visibility = ["//visibility:public"],
)

# The C interface of XLA's plugins alone.
cc_library(
    name = "pjrt_c_api",
    hdrs = glob([
        "include/xla/backends/profiler/plugin/*.h",
        "include/xla/ffi/api/*.h",
        "include/xla/pjrt/c/*.h",
    ]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
""")

tensorflow_wheel = repository_rule(
    implementation = _tensorflow_wheel_impl,
    local = True,
    attrs = {"environment": attr.string(mandatory = True, doc = "a folder at the root of the workspace")},
)
