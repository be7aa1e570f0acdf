"""Includes go only down the layers, whatever Bazel's sandbox lets through; LLVM's headers stay out of ours."""

import re
import sys

from files import ROOT, list_files, read_lines

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
    "examples": ["service"],
}
# Backends stand beside each other: none includes another.
APART = ["backends/interpreter", "backends/cpu", "backends/gpu"]
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def layer_of(path):
    matches = [folder for folder in LAYERS if path == folder or path.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def inside(path, folder):
    return folder == "" or path.startswith(folder + "/")


def allowed(path, layer, target):
    if inside(target, layer):
        return True
    home = layer_of(target)
    if layer in APART and home in APART:
        return False
    return any(inside(target, folder) for folder in LAYERS[layer])


def main():
    wrong = []
    tops = {folder.split("/")[0] for folder in LAYERS}
    for path in list_files(".h", ".cc", ".c", ".cpp", ".def"):
        layer = layer_of(path)
        if layer is None:
            wrong.append(f"{path}: in no layer that {__file__.rsplit('/', 1)[-1]} lists")
            continue
        # Tests may stand on whatever they compare with, but only as Bazel's visibility lets them.
        is_test = path.endswith(("_test.cc", "_test.c"))
        for number, line in enumerate(read_lines(path), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            target = found[1] or found[2]
            if target.startswith(("llvm/", "llvm-c/")) and path.endswith(".h"):
                wrong.append(f"{path}:{number}: an LLVM header in a header; forward-declare instead")
            if target.split("/")[0] in tops and "/" in target and not is_test and not allowed(path, layer, target):
                wrong.append(f"{path}:{number}: {layer} may not include {target}")
            if found[1] and target.startswith("."):
                wrong.append(f"{path}:{number}: include by the path from the root, not relative")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
