"""What the property tests run (see cases.py): products, linear algebra and Fourier transforms."""

import numpy as np

from accuracy import Bound, difference
from case_list import case, at_least_1d
from strategies import C, F, I, N, arrays, matrices, rows, vector

# Products.
case("dot", np.dot, vector(F + I + C, 3, 3, finite=True), vector(F + I + C, 3, 3, finite=True))
case("dot", np.dot, matrices(F + I, 2, 3, finite=True), matrices(F + I, 3, 2, finite=True))
case("vdot", np.vdot, vector(F + C, 3, 3, finite=True), vector(F + C, 3, 3, finite=True))
case("inner", np.inner, matrices(F, 2, 3, finite=True), matrices(F, 4, 3, finite=True))
case("outer", np.outer, vector(F + I, finite=True), vector(F + I, finite=True))
case("tensordot", lambda x, y: np.tensordot(x, y, 1), matrices(F, 2, 3, finite=True), matrices(F, 3, 2, finite=True))
case(
    "tensordot",
    lambda x, y: np.tensordot(x, y, ([0], [1])),
    matrices(F, 2, 3, finite=True),
    matrices(F, 4, 2, finite=True),
)
case("kron", np.kron, matrices(F + I, 2, 3, finite=True), matrices(F + I, 2, 1, finite=True))
case("einsum_path", lambda x, y: np.einsum_path("ij,jk,kl", x, y, x)[0][1:] + [x], matrices(F, 2, 3), matrices(F, 3, 2))
case("trace", np.trace, matrices(F + I, finite=True))
for text in ("ij,jk", "ij,jk->ik", "ij,kj->ki", "ij,ij->", "ii,ij->ij"):
    sizes = {
        "ij,jk": ((2, 3), (3, 2)),
        "ij,jk->ik": ((2, 3), (3, 4)),
        "ij,kj->ki": ((2, 3), (4, 3)),
        "ij,ij->": ((2, 3), (2, 3)),
    }
    first, second = sizes.get(text, ((3, 3), (3, 2)))
    case(
        "einsum",
        lambda x, y, text=text: np.einsum(text, x, y),
        matrices(F, *first, finite=True),
        matrices(F, *second, finite=True),
        sums=3,
    )
case("einsum", lambda x: np.einsum("...ij->...ji", x), arrays(N, min_dims=2))
case(
    "einsum",
    lambda x, y: np.einsum("ij,jk,kl->il", x, y, x),
    matrices(F, 2, 3, finite=True),
    matrices(F, 3, 2, finite=True),
    sums=5,
)
case(
    "einsum",
    lambda x, y: np.einsum("b...i,i->b...", x, y),
    arrays(["float64"], dims=3, side=2, finite=True),
    vector(["float64"], 2, 2, finite=True),
)

# Linear algebra: singular values lie between 1 and 3, so that errors are a few eps of the largest element.
FACTORED = {"norm": 16}
well = matrices(["float32", "float64", "complex64", "complex128"], 4, 4, finite=True, regular=True)
wide = matrices(["float32", "float64", "complex128"], 3, 4, finite=True, regular=True)
tall = matrices(["float32", "float64"], 5, 3, finite=True, regular=True)
case(
    "linalg.solve",
    lambda a, b: np.linalg.solve(a, b),
    matrices(["float64"], 4, 4, regular=True),
    matrices(["float64"], 4, 2, finite=True),
    **FACTORED,
)
case(
    "linalg.solve",
    lambda a, b: np.linalg.solve(a, b),
    matrices(["float32"], 3, 3, regular=True),
    vector(["float32"], 3, 3, finite=True),
    **FACTORED,
)
case("linalg.inv", np.linalg.inv, well, **FACTORED)
case("linalg.pinv", np.linalg.pinv, tall, **FACTORED)
case("linalg.det", np.linalg.det, well, **FACTORED)
case("linalg.slogdet", np.linalg.slogdet, well, **FACTORED)
case("linalg.cholesky", lambda a: np.linalg.cholesky(a @ np.conj(a.T)), well, **FACTORED)
case("linalg.eigvalsh", lambda a: np.linalg.eigvalsh(a + np.conj(a.T)), well, **FACTORED)
case("linalg.svdvals", np.linalg.svdvals, wide, **FACTORED)
case("linalg.matrix_rank", np.linalg.matrix_rank, well)
case("linalg.matrix_power", lambda a: np.linalg.matrix_power(a, 3), well, sums=8)
case("linalg.matrix_power", lambda a: np.linalg.matrix_power(a, -2), well, **FACTORED)
case(
    "linalg.multi_dot",
    lambda a, b: np.linalg.multi_dot([a, b, a]),
    tall,
    matrices(["float32", "float64"], 3, 5, regular=True),
    sums=8,
)
case(
    "linalg.tensorinv",
    lambda a: np.linalg.tensorinv(a.reshape(2, 2, 4), 2),
    matrices(["float64"], 4, 4, regular=True),
    **FACTORED,
)
case(
    "linalg.tensorsolve",
    lambda a, b: np.linalg.tensorsolve(a.reshape(2, 2, 4), b),
    matrices(["float64"], 4, 4, regular=True),
    matrices(["float64"], 2, 2, finite=True),
    **FACTORED,
)
case(
    "linalg.lstsq",
    lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
    matrices(["float64"], 5, 3, regular=True),
    vector(["float64"], 5, 5, finite=True),
    **FACTORED,
)
case("linalg.cond", np.linalg.cond, matrices(["float64"], 4, 4, regular=True), **FACTORED)
case("linalg.cond", lambda a: np.linalg.cond(a, 1), matrices(["float64"], 4, 4, regular=True), **FACTORED)
case(
    "linalg.eigvals",
    lambda a: np.sort_complex(np.linalg.eigvals(a) + 0j),
    matrices(["float64"], 3, 3, regular=True),
    norm=64,
)


