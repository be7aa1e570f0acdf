"""What converted functions call: `if`, `while`, `for`, `and`, `or`, `not`, conditional expressions, chained comparisons,
`assert` and calls, each on traced values (staged into the program) and on plain ones (as Python has it)."""

import ast
import copy
import dataclasses
import dis
import functools
import operator
import random
import sys
import traceback
import types

import numpy as np

from . import _control_flow_iterables as iterables
from . import _control_flow_loops as loops
from . import _control_flow_rewrite as rewrite
from . import _control_flow_source as source
from . import _control_flow_staged as staged
from . import _hlo, _staging
from ._control_flow_builtins import REPLACEMENTS
from ._control_flow_staged import is_traced
from ._errors import ControlFlowError, fail, say_first, user_location
from ._tracer import Tracer, holds_tracer, value_of

# A loop over a range of more trips than this is kept as a loop; a shorter one is unrolled.
ROLL_ABOVE = 16

_codes = {}  # code object -> (converted code object, or None if it needs no conversion, why it cannot be converted)
_LEFT_ALONE = frozenset(
    set(sys.stdlib_module_names) | {"numpy", "ml_dtypes", "xla", "scipy", "jax", "torch", "tensorflow", "pytest"}
)


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
    return source.rebuild(function, converted, rewrite.RUNTIME, sys.modules[__name__])


def _converted_object(function):
    """An object that can be called: its __call__, or what a compiled function wraps."""
    if type(function).__module__ == "xla._compile":
        return _convert(function.__wrapped__)
    method = getattr(type(function), "__call__", None)
    if isinstance(method, types.FunctionType) and not _left_alone(method):
        return types.MethodType(_convert(method), function)
    return function


def _converted_code(function):
    code = function.__code__
    if rewrite.RUNTIME in code.co_freevars:
        return None  # the result of a conversion
    kinds = ((0x20, "a generator"), (0x80, "a coroutine"), (0x200, "an asynchronous generator"))
    for flag, what in kinds:
        if code.co_flags & flag:
            raise source.NoSource(f"it is {what}: return a list or an array instead")
    node, class_name = source.find(function)
    node = source.clone(node)
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
    node.args = source.without_defaults(node.args)
    if class_name is not None:
        rewrite.mangle(node, class_name)
    node = rewrite.Rewriter(node).run()
    return source.compile_like(function, node, rewrite.RUNTIME)


def _left_alone(function):
    return (function.__module__ or "").split(".")[0] in _LEFT_ALONE and function.__module__ != "__main__"


def _draws(owner):
    """Is it a generator of random numbers? A trip that draws is made once for each trip of the loop, no more."""
    return isinstance(owner, random.Random) or type(owner).__module__.startswith("numpy.random")


def call(function):
    """What a converted function calls where its source calls `function`."""
    if loops.in_trial() and _draws(getattr(function, "__self__", None)):
        raise loops.Different("random numbers are drawn")
    try:
        replacement = _REPLACEMENTS.get(function)
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


# Expressions.


def not_(value):
    return staged.negated(staged.truth(value)) if is_traced(value) else not value


def and_(first, others):
    value = first
    for i, other in enumerate(others):
        if is_traced(value):
            return _select(value, and_(other(), others[i + 1 :]), value)
        if not value:
            return value
        value = other()
    return value


def or_(first, others):
    value = first
    for i, other in enumerate(others):
        if is_traced(value):
            return _select(value, value, or_(other(), others[i + 1 :]))
        if value:
            return value
        value = other()
    return value


def _select(test, yes, no):
    """Python's `yes if test else no` of two values that are both there."""
    if yes is no:
        return yes
    test = staged.truth(test)
    is_bool = lambda v: isinstance(v, (bool, np.bool_)) or (is_traced(v) and v.dtype == np.bool_)
    if is_bool(yes) and is_bool(no):
        # `a and b`, `a or b` of two conditions: the common case.
        if yes is test or no is test:
            return staged.either(test, no) if yes is test else staged.both(test, yes)
    return staged.conditional(test, lambda: yes, lambda: no, None)


def conditional(test, yes, no, line):
    if not is_traced(test):
        return yes() if test else no()
    return staged.conditional(staged.truth(test), yes, no, line)


