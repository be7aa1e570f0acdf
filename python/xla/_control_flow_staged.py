"""Branches and loops on traced values: the code of each way is traced into a computation of its own, and what the ways
change is brought to one type and becomes the results of a `conditional` or the state of a `while`."""

import contextlib
import re
import threading
import types

import numpy as np

from . import _hlo, _ops, _pytree, _staging
from ._control_flow_places import (
    UNDEFINED,
    ArrayPlace,
    AttributePlace,
    Kind,
    NamePlace,
    Poison,
    Undefined,
    common,
    kind_of,
    same_object,
)
from ._errors import ControlFlowError, TracingError, fail, user_location
from ._tracer import Tracer, value_of


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


def _refuse_module_names(info):
    if info.module_names:
        fail(
            ControlFlowError,
            f"line {info.line} decides on a traced value and assigns to the global variable `{info.module_names[0]}`: "
            "return the value instead",
        )


# Branches.


def branch(test, then, orelse, info, holder=None):
    """`if` on a traced condition. `holder`: the function whose cells the variables are, if `then` is none."""
    _refuse_module_names(info)
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
        value, after = _trace(region, function, names)
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


def _trace(region, function, names):
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
            said = " and ".join(_say(leaf, k) for leaf, k in zip(leaves, kinds))
            why = f"{place.describe()} differs between the ways through the branch{at}: {said}; make them one type"
            return lambda results: Poison(why, ControlFlowError)
        slots.append((len(casts), kind))
        casts.append((kind, leaves))
    structure = flat[0][1]
    return lambda results: _pytree.unflatten(structure, [v if i is None else results[i] for i, v in slots])


def _say(leaf, kind):
    return repr(kind) if kind is not None else f"the Python object {leaf!r}"[:80]


def _differ(contents):
    return " and ".join(repr(c)[:60] if not hasattr(c, "shape") else str(kind_of(c)) for c in contents)


def _zeros(content):
    """Something of the same type that nobody looks at."""
    leaves, structure = _pytree.flatten(content)
    kinds = [kind_of(leaf) if isinstance(leaf, Tracer) else None for leaf in leaves]
    return _pytree.unflatten(structure, [leaf if k is None else k.zeros() for leaf, k in zip(leaves, kinds)])


# Loops.


class Different(TracingError):
    """Two trips of a loop that was to be kept as a loop are not the same code."""


def in_trial():
    """Whether what is traced now may be thrown away and traced again trip by trip."""
    return getattr(_local, "trials", 0) > 0


@contextlib.contextmanager
def _trial():
    _local.trials = getattr(_local, "trials", 0) + 1
    try:
        yield
    finally:
        _local.trials -= 1


