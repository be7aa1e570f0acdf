"""What converted functions call for statements: `if`, `while`, `for`, `assert`, `raise` and `return`, each on traced values
(staged into the program) and on plain ones (as Python has it)."""

import functools

from .. import _hlo, _staging
from .._errors import ControlFlowError, fail, user_location
from . import iterables, loops, staged
from .conversion import call, provided
from .staged import is_traced

# A loop over a range of more iterations than this is kept as a loop; a shorter one is unrolled.
ROLL_ABOVE = 16
_ITERATION = {enumerate: iterables.enumerate_, zip: iterables.zip_, reversed: iterables.reversed_}


@provided
def if_(test, body, orelse, constants):
    if not is_traced(test):
        return body() if test else orelse()
    return staged.branch(staged.truth(test), body, orelse, staged.Info(constants))


@provided
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


@provided
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
                pass  # the iterations differ, or need numbers that are known: they are made one by one
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


@provided
def assert_(test, message, line):
    if not is_traced(test):
        if not test:
            raise AssertionError(*([] if message is None else [message()]))
        return
    file, _ = user_location()
    said = "" if message is None else f": {message()}"
    staged.check(staged.truth(test), AssertionError(f"{file}:{line}: the assertion does not hold{said}"))


@provided
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


@provided
def result(value):
    """What a function returns that has a `raise` on a way without `return`."""
    try:
        return value()
    except NameError:
        return staged.Poison(
            "the function that was to give this value raises here, whatever its arguments are", ControlFlowError
        )


@provided
def goes_over(function, *args):
    """What `for … in enumerate(…)` and its like go over."""
    found = _ITERATION.get(function)
    return call(function)(*args) if found is None else found(*args)


@provided
def plain_test(value, line, why):
    """The condition of a branch or loop that stays as it is."""
    if is_traced(value):
        fail(
            ControlFlowError,
            f"the condition at line {line} is traced, and the code under it cannot be converted: {why}; "
            "move that code into a function of its own or use np.where",
        )
    return value


@provided
def plain_iteration(value, line, why):
    """What a loop that stays as it is goes over."""
    if isinstance(value, iterables.Items) and is_traced(value.count):
        plain_test(value.count, line, why)
    return value
