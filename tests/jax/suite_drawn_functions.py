"""As suite_drawn: conversions, arithmetic, transforms, linear algebra, random numbers, control flow, images."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from suite_drawn import ALL, COMPLEX, EIGHT_BITS, FLOATS, INTS, cases_of


def conversions(d):
    one, other = d.one(ALL + ["bool"] + EIGHT_BITS + ["int4", "uint4", "int2"]), d.one(ALL + ["bool"] + EIGHT_BITS)
    values = np.array([0.0, -0.0, 0.5, -1.5, 2.5, 3.5, 100.7, -100.7, 127, 1e-3])
    values = values * d.one([1, 1, 30, 1000])
    if one in INTS:
        info = np.iinfo(one)
        x = np.array([info.min, info.max, info.max - 1, 0, 1, info.max // 2, info.max // 3], one)
    elif one in ("int4", "uint4", "int2"):
        x = np.arange(-2, 2).astype(jnp.dtype(one))
    else:
        x = values.astype(jnp.dtype(one))
    return lambda: [lax.convert_element_type(x, other), jnp.asarray(x).astype(other)]


def bits(d):
    sizes = {1: INTS[0::4], 2: ["int16", "uint16", "bfloat16", "float16"], 4: ["int32", "uint32", "float32"]}
    sizes[8] = ["int64", "uint64", "float64"]
    one, other = d.one(list(sizes)), d.one(list(sizes))
    shape = [d.int(1, 3)] + ([other // one] if other > one else [])
    x = d.numbers(shape, 0, 120, d.one(sizes[one][:1])).view(jnp.dtype(d.one(sizes[one])))
    to = d.one(sizes[other])
    return lambda: lax.bitcast_convert_type(x, to)


def shifts(d):
    dtype = d.one(INTS)
    width = np.iinfo(dtype).bits
    x = np.array([1, 2, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    amounts = np.array([0, 1, width - 1, width, width + 1, 127]).astype(dtype)
    op = d.one([lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic, jnp.left_shift, jnp.right_shift])
    return lambda: op(jnp.repeat(x, 6), jnp.tile(amounts, 5))


def arithmetic(d):
    dtype = d.one(ALL)
    other = d.one(ALL)
    name = d.one(
        "add subtract multiply divide floor_divide remainder fmod power divmod arctan2 hypot logaddexp logaddexp2 "
        "maximum minimum fmax fmin copysign heaviside nextafter float_power true_divide ldexp gcd lcm".split()
    )
    if name in ("gcd", "lcm"):
        dtype, other = d.one(INTS), d.one(INTS[:3])
    if name == "ldexp":
        other = "int32"
    shapes_ = d.one([((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3, 4)), ((2, 3, 4), ())])
    x, y = d.array(shapes_[0], dtype), d.array(shapes_[1], other)
    return lambda: getattr(jnp, name)(jnp.asarray(x), jnp.asarray(y))


def scalars(d):
    """Weak types: what a scalar of Python does to the type of a result."""
    dtype = d.one(ALL + ["bool"])
    x = d.array((3,), dtype)
    value = d.one([2, 2.5, True, 1j, 0, -1])
    f = d.one(
        [
            lambda a, b: a + b,
            lambda a, b: a * b,
            lambda a, b: b - a if a.dtype != bool else a * b,
            lambda a, b: a == b,
            jnp.where if False else lambda a, b: jnp.where(True, a, b),
            lambda a, b: jnp.stack([a[0], jnp.asarray(b).astype(a.dtype)]),
            lambda a, b: lax.cond(True, lambda: jnp.asarray(b), lambda: jnp.asarray(b)),
        ]
    )
    return lambda: (lambda r: [r, str(r.weak_type), str(r.dtype)])(jax.jit(f)(jnp.asarray(x), value))


def transforms(d):
    rank = d.int(1, 3)
    shape = [d.int(1, 9) for _ in range(d.int(rank, 4))]
    kind = d.one(["fftn", "ifftn", "rfftn", "irfftn"])
    dtype = d.one(["float32", "float64", "int32", "bool"] if kind == "rfftn" else FLOATS[::3] + COMPLEX + ["int8"])
    x = d.array(shape, dtype)
    axes = d.permutation(len(shape))[:rank]
    sizes = d.one([None, [d.int(1, 11) for _ in range(rank)]])
    norm = d.one([None, "backward", "ortho", "forward"])
    f = lambda a: getattr(jnp.fft, kind)(a, s=sizes, axes=axes, norm=norm)
    if dtype in ("float32", "complex64") and d.flag():
        return lambda: jax.vjp(f, x)[1](f(x))
    return lambda: f(x)


def einsums(d):
    text = d.one(
        "ij,jk->ik;ij,ij->;ijk,kl->ijl;ii->i;ii;i,j->ij;...ij,...jk->...ik;abc,bd,cd->a;ij->ji;ij,j;bij,bkj->bik;"
        "ijij->ij;a,a,a->a;ab,bc,cd,de->ae;i...->...;ij,kj->".split(";")
    )
    dtype = d.one(ALL[:12] + ["bool"])
    size = {c: d.int(1, 4) for c in "abcdeijkl"}
    operands = []
    for term in text.split("->")[0].split(","):
        lead = (2, 3) if "..." in term else ()
        dims = tuple(size[c] for c in term.replace("...", ""))
        operands.append(d.array(lead + dims if term.startswith("...") else dims + lead, dtype))
    preferred = d.one([None, None, "float32"]) if dtype in FLOATS[:3] else None
    return lambda: jnp.einsum(text, *operands, preferred_element_type=preferred)


def precision(d):
    dtype = d.one(FLOATS)
    x = d.array((20,), dtype) * np.array(10.0 ** d.int(-3, 3)).astype(jnp.dtype(dtype))
    return lambda: lax.reduce_precision(x, d.int(2, 8), d.int(0, 10))


def triangular(d):
    dtype = d.one(["float32", "float64", "complex64", "complex128"])
    n, m = d.int(1, 6), d.int(1, 5)
    left = d.flag()
    batch = d.one([(), (2,), (2, 3)])
    a = d.array(batch + (n, n), dtype) + 3 * np.eye(n, dtype=dtype)
    b = d.array(batch + ((n, m) if left else (m, n)), dtype)
    options = {
        "left_side": left,
        "lower": d.flag(),
        "transpose_a": d.flag(),
        "conjugate_a": d.flag(),
        "unit_diagonal": d.flag(),
    }
    f = lambda u, v: lax.linalg.triangular_solve(u, v, **options)
    if d.flag():
        return lambda: jax.vjp(f, a, b)[1](f(a, b))
    return lambda: f(a, b)


def decompositions(d):
    dtype = d.one(["float32", "float64", "complex64", "complex128"])
    batch = d.one([(), (2,), (0,), (2, 3)])
    m, n = d.int(0, 6), d.int(0, 6)
    x = d.array(batch + (m, n), dtype)
    s = d.array(batch + (n, n), dtype)
    h = s + np.conj(np.swapaxes(s, -1, -2))
    kind = d.int(0, 13)
    dagger = lambda u: jnp.conj(jnp.swapaxes(u, -1, -2))
    if kind == 0:
        full = d.flag()
        return lambda: (lambda q, r: [q @ r, str(q.shape), str(r.shape)])(*lax.linalg.qr(x, full_matrices=full))
    if kind == 1:
        return lambda: (
            lambda q, r, p: [jnp.take_along_axis(q @ r, jnp.argsort(p)[..., None, :], -1), str(p.dtype), jnp.abs(r)]
        )(*lax.linalg.qr(x, pivoting=True, full_matrices=False))
    if kind == 2:
        full = d.flag()
        return lambda: (
            lambda u, t, v: [
                t,
                str(u.shape),
                str(v.shape),
                (u[..., : t.shape[-1]] * t[..., None, :]) @ v[..., : t.shape[-1], :],
            ]
        )(*lax.linalg.svd(x, full_matrices=full))
    if kind == 3:
        lower = d.flag()
        return lambda: (lambda v, w: [w, (v * w[..., None, :]) @ dagger(v)])(
            *lax.linalg.eigh(h, lower=lower, symmetrize_input=d.flag())
        )
    if kind == 4:
        return lambda: (lambda w, v: [jnp.sort_complex(w), jnp.abs(s @ v - v * w[..., None, :]) < 1e-3])(
            *lax.linalg.eig(s, compute_left_eigenvectors=False)
        )
    if kind == 5:
        return lambda: lax.linalg.lu(x)
    if kind == 6:
        return lambda: lax.linalg.cholesky(s @ np.conj(np.swapaxes(s, -1, -2)) + np.eye(n, dtype=dtype))
    if kind == 7:
        return lambda: lax.linalg.cholesky(-np.ones_like(s) - np.eye(n, dtype=dtype))
    if kind == 8:
        return lambda: (lambda t, v: [jnp.abs(v @ t @ dagger(v) - s) < 1e-3])(*lax.linalg.schur(s))
    if kind == 9 and n > 0:
        return lambda: (lambda a, t: [str(a.shape), str(t.shape), jnp.triu(jnp.abs(a), -1)])(*lax.linalg.hessenberg(s))
    if kind == 10 and n > 0:
        return lambda: (lambda a, *r: [str(a.shape), [jnp.abs(q) for q in r[:2]], str(r[2].shape)])(
            *lax.linalg.tridiagonal(h, lower=d.flag())
        )
    if kind == 11 and m >= n > 0:
        return lambda: lax.linalg.householder_product(x, x[..., 0, : min(m, n)] * 0.1)
    if kind == 12:
        lo, di, up = (d.array(batch + (max(n, 3),), dtype) for _ in range(3))
        b = d.array(batch + (max(n, 3), 2), dtype)
        return lambda: lax.linalg.tridiagonal_solve(lo, di + 5, up, b)
    return lambda: [jnp.linalg.slogdet(s), jnp.linalg.det(s), jnp.linalg.matrix_rank(x), jnp.linalg.pinv(x)]


def derivatives_of_decompositions(d):
    dtype = d.one(["float64", "complex128"])
    n = d.int(1, 5)
    s = d.array((n, n), dtype)
    t = d.array((n, n), dtype)
    eye = np.eye(n) * 3
    f = d.one(
        [
            lambda a: jnp.linalg.svd(a, full_matrices=False)[1],
            lambda a: jnp.linalg.eigh(a + jnp.conj(a.T))[0],
            lambda a: jnp.linalg.cholesky(a @ jnp.conj(a.T) + eye),
            lambda a: jnp.linalg.inv(a + eye),
            lambda a: jnp.linalg.slogdet(a + eye)[1],
            lambda a: lax.linalg.lu(a + eye)[0],
            lambda a: jnp.linalg.qr(a + eye)[1] ** 2,
            lambda a: jnp.linalg.eigvals(a).sum(),
            lambda a: jnp.linalg.pinv(a + eye),
            lambda a: jax.scipy.linalg.expm(a * 0.3),
            lambda a: jnp.linalg.matrix_power(a, -2) if n > 0 else a,
            lambda a: jnp.linalg.norm(a, 2),
        ]
    )
    return lambda: [jax.jvp(f, (s,), (t,)), jax.vjp(f, s)[1](f(s))]


def draws(d):
    dtype = d.one(FLOATS)
    key = jax.random.key(d.int(0, 1000), impl=d.one(["threefry2x32", "threefry2x32", "rbg", "unsafe_rbg"]))
    shape = d.one([(), (5,), (3, 4), (0,)])
    r = jax.random
    f = d.one(
        [
            lambda: r.uniform(key, shape, dtype, -1, 3),
            lambda: r.normal(key, shape, d.one(FLOATS + COMPLEX)),
            lambda: r.truncated_normal(key, -1.0, 2.0, shape, dtype),
            lambda: r.bernoulli(key, 0.3, shape),
            lambda: r.beta(key, 0.7, 2.0, shape, dtype),
            lambda: r.cauchy(key, shape, dtype),
            lambda: r.dirichlet(key, np.array([0.5, 1.0, 2.0], jnp.dtype(dtype)), shape, dtype),
            lambda: r.exponential(key, shape, dtype),
            lambda: r.gamma(key, d.one([0.2, 1.0, 10.0]), shape, dtype),
            lambda: r.loggamma(key, d.one([1e-3, 1.0, 10.0]), shape, dtype),
            lambda: r.gumbel(key, shape, dtype, mode=d.one(["low", "high"])),
            lambda: r.laplace(key, shape, dtype),
            lambda: r.logistic(key, shape, dtype),
            lambda: r.pareto(key, 2.0, shape, dtype),
            lambda: r.t(key, 3.0, shape, dtype),
            lambda: r.rayleigh(key, 2.0, shape, dtype),
            lambda: r.wald(key, 2.0, shape, dtype),
            lambda: r.weibull_min(key, 1.0, 2.0, shape, dtype),
            lambda: r.maxwell(key, shape, dtype),
            lambda: r.double_sided_maxwell(key, 0.0, 1.0, shape, dtype),
            lambda: r.generalized_normal(key, 1.5, shape, dtype),
            lambda: r.ball(key, 3, 2.0, shape, dtype),
            lambda: r.lognormal(key, 0.5, shape, dtype),
            lambda: r.triangular(key, 0.0, 0.5, 1.0, shape, dtype),
            lambda: r.chisquare(key, 3.0, shape=shape, dtype=dtype),
            lambda: r.f(key, 3.0, 4.0, shape=shape, dtype=dtype),
            lambda: r.randint(key, shape, -5, 100, d.one(INTS)),
            lambda: r.randint(key, shape, np.iinfo("int32").min, np.iinfo("int32").max, "int32"),
            lambda: r.bits(key, shape, d.one(INTS[4:])),
            lambda: r.categorical(key, d.array((3, 5), "float32"), axis=d.one([0, 1, -1]), mode=d.one(["low", "high"])),
            lambda: r.choice(key, np.arange(12).reshape(4, 3), (2,), replace=d.flag(), axis=d.int(0, 1)),
            lambda: r.choice(key, 6, (3,), replace=d.flag(), p=np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])),
            lambda: r.permutation(key, d.array((5, 3), "float32"), axis=d.int(0, 1), independent=d.flag()),
            lambda: r.binomial(key, 20.0, d.one([0.1, 0.5, 0.97]), shape, "float32"),
            lambda: r.geometric(key, 0.3, shape, d.one(["int32", "int64", "int16"])),
            lambda: r.rademacher(key, shape, d.one(INTS[:4] + FLOATS[:1])),
            lambda: r.multinomial(key, np.float32(12), np.ones(4, "float32") / 4, shape=(*shape, 4)),
            lambda: r.multivariate_normal(key, np.zeros(3), np.eye(3) + 0.5, shape, "float32", method="cholesky"),
            lambda: r.orthogonal(key, 3, shape, d.one(["float32", "float64", "complex64"])),
            lambda: r.split(key, d.one([3, (2, 2)])),
            lambda: r.fold_in(key, d.int(0, 9)),
        ]
    )
    return lambda: jax.jit(f)() if d.flag() else f()


def control(d):
    dtype = d.one(["float32", "int32", "float64", "complex64", "bool", "int8"])
    x = d.array((d.int(0, 5), 3), dtype)
    kind = d.int(0, 6)
    up = lambda c: c ^ True if dtype == "bool" else c + c
    if kind == 0:
        options = {"reverse": d.flag(), "unroll": d.one([1, 2, 3, True])}
        return lambda: lax.scan(lambda c, a: (up(c), (a, c)), x.sum(0).astype(dtype), x, **options)
    if kind == 1:
        return lambda: jax.vmap(
            lambda n, c: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, up(s[1])), (0, c))
        )(jnp.arange(3), jnp.asarray(np.resize(x, (3, 3))))
    if kind == 2:
        low, high = d.int(-3, 3), d.int(-3, 6)
        return lambda: lax.fori_loop(np.int8(low), np.int8(high), lambda i, c: up(c), jnp.asarray(x))
    if kind == 3:
        index = d.array((), d.one(["int32", "uint8", "int8", "bool"]))
        return lambda: jax.jit(lambda i, a: lax.switch(i, [up, lambda v: v, lambda v: v[::-1]], a))(
            index.astype("int32"), x
        )
    if kind == 4:
        return lambda: lax.associative_scan(
            (lambda a, b: a | b) if dtype == "bool" else (lambda a, b: a + b),
            jnp.asarray(x),
            reverse=d.flag(),
            axis=d.int(0, 1),
        )
    if kind == 5:
        return lambda: lax.map(up, jnp.asarray(x), batch_size=d.one([None, 1, 2]))
    return lambda: jax.vmap(lambda p, a: lax.cond(p, up, lambda v: v, a))(
        jnp.asarray(d.rng.rand(len(x)) < 0.5), jnp.asarray(x)
    )


def images(d):
    shape = [d.int(1, 8), d.int(1, 8)]
    dtype = d.one(["float32", "float64", "bfloat16", "int32", "uint8"])
    x = d.array(shape, dtype)
    to = [d.int(1, 11), d.int(1, 11)]
    method = d.one(["nearest", "linear", "cubic", "lanczos3", "lanczos5"])
    antialias = d.flag()
    if d.one([0, 0, 1]) and dtype[0] == "f":
        scale, move = d.array((2,), "float32") * 0.2 + 1, d.array((2,), "float32")
        return lambda: jax.image.scale_and_translate(x, to, (0, 1), scale, move, method.replace("nearest", "linear"))
    return lambda: jax.image.resize(x, to, method, antialias=antialias)


def cases():
    yield from cases_of(
        {
            f.__name__: f
            for f in (
                conversions,
                bits,
                shifts,
                arithmetic,
                scalars,
                transforms,
                einsums,
                precision,
                triangular,
                decompositions,
                derivatives_of_decompositions,
                draws,
                control,
                images,
            )
        }
    )
