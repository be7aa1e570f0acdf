"""Programs of search.py: signals, geometry, number theory, strings, irregular grids and complex arithmetic, with sizes that
fit no vector, as users write them in JAX. Each is a function of one array, which it takes its data from."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn, random

from search_science_programs import positive, whole


def phased_array(x):
    """Covariances of 11 antennas, Capon's spectrum over 181 angles."""
    s = x.reshape(-1)[: 11 * 200].reshape(11, 200) + 1j * x[::-1].reshape(-1)[: 11 * 200].reshape(11, 200)
    r = s @ s.conj().T / 200 + jnp.eye(11)
    angle = jnp.linspace(-jnp.pi / 2, jnp.pi / 2, 181).astype(x.dtype)
    a = jnp.exp(1j * jnp.pi * jnp.sin(angle)[:, None] * jnp.arange(11))
    return 1 / (a.conj() * jnp.linalg.solve(r, a.T).T).sum(1).real


def equalizer(x):
    """A constant-modulus filter of 21 complex taps over 600 samples, one after the other."""
    s = jnp.exp(1j * jnp.pi / 2 * whole(x, 700, 4)) + 0.1 * x.reshape(-1)[:700]
    s = s.astype(jnp.result_type(x, jnp.complex64))

    def step(w, i):
        v = lax.dynamic_slice(s, (i,), (21,))
        y = w.conj() @ v
        return w - 0.002 * v * (y * (jnp.abs(y) ** 2 - 1)).conj(), y

    return lax.scan(step, jnp.zeros(21, s.dtype).at[10].set(1), jnp.arange(600))[1]


def adaptive_filter(x):
    """Recursive least squares with 17 taps over 500 samples."""
    s = x.reshape(-1)[:600]

    def step(state, i):
        w, p = state
        v = lax.dynamic_slice(s, (i,), (17,))
        k = p @ v / (0.99 + v @ p @ v)
        e = s[i + 30] - w @ v
        return (w + k * e, (p - jnp.outer(k, v @ p)) / 0.99), e

    return lax.scan(step, (jnp.zeros(17, x.dtype), 10 * jnp.eye(17, dtype=x.dtype)), jnp.arange(500))[1]


def chirp_transform(x):
    """Bluestein's transform of 1,009 points for 16 signals."""
    n, m = 1009, 2048
    k = jnp.arange(n)
    w = jnp.exp(-1j * jnp.pi * (k * k % (2 * n)).astype(x.dtype) / n)
    b = jnp.zeros(m, w.dtype).at[:n].set(w.conj()).at[m - n + 1 :].set(w.conj()[:0:-1])
    a = jnp.zeros((16, m), w.dtype).at[:, :n].set(x.reshape(-1)[: 16 * n].reshape(16, n) * w)
    return w * jnp.fft.ifft(jnp.fft.fft(a) * jnp.fft.fft(b))[:, :n]


def wavelets(x):
    """Five levels of Daubechies' wavelets with four taps, soft thresholds, and back."""
    h = jnp.array([0.48296, 0.83652, 0.22414, -0.12941], x.dtype)
    g = h[::-1] * jnp.array([1, -1, 1, -1], x.dtype)
    low, details = x, []
    for _ in range(5):
        shifted = jnp.stack([jnp.roll(low, -i, -1) for i in range(4)], -1)[:, ::2]
        details.append(shifted @ g)
        low = shifted @ h
    for d in reversed(details):
        d = jnp.sign(d) * nn.relu(jnp.abs(d) - 0.1)
        up = jnp.zeros((*low.shape[:-1], 2 * low.shape[-1]), x.dtype)
        put = lambda v, t: sum(jnp.roll(up.at[:, ::2].set(v * t[i]), i, -1) for i in range(4))
        low = put(low, h) + put(d, g)
    return low


def vocoder(x):
    """A short-time transform of 65 bins, phases unwrapped and stretched, and back by overlaps."""
    frames = jnp.stack([x.reshape(-1)[i * 32 : i * 32 + 128] for i in range(200)]) * jnp.hanning(128).astype(x.dtype)
    s = jnp.fft.rfft(frames)
    phase = jnp.angle(s[1:] * s[:-1].conj())
    total = jnp.cumsum(1.5 * phase, 0)
    out = jnp.fft.irfft(jnp.abs(s[1:]) * jnp.exp(1j * total)) * jnp.hanning(128).astype(x.dtype)
    at = jnp.arange(199)[:, None] * 48 + jnp.arange(128)
    return jnp.zeros(199 * 48 + 128, x.dtype).at[at].add(out)


