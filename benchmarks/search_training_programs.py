"""Programs of search.py: training of networks, as users write it in JAX: losses, gradients, steps of optimizers. Each is a
function of one array, which it takes its data and parameters from."""

import jax
import jax.numpy as jnp
from jax import lax, nn, random

from search_network_programs import conv, layer_norm, weights


def cnn_training(x):
    """The gradient of a small convolutional classifier with batch norm, and a step of SGD with momentum."""
    images = x.reshape(16, 64, 64, 1)[:8]

    def loss(p):
        h = images
        for w in p[:-1]:
            h = conv(h, w, 2)
            h = nn.relu((h - h.mean((0, 1, 2))) * lax.rsqrt(h.var((0, 1, 2)) + 1e-5))
        return -nn.log_softmax(h.mean((1, 2)) @ p[-1])[:, 1].mean()

    p = (weights(x, 3, 3, 1, 16), weights(x, 3, 3, 16, 32), weights(x, 3, 3, 32, 64), weights(x, 64, 10))
    return jax.tree.map(lambda p, g: p - 0.1 * (0.9 * p + g), p, jax.grad(loss)(p))


def depthwise_training(x):
    images = x.reshape(4, 32, 32, 16)
    loss = lambda p: (conv(nn.relu6(conv(images, p[0], groups=16)), p[1]) ** 2).mean()
    return jax.grad(loss)((weights(x, 3, 3, 1, 16), weights(x, 1, 1, 16, 32)))


def unet_training(x):
    images = x.reshape(4, 128, 128, 1)

    def loss(p):
        a = nn.relu(conv(images, p[0]))
        b = nn.relu(conv(lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), p[1]))
        up = jax.image.resize(b, a.shape[:3] + (b.shape[3],), "bilinear")
        return ((conv(jnp.concatenate([a, up], -1), p[2]) - images) ** 2).mean()

    return jax.grad(loss)((weights(x, 3, 3, 1, 8), weights(x, 3, 3, 8, 16), weights(x, 3, 3, 24, 1)))


def vae_training(x):
    data, key = nn.sigmoid(x[:64]), random.key(3)

    def loss(p):
        mean, log_var = jnp.split(nn.relu(data @ p[0]) @ p[1], 2, -1)
        z = mean + jnp.exp(0.5 * log_var) * random.normal(key, mean.shape, mean.dtype)
        logits = nn.relu(z @ p[2]) @ p[3]
        reconstruction = (nn.softplus(logits) - data * logits).sum(-1)
        return (reconstruction - 0.5 * (1 + log_var - mean**2 - jnp.exp(log_var)).sum(-1)).mean()

    return jax.value_and_grad(loss)(
        (weights(x, 256, 128), weights(x, 128, 32), weights(x, 16, 128), weights(x, 128, 256))
    )


def contrastive(x):
    """InfoNCE over two views, with its gradient."""

    def loss(w):
        a, b = (h / jnp.linalg.norm(h, axis=-1, keepdims=True) for h in (x[:128] @ w, x[128:] @ w))
        logits = a @ b.T / 0.1
        return -(jnp.diag(nn.log_softmax(logits)) + jnp.diag(nn.log_softmax(logits, 0))).mean()

    return jax.grad(loss)(weights(x, 256, 64))


def lstm_language_model(x):
    tokens = (jnp.abs(x[:16, :33]) * 40).astype(jnp.int32) % 97

    def loss(p):
        embed, w, u, out = p

        def step(s, t):
            h, c = s
            i, f, g, o = jnp.split(embed[t] @ w + h @ u, 4, -1)
            c = nn.sigmoid(f + 1) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((16, 64), x.dtype)
        h = lax.scan(step, (zero, zero), tokens[:, :-1].T)[1]
        return -jnp.take_along_axis(nn.log_softmax(h @ out), tokens[:, 1:].T[..., None], -1).mean()

    return jax.grad(loss)((weights(x, 97, 32), weights(x, 32, 256), weights(x, 64, 256), weights(x, 64, 97)))


