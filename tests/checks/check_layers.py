"""Includes and imports go only down the layers, whatever Bazel's sandbox and Python let through; no Python files import each
other in a circle; LLVM's headers stay inside the emitters."""

import ast
import re
import sys

from files import list_files, read_lines

# Layer -> layers whose headers it may include, besides its own. Each names only layers above it, so that nothing goes
# round. A layer is a folder, or the files of it whose names begin so, and the longest that fits counts. A folder named
# by what stands outside of it means all that is in it; "" means everything.
LAYERS = {
    "proto": [],
    "hlo/base": [],
    "hlo": ["hlo/base"],
    "hlo/shape_inference": ["hlo", "hlo/base"],
    "hlo/devices": ["hlo", "hlo/base"],
    "hlo/text": ["hlo/devices", "hlo/shape_inference", "hlo", "hlo/base"],
    "hlo/verifier": ["hlo/shape_inference", "hlo", "hlo/base"],
    "hlo/wire": ["hlo/text", "hlo/devices", "hlo", "hlo/base", "proto"],
    "hlo/builder": ["hlo/shape_inference", "hlo", "hlo/base"],
    "hlo/symbolic": ["hlo/verifier", "hlo/text", "hlo/shape_inference", "hlo", "hlo/base"],
    "hlo/unknown_sizes": ["hlo/verifier", "hlo/shape_inference", "hlo", "hlo/base"],
    "hlo/analysis": ["hlo", "hlo/base"],
    "importers/stablehlo": ["hlo"],
    "importers": ["importers/stablehlo", "hlo", "proto"],
    "compiler/decision": [],
    "compiler/pass": ["hlo"],
    "compiler/make": ["hlo"],
    "compiler/cost_analysis": ["hlo"],
    "compiler/memory": ["compiler/pass", "compiler/make", "hlo"],
    "compiler/sharding": ["compiler/make", "hlo"],
    "compiler/simplify": ["compiler/cost_analysis", "compiler/pass", "compiler/make", "hlo"],
    "compiler/expand": ["compiler/simplify", "compiler/memory", "compiler/pass", "compiler/make", "hlo"],
    "compiler/fuse": [
        "compiler/memory",
        "compiler/cost_analysis",
        "compiler/pass",
        "compiler/make",
        "compiler/decision",
        "hlo",
    ],
    "compiler": [
        "compiler/fuse",
        "compiler/expand",
        "compiler/simplify",
        "compiler/memory",
        "compiler/cost_analysis",
        "compiler/pass",
        "compiler/make",
        "compiler/decision",
        "hlo",
    ],
    "backends/runtime": ["hlo/base"],
    "backends/ffi": ["backends/runtime", "hlo/base"],
    "backends/loader": ["backends/runtime", "hlo/base"],
    "backends/codegen": ["compiler", "hlo", "proto"],
    "backends/plan": ["backends/runtime", "compiler", "hlo", "proto"],
    "backends": ["backends/runtime", "compiler", "hlo", "proto"],
    "backends/program": ["backends", "backends/plan", "backends/runtime", "compiler", "hlo", "proto"],
    "backends/interpreter": ["backends", "backends/runtime", "compiler", "hlo", "proto"],
    "backends/cpu": [
        "backends",
        "backends/interpreter",
        "backends/program",
        "backends/plan",
        "backends/codegen",
        "backends/runtime",
        "compiler",
        "hlo",
        "proto",
    ],
    "backends/gpu/driver": [],
    "backends/gpu/emulator": ["backends/gpu/driver"],
    "backends/gpu/runtime": ["backends/gpu/driver"],
    "backends/gpu/libraries": ["backends/gpu/runtime", "backends/gpu/driver", "backends/runtime", "hlo"],
    "backends/gpu": [
        "backends/gpu/libraries",
        "backends/gpu/runtime",
        "backends/gpu/driver",
        "backends",
        "backends/interpreter",
        "backends/program",
        "backends/plan",
        "backends/codegen",
        "backends/runtime",
        "compiler",
        "hlo",
        "proto",
    ],
    "backends/registry": ["backends", "backends/cpu", "backends/gpu"],
    "service": ["backends", "compiler", "importers", "hlo", "proto"],
    "service/pjrt": ["service", "backends", "compiler", "importers", "hlo", "proto"],
    # The C APIs as other programs see them. What implements them stands above.
    "jit/capi/xc_graph.h": ["service"],
    "jit/capi/xc_plugin.h": ["jit/capi/xc_graph.h", "service"],
    "jit/graph": ["hlo/base", "proto"],
    "jit/kernels": ["jit/graph", "hlo/base", "proto"],
    "jit/lowering": ["jit/kernels", "jit/graph", "importers", "hlo", "proto"],
    "jit/shapes": ["jit/lowering", "jit/graph", "hlo/base"],
    "jit/mark": ["jit/shapes", "jit/lowering", "jit/kernels", "jit/graph", "hlo", "proto"],
    "jit/launch": ["jit/lowering", "jit/graph", "service", "backends", "hlo", "proto"],
    "jit/host": [
        "jit/launch",
        "jit/mark",
        "jit/lowering",
        "jit/kernels",
        "jit/graph",
        "service",
        "backends",
        "hlo",
        "proto",
    ],
    "jit/op_cases": ["jit/graph", "hlo/base", "proto"],
    "jit/saved_model": ["jit/host", "jit/kernels", "jit/graph", "service", "hlo", "proto"],
    "jit/plugin": [
        "jit/capi/xc_plugin.h",
        "jit/launch",
        "jit/mark",
        "jit/lowering",
        "jit/graph",
        "service",
        "backends",
        "hlo",
        "proto",
    ],
    "jit/capi": [
        "jit/capi/xc_graph.h",
        "jit/capi/xc_plugin.h",
        "jit/plugin",
        "jit/saved_model",
        "jit/host",
        "service",
        "hlo",
    ],
    "jit/tensorflow": ["jit/capi/xc_plugin.h"],
    "jit/tool": ["jit/saved_model", "jit/host", "jit/lowering", "jit/kernels", "jit/graph", "service", "hlo"],
    "python/core": ["service"],
    "tools": [""],
    "tests": [""],
    "benchmarks": [""],
    "examples": ["service", "jit"],
}
# The modules and packages of python/xla, from the lowest layer to the highest; those of a line may import each other.
PYTHON_FOLDER = "python/xla/"
PYTHON_LAYERS = [
    "_core _errors _pytree _types",
    "_hlo",
    "_ops _float_bits _elementwise _products",
    "_tracer",
    "_ufuncs _masked _indexing _staging",
    "_control_flow",
    "_load _deploy _lowered _explain _options _notices _random_watch _sizes _tracebacks _trace _compile",
    "lax",
    "_functions nn",
    "__init__ __main__ tf",
]
# benchmarks/tensorflow.py is not what its neighbours mean by this name.
NOT_NEIGHBOURS = {"tensorflow"}
# Backends stand beside each other: none includes another, but for the interpreter's evaluator, by which the others run
# what is cheap to know while compiling and what they have no code for.
APART = ["backends/interpreter", "backends/cpu", "backends/gpu"]
EVALUATOR = "backends/interpreter/evaluator.h"
# Only these see LLVM, directly or through a header of theirs; and the compile cache's hash, which its library has.
EMITTERS = ("backends/codegen/", "backends/cpu/", "backends/gpu/", "service/content_hash.cc")
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def is_in(path, layer):
    return path == layer or (path.startswith(layer) and path[len(layer)] in "/._")