_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: _contains(a, b),
    "not in": lambda a, b: not_(_contains(a, b)),
}


def compare(left, names, others):
    """`left < b < c …`, each operand taken once, and none after one that makes it false."""
    result = True
    for name, other in zip(names, others):
        right = other()
        step = _COMPARE[name](left, right)
        if result is True:
            result = step
        else:
            result = _select(result, step, result) if is_traced(result) else step
        if not is_traced(result) and not result:
            return result
        left = right
    return result


def _contains(item, container):
    if is_traced(container):
        return np.any(container == item)
    if is_traced(item) and isinstance(container, (tuple, list, set, frozenset, range)):
        result = False
        for member in container:
            equal = np.all(item == member)
            result = equal if result is False else staged.either(result, equal)
        return result
    return item in container


# Statements.


def if_(test, body, orelse, constants):
    if not is_traced(test):
        return body() if test else orelse()
    return staged.branch(staged.truth(test), body, orelse, staged.Info(constants))


def while_(test, body, constants):
    info = staged.Info(constants)
    first = True
    while True:
        go_on = test()
        if is_traced(go_on) or (first and go_on and loops.turns_traced(test, body, info)):
            return loops.while_(test, lambda: _as_condition(test()), body, info)
        if not go_on:
            return None
        body()
        first = False


def _as_condition(value):
    return staged.truth(value) if is_traced(value) else bool(value)


def for_(iterated, body, guard, constants):
    info = staged.Info(constants)
    if isinstance(iterated, iterables.Items):
        items = iterated
    else:
        items = iterables.items_of(iterated)
    if items is not None:
        if is_traced(items.count):
            return loops.count(items.count, items.item, body, guard, info)
        if items.count > ROLL_ABOVE and _hlo.is_tracing() and info.pure:
            try:
                return loops.count(items.count, items.item, body, guard, info, at_least_once=True, twice=True)
            except Exception:  # pylint: disable=broad-except
                pass  # the trips differ, or need numbers that are known: they are made one by one
    for item in iterated:
        go_on = True if guard is None else guard()
        if is_traced(go_on):
            staged.branch(go_on, functools.partial(body, item), _nothing, info, body)
        elif not go_on:
            return None
        else:
            body(item)
    return None


def _nothing():
    pass


def assert_(test, message, line):
    if not is_traced(test):
        if not test:
            raise AssertionError(*([] if message is None else [message()]))
        return
    file, _ = user_location()
    said = "" if message is None else f": {message()}"
    staged.check(staged.truth(test), AssertionError(f"{file}:{line}: the assertion does not hold{said}"))


def raise_(error, cause):
    """`raise error() from cause()`. Where a traced condition decides about it, the call raises at its end."""
    raised = error()
    if isinstance(raised, type) and issubclass(raised, BaseException):
        raised = raised()
    if not _staging.inside() or not isinstance(raised, BaseException):
        if cause is None:
            raise raised
        raise raised from cause()
    staged.check(False, raised)


def result(value):
    """What a function returns that has a `raise` on a way without `return`."""
    try:
        return value()
    except NameError:
        return staged.Poison(
            "the function that was to give this value raises here, whatever its arguments are", ControlFlowError
        )


def goes_over(function, *args):
    """What `for … in enumerate(…)` and its like go over."""
    found = _ITERATION.get(function)
    return call(function)(*args) if found is None else found(*args)


slice = slice  # what converted code takes for an index such as a:b


def plain_test(value, line, why):
    """The condition of a branch or loop that stays as it is."""
    if is_traced(value):
        fail(
            ControlFlowError,
            f"the condition at line {line} is traced, and the code under it cannot be converted: {why}; "
            "move that code into a function of its own or use np.where",
        )
    return value


def plain_iteration(value, line, why):
    """What a loop that stays as it is goes over."""
    if isinstance(value, iterables.Items) and is_traced(value.count):
        plain_test(value.count, line, why)
    return value


# Changes of variables' contents, which within a branch or a loop must not be seen by the other way.


def store(container, index, value):
    """The contents of a variable after `container[index] = value`."""
    if isinstance(container, np.ndarray):
        if is_traced(value) or _holds_traced(index) or _staging.inside():
            container = Tracer(value_of(container))
    elif _staging.inside() and isinstance(container, (list, dict)):
        container = copy.copy(container)
    container[index] = value
    return container


