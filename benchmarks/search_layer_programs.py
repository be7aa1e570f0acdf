"""Programs of search.py: layers, losses, optimizers and recurrent cells with their gradients, quantized inference, and
text as users write them in JAX, in f32 and bf16. Each is a function of one array, which it takes its weights from."""

import jax
import jax.numpy as jnp
from jax import lax, nn

from search_network_programs import layer_norm, rms_norm, weights
from search_science_programs import whole


def gru_training(x):
    """A cell with gates over 32 steps of 16 sequences, and its gradient."""
    w, u = weights(x, 64, 192), weights(x, 64, 192, at=999)
    steps = x[:32, :].reshape(32, 4, 64).repeat(4, 1)

    def loss(w, u):
        def step(h, v):
            a, b = v @ w, h @ u
            r, z = nn.sigmoid(a[:, :64] + b[:, :64]), nn.sigmoid(a[:, 64:128] + b[:, 64:128])
            h = (1 - z) * jnp.tanh(a[:, 128:] + r * b[:, 128:]) + z * h
            return h, h

        return (lax.scan(step, jnp.zeros((16, 64), x.dtype), steps)[1] ** 2).mean()

    return jax.grad(loss, (0, 1))(w, u)


def peephole_lstm(x):
    """A cell whose gates see its state, with layer norms, over 64 steps."""
    w, u, p = weights(x, 32, 256), weights(x, 64, 256, at=77), weights(x, 3, 64, at=5)

    def step(s, v):
        h, c = s
        i, f, g, o = jnp.split(layer_norm(v @ w) + layer_norm(h @ u), 4, -1)
        c = nn.sigmoid(f + p[0] * c) * c + nn.sigmoid(i + p[1] * c) * jnp.tanh(g)
        h = nn.sigmoid(o + p[2] * c) * jnp.tanh(layer_norm(c))
        return (h, c), h

    zero = jnp.zeros((8, 64), x.dtype)
    return lax.scan(step, (zero, zero), x.reshape(-1)[: 64 * 256].reshape(64, 8, 32))[1]


def minimal_rnn(x):
    """Linear recurrences of 256 channels over 256 steps by an associative scan, with gates."""
    a, b = nn.sigmoid(x + 1), x.T * 0.1
    joined = lambda s, t: (s[0] * t[0], t[0] * s[1] + t[1])
    return lax.associative_scan(joined, (a, b))[1] * nn.silu(x)


def experts_sorted(x):
    """Tokens sorted by their expert, eight dense layers in turn by groups, and back in their order."""
    h = x[:, :128]
    expert = jnp.argmax(h @ weights(x, 128, 8), -1)
    order = jnp.argsort(expert)
    w1, w2 = weights(x, 8, 128, 128), weights(x, 8, 128, 128, at=31)
    count = jnp.bincount(expert, length=8).astype(jnp.int32)
    y = lax.ragged_dot(nn.silu(lax.ragged_dot(h[order], w1, count)), w2, count)
    return jnp.zeros_like(y).at[order].set(y)


def experts_gathered(x):
    """Each of 64 tokens through its own expert's weights."""
    h = x[:64, :64]
    gate = nn.softmax(h @ weights(x, 64, 8))
    g, i = lax.top_k(gate, 2)
    w = weights(x, 8, 64, 64)
    return (g[..., None] * nn.gelu(jnp.einsum("td,tkde->tke", h, w[i]))).sum(1)


def differential_attention(x):
    """The difference of two softmaxes, four heads, causal."""
    h = layer_norm(x[:128, :128])
    q, k, v = (h @ weights(x, 128, 128, at=i) for i in (0, 7, 77))
    q, k = (t.reshape(128, 4, 2, 16) for t in (q, k))
    s = jnp.einsum("qhpd,khpd->phqk", q, k) / 4
    s = jnp.where(jnp.tri(128, dtype=bool), s, -jnp.inf)
    p = nn.softmax(s)
    o = jnp.einsum("hqk,khd->qhd", p[0] - 0.3 * p[1], v.reshape(128, 4, 32))
    return rms_norm(o).reshape(128, 128) @ weights(x, 128, 128, at=9)


