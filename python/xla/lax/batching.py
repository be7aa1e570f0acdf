"""`vmap`: a function of single items as one of many. Its operations are traced on items and added to the program with one
more axis in front; what has no such form (loops and branches on items' values) makes a loop over the items instead."""

import numpy as np

from .. import _control_flow, _hlo, _ops, _pytree, _staging
from .._compile import compile as compile_
from .._errors import ControlFlowError, fail
from .._tracer import Tracer, value_of
from . import _batching_rules as rules
from .loops import scan


def map(f, xs):
    """f of each item along the first axis of `xs` (a tree of arrays), one after the other; results are stacked.

    >>> map(lambda x: x * x, np.arange(3.0))
    array([0., 1., 4.])
    """
    return scan(lambda carry, x: (carry, _call(f)(x)), 0, xs)[1]


def _call(f):
    return _control_flow.call(f) if _hlo.is_tracing() else f


class _Batched(_hlo.Computation):
    """Stands for the computation around it while a function of single items is traced: its values are those of an item,
    and each stands for a value outside that has all items along its first axis, or one for all."""

    def __init__(self, outer, size):
        super().__init__(outer.module, "items", parent=outer)
        self.outer, self.size = outer, size
        self.meaning = {}  # name of a value of an item -> (value outside, has it an axis of items)

    def item(self, value, batched):
        shape = value.shape[1:] if batched else value.shape
        made = _hlo.Value(self, self.module.fresh("item"), value.dtype, shape)
        self.meaning[made.name] = (value, batched)
        return made

    def local(self, value):
        if value.computation is self:
            return value
        return self.item(self.parent.local(value), False)

    def no_regions(self):
        raise rules.NoRule("while")

    def emit(self, opcode, dtype, shape, operands=(), attributes="", raw=None):
        known = [self.meaning[self.local(o).name] for o in operands]
        with _hlo.tracing(self.outer):
            if not any(batched for _, batched in known):
                made = self.outer.emit(opcode, dtype, shape, [v for v, _ in known], attributes, raw)
                return self.item(made, False)
            made = rules.apply(opcode, dtype, tuple(shape), known, attributes, self.size)
        return self.item(made, True)

    def emit_tuple(self, opcode, parts, operands, attributes="", raw=None):
        known = [self.meaning[self.local(o).name] for o in operands]
        with _hlo.tracing(self.outer):
            if raw is not None:
                raise rules.NoRule(opcode)
            if not any(batched for _, batched in known):
                made = self.outer.emit_tuple(opcode, parts, [v for v, _ in known], attributes)
                return [self.item(v, False) for v in made]
            made = rules.apply_tuple(opcode, parts, known, attributes, self.size)
        return [self.item(v, True) for v in made]

    def constant(self, array):
        with _hlo.tracing(self.outer):
            return self.item(self.outer.constant(array), False)


def vmap(fun, in_axes=0, out_axes=0):
    """A function that gives what `fun` gives for each item of its arguments, stacked.

    in_axes: the axis of each argument that the items are along, or None for an argument that is the same for all; a number
    for all arguments, or a tuple with an entry for each. out_axes: where the axis of items goes in the results.

    >>> vmap(np.dot)(np.ones((5, 3)), np.ones((5, 3))).shape
    (5,)
    >>> vmap(lambda x, y: x * y, in_axes=(0, None))(np.arange(3.0), np.float64(2)).shape
    (3,)
    """

    def batched(*args):
        if _hlo.is_tracing():
            return _vmapped(fun, in_axes, out_axes, args)
        key = (fun, str(in_axes), str(out_axes))
        if key not in made:
            made[key] = compile_(lambda *a: _vmapped(fun, in_axes, out_axes, a))
        return made[key](*args)

    made = {}
    batched.__name__ = getattr(fun, "__name__", "function")
    batched.__module__ = __name__
    return batched


def _leaves_and_axes(args, in_axes):
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise ValueError(f"in_axes has {len(axes)} entries for {len(args)} arguments")
    leaves, where = [], []
    flat, structure = _pytree.flatten(tuple(args))
    for argument, axis in zip(args, axes):
        for leaf in _pytree.flatten(argument)[0]:
            leaves.append(leaf)
            where.append(axis)
    assert len(flat) == len(leaves)
    sizes = {np.shape(value_of_shape(x))[a] for x, a in zip(leaves, where) if a is not None}
    if len(sizes) != 1:
        raise ValueError(f"vmap needs an argument with items, and as many items in each, not {sorted(sizes)}")
    return leaves, where, structure, sizes.pop()


def value_of_shape(x):
    """An array with the shape of x."""
    return np.broadcast_to(0, x.shape if isinstance(x, Tracer) else np.shape(x))


def _vmapped(fun, in_axes, out_axes, args):
    leaves, where, structure, size = _leaves_and_axes(args, in_axes)
    fronted = [leaf if a is None else _front(leaf, a) for leaf, a in zip(leaves, where)]
    function = _call(fun)
    lines = _hlo.current().lines
    before = len(lines)
    try:
        with _staging.Discarded() as trial:
            results, out_structure = _at_once(function, fronted, where, structure, size)
            trial.keep()
    except rules.NoRule:
        del lines[before:]
        _hlo.current().constants.clear()
        results, out_structure = _one_by_one(function, fronted, where, structure, size)
    axes = out_axes if isinstance(out_axes, (tuple, list)) else (out_axes,) * len(results)
    if len(axes) != len(results):
        raise ValueError(f"out_axes has {len(axes)} entries for {len(results)} results")
    return _pytree.unflatten(out_structure, [r if a == 0 else np.moveaxis(r, 0, a) for r, a in zip(results, axes)])


def _front(leaf, axis):
    value = value_of(leaf)
    axis %= len(value.shape)
    order = [axis] + [i for i in range(len(value.shape)) if i != axis]
    return Tracer(_ops.transpose(value, order))


def _at_once(function, leaves, where, structure, size):
    outer = _hlo.current()
    items = _Batched(outer, size)
    inputs = [
        leaf if a is None else Tracer(items.item(outer.local(value_of(leaf)), True)) for leaf, a in zip(leaves, where)
    ]
    with _hlo.tracing(items):
        result = function(*_pytree.unflatten(structure, inputs))
        leaves, out_structure = _pytree.flatten(result)
        made = [items.meaning[items.local(value_of(leaf)).name] for leaf in leaves]
    if items.writes:
        fail(ControlFlowError, "a function under vmap writes into an array from outside: return the array instead")
    results = []
    for value, batched in made:
        results.append(Tracer(value if batched else rules.repeated(value, size)))
    return results, out_structure


def _one_by_one(function, leaves, where, structure, size):
    """The items one after the other, in one loop."""
    along = [leaf for leaf, a in zip(leaves, where) if a is not None]

    def item(index, rows):
        rows = iter(rows)
        return index, function(
            *_pytree.unflatten(structure, [x if a is None else next(rows) for x, a in zip(leaves, where)])
        )

    del size
    result = scan(item, 0, along)[1]
    return _pytree.flatten(result)
