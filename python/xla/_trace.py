"""Traces a function into an HLO module."""

import dataclasses

import numpy as np

from . import _control_flow, _errors, _hlo, _pytree, _tracer
from ._control_flow import Poison
from ._masked import Masked
from ._tracer import WEAK_TYPES, Tracer, check_dtype, tracer_of


@dataclasses.dataclass
class Traced:
    """A traced function: HLO text, the structure of its result, and the constant arrays that follow the arguments."""

    hlo: str
    out_structure: object
    out_dtypes: list
    hoisted: list
    aliases: list  # (output, donated leaf) whose memory is one
    checks: list  # the exception of each further output, a bool: what the call raises where it is false


def from_dlpack(x):
    """Another framework's array as a NumPy array, without a copy where its memory and type allow."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return np.asarray(x)  # types such as bfloat16, which NumPy's DLPack does not know


def signature_of(leaf, name):
    """What a program depends on in an argument: bool, int, float or complex for Python's numbers, else (type, shape)."""
    if type(leaf) in WEAK_TYPES:
        return type(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return (check_dtype(leaf.dtype), leaf.shape)
    if hasattr(leaf, "__dlpack__"):
        return signature_of(from_dlpack(leaf), name)
    if isinstance(leaf, Tracer):
        _errors.fail(
            _errors.LeakedTracerError,
            f"an argument of {name} is a traced value of another function's trace, which is over; return values from the "
            "function that makes them instead of keeping them in a global, an attribute or a closure",
        )
    _errors.fail(
        _errors.ObjectArrayError,
        f"an argument of {name} is a {type(leaf).__name__}, which cannot be compiled: give arrays and numbers, in tuples, "
        "lists, dicts or dataclasses, or make the argument static (static_argnums, static_argnames)",
    )


def trace(function, name, structure, signatures, call, donated=()):
    """`call(function, tree)` runs `function` on the arguments that the unflattened tracers are.
    `donated`: leaves whose memory results of their types and shapes take."""
    converted = _control_flow.convert(function) if _control_flow.has_loop(function) else None
    again = None
    while True:
        try:
            return _trace_once(again or converted or function, name, structure, signatures, call, donated)
        except (_errors.ConcretizationError, ValueError) as error:
            # NumPy turns an error of __array__ into a ValueError of its own.
            cause = error if isinstance(error, _errors.ConcretizationError) else error.__cause__
            if isinstance(cause, _errors.UnsupportedError):
                raise cause.with_traceback(error.__traceback__) from None
            if not isinstance(cause, _errors.ConcretizationError):
                raise
            if converted is None and again is None:
                again = _control_flow.convert(function)
                if again is not None:
                    continue
            said = error
            if cause is not error:
                said = _errors.NumPyStoreError(f"{_errors.place_of(cause)}a traced value {_errors.STORED}")
            if said.convertible:
                _control_flow.explain(function, said, error.__traceback__)
            raise said from None
        except TypeError as error:
            # NumPy's np.zeros(n) says no more than that n is no integer; the traced value had said why.
            asked, _tracer.asked_for_size.error = getattr(_tracer.asked_for_size, "error", None), None
            if isinstance(error, _errors.Error) or asked is None or "Tracer(" not in str(error):
                raise
            raise asked.with_traceback(error.__traceback__) from None


def _trace_once(function, name, structure, signatures, call, donated):
    module = _hlo.Module("".join(c if c.isalnum() or c == "_" else "_" for c in name))
    entry = module.entry = _hlo.Computation(module, "main")
    tracers = []
    for i, signature in enumerate(signatures):
        if isinstance(signature, type):
            tracers.append(Tracer(entry.parameter(WEAK_TYPES[signature], ()), signature))
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
            if isinstance(leaf, Masked):
                leaf.refuse_result()
            if isinstance(leaf, Poison):
                leaf._fail()  # says why it has no value
            if not isinstance(leaf, (Tracer, np.ndarray, np.generic, bool, int, float, complex)):
                raise _errors.ObjectArrayError(
                    f"{_errors.definition(function)}{name} returns a {type(leaf).__name__}; compiled functions return arrays and numbers, in tuples, lists, "
                    "dicts or dataclasses",
                )
            values.append(tracer_of(leaf).value)
        values += [holds.value for _, holds in module.checks.values()]
        entry.finish(values, entry=True)
    aliases = _aliases(name, values, signatures, donated)
    hoisted = [array for array, _ in module.hoisted]
    return Traced(
        module.text(aliases),
        out_structure,
        [v.dtype for v in values],
        hoisted,
        aliases,
        [error for error, _ in module.checks.values()],
    )


def result_of(traced, outputs):
    """What the function returns, from the program's outputs; raises what an assertion that did not hold says."""
    count = len(traced.checks)
    for error, holds in zip(traced.checks, outputs[len(outputs) - count :]):
        if not holds:
            raise error.with_traceback(None)
    return _pytree.unflatten(traced.out_structure, outputs[: len(outputs) - count])


def _aliases(name, outputs, signatures, donated):
    """Which output takes the memory of each donated leaf: the first of its type and shape."""
    aliases, taken = [], set()
    for leaf in donated:
        signature = signatures[leaf]
        if isinstance(signature, type):
            _errors.fail(
                _errors.DonationError,
                f"array {leaf} of {name} is donated, but is a number; leave it out of donate_argnums",
            )
        for i, output in enumerate(outputs):
            if i not in taken and (output.dtype, output.shape) == signature:
                aliases.append((i, leaf))
                taken.add(i)
                break
        else:
            _errors.fail(
                _errors.DonationError,
                f"array {leaf} of {name} is donated, but no result has its type and shape "
                f"{_hlo.type_text(*signature)}; leave it out of donate_argnums",
            )
    return aliases
