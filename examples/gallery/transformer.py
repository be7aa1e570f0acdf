"""The forward pass of a small transformer: token scores from token numbers."""

import numpy as np
import xla


def layer_norm(x, scale, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * scale + bias


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, block, heads):
    n, d = x.shape
    q, k, v = ((x @ block[name]).reshape(n, heads, d // heads).transpose(1, 0, 2) for name in ("q", "k", "v"))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads).astype(x.dtype)
    ahead = np.arange(n)[None, :] > np.arange(n)[:, None]
    mixed = softmax(np.where(ahead, np.float32(-1e9), scores)) @ v
    return mixed.transpose(1, 0, 2).reshape(n, d) @ block["out"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@xla.compile(static_argnames="heads")
def program(tokens, weights, heads=4):
    """tokens (n,) integers, weights: a dict of arrays and a list of blocks; scores (n, vocabulary), float32."""
    x = weights["embedding"][tokens] + weights["position"]
    for block in weights["blocks"]:
        x = x + attention(layer_norm(x, *block["norm1"]), block, heads)
        hidden = gelu(layer_norm(x, *block["norm2"]) @ block["up"])
        x = x + hidden @ block["down"]
    return layer_norm(x, *weights["norm"]) @ weights["embedding"].T


def inputs(small, rng):
    n, d, vocabulary, layers = (6, 8, 11, 2) if small else (128, 256, 1000, 4)
    matrix = lambda a, b: (rng.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32)
    norm = lambda: (np.ones(d, np.float32), np.zeros(d, np.float32))
    blocks = []
    for _ in range(layers):
        block = {name: matrix(d, d) for name in ("q", "k", "v", "out")}
        blocks.append({**block, "up": matrix(d, 4 * d), "down": matrix(4 * d, d), "norm1": norm(), "norm2": norm()})
    weights = {"embedding": matrix(vocabulary, d), "position": matrix(n, d), "blocks": blocks, "norm": norm()}
    return rng.integers(0, vocabulary, n), weights
