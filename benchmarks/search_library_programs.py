"""Programs of search.py: the inner loops of JAX's libraries for optimal transport, spherical harmonics, games, molecular
dynamics, graphs, decoding and quantized inference, in f32 and f64. Each is a function of one array."""

import jax
import jax.numpy as jnp
from jax import lax, nn

from search_network_programs import CONV, weights
from search_science_programs import whole


def bytes_of(x, *dims, at=0):
    """An array of dims of s8 from x."""
    count = 1
    for d in dims:
        count *= d
    return whole(jnp.roll(x.ravel(), -at), count, 201).astype(jnp.int8).reshape(dims) - jnp.int8(100)


def byte_conv(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        "SAME",
        dimension_numbers=CONV,
        feature_group_count=groups,
        preferred_element_type=jnp.int32,
    )


def quantized_block(x):
    """Two convolutions of bytes with a residual connection, rescaled."""
    h = bytes_of(x, 1, 28, 28, 64)
    narrow = lambda y: jnp.clip(jnp.round(y * x.dtype.type(0.001)), 0, 127).astype(jnp.int8)
    y = narrow(byte_conv(h, bytes_of(x, 3, 3, 64, 64, at=5)))
    return narrow(byte_conv(y, bytes_of(x, 3, 3, 64, 64, at=9)) + h)


def quantized_mobile(x):
    """A depthwise and a pointwise convolution of bytes."""
    h = bytes_of(x, 2, 28, 28, 96)
    y = byte_conv(h, bytes_of(x, 3, 3, 1, 96, at=3), groups=96)
    y = jnp.clip(y // 512, 0, 127).astype(jnp.int8)
    return byte_conv(y, bytes_of(x, 1, 1, 96, 64, at=11))


def quantized_stem(x):
    """The first convolution of a network, of bytes with three features."""
    return byte_conv(bytes_of(x, 1, 112, 112, 3), bytes_of(x, 7, 7, 3, 32, at=7), stride=2)


def quantized_dense(x):
    """Two dense layers whose activations become bytes by the largest of each row."""

    def quantized(a):
        scale = jnp.abs(a).max(-1, keepdims=True) / 127
        return jnp.round(a / scale).astype(jnp.int8), scale

    def dense(a, w):
        q, scale = quantized(a)
        return lax.dot(q, w, preferred_element_type=jnp.int32) * scale * x.dtype.type(0.01)

    return dense(nn.relu(dense(x[:64], bytes_of(x, 256, 512))), bytes_of(x, 512, 256, at=13))


def point_transport(x):
    """Sinkhorn's iterations between two clouds of points, whose costs each iteration computes."""
    a, b = x[:120, :3], x[120:220, 3:6]

    def step(_, potentials):
        f, g = potentials
        cost = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
        f = -0.1 * nn.logsumexp((g - cost) / 0.1, 1)
        return f, -0.1 * nn.logsumexp((f[:, None] - cost) / 0.1, 0)

    return lax.fori_loop(0, 50, step, (jnp.zeros(120, x.dtype), jnp.zeros(100, x.dtype)))


def harmonic_recurrence(x):
    """A recurrence over degrees, whose sums over orders are multiplied by phases, as spherical transforms take."""
    phases = lax.complex(jnp.cos(x[:63, :32]), jnp.sin(x[:63, :32]))

    def step(state, row):
        before, now, total = state
        after = jnp.einsum("ml,l->ml", now, row) - jnp.einsum("lm,l->ml", before.T, jnp.roll(row, 1))
        after = after / (1 + jnp.abs(after))
        return (now, after, total + jnp.einsum("ml,ml->l", after, phases)), after[0]

    zero = jnp.zeros(32, phases.dtype)
    return lax.scan(step, (x[:63, 32:64], x[:63, 64:96], zero), x[100:140, :32])


def board_checks(x):
    """Rows, columns and boxes of boards sorted, and compared with what a solved board has."""
    boards = whole(x, 256 * 81, 9).reshape(256, 9, 9) + 1
    boxes = boards.reshape(256, 3, 3, 3, 3).transpose(0, 1, 3, 2, 4).reshape(256, 9, 9)
    solved = lambda b: (jnp.sort(b, -1) == jnp.arange(1, 10)).all((1, 2))
    return solved(boards), solved(boards.transpose(0, 2, 1)), solved(boxes)


def median_of_nine(x):
    """The median of each pixel's neighbourhood."""
    return jnp.median(jnp.stack([jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)], -1), -1)


