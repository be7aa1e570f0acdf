"""Which local variables are read after a branch or a loop, and which a loop's next iteration reads."""

import ast

from . import trees

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def stores(node, changes=True):
    """Names that running `node` binds in the function's own scope, and with `changes` those whose contents it changes."""
    found = set()

    def visit(n, in_comprehension):
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)) and not in_comprehension:
            found.add(n.id)
        elif isinstance(n, ast.NamedExpr):
            found.add(n.target.id)
            visit(n.value, in_comprehension)
            return
        elif isinstance(n, ast.ExceptHandler) and n.name:
            found.add(n.name)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            found.update((a.asname or a.name.split(".")[0]) for a in n.names)
        elif isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name:
            found.add(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            found.add(n.rest)
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(n.name)
            for child in n.decorator_list:
                visit(child, in_comprehension)
            return
        if isinstance(n, ast.Lambda):
            return
        if changes and getattr(n, "xla_changes", None) is not None:
            found.add(n.xla_changes)
        for child in trees.children(n):
            visit(child, in_comprehension or isinstance(n, _COMPREHENSIONS))

    for part in node if isinstance(node, list) else [node]:
        visit(part, False)
    return found


def loads(node):
    """Names that `node` reads, those read in functions defined within included."""
    if node is None:
        return set()
    found = set()
    for n in trees.walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            found.add(n.id)
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            found.add(n.target.id)
    return found


def captured(function):
    """Names that functions defined within `function` read: they can be called at any time."""
    found = set()
    for n in trees.walk(function):
        if isinstance(n, _SCOPES) and n is not function:
            found |= loads(n)
    return found


def annotate(function, always):
    """Sets `xla_live_out` on every branch and loop of `function` and `xla_live_head` on loops: the names read after it, or
    at the start of an iteration, before they are bound anew. The names in `always` are live everywhere."""
    _block(function.body, set(always))


def _block(statements, live):
    for s in reversed(statements):
        live = _statement(s, live)
    return live


def _statement(s, live):
    if isinstance(s, (ast.If, ast.While, ast.For)):
        s.xla_live_out = set(live)
    if isinstance(s, ast.If):
        return loads(s.test) | _block(s.body, live) | _block(s.orelse, live)
    if isinstance(s, ast.While):
        after = _block(s.orelse, live)
        head = after | loads(s.test)
        for _ in range(2):
            head = head | _block(s.body, head)
        s.xla_live_head = head
        return head
    if isinstance(s, ast.For):
        guard = loads(getattr(s, "xla_guard", None))
        after = _block(s.orelse, live)
        head = after | guard
        for _ in range(2):
            head = head | loads(s.target) | (_block(s.body, head) - stores(s.target))
        s.xla_live_head = head
        return head | loads(s.iter)
    if isinstance(s, ast.With):
        live = _block(s.body, live)
        for item in s.items:
            live = live | loads(item.context_expr)
        return live
    if isinstance(s, (ast.Try, getattr(ast, "TryStar", ast.Try), ast.Match)):
        # Any part may be left at any point: nothing read in it or after it is dead.
        live = live | loads(s)
        for part in trees.children(s):
            for block in (part,) if isinstance(part, ast.stmt) else (getattr(part, "body", None),):
                if isinstance(block, list):
                    _block(block, live)
                elif isinstance(block, ast.stmt):
                    _statement(block, live)
        return live
    if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
        return live | loads(s)
    return (live - stores(s, changes=False)) | loads(s)