def pitch_track(x):
    """Differences at 150 lags of 50 frames, normalized by their running mean, the first dip with a parabola."""
    f = x.reshape(-1)[: 50 * 400].reshape(50, 400)
    d = jnp.stack([((f[:, :250] - f[:, t : t + 250]) ** 2).sum(1) for t in range(150)], 1)
    mean = jnp.cumsum(d, 1) / jnp.arange(1, 151)
    c = (d / (mean + 1e-3)).at[:, 0].set(1)
    at = jnp.clip(jnp.where((c < 0.9).any(1), (c < 0.9).argmax(1), c.argmin(1)), 1, 148)
    take = lambda i: jnp.take_along_axis(c, i[:, None], 1)[:, 0]
    a, b, e = take(at - 1), take(at), take(at + 1)
    return at + (a - e) / (2 * (a - 2 * b + e) + 1e-6)


def convolutional_code(x):
    """Viterbi's decoder of 64 states over 300 pairs of bits, with the path traced back."""
    bits = whole(x, 600, 2).reshape(300, 2)
    state = jnp.arange(64)
    parity = lambda m: lax.population_count((state[:, None] | jnp.array([0, 64])) & m) & 1
    out = jnp.stack([parity(0o171), parity(0o133)], -1)
    before = (state[:, None] >> 1) | jnp.array([0, 32])

    def step(cost, b):
        c = cost[before] + jnp.abs(out - b).sum(-1)
        return c.min(1), c.argmin(1).astype(jnp.int8)

    cost, choice = lax.scan(step, jnp.where(state == 0, 0, 1000), bits)
    return lax.scan(lambda s, c: (before[s, c[s]], s & 1), cost.argmin(), choice[::-1])[1]


def error_code(x):
    """Syndromes of 256 words of 63 symbols over the field of 64 elements, through tables."""
    power = [1]
    for _ in range(62):
        p = power[-1] << 1
        power.append(p ^ 67 if p & 64 else p)
    exp = jnp.array(power * 2)
    log = jnp.zeros(64, jnp.int32).at[exp[:63]].set(jnp.arange(63))
    word = whole(x, 256 * 63, 64).reshape(256, 63)

    def syndrome(j):
        t = jnp.where(word == 0, 0, exp[(log[word] + j * jnp.arange(63)) % 63])
        return lax.reduce(t, 0, lax.bitwise_xor, (1,))

    return jnp.stack([syndrome(j) for j in range(1, 9)], 1)


def number_transform(x):
    """A product of two polynomials modulo a prime by number-theoretic transforms of 512."""
    p, n = 7681, 512
    root = [pow(62, k, p) for k in range(n)]
    w = jnp.array(root)

    def transform(a, w):
        i = jnp.arange(n)
        a = a[sum(((i >> k) & 1) << (8 - k) for k in range(9))]
        for s in range(9):
            m = 1 << s
            a = a.reshape(-1, 2, m)
            t = a[:, 1] * w[(jnp.arange(m) * (n >> (s + 1)))] % p
            a = jnp.stack([(a[:, 0] + t) % p, (a[:, 0] - t) % p], 1)
        return a.reshape(-1)

    a, b = whole(x, n, p), whole(x[::-1], n, p)
    return transform(transform(a, w) * transform(b, w) % p, w[(-jnp.arange(n)) % n])


def modular_powers(x):
    """Fermat's test of 4,096 numbers by square and multiply."""
    n = 2 * whole(x, 4096, 15000) + 10001

    def step(i, s):
        r, b = s
        return jnp.where((n - 1) >> i & 1, r * b % n, r), b * b % n

    return lax.fori_loop(0, 16, step, (jnp.ones_like(n), 2 + 0 * n))[0] == 1


