"""Loops on traced values: condition and body are traced into computations of their own, and what the body changes is
brought to one type and becomes the state of a `while`."""

import contextlib
import re
import threading
import types

import numpy as np

from .. import _ops, _pytree, _staging
from .._errors import ControlFlowError, TracingError, fail, user_location
from .._tracer import Tracer, value_of
from . import staged
from .places import (
    UNDEFINED,
    ArrayPlace,
    Kind,
    NamePlace,
    Poison,
    Undefined,
    common,
    kind_of,
    same_object,
)

_local = threading.local()


class Different(TracingError):
    """Two iterations of a loop that was to be kept as a loop are not the same code."""


def in_trial():
    """Whether what is traced now may be thrown away and traced again iteration by iteration."""
    return getattr(_local, "trials", 0) > 0


@contextlib.contextmanager
def _trial():
    _local.trials = getattr(_local, "trials", 0) + 1
    try:
        yield
    finally:
        _local.trials -= 1


class _State:
    """What a loop carries from iteration to iteration: for each place, its structure and the kind of each leaf, or the leaf itself
    where it stays the same Python object."""

    def __init__(self, line, at_least_once, breaks):
        self.line, self.at_least_once, self.breaks = line, at_least_once, breaks
        self.filled = set()
        self.places = {}
        self.entry, self.plans, self.poison, self.read = {}, {}, {}, {}

    def add(self, place, read, eager=False):
        """`read`: whether the next iteration reads what this one leaves."""
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
        """Sets the places to what an iteration begins with, in the region that is being traced."""
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
        """Changes the plans so that they hold the contents `after` an iteration too; whether there was a change."""
        return any([self._widen(key, place, after.get(key, UNDEFINED)) for key, place in self.places.items()])

    def _give_up(self, key, why):
        """The place has no one type: an error where the next iteration reads it, and a late one else."""
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
                    f"{named} gets its first value inside of the loop at line {self.line}, which may make no iteration: give it a "
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
                    f"{named} changes in the loop at line {self.line} from {staged.say_kind(slot, old)} to {staged.say_kind(leaf, new)}, and a "
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
    """`while test(): body()`; `names`: the variables bound in either. With `twice`, two iterations must be the same code."""
    staged.refuse_module_names(info)
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

            def iteration():
                state.begin(region)
                body()

            with _trial() if twice else contextlib.nullcontext():
                _, after = staged.trace(region, iteration, names)
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
                    raise Different("the iterations of the loop differ")
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

    decision, decided = staged.trace(condition, decide, names)
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
    """Whether a loop's condition, plain before the first iteration, is traced after it."""
    names = staged.name_places(info, test, body)
    try:
        with _staging.Discarded(), _trial():
            region = _staging.Region("trial")

            def iteration():
                body()
                return isinstance(test(), Tracer)

            return staged.trace(region, iteration, names)[0]
    except Exception:  # pylint: disable=broad-except
        return False  # what is wrong shows when the iteration is made


def while_(test, decide, body, info):
    """`while` on a traced condition; `decide` gives test() as a condition."""
    loop(decide, body, staged.name_places(info, test, body), info)


def count(iterations, item, body, guard, info, **options):
    """`for` over `iterations` (traced or not) items; `item(i)` gives the one of iteration i."""
    counter = NamePlace("_xla_trip", types.CellType(Tracer(value_of(0, np.int64), int)))

    def go_on():
        i = counter.get()
        more = Tracer(_ops.compare("LT", i.value, value_of(iterations, i.dtype)))
        return more if guard is None else staged.both(guard(), more)

    def iteration():
        i = counter.get()
        body(item(i))
        counter.restore(i + 1)

    loop(go_on, iteration, [counter] + staged.name_places(info, body, guard), info, **options)


def loop_over(state, test, step, eager=True):
    """`while test(state): state = step(state)`, the state at the end; one loop of the program."""
    place = NamePlace("the state", types.CellType(state))
    name = (place.name,)
    info = staged.Info((user_location()[1], name, name, name, (), (), True))
    advance = lambda: place.restore(step(place.get()))
    loop(lambda: test(place.get()), advance, [place], info, eager=eager)
    return place.get()
