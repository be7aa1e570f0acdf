"""Types that the stubs of xla.lax and xla.nn share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

# NumPy's arrays outside of compiled functions, traced ones inside: both have ndarray's methods and operators.
Array = np.ndarray[Any, Any]
# "VALID", "SAME", or a pair of numbers, or one number, for each dimension.
Padding = str | Sequence[int | tuple[int, int]]
