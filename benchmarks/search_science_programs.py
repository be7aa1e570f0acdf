"""Programs of search.py: simulations, statistics, sampling, optimization and linear algebra, as users
write them in JAX. Each is a function of one array, which it takes its data and parameters from."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn, random


def whole(x, count, below):
    """Numbers from 0 up to below, from x."""
    return (jnp.abs(jnp.resize(x, (count,))) * 1000).astype(jnp.int32) % below


def positive(x, n, shift=1.0):
    """A symmetric positive definite matrix of n rows."""
    a = x[:n, :n]
    return a @ a.T / n + shift * jnp.eye(n, dtype=x.dtype)


def lattice_boltzmann(x):
    """Ten steps of a flow on a grid with nine directions and walls that bounce back."""
    cx, cy = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]
    w = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, x.dtype)
    opposite = jnp.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    wall = x[:128, :128] > 1.5

    def step(_, f):
        f = jnp.stack([jnp.roll(f[..., i], (cy[i], cx[i]), (0, 1)) for i in range(9)], -1)
        rho = f.sum(-1)
        ux = sum(f[..., i] * cx[i] for i in range(9)) / rho
        uy = sum(f[..., i] * cy[i] for i in range(9)) / rho
        cu = jnp.stack([3 * (cx[i] * ux + cy[i] * uy) for i in range(9)], -1)
        even = rho[..., None] * w * (1 + cu + 0.5 * cu**2 - 1.5 * (ux**2 + uy**2)[..., None])
        return jnp.where(wall[..., None], f[..., opposite], f - (f - even) / 0.6)

    return lax.fori_loop(0, 10, step, 1 + 0.01 * jnp.broadcast_to(x[:128, :128, None], (128, 128, 9)))


def maxwell(x):
    """Thirty steps of the electromagnetic field on a staggered grid with a source."""

    def step(i, s):
        e, hx, hy = s
        hx = hx.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
        hy = hy.at[:-1].add(0.5 * (e[1:] - e[:-1]))
        e = e.at[1:, 1:].add(0.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1]))
        return e.at[128, 128].add(jnp.sin(0.1 * i)), hx, hy

    return lax.fori_loop(0, 30, step, (x, x * 0, x * 0))


def heat_3d(x):
    laplace = lambda u: sum(jnp.roll(u, s, a) for a in range(3) for s in (1, -1)) - 6 * u
    return lax.fori_loop(0, 10, lambda _, u: u + 0.1 * laplace(u), x.reshape(16, 64, 64))


def shallow_water(x):
    def step(_, s):
        h, u, v = s
        dx = lambda a: 0.5 * (jnp.roll(a, -1, 1) - jnp.roll(a, 1, 1))
        dy = lambda a: 0.5 * (jnp.roll(a, -1, 0) - jnp.roll(a, 1, 0))
        u, v = u - 0.05 * (9.8 * dx(h) + u * dx(u) + v * dy(u)), v - 0.05 * (9.8 * dy(h) + u * dx(v) + v * dy(v))
        return h - 0.05 * (dx((h + 1) * u) + dy((h + 1) * v)), u, v

    return lax.fori_loop(0, 10, step, (0.01 * x, 0 * x, 0 * x))


def reaction_diffusion(x):
    def laplace(a):
        p = jnp.pad(a, 1, mode="wrap")
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * a

    def step(s, _):
        u, v = s
        r = u * v * v
        return (u + 0.16 * laplace(u) - r + 0.035 * (1 - u), v + 0.08 * laplace(v) + r - 0.1 * v), None

    return lax.scan(step, (1 - 0.1 * jnp.abs(x), 0.1 * jnp.abs(x)), None, length=20)[0]


def molecular_dynamics(x):
    """Five velocity-Verlet steps of 128 particles in a periodic box with a cutoff."""
    energy = lambda p: (
        lambda d: (lambda r2: jnp.where((r2 < 6.25) & (r2 > 0), 4 * (1 / r2**6 - 1 / r2**3), 0.0).sum())(
            jnp.where((d**2).sum(-1) == 0, 1e3, (d**2).sum(-1))
        )
    )((lambda d: d - 10 * jnp.round(d / 10))(p[:, None] - p[None]))
    p = jnp.stack(jnp.meshgrid(*[jnp.arange(8.0) * 1.2] * 2, jnp.arange(2.0) * 1.2), -1).reshape(128, 3).astype(x.dtype)
    force = lambda p: -jax.grad(energy)(p)

    def step(_, s):
        p, v, f = s
        p = p + 0.001 * v + 5e-7 * f
        g = force(p)
        return p, v + 0.0005 * (f + g), g

    return lax.fori_loop(0, 5, step, (p, x[:128, :3], force(p)))[:2]


def smoothed_particles(x):
    p, v = x[:, :2] * 3, x[:, 2:4]

    def step(_, s):
        p, v = s
        d = p[:, None] - p[None]
        r = jnp.sqrt((d**2).sum(-1) + 1e-9)
        rho = (jnp.maximum(1 - r, 0) ** 3).sum(1)
        pressure = 2 * (rho - 1)
        push = (pressure[:, None] + pressure[None]) / (2 * rho[None]) * jnp.maximum(1 - r, 0) ** 2 / r
        v = v + 0.01 * (d * push[..., None]).sum(1)
        return p + 0.01 * v, v

    return lax.fori_loop(0, 5, step, (p, v))


def option_pricing(x):
    """Paths of geometric Brownian motion and an option on their mean, with its sensitivities."""
    key = random.key(7)

    def price(p):
        spot, vol, rate = p
        z = random.normal(key, (2048, 32), x.dtype)
        paths = spot * jnp.exp(jnp.cumsum((rate - 0.5 * vol**2) / 32 + vol * jnp.sqrt(1 / 32) * z, 1))
        return jnp.exp(-rate) * jnp.maximum(paths.mean(1) - 1.0, 0).mean()

    return jax.value_and_grad(price)(1 + 0.1 * jnp.abs(x[0, :3]))


def tridiagonal(x):
    """The Thomas algorithm for 256 systems, by two scans."""
    a, b, c, d = 0.1 * x, 4 + jnp.abs(x), 0.1 * x[::-1], x.T

    def forward(s, t):
        a, b, c, d = t
        m = b - a * s[0]
        out = (c / m, (d - a * s[1]) / m)
        return out, out

    zero = jnp.zeros(256, x.dtype)
    _, (cp, dp) = lax.scan(forward, (zero, zero), (a, b, c, d))
    return lax.scan(lambda s, t: ((t[1] - t[0] * s,) * 2), zero, (cp, dp), reverse=True)[1]


def extended_kalman(x):
    """A filter whose motion is not linear, with Jacobians by differentiation."""
    move = lambda s: jnp.stack([s[0] + 0.1 * s[2], s[1] + 0.1 * s[3], 0.99 * s[2] - 0.1 * jnp.sin(s[0]), 0.99 * s[3]])
    see = lambda s: jnp.stack([jnp.sqrt(s[0] ** 2 + s[1] ** 2 + 1), s[1]])
    eye = jnp.eye(4, dtype=x.dtype)

    def step(s, z):
        m, p = s
        f = jax.jacfwd(move)(m)
        m, p = move(m), f @ p @ f.T + 0.01 * eye
        h = jax.jacfwd(see)(m)
        k = jnp.linalg.solve(h @ p @ h.T + 0.1 * jnp.eye(2, dtype=x.dtype), h @ p).T
        return (m + k @ (z - see(m)), (eye - k @ h) @ p), m

    return lax.scan(step, (jnp.ones(4, x.dtype), eye), x[:100, :2])[1]


def smoother(x):
    """Rauch, Tung and Striebel's smoother for 32 series at once."""
    f = jnp.array([[1, 0.1], [0, 1]], x.dtype)

    def one(z):
        def forward(s, z):
            m, p = f @ s[0], f @ s[1] @ f.T + 0.01 * jnp.eye(2, dtype=x.dtype)
            k = p[:, 0] / (p[0, 0] + 0.5)
            new = (m + k * (z - m[0]), p - jnp.outer(k, p[0]))
            return new, (new, (m, p))

        def back(s, t):
            (m, p), (mp, pp) = t
            g = p @ f.T @ jnp.linalg.inv(pp)
            new = (m + g @ (s[0] - mp), p + g @ (s[1] - pp) @ g.T)
            return new, new[0]

        last, kept = lax.scan(forward, (jnp.zeros(2, x.dtype), jnp.eye(2, dtype=x.dtype)), z)
        return lax.scan(back, last, kept, reverse=True)[1]

    return jax.vmap(one)(x[:32, :50])