def rolling_hashes(x):
    """Windows of 8 letters hashed as 32-bit numbers, sorted, and the repeated ones counted."""
    t = whole(x, 20000, 26).astype(jnp.uint32)
    h = sum(t[i : i + 19992] * jnp.uint32(pow(31, 7 - i, 2**32)) for i in range(8))
    s = jnp.sort(h)
    return (s[1:] == s[:-1]).sum(), lax.reduce(h, jnp.uint32(0), lax.bitwise_xor, (0,))


def suffix_order(x):
    """A suffix array of 2,000 letters by doubling."""
    n = 2000
    rank = whole(x, n, 4)

    def step(k, rank):
        ahead = jnp.where(jnp.arange(n) + 2**k < n, jnp.roll(rank, -(2**k)) + 1, 0)
        order = jnp.lexsort((ahead, rank))
        a, b = rank[order], ahead[order]
        new = jnp.cumsum(jnp.concatenate([jnp.zeros(1, bool), (a[1:] != a[:-1]) | (b[1:] != b[:-1])]))
        return jnp.zeros_like(rank).at[order].set(new.astype(rank.dtype))

    for k in range(6):
        rank = step(k, rank)
    return rank


def automaton_states(x):
    """A machine of 32 states over 8 texts of 2,048 letters by an associative scan of its transitions."""
    table = whole(x, 4 * 32, 32).reshape(4, 32)
    text = whole(x[::-1], 8 * 2048, 4).reshape(8, 2048)
    through = lambda a, b: jnp.take_along_axis(b, a, -1)
    return lax.associative_scan(through, table[text], axis=1)[:, :, 0]


def bit_boards(x):
    """Attacks of sliding pieces on 1,024 boards of 64 bits as pairs of words."""
    own = lax.bitcast_convert_type(jnp.resize(x, (1024, 2)).astype(jnp.float32), jnp.uint32)

    def up(b):
        return jnp.stack([b[:, 0] << 8, (b[:, 1] << 8) | (b[:, 0] >> 24)], 1)

    def fill(g, empty):
        for _ in range(7):
            g = g | (up(g) & empty)
        return up(g)

    a = fill(own & 0x01010101, ~own)
    return lax.population_count(a).sum(1), a & own


def convex_hull(x):
    """Gift wrapping around 500 points."""
    p = x.reshape(-1)[:1000].reshape(500, 2)

    def step(at, _):
        d = p - p[at]
        cross = lambda i: d[i, 0] * d[:, 1] - d[i, 1] * d[:, 0]
        best = lax.fori_loop(0, 12, lambda _, b: jnp.where((cross(b) < 0).any(), cross(b).argmin(), b), (at + 1) % 500)
        return best, best

    return lax.scan(step, p[:, 0].argmin(), None, 30)[1]


def point_in_polygon(x):
    p, q = x.reshape(-1)[:10000].reshape(5000, 2), x[200:, :2]
    a, b = q, jnp.roll(q, 1, 0)
    side = (a[:, 1] > p[:, 1:]) != (b[:, 1] > p[:, 1:])
    at = (b[:, 0] - a[:, 0]) * (p[:, 1:] - a[:, 1]) / (b[:, 1] - a[:, 1]) + a[:, 0]
    return (side & (p[:, :1] < at)).sum(1) % 2


def splines(x):
    """Cubic splines through 33 points of 61 curves: systems solved, and 500 places evaluated."""
    y = x[:33, :61]
    a = jnp.eye(33, dtype=x.dtype) * 4 + jnp.eye(33, k=1, dtype=x.dtype) + jnp.eye(33, k=-1, dtype=x.dtype)
    m = jnp.linalg.solve(a, 6 * (jnp.roll(y, 1, 0) - 2 * y + jnp.roll(y, -1, 0)))
    t = jnp.linspace(0, 31.99, 500).astype(x.dtype)
    i = t.astype(jnp.int32)
    u = (t - i)[:, None]
    v = 1 - u
    return v * y[i] + u * y[i + 1] + ((v**3 - v) * m[i] + (u**3 - u) * m[i + 1]) / 6