def item(container, index):
    """`container[index]`."""
    if isinstance(container, np.ndarray) and _holds_traced(index):
        container = Tracer(value_of(container))
    return container[index]


def augment(container, index, name, value):
    """The contents of a variable after `container[index] op= value`."""
    return store(container, index, _IN_PLACE[name](container[index], value))


def augment_variable(variable, name, value):
    """A variable after `variable op= value`. An array of NumPy's that takes traced values becomes a traced one, and what is
    changed in a branch or loop a new one."""
    if type(variable) is np.ndarray and (is_traced(value) or _staging.inside()):
        variable = Tracer(value_of(variable))
    elif _staging.inside() and isinstance(variable, (list, dict, set)):
        variable = copy.copy(variable)
    return _IN_PLACE[name](variable, value)


def change(container, name, *args, **kwargs):
    """The contents of a variable after the statement `container.name(…)`."""
    if _staging.inside() and type(container) in (list, dict, set) and name in rewrite.CHANGES:
        container = copy.copy(container)
    call(getattr(container, name))(*args, **kwargs)
    return container


def written(function, variable, *args, **kwargs):
    """The contents of a variable after the statement `function(variable, …)`, where the function's name is that of one of
    NumPy's that write into their first argument."""
    if type(variable) is np.ndarray and (holds_tracer([args, list(kwargs.values())]) or _staging.inside()):
        variable = Tracer(value_of(variable))
    call(function)(variable, *args, **kwargs)
    return variable


def refuse_outer(container, name):
    """Called before a change of what the variable `name` of a function around this one holds."""
    if _staging.inside() and isinstance(container, (list, dict, set, np.ndarray)):
        fail(
            ControlFlowError,
            f"`{name}` belongs to a function around this one, or to the module, and is changed in a branch or loop on traced "
            "values, which cannot be converted: give it as an argument and return it",
        )


def refuse_inner(container, text):
    """Called before a change of a container that the expression `text` takes from another one or from an object."""
    if _staging.inside() and isinstance(container, (list, dict, set, np.ndarray)):
        fail(
            ControlFlowError,
            f"`{text}`, a {type(container).__name__} inside another object, is changed in a branch or loop on traced values, "
            f"which cannot be converted: change a variable and put it back (part = {text}; part[…] = …; {text} = part)",
        )


_IN_PLACE = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
    "MatMult": operator.imatmul,
}


def set_attribute(owner, name, value):
    """`owner.name = value`."""
    found = getattr(type(owner), name, None)
    if not _staging.inside():
        setattr(owner, name, value)
    elif isinstance(found, property) and found.fset is not None:
        call(found.fset)(owner, value)
    elif isinstance(owner, (Tracer, types.ModuleType, type)):
        what = "a traced array" if is_traced(owner) else f"{owner.__name__}"
        fail(
            ControlFlowError,
            f"`.{name}` of {what} is set in a branch or loop on traced values, which cannot be converted: "
            "set a local variable there, and the attribute after it",
        )
    else:
        staged.set_attribute(owner, name, value)


def augment_attribute(owner, name, operation, value):
    """`owner.name op= value`."""
    before = getattr(owner, name)
    after = _IN_PLACE[operation](before, value)
    if after is not before or not is_traced(after):
        set_attribute(owner, name, after)


def delete_attribute(owner, name):
    """`del owner.name`."""
    getattr(owner, name)
    if _staging.inside():
        staged.set_attribute(owner, name, staged.UNDEFINED)
    else:
        delattr(owner, name)


def _making(function):
    """`function`, whose result is a new object."""

    @functools.wraps(function)
    def make(*args, **kwargs):
        return staged.made(function(*args, **kwargs))

    return make


def _holds_traced(index):
    return any(is_traced(i) for i in index) if isinstance(index, tuple) else is_traced(index)


_REPLACEMENTS = {
    **REPLACEMENTS,
    setattr: set_attribute,
    delattr: delete_attribute,
    copy.copy: _making(copy.copy),
    copy.deepcopy: _making(copy.deepcopy),
    dataclasses.replace: _making(dataclasses.replace),
}
_ITERATION = {enumerate: iterables.enumerate_, zip: iterables.zip_, reversed: iterables.reversed_}
