"""Rewrites the expressions of a function: `and`, `or`, `not`, conditional expressions, chained comparisons, indexing and
calls."""

import ast

from . import trees

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


class Expressions(ast.NodeTransformer):
    """`visit` rewrites an expression. `self_name`: the first parameter of the function that it stands in, or None."""

    def __init__(self, self_name):
        self.self_name = self_name

    def visit_Lambda(self, node):  # pylint: disable=invalid-name
        return node  # converted when it is called

    def visit_BoolOp(self, node):  # pylint: disable=invalid-name
        simple = all(trees.simple(v) for v in node.values[1:])
        values = [self.visit(v) for v in node.values]
        if not simple:
            node.values = values
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return trees.call(name, [values[0], trees.lambdas(values[1:], node)], node)

    def visit_UnaryOp(self, node):  # pylint: disable=invalid-name
        node.operand = self.visit(node.operand)
        return trees.call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):  # pylint: disable=invalid-name
        simple = trees.simple(node.body) and trees.simple(node.orelse)
        test, body, orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        if not simple:
            node.test, node.body, node.orelse = test, body, orelse
            return node
        arguments = [test, trees.lambda_(body), trees.lambda_(orelse), ast.Constant(value=node.lineno)]
        return trees.call("conditional", arguments, node)

    def visit_Compare(self, node):  # pylint: disable=invalid-name
        simple = all(trees.simple(c) for c in node.comparators)
        membership = any(isinstance(o, (ast.In, ast.NotIn)) for o in node.ops)
        node.left = self.visit(node.left)
        node.comparators = [self.visit(c) for c in node.comparators]
        if (len(node.ops) == 1 and not membership) or not simple:
            return node
        names = ast.Constant(value=tuple(_OPERATORS[type(o)] for o in node.ops))
        return trees.call("compare", [node.left, names, trees.lambdas(node.comparators, node)], node)

    def visit_Subscript(self, node):  # pylint: disable=invalid-name
        if (
            not isinstance(node.ctx, ast.Load)
            or not trees.simple(node)
            or any(isinstance(n, ast.Starred) for n in trees.walk(node.slice))
        ):
            return self.generic_visit(node)
        if isinstance(node.slice, (ast.Slice, ast.Constant)):
            return self.generic_visit(node)
        arguments = [self.visit(node.value), self.index(node.slice)]
        return trees.call("item", arguments, node)

    def visit_Call(self, node):  # pylint: disable=invalid-name
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.self_name:
            node.args = [trees.load("__class__"), trees.load(self.self_name)]
            return ast.fix_missing_locations(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("locals", "globals", "super", "eval", "exec"):
            return node
        node.func = trees.call("call", [node.func], node.func)
        return node

    def index(self, node):
        """The object that x[node] hands to __getitem__, as an expression."""
        if isinstance(node, ast.Slice):
            parts = [
                ast.Constant(value=None) if p is None else self.visit(p) for p in (node.lower, node.upper, node.step)
            ]
            return trees.call("slice", parts, node)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple(elts=[self.index(e) for e in node.elts], ctx=ast.Load()), node)
        return self.visit(node)

    def iterated(self, node):
        """What a `for` goes over: enumerate, zip and reversed keep the way to single items."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in ("enumerate", "zip", "reversed") and not any(
                isinstance(a, ast.Starred) for a in node.args
            ):
                return trees.call("goes_over", [node.func] + [self.iterated(a) for a in node.args], node)
        return self.visit(node)