def geodesics(x):
    """Christoffel's symbols of a metric by differentiation, and 20 steps along 100 curves."""

    def metric(q):
        r, t = q[0], q[1]
        return jnp.diag(jnp.stack([1 / (1 - 0.2 / r), r * r, r * r * jnp.sin(t) ** 2]))

    def rate(q, v):
        d = jax.jacfwd(metric)(q)
        low = 0.5 * (jnp.einsum("kij->ijk", d) * 0 + d.transpose(0, 2, 1) + d - d.transpose(2, 1, 0))
        return -jnp.linalg.solve(metric(q), jnp.einsum("kij,i,j->k", low, v, v))

    def step(_, s):
        q, v = s
        return q + 0.01 * v, v + 0.01 * rate(q, v)

    q = jnp.stack([3 + x[:100, 0] * 0.1, 1.5 + x[:100, 1] * 0.1, x[:100, 2]], 1)
    return lax.fori_loop(0, 20, lambda i, s: jax.vmap(lambda q, v: step(i, (q, v)))(*s), (q, x[:100, 3:6]))


def body_problem(x):
    """Fifteen bodies, 100 steps of a fourth-order symplectic scheme."""
    mass = jnp.abs(x[0, :15]) + 0.1

    def force(p):
        d = p[None] - p[:, None]
        r = (d**2).sum(-1) + 0.01
        return (d * (mass / (r * jnp.sqrt(r)))[..., None]).sum(1)

    def step(_, s):
        p, v = s
        for c, k in ((0.6756, 1.3512), (-0.1756, -1.7024), (-0.1756, 1.3512)):
            p = p + 0.01 * c * v
            v = v + 0.01 * k * force(p)
        return p + 0.006756 * v, v

    return lax.fori_loop(0, 100, step, (x[:15, :3], 0.1 * x[15:30, :3]))


def unstructured_flow(x):
    """Ten upwind steps over 3,001 cells and 9,000 faces given by their two cells."""
    left, right = whole(x, 9000, 3001), whole(x[::-1], 9000, 3001)
    speed = x.reshape(-1)[:9000]

    def step(_, u):
        f = jnp.where(speed > 0, speed * u[left], speed * u[right])
        return (u + 0.01 * (jnp.zeros_like(u).at[right].add(f) - jnp.zeros_like(u).at[left].add(f))).clip(-3, 3)

    return lax.fori_loop(0, 10, step, jnp.resize(x, (3001,)))


def adaptive_mesh(x):
    """Gradients of cells of three levels, flags spread to neighbours, and averages up and down."""
    u = x[:243, :243]
    for _ in range(3):
        g = jnp.abs(jnp.diff(u, axis=0, append=u[-1:])) + jnp.abs(jnp.diff(u, axis=1, append=u[:, -1:]))
        flag = lax.reduce_window((g > 1.5).astype(x.dtype), -jnp.inf, lax.max, (3, 3), (1, 1), "SAME")
        n = u.shape[0] // 3
        coarse = u.reshape(n, 3, n, 3).mean((1, 3))
        u = jnp.where(flag > 0, u, jnp.repeat(jnp.repeat(coarse, 3, 0), 3, 1))
    return u


def dirac_operator(x):
    """A lattice of 8 x 8 x 8 x 4 with colours and spins: links times fields along four directions."""
    z = jnp.resize(x, (4, 2048, 3, 3)) + 1j * jnp.resize(x[::-1], (4, 2048, 3, 3))
    u = z.reshape(4, 8, 8, 8, 4, 3, 3)
    f = (jnp.resize(x, (2048, 4, 3)) + 0.5j).reshape(8, 8, 8, 4, 4, 3).astype(z.dtype)
    out = 4 * f
    for d in range(4):
        out = out - 0.5 * jnp.einsum("abcdij,abcdsj->abcdsi", u[d], jnp.roll(f, -1, d))
        out = out - 0.5 * jnp.roll(jnp.einsum("abcdji,abcdsj->abcdsi", u[d].conj(), f), 1, d)
    return out


def scattering(x):
    """Waves between 63 points: Green's functions, a complex system, and the field at 400 places."""
    p, q = x[:63, :2], jnp.resize(x, (400, 2))
    green = lambda r: jnp.exp(5j * r) / (4 * jnp.pi * (r + 0.3))
    far = lambda a, b: jnp.sqrt(((a[:, None] - b) ** 2).sum(-1) + 1e-9)
    m = jnp.eye(63) - 0.1 * green(far(p, p))
    s = jnp.linalg.solve(m, jnp.exp(5j * p[:, 0]))
    return jnp.abs(jnp.exp(5j * q[:, 0]) + 0.1 * green(far(q, p)) @ s) ** 2


