"""NumPy's array functions on traced arrays, by family. Importing this package registers them."""

from .. import _ufuncs
from . import methods, reductions, shapes, ufunc_methods
