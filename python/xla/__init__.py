"""xla: compiles functions of NumPy arrays.

>>> import numpy as np, xla
>>> @xla.compile
... def f(x, y):
...     return np.sin(x) @ y
>>> f(np.ones((2, 3)), np.ones((3, 4))).shape
(2, 4)
"""

from . import _functions, lax, nn
from ._compile import CompiledFunction, compile
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
from ._tracer import Tracer

__version__ = "0.1.0"
