"""The programs of search.py that JAX lowers: calls of jax.numpy, jax.scipy, jax.lax, jax.nn and jax.random, and small
programs of them, as users write them. Needs JAX; search.py takes their names from `search_worker.py --names`."""

import functools

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import jax.scipy.interpolate
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.stats
from jax import lax, nn

import search_algorithm_programs
import search_image_programs
import search_layer_programs
import search_library_programs
import search_network_programs
import search_random_numbers
import search_science_programs
import search_signal_programs
import search_system_programs
import search_training_programs
import search_user_programs
from module_writer import Case

# name: (function, shapes of its arguments or numbers of their dimensions)
M, V, T = (256, 256), (20000,), (16, 64, 64)
NUMPY = {
    "cumsum": (lambda x: jnp.cumsum(x, 1), M),
    "cumsum0": (lambda x: jnp.cumsum(x, 0), M),
    "cumsum1d": (jnp.cumsum, V),
    "cumprod": (lambda x: jnp.cumprod(x, 1), M),
    "cummax": (lambda x: lax.cummax(x, 1), M),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 0), M),
    "sort": (lambda x: jnp.sort(x, 1), M),
    "sort0": (lambda x: jnp.sort(x, 0), M),
    "sort1d": (jnp.sort, V),
    "argsort": (lambda x: jnp.argsort(x, 1), M),
    "argsort1d": (jnp.argsort, V),
    "median": (lambda x: jnp.median(x, 1), M),
    "quantile": (lambda x: jnp.quantile(x, 0.3, 0), M),
    "percentile1d": (lambda x: jnp.percentile(x, jnp.array([5.0, 50, 95])), V),
    "unique": (lambda x: jnp.unique(jnp.round(x * 50), size=300), V),
    "histogram": (lambda x: jnp.histogram(x, 50)[0], V),
    "bincount": (lambda x: jnp.bincount(jnp.abs(x * 30).astype(int), length=100), V),
    "searchsorted": (lambda x: jnp.searchsorted(jnp.sort(x[:1000]), x), V),
    "searchsorted_sort": (lambda x: jnp.searchsorted(jnp.sort(x[:1000]), x, method="sort"), V),
    "digitize": (lambda x: jnp.digitize(x, jnp.linspace(-3, 3, 20)), V),
    "interp": (lambda x: jnp.interp(x, jnp.linspace(-3, 3, 100), jnp.linspace(0, 1, 100) ** 2), V),
    "where": (lambda x: jnp.where(x > 0, jnp.log1p(jnp.abs(x)), jnp.expm1(x)), M),
    "nonzero": (lambda x: jnp.nonzero(x > 0, size=5000)[0], V),
    "argmax": (lambda x: jnp.argmax(x, 1), M),
    "argmin0": (lambda x: jnp.argmin(x, 0), M),
    "argmax1d": (jnp.argmax, V),
    "var": (lambda x: jnp.var(x, 1), M),
    "std0": (lambda x: jnp.std(x, 0), M),
    "nanmean": (lambda x: jnp.nanmean(jnp.where(x > 2, jnp.nan, x), 1), M),
    "ptp": (lambda x: jnp.ptp(x, 1), M),
    "cov": (jnp.cov, (64, 512)),
    "corrcoef": (jnp.corrcoef, (64, 512)),
    "norm": (lambda x: jnp.linalg.norm(x, axis=1), M),
    "norm2": (lambda x: jnp.linalg.norm(x, 2), (64, 64)),
    "det": (jnp.linalg.det, T),
    "inv": (jnp.linalg.inv, (16, 32, 32)),
    "inv_large": (jnp.linalg.inv, (200, 200)),
    "solve": (lambda x: jnp.linalg.solve(x, x[:, 0]), M),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(256)), M),
    "qr": (jnp.linalg.qr, (128, 64)),
    "qr_batch": (jnp.linalg.qr, (50, 8, 8)),
    "svd": (lambda x: jnp.linalg.svd(x, full_matrices=False), (64, 48)),
    "svd_batch": (lambda x: jnp.linalg.svd(x), (200, 3, 3)),
    "eigh": (lambda x: jnp.linalg.eigh(x + x.T), (64, 64)),
    "eigh_batch": (lambda x: jnp.linalg.eigh(x + jnp.swapaxes(x, 1, 2)), (200, 4, 4)),
    "eigvals": (lambda x: jnp.linalg.eigvals(x), (40, 40)),
    "pinv": (jnp.linalg.pinv, (64, 32)),
    "lstsq": (lambda x: jnp.linalg.lstsq(x, x[:, 0])[0], (128, 16)),
    "matrix_power": (lambda x: jnp.linalg.matrix_power(x, 7), (64, 64)),
    "expm": (jsp.linalg.expm, (32, 32)),
    "kron": (lambda x: jnp.kron(x, x), (24, 24)),
    "outer": (lambda x: jnp.outer(x, x), (600,)),
    "einsum_batch": (lambda x: jnp.einsum("bij,bkj->bik", x, x), T),
    "einsum_trace": (lambda x: jnp.einsum("bii->b", x), T),
    "einsum_outer": (lambda x: jnp.einsum("bij,bkl->ikjl", x, x), (4, 16, 16)),
    "einsum_three": (lambda x: jnp.einsum("ij,jk,kl->il", x, x, x), M),
    "tensordot": (lambda x: jnp.tensordot(x, x, [[0, 2], [0, 2]]), T),
    "vander": (lambda x: jnp.vander(x, 8), (5000,)),
    "polyval": (lambda x: jnp.polyval(jnp.arange(8.0), x), V),
    "polyfit": (lambda x: jnp.polyfit(x, x * x, 3), (1000,)),
    "convolve": (lambda x: jnp.convolve(x, x[:65]), V),
    "convolve_same": (lambda x: jnp.convolve(x, x[:9], mode="same"), V),
    "correlate": (lambda x: jnp.correlate(x, x[:33]), V),
    "fft": (jnp.fft.fft, M),
    "rfft_prime": (jnp.fft.rfft, (64, 509)),
    "ifft2": (jnp.fft.ifft2, M),
    "irfft": (jnp.fft.irfft, M),
    "fftconvolve": (lambda x: jsp.signal.fftconvolve(x, x, mode="same"), (5000,)),
    "convolve2d": (lambda x: jsp.signal.convolve2d(x, x[:7, :7], mode="same"), M),
    "stft": (lambda x: jsp.signal.stft(x, nperseg=256)[2], V),
    "roll": (lambda x: jnp.roll(x, 3, 1), M),
    "roll_both": (lambda x: jnp.roll(x, (3, -2), (0, 1)), M),
    "flip": (lambda x: jnp.flip(x, 1), M),
    "rot90": (jnp.rot90, M),
    "tile": (lambda x: jnp.tile(x, (3, 2)), M),
    "repeat": (lambda x: jnp.repeat(x, 3, 1), M),
    "repeat0": (lambda x: jnp.repeat(x, 4, 0), M),
    "triu": (jnp.triu, M),
    "diag": (lambda x: jnp.diag(x), (500,)),
    "diagonal": (lambda x: jnp.diagonal(x, axis1=1, axis2=2), T),
    "trace": (jnp.trace, (512, 512)),
    "stack": (lambda x: jnp.stack([x, x + 1, x * 2], -1), M),
    "concatenate": (lambda x: jnp.concatenate([x, x[:, ::-1]], 1), M),
    "split": (lambda x: [p * 2 for p in jnp.split(x, 8, 1)], M),
    "pad_reflect": (lambda x: jnp.pad(x, 5, mode="reflect"), M),
    "pad_wrap": (lambda x: jnp.pad(x, 5, mode="wrap"), M),
    "pad_edge": (lambda x: jnp.pad(x, 5, mode="edge"), M),
    "diff": (lambda x: jnp.diff(x, axis=1), M),
    "gradient": (lambda x: jnp.gradient(x)[1], M),
    "trapezoid": (lambda x: jnp.trapezoid(x, dx=0.1), M),
    "cross": (lambda x: jnp.cross(x, x[::-1]), (20000, 3)),
    "take": (lambda x: jnp.take(x, jnp.arange(0, 256, 3), 1), M),
    "take_along": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), M),
    "fancy": (lambda x: x[jnp.abs(x[:, 0] * 30).astype(int)], M),
    "fancy_two": (lambda x: x[jnp.abs(x[:, 0] * 30).astype(int), jnp.abs(x[0] * 30).astype(int)], M),
    "fancy_negative": (lambda x: x[(x * 30).astype(int) % 256, 3], M),
    "boolean_where": (lambda x: jnp.where(x[:, :1] > 0, x, 0.0).sum(1), M),
    "at_set": (lambda x: x.at[:, 5].set(1.0), M),
    "at_add": (lambda x: x.at[jnp.abs(x * 30).astype(int)].add(1.0), V),
    "at_add_rows": (lambda x: x.at[jnp.abs(x[:, 0] * 30).astype(int)].add(x), M),
    "at_max": (lambda x: x.at[jnp.abs(x * 30).astype(int)].max(x), V),
    "at_mul": (lambda x: x.at[jnp.abs(x * 30).astype(int)].multiply(0.5), V),
    "at_set_strided": (lambda x: x.at[::2, 1::2].set(0.0), M),
    "lexsort": (lambda x: jnp.lexsort((x, jnp.round(x))), V),
    "isin": (lambda x: jnp.isin(jnp.round(x * 9), jnp.arange(20.0)), V),
    "float_power": (lambda x: jnp.float_power(jnp.abs(x), 1.7), M),
    "hypot": (lambda x: jnp.hypot(x, x + 1), M),
    "arctan2": (lambda x: jnp.arctan2(x, x + 1), M),
    "logaddexp": (lambda x: jnp.logaddexp(x, x.T), M),
    "sinc": (jnp.sinc, M),
    "i0": (jnp.i0, M),
    "mod": (lambda x: jnp.mod(x, 0.7), M),
    "floor_divide": (lambda x: x // 0.7, M),
    "round": (lambda x: jnp.round(x, 2), M),
    "nan_to_num": (jnp.nan_to_num, M),
    "clip": (lambda x: jnp.clip(x, -1, 1), M),
    "cbrt": (jnp.cbrt, M),
    "arcsinh": (jnp.arcsinh, M),
    "arccosh": (lambda x: jnp.arccosh(jnp.abs(x) + 1), M),
    "arctanh": (lambda x: jnp.arctanh(x / 4), M),
    "arcsin": (lambda x: jnp.arcsin(x / 4), M),
    "arctan": (jnp.arctan, M),
    "sinh": (jnp.sinh, M),
    "nextafter": (lambda x: jnp.nextafter(x, 9.0), M),
    "frexp": (jnp.frexp, M),
    "ldexp": (lambda x: jnp.ldexp(x, 3), M),
    "gcd": (lambda x: jnp.gcd((x * 100).astype(int), 36), (4000,)),
    "packbits": (lambda x: jnp.packbits(x > 0), M),
    "unpackbits": (lambda x: jnp.unpackbits((x * 30).astype(jnp.uint8)), M),
    "complex_abs": (lambda x: jnp.abs(x + 1j * x.T), M),
    "complex_exp": (lambda x: jnp.exp(1j * x), M),
    "angle": (lambda x: jnp.angle(x + 1j * x.T), M),
    "roots": (lambda x: jnp.roots(x, strip_zeros=False), (12,)),
    "apply_along": (lambda x: jnp.apply_along_axis(lambda r: jnp.sort(r)[:4].sum(), 1, x), M),
    "mean_axes": (lambda x: jnp.mean(x, (0, 2)), T),
    "weighted_average": (lambda x: jnp.average(x, 0, jnp.abs(x[:, 0])), M),
    "block": (lambda x: jnp.block([[x, x.T], [x, x]]), (128, 128)),
    "select": (lambda x: jnp.select([x < -1, x > 1], [x * 2, x * 3], x), M),
    "piecewise": (lambda x: jnp.piecewise(x, [x < 0, x >= 0], [jnp.exp, jnp.log1p]), M),
}
SCIPY = {
    name: (getattr(jsp.special, name), M)
    for name in "erf erfc erfinv gammaln digamma i0e i1 i1e log_ndtr ndtr ndtri expit entr".split()
}
SCIPY |= {
    "logsumexp": (lambda x: jsp.special.logsumexp(x, 1), M),
    "logit": (lambda x: jsp.special.logit(nn.sigmoid(x)), M),
    "gammainc": (lambda x: jsp.special.gammainc(jnp.abs(x) + 0.5, 2.0), (64, 64)),
    "betainc": (lambda x: jsp.special.betainc(2.0, 3.0, nn.sigmoid(x)), (64, 64)),
    "zeta": (lambda x: jsp.special.zeta(jnp.abs(x) + 2, 1.0), M),
    "polygamma": (lambda x: jsp.special.polygamma(1, jnp.abs(x) + 1), (64, 64)),
    "xlogy": (lambda x: jsp.special.xlogy(jnp.abs(x), jnp.abs(x) + 1), M),
    "norm_logpdf": (jsp.stats.norm.logpdf, M),
    "norm_cdf": (jsp.stats.norm.cdf, M),
    "gamma_logpdf": (lambda x: jsp.stats.gamma.logpdf(jnp.abs(x), 2.0), M),
    "t_logpdf": (lambda x: jsp.stats.t.logpdf(x, 3.0), M),
    "poisson_logpmf": (lambda x: jsp.stats.poisson.logpmf(jnp.round(jnp.abs(x)), 2.0), M),
    "cho_solve": (lambda x: jsp.linalg.cho_solve((x @ x.T + 9 * jnp.eye(128), True), x), (128, 128)),
    "lu": (jsp.linalg.lu, (96, 96)),
    "solve_triangular": (lambda x: jsp.linalg.solve_triangular(x + 9 * jnp.eye(256), x, lower=True), M),
    "map_coordinates": (lambda x: jsp.ndimage.map_coordinates(x, [x * 30 + 90, x.T * 30 + 90], 1), M),
    "rankdata": (jsp.stats.rankdata, (2000,)),
    "mode": (lambda x: jsp.stats.mode(jnp.round(x * 5)).mode, (500,)),
    "gaussian_kde": (lambda x: jsp.stats.gaussian_kde(x[:300])(x), (1000,)),
    "griddata": (
        lambda x: jsp.interpolate.RegularGridInterpolator((jnp.arange(256.0),) * 2, x)(jnp.abs(x[:, :2]) * 50),
        M,
    ),
}
NN = {
    name: (getattr(nn, name), M)
    for name in (
        "relu gelu elu selu silu softplus softmax log_softmax sigmoid hard_swish mish celu log_sigmoid soft_sign "
        "standardize"
    ).split()
}
NN |= {
    "gelu_exact": (lambda x: nn.gelu(x, approximate=False), M),
    "glu": (nn.glu, M),
    "one_hot": (lambda x: nn.one_hot(jnp.abs(x * 30).astype(int), 100), (1000,)),
    "softmax0": (lambda x: nn.softmax(x, 0), M),
    "softmax_middle": (lambda x: nn.softmax(x, 1), T),
    "attention": (lambda x: nn.dot_product_attention(x, x, x), (2, 64, 8, 32)),
    "attention_causal": (lambda x: nn.dot_product_attention(x, x, x, is_causal=True), (2, 64, 8, 32)),
    "avg_pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (4, 32, 32, 32)),
    "max_pool_gradient": (
        jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME").sum()),
        (4, 32, 32, 32),
    ),
    "batch_norm": (lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5), (4, 32, 32, 32)),
    "layer_norm": (lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), (512, 256)),
    "rms_norm": (lambda x: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6), (512, 256)),
    "group_norm": (
        lambda x: (
            lambda g: ((g - g.mean((1, 2, 4), keepdims=True)) / jnp.sqrt(g.var((1, 2, 4), keepdims=True) + 1e-5))
        )(x.reshape(4, 32, 32, 8, 4)),
        (4, 32, 32, 32),
    ),
    "softmax_gradient": (jax.grad(lambda x: (nn.log_softmax(x)[:, 3]).sum()), M),
    "gelu_gradient": (jax.grad(lambda x: nn.gelu(x).sum()), M),
    "layer_norm_gradient": (
        jax.grad(lambda x: (((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)) ** 3).sum()),
        (512, 256),
    ),
    "conv_gradient": (
        jax.grad(lambda x: (lax.conv(x, jnp.ones((16, 16, 3, 3), x.dtype), (1, 1), "SAME") ** 2).sum()),
        (4, 16, 28, 28),
    ),
    "conv_transpose": (
        lambda x: lax.conv_transpose(x, jnp.ones((3, 3, 16, 16), x.dtype), (2, 2), "SAME"),
        (4, 16, 16, 16),
    ),
    "embedding_gradient": (jax.grad(lambda x: (x[jnp.arange(2000) % 97] ** 2).sum()), (1000, 64)),
    "resize_bilinear": (lambda x: jax.image.resize(x, (4, 64, 64, 8), "bilinear"), (4, 32, 32, 8)),
    "resize_nearest": (lambda x: jax.image.resize(x, (4, 64, 64, 8), "nearest"), (4, 32, 32, 8)),
    "resize_cubic": (lambda x: jax.image.resize(x, (48, 48, 8), "cubic"), (32, 32, 8)),
    "rope": (
        lambda x: jnp.concatenate(
            [x[..., :16] * jnp.cos(x[..., :16]) - x[..., 16:] * jnp.sin(x[..., 16:]), x[..., 16:]], -1
        ),
        (2, 64, 8, 32),
    ),
    "gather_logits": (lambda x: jnp.take_along_axis(nn.log_softmax(x), jnp.abs(x[:, :1] * 30).astype(int), 1), M),
}


