"""Property tests: every compiled NumPy function beside NumPy, over types, shapes, broadcasting, empty arrays, NaN and
infinities. XC_EXAMPLES sets how many arrays each call is tried on (3 unless it is set), XC_SEED which (the same ones in
every run unless it is set)."""

import os
import pathlib
import sys
import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import xla  # noqa: E402
from cases import CASES  # noqa: E402
from strategies import Matched  # noqa: E402

TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12, "complex64": 4e-5, "complex128": 1e-11}
SEED = os.environ.get("XC_SEED")
SETTINGS = hypothesis.settings(
    max_examples=int(os.environ.get("XC_EXAMPLES", "3")),
    deadline=None,
    database=None,
    derandomize=SEED is None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@st.composite
def arguments(draw, strategies):
    """One array per strategy; those that are matched come from one draw."""
    drawn = {}
    out = []
    for s in strategies:
        if isinstance(s, Matched):
            if id(s.strategy) not in drawn:
                drawn[id(s.strategy)] = draw(s.strategy)
            out.append(drawn[id(s.strategy)][s.i])
        else:
            out.append(draw(s))
    return out


def leaves(x):
    return [l for e in x for l in leaves(e)] if isinstance(x, (tuple, list)) else [np.asarray(x)]


def compare(got, wanted, inputs, rtol):
    got, wanted = leaves(got), leaves(wanted)
    assert len(got) == len(wanted)
    # Sums that cancel are as exact as their largest part.
    largest = max(
        [1.0] + [float(np.max(np.abs(x[np.isfinite(x)]), initial=0)) for x in inputs if x.dtype.kind in "fciu"]
    )
    coarsest = max([TOLERANCE.get(x.dtype.name, 0) for x in inputs] + [0])
    for g, w in zip(got, wanted):
        assert g.shape == w.shape, f"shape {g.shape}, NumPy has {w.shape}"
        assert g.dtype == w.dtype, f"type {g.dtype}, NumPy has {w.dtype}"
        if w.dtype.kind in "biu":
            np.testing.assert_array_equal(g, w)
        else:
            tolerance = max(TOLERANCE[w.dtype.name], coarsest if coarsest > 1e-6 else 0, rtol or 0)
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_like_numpy(index):
    name, call, strategies, rtol, check = CASES[index]

    @SETTINGS
    @hypothesis.given(arguments(strategies))
    def run(inputs):
        originals = [x.copy() for x in inputs]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                wanted = call(*inputs)
            except Exception as e:
                with pytest.raises(Exception):
                    xla.compile(lambda *xs: call(*xs))(*inputs)
                return
        got = xla.compile(lambda *xs: call(*xs))(*inputs)
        for x, original in zip(inputs, originals):
            np.testing.assert_array_equal(x, original)
        if check is not None:
            check(got, wanted)
        else:
            compare(got, wanted, inputs, rtol)

    (run if SEED is None else hypothesis.seed(int(SEED))(run))()
