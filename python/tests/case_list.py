"""The list that the property tests run, and kinds of arrays that many of its cases take."""

import dataclasses

import numpy as np

from accuracy import Bound
from strategies import C, F, I, N, arrays

CASES = []


@dataclasses.dataclass
class Case:
    name: str  # of the function
    call: object
    arguments: tuple  # a strategy each
    bound: Bound
    check: object  # compares (got, wanted) instead of elements


def case(name, call, *arguments, check=None, **bound):
    """`arguments`: strategies of arrays. `bound`: how exact results are, see Bound; equal to NumPy's without one."""
    CASES.append(Case(name, call, arguments, Bound(**bound), check))


any_array = arrays(N)
number = arrays(F + C)
real = arrays(F + I)
floats = arrays(F)


def largest(x, *_):
    """What interpolation between elements may lose digits of."""
    return np.max(x, initial=0, where=np.isfinite(x))


filled = arrays(F + I, min_side=1)
filled_rows = arrays(F + I, min_dims=1, min_side=1)
at_least_1d = arrays(N, min_dims=1)
at_least_2d = arrays(N, min_dims=2)
