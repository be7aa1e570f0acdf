"""Programs of search.py: layers of networks and their decoding, as users write them in JAX. Each is a function of one
array, which it takes its data and parameters from."""

import jax
import jax.numpy as jnp
from jax import lax, nn, random

CONV = ("NHWC", "HWIO", "NHWC")


def weights(x, *dims, at=0):
    """An array of dims from x, small enough for layers to stay finite."""
    count = 1
    for d in dims:
        count *= d
    return jnp.resize(jnp.roll(x.ravel(), -at), (count,)).reshape(dims) * (2.0 / max(dims[-2], 1)) ** 0.5 * 0.3


def conv(x, w, stride=1, groups=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=CONV, feature_group_count=groups)


def layer_norm(h):
    return (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)


def rms_norm(h):
    return h * lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6)


def group_norm(h, groups=8):
    b, y, x, c = h.shape
    g = h.reshape(b, y, x, groups, c // groups)
    mean, var = g.mean((1, 2, 4), keepdims=True), g.var((1, 2, 4), keepdims=True)
    return ((g - mean) * lax.rsqrt(var + 1e-5)).reshape(h.shape)


def convnext_block(x):
    h = x.reshape(1, 32, 32, 64)
    n = layer_norm(conv(h, weights(x, 7, 7, 1, 64), groups=64))
    return h + nn.gelu(n @ weights(x, 64, 256)) @ weights(x, 256, 64)


def squeeze_excite(x):
    """An inverted bottleneck with squeeze and excitation."""
    h = x.reshape(1, 32, 32, 64)[..., :32]
    e = nn.silu(group_norm(conv(h, weights(x, 1, 1, 32, 96))))
    e = nn.silu(group_norm(conv(e, weights(x, 3, 3, 1, 96, at=7), groups=96)))
    s = nn.sigmoid(nn.silu(e.mean((1, 2)) @ weights(x, 96, 16)) @ weights(x, 16, 96))
    return h + conv(e * s[:, None, None], weights(x, 1, 1, 96, 32))


def vision_transformer(x):
    """Patches of 8 x 8, two layers, the mean of the tokens."""
    image = x.reshape(256, 256)[:192].reshape(1, 128, 128, 3)
    h = conv(image, weights(x, 8, 8, 3, 96), 8, padding="VALID").reshape(1, 256, 96)
    for i in range(2):
        q, k, v = jnp.split(layer_norm(h) @ weights(x, 96, 288, at=i), 3, -1)
        heads = lambda a: a.reshape(1, 256, 6, 16)
        h = h + nn.dot_product_attention(heads(q), heads(k), heads(v)).reshape(1, 256, 96) @ weights(x, 96, 96, at=i)
        h = h + nn.gelu(layer_norm(h) @ weights(x, 96, 384, at=i)) @ weights(x, 384, 96, at=i)
    return h.mean(1) @ weights(x, 96, 100)


def window_attention(x):
    """Shifted windows of 8 x 8 with their mask and relative positions."""
    h = jnp.roll(x.reshape(1, 32, 32, 64), (-4, -4), (1, 2))
    windows = lambda a: a.reshape(1, 4, 8, 4, 8, -1).transpose(0, 1, 3, 2, 4, 5).reshape(16, 64, -1)
    area = jnp.arange(32) // 4
    region = windows((area[:, None] * 8 + area).reshape(1, 32, 32, 1))[..., 0]
    q, k, v = (a.reshape(16, 64, 4, 16) for a in jnp.split(windows(h) @ weights(x, 64, 192), 3, -1))
    i = jnp.arange(64)
    relative = (i[:, None] // 8 - i // 8 + 7) * 15 + i[:, None] % 8 - i % 8 + 7
    score = jnp.einsum("wqhd,wkhd->whqk", q, k) / 4 + weights(x, 225, 4)[relative].transpose(2, 0, 1)
    score = jnp.where((region[:, :, None] == region[:, None])[:, None], score, -1e9)
    out = jnp.einsum("whqk,wkhd->wqhd", nn.softmax(score), v).reshape(1, 4, 4, 8, 8, 64)
    return jnp.roll(out.transpose(0, 1, 3, 2, 4, 5).reshape(1, 32, 32, 64), (4, 4), (1, 2))


def upsampling_decoder(x):
    """A transposed convolution, a skip connection and a convolution."""
    low, skip = x.reshape(1, 16, 16, 256)[..., :64], x.reshape(1, 32, 32, 64)[..., :32]
    up = lax.conv_transpose(low, weights(x, 2, 2, 64, 32), (2, 2), "SAME", dimension_numbers=CONV)
    h = jnp.concatenate([up, skip], -1)
    return nn.relu(group_norm(conv(nn.relu(group_norm(conv(h, weights(x, 3, 3, 64, 32)))), weights(x, 3, 3, 32, 32))))


def llama_layer(x):
    """Grouped queries with rotary positions, RMS norm and SwiGLU in bf16."""
    h = weights(x, 1, 64, 256).astype(jnp.bfloat16)
    w = lambda *d, at=0: weights(x, *d, at=at).astype(jnp.bfloat16)
    norm = lambda h: rms_norm(h.astype(jnp.float32)).astype(jnp.bfloat16)
    angle = jnp.arange(64.0)[:, None] * 10000.0 ** (-jnp.arange(16) / 16)
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]

    def rotate(q):
        a, b = jnp.split(q.astype(jnp.float32), 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(jnp.bfloat16)

    n = norm(h)
    q, k, v = ((n @ w(256, d, at=d)).reshape(1, 64, d // 32, 32) for d in (256, 64, 64))
    a = nn.dot_product_attention(rotate(q), rotate(k), v, is_causal=True).reshape(1, 64, 256)
    h = h + a @ w(256, 256, at=1)
    n = norm(h)
    return h + (nn.silu(n @ w(256, 688)) * (n @ w(256, 688, at=3))) @ w(688, 256)


def decode_int8_weights(x):
    """One token through dense layers whose weights are bytes with a scale for each column."""
    h = x[:1, :256]
    for i in range(4):
        w = jnp.clip(jnp.round(jnp.resize(x, (256, 1024)) * 40), -127, 127).astype(jnp.int8)
        h = nn.silu((h @ w.astype(x.dtype)) * 0.001) @ weights(x, 1024, 256, at=i) + h
    return h


def cache_decode(x):
    """Eight greedy steps with a cache of keys and values that is updated in place."""
    embed, w, out = weights(x, 97, 64), weights(x, 64, 192), weights(x, 64, 97)

    def step(s, i):
        token, keys, values = s
        q, k, v = jnp.split(embed[token] @ w, 3)
        keys, values = keys.at[i].set(k.reshape(4, 16)), values.at[i].set(v.reshape(4, 16))
        score = jnp.einsum("hd,thd->ht", q.reshape(4, 16), keys) / 4
        a = nn.softmax(jnp.where(jnp.arange(128) <= i, score, -jnp.inf))
        h = jnp.einsum("ht,thd->hd", a, values).reshape(64)
        token = jnp.argmax(h @ out)
        return (token, keys, values), token

    zero = jnp.zeros((128, 4, 16), x.dtype)
    return lax.scan(step, (jnp.int32(3) if not jax.config.jax_enable_x64 else jnp.int64(3), zero, zero), jnp.arange(8))[
        1
    ]


def sliding_window(x):
    """Attention to the last 32 tokens, by blocks."""
    q = x.reshape(8, 32, 4, 64)
    before = jnp.concatenate([jnp.zeros_like(q[:1]), q[:-1]])
    k = jnp.concatenate([before, q], 1)
    score = jnp.einsum("nqhd,nkhd->nhqk", q, k) / 8
    i, j = jnp.arange(32)[:, None], jnp.arange(64)[None]
    a = nn.softmax(jnp.where((j > i) & (j <= i + 32), score, -1e9))
    return jnp.einsum("nhqk,nkhd->nqhd", a, k)


def online_softmax(x):
    """Attention by blocks of keys with a running maximum and sum."""
    q = x.reshape(4, 256, 64)

    def step(s, block):
        k, v = block
        score = jnp.einsum("hqd,hkd->hqk", q, k) / 8
        top = jnp.maximum(s[0], score.max(-1))
        p, scale = jnp.exp(score - top[..., None]), jnp.exp(s[0] - top)
        return (top, s[1] * scale + p.sum(-1), s[2] * scale[..., None] + jnp.einsum("hqk,hkd->hqd", p, v)), None

    blocks = q.reshape(4, 4, 64, 64).swapaxes(0, 1)
    start = (jnp.full((4, 256), -jnp.inf, x.dtype), jnp.zeros((4, 256), x.dtype), jnp.zeros_like(q))
    _, total, out = lax.scan(step, start, (blocks, blocks))[0]
    return out / total[..., None]


def selective_scan(x):
    """A state-space layer whose step sizes depend on the input, by a scan over time."""
    u, a = x[:, :64], -jnp.exp(weights(x, 64, 16))
    delta, b, c = nn.softplus(u @ weights(x, 64, 64)), u @ weights(x, 64, 16), u @ weights(x, 64, 16, at=9)

    def step(h, t):
        u, delta, b, c = t
        h = jnp.exp(delta[:, None] * a) * h + (delta * u)[:, None] * b
        return h, h @ c

    return lax.scan(step, jnp.zeros((64, 16), x.dtype), (u, delta, b, c))[1]


def selective_scan_gradient(x):
    return jax.grad(lambda x: (selective_scan(x) ** 2).sum())(x)


def linear_attention(x):
    """A running sum of outer products of keys and values, by chunks."""
    q, k, v = (nn.elu(x[:, i * 64 : i * 64 + 64]) + 1 for i in range(3))

    def step(s, t):
        q, k, v = t
        inside = jnp.tril(q @ k.T)
        return s + k.T @ v, q @ s + inside @ v

    chunks = lambda a: a.reshape(8, 32, 64)
    return lax.scan(step, jnp.zeros((64, 64), x.dtype), (chunks(q), chunks(k), chunks(v)))[1]


def rwkv(x):
    k, v, r = x[:, :64], x[:, 64:128], nn.sigmoid(x[:, 128:192])
    w, u = -jnp.exp(x[0, :64]), x[1, :64]

    def step(s, t):
        a, b, top = s
        k, v = t
        now = jnp.maximum(top, u + k)
        e, f = jnp.exp(top - now), jnp.exp(u + k - now)
        out = (e * a + f * v) / (e * b + f)
        after = jnp.maximum(top + w, k)
        e, f = jnp.exp(top + w - after), jnp.exp(k - after)
        return (e * a + f * v, e * b + f, after), out

    zero = jnp.zeros(64, x.dtype)
    return r * lax.scan(step, (zero, zero, zero - 1e30), (k, v))[1]


def experts_top2(x):
    """Routing to two of eight experts with a capacity, by one-hot dispatch."""
    gate, chosen = lax.top_k(nn.softmax(x[:, :64] @ weights(x, 64, 8)), 2)
    hot = nn.one_hot(chosen, 8, dtype=x.dtype)
    place = (jnp.cumsum(hot.reshape(512, 8), 0) - 1).reshape(256, 2, 8)
    dispatch = jnp.einsum("tke,tkec->tec", hot * (place < 64), nn.one_hot(place, 64, dtype=x.dtype))
    inputs = jnp.einsum("tec,td->ecd", dispatch, x[:, :64])
    out = jnp.einsum(
        "ecf,efd->ecd", nn.relu(jnp.einsum("ecd,edf->ecf", inputs, weights(x, 8, 64, 128))), weights(x, 8, 128, 64)
    )
    return jnp.einsum("tec,ecd,te->td", dispatch, out, (hot * gate[..., None]).sum(1))


def denoising_sampler(x):
    """Twenty steps of a diffusion sampler with a small residual network."""
    key, w1, w2 = random.key(5), weights(x, 65, 128), weights(x, 128, 64)

    def step(i, h):
        t = jnp.full((256, 1), (20 - i) / 20.0, h.dtype)
        noise = nn.silu(jnp.concatenate([h, t], -1) @ w1) @ w2
        return 1.01 * h - 0.1 * noise + 0.05 * random.normal(random.fold_in(key, i), h.shape, h.dtype)

    return lax.fori_loop(0, 20, step, x[:, :64])


def fourier_operator(x):
    """A layer of a Fourier neural operator: the lowest modes by a complex product of channels."""
    h = x.reshape(1, 64, 64, 16)
    f = jnp.fft.rfft2(h, axes=(1, 2))
    w = weights(x, 12, 12, 16, 16) + 1j * weights(x, 12, 12, 16, 16, at=3)
    f = jnp.zeros_like(f).at[:, :12, :12].set(jnp.einsum("bxyi,xyio->bxyo", f[:, :12, :12], w))
    return nn.gelu(jnp.fft.irfft2(f, s=(64, 64), axes=(1, 2)) + h @ weights(x, 16, 16))


def point_network(x):
    points = x[:, :192].reshape(16, 1024, 3)
    h = nn.relu(nn.relu(points @ weights(x, 3, 64)) @ weights(x, 64, 128)).max(1)
    return nn.log_softmax(h @ weights(x, 128, 40))


def message_passing(x):
    """Two rounds of messages over 4,096 edges, summed at their ends, with a residual update."""
    source = (jnp.abs(x.ravel()[:4096]) * 1000).astype(jnp.int32) % 512
    target = (jnp.abs(x.ravel()[4096:8192]) * 1000).astype(jnp.int32) % 512
    h = jnp.resize(x, (512, 32))
    for i in range(2):
        m = nn.relu(jnp.concatenate([h[source], h[target]], -1) @ weights(x, 64, 32, at=i))
        total = jax.ops.segment_sum(m, target, 512)
        degree = jax.ops.segment_sum(jnp.ones(4096, x.dtype), target, 512)
        h = h + nn.relu(jnp.concatenate([h, total / jnp.maximum(degree, 1)[:, None]], -1) @ weights(x, 64, 32, at=i))
    return h


def factorization_machine(x):
    """Sparse features through embeddings, pairwise interactions and a deep part."""
    ids = (jnp.abs(x[:, :20]) * 3000).astype(jnp.int32) % 2000
    e = weights(x, 2000, 16)[ids]
    pairs = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(-1)
    return nn.sigmoid(pairs + (nn.relu(e.reshape(256, 320) @ weights(x, 320, 64)) @ weights(x, 64, 1))[:, 0])


def temporal_convolution(x):
    """Dilated causal convolutions with gates over 1,024 steps."""
    h = x.reshape(1, 1024, 64)[..., :32]
    for i in range(4):
        padded = jnp.pad(h, ((0, 0), (2**i, 0), (0, 0)))
        z = lax.conv_general_dilated(
            padded,
            weights(x, 2, 32, 64, at=i),
            (1,),
            "VALID",
            rhs_dilation=(2**i,),
            dimension_numbers=("NWC", "WIO", "NWC"),
        )
        h = h + jnp.tanh(z[..., :32]) * nn.sigmoid(z[..., 32:])
    return h


def beam_search(x):
    """Ten steps of a beam of four over 97 words, states reordered by their beams."""
    embed, w, out = weights(x, 97, 64), weights(x, 64, 64), weights(x, 64, 97) * 4

    def step(s, _):
        score, token, h = s
        h = jnp.tanh(embed[token] + h @ w)
        total = score[:, None] + nn.log_softmax(h @ out)
        score, flat = lax.top_k(total.ravel(), 4)
        beam, token = flat // 97, flat % 97
        return (score, token, h[beam]), (beam, token)

    start = (jnp.array([0.0, -1e9, -1e9, -1e9], x.dtype), jnp.zeros(4, jnp.int32), jnp.zeros((4, 64), x.dtype))
    return lax.scan(step, start, None, length=10)[1]


def weight_norms(x):
    """Power iterations for spectral normalization of eight matrices, then the layers."""
    w = weights(x, 8, 64, 64)

    def power(_, u):
        v = jnp.einsum("nij,ni->nj", w, u)
        v = v / jnp.linalg.norm(v, axis=-1, keepdims=True)
        u = jnp.einsum("nij,nj->ni", w, v)
        return u / jnp.linalg.norm(u, axis=-1, keepdims=True)

    u = lax.fori_loop(0, 5, power, jnp.ones((8, 64), x.dtype) / 8)
    sigma = jnp.linalg.norm(jnp.einsum("nij,ni->nj", w, u), axis=-1)
    return lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x[:, :64], w / sigma[:, None, None])[0]


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        convnext_block, squeeze_excite, vision_transformer, window_attention, upsampling_decoder, llama_layer,
        decode_int8_weights, cache_decode, sliding_window, online_softmax, selective_scan, selective_scan_gradient,
        linear_attention, rwkv, experts_top2, denoising_sampler, fourier_operator, point_network, message_passing,
        factorization_machine, temporal_convolution, beam_search, weight_norms,
    )
}  # fmt: skip