class _State:
    """What a loop carries from trip to trip: for each place, its structure and the kind of each leaf, or the leaf itself
    where it stays the same Python object."""

    def __init__(self, line, at_least_once, breaks):
        self.line, self.at_least_once, self.breaks = line, at_least_once, breaks
        self.filled = set()
        self.places = {}
        self.entry, self.plans, self.poison, self.read = {}, {}, {}, {}

    def add(self, place, read, eager=False):
        """`read`: whether the next trip reads what this one leaves."""
        key = place.key
        self.places[key] = place
        self.entry[key] = entry = place.get()
        self.read[key] = read
        if entry is UNDEFINED or isinstance(entry, Poison):
            self.plans[key] = None
            return
        leaves, structure = _pytree.flatten(entry)
        kinds = [kind_of(leaf) for leaf in leaves]
        carried = lambda leaf: isinstance(leaf, Tracer) or (eager and not isinstance(leaf, np.ndarray))
        self.plans[key] = (structure, [k if k is not None and carried(x) else x for k, x in zip(kinds, leaves)])

    def kinds(self):
        for key in self.places:
            if self.plans[key] is not None and key not in self.poison:
                for slot in self.plans[key][1]:
                    if isinstance(slot, Kind):
                        yield slot

    def begin(self, region):
        """Sets the places to what a trip begins with, in the region that is being traced."""
        for key, place in self.places.items():
            if key in self.poison:
                place.restore(Poison(self.poison[key], ControlFlowError))
                continue
            plan = self.plans[key]
            if plan is None:
                continue
            slots = [s.tracer(region.parameter(s.dtype, s.shape)) if isinstance(s, Kind) else s for s in plan[1]]
            if self.entry[key] is not UNDEFINED or place.internal or key in self.filled:
                place.restore(_pytree.unflatten(plan[0], slots))

    def widen(self, after):
        """Changes the plans so that they hold the contents `after` a trip too; whether there was a change."""
        return any([self._widen(key, place, after.get(key, UNDEFINED)) for key, place in self.places.items()])

    def _give_up(self, key, why):
        """The place has no one type: an error where the next trip reads it, and a late one else."""
        if self.read[key] and self.entry[key] is not UNDEFINED:
            fail(ControlFlowError, why)
        self.poison[key] = why
        return True

    def _widen(self, key, place, content):
        if key in self.poison:
            return False
        named = place.describe()
        if isinstance(content, Poison) and self.entry[key] is UNDEFINED and (self.breaks or self.at_least_once):
            if not isinstance(content._filled, (Poison, Undefined)):
                content = content._filled
                self.filled.add(key)
        if isinstance(content, Poison):
            return self._give_up(key, content._why)
        if content is UNDEFINED:
            if self.plans[key] is None:
                return False
            return self._give_up(key, f"{named} is deleted in the loop at line {self.line}")
        leaves, structure = _pytree.flatten(content)
        if self.plans[key] is None:
            if not (self.at_least_once or place.internal or self.breaks):
                return self._give_up(
                    key,
                    f"{named} gets its first value inside of the loop at line {self.line}, which may make no trip: give it a "
                    "value of the same type and shape before the loop",
                )
            kinds = [kind_of(leaf) if isinstance(leaf, Tracer) else leaf for leaf in leaves]
            self.plans[key] = (structure, kinds)
            return True
        known, slots = self.plans[key]
        if known != structure:
            return self._give_up(
                key,
                f"{named} changes its structure in the loop at line {self.line}: it comes in as {_brief(self.entry[key])} "
                f"and leaves the body as {_brief(content)}; lists cannot grow in a compiled loop, write into an array "
                "made before it",
            )
        changed = False
        for i, (slot, leaf) in enumerate(zip(slots, leaves)):
            if not isinstance(slot, Kind) and same_object(slot, leaf):
                continue
            old, new = slot if isinstance(slot, Kind) else kind_of(slot), kind_of(leaf)
            if old is None or new is None:
                return self._give_up(
                    key,
                    f"{named} changes in the loop at line {self.line} from {_say(slot, old)} to {_say(leaf, new)}, and a "
                    "Python object cannot change in a compiled loop",
                )
            kind = common(old, new)
            if kind is None:
                if self.entry[key] is not UNDEFINED and not self.read[key] and self.at_least_once:
                    kind = new
                else:
                    return self._give_up(
                        key,
                        f"{named} is {old} when the loop at line {self.line} begins and {new} after its body: give it the "
                        f"type and shape {new} before the loop, or convert it in the body (.astype, reshape)",
                    )
            if not isinstance(slot, Kind) or kind != slot:
                slots[i] = kind
                changed = True
        return changed

    def leaves(self, contents):
        """Values of the state's leaves, in the computation that is being traced."""
        values = []
        for key in self.places:
            plan = self.plans[key]
            if plan is None or key in self.poison:
                continue
            content = contents(key)
            fits = content is not UNDEFINED and not isinstance(content, Poison)
            leaves = _pytree.flatten(content)[0] if fits else [None] * len(plan[1])
            for slot, leaf in zip(plan[1], leaves):
                if isinstance(slot, Kind):
                    known = leaf is not None and kind_of(leaf).shape == slot.shape
                    values.append(_staging.cast(leaf if known else slot.zeros(), slot.dtype, slot.shape))
        return values

    def end(self, values):
        """Sets the places to what they hold after the loop."""
        values = iter(values)
        for key, place in self.places.items():
            if key in self.poison:
                place.set(Poison(self.poison[key], ControlFlowError))
            elif self.plans[key] is not None:
                structure, slots = self.plans[key]
                slots = [s.tracer(next(values)) if isinstance(s, Kind) else s for s in slots]
                place.set(_pytree.unflatten(structure, slots))


def _brief(content):
    kind = kind_of(content)
    if kind is not None:
        return repr(kind)
    leaves, _ = _pytree.flatten(content)
    return f"a {type(content).__name__} of {len(leaves)} values"


