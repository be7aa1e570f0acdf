"""Traces a function into an HLO module."""

import dataclasses

import numpy as np

from . import _control_flow, _errors, _hlo, _pytree
from ._tracer import Tracer, check_dtype, tracer_of


@dataclasses.dataclass
class Traced:
    """A traced function: HLO text, the structure of its result, and the constant arrays that follow the arguments."""

    hlo: str
    out_structure: object
    out_dtypes: list
    hoisted: list


def signature_of(leaf):
    """What a program depends on in an argument: int, float or complex for Python's numbers, else (type, shape)."""
    if type(leaf) in (int, float, complex):
        return type(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return (check_dtype(leaf.dtype), leaf.shape)
    if isinstance(leaf, bool):
        return (np.dtype(np.bool_), ())
    if hasattr(leaf, "__dlpack__"):
        array = np.from_dlpack(leaf)
        return (check_dtype(array.dtype), array.shape)
    _errors.fail(
        _errors.ObjectArrayError,
        f"an argument of type {type(leaf).__name__} cannot be compiled: give arrays and numbers, in tuples, lists, dicts or "
        "dataclasses, or make the argument static (static_argnums, static_argnames)",
    )


_WEAK = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}


def trace(function, name, structure, signatures, call):
    """`call(function, tree)` runs `function` on the arguments that the unflattened tracers are."""
    try:
        return _trace_once(function, name, structure, signatures, call)
    except _errors.ConcretizationError as error:
        converted = _control_flow.convert(function, error)
        if converted is None:
            raise
    return _trace_once(converted, name, structure, signatures, call)


def _trace_once(function, name, structure, signatures, call):
    module = _hlo.Module("".join(c if c.isalnum() or c == "_" else "_" for c in name))
    entry = module.entry = _hlo.Computation(module, "main")
    tracers = []
    for i, signature in enumerate(signatures):
        if isinstance(signature, type):
            tracers.append(Tracer(entry.parameter(_WEAK[signature], ()), signature))
            continue
        dtype, shape = signature
        tracers.append(
            Tracer(
                entry.parameter(dtype, shape),
                None,
                f"a write into an argument of {name}: compiled functions leave their arguments alone; write x = x.copy() "
                "first, or x = x + 1 instead of x += 1, and return the result",
            )
        )
    with _hlo.tracing(entry):
        result = call(function, _pytree.unflatten(structure, tracers))
        leaves, out_structure = _pytree.flatten(result)
        values = []
        for leaf in leaves:
            if not isinstance(leaf, (Tracer, np.ndarray, np.generic, bool, int, float, complex)):
                _errors.fail(
                    _errors.ObjectArrayError,
                    f"{name} returns a {type(leaf).__name__}; compiled functions return arrays and numbers, in tuples, lists, "
                    "dicts or dataclasses",
                )
            values.append(tracer_of(leaf).value)
        entry.finish(values, entry=True)
    return Traced(module.text(), out_structure, [v.dtype for v in values], [array for array, _ in module.hoisted])