def expectation_maximization(x):
    """Ten iterations of a mixture of five Gaussians with full covariances."""
    data = x[:, :4]

    def step(_, s):
        mean, cov, weight = s
        low = jnp.linalg.cholesky(cov)
        z = jax.vmap(lambda m, l: jsp.linalg.solve_triangular(l, (data - m).T, lower=True))(mean, low)
        log_p = -0.5 * (z**2).sum(1) - jnp.log(jnp.diagonal(low, axis1=1, axis2=2)).sum(1)[:, None]
        r = nn.softmax(log_p + jnp.log(weight)[:, None], 0)
        n = r.sum(1)
        mean = r @ data / n[:, None]
        d = data - mean[:, None]
        cov = jnp.einsum("kn,kni,knj->kij", r, d, d) / n[:, None, None] + 0.01 * jnp.eye(4, dtype=x.dtype)
        return mean, cov, n / n.sum()

    start = (data[:5], jnp.tile(jnp.eye(4, dtype=x.dtype), (5, 1, 1)), jnp.full(5, 0.2, x.dtype))
    return lax.fori_loop(0, 10, step, start)


def baum_welch(x):
    """Forward and backward passes in logarithms over 100 steps, and the counts of transitions."""
    log_a, emit = nn.log_softmax(x[:16, :16]), nn.log_softmax(x[:100, 16:32])

    def forward(a, e):
        a = jsp.special.logsumexp(a[:, None] + log_a, 0) + e
        return a, a

    def backward(b, e):
        b = jsp.special.logsumexp(log_a + (e + b)[None], 1)
        return b, b

    _, alpha = lax.scan(forward, emit[0], emit[1:])
    _, beta = lax.scan(backward, jnp.zeros(16, x.dtype), emit[1:], reverse=True)
    both = alpha[:-1, :, None] + log_a + (emit[2:] + beta[1:])[:, None]
    return nn.softmax(both.reshape(98, -1)).sum(0).reshape(16, 16)