def slopes_attention(x):
    """Attention with slopes by distance in place of positions, and its gradient by the input."""

    def f(h):
        q, k, v = (h @ weights(x, 64, 64, at=i) for i in (0, 7, 77))
        q, k, v = (t.reshape(-1, 4, 16).swapaxes(0, 1) for t in (q, k, v))
        n = h.shape[0]
        far = (jnp.arange(n)[None] - jnp.arange(n)[:, None]).astype(x.dtype)
        s = q @ k.swapaxes(1, 2) / 4 + far * (2.0 ** -jnp.arange(1, 5)).astype(x.dtype)[:, None, None]
        s = jnp.where(far <= 0, s, jnp.finfo(x.dtype).min)
        return ((nn.softmax(s) @ v) ** 2).sum()

    return jax.grad(f)(x[:, :64])


def cross_attention_cache(x):
    """Queries of one step to two caches with lengths, of a batch of eight."""
    cache = x.reshape(8, 128, 64)
    length = whole(x, 8, 128)
    q = (x[:8, :64] @ weights(x, 64, 64)).reshape(8, 4, 16)
    k, v = ((cache @ weights(x, 64, 64, at=i)).reshape(8, 128, 4, 16) for i in (3, 8))
    s = jnp.einsum("bhd,bkhd->bhk", q, k) / 4
    s = jnp.where((jnp.arange(128) < length[:, None])[:, None], s, -1e9)
    return jnp.einsum("bhk,bkhd->bhd", nn.softmax(s), v)


