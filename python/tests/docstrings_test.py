"""Docstrings: every public function has an example, and every example gives what it says."""

import doctest
import importlib
import inspect

import numpy as np
import pytest

import xla
from xla import _lowered

MODULES = [importlib.import_module(name) for name in ("xla", "xla.lax", "xla.lax.random", "xla.nn", "xla.tf")]
CLASSES = (xla.CompiledFunction, xla.Lowered, _lowered.View)


def public(module):
    """{name: function or class} of a module."""
    names = getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
    found = {n: getattr(module, n) for n in names}
    return {n: o for n, o in found.items() if inspect.isroutine(o) or inspect.isclass(o)}


def functions():
    """{full name: (function, module whose names its example uses)}."""
    found = {}
    for module in MODULES:
        found |= {f"{module.__name__}.{n}": (o, module) for n, o in public(module).items() if inspect.isroutine(o)}
    for owner in CLASSES:
        methods = {n: m for n, m in vars(owner).items() if inspect.isfunction(m) and not n.startswith("_")}
        found |= {f"xla.{owner.__name__}.{n}": (m, xla) for n, m in methods.items()}
    return found


def others():
    """{full name: (module or class, module whose names its example uses)}."""
    found = {module.__name__: (module, module) for module in MODULES}
    for module in MODULES:
        found |= {f"{module.__name__}.{n}": (o, module) for n, o in public(module).items() if inspect.isclass(o)}
    return found


def examples(name, documented, module):
    """The examples of one docstring, which see NumPy, the package and the module's names."""
    names = {**vars(module), "np": np, "xla": xla, "__name__": name}
    return doctest.DocTestParser().get_doctest(inspect.getdoc(documented) or "", names, name, None, 0)


@pytest.mark.parametrize("name", functions())
def test_every_function_has_an_example(name):
    assert examples(name, *functions()[name]).examples, f"the docstring of {name} has no example"


@pytest.mark.parametrize("name", functions() | others())
def test_examples_give_what_they_say(name):
    said = []
    test = examples(name, *(functions() | others())[name])
    failed = doctest.DocTestRunner(verbose=False).run(test, out=said.append).failed
    assert failed == 0, "".join(said)


@pytest.mark.parametrize("module", [m for m in MODULES if hasattr(m, "__all__")], ids=lambda m: m.__name__)
def test_no_other_function_is_seen_in_a_module(module):
    seen = {n for n, o in vars(module).items() if inspect.isroutine(o) and not n.startswith("_")}
    assert seen <= set(module.__all__)