def independent_components(x):
    """Whitening by an eigendecomposition and ten fixed-point iterations."""
    data = x[:, :8] - x[:, :8].mean(0)
    value, vector = jnp.linalg.eigh(data.T @ data / 256 + 0.01 * jnp.eye(8, dtype=x.dtype))
    white = data @ vector / jnp.sqrt(value)

    def step(_, w):
        g = jnp.tanh(white @ w)
        w = white.T @ g / 256 - w * (1 - g**2).mean(0)
        u, _, v = jnp.linalg.svd(w, full_matrices=False)
        return u @ v

    return jnp.abs(lax.fori_loop(0, 10, step, jnp.eye(8, dtype=x.dtype)))


def randomized_svd(x):
    q = jnp.linalg.qr(x @ random.normal(random.key(1), (256, 20), x.dtype))[0]
    for _ in range(2):
        q = jnp.linalg.qr(x @ (x.T @ q))[0]
    return jnp.linalg.svd(q.T @ x, full_matrices=False)[1]


def matrix_factors(x):
    """Twenty multiplicative updates of a factorization into nonnegative parts."""
    v = jnp.abs(x)

    def step(_, s):
        w, h = s
        h = h * (w.T @ v) / (w.T @ w @ h + 1e-6)
        return w * (v @ h.T) / (w @ h @ h.T + 1e-6), h

    return lax.fori_loop(0, 20, step, (v[:, :16], v[:16]))


