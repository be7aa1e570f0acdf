"""Includes go only down the layers, whatever Bazel's sandbox lets through; LLVM's headers stay inside the emitters."""

import re
import sys

from files import list_files, read_lines

# Folder -> folders whose headers it may include, besides its own. The longest matching folder counts.
LAYERS = {
    "proto": [],
    "hlo/base": [],
    "hlo": ["proto"],
    "compiler": ["hlo", "proto"],
    "backends": ["compiler", "hlo", "proto"],
    "backends/runtime": ["hlo/base"],
    "backends/codegen": ["hlo", "proto"],
    "backends/interpreter": ["backends", "compiler", "hlo", "proto"],
    "backends/cpu": ["backends", "compiler", "hlo", "proto"],
    "backends/gpu": ["backends", "compiler", "hlo", "proto"],
    "service": ["backends", "compiler", "hlo", "proto"],
    "jit": ["service", "backends", "compiler", "hlo", "proto"],
    "python": ["service", "jit", "hlo", "proto"],
    "tools": [""],
    "tests": [""],
    "benchmarks": [""],
    "examples": ["service", "jit"],
}
# Backends stand beside each other: none includes another, but for the interpreter's evaluator, by which the others run
# what is cheap to know while compiling and what they have no code for.
APART = ["backends/interpreter", "backends/cpu", "backends/gpu"]
EVALUATOR = "backends/interpreter/evaluator.h"
# Only these see LLVM, directly or through a header of theirs; and the compile cache's hash, which its library has.
EMITTERS = ("backends/codegen/", "backends/cpu/", "backends/gpu/", "service/content_hash.cc")
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def layer_of(path):
    matches = [folder for folder in LAYERS if path.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def allowed(layer, target):
    if target.startswith(layer + "/"):
        return True
    if layer in APART and layer_of(target) in APART:
        return target == EVALUATOR
    return any(target.startswith(folder + "/" if folder else "") for folder in LAYERS[layer])


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


def main():
    wrong = []
    tops = {folder.split("/")[0] for folder in LAYERS}
    includes = {}
    for path in list_files(".h", ".cc", ".c", ".cpp", ".def"):
        matches = [(number, INCLUDE.match(line)) for number, line in enumerate(read_lines(path), 1)]
        includes[path] = [(number, found[1] or found[2]) for number, found in matches if found]
    with_llvm = headers_with_llvm(includes)
    for path, targets in includes.items():
        layer = layer_of(path)
        if layer is None:
            wrong.append(f"{path}: in no layer that check_layers.py lists")
            continue
        # A test may stand on whatever it compares with; Bazel's visibility bounds it.
        is_test = path.endswith(("_test.cc", "_test.c"))
        for number, target in targets:
            if not path.startswith(EMITTERS) and (is_llvm(target) or target in with_llvm):
                wrong.append(f"{path}:{number}: {target} brings LLVM's headers out of the emitters")
            if target.split("/")[0] in tops and "/" in target and not is_test and not allowed(layer, target):
                wrong.append(f"{path}:{number}: {layer} may not include {target}")
            if target.startswith("."):
                wrong.append(f"{path}:{number}: include by the path from the root, not relative")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
