"""Programs of search.py: dynamic programming, options, graphs, integer codes, signals, images, trees, as users
write them in JAX. Each is a function of one array, which it takes its data and parameters from."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax

from search_science_programs import whole


def black_scholes(x):
    s, k, t = 1 + jnp.abs(x), 1 + jnp.abs(x.T), 0.5 + jnp.abs(x[::-1])
    d1 = (jnp.log(s / k) + 0.545 * t) / (0.3 * jnp.sqrt(t))
    d2 = d1 - 0.3 * jnp.sqrt(t)
    return s * jsp.stats.norm.cdf(d1) - k * jnp.exp(-0.5 * t) * jsp.stats.norm.cdf(d2)


def american_option(x):
    """A binomial tree of 200 steps for 64 options, backwards."""
    strike, i = 1 + 0.1 * x[:64, 0], jnp.arange(201)
    value = jnp.maximum(strike[:, None] - 1.02 ** (2 * i - 200), 0)

    def step(n, v):
        hold = 0.999 * (0.51 * jnp.roll(v, -1, 1) + 0.49 * v)
        return jnp.maximum(hold, strike[:, None] - 1.02 ** (2 * i - (199 - n)))

    return lax.fori_loop(0, 200, step, value.astype(x.dtype))[:, 0]


def shortest_paths(x):
    """Bellman and Ford's relaxation over 4,096 edges until nothing changes."""
    a, b = whole(x, 4096, 512), whole(x[::-1], 4096, 512)
    w = jnp.abs(jnp.resize(x, (4096,))) + 0.1

    def step(s):
        new = s[0].at[b].min(s[0][a] + w)
        return new, jnp.any(new < s[0]), s[2] + 1

    far = jnp.full(512, 1e9, x.dtype).at[0].set(0)
    return lax.while_loop(lambda s: s[1] & (s[2] < 600), step, (far, jnp.array(True), 0))[0]


def label_propagation(x):
    """Connected regions of an image by the smallest label around, until nothing changes (at most 60 rounds)."""
    inside = x[:128, :128] > -0.5
    label = jnp.where(inside, jnp.arange(128 * 128).reshape(128, 128), 1 << 30)

    def step(s):
        p = jnp.pad(s[0], 1, constant_values=1 << 30)
        near = jnp.minimum(jnp.minimum(p[2:, 1:-1], p[:-2, 1:-1]), jnp.minimum(p[1:-1, 2:], p[1:-1, :-2]))
        new = jnp.where(inside, jnp.minimum(s[0], near), 1 << 30)
        return new, jnp.any(new != s[0]), s[2] + 1

    return lax.while_loop(lambda s: s[1] & (s[2] < 60), step, (label, jnp.array(True), 0))[0]


def warping_distance(x):
    """Dynamic time warping along anti-diagonals for 16 pairs of series."""
    a, b = x[:16, :128], x[16:32, 128:]

    def step(s, k):
        last, before = s
        i = jnp.arange(128)
        j = k - i
        cost = jnp.abs(a - jnp.take(b, jnp.clip(j, 0, 127), 1))
        shift = lambda d: jnp.pad(d, ((0, 0), (1, 0)), constant_values=jnp.inf)[:, :-1]
        best = jnp.minimum(jnp.minimum(last, shift(last)), shift(before))
        new = jnp.where((j >= 0) & (j < 128), cost + jnp.where((i == 0) & (k == 0), 0.0, best), jnp.inf)
        return (new, last), None

    start = jnp.full((16, 128), jnp.inf, x.dtype)
    return lax.scan(step, (start, start), jnp.arange(255))[0][0][:, -1]


def longest_common(x):
    """The longest common subsequence of 64 pairs of 100 letters, row by row."""
    a, b = (whole(x[i:], 6400, 4).reshape(64, 100) for i in (0, 99))

    def row(d, letter):
        same = letter[:, None] == b
        up = jnp.maximum(d[:, 1:], jnp.where(same, d[:, :-1] + 1, 0))
        return jnp.pad(lax.cummax(up, 1), ((0, 0), (1, 0))), None

    return lax.scan(row, jnp.zeros((64, 101), jnp.int32), a.T)[0][:, -1]


