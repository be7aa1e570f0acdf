"""Programs of search.py: control, finance, quantum mechanics, sparse matrices, graphs and codes, as users write them in
JAX. Each is a function of one array, which it takes its data and parameters from."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn, random

from search_science_programs import positive, whole


def quantum_circuit(x):
    """Rotations of ten qubits and controlled gates between neighbours, in three layers, and the mean of a spin."""
    qubits = 10
    angles = x[:3, :qubits]

    def gate(state, u, q):
        state = jnp.moveaxis(state.reshape((2,) * qubits), q, 0)
        return jnp.moveaxis(jnp.tensordot(u, state, ((1,), (0,))), 0, q)

    state = jnp.zeros(2**qubits, jnp.result_type(x, jnp.complex64)).at[0].set(1)
    for layer in range(3):
        for q in range(qubits):
            c, s = jnp.cos(angles[layer, q] / 2), jnp.sin(angles[layer, q] / 2)
            state = gate(state, jnp.array([[c, -1j * s], [-1j * s, c]]), q)
        for q in range(qubits - 1):
            sign = jnp.where(
                (jnp.arange(2**qubits) >> (qubits - 1 - q) & 1) * (jnp.arange(2**qubits) >> (qubits - 2 - q) & 1), -1, 1
            )
            state = (state.reshape(-1) * sign).reshape((2,) * qubits)
    p = jnp.abs(state.reshape(2, -1)) ** 2
    return p[0].sum() - p[1].sum()


def quantum_gradient(x):
    return jax.grad(lambda y: quantum_circuit(y).astype(x.dtype))(x)[:3, :10]


def schroedinger(x):
    """Fifty split steps of a wave packet in a potential, by transforms."""
    n = 1024
    k = 2 * jnp.pi * jnp.fft.fftfreq(n, 0.1).astype(x.dtype)
    at = jnp.linspace(-50, 50, n).astype(x.dtype)
    kinetic, potential = jnp.exp(-0.005j * k**2), jnp.exp(-0.01j * (0.01 * at**2 + 0.1 * x.reshape(-1)[:n]))
    wave = jnp.exp(-(at**2) / 8 + 1j * at)
    return lax.fori_loop(0, 50, lambda _, w: jnp.fft.ifft(kinetic * jnp.fft.fft(potential * w)), wave)


def density_matrix(x):
    """A Lindblad equation of a system of 16 levels by Runge and Kutta's method."""
    h = (x[:16, :16] + x[:16, :16].T).astype(jnp.result_type(x, jnp.complex64))
    l = jnp.diag(jnp.sqrt(jnp.arange(1.0, 16)), 1).astype(h.dtype)
    ll = l.conj().T @ l

    def rate(r):
        return -1j * (h @ r - r @ h) + 0.1 * (l @ r @ l.conj().T - 0.5 * (ll @ r + r @ ll))

    def step(_, r):
        a = rate(r)
        b = rate(r + 0.005 * a)
        c = rate(r + 0.005 * b)
        return r + 0.01 / 6 * (a + 2 * b + 2 * c + rate(r + 0.01 * c))

    return lax.fori_loop(0, 50, step, jnp.zeros((16, 16), h.dtype).at[3, 3].set(1))


def ising(x):
    """Twenty checkerboard sweeps of a magnet."""
    parity = (jnp.arange(256)[:, None] + jnp.arange(256)) % 2

    def sweep(i, s):
        for color in (0, 1):
            around = sum(jnp.roll(s, d, a) for a in (0, 1) for d in (1, -1))
            u = random.uniform(random.fold_in(random.key(7), 2 * i + color), s.shape, x.dtype)
            s = jnp.where((parity == color) & (u < jnp.exp(-0.88 * s * around)), -s, s)
        return s

    return lax.fori_loop(0, 20, sweep, jnp.where(x > 0, 1, -1).astype(x.dtype))


