"""Syntax trees: going through them, copying them, and making the nodes that conversion puts into them."""

import ast

# The variable by which converted code reaches what it calls.
RUNTIME = "_xla_"
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def children(node):
    """The nodes right below `node`, as ast.iter_child_nodes gives them but for the contexts (Load, Store, Del), in half the
    time."""
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield item
        elif isinstance(value, ast.AST) and field != "ctx":
            yield value


def walk(node):
    """`node` and all nodes below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def clone(node):
    """A copy of a tree; contexts are shared."""
    new = node.__class__()
    for name, value in vars(node).items():
        if isinstance(value, list):
            value = [clone(v) if isinstance(v, ast.AST) else v for v in value]
        elif isinstance(value, ast.AST) and name != "ctx":
            value = clone(value)
        setattr(new, name, value)
    return new


def own_nodes(node):
    """Nodes of `node` that run when it runs: not those of functions defined within."""
    pending = list(node) if isinstance(node, list) else [node]
    while pending:
        n = pending.pop()
        yield n
        if not isinstance(n, SCOPES + (ast.Lambda,)):
            pending.extend(children(n))


def simple(node):
    """Whether an expression may be put into a lambda."""
    return not any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in walk(node))


def after_declarations(body):
    i = 0
    while i < len(body) and isinstance(body[i], (ast.Global, ast.Nonlocal)):
        i += 1
    return i


def arguments(arguments):
    found = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    return found + [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]


def parameters(names):
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def mangle(node, class_name):
    """Applies what Python does to names such as `__x` in the body of a class."""
    prefix = "_" + class_name.lstrip("_")
    private = lambda n: n.startswith("__") and not n.endswith("__") and "." not in n
    for n in walk(node):
        for field in ("id", "attr", "arg", "name"):
            value = getattr(n, field, None)
            if isinstance(value, str) and private(value) and n is not node:
                setattr(n, field, prefix + value)


# Nodes of converted code.


def load(name):
    return ast.Name(id=name, ctx=ast.Load())


def call(name, arguments, like):
    function = ast.Attribute(value=load(RUNTIME), attr=name, ctx=ast.Load())
    node = ast.Call(func=function, args=arguments, keywords=[])
    return ast.fix_missing_locations(ast.copy_location(node, like))


def call_statement(name, arguments, like):
    return ast.copy_location(ast.Expr(value=call(name, arguments, like)), like)


def lambda_(body):
    node = ast.Lambda(args=parameters(()), body=body)
    return ast.fix_missing_locations(ast.copy_location(node, body))


def lambdas(nodes, like):
    node = ast.Tuple(elts=[lambda_(n) for n in nodes], ctx=ast.Load())
    return ast.fix_missing_locations(ast.copy_location(node, like))
