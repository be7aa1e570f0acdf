"""NumPy's array functions on traced arrays, by family. Importing this package registers them."""

from .. import _ufuncs
from . import (
    applying,
    arranging,
    choosing,
    fft,
    histograms,
    linalg,
    logic,
    methods,
    products,
    reductions,
    shapes,
    signal,
    statistics,
    ufunc_methods,
    writing,
)