def quantiles_of_rows(x):
    """Quantiles, and the order of a few largest, of rows of 50."""
    rows = x.ravel()[:50000].reshape(1000, 50)
    return jnp.quantile(rows, jnp.array([0.1, 0.5, 0.9], x.dtype), axis=1), jnp.argsort(rows, 1)[:, :5]


def viterbi_batch(x):
    """The most likely paths of 16 sequences of 100 steps through 20 states."""
    score, emissions = nn.log_softmax(x[:20, :20]), jnp.resize(x, (100, 16, 20))

    def step(d, e):
        v = d[:, :, None] + score
        return v.max(1) + e, v.argmax(1)

    d, back = lax.scan(step, emissions[0], emissions[1:])
    at = lambda i, b: (jnp.take_along_axis(b, i[:, None], 1)[:, 0],) * 2
    return lax.scan(at, d.argmax(1), back, reverse=True)[1]


def gates(x):
    """Rotations and controlled signs on ten qubits, and the gradient of a measurement by their angles."""

    def measured(angles):
        state = jnp.zeros((2,) * 10, jnp.complex64).at[(0,) * 10].set(1)
        for layer in range(2):
            for q in range(10):
                c, s = jnp.cos(angles[layer, q]), jnp.sin(angles[layer, q])
                gate = jnp.array([[c, -s], [s, c]]).astype(state.dtype)
                state = jnp.moveaxis(jnp.tensordot(gate, state, ((1,), (q,))), 0, q)
            for q in range(9):
                both = tuple(1 if a in (q, q + 1) else slice(None) for a in range(10))
                state = state.at[both].multiply(-1)
        return (jnp.abs(state) ** 2).reshape(2, -1)[0].sum()

    return jax.grad(measured)(x[:2, :10])


def modular_powers(x):
    """Powers modulo a prime by squaring."""
    base, exponent = whole(x, 10000, 10007), whole(x.T.ravel(), 10000, 65535)

    def step(i, state):
        power, square = state
        return jnp.where((exponent >> i) & 1, power * square % 10007, power), square * square % 10007

    return lax.fori_loop(0, 16, step, (jnp.ones_like(base), base))[0]


def moved_points(x):
    """Many points through a chain of rotations, by matrices of three numbers each way."""
    points = jnp.resize(x, (20000, 3))
    for i in range(4):
        points = points @ jnp.linalg.qr(x[3 * i : 3 * i + 3, :3])[0].T + x[i, :3]
    return points


def largest_eigenvalues(x):
    """Iterations of QR of a small symmetric matrix."""
    a = x[:24, :24] + x[:24, :24].T
    step = lambda _, a: (lambda q, r: r @ q)(*jnp.linalg.qr(a))
    return jnp.diag(lax.fori_loop(0, 20, step, a))


def experts_of_two(x):
    """Two experts of eight for each token, by masks, and the gradient by their weights."""
    h = x[:, :64]

    def loss(gate, w, u):
        value, index = lax.top_k(nn.softmax(h @ gate), 2)
        share = (nn.one_hot(index, 8, dtype=x.dtype) * (value / value.sum(-1, keepdims=True))[..., None]).sum(1)
        y = jnp.einsum("teh,ehd->ted", nn.gelu(jnp.einsum("td,edh->teh", h, w)), u)
        return jnp.einsum("ted,te->td", y, share).sum()

    return jax.grad(loss, (0, 1, 2))(weights(x, 64, 8), weights(x, 8, 64, 128), weights(x, 8, 128, 64, at=3))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        quantized_block, quantized_mobile, quantized_stem, quantized_dense, point_transport, harmonic_recurrence,
        board_checks, median_of_nine, quantiles_of_rows, viterbi_batch, gates, modular_powers, moved_points,
        largest_eigenvalues, experts_of_two,
    )
}  # fmt: skip
