"""Programs of search.py of the size that users of JAX write: models, simulations, solvers, image filters, sampling. Each is
a function of one array, which it takes its data and parameters from."""

import jax
import jax.numpy as jnp
from jax import lax, nn, random


def encoder(x):
    """A transformer's layer: attention with heads, layer norms, gelu."""
    w = x[:64, :64] * 0.1
    norm = lambda h: (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)
    h = norm(x[:, :64]).reshape(4, 64, 64)
    q, k, v = ((h @ (w + c)).reshape(4, 64, 4, 16) for c in (0.0, 0.1, 0.2))
    a = nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4.0, -1)
    h = h + jnp.einsum("bhqk,bkhd->bqhd", a, v).reshape(4, 64, 64) @ w
    return h + nn.gelu(norm(h) @ jnp.tile(w, (1, 4))) @ jnp.tile(w, (4, 1))


def mixed_precision(x):
    """A dense network's gradients in bf16 with f32 parameters, and an Adam step."""
    w1, w2, batch = x[:128, :128] * 0.1, x[128:, :128] * 0.1, x[:64, :128]

    def loss(p):
        h = nn.relu(batch.astype(jnp.bfloat16) @ p[0].astype(jnp.bfloat16))
        y = (h @ p[1].astype(jnp.bfloat16)).astype(jnp.float32)
        return -nn.log_softmax(y)[:, 0].mean()

    return adam((w1, w2), jax.grad(loss)((w1, w2)))


def adam(p, g):
    step = lambda p, g: (lambda m, v: p - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-8))(0.1 * g, 0.001 * g * g)
    return jax.tree.map(step, p, g)


def mlp_training(x):
    w1, w2, batch = x[:64, :64] * 0.1, x[64:128, :64] * 0.1, x[:32, :64]
    loss = lambda p: ((jnp.tanh(batch @ p[0]) @ p[1] - batch) ** 2).mean()
    return lax.fori_loop(0, 10, lambda _, p: adam(p, jax.grad(loss)(p)), (w1, w2))


def gru(x):
    xs, w, u = x.reshape(-1, 16, 64)[:32], x[:64, :64] * 0.1, x[64:128, :64] * 0.1

    def step(h, v):
        z, r = nn.sigmoid(v @ w + h @ u), nn.sigmoid(v @ u + h @ w)
        h = (1 - z) * h + z * jnp.tanh(v @ w + (r * h) @ u)
        return h, h

    return lax.scan(step, jnp.zeros((16, 64), x.dtype), xs)[1]


def gru_gradient(x):
    return jax.grad(lambda x: (gru(x) ** 2).sum())(x)


def state_space(x):
    """A diagonal recurrence by associative scan, as in linear recurrent units."""
    a, b = nn.sigmoid(x), x * 0.1
    return lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b))[1].sum(-1)


def sinkhorn(x):
    cost = ((x[:, None, :3] - x[None, :, 3:6]) ** 2).sum(-1)
    log_k = -cost / 0.5

    def step(_, s):
        f, g = s
        f = -jax.scipy.special.logsumexp(log_k + g[None], 1)
        return f, -jax.scipy.special.logsumexp(log_k + f[:, None], 0)

    zero = jnp.zeros(x.shape[0], x.dtype)
    return lax.fori_loop(0, 20, step, (zero, zero))


def hamiltonian(x):
    """A step of Hamiltonian Monte Carlo with leapfrog for a logistic regression."""
    data, labels = x[:, :16], (x[:, 16] > 0).astype(x.dtype)
    energy = lambda q: (nn.softplus(data @ q) - labels * (data @ q)).sum() + 0.5 * (q @ q)
    force = jax.grad(energy)

    def leap(_, s):
        q, p = s
        p = p - 0.005 * force(q)
        q = q + 0.01 * p
        return q, p - 0.005 * force(q)

    q, p = x[0, :16], x[1, :16]
    new_q, new_p = lax.fori_loop(0, 10, leap, (q, p))
    accept = jnp.exp(energy(q) - energy(new_q) + 0.5 * (p @ p - new_p @ new_p)) > 0.5
    return jnp.where(accept, new_q, q)


def gibbs_ising(x):
    key = random.wrap_key_data(jnp.stack([x.ravel()[0].astype(jnp.uint32), jnp.uint32(3)]))
    mask = (jnp.arange(64)[:, None] + jnp.arange(64)[None]) % 2 == 0

    def step(i, s):
        neighbours = jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)
        flip = random.uniform(random.fold_in(key, i), s.shape) < nn.sigmoid(0.8 * neighbours)
        return jnp.where(mask == (i % 2 == 0), jnp.where(flip, 1.0, -1.0), s)

    return lax.fori_loop(0, 10, step, jnp.sign(x[:64, :64]) + 0.0)