def reconstructs(product, values=None):
    """Factors are unique only up to signs: what counts is the product, and `values`, the factor that has no sign."""

    def check(got, wanted):
        for g, w in zip(got, wanted, strict=True):
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
        assert not (text := difference(product(got), product(wanted), Bound(norm=64))), text
        if values is not None:
            assert not (text := difference(got[values], wanted[values], Bound(norm=16))), text

    return check


case("linalg.qr", np.linalg.qr, tall, check=reconstructs(lambda f: f[0] @ f[1]))
case("linalg.qr", lambda a: np.linalg.qr(a, "complete"), tall, check=reconstructs(lambda f: f[0] @ f[1]))
case(
    "linalg.eigh",
    lambda a: np.linalg.eigh(a + np.conj(a.T)),
    well,
    check=reconstructs(lambda f: (f[1] * f[0]) @ np.conj(f[1].T), values=0),
)
case(
    "linalg.eig",
    lambda a: [f + 0j for f in np.linalg.eig(a)],
    matrices(["float64"], 3, 3, regular=True),
    check=reconstructs(lambda f: f[1] @ np.diag(f[0]) @ np.linalg.inv(f[1])),
)
case(
    "linalg.svd",
    lambda a: np.linalg.svd(a, full_matrices=False),
    wide,
    check=reconstructs(lambda f: (f[0] * f[1]) @ f[2], values=1),
)
# Sums of up to six positive terms.
for order in (None, 1, 2, np.inf, -np.inf, 0, 3):
    case("linalg.norm", lambda x, order=order: np.linalg.norm(x, order), vector(F, 1, finite=True), ulp=4)
for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf):
    case(
        "linalg.norm",
        lambda x, order=order: np.linalg.norm(x, order),
        matrices(["float64"], 3, 3, regular=True),
        ulp=8,
    )
case("linalg.norm", lambda x: np.linalg.norm(x, axis=0, keepdims=True), matrices(F, finite=True), ulp=4)
case("linalg.vector_norm", lambda x: np.linalg.vector_norm(x, axis=0), matrices(F, finite=True), ulp=4)
case("linalg.matrix_norm", np.linalg.matrix_norm, matrices(["float64"], 3, 4, finite=True), ulp=4)
case("linalg.outer", np.linalg.outer, vector(F, finite=True), vector(F, finite=True))
case("linalg.trace", np.linalg.trace, matrices(F, finite=True))
case("linalg.diagonal", np.linalg.diagonal, matrices(N))
case("linalg.matrix_transpose", np.linalg.matrix_transpose, matrices(N))
case("linalg.matmul", np.linalg.matmul, matrices(F, 2, 3, finite=True), matrices(F, 3, 2, finite=True))
case(
    "linalg.tensordot",
    np.linalg.tensordot,
    matrices(["float64"], 2, 2, finite=True),
    matrices(["float64"], 2, 2, finite=True),
)
case("linalg.vecdot", np.linalg.vecdot, vector(F, 3, 3, finite=True), vector(F, 3, 3, finite=True))
case("linalg.cross", np.linalg.cross, vector(F, 3, 3, finite=True), vector(F, 3, 3, finite=True))

# Fourier transforms of up to eight numbers a side.
TRANSFORMED = {"norm": 8}
signal = rows(["float32", "float64", "complex64", "complex128"])
for name in ("fft", "ifft", "hfft", "irfft"):
    f = getattr(np.fft, name)
    data = rows(["float32", "float64", "complex64", "complex128"], 2 if name in ("hfft", "irfft") else 1)
    case(f"fft.{name}", f, data, **TRANSFORMED)
    case(f"fft.{name}", lambda x, f=f: f(x, 5, axis=0, norm="ortho"), data, **TRANSFORMED)
    case(f"fft.{name}", lambda x, f=f: f(x, norm="forward"), data, **TRANSFORMED)
for name in ("rfft", "ihfft"):
    f = getattr(np.fft, name)
    case(f"fft.{name}", f, rows(["float32", "float64"]), **TRANSFORMED)
    case(f"fft.{name}", lambda x, f=f: f(x, 6, norm="ortho"), rows(["float32", "float64"]), **TRANSFORMED)
grid = arrays(["float64", "complex128"], dims=2, min_side=2, finite=True)
for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"):
    case(f"fft.{name}", getattr(np.fft, name), grid, **TRANSFORMED)
for name in ("rfft2", "rfftn"):
    case(f"fft.{name}", getattr(np.fft, name), arrays(["float64"], dims=2, min_side=2, finite=True), **TRANSFORMED)
case("fft.fftn", lambda x: np.fft.fftn(x, (3, 4), (0, 1), "ortho"), grid, **TRANSFORMED)
case("fft.fftshift", np.fft.fftshift, at_least_1d)
case("fft.ifftshift", np.fft.ifftshift, at_least_1d)