def scan(step, carry):
    return lambda x: lax.scan(step, carry(x), x)


def lstm(carry, x):
    h, c = carry
    z = jnp.concatenate([h, x, h + x, x - h])
    i, f, g, o = jnp.split(z, 4)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return (nn.sigmoid(o) * jnp.tanh(c), c), h


LAX = {
    "scan_sum": (scan(lambda c, x: (c + x, c * x), lambda x: x[0]), (500, 64)),
    "scan_scalar": (scan(lambda c, x: (0.9 * c + x, c), lambda x: x[0]), (5000,)),
    "scan_lstm": (scan(lstm, lambda x: (x[0], x[1])), (200, 64)),
    "scan_rnn": (lambda x: lax.scan(lambda h, v: (jnp.tanh(h @ (x[:64] * 0.02) + v),) * 2, x[0], x)[0], (200, 64)),
    "scan_reverse": (lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), x[0], x, reverse=True)[1], (500, 64)),
    "scan_gradient": (jax.grad(lambda x: lax.scan(lambda c, v: (jnp.sin(c) + v, c), x[0], x)[1].sum()), (200, 64)),
    "scan_unroll": (lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), x[0], x, unroll=4)[1], (500, 64)),
    "scan_cond": (scan(lambda c, x: (lax.cond(x[0] > 0, lambda: c + x, lambda: c - x), c), lambda x: x[0]), (500, 64)),
    "scan_update": (
        lambda x: lax.scan(lambda c, i: (c.at[i].add(c[i - 1] * 0.5), None), x, jnp.arange(1, 2000))[0],
        (2000,),
    ),
    "fori_update_2d": (lambda x: lax.fori_loop(1, 256, lambda i, a: a.at[i].set(a[i] + a[i - 1]), x), M),
    "fori_column": (lambda x: lax.fori_loop(1, 256, lambda i, a: a.at[:, i].set(a[:, i] + a[:, i - 1]), x), M),
    "fori_swap": (
        lambda x: lax.fori_loop(
            0,
            1000,
            lambda i, a: lax.cond(a[i] > a[i + 1], lambda: a.at[i].set(a[i + 1]).at[i + 1].set(a[i]), lambda: a),
            x,
        ),
        V,
    ),
    "while_newton": (
        lambda x: lax.while_loop(
            lambda s: s[1] < 50, lambda s: (s[0] - (s[0] ** 2 - 2) / (2 * s[0] + 3), s[1] + 1), (x, 0)
        )[0],
        M,
    ),
    "while_collatz": (
        lambda x: jax.vmap(
            lambda n: lax.while_loop(
                lambda s: (s[0] > 1) & (s[1] < 99),
                lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
                (n, 0),
            )[1]
        )(jnp.abs(x * 30).astype(int) + 1),
        (2000,),
    ),
    "while_bisect": (
        lambda x: lax.fori_loop(
            0,
            40,
            lambda _, s: (lambda m: (jnp.where(m**3 < x, m, s[0]), jnp.where(m**3 < x, s[1], m)))((s[0] + s[1]) / 2),
            (x * 0 - 9, x * 0 + 9),
        )[0],
        (4000,),
    ),
    "mandelbrot": (
        lambda x: lax.fori_loop(
            0,
            50,
            lambda _, s: (s[0] * s[0] + (x + 1j * x.T) * 0.3, s[1] + (jnp.abs(s[0]) < 2)),
            (x * 0j, jnp.zeros(M, int)),
        )[1],
        M,
    ),
    "game_of_life": (
        lambda x: lax.fori_loop(
            0,
            20,
            lambda _, a: (lambda n: ((n == 3) | (a & (n == 2))))(
                sum(jnp.roll(a, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            ),
            x > 0,
        ),
        M,
    ),
    "heat": (
        lambda x: lax.fori_loop(
            0,
            50,
            lambda _, a: a.at[1:-1, 1:-1].add(
                0.1 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1])
            ),
            x,
        ),
        M,
    ),
    "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), V),
    "associative_scan_rows": (lambda x: lax.associative_scan(jnp.multiply, x, axis=1), M),
    "associative_scan_pair": (
        lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x))[1],
        (1024, 32),
    ),
    "associative_matmul": (lambda x: lax.associative_scan(jnp.matmul, x * 0.2), (64, 8, 8)),
    "top_k": (lambda x: lax.top_k(x, 10), M),
    "top_k1d": (lambda x: lax.top_k(x, 50), V),
    "top_k_large": (lambda x: lax.top_k(x, 128), M),
    "approx_max_k": (lambda x: lax.approx_max_k(x, 10), M),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (x[0, 0].astype(int), 3), (128, 128)), M),
    "dynamic_update": (lambda x: lax.dynamic_update_slice(x, x[:50, :50], (x[0, 0].astype(int), 3)), M),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 7), M),
    "reduce_window_gradient": (jax.grad(lambda x: lax.cummax(x, 1).sum()), (64, 64)),
    "map": (lambda x: lax.map(lambda r: jnp.sort(r)[:3].sum(), x), M),
    "vmap_cond": (jax.vmap(lambda r: lax.cond(r[0] > 0, jnp.sin, jnp.cos, r)), M),
    "switch": (lambda x: lax.switch(x[0, 0].astype(int), [jnp.sin, jnp.cos, jnp.tanh], x), M),
    "pairwise": (lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)), (400, 3)),
    "lennard_jones": (
        jax.grad(
            lambda x: (lambda r: (1 / r**6 - 1 / r**3).sum())(((x[:, None] - x[None]) ** 2).sum(-1) + jnp.eye(300))
        ),
        (300, 3),
    ),
    "kmeans": (
        lambda x: lax.fori_loop(
            0,
            5,
            lambda _, c: (lambda a: jax.ops.segment_sum(x, a, 8) / (1 + jnp.bincount(a, length=8))[:, None])(
                jnp.argmin(((x[:, None] - c[None]) ** 2).sum(-1), 1)
            ),
            x[:8],
        ),
        (2000, 4),
    ),
    "segment_sum": (lambda x: jax.ops.segment_sum(x, jnp.arange(20000) // 7, 3000), V),
    "segment_max": (lambda x: jax.ops.segment_max(x, jnp.arange(20000) // 7, 3000), V),
    "levenshtein": (
        lambda x: lax.fori_loop(
            1,
            100,
            lambda i, d: lax.fori_loop(
                1,
                100,
                lambda j, d: d.at[i, j].set(
                    jnp.minimum(jnp.minimum(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + (x[i] > x[j]))
                ),
                d,
            ),
            jnp.zeros((100, 100)),
        ),
        (100,),
    ),
    "floyd": (
        lambda x: lax.fori_loop(0, 100, lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k]), jnp.abs(x)),
        (100, 100),
    ),
    "rk4": (
        lambda x: lax.fori_loop(
            0,
            500,
            lambda _, s: (
                lambda f: (lambda k1: (lambda k2: s + 0.01 * (k1 + 2 * k2 + f(s + 0.01 * k2)))(f(s + 0.005 * k1)))(f(s))
            )(lambda y: jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 2.6 * y[2]])),
            x,
        ),
        (3,),
    ),
    "conjugate_gradient": (
        lambda x: jsp.sparse.linalg.cg(lambda v: (x @ x.T + 9 * jnp.eye(128)) @ v, x[0], maxiter=20)[0],
        (128, 128),
    ),
    "bfgs": (lambda x: jsp.optimize.minimize(lambda v: ((v - 1) ** 4).sum(), x, method="BFGS").x, (10,)),
    "jacobian": (jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), (128,)),
    "hessian": (jax.hessian(lambda x: jnp.sin(x).sum() * (x**2).sum()), (64,)),
    "viterbi": (
        lambda x: lax.scan(lambda s, v: (lambda m: (m.max(0) + v, m.argmax(0)))(s[:, None] + x[:32]), x[0], x)[1],
        (200, 32),
    ),
    "kalman": (
        lambda x: lax.scan(
            lambda s, z: (lambda p: (lambda k: ((s[0] + k * (z - s[0]), (1 - k) * p), s[0]))(p / (p + 1)))(s[1] + 0.1),
            (x[0], 1.0 + 0 * x[0]),
            x,
        )[1],
        (2000, 4),
    ),
}