def layer_of(path):
    return max((layer for layer in LAYERS if is_in(path, layer)), key=len, default=None)


def allowed(layer, target):
    """Whether files of `layer` may include `target`."""
    other = layer_of(target)
    if other == layer:
        return True
    if layer in APART and other in APART:
        return target == EVALUATOR
    from_outside = lambda folder: not folder or (is_in(target, folder) and not is_in(layer, folder))
    return any(other == folder or from_outside(folder) for folder in LAYERS[layer])


def is_llvm(target):
    return target.startswith(("llvm/", "llvm-c/"))


def headers_with_llvm(includes):
    """The headers that bring LLVM's with them, directly or through others."""
    found = {path for path, targets in includes.items() if path.endswith(".h") and any(is_llvm(t) for _, t in targets)}
    grown = True
    while grown:
        more = {
            path
            for path, targets in includes.items()
            if path.endswith(".h") and path not in found and any(t in found for _, t in targets)
        }
        found |= more
        grown = bool(more)
    return found


def wrong_rows(layers):
    """Rows that name one at their own place or below."""
    known, wrong = {""}, []
    for layer, others in layers.items():
        wrong += [
            f"LAYERS: {layer} names {other}, which does not stand above it" for other in others if other not in known
        ]
        known |= {layer, layer.split("/")[0]}
    return wrong


