"""Modules by the path of their file: what Bazel puts into other folders than the script that needs it."""

import importlib.util
import sys


def import_file(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
