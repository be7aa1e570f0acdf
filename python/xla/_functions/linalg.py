"""Linear algebra of numpy.linalg: factorizations by the runtime's LAPACK calls, the rest in terms of them. All take stacks
of matrices (…, m, n), as NumPy's do. What NumPy raises LinAlgError for gives NaN instead: values are not known here."""

from collections import namedtuple
import math

import numpy as np

from .. import _errors, _ops
from .._tracer import concrete, implements, normalize_axis, tracer_of
from ..lax import fori_loop
from ._support import composite, custom_call, part_type, refuse, traced

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
EigResult = namedtuple("EigResult", ["eigenvalues", "eigenvectors"])
QRResult = namedtuple("QRResult", ["Q", "R"])
SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])
SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])


def _matrix(a, square=False):
    """a as a traced stack of matrices of a type that LAPACK has."""
    a = tracer_of(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if a.dtype.name in _LETTERS:
        return a
    if a.dtype.kind in "biu":
        return a.astype(np.float64)
    raise TypeError(f"array type {a.dtype} is unsupported in linalg")


def _call(name, a, results, config="", more=()):
    letter = _LETTERS[a.dtype.name]
    return [
        traced(v)
        for v in custom_call(f"lapack_{letter}{name}_ffi", [a.value, *[m.value for m in more]], results, config)
    ]


def _byte(attribute, letter):
    return f"{attribute} = {ord(letter)} : ui8"


def _nan_unless(good, x):
    """x where `good` (a stack of truths) holds, NaN elsewhere."""
    good = np.reshape(good, good.shape + (1,) * (x.ndim - good.ndim))
    return np.where(good, x, np.asarray(np.nan, x.dtype))


def _lu(a):
    """(l and u in one matrix, 0-based pivots, info) of square or other matrices."""
    *batch, m, n = a.shape
    lu, pivots, info = _call(
        "getrf", a, [(a.dtype, a.shape), (np.int32, (*batch, min(m, n))), (np.int32, tuple(batch))]
    )
    return lu, pivots - np.int32(1), info


def _solve_triangular(a, b, lower, unit=False, adjoint=False):
    """x of a x = b (or of aᴴ x = b), where only one triangle of a counts."""
    attributes = (
        f"left_side=true, lower={str(lower).lower()}, unit_diagonal={str(unit).lower()}, "
        f"transpose_a={'ADJOINT' if adjoint else 'NO_TRANSPOSE'}"
    )
    return traced(_ops._emit("triangular-solve", b.dtype, b.shape, [a.value, b.value], attributes))


def _permutation(pivots, m):
    """The rows' order after the exchanges i <-> pivots[i] one after the other: indices (…, m)."""
    batch = pivots.shape[:-1]
    order = np.broadcast_to(tracer_of(np.arange(m)), (*batch, m))

    def exchange(i, order):
        j = np.take(pivots, i, axis=-1)[..., None].astype(np.int64)
        here = np.take(order, i, axis=-1)[..., None]
        there = np.take_along_axis(order, j, axis=-1)
        places = np.arange(m)
        # The second store is the one that counts where i is j.
        order = np.where(places == j, here, order)
        return np.where(places == i, there, order)

    return fori_loop(0, pivots.shape[-1], exchange, order)


@composite(np.linalg.solve)
def solve(a, b):
    a, b = tracer_of(a), tracer_of(b)
    vector = b.ndim == 1
    dtype = np.result_type(_matrix(a, square=True).dtype, b.dtype if b.dtype.kind not in "biu" else np.float64)
    a, b = _matrix(a, True).astype(dtype), b.astype(dtype)
    if vector:
        b = b[:, None]
    n = a.shape[-1]
    if b.shape[-2] != n:
        raise ValueError(f"solve: matrices are {n} by {n}, right-hand sides have {b.shape[-2]} rows")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = np.broadcast_to(a, batch + a.shape[-2:]), np.broadcast_to(b, batch + b.shape[-2:])
    lu, pivots, info = _lu(a)
    b = np.take_along_axis(b, _permutation(pivots, n)[..., None], axis=-2)
    x = _solve_triangular(lu, _solve_triangular(lu, b, lower=True, unit=True), lower=False)
    x = _nan_unless(info == 0, x)
    return x[..., 0] if vector else x


@composite(np.linalg.inv)
def inv(a):
    a = _matrix(a, square=True)
    return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


def _lu_diagonal(a):
    """(signs of the rows' exchanges, the diagonal of u): the determinant is the product of both."""
    n = a.shape[-1]
    lu, pivots, _ = _lu(a)
    swaps = np.sum(pivots != np.arange(n, dtype=np.int32), axis=-1)
    return np.where(swaps % 2 == 1, a.dtype.type(-1), a.dtype.type(1)), np.diagonal(lu, axis1=-2, axis2=-1)


@composite(np.linalg.det)
def det(a):
    a = _matrix(a, square=True)
    sign, diagonal = _lu_diagonal(a)
    return sign * np.prod(diagonal, axis=-1)


@implements(np.linalg.slogdet)
def slogdet(a):
    a = _matrix(a, square=True)
    sign, diagonal = _lu_diagonal(a)
    size = np.abs(diagonal)
    zero = np.any(size == 0, axis=-1)
    sign = sign * np.prod(
        np.where(size == 0, diagonal.dtype.type(1), diagonal / np.where(size == 0, size.dtype.type(1), size)), axis=-1
    )
    log = np.sum(np.log(size), axis=-1)
    return SlogdetResult(np.where(zero, sign.dtype.type(0), sign), np.where(zero, log.dtype.type(-np.inf), log))


@composite(np.linalg.cholesky)
def cholesky(a, *, upper=False):
    a = _matrix(a, square=True)
    factor, info = _call(
        "potrf", a, [(a.dtype, a.shape), (np.int32, a.shape[:-2])], _byte("uplo", "U" if upper else "L")
    )
    return _nan_unless(info == 0, np.triu(factor) if upper else np.tril(factor))


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    a = _matrix(a)
    *batch, m, n = a.shape
    k = min(m, n)
    factor, tau = _call("geqrf", a, [(a.dtype, a.shape), (a.dtype, (*batch, k))])
    if mode == "raw":
        return np.swapaxes(factor, -1, -2), tau
    if mode == "r":
        return np.triu(factor[..., :k, :])
    columns = m if mode == "complete" else k
    reflectors = (
        factor[..., :, :columns]
        if columns <= n
        else np.concatenate([factor, np.zeros((*batch, m, columns - n), a.dtype)], axis=-1)
    )
    (q,) = _call("ungqr" if a.dtype.kind == "c" else "orgqr", reflectors, [(a.dtype, reflectors.shape)], more=[tau])
    return QRResult(q, np.triu(factor[..., :columns, :]))


def _eigh(a, uplo, vectors):
    a = _matrix(a, square=True)
    uplo = uplo.upper()
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    config = _byte("mode", "V" if vectors else "N") + ", " + _byte("uplo", uplo)
    results = [(a.dtype, a.shape), (part_type(a.dtype), a.shape[:-1]), (np.int32, a.shape[:-2])]
    v, w, _ = _call("heevd" if a.dtype.kind == "c" else "syevd", a, results, config)
    return w, v


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    return EighResult(*_eigh(a, UPLO, True))


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    return _eigh(a, UPLO, False)[0]


def _eig(a, vectors):
    a = _matrix(a, square=True)
    complex_type = np.result_type(a.dtype, np.complex64)
    values = [(a.dtype, a.shape[:-1])] * (1 if a.dtype.kind == "c" else 2)
    results = [*values, (complex_type, a.shape), (complex_type, a.shape), (np.int32, a.shape[:-2])]
    config = _byte("compute_left", "N") + ", " + _byte("compute_right", "V" if vectors else "N")
    *w, _, v, _ = _call("geev", a, results, config)
    w = w[0] if len(w) == 1 else traced(_ops.complex_(w[0].value, w[1].value))
    return w, v


@implements(np.linalg.eig)
def eig(a):
    """Always complex, where NumPy gives real arrays if all eigenvalues turn out real."""
    return EigResult(*_eig(a, True))


@implements(np.linalg.eigvals)
def eigvals(a):
    """Always complex, where NumPy gives a real array if all eigenvalues turn out real."""
    return _eig(a, False)[0]


def _svd(a, full_matrices, vectors):
    *batch, m, n = a.shape
    k = min(m, n)
    mode = "N" if not vectors else "A" if full_matrices else "S"
    u = (*batch, m, m if full_matrices else k)
    vh = (*batch, n if full_matrices else k, n)
    results = [
        (a.dtype, a.shape),
        (part_type(a.dtype), (*batch, k)),
        (a.dtype, u),
        (a.dtype, vh),
        (np.int32, tuple(batch)),
    ]
    _, s, u, vh, _ = _call("gesdd", a, results, _byte("mode", mode))
    return u, s, vh


@implements(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    a = _matrix(a)
    u, s, vh = _svd(a, full_matrices, compute_uv)
    return SVDResult(u, s, vh) if compute_uv else s


@implements(np.linalg.svdvals)
def svdvals(x, /):
    return _svd(_matrix(x), False, False)[1]


@composite(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    a = _matrix(a)
    epsilon = np.finfo(part_type(a.dtype)).eps
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else max(a.shape[-2:]) * epsilon if rtol is None else rtol
    u, s, vh = _svd(np.conj(a), False, True)
    cutoff = tracer_of(rcond)[..., None] * np.max(s, axis=-1, keepdims=True)
    large = s > cutoff
    s = np.where(large, s.dtype.type(1) / np.where(large, s, s.dtype.type(1)), s.dtype.type(0))
    return np.matmul(np.swapaxes(vh, -1, -2), s[..., None] * np.swapaxes(u, -1, -2))


@composite(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    a = tracer_of(A)
    if a.ndim < 2:
        return np.any(a != 0).astype(np.int64)
    s = svdvals(a)
    if tol is None:
        rtol = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else tracer_of(rtol)[..., None]
        tol = np.max(s, axis=-1, keepdims=True) * rtol
    else:
        tol = tracer_of(tol)[..., None]
    return np.sum(s > tol, axis=-1)


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """The residuals are those of full rank: their shape depends on the rank in NumPy, here on the shapes alone."""
    a, b = _matrix(a), tracer_of(b)
    dtype = np.result_type(a.dtype, b.dtype if b.dtype.kind not in "biu" else np.float64)
    a, b = a.astype(dtype), b.astype(dtype)
    vector = b.ndim == 1
    rhs = b[:, None] if vector else b
    m, n = a.shape
    if rcond is None:
        rcond = np.finfo(part_type(dtype)).eps * max(m, n)
    elif rcond == -1:
        rcond = np.finfo(part_type(dtype)).eps
    u, s, vh = _svd(a, False, True)
    large = s > rcond * s[0]
    inverse = np.where(large, s.dtype.type(1) / np.where(large, s, s.dtype.type(1)), s.dtype.type(0))
    x = np.conj(vh.T) @ (inverse[:, None] * (np.conj(u.T) @ rhs))
    rest = np.abs(rhs - a @ x) ** 2
    residuals = np.sum(rest, axis=0) if m > n else np.zeros(0, rest.dtype)
    return (x[:, 0] if vector else x), residuals, np.sum(large).astype(np.int32), s


@composite(np.linalg.matrix_power)
def matrix_power(a, n):
    a = tracer_of(a)
    concrete(n, "the exponent")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else result @ a
        n >>= 1
        a = a @ a if n else a
    return result


@composite(np.linalg.multi_dot)
def multi_dot(arrays):
    """In the order of fewest multiplications (dynamic programming over the chain)."""
    arrays = [tracer_of(a) for a in arrays]
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    arrays[0] = np.atleast_2d(arrays[0])
    arrays[-1] = arrays[-1][:, None] if last else arrays[-1]
    n = len(arrays)
    p = [a.shape[0] for a in arrays] + [arrays[-1].shape[1]]
    best = {(i, i): (0, arrays[i]) for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost, k = min((best[i, k][0] + best[k + 1, j][0] + p[i] * p[k + 1] * p[j + 1], k) for k in range(i, j))
            best[i, j], split[i, j] = (cost, None), k

    def product(i, j):
        return arrays[i] if i == j else product(i, split[i, j]) @ product(split[i, j] + 1, j)

    result = product(0, n - 1)
    return result.reshape([d for d, drop in zip(result.shape, (first, last)) if not drop])


def _vector_norm(x, axis, ord, keepdims):
    size = np.abs(x)
    size = size if size.dtype.kind in "fV" else size.astype(np.float64)
    if ord is None or ord == 2:
        return np.sqrt(
            np.sum((np.conj(x) * x).real if x.dtype.kind == "c" else size * size, axis=axis, keepdims=keepdims)
        )
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** size.dtype.type(1 / ord)


def _matrix_norm(x, row, col, ord, keepdims):
    if row == col:
        raise ValueError("Duplicate axes given.")
    size = np.abs(x)
    size = size if size.dtype.kind in "fV" else size.astype(np.float64)
    if ord is None or ord == "fro":
        return np.sqrt(
            np.sum((np.conj(x) * x).real if x.dtype.kind == "c" else size * size, axis=(row, col), keepdims=keepdims)
        )
    if ord in (2, -2, "nuc"):
        s = svdvals(np.moveaxis(x, (row, col), (-2, -1)))
        result = np.sum(s, axis=-1) if ord == "nuc" else np.max(s, axis=-1) if ord == 2 else np.min(s, axis=-1)
        return np.expand_dims(result, tuple(sorted((row, col)))) if keepdims else result
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    along = row if ord in (1, -1) else col
    sums = np.sum(size, axis=along, keepdims=True)
    result = (np.max if ord in (1, np.inf) else np.min)(sums, axis=(row, col), keepdims=True)
    return result if keepdims else np.squeeze(result, axis=(row, col))


@composite(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = tracer_of(x)
    x = x if x.dtype.kind in "fcV" else x.astype(np.float64)
    if axis is None:
        if ord is None or (ord == 2 and x.ndim == 1) or (ord in ("fro", "f") and x.ndim == 2):
            result = _vector_norm(x.ravel(), 0, None, False)
            return result.reshape((1,) * x.ndim) if keepdims else result
        axis = tuple(range(x.ndim))
    axes = tuple(normalize_axis(a, x.ndim) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == 1:
        return _vector_norm(x, axes[0], ord, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, *axes, ord, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@composite(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = tracer_of(x)
    x = x if x.dtype.kind in "fcV" else x.astype(np.float64)
    if axis is None:
        result = _vector_norm(x.ravel(), 0, ord, False)
        return result.reshape((1,) * x.ndim) if keepdims else result
    return _vector_norm(x, axis, ord, keepdims)


@composite(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    x = tracer_of(x)
    x = x if x.dtype.kind in "fcV" else x.astype(np.float64)
    return _matrix_norm(x, x.ndim - 2, x.ndim - 1, ord, keepdims)


@composite(np.linalg.cond)
def cond(x, p=None):
    x = _matrix(x)
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


@composite(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    a, b = tracer_of(a), tracer_of(b)
    if axes is not None:
        order = [i for i in range(a.ndim) if i not in axes] + [normalize_axis(k, a.ndim) for k in axes]
        a = np.transpose(a, order)
    rest = a.shape[-(a.ndim - b.ndim) :]
    size = math.prod(rest)
    if a.size != size * size:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return solve(a.reshape(size, size), b.ravel()).reshape(rest)


@composite(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    a = tracer_of(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    return inv(a.reshape(math.prod(a.shape[:ind]), -1)).reshape(a.shape[ind:] + a.shape[:ind])


@composite(np.linalg.outer)
def outer(x1, x2, /):
    return np.outer(x1, x2)


@composite(np.linalg.trace)
def trace(x, /, *, offset=0, dtype=None):
    return np.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


@composite(np.linalg.diagonal)
def diagonal(x, /, *, offset=0):
    return np.diagonal(x, offset, axis1=-2, axis2=-1)


@composite(np.linalg.cross)
def cross(x1, x2, /, *, axis=-1):
    return np.cross(x1, x2, axis=axis)


@composite(np.linalg.matmul)
def matmul(x1, x2, /):
    return np.matmul(x1, x2)


@composite(np.linalg.tensordot)
def tensordot(x1, x2, /, *, axes=2):
    return np.tensordot(x1, x2, axes)


@composite(np.linalg.vecdot)
def vecdot(x1, x2, /, *, axis=-1):
    return np.vecdot(x1, x2, axis=axis)


@composite(np.linalg.matrix_transpose)
def matrix_transpose(x, /):
    return np.swapaxes(x, -1, -2)