def wrong_includes(sources):
    """What is wrong with the includes of `sources`: path -> lines."""
    wrong = []
    tops = {folder.split("/")[0] for folder in LAYERS}
    includes = {}
    for path, lines in sources.items():
        matches = [(number, INCLUDE.match(line)) for number, line in enumerate(lines, 1)]
        includes[path] = [(number, found[1] or found[2]) for number, found in matches if found]
    with_llvm = headers_with_llvm(includes)
    for path, targets in includes.items():
        layer = layer_of(path)
        if layer is None:
            wrong.append(f"{path}: in no layer that check_layers.py lists")
            continue
        # A test may stand on whatever it compares with; Bazel's visibility bounds it.
        is_test = path.endswith(("_test.cc", "_test.c")) or "test_support." in path
        for number, target in targets:
            if not path.startswith(EMITTERS) and (is_llvm(target) or target in with_llvm):
                wrong.append(f"{path}:{number}: {target} brings LLVM's headers out of the emitters")
            if target.split("/")[0] in tops and "/" in target and not is_test and not allowed(layer, target):
                wrong.append(f"{path}:{number}: {layer} may not include {target}")
            if target.startswith("."):
                wrong.append(f"{path}:{number}: include by the path from the root, not relative")
    return wrong


def python_imports(sources):
    """path -> {path of what it imports: line}, for the Python files `sources`: path -> text. Imports inside of functions
    count as those at the top do."""
    known = {path.rsplit(".", 1)[0]: path for path in sorted(sources, reverse=True)}  # x.py before x.pyi
    imports = {}
    for path, text in sources.items():
        imports[path] = {}
        folder = path.rpartition("/")[0]
        if path.endswith(".pyi"):
            continue
        for node in ast.walk(ast.parse(text, path)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.replace(".", "/") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = (node.module or "").replace(".", "/")
                names = [f"{module}/{alias.name}".lstrip("/") for alias in node.names] + [module]
            level = getattr(node, "level", 0)
            if not level and names and names[0].split("/")[0] in NOT_NEIGHBOURS:
                continue
            base = folder
            for _ in range(level - 1):
                base = base.rpartition("/")[0]
            found = [f"{base}/{name}".rstrip("/") for name in names]
            found = [known.get(name) or known.get(f"{name}/__init__") for name in found]
            # A package that is named only to reach a module of it is no import of its own.
            if isinstance(node, ast.ImportFrom) and all(found[:-1]):
                found.pop()
            imports[path].update({target: node.lineno for target in found if target not in (None, path)})
    return imports


def circle(imports):
    """The paths of a circle of imports; [] if there is none."""
    done, way = set(), []

    def visit(path):
        if path in way:
            return way[way.index(path) :] + [path]
        if path in done:
            return []
        way.append(path)
        for target in sorted(imports.get(path, ())):
            found = visit(target)
            if found:
                return found
        way.pop()
        done.add(path)
        return []

    return next(filter(None, map(visit, sorted(imports))), [])


def wrong_imports(sources):
    """What is wrong with the imports of the Python files `sources`: path -> text."""
    imports = python_imports(sources)
    wrong = []
    height = {name: i for i, names in enumerate(PYTHON_LAYERS) for name in names.split()}
    layer = lambda path: path.removeprefix(PYTHON_FOLDER).split("/")[0].split(".")[0]
    for path, targets in imports.items():
        if not path.startswith(PYTHON_FOLDER):
            continue
        if layer(path) not in height:
            wrong.append(f"{path}: in no layer that check_layers.py lists")
            continue
        for target, number in targets.items():
            if target.startswith(PYTHON_FOLDER) and height.get(layer(target), 0) > height[layer(path)]:
                wrong.append(f"{path}:{number}: {layer(path)} may not import {layer(target)}, which stands above it")
    found = circle(imports)
    if found:
        wrong.append("imports go round: " + " -> ".join(found))
    return wrong


def main():
    wrong = wrong_rows(LAYERS)
    wrong += wrong_includes({path: read_lines(path) for path in list_files(".h", ".cc", ".c", ".cpp", ".def")})
    wrong += wrong_imports({path: "\n".join(read_lines(path)) for path in list_files(".py", ".pyi")})
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