def transformer_training(x):
    """A causal language model of one layer: loss, gradients, clipping by global norm, AdamW."""
    tokens = (jnp.abs(x[:4, :65]) * 40).astype(jnp.int32) % 128
    p = dict(e=weights(x, 128, 64), qkv=weights(x, 64, 192), o=weights(x, 64, 64), a=weights(x, 64, 256))
    p |= dict(b=weights(x, 256, 64), position=weights(x, 64, 64, at=5))

    def loss(p):
        h = p["e"][tokens[:, :-1]] + p["position"]
        q, k, v = (a.reshape(4, 64, 4, 16) for a in jnp.split(layer_norm(h) @ p["qkv"], 3, -1))
        score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4
        score = jnp.where(jnp.tril(jnp.ones((64, 64), bool)), score, -1e30)
        h = h + jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(score), v).reshape(4, 64, 64) @ p["o"]
        h = h + nn.gelu(layer_norm(h) @ p["a"]) @ p["b"]
        logits = layer_norm(h) @ p["e"].T
        picked = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return (jax.scipy.special.logsumexp(logits, -1) - picked).mean()

    value, g = jax.value_and_grad(loss)(p)
    norm = jnp.sqrt(sum((v * v).sum() for v in g.values()))
    g = {k: v * jnp.minimum(1.0, 1.0 / norm) for k, v in g.items()}
    return value, {k: v - 1e-3 * ((0.1 * g[k]) / (jnp.sqrt(0.01 * g[k] ** 2) + 1e-8) + 0.01 * v) for k, v in p.items()}


def lora_training(x):
    base = weights(x, 256, 256)
    loss = lambda p: ((nn.relu(x @ base + (x @ p[0]) @ p[1]) - x) ** 2).mean()
    return jax.grad(loss)((weights(x, 256, 8), weights(x, 8, 256)))


def q_learning(x):
    """A step of double Q-learning with a target network and Huber's loss."""
    state, after, action = x[:128, :32], x[128:, :32], (jnp.abs(x[:128, 40]) * 30).astype(jnp.int32) % 6
    net = lambda p, s: nn.relu(nn.relu(s @ p[0]) @ p[1]) @ p[2]
    p, old = ((weights(x, 32, 64, at=i), weights(x, 64, 64, at=i), weights(x, 64, 6, at=i)) for i in (0, 9))

    def loss(p):
        best = jnp.argmax(net(p, after), -1)
        target = x[:128, 41] + 0.99 * jnp.take_along_axis(net(old, after), best[:, None], -1)[:, 0]
        error = jnp.take_along_axis(net(p, state), action[:, None], -1)[:, 0] - lax.stop_gradient(target)
        return jnp.where(jnp.abs(error) < 1, 0.5 * error**2, jnp.abs(error) - 0.5).mean()

    return jax.tree.map(lambda p, g, o: (p - 1e-3 * g, 0.99 * o + 0.01 * p), p, jax.grad(loss)(p), old)


def policy_gradient(x):
    """Generalized advantages by a reverse scan and the clipped loss of PPO, with its gradient."""
    reward, value, log_old = x[:, :16], x[:, 16:32], x[:, 32:48] * 0.1
    delta = reward[:-1] + 0.99 * value[1:] - value[:-1]
    _, advantage = lax.scan(lambda c, d: (d + 0.95 * c,) * 2, jnp.zeros(16, x.dtype), delta, reverse=True)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    action = (jnp.abs(x[:-1, 48:64]) * 30).astype(jnp.int32) % 4

    def loss(w):
        logits = nn.log_softmax((x[:-1, 64:128] @ w).reshape(255, 16, 4))
        log_new = jnp.take_along_axis(logits, action[..., None], -1)[..., 0]
        ratio = jnp.exp(log_new - log_old[:-1])
        entropy = -(jnp.exp(logits) * logits).sum(-1)
        return -(jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage) + 0.01 * entropy).mean()

    return jax.grad(loss)(weights(x, 64, 64))


def meta_learning(x):
    """A gradient through an inner gradient step, over 16 tasks at once."""
    tasks = x[:160, :16].reshape(16, 10, 16)

    def inner(p, t):
        return ((jnp.tanh(t @ p[0]) @ p[1]) ** 2).mean()

    def outer(p):
        adapt = lambda t: inner(jax.tree.map(lambda p, g: p - 0.1 * g, p, jax.grad(inner)(p, t[:5])), t[5:])
        return jax.vmap(adapt)(tasks).mean()

    return jax.grad(outer)((weights(x, 16, 32), weights(x, 32, 1)))


def gan_training(x):
    fake = lambda g: nn.tanh(nn.leaky_relu(x[:64, :32] @ g[0]) @ g[1])
    judge = lambda d, v: (nn.leaky_relu(v @ d[0]) @ d[1])[:, 0]
    g, d = (weights(x, 32, 128), weights(x, 128, 256)), (weights(x, 256, 128), weights(x, 128, 1))
    d_loss = lambda d: (nn.softplus(-judge(d, x[64:128])) + nn.softplus(judge(d, fake(g)))).mean()
    g_loss = lambda g: nn.softplus(-judge(d, fake(g))).mean()
    return jax.grad(d_loss)(d), jax.grad(g_loss)(g)


