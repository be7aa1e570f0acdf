"""CUDA's headers, where a toolkit is installed: tests compare our declarations with them. Without one there are none."""

_BUILD = """
cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**", "include/nv/**"], allow_empty = True),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

def _cuda_headers_impl(ctx):
    include = ctx.path("/usr/local/cuda/include")
    if include.get_child("cuda.h").exists:
        ctx.symlink(include, "include")
    else:
        ctx.file("include/none", "")
    ctx.file("BUILD.bazel", _BUILD)

cuda_headers = repository_rule(implementation = _cuda_headers_impl, local = True)
