"""Programs of search.py: images, drawing and flows, as users write them in JAX. Each is a function of one array, which
it takes its data and parameters from."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax

from search_science_programs import whole


def cosine_blocks(x):
    """Blocks of 8 x 8 transformed, quantized and back, as JPEG does."""
    n = jnp.arange(8)
    d = jnp.where(n[:, None] > 0, 0.5, 0.35355) * jnp.cos((2 * n + 1) * n[:, None] * jnp.pi / 16)
    d = d.astype(x.dtype)
    b = x.reshape(32, 8, 32, 8).transpose(0, 2, 1, 3)
    q = 0.1 * (1 + n[:, None] + n).astype(x.dtype)
    c = jnp.round(d @ b @ d.T / q) * q
    return (d.T @ c @ d).transpose(0, 2, 1, 3).reshape(256, 256)


def demosaic(x):
    """Colours of a sensor's raster by averages of neighbours, white balance, gamma, and luminance."""
    r, c = jnp.arange(256)[:, None] % 2, jnp.arange(256) % 2
    raw = jnp.abs(x)
    out = []
    for mask in ((r == 0) & (c == 0), r != c, (r == 1) & (c == 1)):
        v, m = jnp.where(mask, raw, 0), mask.astype(x.dtype)
        box = lambda a: sum(
            jnp.pad(a, 1)[i : i + 256, j : j + 256] * (2.0 - abs(i - 1)) * (2.0 - abs(j - 1))
            for i in range(3)
            for j in range(3)
        )
        out.append(box(v) / box(m))
    rgb = jnp.stack(out, -1) * jnp.array([1.8, 1.0, 1.5], x.dtype)
    rgb = jnp.clip(rgb, 0, 1) ** (1 / 2.2)
    return rgb, rgb @ jnp.array([0.299, 0.587, 0.114], x.dtype)


def equalize(x):
    """Histogram equalization in tiles of 64 x 64, interpolated."""
    v = whole(x, 65536, 256).reshape(4, 64, 4, 64).transpose(0, 2, 1, 3).reshape(16, 4096)
    h = jax.vmap(lambda t: jnp.bincount(t, length=256))(v)
    cdf = jnp.cumsum(jnp.minimum(h, 64), 1)
    cdf = (cdf / cdf[:, -1:]).astype(x.dtype)
    return jnp.take_along_axis(cdf, v, 1).reshape(4, 4, 64, 64).transpose(0, 2, 1, 3).reshape(256, 256)


def edges(x):
    """Canny's detector: blur, gradients, thinning along four directions, and hysteresis."""
    k = jnp.array([1, 4, 6, 4, 1], x.dtype) / 16
    blur = lambda a: jsp.signal.convolve2d(a, k[:, None] * k, mode="same")
    b = blur(x)
    gx, gy = (jnp.roll(b, -1, 1) - jnp.roll(b, 1, 1)) / 2, (jnp.roll(b, -1, 0) - jnp.roll(b, 1, 0)) / 2
    size = jnp.hypot(gx, gy)
    turn = (jnp.round(jnp.arctan2(gy, gx) / (jnp.pi / 4)).astype(jnp.int32)) % 4
    thin = jnp.zeros_like(size)
    for d, (i, j) in enumerate(((0, 1), (1, 1), (1, 0), (1, -1))):
        top = (size >= jnp.roll(size, (i, j), (0, 1))) & (size >= jnp.roll(size, (-i, -j), (0, 1)))
        thin = jnp.where((turn == d) & top, size, thin)
    strong, weak = thin > 0.3, thin > 0.1

    def grow(_, s):
        around = lax.reduce_window(s, False, lax.bitwise_or, (3, 3), (1, 1), "SAME")
        return weak & around

    return lax.fori_loop(0, 10, grow, strong)


def optical_flow(x):
    """Lucas and Kanade's method on two scales, windows of 7 x 7."""
    a, b = x, jnp.roll(x, (1, 2), (0, 1)) + 0.1

    def solve(a, b):
        gy, gx = jnp.gradient(a)
        t = b - a
        box = lambda v: lax.reduce_window(v, jnp.zeros((), v.dtype), lax.add, (7, 7), (1, 1), "SAME")
        xx, xy, yy, xt, yt = box(gx * gx) + 0.1, box(gx * gy), box(gy * gy) + 0.1, box(gx * t), box(gy * t)
        det = xx * yy - xy * xy
        return (-yy * xt + xy * yt) / det, (xy * xt - xx * yt) / det

    half = lambda v: v.reshape(128, 2, 128, 2).mean((1, 3))
    u, v = solve(half(a), half(b))
    up = lambda w: 2 * jnp.repeat(jnp.repeat(w, 2, 0), 2, 1)
    i, j = jnp.mgrid[:256, :256]
    warped = jsp.ndimage.map_coordinates(b, [i + up(v), j + up(u)], order=1, mode="nearest")
    du, dv = solve(a, warped)
    return up(u) + du, up(v) + dv


