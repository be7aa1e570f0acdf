"""What converted functions call for expressions: `and`, `or`, `not`, conditional expressions, comparisons and `x[i]`, each on
traced values (staged into the program) and on plain ones (as Python has it)."""

import operator

import numpy as np

from .._tracer import Tracer, value_of
from . import staged
from .conversion import provided
from .staged import is_traced


@provided
def not_(value):
    return staged.negated(staged.truth(value)) if is_traced(value) else not value


@provided
def and_(first, others):
    value = first
    for i, other in enumerate(others):
        if is_traced(value):
            return _select(value, and_(other(), others[i + 1 :]), value)
        if not value:
            return value
        value = other()
    return value


@provided
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


@provided
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


@provided
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


@provided
def item(container, index):
    """`container[index]`."""
    if isinstance(container, np.ndarray) and holds_traced(index):
        container = Tracer(value_of(container))
    return container[index]


def holds_traced(index):
    """Whether an index is traced or has a traced part."""
    return any(is_traced(i) for i in index) if isinstance(index, tuple) else is_traced(index)
