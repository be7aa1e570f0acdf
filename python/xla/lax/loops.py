"""Loops, branches and scans as functions: `while_loop`, `fori_loop`, `scan`, `cond`, `switch`."""

import numpy as np

from .. import _control_flow, _hlo, _ops, _pytree
from .._control_flow import loops, staged
from .._errors import ControlFlowError, fail
from .._tracer import Tracer, tracer_of, value_of


def _traced(*trees):
    return _hlo.is_tracing() and any(isinstance(leaf, Tracer) for t in trees for leaf in _pytree.flatten(t)[0])


def _condition(value):
    if isinstance(value, Tracer):
        return staged.truth(value)
    return bool(value)


def while_loop(cond_fun, body_fun, init_val):
    """The value after `while cond_fun(value): value = body_fun(value)`.

    cond_fun: value -> a bool of shape (). body_fun: value -> the next value, of the same structure, types and shapes.
    init_val: an array, a number, or a tree of these.

    >>> int(while_loop(lambda x: x < 100, lambda x: x * 2, 1))
    128
    """
    if not _hlo.is_tracing():
        value = init_val
        while cond_fun(value):
            value = body_fun(value)
        return value
    test, step = _control_flow.call(cond_fun), _control_flow.call(body_fun)
    return loops.loop_over(init_val, lambda value: _condition(test(value)), step)


def fori_loop(lower, upper, body_fun, init_val):
    """The value after `for i in range(lower, upper): value = body_fun(i, value)`; lower and upper may be traced.

    >>> int(fori_loop(0, 5, lambda i, x: x + i, 0))
    10
    """
    if not _hlo.is_tracing():
        value = init_val
        for i in range(int(lower), int(upper)):
            value = body_fun(i, value)
        return value
    step = _control_flow.call(body_fun)
    first = Tracer(value_of(lower, np.int64), int)
    last = value_of(upper, np.int64)
    test = lambda state: Tracer(_ops.compare("LT", state[0].value, _hlo.current().local(last)))
    return loops.loop_over((first, init_val), test, lambda state: (state[0] + 1, step(*state)))[1]


def scan(f, init, xs=None, length=None, reverse=False):
    """Goes through the first axis of `xs`, carrying a value: gives (the value at the end, the stacked results).

    f: (carry, x) -> (next carry, y), where x has the shapes of xs without the first axis and y is a tree of arrays.
    xs: a tree of arrays of one length n, or None with `length`. The stacked results have shape (n, *y.shape).
    reverse: from the last to the first; the results stay at the place of their x.

    >>> scan(lambda c, x: (c + x, c * x), 0.0, np.arange(4.0))
    (np.float64(6.0), array([0., 0., 2., 9.]))
    """
    leaves, structure = _pytree.flatten(xs)
    lengths = {leaf.shape[0] for leaf in leaves} | ({int(length)} if length is not None else set())
    if len(lengths) != 1:
        raise ValueError(f"scan needs arrays of one length or `length`, not lengths {sorted(lengths)}")
    (n,) = lengths
    if not _hlo.is_tracing():
        return _plain_scan(f, init, leaves, structure, n, reverse)
    step = _control_flow.call(f)
    values = [value_of(leaf) for leaf in leaves]

    def items(i):
        return _pytree.unflatten(structure, [Tracer(_row(v, i)) for v in values])

    def one(carry, i):
        result = step(carry, items(i))
        if not isinstance(result, tuple) or len(result) != 2:
            fail(
                ControlFlowError, "the function of a scan gives a pair: the next carry and a result (which may be None)"
            )
        return result

    zero = Tracer(value_of(0, np.int64), int)
    kinds, out_structure = staged.kinds_of_result(lambda: one(_strong(init), zero.value)[1])
    results = [Tracer(_ops.full(0, k.dtype, (n, *k.shape))) for k in kinds]

    def advance(state):
        i, carry, stacked = state
        at = i.value if not reverse else _ops.subtract(_ops.constant(n - 1, np.int64), i.value)
        carry, y = one(carry, at)
        rows = [_put_row(s.value, value_of(leaf, s.dtype), at) for s, leaf in zip(stacked, _pytree.flatten(y)[0])]
        return i + 1, carry, [Tracer(r) for r in rows]

    test = lambda state: Tracer(_ops.compare("LT", state[0].value, _ops.constant(n, np.int64)))
    _, carry, stacked = loops.loop_over((zero, init, results), test, advance)
    return carry, _pytree.unflatten(out_structure, stacked)


