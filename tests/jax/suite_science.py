"""jax.scipy, linear algebra, transforms, random numbers, neural networks' functions, images, sparse arrays."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from suite_numpy import arrays

SPECIAL = """bernoulli beta betainc betaln digamma entr erf erfc erfinv expi expit exp1 factorial fresnel gamma gammainc
gammaincc gammaln gammasgn hyp1f1 i0 i0e i1 i1e kl_div log_ndtr log_softmax logit logsumexp ndtr ndtri poch rel_entr sici
sinc softmax spence xlog1py xlogy zeta polygamma expn multigammaln hyp2f1 wofz lpmn erfcx""".split()
DISTRIBUTIONS = {
    "norm": 0,
    "expon": 0,
    "laplace": 0,
    "logistic": 0,
    "cauchy": 0,
    "uniform": 0,
    "gumbel_l": 0,
    "gumbel_r": 0,
    "t": 1,
    "gamma": 1,
    "chi2": 1,
    "pareto": 1,
    "beta": 2,
    "truncnorm": 2,
    "vonmises": 1,
    "wrapcauchy": 1,
    "gennorm": 1,
    "poisson": 1,
    "geom": 1,
    "bernoulli": 1,
    "nbinom": 2,
    "binom": 2,
    "betabinom": 3,
}


def special():
    for name in SPECIAL:
        function = getattr(jax.scipy.special, name, None)
        if function is None:
            continue
        for dtype in ("float32", "float64", "bfloat16", "int32"):
            for number in (1, 2, 3, 4):
                x = [
                    np.abs(a) + a.dtype.type(1) if i else a for i, a in enumerate(arrays(name, dtype, *[(9,)] * number))
                ]
                yield f"special_{name}_{dtype}_{number}", lambda f=function, x=x: f(*x)
                if dtype == "float32":
                    yield f"special_grad_{name}_{number}", lambda f=function, x=x: jax.grad(
                        lambda *y: f(*y).sum(), argnums=len(x) - 1
                    )(*x)


def distributions():
    for name, parameters in DISTRIBUTIONS.items():
        module = getattr(jax.scipy.stats, name)
        for method in ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
            if hasattr(module, method):
                for dtype in ("float32", "float64"):
                    x, *rest = arrays(name + method, dtype, *[(9,)] * (1 + parameters))
                    rest = [np.abs(r) % 0.8 + 0.1 for r in rest]
                    yield f"stats_{name}_{method}_{dtype}", lambda f=getattr(module, method), x=np.abs(
                        x
                    ) % 1, rest=rest: f(x.astype("float64").astype(x.dtype), *rest)


def linear_algebra():
    def spd(x):
        return x @ jnp.conj(jnp.swapaxes(x, -1, -2)) + 3 * jnp.eye(x.shape[-1], dtype=x.dtype)

    def ordered(values):
        return jnp.sort_complex(values)

    linalg, slinalg = jnp.linalg, jax.scipy.linalg
    functions = {
        "cholesky": lambda x: linalg.cholesky(spd(x)),
        "cholesky_upper": lambda x: linalg.cholesky(spd(x), upper=True),
        "inv": linalg.inv,
        "pinv": linalg.pinv,
        "det": linalg.det,
        "slogdet": linalg.slogdet,
        "solve": lambda x: linalg.solve(x, x + 1),
        "solve_vector": lambda x: linalg.solve(x, x[..., 0:1]),
        "qr": lambda x: [jnp.abs(r) for r in linalg.qr(x)],
        "qr_r": lambda x: jnp.abs(linalg.qr(x, mode="r")),
        "qr_complete": lambda x: jnp.abs(linalg.qr(x, mode="complete")[1]),
        "svd": lambda x: linalg.svd(x)[1],
        "svdvals": linalg.svdvals,
        "svd_thin": lambda x: (lambda u, s, v: (u * s[..., None, :]) @ v)(*linalg.svd(x, full_matrices=False)),
        "eigh": lambda x: linalg.eigh(spd(x))[0],
        "eigvalsh": lambda x: linalg.eigvalsh(spd(x)),
        "eigh_product": lambda x: (lambda w, v: (v * w[..., None, :]) @ jnp.conj(jnp.swapaxes(v, -1, -2)))(
            *linalg.eigh(spd(x))
        ),
        "eig": lambda x: ordered(linalg.eig(x)[0]),
        "eigvals": lambda x: ordered(linalg.eigvals(x)),
        "matrix_power": lambda x: linalg.matrix_power(x, 3),
        "matrix_rank": linalg.matrix_rank,
        "norm": lambda x: [linalg.norm(x, axis=(-2, -1), ord=o) for o in ("fro", "nuc", 1, 2, -2, np.inf)],
        "cond": linalg.cond,
        "lstsq": lambda x: linalg.lstsq(x, x[:, 0])[0] if x.ndim == 2 else x,
        "multi_dot": lambda x: linalg.multi_dot([x, x, x]) if x.ndim == 2 else x,
        "lu": lambda x: slinalg.lu(x),
        "lu_factor": lambda x: slinalg.lu_factor(x),
        "lu_solve": lambda x: slinalg.lu_solve(slinalg.lu_factor(x), x),
        "cho_solve": lambda x: slinalg.cho_solve(slinalg.cho_factor(spd(x)), x),
        # Small elements of large ones' exponential have few right digits.
        "expm": lambda x: (lambda y: y / jnp.abs(y).max())(slinalg.expm(x)),
        "sqrtm": lambda x: slinalg.sqrtm(spd(x)) if x.ndim == 2 else x,
        "schur": lambda x: jnp.abs(jnp.linalg.trace(slinalg.schur(x)[0])) if x.ndim == 2 else x,
        "hessenberg": lambda x: jnp.abs(slinalg.hessenberg(x)) if x.ndim == 2 else x,
        "polar": lambda x: slinalg.polar(x)[1] if x.ndim == 2 else x,
        "funm": lambda x: slinalg.funm(spd(x), jnp.exp) if x.ndim == 2 else x,
        "toeplitz": lambda x: slinalg.toeplitz(x),
        "block_diag": lambda x: slinalg.block_diag(x, x) if x.ndim == 2 else x,
        "solve_triangular": lambda x: [
            slinalg.solve_triangular(spd(x), x, lower=low, trans=t, unit_diagonal=u)
            for low in (0, 1)
            for t in (0, 1, 2)
            for u in (False, True)
        ],
        "eigh_tridiagonal": lambda x: (
            slinalg.eigh_tridiagonal(jnp.real(x[..., 0]), jnp.real(x[..., 1:, 1]), eigvals_only=True)
            if x.ndim == 2
            else x
        ),
        "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(x[..., 0], x[..., 1] + 9, x[..., 2], x),
        "tensorinv": lambda x: linalg.tensorinv(x, ind=1) if x.ndim == 2 else x,
        "householder": lambda x: lax.linalg.householder_product(x, x[..., 0, :]),
        "symmetric_product": lambda x: lax.linalg.symmetric_product(x, spd(x)),
        "svd_derivative": lambda x: jax.jvp(linalg.svdvals, (x,), (x,))[1],
        "eigh_derivative": lambda x: jax.jvp(lambda y: linalg.eigh(spd(y))[0], (x,), (x,))[1],
        "cholesky_derivative": lambda x: jax.jvp(lambda y: linalg.cholesky(spd(y)), (x,), (x,))[1],
        "solve_derivative": lambda x: jax.jvp(lambda y: linalg.solve(y, y + 1), (x,), (x,))[1],
        "det_derivative": lambda x: jax.jvp(linalg.det, (x,), (x,))[1],
        "qr_derivative": lambda x: jnp.abs(jax.jvp(lambda y: linalg.qr(y)[1], (x,), (x,))[1]),
    }
    for name, function in functions.items():
        for dtype in ("float32", "float64", "complex64", "complex128"):
            for shape in ((4, 4), (2, 3, 3), (1, 1), (20, 20)):
                (x,) = arrays(name, dtype, shape)
                yield f"linalg_{name}_{dtype}_{shape}", lambda f=function, x=x: f(
                    x + 2 * np.eye(x.shape[-1], dtype=x.dtype)
                )
    for shape in ((5, 3), (3, 5), (2, 5, 3), (0, 3), (0, 0)):
        for dtype in ("float32", "complex128"):
            (x,) = arrays("thin", dtype, shape)
            yield f"linalg_svd_{dtype}_{shape}", lambda x=x: linalg.svd(x, full_matrices=True)[1]
            yield f"linalg_qr_{dtype}_{shape}", lambda x=x: jnp.abs(linalg.qr(x)[1])
            yield f"linalg_lu_{dtype}_{shape}", lambda x=x: lax.linalg.lu(x)
            yield f"linalg_pinv_{dtype}_{shape}", lambda x=x: linalg.pinv(x)
            yield f"linalg_qr_pivoting_{dtype}_{shape}", lambda x=x: jnp.abs(jax.scipy.linalg.qr(x, pivoting=True)[1])


def transforms():
    for name in (
        "fft",
        "ifft",
        "rfft",
        "irfft",
        "hfft",
        "ihfft",
        "fft2",
        "ifft2",
        "rfft2",
        "irfft2",
        "fftn",
        "ifftn",
        "rfftn",
        "irfftn",
        "fftshift",
        "ifftshift",
    ):
        for dtype in ("float32", "float64", "complex64", "complex128", "int32"):
            for shape in ((8,), (3, 5), (2, 3, 7), (4, 1)):
                (x,) = arrays(name, dtype, shape)
                yield f"fft_{name}_{dtype}_{shape}", lambda f=getattr(jnp.fft, name), x=x: f(x)
    (x,) = arrays("fft", "float32", (4, 8))
    yield "fft_grad", lambda: jax.grad(lambda y: jnp.abs(jnp.fft.rfft(y)).sum())(x)
    yield "dct", lambda: [jax.scipy.fft.dct(x), jax.scipy.fft.idct(x), jax.scipy.fft.dctn(x)]
    yield "fftconvolve", lambda: jax.scipy.signal.fftconvolve(x, x[:2, :3])
    yield "stft", lambda: jax.scipy.signal.stft(x, nperseg=4)
    yield "welch", lambda: jax.scipy.signal.welch(x, nperseg=4)
    yield "convolve2d", lambda: [jax.scipy.signal.convolve2d(x, x[:2, :3], mode=m) for m in ("full", "same", "valid")]
    yield "detrend", lambda: jax.scipy.signal.detrend(x)


def random_numbers():
    key = lambda implementation: jax.random.key(7, impl=implementation)
    draws = {
        "bits": lambda k: [jax.random.bits(k, (5,), t) for t in ("uint8", "uint16", "uint32", "uint64")],
        "split": lambda k: jax.random.split(k, 5),
        "fold_in": lambda k: jax.random.fold_in(k, 3),
        "uniform": lambda k: [jax.random.uniform(k, (7,), t) for t in ("float16", "bfloat16", "float32", "float64")],
        "normal": lambda k: [jax.random.normal(k, (7,), t) for t in ("bfloat16", "float32", "float64", "complex64")],
        "randint": lambda k: [jax.random.randint(k, (7,), 0, 100, t) for t in ("int8", "int32", "int64", "uint32")],
        "permutation": lambda k: [
            jax.random.permutation(k, 9),
            jax.random.permutation(k, jnp.eye(4), independent=True),
        ],
        "choice": lambda k: [jax.random.choice(k, 9, (4,)), jax.random.choice(k, 9, (4,), replace=False)],
        "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (9,)),
        "beta": lambda k: jax.random.beta(k, 2.0, 3.0, (7,)),
        "gamma": lambda k: jax.random.gamma(k, 2.0, (7,)),
        "loggamma": lambda k: jax.random.loggamma(k, 0.3, (7,)),
        "poisson": lambda k: (
            jax.random.poisson(k, 4.0, (7,)) if "threefry" in str(k.dtype) or "fry" in str(k.dtype) else 0
        ),
        "categorical": lambda k: jax.random.categorical(k, jnp.log(jnp.arange(1.0, 6.0)), shape=(9,)),
        "cauchy": lambda k: jax.random.cauchy(k, (7,)),
        "dirichlet": lambda k: jax.random.dirichlet(k, jnp.ones(4), (3,)),
        "exponential": lambda k: jax.random.exponential(k, (7,)),
        "gumbel": lambda k: jax.random.gumbel(k, (7,)),
        "laplace": lambda k: jax.random.laplace(k, (7,)),
        "logistic": lambda k: jax.random.logistic(k, (7,)),
        "multivariate_normal": lambda k: jax.random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3) + 0.5, (4,)),
        "orthogonal": lambda k: jnp.abs(jax.random.orthogonal(k, 3)),
        "pareto": lambda k: jax.random.pareto(k, 2.0, (7,)),
        "t": lambda k: jax.random.t(k, 3.0, (7,)),
        "truncated_normal": lambda k: jax.random.truncated_normal(k, -1, 1, (7,)),
        "weibull": lambda k: jax.random.weibull_min(k, 1.0, 2.0, (7,)),
        "wald": lambda k: jax.random.wald(k, 2.0, (7,)),
        "ball": lambda k: jax.random.ball(k, 3, shape=(4,)),
        "rayleigh": lambda k: jax.random.rayleigh(k, 2.0, (7,)),
        "binomial": lambda k: jax.random.binomial(k, 10.0, 0.3, (7,)),
        "geometric": lambda k: jax.random.geometric(k, 0.3, (7,)),
        "rademacher": lambda k: jax.random.rademacher(k, (7,)),
        "maxwell": lambda k: jax.random.maxwell(k, (7,)),
        "multinomial": lambda k: jax.random.multinomial(k, 10.0, jnp.ones(4) / 4),
        "lognormal": lambda k: jax.random.lognormal(k, 1.0, (7,)),
        "triangular": lambda k: jax.random.triangular(k, 0.0, 0.3, 1.0, (7,)),
        "double_sided_maxwell": lambda k: jax.random.double_sided_maxwell(k, 0.0, 1.0, (7,)),
        "generalized_normal": lambda k: jax.random.generalized_normal(k, 1.5, (7,)),
        "shuffle_large": lambda k: jax.random.permutation(k, 3000),
        "large": lambda k: jax.random.bits(k, (3001,)),
    }
    for name, draw in draws.items():
        for implementation in ("threefry2x32", "rbg", "unsafe_rbg"):
            yield f"random_{name}_{implementation}", lambda d=draw, i=implementation: d(key(i))
            yield f"random_vmap_{name}_{implementation}", lambda d=draw, i=implementation: jax.vmap(d)(
                jax.random.split(key(i), 3)
            )
            yield f"random_jit_{name}_{implementation}", lambda d=draw, i=implementation: jax.jit(d)(key(i))


def networks():
    nn = jax.nn
    for name in (
        "relu relu6 sigmoid softplus sparse_plus sparse_sigmoid soft_sign silu log_sigmoid leaky_relu hard_sigmoid "
        "hard_silu hard_tanh elu celu selu gelu glu squareplus mish identity log_softmax softmax logsumexp "
        "standardize tanh swish"
    ).split():
        for dtype in ("float32", "bfloat16", "float64", "float16"):
            (x,) = arrays(name, dtype, (3, 6))
            yield f"nn_{name}_{dtype}", lambda f=getattr(nn, name), x=x: f(x)
            yield f"nn_grad_{name}_{dtype}", lambda f=getattr(nn, name), x=x: jax.grad(lambda y: f(y).sum())(x)
    q, k, v = arrays("attention", "float32", (2, 8, 4, 16), (2, 8, 4, 16), (2, 8, 4, 16))
    yield "nn_attention", lambda: nn.dot_product_attention(q, k, v)
    yield "nn_attention_causal", lambda: nn.dot_product_attention(q, k, v, is_causal=True)
    yield "nn_attention_grad", lambda: jax.grad(lambda a: nn.dot_product_attention(a, k, v).sum())(q)
    yield "nn_one_hot", lambda: nn.one_hot(jnp.array([0, 3, 7]), 5)
    yield "nn_scaled_matmul", lambda: nn.scaled_matmul(
        jnp.ones((1, 4, 32), "float8_e4m3fn"),
        jnp.ones((1, 4, 32), "float8_e4m3fn"),
        jnp.ones((1, 4, 1), "float8_e8m0fnu"),
        jnp.ones((1, 4, 1), "float8_e8m0fnu"),
    )
    for init in ("glorot_normal", "he_uniform", "lecun_normal", "orthogonal", "variance_scaling"):
        if init == "variance_scaling":
            made = nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")
        else:
            made = getattr(nn.initializers, init)()
        yield f"nn_init_{init}", lambda made=made: jnp.abs(made(jax.random.key(1), (4, 4)))
    image = jax.image
    (x,) = arrays("image", "float32", (5, 7, 3))
    for method in ("nearest", "linear", "cubic", "lanczos3", "lanczos5"):
        for shape in ((10, 4, 3), (5, 7, 3), (2, 15, 3)):
            for dtype in ("float32", "uint8", "bfloat16"):
                y = (x * 20 + 100).astype(dtype) if dtype == "uint8" else x.astype(dtype)
                yield f"image_{method}_{shape}_{dtype}", lambda y=y, s=shape, m=method: image.resize(y, s, m)
    yield "image_scale", lambda: image.scale_and_translate(
        x, (8, 8, 3), (0, 1), jnp.ones(2), jnp.zeros(2) + 0.3, "linear"
    )
    for order in (0, 1):
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
            yield f"map_coordinates_{order}_{mode}", lambda o=order, m=mode: jax.scipy.ndimage.map_coordinates(
                x[:, :, 0], [jnp.linspace(-1, 6, 9), jnp.linspace(0, 8, 9)], order=o, mode=m
            )


def sparse():
    from jax.experimental import sparse as sp

    (x,) = arrays("sparse", "float32", (4, 5))
    x = np.where(x > 0.5, x, 0).astype("float32")
    for form in ("BCOO", "BCSR", "COO", "CSR", "CSC"):
        make = getattr(sp, form).fromdense
        yield f"sparse_{form}_todense", lambda make=make: make(x).todense()
        yield f"sparse_{form}_matmul", lambda make=make: make(x) @ jnp.ones((5, 3))
        yield f"sparse_{form}_matvec", lambda make=make: jax.jit(lambda m, v: m @ v)(
            make(x), jnp.arange(5.0, dtype="float32")
        )
        yield f"sparse_{form}_transpose", lambda make=make: make(x).T.todense()
    yield "sparse_dot_general", lambda: sp.bcoo_dot_general(
        sp.BCOO.fromdense(x), jnp.ones((5, 2)), dimension_numbers=(((1,), (0,)), ((), ()))
    ).astype("float32")
    yield "sparse_sum", lambda: sp.bcoo_reduce_sum(sp.BCOO.fromdense(x), axes=(0,)).todense()
    yield "sparse_spdot", lambda: (sp.BCOO.fromdense(x) @ sp.BCOO.fromdense(x.T)).todense()
    yield "sparse_sparsify", lambda: sp.sparsify(lambda a, b: a * 2 + b)(
        sp.BCOO.fromdense(x), sp.BCOO.fromdense(x)
    ).todense()
    yield "sparse_grad", lambda: jax.grad(
        lambda d: (sp.BCOO((d, jnp.array([[0, 1], [2, 3]])), shape=(4, 5)) @ jnp.ones(5)).sum()
    )(jnp.ones(2))
    yield "sparse_concatenate", lambda: sp.bcoo_concatenate([sp.BCOO.fromdense(x)] * 2, dimension=1).todense()
    yield "sparse_slice", lambda: sp.BCOO.fromdense(x)[1:3, ::2].todense()
    yield "sparse_random", lambda: sp.random_bcoo(jax.random.key(0), (6, 6), nse=0.3).todense()
    yield "sparse_solve", lambda: sp.linalg.spsolve(
        *(lambda m: (m.data, m.indices, m.indptr))(
            sp.BCSR.fromdense(np.eye(4, dtype="float32") * 2 + np.eye(4, k=1, dtype="float32"))
        ),
        jnp.ones(4, "float32"),
    )
    yield "sparse_lobpcg", lambda: sp.linalg.lobpcg_standard(jnp.diag(jnp.arange(1.0, 31.0)), jnp.eye(30, 2))[0]


def rest():
    from jax.experimental.ode import odeint

    scipy = jax.scipy
    yield "odeint", lambda: odeint(lambda y, t: -y * t, jnp.array([1.0, 2.0]), jnp.linspace(0, 1, 5))
    yield "odeint_grad", lambda: jax.grad(lambda y: odeint(lambda z, t: -z * t, y, jnp.linspace(0, 1, 3)).sum())(
        jnp.ones(2)
    )
    yield "minimize", lambda: scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), jnp.zeros(3), method="BFGS").x
    a = jnp.eye(4) * 3 + 0.3
    for name in ("cg", "gmres", "bicgstab"):
        yield f"sparse_linalg_{name}", lambda n=name: getattr(scipy.sparse.linalg, n)(a, jnp.arange(4.0))[0]
    yield "kde", lambda: scipy.stats.gaussian_kde(jnp.arange(9.0))(jnp.array([1.0, 3.5]))
    yield "mode", lambda: scipy.stats.mode(jnp.array([1, 2, 2, 3]))
    yield "rankdata", lambda: scipy.stats.rankdata(jnp.array([3.0, 1.0, 2.0, 2.0]))
    yield "rotation", lambda: scipy.spatial.transform.Rotation.from_euler("xyz", jnp.array([0.1, 0.2, 0.3])).as_matrix()
    yield "slerp", lambda: scipy.spatial.transform.Slerp.init(
        jnp.arange(3.0), scipy.spatial.transform.Rotation.from_quat(jnp.eye(4)[:3] + 0.1)
    )(jnp.array([0.5])).as_quat()
    yield "vq", lambda: scipy.cluster.vq.vq(jnp.eye(3), jnp.eye(3)[:2])
    yield "integrate", lambda: scipy.integrate.trapezoid(jnp.arange(9.0))
    yield "interpolate", lambda: scipy.interpolate.RegularGridInterpolator(
        (jnp.arange(3.0), jnp.arange(4.0)), jnp.ones((3, 4))
    )(jnp.array([[0.5, 1.5]]))


def cases():
    for group in (special, distributions, linear_algebra, transforms, random_numbers, networks, sparse, rest):
        yield from group()