def edge_softmax(x):
    """Attention over the edges of a graph, by segments, with its gradient."""
    source = (jnp.abs(x.ravel()[:4096]) * 1000).astype(jnp.int32) % 512
    target = jnp.sort((jnp.abs(x.ravel()[4096:8192]) * 1000).astype(jnp.int32) % 512)

    def loss(w):
        h = jnp.resize(x, (512, 32)) @ w
        score = nn.leaky_relu(h[source, 0] + h[target, 1], 0.2)
        score = jnp.exp(score - jax.ops.segment_max(score, target, 512)[target])
        a = score / jax.ops.segment_sum(score, target, 512)[target]
        return (jax.ops.segment_sum(a[:, None] * h[source], target, 512) ** 2).sum()

    return jax.grad(loss)(weights(x, 32, 32))


def two_towers(x):
    user, item = ((jnp.abs(x[:, i]) * 3000).astype(jnp.int32) % 1000 for i in (0, 1))

    def loss(p):
        u, v = nn.relu(p[0][user] @ p[2]), nn.relu(p[1][item] @ p[2])
        return -jnp.diag(nn.log_softmax(u @ v.T)).mean()

    return jax.grad(loss)((weights(x, 1000, 32), weights(x, 1000, 32, at=8), weights(x, 32, 32)))


def connectionist_loss(x):
    """The loss of connectionist temporal classification by a scan over time, with its gradient."""
    labels = (jnp.abs(x[:8, :12]) * 30).astype(jnp.int32) % 27 + 1
    extended = jnp.zeros((8, 25), jnp.int32).at[:, 1::2].set(labels)
    skip = jnp.concatenate([jnp.zeros((8, 2), bool), extended[:, 2:] != extended[:, :-2]], 1) & (extended > 0)

    def loss(x):
        log_p = nn.log_softmax(x[: 8 * 28].reshape(8, 28, 256).swapaxes(1, 2)[:, :100])
        log_p = jnp.take_along_axis(log_p, jnp.broadcast_to(extended[:, None], (8, 100, 25)), -1).swapaxes(0, 1)

        def step(a, p):
            one = jnp.pad(a, ((0, 0), (1, 0)), constant_values=-1e9)[:, :-1]
            two = jnp.where(skip, jnp.pad(a, ((0, 0), (2, 0)), constant_values=-1e9)[:, :-2], -1e9)
            return jax.scipy.special.logsumexp(jnp.stack([a, one, two]), 0) + p, None

        start = jnp.where(jnp.arange(25) < 2, log_p[0], -1e9)
        a = lax.scan(step, start, log_p[1:])[0]
        return -jnp.logaddexp(a[:, -1], a[:, -2]).mean()

    return jax.grad(loss)(x)


def quantization_aware(x):
    """Weights and activations rounded to 8 bits with straight-through gradients."""

    def rounded(v, bits=8):
        scale = jnp.max(jnp.abs(v)) / (2 ** (bits - 1) - 1)
        return v + lax.stop_gradient(jnp.clip(jnp.round(v / scale), -127, 127) * scale - v)

    loss = lambda w: (nn.relu(rounded(x) @ rounded(w)) ** 2).mean()
    return jax.grad(loss)(weights(x, 256, 128))


def per_example_gradients(x):
    """Gradients of 64 examples, each clipped to its norm, as private training does."""
    p = (weights(x, 64, 64), weights(x, 64, 10))
    loss = lambda p, v: -nn.log_softmax(nn.relu(v @ p[0]) @ p[1])[3]
    g = jax.vmap(jax.grad(loss), (None, 0))(p, x[:64, :64])
    norm = jnp.sqrt(sum((v**2).sum((1, 2)) for v in g))
    return tuple((v * jnp.minimum(1.0, 1.0 / norm)[:, None, None]).mean(0) for v in g)


def hessian_vector(x):
    p = weights(x, 64, 64)
    loss = lambda w: (jnp.tanh(x[:, :64] @ w) ** 2).mean()
    return jax.jvp(jax.grad(loss), (p,), (x[:64, 64:128],))[1]


def rematerialized(x):
    """A deep stack whose activations are computed again in the backward pass."""
    layer = jax.checkpoint(lambda h, w: nn.gelu(layer_norm(h) @ w) + h)
    loss = lambda w: (lax.scan(lambda h, w: (layer(h, w), None), x[:, :64], w)[0] ** 2).mean()
    return jax.grad(loss)(weights(x, 6, 64, 64))


DIMS = (256, 256)  # of their argument
PROGRAMS = {
    f.__name__: f
    for f in (
        cnn_training, depthwise_training, unet_training, vae_training, contrastive, lstm_language_model,
        transformer_training, lora_training, q_learning, policy_gradient, meta_learning, gan_training, edge_softmax,
        two_towers, connectionist_loss, quantization_aware, per_example_gradients, hessian_vector, rematerialized,
    )
}  # fmt: skip