def loop(test, body, names, info, at_least_once=False, twice=False, eager=False):
    """`while test(): body()`; `names`: the variables bound in either. With `twice`, two trips must be the same code."""
    _refuse_module_names(info)
    state = _State(info.line, at_least_once, any(p.name.startswith("_xla_break") for p in names))
    for place in names:
        if place.name in info.changed and isinstance(place.get(), Tracer):
            continue  # written in place: the array itself is part of the state, for all its names
        if place.internal or place.name in info.live_head or place.name in info.live_out:
            state.add(place, place.internal or place.name in info.live_head, eager or twice)
    previous = None
    for _ in range(20):
        with _staging.Discarded() as trial:
            region = _staging.Region("body")

            def trip():
                state.begin(region)
                body()

            with _trial() if twice else contextlib.nullcontext():
                _, after = _trace(region, trip, names)
            for key, place in state.places.items():
                if isinstance(place, ArrayPlace) and key not in after:
                    # Written in another trial only: the name that led to it has an array of its own by now.
                    after[key] = place.get()
                    place.restore(state.entry[key])
            changed = False
            for key, tracer in region.written.items():
                if key not in state.places:
                    state.add(ArrayPlace(tracer), True)
                    changed = True
            for key, place in region.changed.items():
                if key not in state.places:
                    state.add(place, True, eager or twice)
                    changed = True
            changed = state.widen(after) or changed
            text = _normal(region.computation.lines + trial.texts()) if twice else None
            if not changed and (not twice or previous is not None):
                if twice and previous != text:
                    raise Different("the trips of the loop differ")
                trial.keep()
                break
            previous = None if changed else text
    else:
        fail(ControlFlowError, f"the types of the variables of the loop at line {info.line} do not settle")
    with region.traced():
        results = state.leaves(lambda key: after.get(key, UNDEFINED))
    condition = _staging.Region("condition")

    begun = {}

    def decide():
        state.begin(condition)
        begun.update({key: place.get() for key, place in state.places.items()})
        return _staging.cast(test(), np.bool_, ())

    decision, decided = _trace(condition, decide, names)
    if condition.written:
        fail(ControlFlowError, f"the condition of the loop at line {info.line} writes to an array: do it in the body")
    for key, place in condition.changed.items():
        if key not in begun or decided[key] is not begun[key]:
            what = place.describe()
            fail(ControlFlowError, f"the condition of the loop at line {info.line} sets {what}: do it in the body")
    init = state.leaves(lambda key: state.entry[key])
    state.end(_staging.emit_while(init, condition, decision, region, results))


def _normal(lines):
    """Code without the numbers that make its names unique."""
    seen = {}
    number = lambda m: f"{m.group(1)}.{seen.setdefault(m.group(2), len(seen))}"
    return re.sub(r"\b([A-Za-z][\w-]*)\.(\d+)\b", number, "\n".join(lines))


def turns_traced(test, body, info):
    """Whether a loop's condition, plain before the first trip, is traced after it."""
    names = name_places(info, test, body)
    try:
        with _staging.Discarded(), _trial():
            region = _staging.Region("trial")

            def trip():
                body()
                return isinstance(test(), Tracer)

            return _trace(region, trip, names)[0]
    except Exception:  # pylint: disable=broad-except
        return False  # what is wrong shows when the trip is made


def while_(test, decide, body, info):
    """`while` on a traced condition; `decide` gives test() as a condition."""
    loop(decide, body, name_places(info, test, body), info)


def count(trips, item, body, guard, info, **options):
    """`for` over `trips` (traced or not) items; `item(i)` gives the one of trip i."""
    counter = NamePlace("_xla_trip", types.CellType(Tracer(value_of(0, np.int64), int)))

    def go_on():
        i = counter.get()
        more = Tracer(_ops.compare("LT", i.value, value_of(trips, i.dtype)))
        return more if guard is None else both(guard(), more)

    def trip():
        i = counter.get()
        body(item(i))
        counter.restore(i + 1)

    loop(go_on, trip, [counter] + name_places(info, body, guard), info, **options)


def loop_over(state, test, step, eager=True):
    """`while test(state): state = step(state)`, the state at the end; one loop of the program."""
    place = NamePlace("the state", types.CellType(state))
    name = (place.name,)
    info = Info((user_location()[1], name, name, name, (), (), True))
    advance = lambda: place.restore(step(place.get()))
    loop(lambda: test(place.get()), advance, [place], info, eager=eager)
    return place.get()


def kinds_of_result(function):
    """(kind of each leaf, structure) of what `function()` gives; nothing that it computes stays in the program."""
    with _staging.Discarded():
        value, _ = _trace(_staging.Region("trial"), function, [])
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


def both(a, b):
    """a and b, of conditions that may be traced."""
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        return Tracer(_ops.logical_and(value_of(a, np.bool_), value_of(b, np.bool_)))
    return a and b


def either(a, b):
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        return Tracer(_ops.logical_or(value_of(a, np.bool_), value_of(b, np.bool_)))
    return a or b


def negated(a):
    return Tracer(_ops.logical_not(value_of(a, np.bool_))) if isinstance(a, Tracer) else not a