def axial_positions(x):
    """Rotary positions of two axes on patches, with norms of queries and keys."""
    h = x.reshape(256, 4, 64)
    half = jnp.arange(16).astype(x.dtype)
    angle = jnp.concatenate(
        [(jnp.arange(256) // 16)[:, None] * 100 ** (-half / 16), (jnp.arange(256) % 16)[:, None] * 100 ** (-half / 16)],
        1,
    )
    c, s = jnp.cos(angle).astype(x.dtype)[:, None], jnp.sin(angle).astype(x.dtype)[:, None]
    h = rms_norm(h)
    a, b = h[..., ::2], h[..., 1::2]
    return jnp.stack([a * c - b * s, a * s + b * c], -1).reshape(h.shape)


def int8_layers(x):
    """Two dense layers of bytes with a scale for each row and column, activations quantized between."""

    def quantize(h):
        scale = jnp.abs(h).max(-1, keepdims=True) / 127 + 1e-6
        return jnp.clip(jnp.round(h / scale), -127, 127).astype(jnp.int8), scale

    h = x
    for i in range(2):
        q, s = quantize(h)
        w, t = quantize(weights(x, 256, 256, at=i))
        y = lax.dot_general(q, w, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32)
        h = nn.gelu(y.astype(x.dtype) * s * t[:, 0])
    return h


def int4_blocks(x):
    """A layer whose weights are halves of bytes in blocks of 32 with scales."""
    packed = whole(x, 128 * 256, 256).astype(jnp.uint8).reshape(128, 256)
    low, high = (packed & 15).astype(jnp.int8) - 8, (packed >> 4).astype(jnp.int8) - 8
    w = jnp.stack([low, high], 1).reshape(256, 256).astype(x.dtype)
    scale = jnp.abs(weights(x, 8, 256)) + 0.01
    return x[:16] @ (w.reshape(8, 32, 256) * scale[:, None]).reshape(256, 256)


def float8_layer(x):
    """A product of rounded operands with scales, as training in 8 bits does."""
    narrow = lambda h: (h * (100 / jnp.abs(h).max())).astype(jnp.float8_e4m3fn).astype(x.dtype)
    y = narrow(x) @ narrow(weights(x, 256, 256))
    return nn.relu(y) * (jnp.abs(x).max() / 1e4)


def focal_loss(x):
    labels = whole(x, 256, 256)

    def loss(z):
        p = nn.log_softmax(z)
        p = jnp.take_along_axis(p, labels[:, None], 1)[:, 0]
        return -((1 - jnp.exp(p)) ** 2 * p).mean()

    return jax.value_and_grad(loss)(x)


def smoothed_labels(x):
    """Cross entropy with smoothing, a penalty of its normalizer, and the gradient."""
    labels = whole(x, 256, 256)

    def loss(z):
        norm = nn.logsumexp(z, -1)
        target = nn.one_hot(labels, 256, dtype=z.dtype) * 0.9 + 0.1 / 256
        return (norm - (target * z).sum(-1)).mean() + 1e-4 * (norm**2).mean()

    return jax.value_and_grad(loss)(x)


def triplets(x):
    """The hardest positive and negative of a batch, with the gradient."""
    label = whole(x[:, 0], 256, 10)

    def loss(e):
        e = e / jnp.sqrt((e**2).sum(-1, keepdims=True) + 1e-6)
        d = jnp.sqrt(jnp.maximum(2 - 2 * e @ e.T, 1e-6))
        same = label[:, None] == label
        return nn.relu(jnp.where(same, d, 0).max(1) - jnp.where(same, 9, d).min(1) + 0.2).mean()

    return jax.value_and_grad(loss)(x[:, :64])


def dice_loss(x):
    """Soft Dice over four classes of an image, cross entropy beside it, with the gradient."""
    t = nn.one_hot(whole(x, 16384, 4), 4, dtype=x.dtype)

    def loss(z):
        p = nn.softmax(z)
        dice = 1 - (2 * (p * t).sum(0) + 1) / (p.sum(0) + t.sum(0) + 1)
        return dice.mean() - (t * nn.log_softmax(z)).sum(-1).mean()

    return jax.value_and_grad(loss)(x.reshape(16384, 4))


def box_overlaps(x):
    """Generalized overlaps of 256 boxes with 64, and the gradient by the boxes."""
    b = jnp.abs(x[:64, 10:14])

    def loss(a):
        lo, hi = a[:, :2], a[:, :2] + jnp.abs(a[:, 2:])
        lo2, hi2 = b[:, :2], b[:, :2] + b[:, 2:]
        cut = jnp.maximum(jnp.minimum(hi[:, None], hi2) - jnp.maximum(lo[:, None], lo2), 0).prod(-1)
        area, area2 = (hi - lo).prod(-1), (hi2 - lo2).prod(-1)
        union = area[:, None] + area2 - cut + 1e-3
        hull = (jnp.maximum(hi[:, None], hi2) - jnp.minimum(lo[:, None], lo2)).prod(-1) + 1e-3
        return (1 - cut / union + (hull - union) / hull).mean()

    return jax.value_and_grad(loss)(x[:, :4])


def adam_step(x):
    """Decoupled decay, clipping by the norm of all gradients, and bias correction over four arrays."""
    p = [x, x[:, :64], x[0], x[:64, :128]]
    g = [jnp.sin(3 * v) for v in p]
    m, v = [0.1 * t for t in g], [t * t for t in g]
    norm = jnp.sqrt(sum((t.astype(jnp.float32) ** 2).sum() for t in g)).astype(x.dtype)
    g = [t * jnp.minimum(1, 1 / norm) for t in g]
    m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
    v = [0.99 * a + 0.01 * b * b for a, b in zip(v, g)]
    return [a - 1e-3 * (b / 0.1 / (jnp.sqrt(c / 0.01) + 1e-8) + 0.01 * a) for a, b, c in zip(p, m, v)]


def factored_moments(x):
    """Second moments as rows and columns, as Adafactor keeps them, and a step bounded by its size."""
    g = jnp.cos(x)
    row, column = (g * g + 1e-8).mean(1), (g * g + 1e-8).mean(0)
    u = g * lax.rsqrt(row / row.mean())[:, None] * lax.rsqrt(column)
    return x - 1e-2 * u / jnp.maximum(1, jnp.sqrt((u * u).mean()))


def orthogonal_update(x):
    """Five Newton and Schulz iterations on a gradient, as Muon takes them."""
    g = x[:, :128]
    g = g / (jnp.sqrt((g * g).sum()) + 1e-6)

    def step(_, y):
        a = y.T @ y
        return 3.4445 * y + y @ (-4.775 * a + 2.0315 * a @ a)

    return lax.fori_loop(0, 5, step, g)


def dropout_layer(x):
    """A residual block with dropout by a key, and its gradient by the weights."""

    def loss(w):
        h = layer_norm(x) @ w
        keep = jax.random.bernoulli(jax.random.key(1), 0.9, h.shape)
        return ((x + jnp.where(keep, nn.gelu(h) / 0.9, 0)) ** 2).mean()

    return jax.grad(loss)(weights(x, 256, 256))


def batch_norm_pool(x):
    """Batch norm over images, a rectifier and both kinds of pooling, with the gradient."""

    def loss(h):
        mean, var = h.mean((0, 1, 2)), h.var((0, 1, 2))
        h = nn.relu((h - mean) * lax.rsqrt(var + 1e-3))
        top = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return (top**2).mean() + h.mean((1, 2)).var()

    return jax.grad(loss)(x.reshape(16, 16, 16, 16))


def embedding_gradient(x):
    """Words and positions looked up, averaged with a mask, and the gradient by the table."""
    words = whole(x, 64 * 32, 500).reshape(64, 32)
    mask = (words > 50).astype(x.dtype)

    def loss(table):
        h = table[words] + x[:32, :64]
        return jnp.tanh((h * mask[..., None]).sum(1) / (mask.sum(1, keepdims=True) + 1)).sum()

    return jax.grad(loss)(jnp.resize(x, (500, 64)))


def sampled_tokens(x):
    """Logits with a penalty of repetition, temperature, the 40 best and a nucleus, and a draw."""
    z = jnp.resize(x, (8, 4096))
    seen = whole(x, 8 * 64, 4096).reshape(8, 64)
    row = jnp.arange(8)[:, None]
    hit = jnp.zeros((8, 4096), bool).at[row, seen].set(True)
    z = jnp.where(hit, jnp.where(z > 0, z / 1.2, z * 1.2), z) / 0.8
    best, at = lax.top_k(z, 40)
    p = nn.softmax(best)
    best = jnp.where(jnp.cumsum(p, -1) - p < 0.9, best, -jnp.inf)
    return jnp.take_along_axis(at, jax.random.categorical(jax.random.key(0), best)[:, None], 1)


def speculative_check(x):
    """Tokens of a draft accepted while a uniform number allows it, and the rest's distribution."""
    p, q = nn.softmax(3 * x[:8, :]), nn.softmax(3 * x[8:16, :])
    t = whole(x, 8, 256)
    u = jax.random.uniform(jax.random.key(4), (8,), jnp.float32)
    ratio = jnp.take_along_axis(p, t[:, None], 1)[:, 0] / jnp.take_along_axis(q, t[:, None], 1)[:, 0]
    count = jnp.cumprod((u < ratio).astype(jnp.int32)).sum()
    rest = nn.relu(p - q)[jnp.minimum(count, 7)]
    return count, rest / (rest.sum() + 1e-6)


def flow_coupling(x):
    """Eight affine couplings, the logarithm of their volume, and the gradient by the input."""
    h = x[:, :32]

    def loss(h):
        volume = 0
        for i in range(8):
            a, b = (h[:, :16], h[:, 16:]) if i % 2 else (h[:, 16:], h[:, :16])
            t = jnp.tanh(a @ weights(x, 16, 32, at=i)) @ weights(x, 32, 32, at=i + 9)
            s = jnp.tanh(t[:, :16])
            b = b * jnp.exp(s) + t[:, 16:]
            volume += s.sum(1)
            h = jnp.concatenate([a, b], 1)
        return (0.5 * (h**2).sum(1) - volume).mean()

    return jax.value_and_grad(loss)(h)


def graph_convolution(x):
    """Two layers with a normalized dense adjacency, dropout by a mask, and the gradient by the weights."""
    a = (x > 1.2).astype(x.dtype)
    a = a + a.T + jnp.eye(256, dtype=x.dtype)
    d = lax.rsqrt(a.sum(1))
    a = a * d[:, None] * d

    def loss(w, u):
        h = nn.relu(a @ (x[:, :64] @ w))
        return (nn.log_softmax(a @ (h @ u))[:, 0]).mean()

    return jax.grad(loss, (0, 1))(weights(x, 64, 32), weights(x, 32, 8, at=3))


DIMS = (256, 256)  # of their argument
KINDS = ("float32", "bfloat16")
PROGRAMS = {
    f.__name__: f
    for f in (
        gru_training, peephole_lstm, minimal_rnn, experts_sorted, experts_gathered, differential_attention,
        slopes_attention, cross_attention_cache, axial_positions, int8_layers, int4_blocks, float8_layer, focal_loss,
        smoothed_labels, triplets, dice_loss, box_overlaps, adam_step, factored_moments, orthogonal_update,
        dropout_layer, batch_norm_pool, embedding_gradient, sampled_tokens, speculative_check, flow_coupling,
        graph_convolution,
    )
}  # fmt: skip
