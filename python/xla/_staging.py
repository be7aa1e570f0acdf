"""Computations within computations: regions that become the ways of a `conditional` or the condition and body of a
`while`, and those two instructions."""

import contextlib
import math
import re
import threading

import numpy as np

from . import _hlo, _ops
from ._tracer import Tracer, value_of

_local = threading.local()


def inside():
    """Whether a branch or a loop body is being traced by this thread."""
    return getattr(_local, "depth", 0) > 0


class Region:
    """A computation traced inside of the current one. `with region:` makes it the current one, as often as wanted."""

    def __init__(self, stem):
        outer = _hlo.current()
        outer.no_regions()
        self.computation = _hlo.Computation(outer.module, stem, parent=outer, tuple_parameter=True)
        self.written = {}  # id of an array made outside -> the array
        self.changed = {}  # key -> place, of attributes that were set

    @contextlib.contextmanager
    def traced(self):
        _local.depth = getattr(_local, "depth", 0) + 1
        try:
            with _hlo.tracing(self.computation):
                yield self
        finally:
            _local.depth -= 1

    def leave(self):
        """The contents of outer arrays that were written here, by id; the arrays get back what they held before."""
        after = {}
        for key, (tracer, before) in self.computation.writes.items():
            after[key] = Tracer(tracer._value, tracer._weak)
            self.written[key] = tracer
            tracer._value = before
            tracer._version += 1
        self.computation.writes.clear()
        return after

    def parameter(self, dtype, shape):
        return self.computation.parameter(dtype, shape)


class Discarded:
    """`with Discarded():` forgets the nested computations that were traced within, as a trial's are."""

    def __enter__(self):
        self.module = _hlo.current().module
        self.count = len(self.module.finished)
        self.kept = False
        return self

    def texts(self):
        """The computations finished since, but for those that are shared by the whole module."""
        shared = set(self.module.scalar_computations.values())
        return [t for t in self.module.finished[self.count :] if t.split(" ", 1)[0].strip() not in shared]

    def keep(self):
        self.kept = True

    def __exit__(self, *unused):
        if self.kept:
            return
        gone = set(map(id, self.texts()))
        kept = [t for t in self.module.finished[self.count :] if id(t) not in gone]
        self.module.finished[self.count :] = kept


def cast(leaf, dtype, shape):
    """The HLO value of a leaf, in the computation that is being traced."""
    value = value_of(leaf, dtype)
    if value.shape != tuple(shape):
        raise ValueError(f"a value of shape {value.shape} stands where shape {tuple(shape)} was agreed on")
    return value


def _same_captures(computations):
    """Makes every computation capture the same outer values, in one order; gives these values."""
    outer = {}
    for computation in computations:
        for value, _ in computation.captured.values():
            outer.setdefault(value.name, value)
    for computation in computations:
        inner = {}
        extra = {}
        for key, (value, local) in computation.captured.items():
            (extra if value.name in inner else inner).setdefault(
                key if value.name in inner else value.name, (value, local)
            )
        for name, value in outer.items():
            if name not in inner:
                inner[name] = (value, _hlo.Value(computation, computation.module.fresh("c"), value.dtype, value.shape))
        computation.captured = {name: inner[name] for name in outer}
        for value, local in extra.values():
            # A second name of one value.
            first = computation.captured[value.name][1]
            computation.lines.insert(0, f"  {local.name} = {local.text} copy({first.name})")
    return list(outer.values())


def emit_while(init, condition, decision, body, results):
    """A loop over the state `init` (values of the current computation). `condition`, `body`: regions that have a
    parameter for each; `decision`, `results`: what they give. The values of the state at the end are given."""
    outer = _hlo.current()
    decision = condition.computation.local(decision)
    results = [body.computation.local(v) for v in results]
    captured = _same_captures([condition.computation, body.computation])
    decide = condition.computation.finish([decision], single=True)
    inner = [body.computation.captured[v.name][1] for v in captured]
    step = body.computation.finish([*results, *inner])
    state = [*map(outer.local, init), *map(outer.local, captured)]
    parts = [(v.dtype, v.shape) for v in state]
    types = ", ".join(v.text for v in state)
    name = outer.module.fresh("tuple")
    outer.lines.append(f"  {name} = ({types}) tuple({', '.join(v.name for v in state)})")
    values = outer.emit_tuple("while", parts, (), f"condition={decide}, body={step}", raw=name)
    return values[: len(init)]


# Branches of at most so many instructions, all of them cheap and on so few elements, are both computed and chosen from.
_FEW, _SMALL = 12, 256
_CHEAP = frozenset(
    """abs add and ceil clamp compare constant convert broadcast divide floor is-finite maximum minimum multiply negate not or
    reshape select sign subtract xor""".split()
)
_INSTRUCTION = re.compile(r"  \S+ = \w+\[([\d,]*)\]\S* ([\w-]+)\(")


def _is_cheap(region, values):
    if len(region.computation.lines) > _FEW or any(math.prod(v.shape) > _SMALL for v in values):
        return False
    for line in region.computation.lines:
        found = _INSTRUCTION.match(line)
        if found is None or found.group(2) not in _CHEAP:
            return False
        if math.prod(int(d) for d in found.group(1).split(",") if d) > _SMALL:
            return False
    return True


def _inline(region, values):
    """Moves a region's instructions into the current computation; gives what `values` are there."""
    outer = _hlo.current()
    names = {inner.name: outer.local(value).name for value, inner in region.computation.captured.values()}
    word = re.compile(r"\b[A-Za-z][\w-]*\.\d+\b")
    for line in region.computation.lines:
        outer.lines.append(word.sub(lambda m: names.get(m.group(0), m.group(0)), line))
    made = []
    for v in values:
        value = _hlo.Value(outer, names.get(v.name, v.name), v.dtype, v.shape)
        if v.name in outer.module.literals:
            outer.module.literals[value.name] = outer.module.literals[v.name]
        made.append(value)
    return made


def _choose(index, regions, roots):
    """The conditional as selects between both ways."""
    yes, no = (_inline(region, values) for region, values in zip(regions, roots))
    index = _hlo.current().local(index)
    same = lambda a, b: a.name == b.name
    return [a if same(a, b) else _ops.select(_ops.broadcast(index, a.shape), a, b) for a, b in zip(yes, no)]


def emit_conditional(index, regions, roots, parts):
    """The results, of types `parts`, of the region that `index` chooses: a bool value (the first of two stands for true)
    or an s32 value, where a number out of range chooses the last."""
    outer = _hlo.current()
    roots = [[region.computation.local(v) for v in values] for region, values in zip(regions, roots)]
    if index.dtype == np.bool_ and all(map(_is_cheap, regions, roots)):
        return _choose(index, regions, roots)
    names, operands = [], []
    for region, values in zip(regions, roots):
        captured = [outer.local(v) for v, _ in region.computation.captured.values()]
        names.append(region.computation.finish(values))
        operand = outer.module.fresh("tuple")
        types = ", ".join(v.text for v in captured)
        outer.lines.append(f"  {operand} = ({types}) tuple({', '.join(v.name for v in captured)})")
        operands.append(operand)
    if not parts:
        return []
    if index.dtype == np.bool_:
        attributes = f"true_computation={names[0]}, false_computation={names[1]}"
    else:
        attributes = "branch_computations={" + ", ".join(names) + "}"
    raw = ", ".join([outer.local(index).name, *operands])
    return outer.emit_tuple("conditional", parts, (), attributes, raw=raw)