def life(x):
    """A hundred generations of Conway's game."""

    def step(_, b):
        n = sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((n == 3) | ((b == 1) & (n == 2))).astype(b.dtype)

    return lax.fori_loop(0, 100, step, (x > 0).astype(jnp.uint8))


def elementary_automaton(x):
    """Rule 110 for 256 generations, all of which are kept."""

    def step(row, _):
        code = 4 * jnp.roll(row, 1) + 2 * row + jnp.roll(row, -1)
        row = (110 >> code) & 1
        return row, row

    return lax.scan(step, (x.reshape(-1)[:1024] > 0).astype(jnp.int32), None, 256)[1]


def unscented_kalman(x):
    """Sigma points of a state of five numbers through 60 measurements of range and bearing."""
    n, q, r = 5, 0.01 * jnp.eye(5, dtype=x.dtype), 0.1 * jnp.eye(2, dtype=x.dtype)
    w = jnp.concatenate([jnp.array([0.4]), jnp.full(2 * n, 0.06)]).astype(x.dtype)

    def points(m, p):
        c = jnp.linalg.cholesky(p * 5)
        return jnp.concatenate([m[None], m + c.T, m - c.T])

    def move(s):
        a, b, v, h, t = s
        return jnp.stack([a + 0.1 * v * jnp.cos(h), b + 0.1 * v * jnp.sin(h), v, h + 0.1 * t, t])

    def see(s):
        return jnp.stack([jnp.sqrt(s[0] ** 2 + s[1] ** 2 + 1e-3), jnp.arctan2(s[1], s[0] + 5)])

    def step(state, z):
        m, p = state
        s = jax.vmap(move)(points(m, p))
        m = w @ s
        p = (w[:, None] * (s - m)).T @ (s - m) + q
        s = points(m, p)
        y = jax.vmap(see)(s)
        mean = w @ y
        innovation = (w[:, None] * (y - mean)).T @ (y - mean) + r
        gain = (w[:, None] * (s - m)).T @ (y - mean) @ jnp.linalg.inv(innovation)
        m = m + gain @ (z - mean)
        return (m, p - gain @ innovation @ gain.T), m

    return lax.scan(step, (x[0, :5], jnp.eye(5, dtype=x.dtype)), x[:60, :2])[1]


def particle_filter(x):
    """A thousand particles through 50 measurements with systematic resampling."""

    def step(state, z):
        p, key = state
        key, a, b = random.split(key, 3)
        p = 0.9 * p + 0.3 * random.normal(a, p.shape, x.dtype)
        logs = -((jnp.sin(p) - z) ** 2) / 0.1
        w = nn.softmax(logs)
        u = (jnp.arange(1000) + random.uniform(b, (), x.dtype)) / 1000
        p = p[jnp.clip(jnp.searchsorted(jnp.cumsum(w), u), 0, 999)]
        return (p, key), p.mean()

    return lax.scan(step, (jnp.resize(x, (1000,)), random.key(3)), x[0, :50])[1]


def linear_quadratic(x):
    """The gains of a regulator by a backward Riccati recursion over 80 steps, and the trajectory forwards."""
    a, b = jnp.eye(8, dtype=x.dtype) + 0.05 * x[:8, :8], 0.3 * x[8:16, :3]

    def back(p, _):
        k = jnp.linalg.solve(jnp.eye(3, dtype=x.dtype) + b.T @ p @ b, b.T @ p @ a)
        return jnp.eye(8, dtype=x.dtype) + a.T @ p @ (a - b @ k), k

    gains = lax.scan(back, jnp.eye(8, dtype=x.dtype), None, 80)[1]
    return lax.scan(lambda s, k: (lambda t: (t, t))(a @ s - b @ (k @ s)), x[20, :8], gains[::-1])[1]