def _strong(tree):
    """Numbers of a tree as traced values: what a loop's body sees."""
    leaves, structure = _pytree.flatten(tree)
    made = [leaf if isinstance(leaf, Tracer) else _number(leaf) for leaf in leaves]
    return _pytree.unflatten(structure, made)


def _number(leaf):
    kind = staged.kind_of(leaf)
    return leaf if kind is None else kind.tracer(value_of(leaf, kind.dtype))


def _row(value, i):
    """value[i] for an index value within bounds."""
    zero = _ops.constant(0, np.int64)
    row = _ops.dynamic_slice(value, [i] + [zero] * (len(value.shape) - 1), [1, *value.shape[1:]])
    return _ops.reshape(row, value.shape[1:])


def _put_row(value, row, i):
    zero = _ops.constant(0, np.int64)
    return _ops.dynamic_update_slice(value, _ops.reshape(row, (1, *row.shape)), [i] + [zero] * len(row.shape))


def _plain_scan(f, init, leaves, structure, n, reverse):
    carry, results, out_structure = init, [], None
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, _pytree.unflatten(structure, [leaf[i] for leaf in leaves]))
        y_leaves, out_structure = _pytree.flatten(y)
        results.append(y_leaves)
    if not results:
        raise ValueError("scan over nothing, outside of a compiled function, cannot tell what the results are")
    if reverse:
        results.reverse()
    return carry, _pytree.unflatten(out_structure, [np.stack(ys) for ys in zip(*results)])


def associative_scan(f, elems, reverse=False, axis=0):
    """All prefixes of an associative function: the result at i is f(…f(elems[0], elems[1])…, elems[i]).

    f: takes two trees of arrays, works along `axis` element by element; elems: a tree of arrays of one length n.
    Takes about log2(n) steps over whole arrays.

    >>> associative_scan(np.add, np.arange(5))
    array([ 0,  1,  3,  6, 10])
    """
    leaves, structure = _pytree.flatten(elems)
    leaves = [np.moveaxis(leaf, axis, 0) for leaf in leaves]
    if reverse:
        leaves = [leaf[::-1] for leaf in leaves]
    n, step = leaves[0].shape[0], 1
    while step < n:
        left = _pytree.unflatten(structure, [np.moveaxis(leaf[:-step], 0, axis) for leaf in leaves])
        right = _pytree.unflatten(structure, [np.moveaxis(leaf[step:], 0, axis) for leaf in leaves])
        joined = [np.moveaxis(leaf, axis, 0) for leaf in _pytree.flatten(f(left, right))[0]]
        leaves = [np.concatenate([leaf[:step], new]) for leaf, new in zip(leaves, joined)]
        step *= 2
    if reverse:
        leaves = [leaf[::-1] for leaf in leaves]
    return _pytree.unflatten(structure, [np.moveaxis(leaf, 0, axis) for leaf in leaves])


def cond(pred, true_fun, false_fun, *operands):
    """true_fun(*operands) if pred else false_fun(*operands); only one of them runs.

    pred: a bool of shape (). Both functions give the same structure, types and shapes.

    >>> cond(True, lambda x: x + 1, lambda x: x - 1, 5)
    6
    """
    if not isinstance(pred, Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    functions = [_control_flow.call(f) for f in (true_fun, false_fun)]
    return staged.ways(_condition(pred), [lambda f=f: f(*operands) for f in functions])


def switch(index, branches, *operands):
    """branches[index](*operands); an index out of range is moved to the nearest.

    >>> switch(1, [lambda x: x, lambda x: x * 10], 3)
    30
    """
    branches = list(branches)
    if not branches:
        raise ValueError("switch needs a branch at least")
    if not isinstance(index, Tracer):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    if index.shape != () or index.dtype.kind not in "iub":
        raise TypeError(f"the index of a switch is one integer, not {index!r}")
    functions = [_control_flow.call(f) for f in branches]
    index = np.clip(tracer_of(index).astype(np.int64), 0, len(branches) - 1).astype(np.int32)
    return staged.ways(index, [lambda f=f: f(*operands) for f in functions])
