"""Histograms of one, two or more dimensions, in terms of NumPy functions that are traced."""

import builtins
import math
import operator

import numpy as np

from .._tracer import Tracer, concrete, tracer_of
from ..lax import segment_sum
from ._support import composite, inexact, refuse
from .choosing import value_like


def _outer_edges(a, range, dtype):
    """The first and the last edge of equal bins: `range`, or that of the elements, half a unit to either side if empty."""
    if range is not None:
        low, high = range
    elif a.shape[0] == 0:
        low, high = 0, 1
    else:
        low, high = np.min(a), np.max(a)
    low, high = value_like(low, dtype), value_like(high, dtype)
    same = low == high
    half = dtype.type(0.5)
    return np.where(same, low - half, low), np.where(same, high + half, high)


@composite(np.digitize)
def digitize(x, bins, right=False):
    """Bins must be monotonic; whether they rise or fall has to be known while tracing, or rising is taken."""
    x, traced_bins = tracer_of(x), tracer_of(bins)
    if isinstance(bins, (np.ndarray, list, tuple)) and len(bins) > 1:
        plain = np.asarray(bins)
        if plain[0] > plain[-1]:
            return len(plain) - np.searchsorted(tracer_of(plain[::-1].copy()), x, side="left" if not right else "right")
    return np.searchsorted(traced_bins, x, side="left" if right else "right")


@composite(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    if isinstance(bins, str):
        refuse(f"bins={bins!r}", "the number of bins would depend on values; give a number or edges")
    if not isinstance(bins, (int, np.integer)):
        return tracer_of(bins)
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    a = tracer_of(a).ravel()
    dtype = a.dtype if inexact(a.dtype) else np.dtype(np.float64)
    return np.linspace(*_outer_edges(a, range, dtype), int(bins) + 1, dtype=dtype)


@composite(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    a = tracer_of(a)
    if a.dtype.kind == "b":
        a = a.astype(np.uint8)
    edges = histogram_bin_edges(a, bins, range)
    n = edges.shape[0] - 1
    x = a.ravel()
    place = np.searchsorted(edges, x.astype(np.result_type(x.dtype, edges.dtype)), side="right") - 1
    place = np.where(x == edges[-1], n - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    place = np.where(inside, place, n)
    w = np.ones(x.shape, np.int64) if weights is None else tracer_of(weights).ravel()
    counts = segment_sum(tracer_of(w), place, n + 1)[:n]
    if density:
        counts = counts / np.diff(edges) / np.sum(counts)
    return counts, edges


def _ndim(bins):
    """0 for a number; lists may hold numbers, edges and traced ones side by side."""
    return 1 if isinstance(bins, (list, tuple)) else np.ndim(bins)


def _edges_of_dimension(i, x, bins, range):
    """The edges along dimension i, whose coordinates are x."""
    if _ndim(bins) == 0:
        if concrete(bins, "a number of bins of np.histogramdd") < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        dtype = x.dtype if range is None and inexact(x.dtype) and x.shape[0] else np.dtype(np.float64)
        return np.linspace(*_outer_edges(x, range, dtype), operator.index(bins) + 1)
    if _ndim(bins) != 1:
        raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    if not isinstance(bins, Tracer) and np.any(np.diff(bins) < 0):
        raise ValueError(f"`bins[{i}]` must be monotonically increasing, when an array")
    return tracer_of(bins)


@composite(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """`sample`: a row per point, or a list of coordinates per dimension."""
    listed = isinstance(sample, (list, tuple))
    sample = tracer_of(sample)
    sample = np.atleast_2d(sample).T if listed or sample.ndim == 1 else sample
    count, dims = sample.shape
    bins = [bins] * dims if _ndim(bins) == 0 else list(bins)
    if len(bins) != dims:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * dims if range is None else list(range)
    if len(ranges) != dims:
        raise ValueError("range argument must have one entry per dimension")
    columns = [sample[:, i] for i in builtins.range(dims)]
    edges = [_edges_of_dimension(i, x, b, r) for i, (x, b, r) in enumerate(zip(columns, bins, ranges))]
    sides = [e.shape[0] + 1 for e in edges]
    # Every point falls in a cell of a grid that has one more bin on each side, for what lies outside.
    cell = np.zeros(count, np.int64)
    for x, e, side in zip(columns, edges, sides):
        # The last edge belongs to the last bin.
        cell = cell * side + np.searchsorted(e, x, side="right") - (x == e[-1])
    weights = np.ones(count) if weights is None else tracer_of(weights)
    if not np.can_cast(weights.dtype, np.float64):
        raise TypeError(
            f"Cannot cast array data from {weights.dtype!r} to dtype('float64') according to the rule 'safe'"
        )
    counts = segment_sum(tracer_of(weights.astype(np.float64)), cell, math.prod(sides)).reshape(sides)
    counts = counts[(slice(1, -1),) * dims]
    if density:
        total = np.sum(counts)
        for i, e in enumerate(edges):
            counts = counts / np.diff(e).reshape([-1 if i == j else 1 for j in builtins.range(dims)])
        counts = counts / total
    return counts, tuple(edges)


@composite(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    x, y = tracer_of(x), tracer_of(y)
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if _ndim(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd(np.stack([x, y], axis=1), bins, range, density, weights)
    return (counts, *edges)