def path_integral_control(x):
    """256 rollouts of a pendulum on a cart over 40 steps, weighted by their costs."""
    noise = random.normal(random.key(1), (256, 40), x.dtype)

    def roll(u):
        def step(s, a):
            p, v, t, w = s
            c, n = jnp.cos(t), jnp.sin(t)
            acc = (a + 0.1 * w**2 * n - 0.98 * n * c) / (1.1 - 0.1 * c**2)
            s = jnp.stack([p + 0.05 * v, v + 0.05 * acc, t + 0.05 * w, w + 0.05 * (9.8 * n - acc * c)])
            return s, s[0] ** 2 + 10 * (1 - jnp.cos(s[2])) + 0.01 * a**2

        return lax.scan(step, jnp.array([0, 0, 0.3, 0], x.dtype), u)[1].sum()

    mean = x[0, :40]
    cost = jax.vmap(roll)(mean + noise)
    return mean + nn.softmax(-cost) @ noise


def inverse_dynamics(x):
    """Torques of 512 chains of six joints by Newton and Euler's recursion with rotation matrices."""

    def rotation(t, axis):
        k = jnp.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]], x.dtype)
        return jnp.eye(3, dtype=x.dtype) + jnp.sin(t) * k + (1 - jnp.cos(t)) * (k @ k)

    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    arm = jnp.array([0.3, 0, 0.1], x.dtype)

    def torques(q, v, a):
        w, dw, acc, kept = jnp.zeros(3, x.dtype), jnp.zeros(3, x.dtype), jnp.array([0, 0, 9.8], x.dtype), []
        for i, axis in enumerate(axes):
            r, z = rotation(q[i], axis), jnp.array(axis, x.dtype)
            w, dw = r.T @ w + v[i] * z, r.T @ dw + jnp.cross(r.T @ w, v[i] * z) + a[i] * z
            acc = r.T @ acc + jnp.cross(dw, arm) + jnp.cross(w, jnp.cross(w, arm))
            kept.append((r, z, 2.0 * acc, 0.1 * dw + jnp.cross(w, 0.1 * w)))
        f = n = jnp.zeros(3, x.dtype)
        out = []
        for i in reversed(range(6)):
            _, z, force, moment = kept[i]
            r = kept[i + 1][0] if i < 5 else jnp.eye(3, dtype=x.dtype)
            n = r @ n + moment + jnp.cross(arm, force) + jnp.cross(arm, r @ f)
            f = r @ f + force
            out.append(n @ z)
        return jnp.stack(out)

    q = x.reshape(-1)[: 512 * 18].reshape(3, 512, 6)
    return jax.vmap(torques)(q[0], q[1], q[2])


def stochastic_volatility(x):
    """Heston's model, 4,096 paths of 64 steps, and the price of a call at 16 strikes."""
    z = random.normal(random.key(5), (64, 2, 4096), x.dtype)

    def step(s, z):
        l, v = s
        root = jnp.sqrt(jnp.maximum(v, 0) / 64)
        l = l - v / 128 + root * z[0]
        v = jnp.abs(v + 1.5 * (0.04 - v) / 64 + 0.3 * root * (-0.7 * z[0] + 0.714 * z[1]))
        return (l, v), None

    l, _ = lax.scan(step, (jnp.zeros(4096, x.dtype), jnp.full(4096, 0.04, x.dtype)), z)[0]
    return jnp.maximum(jnp.exp(l) - jnp.linspace(0.8, 1.2, 16).astype(x.dtype)[:, None], 0).mean(1)


def implied_volatility(x):
    """Newton's method for 16,384 options at once."""
    strike, price = 0.8 + 0.2 * jnp.abs(x.reshape(-1)[:16384]), 0.3 + 0.02 * x.reshape(-1)[16384:32768]

    def step(_, s):
        d = (-jnp.log(strike) + s**2 / 2) / s
        value = jsp.stats.norm.cdf(d) - strike * jsp.stats.norm.cdf(d - s)
        return jnp.clip(s - (value - price) / jnp.maximum(jsp.stats.norm.pdf(d), 1e-3), 0.01, 3)

    return lax.fori_loop(0, 8, step, jnp.full(16384, 0.5, x.dtype))