def julia_set(x):
    """Escape times of 201 x 201 points with a smooth count."""
    a = jnp.linspace(-1.5, 1.5, 201).astype(x.dtype) + 0.001 * x[0, :201]
    z = a[:, None] + 1j * a
    c = -0.7 + 0.27015j

    def step(_, s):
        z, n = s
        inside = jnp.abs(z) < 4
        return jnp.where(inside, z * z + c, z), n + inside

    z, n = lax.fori_loop(0, 60, step, (z, jnp.zeros(z.shape, jnp.int32)))
    return n - jnp.log2(jnp.log(jnp.abs(z) + 1.1))


def crystal_bands(x):
    """Eigenvalues of Hamiltonians of 7 plane waves at 101 momenta."""
    v = (x[:7, :7] + x[:7, :7].T) * 0.1
    k = jnp.linspace(-0.5, 0.5, 101).astype(x.dtype)
    g = jnp.arange(-3, 4)
    return jnp.linalg.eigvalsh(v + jax.vmap(lambda k: jnp.diag((k + g) ** 2))(k))


def matrix_product_state(x):
    """An overlap of two states of 20 sites with 12 links, and the energy of neighbours."""
    a = 0.3 * jnp.resize(x, (20, 12, 2, 12))
    b = 0.3 * jnp.resize(x[::-1], (20, 12, 2, 12))
    step = lambda e, ab: (jnp.einsum("ij,isk,jsl->kl", e, *ab), None)
    e = lax.scan(step, jnp.eye(12, dtype=x.dtype), (a, b))[0]
    return e, jnp.einsum("nisk,nisl->nkl", a, b)


def copula_sampling(x):
    """Correlated draws of 5 numbers by a Cholesky factor, through normal and gamma quantiles' ranks."""
    l = jnp.linalg.cholesky(positive(x, 5))
    z = random.normal(random.key(0), (3001, 5), x.dtype) @ l.T
    u = jsp.stats.norm.cdf(z / jnp.sqrt((l**2).sum(1)))
    return (jnp.argsort(jnp.argsort(u, 0), 0) / 3001).astype(x.dtype), -jnp.log1p(-u)


def hidden_semi_markov(x):
    """Forward sums over 7 states with durations of up to 10 in 150 steps, in logarithms."""
    emit, a = x[:150, :7], nn.log_softmax(x[200:207, :7])
    duration = nn.log_softmax(x[210:217, :10])
    total = jnp.cumsum(emit, 0)

    def step(past, t):
        stay = total[t] - jnp.where((t - 1 - jnp.arange(10))[:, None] >= 0, total[t - 1 - jnp.arange(10)], 0)
        end = jsp.special.logsumexp(past + duration.T + stay, 0)
        start = jsp.special.logsumexp(end[:, None] + a, 0)
        return jnp.concatenate([start[None], past[:-1]]), end

    first = jnp.full((10, 7), -1e9, x.dtype).at[0].set(0)
    return lax.scan(step, first, jnp.arange(150))[1]


def tree_sums(x):
    """Paths to the root of 5,000 nodes by pointer doubling, with sums along them."""
    n = 5000
    parent = jnp.where(jnp.arange(n) > 0, whole(x, n, 1 << 20) % jnp.maximum(jnp.arange(n), 1), 0)
    value = jnp.resize(x, (n,)).at[0].set(0)
    return lax.fori_loop(0, 13, lambda _, s: (s[0][s[0]], s[1] + s[1][s[0]]), (parent, value))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        phased_array, equalizer, adaptive_filter, chirp_transform, wavelets, vocoder, pitch_track, convolutional_code,
        error_code, number_transform, modular_powers, rolling_hashes, suffix_order, automaton_states, bit_boards,
        convex_hull, point_in_polygon, splines, geodesics, body_problem, unstructured_flow, adaptive_mesh,
        dirac_operator, scattering, julia_set, crystal_bands, matrix_product_state, copula_sampling,
        hidden_semi_markov, tree_sums,
    )
}  # fmt: skip
