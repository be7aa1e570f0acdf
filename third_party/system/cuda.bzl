"""CUDA's headers, where a toolkit is installed: a test compares our declarations with them. Without one there are none."""

_BUILD = """
cc_library(
    name = "headers",
    hdrs = glob(["include/**"], allow_empty = True),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

def _cuda_headers_impl(ctx):
    include = ctx.path("/usr/local/cuda/include")
    if include.get_child("cuda.h").exists:
        ctx.symlink(include.get_child("cuda.h"), "include/cuda.h")
    else:
        ctx.file("include/none", "")
    ctx.file("BUILD.bazel", _BUILD)

cuda_headers = repository_rule(implementation = _cuda_headers_impl, local = True)