def digest(x):
    """64 rounds of a hash with rotations and a message schedule, for 512 blocks."""
    words = [whole(x[i:], 512, 1 << 30).astype(jnp.uint32) for i in range(16)]
    turn = lambda v, n: (v >> n) | (v << (32 - n))
    k = (jnp.arange(64, dtype=jnp.uint32) * jnp.uint32(2654435761)) ^ jnp.uint32(0x428A2F98)

    def step(s, k):
        v, w = s
        a, b, c, d, e, f, g, h = v
        t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + k + w[0]
        t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        s0 = turn(w[1], 7) ^ turn(w[1], 18) ^ (w[1] >> 3)
        s1 = turn(w[14], 17) ^ turn(w[14], 19) ^ (w[14] >> 10)
        w = jnp.concatenate([w[1:], (w[0] + s0 + w[9] + s1)[None]])
        return (jnp.stack([t1 + t2, a, b, c, d + t1, e, f, g]), w), None

    start = jnp.broadcast_to(jnp.arange(8, dtype=jnp.uint32)[:, None] * jnp.uint32(0x6A09E667), (8, 512))
    return lax.scan(step, (start, jnp.stack(words)), k)[0][0]


def checksums(x):
    """CRC-32 of 256 rows of bytes through a table."""
    table = jnp.arange(256, dtype=jnp.uint32)
    for _ in range(8):
        table = jnp.where(table & 1 == 1, (table >> 1) ^ jnp.uint32(0xEDB88320), table >> 1)
    data = (x * 40).astype(jnp.int32).astype(jnp.uint8)
    step = lambda c, b: ((c >> 8) ^ table[(c ^ b) & 0xFF], None)
    return lax.scan(step, jnp.full(256, 0xFFFFFFFF, jnp.uint32), data.T.astype(jnp.uint32))[0]


def space_filling(x):
    """Morton codes of points, sorted, and the distances of neighbours."""

    def spread(v):
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            v = (v | (v << shift)) & jnp.uint32(mask)
        return v

    p = x.reshape(-1, 2)[:16384]
    a, b = (jnp.clip(p[:, i] * 8000 + 32768, 0, 65535).astype(jnp.uint32) for i in (0, 1))
    order = jnp.argsort(spread(a) | (spread(b) << 1))
    return jnp.sqrt(((p[order][1:] - p[order][:-1]) ** 2).sum(-1)).sum()


def prime_sieve(x):
    n = jnp.arange(20000)

    def step(i, s):
        return jnp.where(s[i] & (n % i == 0) & (n > i), False, s)

    return lax.fori_loop(2, 142, step, (n > 1) & (x[0, 0] < 100)).sum()


def ray_tracing(x):
    """Eight spheres with shadows for 96 x 96 pixels."""
    u, v = jnp.meshgrid(jnp.linspace(-1, 1, 96), jnp.linspace(-1, 1, 96))
    ray = jnp.stack([u, v, jnp.ones_like(u)], -1).astype(x.dtype)
    ray = ray / jnp.linalg.norm(ray, axis=-1, keepdims=True)
    center, color = x[:8, :3] + jnp.array([0, 0, 5.0], x.dtype), jnp.abs(x[:8, 3:6])

    def hit(o, d):
        oc = o[..., None, :] - center
        b, c = (oc * d[..., None, :]).sum(-1), (oc**2).sum(-1) - 0.5
        disc = b * b - c
        t = jnp.where(disc > 0, -b - jnp.sqrt(jnp.maximum(disc, 0)), jnp.inf)
        t = jnp.where(t > 1e-3, t, jnp.inf)
        return t.min(-1), t.argmin(-1)

    t, which = hit(jnp.zeros_like(ray), ray)
    p = ray * jnp.where(jnp.isinf(t), 0, t)[..., None]
    normal = p - center[which]
    light = jnp.array([0.6, -0.6, -0.5], x.dtype)
    dark = jnp.isfinite(hit(p + 1e-2 * normal, jnp.broadcast_to(light, p.shape))[0])
    shade = jnp.maximum((normal * light).sum(-1), 0) * ~dark
    return jnp.where(jnp.isfinite(t)[..., None], color[which] * shade[..., None], 0)


