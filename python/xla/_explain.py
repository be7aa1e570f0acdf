"""Why a function was compiled again: each compilation beside the most similar one before it."""

from dataclasses import dataclass

from . import _hlo

# Compilations that a function remembers.
KEPT = 100


@dataclass(frozen=True)
class Record:
    """One compilation."""

    key: tuple  # (static arguments, structure, signatures of the leaves)
    trace_seconds: float
    compile_seconds: float
    general: bool = False  # code for all sizes serves it


def _leaf_text(signature):
    if isinstance(signature, type):
        return f"Python {signature.__name__}"
    dtype, shape = signature
    return _hlo.type_text(dtype, shape)


def _static_text(value):
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "…"


def _differences(new, old):
    (n, static), structure, leaves = new
    (old_n, old_static), old_structure, old_leaves = old
    found = []
    if static != old_static or n != old_n:
        before = {where: value for where, _, value in old_static}
        for where, _, value in static:
            name = f"argument {where!r}"
            if where not in before:
                found.append(f"static {name} is given by position where it was given by name, or the other way round")
            elif before[where] != value or type(before[where]) is not type(value):
                found.append(f"static {name} was {_static_text(before[where])}, is {_static_text(value)}")
    if structure != old_structure:
        found.append("the arguments have another structure (tuples, dicts, names)")
    else:
        for i, (a, b) in enumerate(zip(leaves, old_leaves)):
            if a != b:
                found.append(f"array {i} was {_leaf_text(b)}, is {_leaf_text(a)}")
    return found or ["it was forgotten: the cache was cleared, or too many signatures came after it"]


def call_text(name, record):
    """What was compiled, such as "f(f64[3], Python int)"."""
    return f"{name}({', '.join(map(_leaf_text, record.key[2]))})"


def reasons(records, i):
    """Why the i-th of the compilations was one: its differences from the most similar one before it; none for the first."""
    return min((_differences(records[i].key, r.key) for r in records[:i]), key=len, default=[])


def explain(name, records):
    """The text that CompiledFunction.explain gives."""
    if not records:
        return f"{name} has not been compiled."
    lines = []
    for i, record in enumerate(records):
        times = f"traced in {1000 * record.trace_seconds:.1f} ms, compiled in {1000 * record.compile_seconds:.1f} ms"
        lines.append(f"{i + 1}. {call_text(name, record)}: {times}{', for all sizes' if record.general else ''}")
        if i == 0:
            lines.append("   the first compilation")
            continue
        nearest = reasons(records, i)
        lines += [f"   {why}" for why in nearest[:5]]
        if len(nearest) > 5:
            lines.append(f"   and {len(nearest) - 5} more")
    return "\n".join(lines)
