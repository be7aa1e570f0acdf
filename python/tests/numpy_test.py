"""Property tests: every compiled NumPy function beside NumPy, over types, shapes, broadcasting, empty arrays, NaN and
infinities. XC_EXAMPLES sets how many arrays each call is tried on (40 unless it is set), XC_SEED which (the same ones in
every run unless it is set). All examples of a call are one program: compiling it takes a quarter of the time."""

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
from accuracy import difference  # noqa: E402
from cases import CASES  # noqa: E402
from strategies import Matched  # noqa: E402

EXAMPLES = int(os.environ.get("XC_EXAMPLES", "40"))
SEED = os.environ.get("XC_SEED")
SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=SEED is None,
    phases=[hypothesis.Phase.generate],
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


def examples_of(strategies):
    found = []

    @SETTINGS
    @hypothesis.given(arguments(strategies))
    def collect(inputs):
        found.append(inputs)

    (collect if SEED is None else hypothesis.seed(int(SEED))(collect))()
    return found


def quietly(call, inputs):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return call(*inputs)


def leaves(x):
    return [l for e in x for l in leaves(e)] if isinstance(x, (tuple, list)) else [np.asarray(x)]


def sizes(case, inputs):
    """What the call gives for the absolute values of its arguments, in f64; None where the case has no such bound."""
    if not case.bound.sums:
        return None
    as_size = lambda x: np.abs(x).astype(np.float64) if x.dtype.kind in "fc" else np.abs(x)
    return leaves(quietly(case.bound.terms or case.call, [as_size(x) for x in inputs]))


def wrong(case, inputs, got, wanted):
    """What differs, or ""."""
    if case.check is not None:
        case.check(got, wanted)
        return ""
    got, wanted, terms = leaves(got), leaves(wanted), sizes(case, inputs)
    if len(got) != len(wanted):
        return f"{len(got)} results, NumPy has {len(wanted)}"
    for i, (g, w) in enumerate(zip(got, wanted)):
        text = difference(g, w, case.bound, terms and terms[min(i, len(terms) - 1)])
        if text:
            return f"result {i} {text}"
    return ""


def check_error(case, inputs, error):
    """The compiled call raises what NumPy does."""
    try:
        got = xla.compile(lambda *xs: case.call(*xs))(*inputs)
    except Exception as ours:  # pylint: disable=broad-except
        assert isinstance(ours, type(error)), f"raises {ours!r}, NumPy {error!r}; for {inputs!r}"
    else:
        pytest.fail(f"gives {got!r}, NumPy raises {error!r}; for {inputs!r}")


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{c.name}-{i}" for i, c in enumerate(CASES)])
def test_like_numpy(index):
    case = CASES[index]
    examples, wanted = [], []
    for inputs in examples_of(case.arguments):
        try:
            wanted.append(quietly(case.call, [x.copy() for x in inputs]))
            examples.append(inputs)
        except Exception as error:  # pylint: disable=broad-except
            check_error(case, inputs, error)
    originals = [[x.copy() for x in inputs] for inputs in examples]
    assert examples, "NumPy refuses all examples"
    try:
        got = xla.compile(lambda every: [case.call(*inputs) for inputs in every])(examples)
    except Exception:
        for inputs in examples:  # the first that fails by itself says more
            xla.compile(lambda *xs: case.call(*xs))(*inputs)
        raise
    for inputs, before, g, w in zip(examples, originals, got, wanted):
        text = wrong(case, inputs, g, w)
        assert not text, f"{text}; for {inputs!r}"
        for x, original in zip(inputs, before):
            np.testing.assert_array_equal(x, original)
