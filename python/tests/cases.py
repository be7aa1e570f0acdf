"""What the property tests run: for each NumPy function some calls, each with the kinds of arrays that it takes. Products,
linear algebra and Fourier transforms have theirs in cases_algebra.py.

A case is (name of the function, the call, a strategy per argument). Tests that all functions that the coverage page calls
"works" or "differs" have one are in coverage_test.py.
"""

import numpy as np

import cases_algebra  # noqa: F401
from accuracy import Bound, difference
from case_list import (
    CASES,  # noqa: F401
    case,
    any_array,
    number,
    real,
    floats,
    filled,
    filled_rows,
    largest,
    at_least_1d,
    at_least_2d,
)
from strategies import B, C, F, I, N, NO_NAN, arrays, matched, matrices, sorted_vector, vector

# Shapes and joining.
case("reshape", lambda x: np.reshape(x, (-1,) if x.size else x.shape), any_array)
case("reshape", lambda x: x.reshape(x.shape[::-1]), any_array)
case("ravel", np.ravel, any_array)
case("transpose", np.transpose, any_array)
case("permute_dims", lambda x: np.permute_dims(x, tuple(range(x.ndim))[::-1]), any_array)
case("matrix_transpose", np.matrix_transpose, at_least_2d)
case("moveaxis", lambda x: np.moveaxis(x, 0, -1), at_least_1d)
case("rollaxis", lambda x: np.rollaxis(x, x.ndim - 1), at_least_1d)
case("swapaxes", lambda x: np.swapaxes(x, 0, -1), at_least_1d)
case("expand_dims", lambda x: np.expand_dims(x, (0, 2)), at_least_1d)
case("squeeze", lambda x: np.squeeze(x[None, ..., None]), any_array)
case("atleast_1d", np.atleast_1d, any_array)
case("atleast_2d", np.atleast_2d, any_array)
case("atleast_3d", np.atleast_3d, any_array)
case("broadcast_to", lambda x: np.broadcast_to(x, (3,) + x.shape), any_array)
case("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y), *matched(N, 2))
case("concatenate", lambda x: np.concatenate([x, x[:1]]), at_least_1d)
case("concat", lambda x: np.concat([x, x], axis=-1), at_least_1d)
case("stack", lambda x: np.stack([x, x], axis=-1), any_array)
case("vstack", lambda x: np.vstack([x, x]), any_array)
case("hstack", lambda x: np.hstack([x, x]), any_array)
case("dstack", lambda x: np.dstack([x, x]), any_array)
case("column_stack", lambda x: np.column_stack([x, x]), vector(N))
case("block", lambda x: np.block([[x, x], [x, x]]), at_least_2d)
case("split", lambda x: np.split(np.concatenate([x, x]), 2), at_least_1d)
case("array_split", lambda x: np.array_split(x, 3), at_least_1d)
case("hsplit", lambda x: np.hsplit(x, [1]), at_least_2d)
case("vsplit", lambda x: np.vsplit(x, [1]), at_least_2d)
case("dsplit", lambda x: np.dsplit(x, [1]), arrays(N, min_dims=3))
case("unstack", lambda x: np.unstack(x), at_least_1d)
case("tile", lambda x: np.tile(x, (2, 1)), any_array)
case("repeat", lambda x: np.repeat(x, 2, axis=0), at_least_1d)
case("repeat", lambda x: np.repeat(x, 3), any_array)
case("flip", np.flip, any_array)
case("flipud", np.flipud, at_least_1d)
case("fliplr", np.fliplr, at_least_2d)
case("rot90", lambda x: np.rot90(x, 3), at_least_2d)
case("roll", lambda x: np.roll(x, 2), any_array)
case("roll", lambda x: np.roll(x, (1, -1), axis=(0, 1)), at_least_2d)
case("append", lambda x: np.append(x, x), any_array)
case("resize", lambda x: np.resize(x, (2, 3)), arrays(N, min_side=1))
case("insert", lambda x: np.insert(x, 0, x[0]), vector(N, 1))
case("delete", lambda x: np.delete(x, 0, axis=0), arrays(N, min_dims=1, min_side=1))
case("pad", lambda x: np.pad(x, 1), any_array)
for mode in ("edge", "reflect", "symmetric", "wrap", "mean", "maximum", "minimum"):
    case("pad", lambda x, mode=mode: np.pad(x, 1, mode=mode), arrays(F, min_dims=1, min_side=2), zeros=True)
case("pad", lambda x: np.pad(x, ((1, 2),), mode="linear_ramp", end_values=3), vector(F, 2))
case("copy", np.copy, any_array)
case("shape", lambda x: x * 0 + np.shape(x)[0], at_least_1d)
case("ndim", lambda x: x + np.ndim(x), real)
case("size", lambda x: x + np.size(x) * 0, real)

# Creation.
case("zeros_like", np.zeros_like, any_array)
case("ones_like", np.ones_like, any_array)
case("full_like", lambda x: np.full_like(x, 3), any_array)
case("empty_like", lambda x: np.empty_like(x) * 0 == 0, arrays(I))
case("astype", lambda x: np.astype(x, np.float64), arrays(F + I))
case("meshgrid", lambda x, y: np.meshgrid(x, y), vector(N), vector(N))
case("meshgrid", lambda x, y: np.meshgrid(x, y, indexing="ij", sparse=True), vector(N), vector(N))
case("linspace", lambda x: np.linspace(x, x + 1, 5), arrays(F, finite=True))
case("logspace", lambda x: np.logspace(x * 0, x * 0 + 2, 4), arrays(F, finite=True), ulp=2)
# Powers of ten of logarithms: ln(10) times the rounding of a number up to 2 and two functions.
case("geomspace", lambda x: np.geomspace(abs(x) + 1, abs(x) + 20, 4), arrays(F, finite=True), ulp=12)
case("vander", lambda x: np.vander(x, 3), vector(I + F, finite=True))
case("tril", lambda x: np.tril(x, 1), at_least_2d)
case("triu", lambda x: np.triu(x, -1), at_least_2d)
case("diag", lambda x: np.diag(x, 1), vector(N))
case("diag", np.diag, matrices(N))
case("diagonal", lambda x: np.diagonal(x, -1), at_least_2d)
case("diagflat", np.diagflat, vector(N))

# Reductions.
for name in ("sum", "prod", "mean", "std", "var"):
    f = getattr(np, name)
    data = arrays(F + I + C, magnitude=4) if name == "prod" else arrays(F + I + C)
    some = arrays(F + I + C, min_dims=1, min_side=1, magnitude=4 if name == "prod" else 100)
    bound = {"std": {"ulp": 4}, "var": {"ulp": 4}, "mean": {"ulp": 2}}.get(name, {})
    case(name, f, data, **bound)
    case(name, lambda x, f=f: f(x, axis=0), some, **bound)
    case(name, lambda x, f=f: f(x, axis=-1, keepdims=True), some, **bound)
    case(name, lambda x, f=f: f(x, axis=0, where=x == x), arrays(F, min_dims=1, min_side=1, magnitude=4), **bound)
case("sum", lambda x: np.sum(x, axis=0, dtype=np.float64, initial=2), arrays(F + I, min_dims=1))
case("var", lambda x: np.var(x, axis=0, ddof=1), filled_rows, ulp=4)
for name in ("max", "min", "amax", "amin", "ptp"):
    f = getattr(np, name)
    case(name, f, filled, zeros=True)
    case(name, lambda x, f=f: f(x, axis=-1, keepdims=True), filled_rows, zeros=True)
case("max", lambda x: np.max(x, axis=0, initial=3), arrays(F + I, min_dims=1))
for name in ("argmax", "argmin"):
    f = getattr(np, name)
    case(name, f, arrays(F + I + B + C, min_side=1))
    case(name, lambda x, f=f: f(x, axis=-1, keepdims=True), arrays(F + I, min_dims=1, min_side=1))
for name in ("all", "any"):
    f = getattr(np, name)
    case(name, f, any_array)
    case(name, lambda x, f=f: f(x, axis=0, keepdims=True), at_least_1d)
case("count_nonzero", np.count_nonzero, any_array)
case("count_nonzero", lambda x: np.count_nonzero(x, axis=0), at_least_1d)
case("average", lambda x: np.average(x, axis=0), filled_rows)
case("average", lambda x, w: np.average(x, weights=w), *matched(NO_NAN, 2, min_side=1, positive=True))
for name in ("median", "nanmedian"):
    f = getattr(np, name)
    case(name, f, filled, zeros=True)
    case(name, lambda x, f=f: f(x, axis=-1, keepdims=True), filled_rows, zeros=True)
for name, q in (("quantile", 0.3), ("nanquantile", 0.3), ("percentile", 30.0), ("nanpercentile", 30.0)):
    f = getattr(np, name)
    case(
        name,
        lambda x, f=f, q=q: f(x, q),
        arrays(F + I, min_dims=1, min_side=1, infinite=False),
        sums=2,
        terms=largest,
    )
    # The type of a result of NaN alone is another one in NumPy, but for f64.
    case(
        name,
        lambda x, f=f, q=q: f(x, [0, q, q * 2], axis=0),
        arrays(["float64"], min_dims=1, min_side=1, infinite=False),
        sums=2,
        terms=largest,
    )
for method in ("lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased"):
    case(
        "quantile",
        lambda x, method=method: np.quantile(x, [0.1, 0.5, 0.8], method=method),
        arrays(["float64"], min_dims=1, min_side=1, infinite=False),
        sums=2,
        terms=largest,
    )
for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd"):
    f = getattr(np, name)
    data = arrays(F + I, min_dims=1, magnitude=4, infinite=False)
    bound = {"ulp": 4} if name in ("nanvar", "nanstd") else {}
    case(name, f, data, **bound)
    case(name, lambda x, f=f: f(x, axis=0), data, **bound)
for name in ("nanmin", "nanmax"):
    f = getattr(np, name)
    case(name, f, filled, zeros=True)
    case(name, lambda x, f=f: f(x, axis=0), filled_rows, zeros=True)
for name in ("nanargmin", "nanargmax"):
    case(name, getattr(np, name), arrays(NO_NAN, min_side=1, finite=True))
for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
    f = getattr(np, name)
    data = arrays(F + I, min_dims=1, magnitude=3, finite=True)
    case(name, f, data)
    case(name, lambda x, f=f: f(x, axis=0), data)
case("cumulative_sum", lambda x: np.cumulative_sum(x, axis=0), arrays(F + I, min_dims=1, finite=True))
case("cumulative_prod", lambda x: np.cumulative_prod(x, axis=0), arrays(F + I, min_dims=1, magnitude=3, finite=True))
case("cov", np.cov, matrices(F, 1, 2, finite=True))
case("corrcoef", np.corrcoef, matrices(["float64"], 2, 3, finite=True, distinct=True), norm=4)
case("histogram", lambda x: np.histogram(x, bins=4, range=(-3, 3)), vector(F, finite=True))
case("histogram", lambda x: np.histogram(x, bins=5), vector(F, 1, finite=True), zeros=True)
case(
    "histogram",
    lambda x: np.histogram(x, bins=[-2.0, 0, 1, 3], density=True),
    vector(["float64"], 1, magnitude=2, finite=True),
)
case("histogram_bin_edges", lambda x: np.histogram_bin_edges(x, 3), vector(F, 1, finite=True), zeros=True)
case("histogram2d", lambda x, y: np.histogram2d(x, y, 3), *matched(["float64", "int32"], 2, dims=1, positive=True))
case(
    "histogram2d",
    lambda x, y: np.histogram2d(x, y, [2, [-4.0, 0, 1, 9]], [[-3, 3], None], True, x * x),
    vector(["float64"], 4, 4, magnitude=5, finite=True),
    vector(["float64"], 4, 4, magnitude=5, finite=True),
)
case("histogram2d", lambda x, y: np.histogram2d(x, y, [-9.0, 0, 0.5, 9]), *matched(F, 2, dims=1))
case(
    "histogramdd",
    lambda x: np.histogramdd(x, (2, 3, 1), [(-5, 5), None, (0, 3)], weights=[1, 2, 1, 3]),
    matrices(["float32", "float64", "int16"], 4, 3, finite=True),
    zeros=True,
)
case("histogramdd", lambda x: np.histogramdd(x, 2), matrices(["float32", "float64"], None, 2, finite=True), zeros=True)
case("digitize", lambda x: np.digitize(x, [-1.0, 0.5, 2]), arrays(F, finite=True))

# Sorting and searching.
for name in ("sort", "argsort"):
    f = getattr(np, name)
    case(name, lambda x, f=f: f(x, kind="stable"), arrays(F + I + B, min_dims=1))
    case(name, lambda x, f=f: f(x, axis=0, kind="stable"), arrays(F + I, min_dims=1))
case("sort", lambda x: np.sort(x, axis=None), arrays(F + I + C))
case("lexsort", lambda x, y: np.lexsort((x, y)), *matched(I + F, 2, dims=1))
case("partition", lambda x: np.partition(x, 0)[..., 0], filled_rows)
case("argpartition", lambda x: np.take_along_axis(x, np.argpartition(x, 0), -1)[..., 0], filled_rows)
case("sort_complex", np.sort_complex, vector(F + I), zeros=True)
case("searchsorted", lambda a, v: np.searchsorted(a, v), sorted_vector(["float64"]), floats)
case("searchsorted", lambda a, v: np.searchsorted(a, v, side="right"), sorted_vector(["int32"]), arrays(I))
case("isin", lambda x, y: np.isin(x, y), *matched(I, 2))
case("where", lambda c, x, y: np.where(c, x, y), *matched(N, 3))
case("select", lambda x: np.select([x > 1, x < 0], [x, -x], 7), real)
case("choose", lambda i, x: np.choose(i % 2, [x, x + 1]), *matched(["int64"], 2))
case("take", lambda x: np.take(x, [0, -1, 0], axis=0), arrays(N, min_dims=1, min_side=1))
case("take", lambda x: np.take(x, [[5, -9]], mode="clip"), arrays(N, min_side=1))
case("take", lambda x: np.take(x, [5, -9], mode="wrap", axis=-1), arrays(N, min_dims=1, min_side=1))
case("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=0), 0), filled_rows)
case("compress", lambda x: np.compress([True], x, axis=0), arrays(N, min_dims=1, min_side=1))

case("extract", lambda x: np.extract(np.ones(x.shape, bool), x), arrays(N, min_side=1))

# Functions of slices.
case("apply_along_axis", lambda x: np.apply_along_axis(lambda v: v[::-1], 0, x), at_least_1d)
case("apply_along_axis", lambda x: np.apply_along_axis(np.sum, -1, x), arrays(I, min_dims=1))
case("apply_along_axis", lambda x: np.apply_along_axis(np.outer, 1, x, [1, 2]), arrays(F, min_dims=2, finite=True))
case(
    "apply_along_axis",
    lambda x: np.apply_along_axis(lambda v, n: (v.max(), n), 0, x, n=2),
    arrays(F, min_dims=1),
    zeros=True,
)
case("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, -1]), arrays(I + F, min_dims=2, finite=True))
case("apply_over_axes", lambda x: np.apply_over_axes(np.cumsum, x, 0), arrays(I, min_dims=1))

# Bits.
bits = arrays(I + B + ["float32"])
case("packbits", np.packbits, bits)
case("packbits", lambda x: np.packbits(x, axis=0, bitorder="little"), bits)
case("packbits", lambda x: np.packbits(np.repeat(x, 5, axis=-1), axis=-1), arrays(I + B, min_dims=1))
octets = arrays(["uint8", "uint8", "int32"])
case("unpackbits", np.unpackbits, octets)
case("unpackbits", lambda x: np.unpackbits(x, axis=0, bitorder="little"), octets)
# NumPy leaves bits that it adds to an empty array as the memory was.
some_octets = arrays(["uint8"], min_side=1)
case("unpackbits", lambda x: np.unpackbits(x, axis=-1, count=-3), some_octets)
case("unpackbits", lambda x: np.unpackbits(x, -1, 11), some_octets)

# Logic and comparison.
case("allclose", np.allclose, *matched(F + I, 2))
case("isclose", lambda x, y: np.isclose(x, y, equal_nan=True), *matched(F + I, 2))
case("array_equal", np.array_equal, *matched(N, 2))
case("array_equal", lambda x, y: np.array_equal(x, y, equal_nan=True), *matched(F, 2))
case("array_equiv", np.array_equiv, *matched(N, 2))
for name in ("isreal", "iscomplex", "real", "imag"):
    case(name, getattr(np, name), any_array)
case("isposinf", np.isposinf, floats)
case("isneginf", np.isneginf, floats)
case("iscomplexobj", lambda x: x * np.iscomplexobj(x), real)
case("isrealobj", lambda x: x * np.isrealobj(x), real)

# Arithmetic.
case("clip", lambda x: np.clip(x, -1, 2), real)
case("clip", lambda x: np.clip(x, -1, 2), arrays(["uint8"]))
case("clip", lambda x: np.clip(x, min=3, max=300), arrays(["uint8", "int16"]))
case("clip", lambda x: np.clip(x, -2.5, None), real)
case("round", lambda x: np.round(x, 1), arrays(F, finite=True))
case("around", np.around, real)
case("fix", np.fix, real)
case("nan_to_num", np.nan_to_num, number)
case("angle", np.angle, number, ulp=4)  # of NumPy's arctan2
case("sinc", np.sinc, arrays(F, finite=True, magnitude=5), ulp=3)
case("sinc", lambda x: np.sinc(x * 0), arrays(F + I + C, finite=True))
case("i0", np.i0, arrays(NO_NAN, finite=True, magnitude=100), ulp=4)
# NumPy computes in f16, up to 3.3 ulp from the exact value; its exp of more overflows.
case("i0", np.i0, arrays(["float16"], finite=True, magnitude=8), ulp=4)
case("unwrap", np.unwrap, arrays(["float64"], min_dims=1, min_side=1, finite=True, magnitude=20))
case(
    "interp",
    lambda x, p: np.interp(x, p, np.cos(p)),
    arrays(["float64"], finite=True),
    sorted_vector(["float64"], 2, unique=True),
)
case("diff", np.diff, at_least_1d)
case("diff", lambda x: np.diff(x, 2, axis=0, prepend=1), arrays(F + I, min_dims=1, finite=True))
case("ediff1d", np.ediff1d, arrays(F + I))
case("gradient", np.gradient, vector(F, 2))
case("gradient", lambda x: np.gradient(x, 0.5, axis=0, edge_order=2), vector(F, 3, finite=True))
case("trapezoid", np.trapezoid, arrays(F, min_dims=1))
case("cross", np.cross, vector(F, 3, 3, finite=True), vector(F, 3, 3, finite=True))
case("convolve", lambda x, y: np.convolve(x, y), vector(F + I, 1, finite=True), vector(F + I, 1, finite=True))
case("convolve", lambda x, y: np.convolve(x, y, "same"), vector(F, 1, finite=True), vector(F, 1, finite=True))
case("correlate", lambda x, y: np.correlate(x, y, "full"), vector(F + C, 1, finite=True), vector(F + C, 1, finite=True))
case("correlate", lambda x, y: np.correlate(x, y), vector(F, 1, finite=True), vector(F, 1, finite=True))
case("polyval", lambda x: np.polyval([2.0, -1, 3], x), arrays(["float64"], finite=True))
case("polyadd", np.polyadd, vector(F, 1), vector(F, 1))
case("polysub", np.polysub, vector(F, 1), vector(F, 1))
case("polymul", lambda x: np.polymul(x + 1, x + 1), vector(["float64"], 1, positive=True, finite=True))


def with_leading_zeros(got, wanted):
    """NumPy cuts the leading zeros of a remainder off."""
    for g, w in zip(got, wanted):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, np.pad(w, (len(g) - len(w), 0)), atol=1e-5 * np.max(np.abs(wanted[0])))


case(
    "polydiv",
    lambda x, y: np.polydiv(x, y + 1),
    vector(["float32", "float64", "int32"], 4, 6, positive=True, finite=True),
    vector(["float64"], 4, 4, positive=True, finite=True),
    check=with_leading_zeros,
)


def same_polynomial(got, wanted):
    """Roots that lie together are known to half of the digits only; the polynomial that they are the roots of is not."""
    assert got.dtype == wanted.dtype
    assert not difference(np.poly(got) + 0j, np.poly(wanted) + 0j, Bound(norm=64))


case(
    "roots",
    lambda p: np.sort_complex(np.roots(p) + 0j),
    vector(["float64", "complex128"], 1, 4, finite=True, positive=True),
    check=same_polynomial,
)
case("polyder", np.polyder, vector(F, 2))
case("polyint", np.polyint, vector(["float64"], 1))
case("polyfit", lambda y: np.polyfit(np.arange(6.0), y, 2), vector(["float64"], 6, 6, finite=True), norm=64)
case("poly", lambda z: np.poly(z), vector(["float64"], 1, 4, finite=True, magnitude=4))

# Writes into arrays of the function's own, and indices.


def writes(function):
    def call(x, *others):
        y = x.copy()
        function(y, *others)
        return y

    return call


case("copyto", writes(lambda y: np.copyto(y, 1, where=y > 1)), real)
case("copyto", writes(lambda y: np.copyto(y, 1)), arrays(["uint8", "int16", "bool"]))
case("copyto", writes(lambda y: np.copyto(y, 1.5)), arrays(F + I))
case("copyto", writes(lambda y, x: np.copyto(y, x)), *matched(N, 2))
case("putmask", writes(lambda y, x: np.putmask(y, y > 1, x)), matrices(F + I, 3, 2), vector(F + I, 1, 4))
case("putmask", writes(lambda y: np.putmask(y, y > 1, [1, 2, 3])), filled)
case("fill_diagonal", writes(lambda y: np.fill_diagonal(y, 7)), matrices(N, 3, 2))
case("fill_diagonal", writes(lambda y: np.fill_diagonal(y, [1, 2, 3])), matrices(F + I, 3, 5))
case("put_along_axis", writes(lambda y: np.put_along_axis(y, np.zeros((1, y.shape[1]), int), 5, 0)), matrices(N, 2, 3))
case("put", writes(lambda y: np.put(y, [0, -1], [3, 4])), filled)
case("place", writes(lambda y: np.place(y, y > 1, [1, 2, 3])), real)
case("place", writes(lambda y, x: np.place(y, np.arange(y.size) % 2, x)), matrices(N, 3, 2), vector(N, 1, 4))
case("piecewise", lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: -v, 3, lambda v: v * 2]), arrays(F, finite=True))
case("diag_indices_from", lambda x: np.diag_indices_from(x), matrices(N, 3, 3))
case("tril_indices_from", lambda x: x[np.tril_indices_from(x)], matrices(N, 3, 4))
case("triu_indices_from", lambda x: x[np.triu_indices_from(x, 1)], matrices(N, 3, 4))
case("unravel_index", lambda x: np.unravel_index(np.abs(x) % 6, (2, 3)), arrays(["int64"]))
case("ravel_multi_index", lambda x, y: np.ravel_multi_index((x, y), (3, 4), mode="wrap"), *matched(["int64"], 2))