def nearest_neighbours(x):
    points, queries = x.reshape(4096, 16), x[:128, :16] + 0.1
    d = (queries**2).sum(1)[:, None] - 2 * queries @ points.T + (points**2).sum(1)
    distance, index = lax.top_k(-d, 5)
    return distance, (index % 7).sum(1)


def neighbour_embedding(x):
    """The gradient of t-SNE: affinities of the data, Student's kernel in the plane."""
    d2 = ((x[:, None, :10] - x[None, :, :10]) ** 2).sum(-1)
    p = nn.softmax(-d2 - 1e9 * jnp.eye(256, dtype=x.dtype))
    p = (p + p.T) / 512

    def divergence(y):
        q = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(-1)) * (1 - jnp.eye(256, dtype=x.dtype))
        return (p * (jnp.log(p + 1e-12) - jnp.log(q / q.sum() + 1e-12))).sum()

    return lax.fori_loop(0, 3, lambda _, y: y - 10 * jax.grad(divergence)(y), x[:, :2])


def marginal_likelihood(x):
    """A Gaussian process's likelihood and its gradient by its parameters."""
    inputs, y = x[:128, :3], x[:128, 3]
    d2 = ((inputs[:, None] - inputs[None]) ** 2).sum(-1)

    def loss(p):
        k = jnp.exp(p[0]) * jnp.exp(-0.5 * d2 * jnp.exp(p[1])) + (jnp.exp(p[2]) + 1e-3) * jnp.eye(128, dtype=x.dtype)
        low = jnp.linalg.cholesky(k)
        a = jsp.linalg.solve_triangular(low, y, lower=True)
        return 0.5 * (a @ a) + jnp.log(jnp.diag(low)).sum()

    return jax.value_and_grad(loss)(x[0, :3] * 0.1)


def langevin(x):
    data, y, key = x[:, :8], (x[:, 8] > 0).astype(x.dtype), random.key(2)
    log_p = lambda w: (y * nn.log_sigmoid(data @ w) + (1 - y) * nn.log_sigmoid(-data @ w)).sum() - 0.5 * w @ w

    def step(w, i):
        w = w + 0.001 * jax.grad(log_p)(w) + 0.04 * random.normal(random.fold_in(key, i), (8,), x.dtype)
        return w, w

    return lax.scan(step, jnp.zeros(8, x.dtype), jnp.arange(100))[1]


def parallel_tempering(x):
    """Eight chains at several temperatures, 50 steps, neighbours exchanged."""
    key, heat = random.key(4), 1.5 ** jnp.arange(8).astype(x.dtype)
    energy = lambda q: ((q**2 - 1) ** 2).sum(-1) + 0.1 * (q[..., 1:] * q[..., :-1]).sum(-1)

    def step(q, i):
        a, b, c = random.split(random.fold_in(key, i), 3)
        new = q + 0.3 * random.normal(a, q.shape, q.dtype)
        q = jnp.where((jnp.log(random.uniform(b, (8,), q.dtype)) < (energy(q) - energy(new)) / heat)[:, None], new, q)
        other = jnp.arange(8) ^ (1 + (i % 2) * 2)
        gain = (1 / heat - 1 / heat[other]) * (energy(q) - energy(q[other]))
        u = random.uniform(c, (8,), q.dtype)
        return jnp.where((jnp.log(jnp.minimum(u, u[other])) < gain)[:, None], q[other], q), energy(q)

    return lax.scan(step, x[:8, :16], jnp.arange(50))[1]


