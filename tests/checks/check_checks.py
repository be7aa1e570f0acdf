"""The checks find what they are for: what is wrong is planted into small sets of sources."""

import sys

import check_files
import check_layers

CASES = []


def case(function):
    CASES.append(function)
    return function


def expect(found, *wanted):
    assert len(found) == len(wanted), found
    for text, part in zip(found, wanted):
        assert part in text, f"{part!r} is not in {text!r}"


@case
def includes_go_down():
    lines = lambda header: ["// Opening.", f'#include "{header}"']
    check = lambda path, header: check_layers.wrong_includes({path: lines(header)})
    expect(check("hlo/text/parser.cc", "hlo/shape_inference/shape_inference.h"))
    expect(check("hlo/shape.cc", "hlo/text/parser.h"), "hlo/shape.cc:2: hlo may not include hlo/text/parser.h")
    expect(check("hlo/text/parser.cc", "importers/stablehlo/stablehlo.h"), "hlo/text may not include")
    expect(check("hlo/builder/builder_compute.cc", "hlo/shape_inference/shape_inference.h"))
    expect(check("hlo/builder/builder.cc", "importers/io.h"), "hlo/builder may not include")
    expect(check("hlo/shape.cc", "hlo/builder/builder.h"), "hlo may not include")
    expect(check("jit/graph/graph.cc", "jit/kernels/kernel.h"), "jit/graph may not include")
    expect(check("jit/host/session.cc", "jit/capi/xc_plugin.h"), "jit/host may not include")
    expect(check("jit/plugin/plugin.cc", "jit/capi/xc_plugin.h"))
    expect(check("jit/graph/graph.cc", "service/client.h"), "jit/graph may not include")
    expect(check("jit/graph/graph_test.cc", "service/client.h"))
    expect(check("compiler/fuse/fuse.cc", "hlo/verifier/verifier.h"))
    expect(check("compiler/pipeline.cc", "compiler/fuse/fuse.h"))
    expect(check("compiler/make.cc", "compiler/fuse/fuse.h"), "compiler/make may not include")
    expect(check("compiler/memory/packing.cc", "compiler/expand/expand.h"), "compiler/memory may not include")
    expect(check("compiler/driver.cc", "backends/backend.h"), "compiler may not include")
    expect(check("backends/cpu/jit.cc", "backends/interpreter/evaluator.h"))
    expect(check("backends/cpu/jit.cc", "backends/interpreter/run.h"), "backends/cpu may not include")
    expect(check("service/client.cc", "llvm/IR/Module.h"), "out of the emitters")
    expect(check("elsewhere/x.cc", "hlo/shape.h"), "in no layer")


@case
def rows_name_what_stands_above():
    expect(check_layers.wrong_rows(check_layers.LAYERS))
    expect(check_layers.wrong_rows({"a": ["b"], "b": []}), "a names b, which does not stand above it")
    expect(check_layers.wrong_rows({"a": ["a"]}), "a names a")


@case
def imports_go_down():
    def check(path, text, **others):
        package = {
            f"python/xla/{name}.py": "" for name in ("__init__", "_hlo", "_ops", "_tracer", "_ufuncs", "_compile")
        }
        package.update({"python/xla/lax/__init__.py": "", "python/xla/lax/loops.py": "", "python/xla/_core.pyi": ""})
        return check_layers.wrong_imports({**package, path: text, **others})

    expect(check("python/xla/_ufuncs.py", "from . import _core, _ops\nfrom ._tracer import Tracer"))
    expect(check("python/xla/lax/loops.py", "from .. import _hlo\nfrom .._tracer import Tracer"))
    above = "python/xla/_tracer.py:2: _tracer may not import _ufuncs, which stands above it"
    expect(check("python/xla/_tracer.py", "import numpy\nfrom . import _ufuncs"), above)
    expect(check("python/xla/_tracer.py", "def f():\n    from ._ufuncs import call"), above)
    expect(check("python/xla/_tracer.py", "def f():\n    from .lax import loops"), "may not import lax")
    expect(check("python/xla/_compile.py", "from .lax.loops import scan"), "_compile may not import lax")
    expect(check("python/xla/_other.py", ""), "_other.py: in no layer")


@case
def imports_do_not_go_round():
    check = lambda **files: check_layers.wrong_imports({f"tests/{name}.py": text for name, text in files.items()})
    expect(check(a="import b", b="import c", c=""))
    expect(
        check(a="import b", b="from c import d", c="def f():\n    import a"), "tests/a.py -> tests/b.py -> tests/c.py"
    )


@case
def files_are_short():
    expect(check_files.wrong_length("hlo/shape.cc", 500))
    expect(check_files.wrong_length("hlo/shape.cc", 501), "hlo/shape.cc: 501 lines, at most 500")
    for path in check_files.LONG_FILES:
        expect(check_files.wrong_length(path, 501))
        expect(check_files.wrong_length(path, 500), "take it out of LONG_FILES")


def main():
    for function in CASES:
        function()
    return 0


if __name__ == "__main__":
    sys.exit(main())
