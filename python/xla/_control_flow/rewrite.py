"""Rewrites the syntax tree of a function so that branches, loops, `assert`, changes of variables and attributes, and the
expressions in them go through `conversion.runtime`, which takes traced values and plain ones."""

import ast

from . import effects, jumps, liveness, trees
from .rewrite_expressions import Expressions


def _stays(nodes):
    """Why a block cannot become a function, or None."""
    for n in trees.own_nodes(nodes):
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            return "there is a yield in it"
        if isinstance(n, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return "there is an await in it"
    for s in nodes:
        if jumps.escaping(s):
            return "there is a break, continue, return or raise inside of try in it"
    return None


class Rewriter:
    """Rewrites one function, in place."""

    def __init__(self, function):
        self.function = function
        self.count = 0
        self.globals, self.nonlocals, self.shared = set(), set(), set()
        if isinstance(function, ast.Lambda):
            self.expressions = Expressions(None)
            return
        for n in trees.own_nodes(function.body):
            if isinstance(n, ast.Global):
                self.globals.update(n.names)
            elif isinstance(n, ast.Nonlocal):
                self.nonlocals.update(n.names)
        own = liveness.stores(function.body) | set(trees.arguments(function.args))
        for n in trees.walk(function):
            if isinstance(n, ast.Nonlocal):
                self.shared.update(set(n.names) & own)
        self.expressions = Expressions(next(iter(trees.arguments(function.args)), None))

    def run(self):
        function = self.function
        if isinstance(function, ast.Lambda):
            function.body = self.expression(function.body)
            return function
        local = liveness.stores(function.body) | set(trees.arguments(function.args)) - self.globals - self.nonlocals
        for n in trees.own_nodes(function.body):
            effects.mark_change(n, local)
        jumps.lower(function)
        liveness.annotate(function, liveness.captured(function) | self.nonlocals)
        for n in trees.own_nodes(function.body):
            if isinstance(n, (ast.If, ast.While, ast.For)):
                n.xla_rebound = liveness.stores(n, changes=False)
        bound = liveness.stores(function.body) - self.globals - self.nonlocals
        function.body = self.block(function.body)
        if bound:
            # Never runs; makes every name a variable of this function, whichever block binds it.
            names = [ast.Name(id=n, ctx=ast.Store()) for n in sorted(bound)]
            binding = ast.Assign(targets=names, value=ast.Constant(value=None))
            function.body.insert(
                trees.after_declarations(function.body), ast.If(test=ast.Constant(value=0), body=[binding], orelse=[])
            )
        return function

    # Statements.

    def block(self, statements):
        out = []
        for s in statements:
            out += self.statement(s)
        return out

    def statement(self, s):
        if isinstance(s, trees.SCOPES):
            return [s]
        if isinstance(s, ast.If):
            return self.if_(s)
        if isinstance(s, ast.While):
            return self.while_(s)
        if isinstance(s, ast.For):
            return self.for_(s)
        if isinstance(s, ast.Assert):
            return [self.assert_(s)]
        if isinstance(s, ast.AnnAssign):
            if s.value is None:
                return [ast.copy_location(ast.Pass(), s)]
            s = ast.copy_location(ast.Assign(targets=[s.target], value=s.value), s)
        if getattr(s, "xla_changes", None) is not None:
            return [self.change(s)]
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            return [self.augment_variable(s)]
        before = []
        if getattr(s, "xla_outer", None) is not None:
            before = [
                trees.call_statement("refuse_outer", [trees.load(s.xla_outer), ast.Constant(value=s.xla_outer)], s)
            ]
        if getattr(s, "xla_inner", None) is not None:
            container = self.expression(trees.clone(s.xla_inner))
            before = [
                trees.call_statement("refuse_inner", [container, ast.Constant(value=ast.unparse(s.xla_inner))], s)
            ]
        if isinstance(s, (ast.Assign, ast.AugAssign, ast.Delete)):
            changed = self.attributes(s)
            if changed is not None:
                return changed
        if isinstance(s, ast.Raise) and getattr(s, "xla_late", False):
            return [self.raise_(s)]
        if isinstance(s, ast.Return) and getattr(s, "xla_may_raise", False):
            s.value = trees.call("result", [trees.lambda_(s.value)], s)
            return [s]
        for field, value in ast.iter_fields(s):
            if isinstance(value, ast.expr):
                setattr(s, field, self.expression(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                setattr(s, field, [self.expression(v) for v in value])
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(s, field, self.block(value))
        for item in getattr(s, "items", []) if isinstance(s, ast.With) else []:
            item.context_expr = self.expression(item.context_expr)
        for part in getattr(s, "handlers", []) + getattr(s, "cases", []):
            part.body = self.block(part.body)
            if getattr(part, "guard", None) is not None:
                part.guard = self.plain(part.guard, part.guard, "a guard of match")
        return [*before, s]

    def attributes(self, s):
        """Statements in place of one that sets or deletes attributes; None if it does neither."""
        name = lambda target: ast.Constant(value=target.attr)
        owner = lambda target: self.expression(target.value)
        if isinstance(s, ast.AugAssign):
            if not isinstance(s.target, ast.Attribute):
                return None
            operation = ast.Constant(value=type(s.op).__name__)
            arguments = [owner(s.target), name(s.target), operation, self.expression(s.value)]
            return [trees.call_statement("augment_attribute", arguments, s)]
        if isinstance(s, ast.Delete):
            if not all(isinstance(t, ast.Attribute) for t in s.targets):
                return None
            return [trees.call_statement("delete_attribute", [owner(t), name(t)], s) for t in s.targets]
        found = [
            n
            for target in s.targets
            for n in trees.walk(target)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        ]
        if not found:
            return None
        if len(s.targets) == 1 and s.targets == found:
            return [
                trees.call_statement("set_attribute", [owner(found[0]), name(found[0]), self.expression(s.value)], s)
            ]
        # a.x, b = …: the attributes' values go through variables.
        variables = {}
        for n in found:
            self.count += 1
            variables[n] = f"{trees.RUNTIME}value_{self.count}"
        s.targets = [_AttributesReplaced(variables).visit(t) for t in s.targets]
        s.value = self.expression(s.value)
        sets = [
            trees.call_statement("set_attribute", [owner(n), name(n), trees.load(v)], s) for n, v in variables.items()
        ]
        return [ast.fix_missing_locations(n) for n in [s, *sets]]

    def raise_(self, s):
        if not trees.simple(s.exc) or (s.cause is not None and not trees.simple(s.cause)):
            return s
        cause = ast.Constant(value=None) if s.cause is None else trees.lambda_(self.expression(s.cause))
        return trees.call_statement("raise_", [trees.lambda_(self.expression(s.exc)), cause], s)

    def change(self, s):
        """`x[i] = v`, `x[i] += v`, `x.append(v)` and np.put(x, …) of a local variable x give it new contents."""
        name = s.xla_changes
        if isinstance(s, ast.Expr) and effects.writes(s.value):
            arguments = [s.value.func, trees.load(name)] + [self.expression(a) for a in s.value.args[1:]]
            value = trees.call("written", arguments, s)
            value.keywords = [ast.keyword(arg=k.arg, value=self.expression(k.value)) for k in s.value.keywords]
        elif isinstance(s, ast.Expr):
            arguments = [trees.load(name), ast.Constant(value=s.value.func.attr)] + [
                self.expression(a) for a in s.value.args
            ]
            value = trees.call("change", arguments, s)
            value.keywords = [ast.keyword(arg=k.arg, value=self.expression(k.value)) for k in s.value.keywords]
        elif isinstance(s, ast.Assign):
            index = self.expressions.index(s.targets[0].slice)
            value = trees.call("store", [trees.load(name), index, self.expression(s.value)], s)
        else:
            operation = ast.Constant(value=type(s.op).__name__)
            value = trees.call(
                "augment",
                [trees.load(name), self.expressions.index(s.target.slice), operation, self.expression(s.value)],
                s,
            )
        node = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
        return ast.fix_missing_locations(ast.copy_location(node, s))

    def augment_variable(self, s):
        """`x += v` of a variable x."""
        arguments = [trees.load(s.target.id), ast.Constant(value=type(s.op).__name__), self.expression(s.value)]
        node = ast.Assign(targets=[s.target], value=trees.call("augment_variable", arguments, s))
        return ast.fix_missing_locations(ast.copy_location(node, s))

    def if_(self, s):
        why = _stays(s.body + s.orelse)
        bound = liveness.stores(s.body + s.orelse)
        test = self.expression(s.test)
        if why is not None:
            s.test = self.plain(test, s, why)
            s.body, s.orelse = self.block(s.body), self.block(s.orelse)
            return [s]
        then = self.outline("if", self.block(s.body), bound, s)
        otherwise = self.outline("else", self.block(s.orelse) or [ast.Pass()], bound, s)
        arguments = [test, trees.load(then.name), trees.load(otherwise.name), self.info(s, bound, s.xla_live_out)]
        return [then, otherwise, trees.call_statement("if_", arguments, s)]

    def while_(self, s):
        why = _stays(s.body)
        bound = liveness.stores(s.body) | liveness.stores(s.test)
        live_head, live_out = s.xla_live_head, s.xla_live_out
        orelse = self.block(s.orelse)
        test = self.expression(s.test)
        if why is not None:
            s.test, s.body, s.orelse = self.plain(test, s, why), self.block(s.body), orelse
            return [s]
        decide = self.outline("test", [ast.copy_location(ast.Return(value=test), s.test)], bound, s)
        body = self.outline("while", self.block(s.body), bound, s)
        arguments = [trees.load(decide.name), trees.load(body.name), self.info(s, bound, live_out, live_head)]
        return [decide, body, trees.call_statement("while_", arguments, s)] + orelse

    def for_(self, s):
        why = _stays(s.body)
        bound = liveness.stores(s.body) | liveness.stores(s.target)
        live_head, live_out = s.xla_live_head, s.xla_live_out
        orelse = self.block(s.orelse)
        iterated = self.expressions.iterated(s.iter)
        if why is not None:
            call = trees.call("plain_iteration", [iterated, ast.Constant(value=s.lineno), ast.Constant(value=why)], s)
            s.iter, s.body, s.orelse = call, self.block(s.body), orelse
            return [s]
        item = f"{trees.RUNTIME}item"
        take = ast.copy_location(ast.Assign(targets=[s.target], value=trees.load(item)), s.target)
        pure = not any(map(effects.has_effect, trees.own_nodes(s.body)))
        body = self.outline("for", [take] + self.block(s.body), bound, s, [item])
        guard = getattr(s, "xla_guard", None)
        guard = ast.Constant(value=None) if guard is None else trees.lambda_(self.expression(guard))
        arguments = [iterated, trees.load(body.name), guard, self.info(s, bound, live_out, live_head, pure)]
        return [body, trees.call_statement("for_", arguments, s)] + orelse

    def assert_(self, s):
        message = ast.Constant(value=None) if s.msg is None else trees.lambda_(self.expression(s.msg))
        if not trees.simple(s.test) or (s.msg is not None and not trees.simple(s.msg)):
            return s
        return trees.call_statement("assert_", [self.expression(s.test), message, ast.Constant(value=s.lineno)], s)

    def outline(self, kind, body, bound, like, arguments=()):
        self.count += 1
        bound = bound | self.shared
        declarations = []
        local = sorted((bound | self.shared) - self.globals)
        if local:
            declarations.append(ast.Nonlocal(names=local))
        if bound & self.globals:
            declarations.append(ast.Global(names=sorted(bound & self.globals)))
        node = ast.FunctionDef(
            name=f"{trees.RUNTIME}{kind}_{self.count}",
            args=trees.parameters(arguments),
            body=declarations + [n for n in body if not isinstance(n, (ast.Nonlocal, ast.Global))],
            decorator_list=[],
            type_params=[],
        )
        return ast.fix_missing_locations(ast.copy_location(node, like))

    def info(self, s, bound, live_out, live_head=(), pure=True):
        bound = bound | self.shared
        stated = bound & self.globals
        local = sorted(bound - self.globals)
        rebound = s.xla_rebound | self.shared
        value = (
            s.lineno,
            tuple(local),
            tuple(n for n in local if n in live_out or n in self.shared),
            tuple(n for n in local if n in live_head or n in self.shared),
            tuple(sorted(stated)),
            tuple(n for n in local if n not in rebound),
            pure,
        )
        return ast.Constant(value=value)

    def plain(self, test, like, why):
        return trees.call("plain_test", [test, ast.Constant(value=like.lineno), ast.Constant(value=why)], like)

    def expression(self, node):
        return self.expressions.visit(node)


class _AttributesReplaced(ast.NodeTransformer):
    """Puts variables in the place of attributes that are assigned to."""

    def __init__(self, variables):
        self.variables = variables

    def visit_Attribute(self, node):  # pylint: disable=invalid-name
        if node not in self.variables:
            return node
        return ast.copy_location(ast.Name(id=self.variables[node], ctx=ast.Store()), node)