def limited_memory(x):
    """The two-loop recursion with ten pairs, fifteen iterations on a quartic."""
    value = lambda w: ((x[:64, :64] @ w - x[:64, 64]) ** 2).mean() + 0.1 * (w**4).sum()

    def step(s, i):
        w, g, past_s, past_y = s

        def back(c, t):
            q = c
            sv, yv = t
            rho = 1 / jnp.where(sv @ yv == 0, 1e9, sv @ yv)
            a = rho * (sv @ q)
            return q - a * yv, (a, rho)

        q, (a, rho) = lax.scan(back, g, (past_s, past_y), reverse=True)
        q, _ = lax.scan(lambda q, t: (q + (t[2] - t[3] * (t[1] @ q)) * t[0], None), q, (past_s, past_y, a, rho))
        new = w - 0.1 * q
        grad = jax.grad(value)(new)
        past_s = jnp.roll(past_s, -1, 0).at[-1].set(new - w)
        return (new, grad, past_s, jnp.roll(past_y, -1, 0).at[-1].set(grad - g)), value(new)

    w, zero = x[0, :64] * 0.1, jnp.zeros((10, 64), x.dtype)
    return lax.scan(step, (w, jax.grad(value)(w), zero, zero), None, length=15)[1]


def lasso(x):
    """Fifty accelerated proximal steps."""
    a, b = x[:, :64] / 16, x[:, 64]

    def step(_, s):
        w, z, t = s
        v = z - 0.3 * a.T @ (a @ z - b)
        new = jnp.sign(v) * jnp.maximum(jnp.abs(v) - 0.01, 0)
        after = 0.5 * (1 + jnp.sqrt(1 + 4 * t * t))
        return new, new + (t - 1) / after * (new - w), after

    return lax.fori_loop(0, 50, step, (b[:64] * 0, b[:64] * 0, jnp.ones((), x.dtype)))[0]


def interior_point(x):
    """Newton steps along a central path of a quadratic program with 32 bounds."""
    q, c = positive(x, 32), x[0, :32]

    def step(i, w):
        mu = 0.7**i
        g = q @ w + c - mu / w
        h = q + jnp.diag(mu / w**2)
        d = jnp.linalg.solve(h, -g)
        longest = jnp.min(jnp.where(d < 0, -0.95 * w / d, 1.0))
        return w + jnp.minimum(longest, 1.0) * d

    return lax.fori_loop(0, 20, step, jnp.ones(32, x.dtype))


def evolution(x):
    """A covariance-free evolution strategy, 20 generations of 64."""
    key = random.key(11)

    def step(s, i):
        m, sigma = s
        z = random.normal(random.fold_in(key, i), (64, 20), x.dtype)
        f = (((m + sigma * z) ** 2 - 1) ** 2).sum(1)
        best = jnp.argsort(f)[:16]
        return (m + sigma * z[best].mean(0), sigma * jnp.exp(0.1 * ((z[best] ** 2).mean() - 1))), f.min()

    return lax.scan(step, (x[0, :20], jnp.ones((), x.dtype)), jnp.arange(20))[1]


def finite_elements(x):
    """Stiffness of 2,048 triangles, assembled, and ten steps of conjugate gradients without a matrix."""
    nodes = jnp.resize(x, (1024, 2)) + jnp.arange(1024.0)[:, None].astype(x.dtype)
    cells = jnp.stack([whole(x[i:], 2048, 1024) for i in (0, 50, 99)], -1)
    a, b, c = (nodes[cells[:, i]] for i in range(3))
    area = jnp.abs(jnp.cross(b - a, c - a)) / 2 + 1
    g = jnp.stack([b - c, c - a, a - b], 1)
    k = jnp.einsum("eid,ejd->eij", g, g) / (4 * area)[:, None, None]

    def product(u):
        return u + jnp.zeros_like(u).at[cells].add(jnp.einsum("eij,ej->ei", k, u[cells]))

    return jsp.sparse.linalg.cg(product, jnp.resize(x, (1024,)), maxiter=10)[0]