def gradient_noise(x):
    """Four octaves of Perlin's noise."""
    angle = x * 3.14

    def octave(k):
        i = jnp.linspace(0, 8 * 2**k, 128, endpoint=False)
        u, v = jnp.meshgrid(i, i)
        u0, v0 = jnp.floor(u).astype(int), jnp.floor(v).astype(int)
        fu, fv = u - u0, v - v0
        corner = lambda a, b: (lambda g: jnp.cos(g) * (fu - a) + jnp.sin(g) * (fv - b))(
            angle[(v0 + b) % 256, (u0 + a) % 256]
        )
        fade = lambda t: t * t * t * (t * (t * 6 - 15) + 10)
        top = corner(0, 0) + fade(fu) * (corner(1, 0) - corner(0, 0))
        bottom = corner(0, 1) + fade(fu) * (corner(1, 1) - corner(0, 1))
        return (top + fade(fv) * (bottom - top)) * 0.5**k

    return sum(octave(k) for k in range(4))


def spherical_harmonics(x):
    """Associated Legendre functions by recurrence for 8,192 directions, up to degree eight."""
    c = jnp.tanh(x.ravel()[:8192])
    s = jnp.sqrt(1 - c * c)
    out = []
    p_mm = jnp.ones_like(c)
    for m in range(9):
        before, now = jnp.zeros_like(c), p_mm
        for l in range(m, 9):
            out.append(now * jnp.cos(m * c))
            before, now = now, ((2 * l + 1) * c * now - (l + m) * before) / (l - m + 1)
        p_mm = -(2 * m + 1) * s * p_mm
    return jnp.stack(out)


def forward_kinematics(x):
    """Chains of seven joints by quaternions for 256 arms, and the Jacobian of their ends."""

    def end(angles):
        q, p = jnp.array([1.0, 0, 0, 0], x.dtype), jnp.zeros(3, x.dtype)
        for i in range(7):
            h = angles[i] / 2
            axis = [jnp.cos(h), *(jnp.sin(h) if i % 3 == k else jnp.zeros_like(h) for k in range(3))]
            a, b = q, axis
            q = jnp.stack(
                [
                    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
                ]
            )
            t = jnp.cross(q[1:], jnp.array([0.0, 0, 1], x.dtype)) * 2
            p = p + jnp.array([0.0, 0, 1], x.dtype) + q[0] * t + jnp.cross(q[1:], t)
        return p

    return jax.vmap(end)(x[:, :7]), jax.vmap(jax.jacrev(end))(x[:, :7])


def mel_spectrogram(x):
    frames = x.ravel()[: 254 * 256].reshape(254, 256)
    window = 0.5 - 0.5 * jnp.cos(2 * jnp.pi * jnp.arange(512) / 512).astype(x.dtype)
    power = jnp.abs(jnp.fft.rfft(jnp.concatenate([frames[:-1], frames[1:]], 1) * window)) ** 2
    edges = jnp.linspace(0, 256, 42)
    i = jnp.arange(257.0)
    low, mid, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    bank = jnp.maximum(0, jnp.minimum((i - low) / (mid - low), (high - i) / (high - mid)))
    return jnp.log(power @ bank.T.astype(x.dtype) + 1e-6)


def filter_cascade(x):
    """Two second-order recursive filters over 2,048 samples of 32 channels."""

    def step(s, v):
        for i in range(2):
            a = s[i]
            out = 0.2 * v + a[0]
            s = s.at[i].set(jnp.stack([0.4 * v + 1.1 * out + a[1], 0.2 * v - 0.5 * out]))
            v = out
        return s, v

    return lax.scan(step, jnp.zeros((2, 2, 32), x.dtype), x.reshape(2048, 32))[1]