def american_by_regression(x):
    """Longstaff and Schwartz's method: 2,048 paths, 30 dates, a cubic in each."""
    z = random.normal(random.key(2), (30, 2048), x.dtype)
    paths = jnp.exp(jnp.cumsum(-0.001 + 0.05 * z, 0))

    def back(value, s):
        basis = jnp.stack([jnp.ones_like(s), s, s**2, s**3], 1)
        weight = (s < 1).astype(s.dtype)
        gram = basis.T @ (weight[:, None] * basis) + 1e-3 * jnp.eye(4, dtype=s.dtype)
        keep = basis @ jnp.linalg.solve(gram, basis.T @ (weight * value))
        return jnp.where((s < 1) & (1 - s > keep), 1 - s, 0.999 * value), None

    return lax.scan(back, jnp.maximum(1 - paths[-1], 0), paths[-2::-1])[0].mean()


def limit_orders(x):
    """A book of 128 prices through 500 orders, one after the other."""
    side, price, size = whole(x, 500, 2), whole(x[::-1], 500, 128), 1 + whole(x[3:], 500, 9)

    def step(book, order):
        s, p, n = order
        at = jnp.arange(128)
        other = jnp.where((s == 0) == (book > 0), jnp.abs(book), 0)
        fit = jnp.where(jnp.where(s == 0, at <= p, at >= p), other, 0)
        line = jnp.where(s == 0, jnp.cumsum(fit) - fit, jnp.cumsum(fit[::-1])[::-1] - fit)
        filled = jnp.clip(n - line, 0, fit)
        rest = n - filled.sum()
        book = book - jnp.sign(book) * filled
        return book.at[p].add(jnp.where(s == 0, -rest, rest)), filled.sum()

    return lax.scan(step, jnp.where(jnp.arange(128) > 64, 10, -10), (side, price, size))


def sparse_rows(x):
    """Products of a sparse matrix in rows of up to 16 numbers with a vector, 20 steps of a power iteration."""
    columns, values = whole(x, 4096 * 16, 4096).reshape(4096, 16), jnp.resize(x, (4096, 16))

    def step(_, v):
        y = (values * v[columns]).sum(1)
        return y / jnp.linalg.norm(y)

    return lax.fori_loop(0, 20, step, jnp.ones(4096, x.dtype))


def sparse_pairs(x):
    """The product of a matrix of 32,768 pairs of places and numbers with 16 columns, by segments."""
    row, column = jnp.sort(whole(x, 32768, 2048)), whole(x[::-1], 32768, 2048)
    return jax.ops.segment_sum(x.reshape(-1)[:32768, None] * jnp.resize(x, (2048, 16))[column], row, 2048)


def page_rank(x):
    """Thirty steps over 16,384 edges with dangling nodes."""
    source, target = whole(x, 16384, 2000), whole(x[::-1], 16384, 2000)
    degree = jnp.zeros(2000, x.dtype).at[source].add(1)

    def step(_, r):
        share = jnp.where(degree > 0, r / jnp.maximum(degree, 1), 0)
        lost = jnp.where(degree > 0, 0, r).sum()
        return 0.15 / 2000 + 0.85 * (jnp.zeros(2000, x.dtype).at[target].add(share[source]) + lost / 2000)

    return lax.fori_loop(0, 30, step, jnp.full(2000, 1 / 2000, x.dtype))


def triangle_counts(x):
    a = (x > 0.8) | (x.T > 0.8)
    a = (a & ~jnp.eye(256, dtype=bool)).astype(jnp.int32)
    return (a @ a * a).sum(1) // 2


def minimum_tree(x):
    """Prim's algorithm for 200 nodes."""
    d = jnp.abs(x[:200, :200] + x[:200, :200].T) + 1000 * jnp.eye(200, dtype=x.dtype)

    def step(_, s):
        inside, nearest, total = s
        i = jnp.argmin(jnp.where(inside, jnp.inf, nearest))
        return inside.at[i].set(True), jnp.minimum(nearest, d[i]), total + nearest[i]

    return lax.fori_loop(0, 199, step, (jnp.arange(200) == 0, d[0], jnp.zeros((), x.dtype)))[2]


