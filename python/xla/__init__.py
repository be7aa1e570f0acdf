"""xla: compiles functions of NumPy arrays.

>>> import numpy as np, xla
>>> @xla.compile
... def f(x, y):
...     return np.sin(x) @ y
>>> f(np.ones((2, 3)), np.ones((3, 4))).shape
(2, 4)
"""

import importlib as _importlib

from . import _functions, lax, nn
from ._compile import CompiledFunction, compile
from ._deploy import Profile, Program, get_include, load
from ._lowered import Cost, FusionCost, Lowered
from ._errors import (
    ConcretizationError,
    ControlFlowError,
    DataDependentShapeError,
    DonationError,
    Error,
    InPlaceError,
    LeakedTracerError,
    NumPyStoreError,
    ObjectArrayError,
    StaticArgumentError,
    TracingError,
    UnsupportedError,
)
from ._load import cache_clear, cache_set_budget, cache_stats
from ._notices import FrozenRandomWarning, RecompilationWarning, log_compiles
from ._options import options
from ._tracebacks import full_tracebacks
from ._tracer import Tracer

# Names as users write them, in tracebacks and help().
for _public in list(vars().values()):
    if getattr(_public, "__module__", "").startswith("xla._"):
        _public.__module__ = "xla"


def __getattr__(name):
    """`xla.tf` without an import of its own."""
    if name == "tf":
        return _importlib.import_module("xla.tf")
    raise AttributeError(f"module 'xla' has no attribute {name!r}")


__version__ = "0.1.0"