def autocorrelation(x):
    f = jnp.fft.rfft(x, n=512, axis=1)
    r = jnp.fft.irfft(f * jnp.conj(f), n=512, axis=1)[:, :256]
    return jnp.argmax(r[:, 20:] / r[:, :1], 1)


def total_variation(x):
    """Thirty steps of Chambolle's dual method."""

    def step(_, p):
        px, py = p
        div = px - jnp.roll(px, 1, 1) + py - jnp.roll(py, 1, 0)
        u = div - x / 0.2
        gx, gy = jnp.roll(u, -1, 1) - u, jnp.roll(u, -1, 0) - u
        n = 1 + 0.2 * jnp.sqrt(gx**2 + gy**2)
        return (px + 0.2 * gx) / n, (py + 0.2 * gy) / n

    return lax.fori_loop(0, 30, step, (x * 0, x * 0))


def bilateral_filter(x):
    out, total = jnp.zeros_like(x), jnp.zeros_like(x)
    p = jnp.pad(x, 3, mode="edge")
    for i in range(7):
        for j in range(7):
            v = p[i : i + 256, j : j + 256]
            w = jnp.exp(-((i - 3) ** 2 + (j - 3) ** 2) / 8 - (v - x) ** 2)
            out, total = out + w * v, total + w
    return out / total


def deconvolution(x):
    """Ten iterations of Richardson and Lucy with a separable blur."""
    k = jnp.exp(-(jnp.arange(-4.0, 5) ** 2) / 4).astype(x.dtype)
    k = k / k.sum()
    row = jax.vmap(lambda r: jnp.convolve(r, k, mode="same"))
    blur = lambda a: row(row(a).T).T
    seen = jnp.abs(x) + 0.1
    return lax.fori_loop(0, 10, lambda _, u: u * blur(seen / (blur(u) + 1e-6)), seen)


def tomography(x):
    """Projections at 24 angles by turning the image with bilinear samples."""
    i = jnp.arange(128.0) - 63.5
    u, v = jnp.meshgrid(i, i)

    def project(t):
        a, b = jnp.cos(t) * u - jnp.sin(t) * v + 63.5, jnp.sin(t) * u + jnp.cos(t) * v + 63.5
        return jsp.ndimage.map_coordinates(x[:128, :128], [b, a], order=1).sum(0)

    return jax.vmap(project)(jnp.linspace(0, 3.1, 24).astype(x.dtype))


def hough_lines(x):
    edge = (jnp.abs(x[:128, :128]) > 1.8).astype(jnp.int32)
    i, j = jnp.meshgrid(jnp.arange(128), jnp.arange(128), indexing="ij")
    t = jnp.linspace(0, jnp.pi, 32, endpoint=False)
    rho = (i[..., None] * jnp.cos(t) + j[..., None] * jnp.sin(t)).astype(jnp.int32) + 128
    return jnp.zeros((400, 32), jnp.int32).at[rho, jnp.arange(32)].add(edge[..., None])


def seam_energy(x):
    """The cheapest vertical seam through an image, traced back."""
    e = jnp.abs(x - jnp.roll(x, 1, 1)) + jnp.abs(x - jnp.roll(x, 1, 0))

    def down(c, row):
        p = jnp.pad(c, 1, constant_values=jnp.inf)
        three = jnp.stack([p[:-2], c, p[2:]])
        return three.min(0) + row, three.argmin(0) - 1

    last, moves = lax.scan(down, e[0], e[1:])
    return lax.scan(lambda j, m: (jnp.clip(j + m[j], 0, 255),) * 2, jnp.argmin(last), moves, reverse=True)[1]


