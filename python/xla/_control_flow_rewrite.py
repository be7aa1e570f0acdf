"""Rewrites the syntax tree of a function so that branches, loops, `and`, `or`, `not`, conditional expressions, chained
comparisons, `assert` and calls go through functions of `_control_flow`, which take traced values and plain ones."""

import ast

from . import _control_flow_jumps as jumps
from . import _control_flow_liveness as liveness
from . import _control_flow_source as source

RUNTIME = "_xla_"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Functions of NumPy that write into their first argument, as np.f(x, …) and np.add.at(x, …).
WRITES = frozenset("at copyto fill_diagonal place put put_along_axis putmask".split())
CHANGES = frozenset("append extend insert pop remove clear sort reverse update setdefault popitem add discard".split())
_OPERATORS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def _own_nodes(node):
    """Nodes of `node` that run when it runs: not those of functions defined within."""
    pending = list(node) if isinstance(node, list) else [node]
    while pending:
        n = pending.pop()
        yield n
        if not isinstance(n, _SCOPES + (ast.Lambda,)):
            pending.extend(source.children(n))


def _stays(nodes):
    """Why a block cannot become a function, or None."""
    for n in _own_nodes(nodes):
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            return "there is a yield in it"
        if isinstance(n, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return "there is an await in it"
    for s in nodes:
        if jumps.escaping(s):
            return "there is a break, continue, return or raise inside of try in it"
    return None


def _simple(node):
    """Whether an expression may be put into a lambda."""
    return not any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in source.walk(node))


