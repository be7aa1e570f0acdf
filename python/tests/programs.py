"""Functions as people write them for NumPy, in-place updates and all, with arguments for each. Those with control flow
are in programs_control.py."""

import ml_dtypes
import numpy as np

PROGRAMS = []
rng = np.random.default_rng(0)
X, V, I = rng.standard_normal((6, 4)), rng.standard_normal(6), np.array([3, 1, 2, 0, 5, 4])


def program(*arguments):
    def register(function):
        PROGRAMS.append((function, arguments))
        return function

    return register


@program(X)
def inplace(x):
    y = x.copy()
    y += 1
    y *= 2
    y[0] = 0
    y[:, 1] -= y[:, 2]
    y[y > 3] = 3
    return y


@program(X)
def normalize(x):
    x = x - x.mean(axis=0)
    x /= x.std(axis=0) + 1e-8
    return x


@program(V)
def zeros_plain(v):
    out = np.zeros(len(v))
    for i in range(len(v)):
        out[i] = v[i] ** 2
    return out


@program(V)
def where_(v):
    return np.where(v > 0, v, 0.1 * v)


@program(X, X)
def einsum_(a, b):
    return (
        np.einsum("ij,kj->ik", a, b),
        np.einsum("ij->j", a),
        np.einsum("ii", a[:4]),
        np.einsum("i,j->ij", a[:, 0], b[:, 1]),
    )


@program(V, I)
def fancy(v, i):
    return v[i], v[i[::-1]][:2], v[[0, 2]], v[-1], v[::2], v[..., None]


@program(X, I)
def fancy2(x, i):
    return x[i % 6, i % 4], x[:, [0, 3]], x[[0, 1]][:, ::-1], x[np.arange(6), i % 4]


@program(X)
def fancy_write(x):
    y = x.copy()
    y[[0, 2]] = 0
    y[:, -1] = y[:, 0]
    y[np.arange(4), np.arange(4)] = 1
    y[1:3, 1:3] += 5
    return y


@program(V)
def add_at(v):
    out = np.zeros(3)
    np.add.at(out, np.array([0, 1, 1, 2, 0, 0]), v)
    return out


@program(V)
def masked_sum(v):
    return v[v > 0].sum(), v[v > 0].mean(), np.sum(v, where=v > 0), np.count_nonzero(v > 0)


@program(V)
def masked_write(v):
    w = v.copy()
    w[w < 0] = 0
    w[np.isnan(w)] = 0
    w[w > 1] *= 2
    return w


@program(V)
def masked_write2(v):
    w = v.copy()
    m = w < 0
    w[m] = -w[m]
    w[~m] = w[~m] + 1
    return w


@program(X)
def linalg_(x):
    a = x.T @ x + np.eye(4)
    return (
        np.linalg.inv(a),
        np.linalg.solve(a, np.ones(4)),
        np.linalg.det(a),
        np.linalg.norm(a),
        np.linalg.eigvalsh(a),
        np.linalg.cholesky(a),
        np.linalg.svd(x, compute_uv=False),
    )


@program(X)
def lstsq_(x):
    return np.linalg.lstsq(x, np.arange(6.0), rcond=None)[0], np.linalg.pinv(x), np.linalg.matrix_rank(x)


@program(X)
def cums(x):
    return np.cumsum(x), np.cumsum(x, axis=1), np.cumprod(x, axis=0), np.diff(x, axis=0), np.maximum.accumulate(x)


@program(np.float64(3.0), np.array(2.0), X)
def zero_d(a, b, x):
    return a * b, x + b, b**2, np.asarray(b)[()], x.sum() * b, np.array([b, b * 2]), b.reshape(1)


@program(np.array([250, 255, 1], np.uint8), np.array([10, 1, 255], np.uint8))
def uint_over(a, b):
    return a + b, a - b, a * b, a // b, a % b, a << 1, ~a, a.sum(), -a


@program(np.array([2**31 - 1, -(2**31)], np.int32), np.array([2**63 - 1, -(2**63)], np.int64))
def int_over(a, b):
    return a + 1, a * 2, b + 1, abs(a), -b, a // -1, a.sum(), b >> 3, a.astype(np.int8), a.astype(np.uint16)


