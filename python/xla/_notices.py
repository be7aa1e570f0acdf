"""What is said while functions are compiled: each compilation on request, and once per function what makes it slow or wrong
without being an error."""

import os
import sys
import warnings

from . import _errors, _explain

# Compilations of one function after which it is warned that there were so many.
MANY = 16

_log = os.environ.get("XC_LOG_COMPILES", "0") not in ("", "0", "false")


class RecompilationWarning(UserWarning):
    """A function is compiled again and again, since its arguments keep changing."""


class FrozenRandomWarning(UserWarning):
    """Random numbers that were drawn while a function was compiled, and are constants of the program."""


class log_compiles:
    """Says on the standard error stream what is compiled, why, and how long it took. Called, it switches this on or off
    for the process, as XC_LOG_COMPILES=1 in the environment does; in a `with` statement, for its body.

    >>> with log_compiles():
    ...     _ = xla.compile(lambda x: x + 1)(np.zeros(3))
    >>> _ = log_compiles(False)
    """

    def __init__(self, on=True):
        global _log
        self._before, _log = _log, bool(on)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        global _log
        _log = self._before


def compiled(name, records, was_loaded, count):
    """Says what is to be said after the compilation that is the last of `records`, the function's `count`th."""
    record = records[-1]
    if _log:
        why = "; ".join(_explain.reasons(records, len(records) - 1)) or "the first compilation"
        how = "loaded from the cache directory" if was_loaded else "compiled"
        print(
            f"xla: {how} {_explain.call_text(name, record)} in {1000 * record.compile_seconds:.1f} ms, traced in "
            f"{1000 * record.trace_seconds:.1f} ms: {why}",
            file=sys.stderr,
            flush=True,
        )
    if count == MANY:
        lately = "; ".join(_explain.reasons(records, len(records) - 1))
        _warn(
            f"{name} has been compiled {count} times, {_seconds(records)} in all, the last time because {lately}. Each "
            "new shape, type or static value compiles again: pad arrays to a few sizes, or pass numbers that change "
            f"as arrays instead of static arguments. {name}.explain() has all reasons",
            RecompilationWarning,
        )


def frozen(name, drawn):
    """Says that random numbers were taken from `drawn`, such as "np.random", while `name` was traced."""
    _warn(
        f"{name} drew random numbers from {', '.join(sorted(drawn))} while it was compiled: they are constants of the program, "
        "the same in every call. Pass them as arguments, or draw them by xla.lax.random from a key that is an argument",
        FrozenRandomWarning,
    )


def _seconds(records):
    return f"{sum(r.compile_seconds + r.trace_seconds for r in records):.1f} s"


def _warn(message, kind):
    file, line = _errors.user_location()
    warnings.warn_explicit(message, kind, file, line, source=None)
