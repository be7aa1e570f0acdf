"""Lets a function that adds operations to a program run on plain NumPy arrays too, by compiling it alone."""

import functools
import inspect

from .. import _hlo
from .._compile import compile as compile_


def compiled_alone(*static):
    """Decorator. `static`: names of the parameters that are no arrays."""

    def decorate(function):
        signature = inspect.signature(function)
        made = []

        @functools.wraps(function)
        def call(*args, **kwargs):
            if _hlo.is_tracing():
                return function(*args, **kwargs)
            if not made:
                made.append(compile_(function, static_argnames=static))
                made[0]._warns = False  # plain arrays of any shape are what it is called with
            bound = signature.bind(*args, **kwargs)
            arrays, fixed = [], {}
            for name, value in bound.arguments.items():
                if name in static:
                    fixed[name] = _hashable(value)
                elif signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                    arrays.extend(value)
                else:
                    arrays.append(value)
            return made[0](*arrays, **fixed)

        return call

    return decorate


def _hashable(value):
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value
