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
                found.append(f"static {name} is given by another way")
            elif before[where] != value or type(before[where]) is not type(value):
                found.append(f"static {name} was {_static_text(before[where])}, is {_static_text(value)}")
    if structure != old_structure:
        found.append("the arguments are nested or named in another way")
    else:
        for i, (a, b) in enumerate(zip(leaves, old_leaves)):
            if a != b:
                found.append(f"array {i} was {_leaf_text(b)}, is {_leaf_text(a)}")
    return found or ["it was forgotten: the cache was cleared, or too many signatures came after it"]


def explain(name, records):
    """The text that CompiledFunction.explain gives."""
    if not records:
        return f"{name} has not been compiled."
    lines = []
    for i, record in enumerate(records):
        types = ", ".join(map(_leaf_text, record.key[2]))
        times = f"traced in {1000 * record.trace_seconds:.1f} ms, compiled in {1000 * record.compile_seconds:.1f} ms"
        lines.append(f"{i + 1}. {name}({types}): {times}")
        if i == 0:
            lines.append("   the first compilation")
            continue
        nearest = min((_differences(record.key, r.key) for r in records[:i]), key=len)
        lines += [f"   {why}" for why in nearest[:5]]
        if len(nearest) > 5:
            lines.append(f"   and {len(nearest) - 5} more")
    return "\n".join(lines)
