"""The list that the property tests run, and kinds of arrays that many of its cases take."""

from strategies import C, F, I, N, arrays

CASES = []


def case(name, call, *arguments, rtol=None, check=None):
    """`arguments`: strategies of arrays. `check`: compares (got, wanted) instead of elements."""
    CASES.append((name, call, arguments, rtol, check))


any_array = arrays(N)
number = arrays(F + C)
real = arrays(F + I)
floats = arrays(F)
filled = arrays(F + I, min_side=1)
filled_rows = arrays(F + I, min_dims=1, min_side=1)
at_least_1d = arrays(N, min_dims=1)
at_least_2d = arrays(N, min_dims=2)