def path_tracing(x):
    """Signed distances of a scene, marched 40 steps for 64 x 64 rays, with normals by differentiation and a shadow."""

    def distance(p):
        ball = jnp.sqrt((p**2).sum()) - 1.0
        q = jnp.abs(p - jnp.array([1.5, 0, 0], p.dtype)) - 0.5
        box = jnp.sqrt((jnp.maximum(q, 0) ** 2).sum() + 1e-9) + jnp.minimum(q.max(), 0)
        k = 8.0
        return jnp.minimum(-jnp.log(jnp.exp(-k * ball) + jnp.exp(-k * box)) / k, p[1] + 1.2)

    def pixel(u, v):
        ray = jnp.stack([u, v, jnp.ones_like(u) * 1.5])
        ray = ray / jnp.linalg.norm(ray)
        start = jnp.array([0.3, 0.2, -4], x.dtype)
        t = lax.fori_loop(0, 40, lambda _, t: t + distance(start + t * ray), jnp.zeros((), x.dtype))
        p = start + t * ray
        n = jax.grad(distance)(p)
        light = jnp.array([0.5, 0.7, -0.5], x.dtype)
        s = lax.fori_loop(
            0,
            20,
            lambda i, s: jnp.minimum(s, 8 * distance(p + 0.1 * (i + 1) * light) / (0.1 * (i + 1))),
            jnp.ones((), x.dtype),
        )
        return jnp.maximum(n @ light, 0) * jnp.clip(s, 0, 1)

    u = jnp.linspace(-1, 1, 64).astype(x.dtype) + 0.01 * x[0, :64]
    return jax.vmap(lambda v: jax.vmap(lambda u: pixel(u, v))(u))(u)


def rasterizer(x):
    """64 triangles into 128 x 128 pixels with a depth buffer."""
    p = x.reshape(-1)[: 64 * 9].reshape(64, 3, 3)
    i, j = jnp.meshgrid(
        jnp.linspace(-2, 2, 128).astype(x.dtype), jnp.linspace(-2, 2, 128).astype(x.dtype), indexing="ij"
    )

    def draw(s, t):
        depth, color = s
        a, b, c = t
        edge = lambda a, b: (b[0] - a[0]) * (j - a[1]) - (b[1] - a[1]) * (i - a[0])
        w = jnp.stack([edge(b, c), edge(c, a), edge(a, b)])
        area = w.sum(0)
        w = w / jnp.where(area == 0, 1, area)
        z = w[0] * a[2] + w[1] * b[2] + w[2] * c[2]
        hit = (w >= 0).all(0) & (z < depth)
        return (jnp.where(hit, z, depth), jnp.where(hit[..., None], jnp.moveaxis(w, 0, -1), color)), None

    start = (jnp.full((128, 128), 9.0, x.dtype), jnp.zeros((128, 128, 3), x.dtype))
    return lax.scan(draw, start, p)[0]


def euler_gas(x):
    """Thirty steps of a gas with shocks in one dimension by Rusanov's fluxes and limited slopes."""
    rho = 1 + 0.5 * jnp.abs(x.reshape(-1)[:4096])
    u = jnp.stack([rho, 0 * rho, 2.5 * rho])

    def flux(u):
        v = u[1] / u[0]
        p = 0.4 * (u[2] - 0.5 * u[1] * v)
        return jnp.stack([u[1], u[1] * v + p, (u[2] + p) * v]), jnp.abs(v) + jnp.sqrt(1.4 * p / u[0])

    def step(_, u):
        a, b = u - jnp.roll(u, 1, 1), jnp.roll(u, -1, 1) - u
        slope = jnp.where(a * b > 0, jnp.sign(a) * jnp.minimum(jnp.abs(a), jnp.abs(b)), 0)
        left, right = u + slope / 2, jnp.roll(u - slope / 2, -1, 1)
        (fl, cl), (fr, cr) = flux(left), flux(right)
        f = 0.5 * (fl + fr - jnp.maximum(cl, cr) * (right - left))
        return u - 0.1 * (f - jnp.roll(f, 1, 1))

    return lax.fori_loop(0, 30, step, u)


def multigrid(x):
    """Two V-cycles for Poisson's equation on 256 x 256 points."""

    def smooth(u, f, n):
        around = lambda u: sum(jnp.roll(u, d, a) for a in (0, 1) for d in (1, -1))
        return lax.fori_loop(0, n, lambda _, u: 0.2 * u + 0.2 * (around(u) + f), u)

    def cycle(u, f):
        u = smooth(u, f, 2)
        if f.shape[0] <= 8:
            return smooth(u, f, 10)
        r = f - 4 * u + sum(jnp.roll(u, d, a) for a in (0, 1) for d in (1, -1))
        h = f.shape[0] // 2
        r = r.reshape(h, 2, h, 2).sum((1, 3))
        e = cycle(jnp.zeros_like(r), r)
        return smooth(u + jnp.repeat(jnp.repeat(e, 2, 0), 2, 1), f, 2)

    f = x - x.mean()
    return cycle(cycle(jnp.zeros_like(f), f), f)


def vorticity(x):
    """Ten steps of a pseudo-spectral flow on 128 x 128 points."""
    w = jnp.fft.rfft2(x[:128, :128])
    ky, kx = jnp.fft.fftfreq(128, 1 / 128).astype(x.dtype)[:, None], jnp.arange(65).astype(x.dtype)
    k2 = (kx**2 + ky**2).at[0, 0].set(1)
    keep = (jnp.abs(kx) < 42) & (jnp.abs(ky) < 42)

    def step(_, w):
        psi = w / k2
        u, v = jnp.fft.irfft2(1j * ky * psi), jnp.fft.irfft2(-1j * kx * psi)
        rate = jnp.fft.rfft2(u * jnp.fft.irfft2(1j * kx * w) + v * jnp.fft.irfft2(1j * ky * w))
        return (w - 1e-3 * jnp.where(keep, rate, 0)) / (1 + 1e-5 * k2)

    return jnp.fft.irfft2(lax.fori_loop(0, 10, step, w))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        cosine_blocks, demosaic, equalize, edges, optical_flow, path_tracing, rasterizer, euler_gas, multigrid, vorticity,
    )
}  # fmt: skip