@functools.cache
def programs():
    """Name → function and the type and dimensions of its argument."""
    found = {}
    for folder, table in (("numpy", NUMPY), ("scipy", SCIPY), ("nn", NN), ("lax", LAX)):
        for name, (function, dims) in table.items():
            for kind in ("float32", "float64", "bfloat16", "float16") if folder == "nn" else ("float32", "float64"):
                found[f"jax/{folder}/{name}/{kind}"] = (function, kind, dims)
    for folder, module in (
        ("programs", search_user_programs),
        ("networks", search_network_programs),
        ("training", search_training_programs),
        ("science", search_science_programs),
        ("algorithms", search_algorithm_programs),
        ("images", search_image_programs),
        ("layers", search_layer_programs),
        ("libraries", search_library_programs),
        ("signals", search_signal_programs),
        ("systems", search_system_programs),
    ):
        for name, function in module.PROGRAMS.items():
            for kind in getattr(module, "KINDS", ("float32", "float64")):
                found[f"jax/{folder}/{name}/{kind}"] = (function, kind, module.DIMS)
    for name, function in search_random_numbers.PROGRAMS.items():
        found[f"jax/random/{name}"] = (function, "uint32", search_random_numbers.DIMS)
    return found


def case(name):
    """The program of that name, lowered for the CPU; float64 with JAX's x64, float32 without, as users have it."""
    if name not in programs():
        return None
    function, kind, dims = programs()[name]
    with jax.enable_x64(kind == "float64"):
        lowered = jax.jit(function).lower(jax.ShapeDtypeStruct(dims, kind))
        return Case(stablehlo=lowered.as_text())