def stereo_matching(x):
    """A cost volume of 32 disparities, box filtered, and the best of each pixel with a parabola."""
    left, right = x, jnp.roll(x, 3, 1)
    cost = jnp.stack([jnp.abs(left - jnp.roll(right, -d, 1)) for d in range(32)])
    cost = lax.reduce_window(cost, 0.0, lax.add, (1, 5, 5), (1, 1, 1), "SAME")
    best = cost.argmin(0)
    at = lambda d: jnp.take_along_axis(cost, jnp.clip(d, 0, 31)[None], 0)[0]
    a, b, c = at(best - 1), at(best), at(best + 1)
    return best + 0.5 * (a - c) / (a - 2 * b + c + 1e-6)


def point_alignment(x):
    """Five iterations of closest points with a rotation by a 3 x 3 singular value decomposition."""
    a, b = x[:200, :3], x[:200, 3:6]

    def step(_, p):
        near = b[jnp.argmin(((p[:, None] - b[None]) ** 2).sum(-1), 1)]
        pc, nc = p.mean(0), near.mean(0)
        u, _, v = jnp.linalg.svd((p - pc).T @ (near - nc))
        r = u @ jnp.diag(jnp.array([1, 1, jnp.linalg.det(u @ v)])) @ v
        return (p - pc) @ r + nc

    return lax.fori_loop(0, 5, step, a)


def gradient_boosting(x):
    """Histograms of gradients for 64 features with 32 bins, the best split of each, and one tree's predictions."""
    bins = jnp.clip((x * 6 + 16).astype(jnp.int32), 0, 31)[:, :64]
    g = x[:, 100]
    flat = bins + 32 * jnp.arange(64)
    total = jnp.zeros(2048, x.dtype).at[flat].add(g[:, None]).reshape(64, 32)
    count = jnp.zeros(2048, x.dtype).at[flat].add(1.0).reshape(64, 32)
    left, n = jnp.cumsum(total, 1), jnp.cumsum(count, 1)
    gain = left**2 / (n + 1) + (g.sum() - left) ** 2 / (256 - n + 1)
    feature, cut = jnp.unravel_index(jnp.argmax(gain), gain.shape)
    return gain, jnp.where(bins[:, feature] <= cut, 0.1, -0.1)


def forest(x):
    """Predictions of 50 trees of depth six, whose nodes are in arrays."""
    feature, limit = whole(x, 50 * 63, 32).reshape(50, 63), jnp.resize(x, (50, 63)) * 0.5
    leaf = jnp.resize(x[::-1], (50, 64))

    def tree(f, l, leaf):
        def down(_, node):
            return 2 * node + 1 + (x[jnp.arange(256), f[node]] > l[node])

        return leaf[lax.fori_loop(0, 6, down, jnp.zeros(256, jnp.int32)) - 63]

    return jax.vmap(tree)(feature, limit, leaf).mean(0)


def sudoku_constraints(x):
    """Rounds of elimination on 64 boards at once by bit masks."""
    cell = jnp.arange(81)
    same = (
        (cell[:, None] // 9 == cell // 9)
        | (cell[:, None] % 9 == cell % 9)
        | ((cell[:, None] // 27 == cell // 27) & (cell[:, None] % 9 // 3 == cell % 9 // 3))
    ) & (cell[:, None] != cell)
    board = whole(x, 64 * 81, 512).reshape(64, 81) | 1

    def step(_, b):
        single = jnp.where(lax.population_count(b) == 1, b, 0)
        taken = lax.reduce(jnp.where(same, single[:, None], 0), jnp.int32(0), lax.bitwise_or, (2,))
        return jnp.where(single > 0, b, b & ~taken)

    return lax.fori_loop(0, 8, step, board.astype(jnp.int32))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        black_scholes, american_option, shortest_paths, label_propagation, warping_distance, longest_common, digest,
        checksums, space_filling, prime_sieve, ray_tracing, gradient_noise, spherical_harmonics, forward_kinematics,
        mel_spectrogram,
        filter_cascade, autocorrelation, total_variation, bilateral_filter, deconvolution, tomography, hough_lines,
        seam_energy, stereo_matching, point_alignment, gradient_boosting, forest, sudoku_constraints,
    )
}  # fmt: skip