def transport(x):
    """Sinkhorn's iterations in logarithms, and the gradient of the cost by the points."""

    def cost(a):
        c = ((a[:, None] - x[200:, :3]) ** 2).sum(-1)

        def step(_, s):
            f, g = s
            f = -0.1 * jsp.special.logsumexp((g - c) / 0.1, 1)
            return f, -0.1 * jsp.special.logsumexp((f[:, None] - c) / 0.1, 0)

        f, g = lax.fori_loop(0, 20, step, (jnp.zeros(128, x.dtype), jnp.zeros(56, x.dtype)))
        return (jnp.exp((f[:, None] + g - c) / 0.1) * c).sum()

    return jax.grad(cost)(x[:128, :3])


def assignment(x):
    """An auction of 64 goods."""
    value = x[:64, :64]

    def step(s):
        price, owner, _ = s
        net = value - price
        best, first = lax.top_k(net, 2)
        free = ~(owner[None] == jnp.arange(64)[:, None]).any(1)
        bid = jnp.where(free[:, None] & (first[:, :1] == jnp.arange(64)), (best[:, :1] - best[:, 1:] + 0.05), -1.0)
        taken = bid.max(0) > 0
        return jnp.where(taken, price + bid.max(0), price), jnp.where(taken, bid.argmax(0), owner), s[2] + 1

    start = (jnp.zeros(64, x.dtype), jnp.full(64, -1), 0)
    return lax.while_loop(lambda s: (s[1] < 0).any() & (s[2] < 300), step, start)[:2]


def run_lengths(x):
    """Runs of equal numbers, counted and put one after the other."""
    v = whole(x, 65536, 3)
    new = jnp.concatenate([jnp.array([True]), v[1:] != v[:-1]])
    at = jnp.cumsum(new) - 1
    return jnp.zeros(65536, v.dtype).at[at].set(v), jnp.zeros(65536, jnp.int32).at[at].add(1)


def huffman_bits(x):
    """Codes of bytes written into words, their places by a running sum."""
    symbol = whole(x, 8192, 16)
    length = jnp.array([1, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10])[symbol]
    code = (symbol * 40503 & 1023).astype(jnp.uint32) & ((1 << length) - 1).astype(jnp.uint32)
    end = jnp.cumsum(length)
    start = end - length
    word, shift = start // 32, (start % 32).astype(jnp.uint32)
    out = jnp.zeros(4096, jnp.uint32).at[word].add(code << shift)
    return out.at[word + 1].add(jnp.where(shift + length.astype(jnp.uint32) > 32, code >> (32 - shift) % 32, 0))


def byte_pairs(x):
    """Eight rounds of merging the most frequent pair of 4,096 tokens."""

    def step(i, s):
        t, n = s
        pair = jnp.where(jnp.arange(4096) < n - 1, t * 64 + jnp.roll(t, -1), 4095)
        best = jnp.bincount(pair, length=4095).argmax()
        hit = pair == best
        hit = lax.associative_scan(lambda a, b: b & ~a, hit) & hit
        keep = ~jnp.roll(hit, 1) & (jnp.arange(4096) < n)
        t = jnp.where(hit, 40 + i, t)
        at = jnp.where(keep, jnp.cumsum(keep) - 1, 4096)
        return jnp.zeros_like(t).at[at].set(t, mode="drop"), keep.sum().astype(jnp.int32)

    return lax.fori_loop(0, 8, step, (whole(x, 4096, 32), jnp.int32(4096)))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        quantum_circuit, quantum_gradient, schroedinger, density_matrix, ising, life, elementary_automaton,
        unscented_kalman, particle_filter, linear_quadratic, path_integral_control, inverse_dynamics,
        stochastic_volatility, implied_volatility, american_by_regression, limit_orders, sparse_rows, sparse_pairs,
        page_rank, triangle_counts, minimum_tree, transport, assignment, run_lengths, huffman_bits, byte_pairs,
    )
}  # fmt: skip
