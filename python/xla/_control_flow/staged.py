"""Branches on traced values: the code of each way is traced into a computation of its own, and what the ways change is
brought to one type and becomes the results of a `conditional`. Loops are made of the same pieces, in
loops.py."""

import threading

import numpy as np

from .. import _hlo, _ops, _pytree, _staging
from .._errors import ControlFlowError, fail
from .._tracer import Tracer, value_of
from .places import UNDEFINED, ArrayPlace, AttributePlace, NamePlace, Poison, common, kind_of, same_object

_local = threading.local()


class Info:
    """What the rewriting knows of one branch or loop."""

    __slots__ = ("line", "bound", "live_out", "live_head", "module_names", "changed", "pure")

    def __init__(self, constants):
        self.line, self.bound, self.live_out, self.live_head, self.module_names, self.changed, self.pure = constants


def name_places(info, *functions):
    cells = {}
    for function in functions:
        if function is not None:
            cells.update(zip(function.__code__.co_freevars, function.__closure__ or ()))
    return [NamePlace(n, cells[n]) for n in info.bound]


def refuse_module_names(info):
    if info.module_names:
        fail(
            ControlFlowError,
            f"line {info.line} decides on a traced value and assigns to the global variable `{info.module_names[0]}`: "
            "return the value instead",
        )


# Branches.


def branch(test, then, orelse, info, holder=None):
    """`if` on a traced condition. `holder`: the function whose cells the variables are, if `then` is none."""
    refuse_module_names(info)
    names = name_places(info, *((then, orelse) if holder is None else (holder,)))
    live = [p for p in names if p.name in info.live_out]
    _ways(test, [then, orelse], names, live, info.line)


def conditional(test, yes, no, line):
    """The value of `yes() if test else no()`."""
    return ways(test, [yes, no], line)


class _Result:
    """The place of what the functions of an expression give."""

    key = ("result",)
    internal = False

    def __init__(self):
        self.value = UNDEFINED

    def get(self):
        return UNDEFINED

    def set(self, value):
        self.value = value

    def describe(self):
        return "the result"


def ways(index, functions, line=None):
    """The result of functions[index](): `index` is a traced bool (the first function stands for true) or s32 scalar."""
    result = _Result()
    _ways(index, functions, [], [], line, result)
    if isinstance(result.value, Poison):
        result.value._fail()
    return result.value


def _ways(index, functions, names, live, line, result=None):
    traced = []
    stems = ("then", "else") if len(functions) == 2 else ["case"] * len(functions)
    written = {}
    for stem, function in zip(stems, functions):
        region = _staging.Region(stem)
        value, after = trace(region, function, names)
        if result is not None:
            after[result.key] = value
        written.update({key: ArrayPlace(tracer) for key, tracer in region.written.items()})
        written.update(region.changed)
        traced.append((region, after))
    places = live + list(written.values()) + ([] if result is None else [result])
    casts = []  # per leaf that becomes a result: (kind, its value on each way)
    plans = []
    for place in places:
        contents = [after[place.key] if place.key in after else place.get() for _, after in traced]
        plans.append(_join(place, contents, casts, line))
    roots = []
    for i, (region, _) in enumerate(traced):
        with region.traced():
            roots.append([_staging.cast(leaves[i], kind.dtype, kind.shape) for kind, leaves in casts])
    parts = [(kind.dtype, kind.shape) for kind, _ in casts]
    values = _staging.emit_conditional(_index(index), [r for r, _ in traced], roots, parts)
    results = [kind.tracer(value) for (kind, _), value in zip(casts, values)]
    for place, plan in zip(places, plans):
        place.set(plan(results))


def _index(index):
    value = index.value
    return value if value.dtype == np.bool_ else _ops.convert(value, np.int32)


class _Changes:
    """Attributes that code changes while it is traced in a region, and objects that it makes there: these are gone with
    the region, and changes of theirs are nobody's business."""

    def __init__(self):
        self.places, self.made = {}, {}


def _note(place):
    """Called before a place of an attribute changes."""
    changes = getattr(_local, "changes", None)
    if changes and id(place.owner) not in changes[-1].made:
        changes[-1].places.setdefault(place.key, (place, place.get()))


def set_attribute(owner, name, value):
    """`owner.name = value`; UNDEFINED deletes it."""
    AttributePlace(owner, name, _note).set(value)


def made(value):
    """`value`, an object that has just been made."""
    changes = getattr(_local, "changes", None)
    if changes:
        changes[-1].made[id(value)] = value
    return value


def trace(region, function, names):
    """Runs `function` in `region`: (its result, contents of changed places by key). Everything is as before, after it."""
    before = [p.get() for p in names]
    if not hasattr(_local, "changes"):
        _local.changes = []
    changes = _Changes()
    _local.changes.append(changes)
    try:
        with region.traced():
            value = function()
            after = {p.key: p.get() for p in names}
            after.update({key: place.get() for key, (place, _) in changes.places.items()})
    finally:
        _local.changes.pop()
        for place, content in zip(names, before):
            place.restore(content)
        for place, content in changes.places.values():
            place.put(content)
        writes = region.leave()
    region.changed.update({key: place for key, (place, _) in changes.places.items()})
    after.update(writes)
    return value, after


