"""How near results are to NumPy's, by the tolerances that JAX's own tests have: both sides must hold them for the same
cases. JAX's records of operations say what they are compared with, from which numbers, and how near."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from suite_numpy import BINARY, UNARY

SEEDS = 4


def verdict(name, make, function, reference, tolerance=None):
    """For some drawn arguments each whether the results are near those of NumPy; other things that happen."""
    from jax._src import test_util as jtu

    class Case(jtu.JaxTestCase):
        def runTest(self):
            pass

    out = []
    for seed in range(SEEDS):
        arguments = make(np.random.RandomState(zlib.crc32(name.encode()) + seed))
        actual = function(*arguments)
        with np.errstate(all="ignore"):
            expected = reference(*arguments)
        try:
            Case().assertAllClose(actual, expected, check_dtypes=False, atol=tolerance, rtol=tolerance)
            out.append("near")
        except AssertionError:
            out.append("far")
    return " ".join(out)


def operations():
    from jax._src import lax_reference
    from jax._src.internal_test_util import lax_test_util

    for record in lax_test_util.lax_ops():
        for dtype in record.dtypes:
            for shape in ((), (3, 4), (2, 3, 40)):
                name = f"{record.op}_{jnp.dtype(dtype).name}_{len(shape)}"

                def run(record=record, dtype=dtype, shape=shape, name=name):
                    def make(rng):
                        draw = record.rng_factory(rng)
                        return [draw(shape, dtype) for _ in range(record.nargs)]

                    op, reference = getattr(lax, record.op), getattr(lax_reference, record.op)
                    return verdict(name, make, op, reference, record.tol)

                yield name, run


def functions():
    from jax._src import test_util as jtu

    def drawn(rng, shape, dtype):
        return jtu.rand_default(rng)(shape, dtype)

    for name in UNARY + BINARY:
        if not hasattr(np, name) or name in ("asarray", "array", "unique"):
            continue
        for dtype in ("float32", "float64", "complex64", "complex128", "int32", "float16"):
            for shape in ((7,), (3, 50)):
                count = 1 if name in UNARY else 2

                def run(name=name, dtype=dtype, shape=shape, count=count):
                    make = lambda rng: [drawn(rng, shape, dtype) for _ in range(count)]
                    return verdict(name + dtype, make, getattr(jnp, name), getattr(np, name))

                yield f"numpy_{name}_{dtype}_{len(shape)}", run


def linear_algebra():
    from jax._src import test_util as jtu

    import scipy.linalg
    import scipy.special

    pairs = {
        "det": (jnp.linalg.det, np.linalg.det),
        "inv": (jnp.linalg.inv, np.linalg.inv),
        "slogdet": (jnp.linalg.slogdet, np.linalg.slogdet),
        "matrix_power": (lambda x: jnp.linalg.matrix_power(x, 3), lambda x: np.linalg.matrix_power(x, 3)),
        "eigvalsh": (lambda x: jnp.linalg.eigvalsh(x + x.T.conj()), lambda x: np.linalg.eigvalsh(x + x.T.conj())),
        "svdvals": (lambda x: jnp.linalg.svd(x)[1], lambda x: np.linalg.svd(x)[1]),
        "solve": (lambda x: jnp.linalg.solve(x, x[0]), lambda x: np.linalg.solve(x, x[0])),
        "pinv": (jnp.linalg.pinv, np.linalg.pinv),
        "expm": (jax.scipy.linalg.expm, scipy.linalg.expm),
        "norm": (jnp.linalg.norm, np.linalg.norm),
        "cholesky": (
            lambda x: jnp.linalg.cholesky(x @ x.T.conj() + np.eye(len(x), dtype=x.dtype)),
            lambda x: np.linalg.cholesky(x @ x.T.conj() + np.eye(len(x), dtype=x.dtype)),
        ),
    }
    for name, (function, reference) in pairs.items():
        for dtype in ("float32", "float64", "complex64", "complex128"):
            for size in (1, 4, 20):
                for tolerance in (1e-3, 1e-5, 1e-12):
                    if tolerance < 1e-6 and dtype in ("float32", "complex64"):
                        continue

                    def run(name=name, f=function, r=reference, dtype=dtype, size=size, tolerance=tolerance):
                        make = lambda rng: [jtu.rand_default(rng, 1)((size, size), dtype)]
                        return verdict(name + dtype, make, f, r, tolerance)

                    yield f"linalg_{name}_{dtype}_{size}_{tolerance}", run
    special = "betaln digamma entr erf erfc erfinv expit gammaln i0 i0e i1 i1e log_ndtr logit ndtr ndtri spence".split()
    for name in special + ["xlogy", "xlog1py", "gammainc", "gammaincc", "zeta", "kl_div", "rel_entr", "beta"]:
        count = 1 if name in special and name not in ("betaln",) else 2
        for dtype in ("float32", "float64"):

            def run(name=name, dtype=dtype, count=count):
                make = lambda rng: [jtu.rand_uniform(rng, 0.05, 3.0)((40,), dtype) for _ in range(count)]
                tolerance = 1e-5 if dtype == "float32" else 1e-12
                return verdict(
                    name + dtype, make, getattr(jax.scipy.special, name), getattr(scipy.special, name), tolerance
                )

            yield f"special_{name}_{dtype}", run
    for name in "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2".split():
        for dtype in ("float32", "float64", "complex64", "complex128"):

            def run(name=name, dtype=dtype):
                make = lambda rng: [jtu.rand_default(rng)((6, 15), dtype)]
                tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
                return verdict(name + dtype, make, getattr(jnp.fft, name), getattr(np.fft, name), tolerance)

            yield f"fft_{name}_{dtype}", run


def derivatives():
    from jax._src import public_test_util as ptu
    from jax._src import test_util as jtu

    smooth = {
        "exp log expm1 log1p sin cos tanh logistic sqrt rsqrt cbrt tan asin acos atan asinh acosh atanh sinh cosh lgamma "
        "digamma erf erfc erf_inv bessel_i0e bessel_i1e square reciprocal": 1,
        "add sub mul div pow atan2 max min": 2,
    }
    for names, count in smooth.items():
        for name in names.split():
            for dtype in ("float32", "float64", "complex64"):

                def run(name=name, dtype=dtype, count=count):
                    rng = np.random.RandomState(zlib.crc32(name.encode()))
                    low = 1.1 if name == "acosh" else 0.1
                    arguments = [jtu.rand_uniform(rng, low, low + 0.8)((3, 2), dtype) for _ in range(count)]
                    try:
                        ptu.check_grads(getattr(lax, name), tuple(arguments), order=2, modes=["fwd", "rev"])
                        return "right"
                    except AssertionError:
                        return "wrong"

                yield f"grads_{name}_{dtype}", run


def cases():
    for group in (operations, functions, linear_algebra, derivatives):
        yield from group()