class Rewriter:
    """Rewrites one function. `module_names`: those that the function declares global."""

    def __init__(self, function, mangle=None):
        self.function = function
        self.mangle = mangle
        self.count = 0
        self.globals, self.nonlocals, self.shared = set(), set(), set()
        if isinstance(function, ast.Lambda):
            self.self_name = None
            return
        for n in _own_nodes(function.body):
            if isinstance(n, ast.Global):
                self.globals.update(n.names)
            elif isinstance(n, ast.Nonlocal):
                self.nonlocals.update(n.names)
        own = liveness.stores(function.body) | set(_arguments(function.args))
        for n in source.walk(function):
            if isinstance(n, ast.Nonlocal):
                self.shared.update(set(n.names) & own)
        self.self_name = next(iter(_arguments(function.args)), None)

    def run(self):
        function = self.function
        if isinstance(function, ast.Lambda):
            function.body = self.expression(function.body)
            return function
        local = liveness.stores(function.body) | set(_arguments(function.args)) - self.globals - self.nonlocals
        for n in _own_nodes(function.body):
            _mark_change(n, local)
        jumps.lower(function)
        liveness.annotate(function, liveness.captured(function) | self.nonlocals)
        for n in _own_nodes(function.body):
            if isinstance(n, (ast.If, ast.While, ast.For)):
                n.xla_rebound = liveness.stores(n, changes=False)
        bound = liveness.stores(function.body) - self.globals - self.nonlocals
        function.body = self.block(function.body)
        if bound:
            # Never runs; makes every name a variable of this function, whichever block binds it.
            names = [ast.Name(id=n, ctx=ast.Store()) for n in sorted(bound)]
            binding = ast.Assign(targets=names, value=ast.Constant(value=None))
            function.body.insert(
                _after_declarations(function.body), ast.If(test=ast.Constant(value=0), body=[binding], orelse=[])
            )
        return function

    # Statements.

    def block(self, statements):
        out = []
        for s in statements:
            out += self.statement(s)
        return out

    def statement(self, s):
        if isinstance(s, _SCOPES):
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
            before = [self.call_statement("refuse_outer", [_load(s.xla_outer), ast.Constant(value=s.xla_outer)], s)]
        if getattr(s, "xla_inner", None) is not None:
            container = self.expression(source.clone(s.xla_inner))
            before = [self.call_statement("refuse_inner", [container, ast.Constant(value=ast.unparse(s.xla_inner))], s)]
        if isinstance(s, (ast.Assign, ast.AugAssign, ast.Delete)):
            changed = self.attributes(s)
            if changed is not None:
                return changed
        if isinstance(s, ast.Raise) and getattr(s, "xla_late", False):
            return [self.raise_(s)]
        if isinstance(s, ast.Return) and getattr(s, "xla_may_raise", False):
            s.value = self.call("result", [self.lambda_(s.value)], s)
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
            return [self.call_statement("augment_attribute", arguments, s)]
        if isinstance(s, ast.Delete):
            if not all(isinstance(t, ast.Attribute) for t in s.targets):
                return None
            return [self.call_statement("delete_attribute", [owner(t), name(t)], s) for t in s.targets]
        found = [
            n
            for target in s.targets
            for n in source.walk(target)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        ]
        if not found:
            return None
        if len(s.targets) == 1 and s.targets == found:
            return [
                self.call_statement("set_attribute", [owner(found[0]), name(found[0]), self.expression(s.value)], s)
            ]
        # a.x, b = …: the attributes' values go through variables.
        variables = {}
        for n in found:
            self.count += 1
            variables[n] = f"{RUNTIME}value_{self.count}"
        s.targets = [_AttributesReplaced(variables).visit(t) for t in s.targets]
        s.value = self.expression(s.value)
        sets = [self.call_statement("set_attribute", [owner(n), name(n), _load(v)], s) for n, v in variables.items()]
        return [ast.fix_missing_locations(n) for n in [s, *sets]]

    def raise_(self, s):
        if not _simple(s.exc) or (s.cause is not None and not _simple(s.cause)):
            return s
        cause = ast.Constant(value=None) if s.cause is None else self.lambda_(self.expression(s.cause))
        return self.call_statement("raise_", [self.lambda_(self.expression(s.exc)), cause], s)

    def change(self, s):
        """`x[i] = v`, `x[i] += v`, `x.append(v)` and np.put(x, …) of a local variable x give it new contents."""
        name = s.xla_changes
        if isinstance(s, ast.Expr) and _writes(s.value):
            arguments = [s.value.func, _load(name)] + [self.expression(a) for a in s.value.args[1:]]
            value = self.call("written", arguments, s)
            value.keywords = [ast.keyword(arg=k.arg, value=self.expression(k.value)) for k in s.value.keywords]
        elif isinstance(s, ast.Expr):
            arguments = [_load(name), ast.Constant(value=s.value.func.attr)] + [
                self.expression(a) for a in s.value.args
            ]
            value = self.call("change", arguments, s)
            value.keywords = [ast.keyword(arg=k.arg, value=self.expression(k.value)) for k in s.value.keywords]
        elif isinstance(s, ast.Assign):
            index = self.index(s.targets[0].slice)
            value = self.call("store", [_load(name), index, self.expression(s.value)], s)
        else:
            operation = ast.Constant(value=type(s.op).__name__)
            value = self.call(
                "augment", [_load(name), self.index(s.target.slice), operation, self.expression(s.value)], s
            )
        node = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
        return ast.fix_missing_locations(ast.copy_location(node, s))

    def augment_variable(self, s):
        """`x += v` of a variable x."""
        arguments = [_load(s.target.id), ast.Constant(value=type(s.op).__name__), self.expression(s.value)]
        node = ast.Assign(targets=[s.target], value=self.call("augment_variable", arguments, s))
        return ast.fix_missing_locations(ast.copy_location(node, s))

    def index(self, node):
        """The object that x[node] hands to __getitem__, as an expression."""
        if isinstance(node, ast.Slice):
            parts = [
                ast.Constant(value=None) if p is None else self.expression(p)
                for p in (node.lower, node.upper, node.step)
            ]
            return self.call("slice", parts, node)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple(elts=[self.index(e) for e in node.elts], ctx=ast.Load()), node)
        return self.expression(node)

    def iterated(self, node):
        """What a `for` goes over: enumerate, zip and reversed keep the way to single items."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in ("enumerate", "zip", "reversed") and not any(
                isinstance(a, ast.Starred) for a in node.args
            ):
                return self.call("goes_over", [node.func] + [self.iterated(a) for a in node.args], node)
        return self.expression(node)

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
        arguments = [test, _load(then.name), _load(otherwise.name), self.info(s, bound, s.xla_live_out)]
        return [then, otherwise, self.call_statement("if_", arguments, s)]

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
        arguments = [_load(decide.name), _load(body.name), self.info(s, bound, live_out, live_head)]
        return [decide, body, self.call_statement("while_", arguments, s)] + orelse

    def for_(self, s):
        why = _stays(s.body)
        bound = liveness.stores(s.body) | liveness.stores(s.target)
        live_head, live_out = s.xla_live_head, s.xla_live_out
        orelse = self.block(s.orelse)
        iterated = self.iterated(s.iter)
        if why is not None:
            call = self.call("plain_iteration", [iterated, ast.Constant(value=s.lineno), ast.Constant(value=why)], s)
            s.iter, s.body, s.orelse = call, self.block(s.body), orelse
            return [s]
        item = f"{RUNTIME}item"
        take = ast.copy_location(ast.Assign(targets=[s.target], value=_load(item)), s.target)
        pure = not any(map(_has_effect, _own_nodes(s.body)))
        body = self.outline("for", [take] + self.block(s.body), bound, s, [item])
        guard = getattr(s, "xla_guard", None)
        guard = ast.Constant(value=None) if guard is None else self.lambda_(self.expression(guard))
        arguments = [iterated, _load(body.name), guard, self.info(s, bound, live_out, live_head, pure)]
        return [body, self.call_statement("for_", arguments, s)] + orelse

    def assert_(self, s):
        message = ast.Constant(value=None) if s.msg is None else self.lambda_(self.expression(s.msg))
        if not _simple(s.test) or (s.msg is not None and not _simple(s.msg)):
            return s
        return self.call_statement("assert_", [self.expression(s.test), message, ast.Constant(value=s.lineno)], s)

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
            name=f"{RUNTIME}{kind}_{self.count}",
            args=_parameters(arguments),
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

    # Expressions.

    def call(self, name, arguments, like):
        function = ast.Attribute(value=_load(RUNTIME), attr=name, ctx=ast.Load())
        node = ast.Call(func=function, args=arguments, keywords=[])
        return ast.fix_missing_locations(ast.copy_location(node, like))

    def call_statement(self, name, arguments, like):
        return ast.copy_location(ast.Expr(value=self.call(name, arguments, like)), like)

    def lambda_(self, body):
        node = ast.Lambda(args=_parameters(()), body=body)
        return ast.fix_missing_locations(ast.copy_location(node, body))

    def lambdas(self, nodes, like):
        node = ast.Tuple(elts=[self.lambda_(n) for n in nodes], ctx=ast.Load())
        return ast.fix_missing_locations(ast.copy_location(node, like))

    def plain(self, test, like, why):
        return self.call("plain_test", [test, ast.Constant(value=like.lineno), ast.Constant(value=why)], like)

    def expression(self, node):
        return _Expressions(self).visit(node)


class _AttributesReplaced(ast.NodeTransformer):
    """Puts variables in the place of attributes that are assigned to."""

    def __init__(self, variables):
        self.variables = variables

    def visit_Attribute(self, node):  # pylint: disable=invalid-name
        if node not in self.variables:
            return node
        return ast.copy_location(ast.Name(id=self.variables[node], ctx=ast.Store()), node)


class _Expressions(ast.NodeTransformer):
    def __init__(self, rewriter):
        self.rewriter = rewriter

    def visit_Lambda(self, node):  # pylint: disable=invalid-name
        return node  # converted when it is called

    def visit_BoolOp(self, node):  # pylint: disable=invalid-name
        simple = all(_simple(v) for v in node.values[1:])
        values = [self.visit(v) for v in node.values]
        if not simple:
            node.values = values
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.rewriter.call(name, [values[0], self.rewriter.lambdas(values[1:], node)], node)

    def visit_UnaryOp(self, node):  # pylint: disable=invalid-name
        node.operand = self.visit(node.operand)
        return self.rewriter.call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):  # pylint: disable=invalid-name
        simple = _simple(node.body) and _simple(node.orelse)
        test, body, orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        if not simple:
            node.test, node.body, node.orelse = test, body, orelse
            return node
        arguments = [test, self.rewriter.lambda_(body), self.rewriter.lambda_(orelse), ast.Constant(value=node.lineno)]
        return self.rewriter.call("conditional", arguments, node)

    def visit_Compare(self, node):  # pylint: disable=invalid-name
        simple = all(_simple(c) for c in node.comparators)
        membership = any(isinstance(o, (ast.In, ast.NotIn)) for o in node.ops)
        node.left = self.visit(node.left)
        node.comparators = [self.visit(c) for c in node.comparators]
        if (len(node.ops) == 1 and not membership) or not simple:
            return node
        names = ast.Constant(value=tuple(_OPERATORS[type(o)] for o in node.ops))
        return self.rewriter.call("compare", [node.left, names, self.rewriter.lambdas(node.comparators, node)], node)

    def visit_Subscript(self, node):  # pylint: disable=invalid-name
        if (
            not isinstance(node.ctx, ast.Load)
            or not _simple(node)
            or any(isinstance(n, ast.Starred) for n in source.walk(node.slice))
        ):
            return self.generic_visit(node)
        if isinstance(node.slice, (ast.Slice, ast.Constant)):
            return self.generic_visit(node)
        arguments = [self.visit(node.value), self.rewriter.index(node.slice)]
        return self.rewriter.call("item", arguments, node)

    def visit_Call(self, node):  # pylint: disable=invalid-name
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.rewriter.self_name:
            node.args = [_load("__class__"), _load(self.rewriter.self_name)]
            return ast.fix_missing_locations(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("locals", "globals", "super", "eval", "exec"):
            return node
        node.func = self.rewriter.call("call", [node.func], node.func)
        return node


def _mark_change(node, local):
    """Notes on a statement which local variable's contents it changes, without binding the variable."""
    target = None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        target = node.target
    if isinstance(target, ast.Subscript):
        if any(isinstance(n, ast.Starred) for n in source.walk(target.slice)) or not _simple(target.slice):
            return
        target = target.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if _writes(node.value):
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
        isinstance(n, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield)) for n in source.walk(target)
    ):
        node.xla_inner = target


def _writes(node):
    """Is it a call of one of NumPy's functions that write into their first argument, a variable?"""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in WRITES:
        return False
    starred = any(isinstance(a, ast.Starred) for a in node.args)
    return bool(node.args) and isinstance(node.args[0], ast.Name) and not starred and _is_dotted(node.func)


def _is_dotted(node):
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_dotted(node.value))


def _has_effect(node):
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


def _after_declarations(body):
    i = 0
    while i < len(body) and isinstance(body[i], (ast.Global, ast.Nonlocal)):
        i += 1
    return i


def _arguments(arguments):
    found = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    return found + [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]


def _parameters(names):
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _load(name):
    return ast.Name(id=name, ctx=ast.Load())


def mangle(node, class_name):
    """Applies what Python does to names such as `__x` in the body of a class."""
    prefix = "_" + class_name.lstrip("_")
    private = lambda n: n.startswith("__") and not n.endswith("__") and "." not in n
    for n in source.walk(node):
        for field in ("id", "attr", "arg", "name"):
            value = getattr(n, field, None)
            if isinstance(value, str) and private(value) and n is not node:
                setattr(n, field, prefix + value)