def bundle_adjustment(x):
    """A Gauss-Newton step for six parameters of 32 cameras, Jacobians by differentiation."""
    points = x[:64, :3] + jnp.array([0, 0, 6.0], x.dtype)

    def view(c):
        k = jnp.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]], x.dtype) * c[0]
        k = k + jnp.array([[0, 0, 1], [0, 0, 0], [-1, 0, 0]], x.dtype) * c[1]
        p = points + points @ k.T + c[3:]
        return (p[:, :2] / p[:, 2:] - x[64:128, :2]).ravel()

    def step(c):
        j, r = jax.jacfwd(view)(c), view(c)
        return c - jnp.linalg.solve(j.T @ j + 0.1 * jnp.eye(6, dtype=x.dtype), j.T @ r)

    return jax.vmap(step)(x[128:160, :6] * 0.1)


def bootstrap(x):
    """Quantiles of the means and medians of 200 samples with replacement."""
    data = x[0]
    pick = random.randint(random.key(9), (200, 256), 0, 256)
    sample = data[pick]
    return jnp.quantile(sample.mean(1), jnp.array([0.025, 0.975])), jnp.median(sample, 1).std()


def rank_correlation(x):
    rank = lambda v: jnp.argsort(jnp.argsort(v, 0), 0).astype(x.dtype)
    a = rank(x[:, :32])
    a = a - a.mean(0)
    return a.T @ a / jnp.sqrt(jnp.outer((a**2).sum(0), (a**2).sum(0)))


def exponential_smoothing(x):
    """Holt and Winters' method with seasons of twelve for 256 series, and its error's gradient."""

    def error(p):
        alpha, beta, gamma = nn.sigmoid(p)

        def step(s, v):
            level, trend, season = s
            seen = level + trend + season[0]
            new = alpha * (v - season[0]) + (1 - alpha) * (level + trend)
            trend = beta * (new - level) + (1 - beta) * trend
            season = jnp.concatenate([season[1:], (gamma * (v - new) + (1 - gamma) * season[0])[None]])
            return (new, trend, season), (seen - v) ** 2

        zero = jnp.zeros(256, x.dtype)
        return lax.scan(step, (zero, zero, jnp.zeros((12, 256), x.dtype)), x[:96])[1].mean()

    return jax.grad(error)(x[0, :3])


def survival(x):
    """Cox's partial likelihood with its gradient and Hessian."""
    order = jnp.argsort(-x[:, 20])
    data, event = x[order][:, :8], (x[order][:, 21] > 0).astype(x.dtype)
    loss = lambda w: -(event * (data @ w - lax.cumlogsumexp(data @ w))).mean()
    return jax.grad(loss)(x[0, :8]), jax.hessian(loss)(x[0, :8])


def spectral_clustering(x):
    a = jnp.exp(-((x[:96, None, :4] - x[None, :96, :4]) ** 2).sum(-1))
    d = 1 / jnp.sqrt(a.sum(1))
    return jnp.abs(jnp.linalg.eigh(a * d[:, None] * d[None])[1][:, -4:])


def alternating_squares(x):
    """Three sweeps of matrix factorization with a small system solved for each row and column."""
    mask = (jnp.abs(x) > 0.5).astype(x.dtype)
    eye = 0.1 * jnp.eye(8, dtype=x.dtype)

    def solve(r, m, f):
        return jax.vmap(lambda r, m: jnp.linalg.solve((f * m[:, None]).T @ f + eye, f.T @ (r * m)))(r, m)

    def sweep(_, s):
        u = solve(x, mask, s[1])
        return u, solve(x.T, mask.T, u)

    return lax.fori_loop(0, 3, sweep, (x[:, :8], x[:, 8:16]))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        lattice_boltzmann, maxwell, heat_3d, shallow_water, reaction_diffusion, molecular_dynamics, smoothed_particles,
        option_pricing, tridiagonal, extended_kalman, smoother,
        expectation_maximization, baum_welch, independent_components, randomized_svd, matrix_factors,
        nearest_neighbours, neighbour_embedding, marginal_likelihood, langevin, parallel_tempering, limited_memory,
        lasso, interior_point, evolution, finite_elements, bundle_adjustment, bootstrap, rank_correlation,
        exponential_smoothing, survival, spectral_clustering, alternating_squares,
    )
}  # fmt: skip