def _join(place, contents, casts, line):
    """A function from the results of the conditional to the contents of `place`; adds to `casts`."""
    defined = [c for c in contents if c is not UNDEFINED]
    if not defined:
        return lambda results: UNDEFINED
    at = "" if line is None else f" at line {line}"
    if all(c is contents[0] for c in contents):
        return lambda results: contents[0]
    if len(defined) < len(contents):
        filled = [c if c is not UNDEFINED else _zeros(defined[0]) for c in contents]
        if not place.internal:
            why = (
                f"{place.describe()} has a value on only one way through the branch{at}: give it one before the branch"
            )
            whole = lambda results: UNDEFINED
            if not any(isinstance(c, Poison) for c in defined):
                whole = _join(place, filled, casts, line)
            return lambda results: Poison(why, ControlFlowError, whole(results))
        contents = filled  # the flag beside it says that the value is not looked at
    for content in contents:
        if isinstance(content, Poison):
            return lambda results: content
    flat = [_pytree.flatten(c) for c in contents]
    if any(structure != flat[0][1] for _, structure in flat):
        why = f"{place.describe()} differs in structure between the ways through the branch{at}: {_differ(contents)}"
        return lambda results: Poison(why, ControlFlowError)
    slots = []
    first = len(casts)
    for leaves in zip(*(leaves for leaves, _ in flat)):
        if all(same_object(leaves[0], other) for other in leaves[1:]):
            slots.append((None, leaves[0]))
            continue
        kinds = [kind_of(leaf) for leaf in leaves]
        kind = kinds[0]
        for other in kinds[1:]:
            kind = None if kind is None or other is None else common(kind, other)
        if kind is None:
            del casts[first:]
            said = " and ".join(say_kind(leaf, k) for leaf, k in zip(leaves, kinds))
            why = f"{place.describe()} differs between the ways through the branch{at}: {said}; make them one type"
            return lambda results: Poison(why, ControlFlowError)
        slots.append((len(casts), kind))
        casts.append((kind, leaves))
    structure = flat[0][1]
    return lambda results: _pytree.unflatten(structure, [v if i is None else results[i] for i, v in slots])


def say_kind(leaf, kind):
    return repr(kind) if kind is not None else f"the Python object {leaf!r}"[:80]


def _differ(contents):
    return " and ".join(repr(c)[:60] if not hasattr(c, "shape") else str(kind_of(c)) for c in contents)


def _zeros(content):
    """Something of the same type that nobody looks at."""
    leaves, structure = _pytree.flatten(content)
    kinds = [kind_of(leaf) if isinstance(leaf, Tracer) else None for leaf in leaves]
    return _pytree.unflatten(structure, [leaf if k is None else k.zeros() for leaf, k in zip(leaves, kinds)])


def kinds_of_result(function):
    """(kind of each leaf, structure) of what `function()` gives; nothing that it computes stays in the program."""
    with _staging.Discarded():
        value, _ = trace(_staging.Region("trial"), function, [])
        leaves, structure = _pytree.flatten(value)
        kinds = [kind_of(leaf) for leaf in leaves]
    for kind, leaf in zip(kinds, leaves):
        if kind is None:
            fail(ControlFlowError, f"{leaf!r} is neither an array nor a number"[:200])
    return kinds, structure


def check(holds, error):
    """Makes the call raise `error` at its end if `holds` (traced or not) was false at this place once."""
    module = _hlo.current().module
    key = (type(error), str(error))
    if key not in module.checks:
        with _hlo.tracing(module.entry):
            module.checks[key] = (error, Tracer(_ops.constant(True, np.bool_)))
    tracer = module.checks[key][1]
    tracer.assign(_ops.logical_and(value_of(tracer), value_of(holds, np.bool_)))


def is_traced(value):
    return isinstance(value, Tracer)


def truth(value):
    """A traced value as a condition: a scalar of type bool."""
    if value.size != 1:
        raise ControlFlowError(
            f"the condition is an array of shape {value.shape}, which is neither true nor false: "
            "use .any() or .all(), or np.where to choose element by element"
        )
    if value.shape != ():
        value = value.reshape(())
    return value if value.dtype == np.bool_ else value != 0


def both(a, b):
    """a and b, of conditions that may be traced."""
    if is_traced(a) or is_traced(b):
        return Tracer(_ops.logical_and(value_of(a, np.bool_), value_of(b, np.bool_)))
    return a and b


def either(a, b):
    if is_traced(a) or is_traced(b):
        return Tracer(_ops.logical_or(value_of(a, np.bool_), value_of(b, np.bool_)))
    return a or b


def negated(a):
    return Tracer(_ops.logical_not(value_of(a, np.bool_))) if is_traced(a) else not a