def ray_march(x):
    """Spheres' distance field, 24 steps for each pixel, and its normal."""
    u, v = jnp.meshgrid(jnp.linspace(-1, 1, 64), jnp.linspace(-1, 1, 64))
    ray = jnp.stack([u, v, jnp.ones_like(u)], -1)
    ray = (ray / jnp.linalg.norm(ray, axis=-1, keepdims=True)).astype(x.dtype)
    centers = x[:5, :3] * 0.5 + jnp.array([0.0, 0, 4])
    field = lambda p: jnp.min(jnp.linalg.norm(p[..., None, :] - centers, axis=-1) - 0.7, -1)
    t = lax.fori_loop(0, 24, lambda _, t: t + field(ray * t[..., None]), jnp.zeros((64, 64), x.dtype))
    normal = jax.grad(lambda p: field(p).sum())(ray * t[..., None])
    return jnp.where(t < 10, jnp.maximum(normal[..., 1], 0.0), 0.0)


def bilinear(x):
    """An image turned and sampled with bilinear weights."""
    i, j = jnp.meshgrid(jnp.arange(200.0), jnp.arange(200.0), indexing="ij")
    u, v = 0.8 * i - 0.6 * j + 90, 0.6 * i + 0.8 * j - 30
    u0, v0 = jnp.floor(u), jnp.floor(v)
    read = lambda a, b: x[jnp.clip(a, 0, 255).astype(int), jnp.clip(b, 0, 255).astype(int)]
    du, dv = u - u0, v - v0
    top = read(u0, v0) * (1 - dv) + read(u0, v0 + 1) * dv
    return top * (1 - du) + (read(u0 + 1, v0) * (1 - dv) + read(u0 + 1, v0 + 1) * dv) * du