@program(np.array([1, 2.5, 60000], np.float16))
def f16(a):
    return a * 2, a.sum(), np.exp(a / 10), a @ a, a.mean(), a.astype(np.float32), np.sqrt(a), a + 1.5, a + np.float32(1)


@program(np.array([1, 2.5, 300], ml_dtypes.bfloat16))
def bf16(a):
    return a * a, a + a, np.exp(a), a.astype(np.float32), np.maximum(a, a)


@program(X[:, 0] + 1j * X[:, 1])
def cplx(z):
    return (
        abs(z),
        z.conj(),
        z * z,
        np.exp(z),
        z.real,
        z.imag,
        np.angle(z),
        np.sqrt(z),
        z @ z,
        (z * 1j).sum(),
        np.vdot(z, z),
        z**2,
    )


@program(np.zeros((0, 3)))
def empty(x):
    return (
        x.sum(),
        x.sum(axis=0),
        x + 1,
        x @ np.ones((3, 2)),
        np.concatenate([x, np.ones((2, 3))]),
        x.mean(axis=1),
        x.reshape(3, 0),
        x.T,
    )


@program(X)
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@program(X)
def layers(x):
    W = np.linspace(0, 1, 12).reshape(4, 3)
    h = np.maximum(x @ W, 0)
    return (h @ W.T).argmax(axis=1)


@program(X)
def pairwise(x):
    return np.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(-1))


@program(V)
def sorts(v):
    return (
        np.sort(v),
        np.argsort(v),
        v[np.argsort(-v)],
        np.median(v),
        np.percentile(v, [25, 75]),
        np.searchsorted(np.sort(v), 0.1),
        np.partition(v, 2)[2],
    )


@program(V)
def unique_like(v):
    return np.histogram(v, bins=3), np.bincount(np.array([0, 1, 1])), np.digitize(v, [-1, 0, 1])


@program(V)
def clip_round(v):
    return (
        np.clip(v, -1, 1),
        v.round(2),
        np.floor(v),
        np.ceil(v),
        np.rint(v),
        np.trunc(v),
        v // 0.3,
        v % 0.3,
        divmod(v, 0.3),
        np.sign(v),
    )


@program(V)
def roll_pad(v):
    return (
        np.roll(v, 2),
        np.pad(v, (1, 2)),
        np.flip(v),
        np.tile(v, 2),
        np.repeat(v, 3),
        np.pad(v, 2, mode="reflect"),
        np.pad(v, 1, constant_values=7),
    )


@program(X)
def split_stack(x):
    a, b = np.split(x, 2)
    return (
        np.stack([a, b]),
        np.vstack([a, b]),
        np.hstack([a, b]),
        np.concatenate((a, b), 1),
        np.column_stack([a[:, 0], b[:, 0]]),
        np.array_split(x, 4)[3],
    )


@program(V)
def any_all(v):
    return (v > 0).any(), (v > 0).all(), np.any(v > 5), bool_mix(v)


def bool_mix(v):
    return ~(v > 0) & (v < 1) | (v == 0)


@program(X)
def where_tuple(x):
    return np.where(x > 0, 1, -1), np.where(x > 0, x, 0).sum(), np.argmax(x), np.unravel_index(np.argmax(x), x.shape)


@program(X)
def matrix_ops(x):
    return (
        x.T,
        x.T @ x,
        np.dot(x.T, x),
        np.outer(x[0], x[1]),
        np.trace(x),
        np.diag(x[:4]),
        np.triu(x),
        np.kron(x[:2, :2], x[:2, :2]),
        x.ravel(),
        x.flatten(),
        np.inner(x, x),
    )


@program(V)
def fft_(v):
    return np.fft.fft(v), np.fft.rfft(v), np.fft.ifft(np.fft.fft(v)).real, np.fft.fftfreq(6)


@program(V)
def conv_(v):
    return (
        np.convolve(v, [1, 2, 1], "same"),
        np.correlate(v, [1, 0, -1]),
        np.interp([0.5, 1.5], [0, 1, 2], v[:3]),
        np.trapezoid(v),
        np.gradient(v),
        np.polyval([1, 2, 3], v),
    )


