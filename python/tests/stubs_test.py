"""The stubs of the package's public modules say what its functions take: the same names, in the same order, with defaults
where there are some. (docs/testing.md has how a type checker reads them.)"""

import ast
import importlib
import inspect
import pathlib

import pytest

import xla

FOLDER = pathlib.Path(xla.__file__).parent
STUBS = sorted(path for path in FOLDER.rglob("*.pyi") if path.name not in ("_types.pyi", "_core.pyi"))
PUBLIC = ("xla", "xla.lax", "xla.lax.random", "xla.nn", "xla.tf")


def module_of(path):
    parts = path.relative_to(FOLDER.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parameters_of(node):
    """[(name, whether it has a default, kind)] of a function of a stub, without self."""
    a, kinds = node.args, inspect.Parameter
    positional = a.posonlyargs + a.args
    defaults = [False] * (len(positional) - len(a.defaults)) + [True] * len(a.defaults)
    found = [
        (p.arg, default, kinds.POSITIONAL_ONLY if p in a.posonlyargs else kinds.POSITIONAL_OR_KEYWORD)
        for p, default in zip(positional, defaults)
    ]
    found += [(a.vararg.arg, False, kinds.VAR_POSITIONAL)] if a.vararg else []
    found += [(p.arg, d is not None, kinds.KEYWORD_ONLY) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    found += [(a.kwarg.arg, False, kinds.VAR_KEYWORD)] if a.kwarg else []
    return [p for p in found if p[0] != "self"]


def functions_of(path):
    """(the module's name, the function's, its node) for each function and public method of a stub."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in inside:
            if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
                continue
            if not any(ast.unparse(d) in ("overload", "property") for d in function.decorator_list):
                yield module_of(path), prefix + function.name, function


CASES = [case for path in STUBS for case in functions_of(path)]


@pytest.mark.parametrize("module, name, node", CASES, ids=[f"{module}.{name}" for module, name, _ in CASES])
def test_parameters(module, name, node):
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    # A class has its method; a function with a decorator is the one below it.
    found = [
        (p.name, p.default is not p.empty, p.kind)
        for p in inspect.signature(function).parameters.values()
        if p.name != "self"
    ]
    wanted = parameters_of(node)
    if any(ast.unparse(a.annotation or ast.Constant(None)).startswith("_P.") for a in (node.args.vararg,) if a):
        return  # those of the function that is compiled
    assert found == wanted, f"{module}.{name} takes {found}, and its stub says {wanted}"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_stub(name):
    module = importlib.import_module(name)
    path = FOLDER.joinpath(*name.split(".")[1:])
    stub = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    said = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    said |= {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    public = getattr(module, "__all__", None) or [
        n for n, o in vars(module).items() if not n.startswith("_") and getattr(o, "__module__", "").startswith(name)
    ]
    assert not sorted(set(public) - said), f"{stub.name} of {name} lacks {sorted(set(public) - said)}"
