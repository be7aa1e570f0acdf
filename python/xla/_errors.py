"""Errors of the package. Each message names the user's file and line and says what to write instead."""

import linecache
import os
import re
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_inside = {}  # file name -> is it the package's own, NumPy's or SciPy's
_LIBRARIES = ("numpy", "scipy")


class Error(Exception):
    """What all errors of this package are."""


class TracingError(Error, TypeError):
    """A function that cannot be compiled as it is written."""


class ConcretizationError(TracingError):
    """A traced value was asked for its number: by bool(), int(), float(), an `if`, a loop, a format. Tracing may go on
    with the function's control flow converted."""

    convertible = False  # does the conversion of control flow avoid it?


class NumPyStoreError(ConcretizationError):
    """A traced value was given to NumPy's own code, such as np.array([x]) or a store into a plain array."""

    convertible = True


class ControlFlowError(TracingError):
    """Control flow on traced values that has no compiled form as it is written."""


class DataDependentShapeError(TracingError):
    """The shape of a result would depend on values."""


class UnsupportedError(TracingError, NotImplementedError):
    """A function, option or type that this package does not compile."""


class ObjectArrayError(TracingError):
    """Arrays of Python objects, strings or dates."""


class InPlaceError(TracingError, ValueError):
    """A write into an argument's own memory, or into another array that may not be written."""


class LeakedTracerError(Error, RuntimeError):
    """A traced value was used after, or outside of, the trace that it belongs to."""


class DonationError(Error, ValueError):
    """An argument that cannot be donated."""


class StaticArgumentError(Error, TypeError):
    """An argument that cannot be static."""


MASK_MESSAGE = (
    "the shape of x[mask] depends on the mask's values; write np.where(mask, x, other), a reduction with where=mask, "
    "or x[mask] = y[mask], whose shapes are fixed"
)
STORED = (
    "is given to NumPy code that needs numbers, such as np.array([…]) or a store into an array made by "
    "np.zeros; write np.stack([…]) or np.zeros_like(x), or x.copy() of a traced x, instead"
)


def is_inside(file):
    """Is a file's code the package's own, NumPy's or SciPy's?"""
    found = _inside.get(file)
    if found is None:
        parts = os.path.normpath(file).split(os.sep)
        libraries = any(name in parts for name in _LIBRARIES)
        found = file.startswith(_PACKAGE) or libraries or file.startswith("<__array_function__")
        _inside[file] = found
    return found


def user_location():
    """(file, line) of the user's code that is running: the innermost frame outside of this package, NumPy and SciPy."""
    frame = user_frame()
    return ("unknown", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def user_frame():
    """The innermost frame outside of this package, NumPy and SciPy; None if there is none."""
    frame = sys._getframe(1)
    while frame is not None and is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def running_expression(frame):
    """The text of the expression that a frame is computing, such as "np.zeros(n)"; "" if it cannot be told."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, end_line, begin, end = positions
    if None in positions or line != end_line:
        return ""
    text = linecache.getline(frame.f_code.co_filename, line)
    return text.encode()[begin:end].decode(errors="replace").strip()


def variable_of(frame, value):
    """The name under which a frame knows a value; "" if it has none."""
    return next((name for name, known in frame.f_locals.items() if known is value), "")


def scipy_function():
    """The public name of the function of SciPy that is running, such as "scipy.linalg.expm"; "" if there is none."""
    frame, name = sys._getframe(1), ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "scipy":
            public = [part for part in module.split(".") if not part.startswith("_")]
            name = ".".join([*public, frame.f_code.co_name])
        elif name and not is_inside(frame.f_code.co_filename):
            break
        frame = frame.f_back
    return name


def definition(function):
    """ "file:line: " of a function's first line, for what is wrong with it as a whole; "" of one that has no code."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}: "


def at_user(message):
    """`message` with the user's file and line in front."""
    file, line = user_location()
    return f"{file}:{line}: {message}"


def place_of(error):
    """ "file:line: " that an error begins with, or ""."""
    return re.match(r"(?:[^\n]*?:\d+: )?", str(error))[0]


def say_first(error, message):
    """Puts a message in front of what an error says, behind the place that it begins with."""
    place = place_of(error)
    error.args = (f"{place}{message}{str(error).removeprefix(place)}", *error.args[1:])


def fail(kind, message):
    """Raises an error of `kind` with the user's place."""
    raise kind(at_user(message))
