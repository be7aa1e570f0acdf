"""Rewrites `break`, `continue`, `return` and `raise` inside of branches and loops into flags and guards, so that every branch and
loop has one way in and one way out."""

import ast

from . import trees

RETURNED = "_xla_returned"
RESULT = "_xla_result"
_LOOPS = (ast.While, ast.For)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def escaping(node):
    """The jumps ("return", "break", "continue") that can leave `node`."""
    if isinstance(node, ast.Return) or _raises(node):
        return {"return"}
    if isinstance(node, ast.Break):
        return {"break"}
    if isinstance(node, ast.Continue):
        return {"continue"}
    if isinstance(node, _SCOPES) or isinstance(node, ast.expr):
        return set()
    if isinstance(node, _LOOPS + (ast.AsyncFor,)):
        inside = set().union(*(escaping(s) for s in node.body), set()) & {"return"}
        return inside.union(*(escaping(s) for s in node.orelse))
    return set().union(*(escaping(child) for child in trees.children(node)))


def _raises(node):
    """Whether `node` is a `raise` of an exception that it names: it ends the function as a return does."""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    return not hasattr(node, "xla_plain") and not hasattr(node, "xla_late")


def _always_jumps(statements):
    for s in statements:
        if isinstance(s, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return True
        if isinstance(s, ast.If) and _always_jumps(s.body) and _always_jumps(s.orelse):
            return True
        if isinstance(s, ast.With) and _always_jumps(s.body):
            return True
        endless = isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and bool(s.test.value)
        if endless and not any("break" in escaping(b) for b in s.body):
            return True
    return False


def _set(name, value, like):
    node = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
    ast.copy_location(node, like)
    return ast.fix_missing_locations(node)


def _constant(value):
    return ast.Constant(value=value)


def _none_of(names, like, test=None):
    """The expression `not (a or b …) [and test]`."""
    loads = [ast.Name(id=n, ctx=ast.Load()) for n in names]
    either = loads[0] if len(loads) == 1 else ast.BoolOp(op=ast.Or(), values=loads)
    node = ast.UnaryOp(op=ast.Not(), operand=either)
    if test is not None:
        node = ast.BoolOp(op=ast.And(), values=[node, test])
    ast.copy_location(node, like)
    return ast.fix_missing_locations(node)


class _Lowering:
    def __init__(self):
        self.loops = 0

    def names(self, kinds, loop):
        """The flags of the jumps `kinds`; `loop`: the names of the flags of the loop around."""
        found = [RETURNED] if "return" in kinds else []
        return found + [loop[kind] for kind in ("break", "continue") if kind in kinds]

    def block(self, statements, loop):
        out = []
        for i, s in enumerate(statements):
            kinds = escaping(s)
            rest = statements[i + 1 :]
            if isinstance(s, ast.Return):
                out.append(_set(RESULT, s.value or _constant(None), s))
                out.append(_set(RETURNED, _constant(True), s))
                return out
            if _raises(s):
                s.xla_late = True
                out += [s, _set(RETURNED, _constant(True), s)]
                return out
            if isinstance(s, (ast.Break, ast.Continue)):
                out.append(_set(loop["break" if isinstance(s, ast.Break) else "continue"], _constant(True), s))
                return out
            if kinds and _crosses_try(s):
                # The jump stays; what is around it cannot be converted and says so when it meets a traced condition.
                out.append(s)
                continue
            if not kinds:
                out += self.inside_list(s, loop)
                continue
            if isinstance(s, ast.If):
                if rest and _always_jumps(s.body):
                    s.orelse, rest = s.orelse + rest, []
                elif rest and _always_jumps(s.orelse):
                    s.body, rest = s.body + rest, []
            out += self.inside_list(s, loop)
            if rest:
                guard = ast.If(test=_none_of(self.names(kinds, loop), s), body=self.block(rest, loop), orelse=[])
                out.append(ast.fix_missing_locations(ast.copy_location(guard, s)))
            return out
        return out

    def inside_list(self, s, loop):
        if isinstance(s, _LOOPS):
            return self.loop(s, loop)
        return [self.inside(s, loop)]

    def inside(self, s, loop):
        """Lowers the blocks within a statement that is no loop."""
        if isinstance(s, _SCOPES):
            return s
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None) and isinstance(getattr(s, field), list):
                setattr(s, field, self.block(getattr(s, field), loop) or [ast.copy_location(ast.Pass(), s)])
        for part in getattr(s, "handlers", []) + getattr(s, "cases", []):
            part.body = self.block(part.body, loop)
        return s

    def loop(self, s, outer):
        if any(_crosses_try(b) for b in s.body):
            return [s]
        inner = set().union(*(escaping(b) for b in s.body), set())
        self.loops += 1
        flags = {"break": f"_xla_break_{self.loops}", "continue": f"_xla_continue_{self.loops}"}
        before, after = [], []
        guards = [RETURNED] if "return" in inner else []
        if "break" in inner:
            before.append(_set(flags["break"], _constant(False), s))
            guards.append(flags["break"])
        s.body = self.block(s.body, flags)
        if "continue" in inner:
            s.body.insert(0, _set(flags["continue"], _constant(False), s))
        if s.orelse:
            orelse = self.block(s.orelse, outer)
            if guards:
                node = ast.If(test=_none_of(guards, s), body=orelse, orelse=[])
                after = [ast.fix_missing_locations(ast.copy_location(node, s))]
            else:
                after = orelse
            s.orelse = []
        if guards and isinstance(s, ast.While):
            s.test = _none_of(guards, s, s.test)
        elif guards:
            s.xla_guard = _none_of(guards, s)
        return before + [s] + after


def _crosses_try(s):
    """Whether a jump leaves `s` from inside of a `try`."""
    if isinstance(s, (ast.Try, getattr(ast, "TryStar", ast.Try))):
        return bool(escaping(s))
    if isinstance(s, _SCOPES) or isinstance(s, ast.expr):
        return False
    if isinstance(s, _LOOPS) and not escaping(s):
        return False
    return any(_crosses_try(child) for child in trees.children(s))


def lower(function):
    """Rewrites the body of a FunctionDef in place."""
    body = function.body
    for n in trees.walk(function):
        if isinstance(n, ast.ExceptHandler):
            for s in n.body:
                s.xla_plain = True  # a `raise` here turns one exception into another
    raises = any(map(_raises, trees.walk(function)))
    nested = any(escaping(s) for s in body if not isinstance(s, ast.Return))
    if not nested:
        tail = body[-1:] if isinstance(body[-1], ast.Return) else []
        function.body = _Lowering().block(body[: len(body) - len(tail)], None) + tail
        return function
    last = body[-1]
    if not _always_jumps(body):
        body = body + [ast.copy_location(ast.Return(value=None), last)]
    out = [_set(RETURNED, _constant(False), function)] + _Lowering().block(body, None)
    result = ast.Return(value=ast.Name(id=RESULT, ctx=ast.Load()))
    result.lineno = result.end_lineno = last.end_lineno
    result.col_offset = result.end_col_offset = last.col_offset
    result.xla_may_raise = raises
    function.body = out + [ast.fix_missing_locations(result)]
    return function
