"""What converted functions call to change the contents of variables and attributes: within a branch or a loop on traced
values, the other way or the next iteration must not see the change."""

import copy
import operator
import types

import numpy as np

from .. import _staging
from .._errors import ControlFlowError, fail
from .._tracer import Tracer, holds_tracer, value_of
from . import effects, staged
from .conversion import call, provided, replacements
from .expressions import holds_traced
from .staged import is_traced

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


@provided
def store(container, index, value):
    """The contents of a variable after `container[index] = value`."""
    if isinstance(container, np.ndarray):
        if is_traced(value) or holds_traced(index) or _staging.inside():
            container = Tracer(value_of(container))
    elif _staging.inside() and isinstance(container, (list, dict)):
        container = copy.copy(container)
    container[index] = value
    return container


@provided
def augment(container, index, name, value):
    """The contents of a variable after `container[index] op= value`."""
    return store(container, index, _IN_PLACE[name](container[index], value))


@provided
def augment_variable(variable, name, value):
    """A variable after `variable op= value`. An array of NumPy's that takes traced values becomes a traced one, and what is
    changed in a branch or loop a new one."""
    if type(variable) is np.ndarray and (is_traced(value) or _staging.inside()):
        variable = Tracer(value_of(variable))
    elif _staging.inside() and isinstance(variable, (list, dict, set)):
        variable = copy.copy(variable)
    return _IN_PLACE[name](variable, value)


@provided
def change(container, name, *args, **kwargs):
    """The contents of a variable after the statement `container.name(…)`."""
    if _staging.inside() and type(container) in (list, dict, set) and name in effects.CHANGES:
        container = copy.copy(container)
    call(getattr(container, name))(*args, **kwargs)
    return container


@provided
def written(function, variable, *args, **kwargs):
    """The contents of a variable after the statement `function(variable, …)`, where the function's name is that of one of
    NumPy's that write into their first argument."""
    if type(variable) is np.ndarray and (holds_tracer([args, list(kwargs.values())]) or _staging.inside()):
        variable = Tracer(value_of(variable))
    call(function)(variable, *args, **kwargs)
    return variable


@provided
def refuse_outer(container, name):
    """Called before a change of what the variable `name` of a function around this one holds."""
    if _staging.inside() and isinstance(container, (list, dict, set, np.ndarray)):
        fail(
            ControlFlowError,
            f"`{name}` belongs to a function around this one, or to the module, and is changed in a branch or loop on traced "
            "values, which cannot be converted: give it as an argument and return it",
        )


@provided
def refuse_inner(container, text):
    """Called before a change of a container that the expression `text` takes from another one or from an object."""
    if _staging.inside() and isinstance(container, (list, dict, set, np.ndarray)):
        fail(
            ControlFlowError,
            f"`{text}`, a {type(container).__name__} inside another object, is changed in a branch or loop on traced values, "
            f"which cannot be converted: change a variable and put it back (part = {text}; part[…] = …; {text} = part)",
        )


@provided
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


@provided
def augment_attribute(owner, name, operation, value):
    """`owner.name op= value`."""
    before = getattr(owner, name)
    after = _IN_PLACE[operation](before, value)
    if after is not before or not is_traced(after):
        set_attribute(owner, name, after)


@provided
def delete_attribute(owner, name):
    """`del owner.name`."""
    getattr(owner, name)
    if _staging.inside():
        staged.set_attribute(owner, name, staged.UNDEFINED)
    else:
        delattr(owner, name)


replacements[setattr] = set_attribute
replacements[delattr] = delete_attribute
