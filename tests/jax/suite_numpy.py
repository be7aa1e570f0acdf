"""Functions of jax.numpy, by the types and shapes that they take."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np

from suite_lax import random_array

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ALL = ["bool"] + INTS + FLOATS + COMPLEX
FEW = ["bool", "int32", "uint8", "float32", "bfloat16", "float64", "complex64"]

UNARY = """abs absolute angle arccos arccosh arcsin arcsinh arctan arctanh argsort argwhere around array asarray
atleast_1d atleast_2d atleast_3d average bitwise_not cbrt ceil conj copy cos cosh cumprod cumsum deg2rad degrees
diagonal diff exp exp2 expm1 fabs fix flip fliplr flipud floor fmod i0 imag invert isfinite isinf isnan isneginf
isposinf isreal iscomplex log log10 log1p log2 logical_not max mean median min nan_to_num nanargmax nanargmin nancumprod
nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar negative nonzero ones_like positive prod ptp
rad2deg radians ravel real reciprocal rint rot90 sign signbit sin sinc sinh sort sort_complex sqrt square squeeze std
sum tan tanh trace transpose tril triu trunc unique unwrap var zeros_like argmax argmin all any count_nonzero
flatnonzero frexp modf spacing bitwise_count packbits vander""".split()
BINARY = """add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide divmod equal float_power floor_divide fmax fmin
fmod gcd greater greater_equal heaviside hypot isclose kron lcm ldexp left_shift less less_equal logaddexp logaddexp2
logical_and logical_or logical_xor matmul maximum minimum mod multiply nextafter not_equal outer polyadd polymul polysub
power remainder right_shift subtract inner dot vdot cross convolve correlate tensordot searchsorted isin setdiff1d
union1d intersect1d setxor1d array_equal allclose append cov corrcoef""".split()


def arrays(name, dtype, *shapes):
    rng = np.random.RandomState(zlib.crc32((name + dtype).encode()))
    return [random_array(rng, shape, dtype) for shape in shapes]


def more():
    """Functions that take more than arrays: name, the function, shapes."""
    yield "take", lambda x: jnp.take(x, np.array([0, 2, -1, 7]), axis=1, mode="clip"), (3, 4)
    yield "take_along_axis", lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1), (3, 4)
    yield "put_along_axis", lambda x: jnp.put_along_axis(x, np.array([[0], [1], [2]]), 3, 1, inplace=False), (3, 4)
    yield "where", lambda x, y: jnp.where(x > y, x, y), (3, 4), (3, 1)
    yield "select", lambda x, y: jnp.select([x > 0, y > 0], [x, y], 1), (3, 4), (3, 4)
    yield "piecewise", lambda x: jnp.piecewise(x, [x < 0, x > 1], [-1, 2, 0]), (9,)
    yield "clip", lambda x: jnp.clip(x, 0, 2), (3, 4)
    yield "concatenate", lambda x, y: jnp.concatenate([x, y], axis=1), (3, 4), (3, 2)
    yield "stack", lambda x, y: jnp.stack([x, y], axis=1), (3, 4), (3, 4)
    yield "block", lambda x, y: jnp.block([[x, y], [y, x]]), (3, 4), (3, 4)
    yield "split", lambda x: jnp.split(x, 3, axis=1), (2, 6)
    yield "array_split", lambda x: jnp.array_split(x, 4), (7, 2)
    yield "tile", lambda x: jnp.tile(x, (2, 1, 3)), (3, 4)
    yield "repeat", lambda x: jnp.repeat(x, np.array([1, 0, 2]), axis=0), (3, 4)
    yield "roll", lambda x: jnp.roll(x, (2, -1), axis=(0, 1)), (3, 4)
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "mean", "empty", "linear_ramp"):
        yield f"pad_{mode}", lambda x, mode=mode: jnp.pad(x, ((1, 2), (2, 1)), mode=mode), (4, 5)
    for shape in ((4, 5), (1, 7)):
        yield f"percentile_{shape}", lambda x: jnp.percentile(x, np.array([10.0, 50.0, 99.0]), axis=1), shape
        yield f"quantile_{shape}", lambda x: jnp.quantile(x, 0.3, method="lower"), shape
    yield "histogram", lambda x: jnp.histogram(x, bins=5), (30,)
    yield "histogram2d", lambda x, y: jnp.histogram2d(x, y, bins=4), (20,), (20,)
    yield "bincount", lambda x: jnp.bincount(jnp.abs(x).astype(int), length=9), (30,)
    yield "digitize", lambda x: jnp.digitize(x, np.array([-1, 0, 1])), (30,)
    yield "interp", lambda x: jnp.interp(x, np.arange(5.0), np.arange(5.0) ** 2), (30,)
    yield "polyval", lambda x: jnp.polyval(np.array([1, 2, 3]), x), (5,)
    yield "polyfit", lambda x, y: jnp.polyfit(x, y, 2), (8,), (8,)
    yield "roots", lambda x: jnp.sort(jnp.roots(x, strip_zeros=False)), (5,)
    yield "gradient", jnp.gradient, (4, 5)
    yield "trapezoid", jnp.trapezoid, (4, 5)
    yield "ediff1d", jnp.ediff1d, (9,)
    yield "lexsort", lambda x, y: jnp.lexsort([x, y]), (9,), (9,)
    yield "partition", lambda x: jnp.sort(jnp.partition(x, 3)[:3]), (9,)
    yield "argpartition", lambda x: jnp.sort(x[jnp.argpartition(x, 3)[:3]]), (9,)
    yield "apply_along_axis", lambda x: jnp.apply_along_axis(jnp.sum, 1, x), (3, 4)
    yield "apply_over_axes", lambda x: jnp.apply_over_axes(jnp.sum, x, [0, 1]), (3, 4)
    yield "delete", lambda x: jnp.delete(x, np.array([1, 2]), axis=1), (3, 4)
    yield "insert", lambda x: jnp.insert(x, 2, 5, axis=1), (3, 4)
    yield "fill_diagonal", lambda x: jnp.fill_diagonal(x, 7, inplace=False), (4, 4)
    yield "diag", jnp.diag, (4,)
    yield "diagflat", jnp.diagflat, (2, 2)
    yield "meshgrid", lambda x, y: jnp.meshgrid(x, y), (3,), (4,)
    yield "einsum_ij,jk", lambda x, y: jnp.einsum("ij,jk->ki", x, y), (3, 4), (4, 5)
    yield "einsum_batch", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (2, 3, 4), (2, 4, 5)
    yield "einsum_trace", lambda x: jnp.einsum("iij->j", x), (3, 3, 4)
    yield "einsum_three", lambda x, y: jnp.einsum("ij,jk,kl->il", x, y, x), (3, 3), (3, 3)
    yield "matvec", jnp.matvec, (3, 4), (4,)
    yield "vecdot", jnp.vecdot, (3, 4), (3, 4)
    yield "at_set", lambda x: x.at[1:, ::2].set(3), (4, 5)
    yield "at_add", lambda x: x.at[np.array([0, 0, 2])].add(3), (4, 5)
    yield "at_mul", lambda x: x.at[np.array([0, 0, 2])].multiply(3), (4, 5)
    yield "at_max", lambda x: x.at[np.array([0, 0, 2])].max(1), (4, 5)
    yield "at_get_fill", lambda x: x.at[np.array([0, 9])].get(mode="fill", fill_value=1), (4, 5)
    yield "index_mixed", lambda x: x[np.array([0, 2]), :, None, ::-1], (4, 5, 6)
    yield "index_bool", lambda x: x[np.array([True, False, True, True])], (4, 5)
    yield "astype", lambda x: [x.astype(t) for t in ("int8", "float32", "bool", "float16", "complex64", "uint32")], (9,)
    yield "view", lambda x: x.view("uint8") if x.dtype != bool else x, (8,)
    yield "sum_axes", lambda x: [x.sum(0), x.sum(1, keepdims=True), x.sum((0, 2)), x.sum(dtype="float32")], (3, 4, 5)
    yield "cumsum_axis", lambda x: [jnp.cumsum(x, 1), jnp.cumsum(x, 0, dtype="float32"), jnp.cumprod(x, 2)], (3, 4, 5)
    yield "nan_to_num", lambda x: jnp.nan_to_num(jnp.where(x > 0, x, jnp.nan).astype(x.dtype)), (9,)
    yield "unravel_index", lambda x: jnp.unravel_index(jnp.abs(x).astype(int) % 12, (3, 4)), (9,)
    yield "ravel_multi_index", lambda x: jnp.ravel_multi_index((jnp.abs(x).astype(int) % 3,) * 2, (3, 4)), (9,)
    yield "resize", lambda x: jnp.resize(x, (3, 7)), (4, 2)
    yield "moveaxis", lambda x: jnp.moveaxis(x, 0, -1), (3, 4, 5)
    yield "broadcast_to", lambda x: jnp.broadcast_to(x, (3, 4, 5)), (4, 1)
    yield "compress", lambda x: jnp.compress(np.array([True, False, True]), x, axis=0), (3, 4)
    yield "extract", lambda x: jnp.extract(x > 0, x), (3, 4)
    yield "choose", lambda x: jnp.choose(np.array([0, 1, 0, 1]), [x, -x] if x.dtype != bool else [x, x]), (4,)
    yield "unique_all", lambda x: list(jnp.unique_all(x)), (12,)
    yield "trim_zeros", jnp.trim_zeros, (7,)
    yield "windows", lambda x: [getattr(jnp, w)(9) for w in ("bartlett", "blackman", "hamming", "hanning")], (2,)
    yield "linspace", lambda x: [jnp.linspace(x, x + 3, 5), jnp.logspace(0, 2, 4), jnp.geomspace(1, 8, 4)], (3,)
    yield "arange", lambda x: [
        jnp.arange(3, 9, 2),
        jnp.arange(0.5, 3),
        jnp.eye(3, 4, 1),
        jnp.tri(3),
        jnp.identity(2),
    ], (2,)


def cases():
    for function in UNARY:
        for dtype in ALL:
            for shape in ((6,), (3, 4)):
                name = f"{function}_{dtype}_{len(shape)}"
                x = arrays(name, dtype, shape)
                yield name, lambda f=function, x=x: getattr(jnp, f)(*x)
    for function in BINARY:
        for dtype in FEW + ["int64", "float16"]:
            for shapes in (((5,), (5,)), ((3, 4), (4,)), ((3, 3), (3, 3))):
                name = f"{function}_{dtype}_{shapes}"
                x = arrays(name, dtype, *shapes)
                yield name, lambda f=function, x=x: getattr(jnp, f)(*x)
    for function, call, *shapes in more():
        for dtype in FEW:
            name = f"{function}_{dtype}"
            x = arrays(name, dtype, *shapes)
            yield name, lambda call=call, x=x: call(*map(jnp.asarray, x))
