"""Converts functions: finds out which can be, rewrites their syntax trees once, and builds functions like them whose control
flow goes through `runtime`. Functions that a converted one calls are converted when it calls them."""

import ast
import copy
import dataclasses
import dis
import functools
import random
import sys
import traceback
import types

import numpy as np

from .. import _core, _staging
from .._errors import say_first
from . import loops, rewrite, source, staged, trees
from .replacements import REPLACEMENTS

# What converted functions call, by name. The modules above this one fill it.
runtime = types.SimpleNamespace(slice=slice)

_codes = {}  # code object -> (converted code object, or None if it needs no conversion, why it cannot be converted)
_LEFT_ALONE = frozenset(
    set(sys.stdlib_module_names) | {"numpy", "ml_dtypes", "xla", "scipy", "jax", "torch", "tensorflow", "pytest"}
)


def provided(function):
    """Decorator: converted functions find this one in `runtime`."""
    setattr(runtime, function.__name__, function)
    return function


def has_loop(function):
    """Whether the function's own code goes back: then it is converted before it is traced, so that a long loop is kept as
    one instead of being unrolled."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and any(
        i.opname == "FOR_ITER" or "JUMP_BACKWARD" in i.opname for i in dis.get_instructions(code)
    )


def convert(function):
    """`function` with its control flow converted; None if it cannot be."""
    converted = _convert(function)
    return None if converted is function else converted


def explain(function, error, traceback_):
    """Says first in an error of a trace, which conversion would have avoided, which function could not be converted and
    why: `function` itself, or the innermost one on the error's way."""
    passed = [function.__code__] if isinstance(function, types.FunctionType) else []
    passed += reversed([frame.f_code for frame, _ in traceback.walk_tb(traceback_)])
    for code in passed:
        why = _codes.get(code, (None, None))[1]
        if why is not None:
            say_first(error, f"the control flow of {code.co_name} cannot be converted: {why}. As it stands, ")
            return


def _convert(function):
    """`function` converted, or itself. Functions that it calls are converted when it calls them."""
    if isinstance(function, types.MethodType):
        inner = _convert(function.__func__)
        return function if inner is function.__func__ else types.MethodType(inner, function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(_convert(function.func), *function.args, **function.keywords)
    if not isinstance(function, types.FunctionType):
        return _converted_object(function)
    code = function.__code__
    if code not in _codes:
        try:
            _codes[code] = (_converted_code(function), None)
        except (source.NoSource, SyntaxError) as error:
            _codes[code] = (None, str(error))
    converted = _codes[code][0]
    if converted is None:
        return function
    return source.rebuild(function, converted, trees.RUNTIME, runtime)


def _converted_object(function):
    """An object that can be called: its __call__, or what a compiled function wraps."""
    if isinstance(function, _core.Dispatcher):
        return _convert(function.__wrapped__)
    method = getattr(type(function), "__call__", None)
    if isinstance(method, types.FunctionType) and not _left_alone(method):
        return types.MethodType(_convert(method), function)
    return function


def _converted_code(function):
    code = function.__code__
    if trees.RUNTIME in code.co_freevars:
        return None  # the result of a conversion
    kinds = ((0x20, "a generator"), (0x80, "a coroutine"), (0x200, "an asynchronous generator"))
    for flag, what in kinds:
        if code.co_flags & flag:
            raise source.NoSource(f"it is {what}: return a list or an array instead")
    node, class_name = source.find(function)
    node = trees.clone(node)
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
    node.args = source.without_defaults(node.args)
    if class_name is not None:
        trees.mangle(node, class_name)
    node = rewrite.Rewriter(node).run()
    return source.compile_like(function, node, trees.RUNTIME)


def _left_alone(function):
    return (function.__module__ or "").split(".")[0] in _LEFT_ALONE and function.__module__ != "__main__"


def _draws(owner):
    """Is it a generator of random numbers? An iteration that draws is made once for each iteration of the loop, no more."""
    return isinstance(owner, random.Random) or type(owner).__module__.startswith("numpy.random")


@provided
def call(function):
    """What a converted function calls where its source calls `function`."""
    if loops.in_trial() and _draws(getattr(function, "__self__", None)):
        raise loops.Different("random numbers are drawn")
    try:
        replacement = replacements.get(function)
    except TypeError:
        replacement = None
    if replacement is not None:
        return replacement
    if isinstance(function, (types.FunctionType, types.MethodType)):
        inner = function.__func__ if isinstance(function, types.MethodType) else function
        if isinstance(inner, types.FunctionType) and not _left_alone(inner):
            return _convert(function)
        return function
    if isinstance(function, functools.partial):
        return functools.partial(call(function.func), *function.args, **function.keywords)
    if isinstance(function, type) and _staging.inside() and function.__module__ != "builtins":
        return _making(function)
    if isinstance(function, (type, types.BuiltinFunctionType, np.ufunc)):
        return function
    return _converted_object(function)


def _making(function):
    """`function`, whose result is a new object."""

    @functools.wraps(function)
    def make(*args, **kwargs):
        return staged.made(function(*args, **kwargs))

    return make


# Function -> what is called in its place. `changes` adds those that set attributes.
replacements = {
    **REPLACEMENTS,
    copy.copy: _making(copy.copy),
    copy.deepcopy: _making(copy.deepcopy),
    dataclasses.replace: _making(dataclasses.replace),
}
