"""Which statements change the contents of a variable without binding it, and which have an effect beyond variables."""

import ast

from . import trees

# Functions of NumPy that write into their first argument, as np.f(x, …) and np.add.at(x, …).
WRITES = frozenset("at copyto fill_diagonal place put put_along_axis putmask".split())
CHANGES = frozenset("append extend insert pop remove clear sort reverse update setdefault popitem add discard".split())


def mark_change(node, local):
    """Notes on a statement which local variable's contents it changes, without binding the variable."""
    target = None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        target = node.target
    if isinstance(target, ast.Subscript):
        if any(isinstance(n, ast.Starred) for n in trees.walk(target.slice)) or not trees.simple(target.slice):
            return
        target = target.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if writes(node.value):
            target = node.value.args[0]
        elif isinstance(function, ast.Attribute) and function.attr in CHANGES:
            target = function.value
        else:
            return
    else:
        return
    if isinstance(target, ast.Name) and target.id in local:
        node.xla_changes = target.id
    elif isinstance(target, ast.Name):
        node.xla_outer = target.id
    elif isinstance(target, (ast.Attribute, ast.Subscript)) and not any(
        isinstance(n, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield)) for n in trees.walk(target)
    ):
        node.xla_inner = target


def writes(node):
    """Is it a call of one of NumPy's functions that write into their first argument, a variable?"""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in WRITES:
        return False
    starred = any(isinstance(a, ast.Starred) for a in node.args)
    return bool(node.args) and isinstance(node.args[0], ast.Name) and not starred and _is_dotted(node.func)


def _is_dotted(node):
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_dotted(node.value))


def has_effect(node):
    """Whether a statement changes what is no local variable, or prints: running it once is not running it n times."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return not isinstance(node.value, ast.Name)
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Del):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            return True
        return isinstance(node.func, ast.Name) and node.func.id in ("print", "next", "input", "setattr")
    return isinstance(node, (ast.Global, ast.Nonlocal))
