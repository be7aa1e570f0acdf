"""Finds the syntax tree of a Python function in the file that it was compiled from, and builds functions from rewritten
trees that keep the file, the lines and the closure of the original."""

import ast
import linecache
import types

from . import trees

_files = {}  # file name -> (lines, tree)


class NoSource(Exception):
    """The source of a function cannot be had; the message says why."""


def _tree(filename, module_globals):
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if not lines and filename.startswith("<"):
        raise NoSource(
            "its source cannot be read, because it was typed at a prompt, read from standard input, or given to "
            "python -c or exec; define it in a file and import that"
        )
    if not lines:
        raise NoSource(f"its source cannot be read, because {filename} is not there")
    cached = _files.get(filename)
    if cached is None or cached[0] is not lines:
        try:
            cached = (lines, ast.parse("".join(lines)))
        except SyntaxError as error:
            raise NoSource(f"{filename} has changed since it was imported") from error
        _files[filename] = cached
    return cached[1]


def _first_line(node):
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _argument_names(arguments):
    names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    return tuple(names + [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None])


def _holds_positions(node, code):
    """Whether the columns of all instructions of `code` lie inside of `node`."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    for line, end_line, column, end_column in code.co_positions():
        if line is None or column is None or end_column is None or (column, end_column) == (0, 0):
            continue
        if (line, column) < start or (end_line, end_column) > end:
            return False
    return True


def find(function):
    """(tree of the function's definition, name of the class whose body it stands in or None)."""
    code = function.__code__
    wanted = ast.Lambda if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    names = code.co_varnames[: len(_argument_names_of_code(code))]
    found = []

    def visit(node, class_name):
        for child in trees.children(node):
            if (
                isinstance(child, wanted)
                and _first_line(child) == code.co_firstlineno
                and _argument_names(child.args) == names
                and getattr(child, "name", code.co_name) == code.co_name
            ):
                found.append((child, class_name))
            visit(child, child.name if isinstance(child, ast.ClassDef) else class_name)

    visit(_tree(code.co_filename, function.__globals__), None)
    if len(found) > 1:
        found = [f for f in found if _holds_positions(f[0], code)]
    if len(found) > 1 and wanted is ast.Lambda:
        found = [f for f in found if not any(g is not f and g[0] in trees.walk(f[0]) for g in found)] or found
    if not found:
        raise NoSource(f"{code.co_filename} has changed since it was imported, or was made by other code")
    if len(found) > 1:
        raise NoSource(
            f"there are several functions like it on line {code.co_firstlineno}: give each a line of its own"
        )
    return found[0]


def _argument_names_of_code(code):
    varargs, kwargs = bool(code.co_flags & 0x04), bool(code.co_flags & 0x08)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + varargs + kwargs]


def without_defaults(arguments):
    """`arguments` with every default replaced by None and no annotation: the new function takes over the old's values."""
    plain = lambda a: ast.copy_location(ast.arg(arg=a.arg, annotation=None), a)
    none = ast.Constant(value=None)
    return ast.arguments(
        posonlyargs=[plain(a) for a in arguments.posonlyargs],
        args=[plain(a) for a in arguments.args],
        vararg=None if arguments.vararg is None else plain(arguments.vararg),
        kwonlyargs=[plain(a) for a in arguments.kwonlyargs],
        kw_defaults=[None if d is None else none for d in arguments.kw_defaults],
        kwarg=None if arguments.kwarg is None else plain(arguments.kwarg),
        defaults=[none for _ in arguments.defaults],
    )


def compile_like(function, node, extra_name):
    """The code object of `node` (a definition or a lambda) in the scope of `function`, with `extra_name` beside the names
    of its closure."""
    outer = [ast.arg(arg=n) for n in (*function.__code__.co_freevars, extra_name)]
    if isinstance(node, ast.Lambda):
        body = [ast.Return(value=node)]
    else:
        body = [node, ast.Return(value=ast.Name(id=node.name, ctx=ast.Load()))]
    factory = ast.FunctionDef(
        name="_xla_factory",
        args=ast.arguments(posonlyargs=[], args=outer, kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=body,
        decorator_list=[],
        type_params=[],
    )
    module = ast.Module(body=[factory], type_ignores=[])
    ast.copy_location(factory, node)
    for statement in body:
        ast.copy_location(statement, node)
    ast.fix_missing_locations(module)
    scope = {}
    exec(compile(module, function.__code__.co_filename, "exec"), scope)  # pylint: disable=exec-used
    return scope["_xla_factory"](*[None] * len(outer)).__code__


def rebuild(function, code, extra_name, extra_value):
    """A function like `function` that runs `code`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[extra_name] = types.CellType(extra_value)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__dict__.update(function.__dict__)
    return made