def sobel(x):
    p = jnp.pad(x, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    return jnp.sqrt(gx * gx + gy * gy), jnp.arctan2(gy, gx)


def median_filter(x):
    p = jnp.pad(x, 1, mode="reflect")
    return jnp.median(jnp.stack([p[i : i + 256, j : j + 256] for i in range(3) for j in range(3)]), 0)


def separable_blur(x):
    w = jnp.exp(-0.5 * (jnp.arange(-4, 5) / 2.0) ** 2).astype(x.dtype)
    p = jnp.pad(x, 4)
    rows = sum(w[k] * p[k : k + 256] for k in range(9))
    return sum(w[k] * rows[:, k : k + 256] for k in range(9)) / w.sum() ** 2


def bitonic_sort(x):
    x = x.ravel()[:4096]
    n, k = x.size, 2
    while k <= n:
        j = k // 2
        while j:
            a = x.reshape(-1, 2, j)
            up = ((jnp.arange(n // 2 // j) * 2 * j) & k == 0)[:, None]
            low, high = jnp.minimum(a[:, 0], a[:, 1]), jnp.maximum(a[:, 0], a[:, 1])
            x = jnp.stack([jnp.where(up, low, high), jnp.where(up, high, low)], 1).ravel()
            j //= 2
        k *= 2
    return x


def sparse_matvec(x):
    """Conjugate gradient steps with a matrix in coordinates."""
    n, m = 2000, 16000
    rows = (jnp.arange(m) * 7919) % n
    columns = (jnp.arange(m) * 104729 + 3) % n
    values = jnp.abs(x.ravel()[:m]) * 0.01
    product = lambda v: 4 * v + jnp.zeros(n, x.dtype).at[rows].add(values * v[columns])

    def step(_, s):
        y, r, p = s
        q = product(p)
        alpha = (r @ r) / (p @ q)
        new = r - alpha * q
        return y + alpha * p, new, new + (new @ new) / (r @ r) * p

    b = x.ravel()[:n]
    return lax.fori_loop(0, 10, step, (jnp.zeros_like(b), b, b))[0]


def graph_network(x):
    nodes, senders, receivers = x, (jnp.arange(2000) * 31) % 256, (jnp.arange(2000) * 57) % 256
    w = x[:, :64].T[:, :256] * 0.05
    h = nodes[:, :64]
    for _ in range(2):
        m = nn.relu(jnp.concatenate([h[senders], h[receivers]], 1) @ jnp.concatenate([w, w], 0)[:, :64])
        total = jax.ops.segment_sum(m, receivers, 256)
        count = jax.ops.segment_sum(jnp.ones(2000, x.dtype), receivers, 256)
        h = h + total / jnp.maximum(count, 1)[:, None]
    return h


def graph_attention(x):
    h, senders, receivers = x[:, :32], (jnp.arange(2000) * 31) % 256, (jnp.arange(2000) * 57) % 256
    score = nn.leaky_relu((h[senders] * h[receivers]).sum(-1))
    score = jnp.exp(score - jax.ops.segment_max(score, receivers, 256)[receivers])
    weight = score / jax.ops.segment_sum(score, receivers, 256)[receivers]
    return jax.ops.segment_sum(weight[:, None] * h[senders], receivers, 256)


def nucleus_sampling(x):
    """Top-p sampling of a token for each row of logits."""
    key = random.wrap_key_data(jnp.stack([x.ravel()[0].astype(jnp.uint32), jnp.uint32(9)]))
    logits = jnp.concatenate([x, x[::-1]], 1)
    order = jnp.argsort(-logits, -1)
    ordered = jnp.take_along_axis(logits, order, -1)
    cumulative = jnp.cumsum(nn.softmax(ordered), -1)
    kept = jnp.where(cumulative - nn.softmax(ordered) < 0.9, ordered, -jnp.inf)
    choice = random.categorical(key, kept)
    return jnp.take_along_axis(order, choice[:, None], -1)[:, 0]


def top_k_sampling(x):
    key = random.wrap_key_data(jnp.stack([x.ravel()[0].astype(jnp.uint32), jnp.uint32(9)]))
    values, indices = lax.top_k(x / 0.7, 40)
    choice = jnp.argmax(values + random.gumbel(key, values.shape), -1)
    return jnp.take_along_axis(indices, choice[:, None], -1)


def decode(x):
    """Tokens one after the other with a cache of keys and values."""
    w, table = x[:64, :64] * 0.1, x[:, :64]

    def step(s, i):
        token, keys, values = s
        h = table[token]
        keys = lax.dynamic_update_slice(keys, (h @ w)[None], (i, 0))
        values = lax.dynamic_update_slice(values, (h @ w.T)[None], (i, 0))
        score = jnp.where(jnp.arange(64) <= i, keys @ (h @ w) / 8, -1e9)
        token = jnp.argmax(table @ (nn.softmax(score) @ values + h)).astype(jnp.int32)
        return (token, keys, values), token

    zeros = jnp.zeros((64, 64), x.dtype)
    return lax.scan(step, (jnp.int32(1), zeros, zeros), jnp.arange(64))[1]


def knapsack(x):
    weights = (jnp.abs(x.ravel()[:40]) * 10).astype(int) + 1
    values = jnp.abs(x.ravel()[40:80])

    def step(best, item):
        weight, value = item
        taken = jnp.where(jnp.arange(500) >= weight, jnp.roll(best, weight) + value, -jnp.inf)
        return jnp.maximum(best, taken), None

    return lax.scan(step, jnp.zeros(500, x.dtype), (weights, values))[0]


def smith_waterman(x):
    """Alignment by anti-diagonals."""
    a, b = jnp.sign(x[0, :128]), jnp.sign(x[1, :128])

    def step(s, k):
        one, two = s
        match = jnp.where(a == jnp.roll(b[::-1], k + 1), 2.0, -1.0).astype(x.dtype)
        best = jnp.maximum(jnp.roll(two, 1) + match, jnp.maximum(one, jnp.roll(one, 1)) - 1)
        best = jnp.maximum(best, 0)
        return (best, one), best.max()

    zero = jnp.zeros(128, x.dtype)
    return lax.scan(step, (zero, zero), jnp.arange(255))[1]


def forward_backward(x):
    """A hidden Markov model's likelihood and its gradient."""
    logits = x[:, :16]

    def likelihood(t):
        a = nn.log_softmax(t)
        step = lambda s, o: (jax.scipy.special.logsumexp(s[:, None] + a, 0) + o, None)
        return jax.scipy.special.logsumexp(lax.scan(step, logits[0], logits)[0])

    return jax.grad(likelihood)(x[:16, 16:32])


def particle_filter(x):
    key = random.wrap_key_data(jnp.stack([x.ravel()[0].astype(jnp.uint32), jnp.uint32(5)]))

    def step(s, i):
        noise, offset = random.split(random.fold_in(key, i))
        s = 0.9 * s + 0.3 * random.normal(noise, s.shape)
        w = jnp.cumsum(nn.softmax(-0.5 * (s - x[i, 0]) ** 2))
        place = (jnp.arange(512) + random.uniform(offset)) / 512
        return s[jnp.clip(jnp.searchsorted(w, place), 0, 511)], s.mean()

    return lax.scan(step, jnp.resize(x[:2], 512), jnp.arange(20))[1]


def nbody(x):
    def step(_, s):
        p, v = s
        d = p[None] - p[:, None]
        a = (d * ((d**2).sum(-1, keepdims=True) + 0.01) ** -1.5).sum(1) * 1e-3
        return p + 0.01 * v, v + 0.01 * a

    return lax.fori_loop(0, 5, step, (x[:200, :3], x[:200, 3:6]))


def fluid(x):
    """Advection and a pressure solve on a periodic grid."""
    u, v = x[:128, :128] * 0.1, x[128:, :128] * 0.1
    i, j = jnp.meshgrid(jnp.arange(128), jnp.arange(128), indexing="ij")

    def advect(a):
        p, q = i - u, j - v
        p0, q0 = jnp.floor(p).astype(int), jnp.floor(q).astype(int)
        fp, fq = p - p0, q - q0
        read = lambda s, t: a[s % 128, t % 128]
        return (read(p0, q0) * (1 - fq) + read(p0, q0 + 1) * fq) * (1 - fp) + (
            read(p0 + 1, q0) * (1 - fq) + read(p0 + 1, q0 + 1) * fq
        ) * fp

    div = jnp.roll(u, -1, 0) - jnp.roll(u, 1, 0) + jnp.roll(v, -1, 1) - jnp.roll(v, 1, 1)
    relax = lambda _, p: 0.25 * (
        jnp.roll(p, 1, 0) + jnp.roll(p, -1, 0) + jnp.roll(p, 1, 1) + jnp.roll(p, -1, 1) - 0.5 * div
    )
    p = lax.fori_loop(0, 20, relax, jnp.zeros_like(div))
    return advect(u) - p, advect(v) - p


def wave_fft(x):
    """A spectral step of the wave equation."""
    k = jnp.fft.fftfreq(256) * 6.283
    w = jnp.sqrt(k[:, None] ** 2 + k[None] ** 2)
    return jnp.fft.ifft2(jnp.fft.fft2(x) * jnp.exp(-1j * w * 0.3)).real


def gaussian_process(x):
    a, b, y = x[:128, :4], x[128:, :4], x[:128, 4]
    kernel = lambda p, q: jnp.exp(-0.5 * ((p[:, None] - q[None]) ** 2).sum(-1))
    c = jax.scipy.linalg.cho_factor(kernel(a, a) + 0.1 * jnp.eye(128), lower=True)
    cross = kernel(b, a)
    mean = cross @ jax.scipy.linalg.cho_solve(c, y)
    return mean, 1 - (cross * jax.scipy.linalg.cho_solve(c, cross.T).T).sum(1)


def kalman(x):
    f, h = jnp.eye(4) + 0.01 * x[:4, :4], x[:2, :4]

    def step(s, z):
        m, p = f @ s[0], f @ s[1] @ f.T + 0.1 * jnp.eye(4)
        g = jnp.linalg.solve(h @ p @ h.T + jnp.eye(2), h @ p).T
        return (m + g @ (z - h @ m), p - g @ h @ p), m

    return lax.scan(step, (jnp.zeros(4, x.dtype), jnp.eye(4, dtype=x.dtype)), x[:100, :2])[1]


def levenberg_marquardt(x):
    t, y = x[:, 0], x[:, 1]
    residual = lambda p: p[0] * jnp.exp(-jnp.abs(p[1]) * t) + p[2] * jnp.sin(p[3] * t) - y

    def step(_, p):
        j, r = jax.jacfwd(residual)(p), residual(p)
        return p - jnp.linalg.solve(j.T @ j + 0.1 * jnp.eye(4), j.T @ r)

    return lax.fori_loop(0, 5, step, jnp.ones(4, x.dtype))


def adaptive_ode(x):
    """Van der Pol oscillators with steps of their own size."""
    f = lambda y: jnp.stack([y[1], 2 * (1 - y[0] ** 2) * y[1] - y[0]])

    def step(s):
        t, h, y = s
        k1 = f(y)
        k2 = f(y + h * k1 / 2)
        k3 = f(y + 0.75 * h * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        error = jnp.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - f(new) / 8)).max()
        ok = error < 1e-3
        return (
            jnp.where(ok, t + h, t),
            h * jnp.clip(0.9 * (1e-3 / (error + 1e-9)) ** (1 / 3), 0.3, 2),
            jnp.where(ok, new, y),
        )

    return lax.while_loop(lambda s: s[0] < 3, step, (x[0, 0] * 0, x[0, 0] * 0 + 0.1, x[:2]))[2]


def projected_gradient(x):
    a, b = x[:, :64], x[:, 64]
    step = lambda _, w: (lambda v: jnp.sign(v) * jnp.maximum(jnp.abs(v) - 0.01, 0))(w - 0.001 * a.T @ (a @ w - b))
    return lax.fori_loop(0, 50, step, jnp.zeros(64, x.dtype))


def pagerank(x):
    links = (x[:200, :200] > 1).astype(x.dtype)
    transition = links / jnp.maximum(links.sum(0), 1)
    return lax.while_loop(
        lambda s: (s[1] < 50) & (s[2] > 1e-6),
        lambda s: (lambda r: (r, s[1] + 1, jnp.abs(r - s[0]).sum()))(0.85 * transition @ s[0] + 0.15 / 200),
        (jnp.full(200, 1 / 200, x.dtype), 0, jnp.ones((), x.dtype)),
    )[0]


def image_histogram(x):
    """Equalized values of an image."""
    level = jnp.clip((x + 3) * 42, 0, 255).astype(int)
    cdf = jnp.cumsum(jnp.zeros(256, x.dtype).at[level.ravel()].add(1))
    return (cdf / cdf[-1])[level]


def word_vectors(x):
    """A step of skip-gram with negative samples."""
    table = x[:, :64]
    center, context = (jnp.arange(512) * 7) % 256, (jnp.arange(512 * 5) * 11).reshape(512, 5) % 256

    def loss(t):
        score = jnp.einsum("bd,bkd->bk", t[center], t[context])
        return nn.softplus(-score[:, 0]).mean() + nn.softplus(score[:, 1:]).mean()

    return table - 0.1 * jax.grad(loss)(table)


def einsum_chain(x):
    a, b, c = x.reshape(16, 64, 64), x[:64, :32], x[:32, :64]
    return jnp.einsum("bij,jk,kl,bil->bi", a, b, c, a)


def mixture(x):
    """Steps of expectation maximization of a mixture of Gaussians."""
    data = x[:, :8]

    def step(_, s):
        mean, var, weight = s
        log = -0.5 * (((data[:, None] - mean) ** 2 / var) + jnp.log(var)).sum(-1) + jnp.log(weight)
        r = nn.softmax(log, -1)
        n = r.sum(0) + 1e-3
        mean = (r.T @ data) / n[:, None]
        return mean, (r.T @ data**2) / n[:, None] - mean**2 + 0.1, n / n.sum()

    return lax.fori_loop(0, 5, step, (data[:6], jnp.ones((6, 8), x.dtype), jnp.ones(6, x.dtype) / 6))


def quantized_dense(x):
    scale = jnp.abs(x).max(1, keepdims=True) / 127
    q = jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8)
    y = lax.dot_general(q, q, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32)
    return nn.relu(y.astype(x.dtype) * scale * scale.T)


def mixture_of_experts(x):
    h = x[:, :64]
    gate = nn.softmax(h @ x[:64, 64:72])
    weight, expert = lax.top_k(gate, 2)
    w = x.reshape(16, 64, 64)[:8] * 0.1
    mask = (nn.one_hot(expert, 8, dtype=x.dtype) * weight[..., None]).sum(1)
    return jnp.einsum("ne,nef->nf", mask, nn.relu(jnp.einsum("nd,edf->nef", h, w)))


def rotary_attention(x):
    q = x.reshape(2, 128, 4, 64)
    angle = jnp.arange(128.0)[:, None] * 10000.0 ** (-jnp.arange(0, 64, 2) / 64)
    cos, sin = jnp.cos(angle)[:, None].astype(x.dtype), jnp.sin(angle)[:, None].astype(x.dtype)
    a, b = q[..., ::2], q[..., 1::2]
    q = jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(q.shape)
    score = jnp.einsum("bqhd,bkhd->bhqk", q, q) / 8
    score = jnp.where(jnp.tril(jnp.ones((128, 128), bool)), score, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(score), q)


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        encoder, mixed_precision, mlp_training, gru, gru_gradient, state_space, sinkhorn, hamiltonian, gibbs_ising,
        ray_march, bilinear, sobel, median_filter, separable_blur, bitonic_sort, sparse_matvec, graph_network,
        graph_attention, nucleus_sampling, top_k_sampling, decode, knapsack, smith_waterman, forward_backward,
        particle_filter, nbody, fluid, wave_fft, gaussian_process, kalman, levenberg_marquardt, adaptive_ode,
        projected_gradient, pagerank, image_histogram, word_vectors, einsum_chain, mixture, quantized_dense,
        mixture_of_experts, rotary_attention,
    )
}  # fmt: skip