@program(V)
def dot_method(v):
    return v.dot(v), v.cumsum(), v.prod(), v.var(ddof=1), v.argmax(), v.max(), v.min(), v.clip(0, 1), v.astype("f4")


@program(V)
def rand_const(v):
    r = np.random.default_rng(3).standard_normal(6)
    return v + r


@program(V)
def nanfun(v):
    w = np.where(v > 1, np.nan, v)
    return np.nansum(w), np.nanmean(w), np.nanmax(w), np.isnan(w), np.nan_to_num(w)


@program(X)
def multi_index(x):
    return x[1:4:2, ::-1], x[..., 0], x[None, :, None].shape, x[-2:], x[(0, 1)], x[np.array([True, False] * 3)]


@program(X)
def view_write(x):
    y = x.copy()
    r = y[0]
    r[:] = 9
    c = y.T
    c[1] = 3
    z = y.reshape(-1)
    z[0] = 7
    return y


@program(V)
def out_arg(v):
    o = np.empty_like(v)
    np.multiply(v, 2, out=o)
    np.add(o, 1, out=o)
    return o


@program(V)
def minmax(v):
    return min(v[0], v[1]), max(v), np.minimum(v, 0), np.fmax(v, 0), min(v), abs(v[0]), round(v[0], 1), pow(v[0], 2)


@program(V)
def boolint(v):
    return (v > 0) * 1, (v > 0).sum(), (v > 0).mean(), True + (v > 0), (v > 0).astype(float), (v > 0) + (v < 0)


@program(V)
def power(v):
    return np.abs(v) ** 0.5, v**2, v**-1, 2**v, v**3, np.power(np.abs(v), v), np.float32(2) ** v


@program(X)
def apply_(x):
    return np.apply_along_axis(lambda r: r.sum() / r.size, 1, x)


@program(X)
def meshes(x):
    a, b = np.meshgrid(np.arange(3), np.arange(2))
    return a * x[0, 0] + b, np.indices((2, 2)) + x[0, 0], np.fromfunction(lambda i, j: i + j, (2, 2)) + x[0, 0]


@program(np.array([1, 2, 3]), np.array([4.0, 5, 6], np.float32))
def promote(a, b):
    return (
        a + b,
        a / 2,
        a * 1.0,
        b * 2.0,
        b + 1,
        a / b,
        np.mean(a),
        b.sum(),
        np.float32(1) + a,
        a // 2,
        a**0.5,
        b.astype(int),
    )


@program(X)
def del_ins(x):
    return (
        np.delete(x, 1, axis=0),
        np.insert(x, 1, 0, axis=1),
        np.append(x, x, axis=0),
        np.squeeze(x[None]),
        np.expand_dims(x, 1),
        np.swapaxes(x, 0, 1),
        np.moveaxis(x, 0, 1),
        np.rot90(x),
    )


@program(X)
def cov_(x):
    return np.cov(x.T), np.corrcoef(x.T), np.average(x, weights=np.arange(6) + 1.0, axis=0)


@program(V)
def setops(v):
    return np.isin(v, [1.0]), np.isclose(v, v + 1e-9), np.allclose(v, v), np.array_equal(v, v), np.ptp(v)


@program(V)
def arange_t(v):
    return (
        np.arange(v.shape[0]) * v,
        np.linspace(0, v[0], 3),
        np.full(3, v[1]),
        np.ones(2) * v[0],
        np.zeros((2, 2)) + v[0],
        np.eye(3) * v[0],
        np.full_like(v, 2),
    )


@program(V)
def array_of(v):
    return np.array([v[0], 1.0, 2]), np.array((v, v)), np.asarray([v[0]]), np.array(v), np.array(v, dtype=np.float32)


@program(X)
def matpow(x):
    a = x[:4]
    return np.linalg.matrix_power(a, 3), a @ a @ a, np.linalg.multi_dot([a, a, a]), np.linalg.qr(a)[1].shape


@program(V)
def dtypes(v):
    return (
        v.astype(np.int32),
        v.view(np.int64),
        np.zeros(3, dtype=v.dtype) + v[0],
        v.dtype.itemsize * v,
        np.float32(v[0]),
        np.int64(3) * v,
    )
