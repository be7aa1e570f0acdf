"""What is said of functions that cannot be compiled."""

import numpy as np
import pytest

import xla


def fails(function, *arguments):
    with pytest.raises(xla.Error) as caught:
        xla.compile(function)(*map(np.asarray, arguments))
    return str(caught.value)
