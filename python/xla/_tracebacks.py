"""Tracebacks that show the user's frames: those of this package and of NumPy are left out of errors that say themselves
what is wrong."""

import functools
import os
import types

import numpy as np

from . import _core, _errors

_full = os.environ.get("XC_FULL_TRACEBACKS", "0") not in ("", "0", "false")
_NOTE = "(frames of xla and NumPy are left out; xla.full_tracebacks() shows them)"
# What a user's program causes, with a message of its own. Others are errors of this package: all frames help there.
_OF_USERS = (
    _errors.Error,
    ValueError,
    TypeError,
    IndexError,
    np.exceptions.AxisError,
    KeyboardInterrupt,
    FileNotFoundError,
)


def full_tracebacks(on=True):
    """Shows, or hides again, the frames of this package in tracebacks; XC_FULL_TRACEBACKS=1 in the environment does so
    from the start.

    >>> full_tracebacks()
    >>> full_tracebacks(False)
    """
    global _full
    _full = bool(on)


def for_users(function):
    """`function`, with the tracebacks of its errors shortened; for functions that users call themselves."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return call


def shorten(error):
    """Leaves the frames of this package and of NumPy out of the traceback of `error`, in place."""
    if _full or not isinstance(error, _OF_USERS):
        return
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept = [f for f in frames if not _errors.is_inside(f.tb_frame.f_code.co_filename)]
    if len(kept) == len(frames):
        return
    rebuilt = None
    for frame in reversed(kept):
        rebuilt = types.TracebackType(rebuilt, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    error.__traceback__ = rebuilt
    if _NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_NOTE)


_core.set_error_hook(shorten)
