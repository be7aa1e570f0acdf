"""xla.nn: functions of neural networks, written in NumPy: they work in compiled functions and on plain arrays.

Arrays are laid out (batch, …, features); `axis` counts from the end where it is negative.
"""

import math

import numpy as np

from . import _ops
from ._tracer import Tracer
from .lax import avg_pool, conv_general, max_pool, random

__all__ = """avg_pool batch_norm celu conv conv_general cross_entropy dropout elu embedding gelu glu hard_tanh layer_norm
leaky_relu log_sigmoid log_softmax logsumexp max_pool mish one_hot relu relu6 rms_norm scaled_dot_product_attention selu
sigmoid silu softmax softplus standardize swish tanh""".split()


def _array(x):
    return x if isinstance(x, Tracer) else np.asarray(x)


def relu(x):
    """max(x, 0), element by element: the shape and type of x.

    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return np.maximum(x, 0)


def relu6(x):
    """min(max(x, 0), 6), element by element: the shape and type of x.

    >>> relu6(np.array([-1.0, 2.0, 9.0]))
    array([0., 2., 6.])
    """
    return np.minimum(np.maximum(x, 0), 6)


def leaky_relu(x, negative_slope=0.01):
    """x where it is positive, else negative_slope * x; the shape of x.

    >>> leaky_relu(np.array([-2.0, 2.0]), 0.5)
    array([-1.,  2.])
    """
    return np.where(_array(x) >= 0, x, negative_slope * x)


def elu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x) - 1); the shape of x.

    >>> np.round(elu(np.array([-1.0, 2.0])), 4)
    array([-0.6321,  2.    ])
    """
    return np.where(_array(x) > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def celu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x / alpha) - 1); the shape of x.

    >>> np.round(celu(np.array([-2.0, 2.0]), 2.0), 4)
    array([-1.2642,  2.    ])
    """
    return np.where(_array(x) > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


def selu(x):
    """elu with the constants that keep mean and variance (Klambauer et al., 2017); the shape of x.

    >>> np.round(selu(np.array([-1.0, 1.0])), 4)
    array([-1.1113,  1.0507])
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow; the shape of x.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    x = _array(x)
    if isinstance(x, Tracer) and x.dtype.kind == "f":
        return Tracer(_ops.unary("logistic", x.value))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def log_sigmoid(x):
    """log(sigmoid(x)), without overflow; the shape of x.

    >>> log_sigmoid(np.array([-1000.0]))
    array([-1000.])
    """
    return -softplus(-_array(x))


def silu(x):
    """x * sigmoid(x), element by element: the shape of x. `swish` is another name of it.

    >>> np.round(silu(np.array([0.0, 1.0])), 4)
    array([0.    , 0.7311])
    """
    return x * sigmoid(x)


swish = silu


def softplus(x):
    """log(1 + exp(x)), without overflow; the shape of x.

    >>> np.round(softplus(np.array([0.0, 1000.0])), 4)
    array([6.931e-01, 1.000e+03])
    """
    return np.logaddexp(x, 0)


def mish(x):
    """x * tanh(softplus(x)), element by element: the shape of x.

    >>> np.round(mish(np.array([0.0, 1.0])), 4)
    array([0.    , 0.8651])
    """
    return x * np.tanh(softplus(x))


def tanh(x):
    """The hyperbolic tangent, element by element: the shape of x.

    >>> np.round(tanh(np.array([0.0, 1.0])), 4)
    array([0.    , 0.7616])
    """
    return np.tanh(x)


def hard_tanh(x):
    """x moved between -1 and 1: the shape and type of x.

    >>> hard_tanh(np.array([-3.0, 0.5, 3.0]))
    array([-1. ,  0.5,  1. ])
    """
    return np.clip(x, -1, 1)


def _erf(x):
    if isinstance(x, Tracer):
        return Tracer(_ops.unary("erf", x.value))
    x = np.asarray(x)
    return np.vectorize(math.erf, otypes=[x.dtype])(x) if x.size else x.copy()


def gelu(x, approximate=True):
    """x times the normal distribution's value at x; `approximate`: by tanh, as most networks have it.

    >>> round(float(gelu(np.array(1.0))), 4)
    0.8412
    """
    x = _array(x)
    if approximate:
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return x * 0.5 * (1 + _erf(x * math.sqrt(0.5)))


def glu(x, axis=-1):
    """The first half of x along an axis times the sigmoid of the second.

    x: (…, 2n, …). Gives (…, n, …).

    >>> glu(np.array([4.0, 6.0, 0.0, 0.0]))
    array([2., 3.])
    """
    first, second = np.split(_array(x), 2, axis=axis)
    return first * sigmoid(second)


def softmax(x, axis=-1, where=None):
    """exp(x) / sum(exp(x)) along an axis, without overflow; the shape of x. `where`: which elements count.

    >>> softmax(np.array([1.0, 1.0]))
    array([0.5, 0.5])
    """
    x = _array(x)
    if where is not None:
        x = np.where(where, x, -np.inf)
    high = np.max(x, axis=axis, keepdims=True)
    if where is not None:
        high = np.where(np.isfinite(high), high, np.zeros_like(high))
    e = np.exp(x - high)
    return e / np.sum(e, axis=axis, keepdims=True)


def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))) along an axis or a tuple of axes (None: all), without overflow.

    x: floats. Gives the shape of x without these axes, with size 1 there if keepdims.

    >>> float(logsumexp(np.array([1000.0, -1000.0])))
    1000.0
    """
    x = _array(x)
    high = np.max(x, axis=axis, keepdims=True)
    high = np.where(np.isfinite(high), high, np.zeros_like(high))
    total = np.log(np.sum(np.exp(x - high), axis=axis, keepdims=True)) + high
    return total if keepdims else np.squeeze(total, axis=axis)


def log_softmax(x, axis=-1):
    """log(softmax(x)) along an axis, without overflow; the shape of x.

    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    x = _array(x)
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def one_hot(x, num_classes, dtype=np.float64, axis=-1):
    """1 at the place of each index of x, else 0; indices outside give 0 everywhere.

    x: integers of shape S. Gives S with an axis of num_classes put in at `axis`.

    >>> one_hot(np.array([1, 0]), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    x = _array(x)
    found = (x[..., None] == np.arange(num_classes)).astype(dtype)
    return found if axis == -1 else np.moveaxis(found, -1, axis)


def cross_entropy(logits, labels, axis=-1):
    """-log(softmax(logits)) at the labels.

    logits: (…, classes, …) floats, classes at `axis`; labels: integers of the shape of logits without `axis`, which the
    result has too, with the type of logits.

    >>> np.round(cross_entropy(np.array([[0.0, 0.0], [99.0, 0.0]]), np.array([0, 1])), 4)
    array([ 0.6931, 99.    ])
    """
    logits, labels = _array(logits), _array(labels)
    ones = one_hot(labels, logits.shape[axis], logits.dtype, axis)
    return -np.sum(log_softmax(logits, axis) * ones, axis=axis)


def embedding(table, indices):
    """Rows of a table (entries, features) at integer indices of shape S: (*S, features), of the table's type.

    >>> embedding(np.array([[1, 2], [3, 4]]), np.array([1, 0, 1]))
    array([[3, 4],
           [1, 2],
           [3, 4]])
    """
    return _array(table)[indices]


def standardize(x, axis=-1, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon), mean and variance taken along an axis or a tuple of axes; the shape of x.

    >>> standardize(np.array([1.0, 3.0, 1.0, 3.0]), epsilon=0)
    array([-1.,  1., -1.,  1.])
    """
    x = _array(x)
    centered = x - np.mean(x, axis=axis, keepdims=True)
    return centered / np.sqrt(np.mean(centered * centered, axis=axis, keepdims=True) + epsilon)


def layer_norm(x, scale=None, bias=None, axis=-1, epsilon=1e-5):
    """x standardized along an axis or a tuple of axes, times scale, plus bias.

    scale, bias: broadcast to the shape of x, which the result has; None leaves them out.

    >>> layer_norm(np.array([[1.0, 3.0]]), scale=2.0, bias=np.array([0.5, 0.5]), epsilon=0)
    array([[-1.5,  2.5]])
    """
    result = standardize(x, axis, epsilon)
    result = result if scale is None else result * scale
    return result if bias is None else result + bias


def rms_norm(x, scale=None, axis=-1, epsilon=1e-6):
    """x / sqrt(mean(x * x) + epsilon), the mean taken along an axis or a tuple of axes, times scale.

    scale: broadcast to the shape of x, which the result has; None leaves it out.

    >>> rms_norm(np.array([3.0, 3.0, 3.0]), scale=np.array([1.0, 2.0, 3.0]), epsilon=0)
    array([1., 2., 3.])
    """
    x = _array(x)
    result = x / np.sqrt(np.mean(x * x, axis=axis, keepdims=True) + epsilon)
    return result if scale is None else result * scale


def batch_norm(x, mean, variance, scale=None, bias=None, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias with a given mean and variance.

    x: (…, features); mean, variance, scale, bias: (features,) or a number; None leaves out scale or bias. Gives the
    shape of x.

    >>> batch_norm(np.array([[3.0, 5.0]]), mean=np.array([1.0, 1.0]), variance=np.array([4.0, 16.0]), epsilon=0)
    array([[1., 1.]])
    """
    factor = 1 / np.sqrt(_array(variance) + epsilon)
    factor = factor if scale is None else factor * scale
    result = (_array(x) - mean) * factor
    return result if bias is None else result + bias


def dropout(key, x, rate, deterministic=False):
    """x with each element set to 0 with probability `rate`, the others divided by 1 - rate; the shape of x.

    key: a key of `lax.random`. rate: a number from 0 to 1 (out). deterministic: x as it is, for inference.

    >>> dropout(xla.lax.random.key(0), np.ones(4), 0.5)
    array([2., 2., 0., 0.])
    """
    x = _array(x)
    if deterministic or rate == 0:
        return x
    keep = random.bernoulli(key, 1 - rate, x.shape)
    return np.where(keep, x / (1 - rate), np.zeros_like(x))


def conv(x, kernel, strides=1, padding="SAME", groups=1, dilation=1):
    """A convolution: x (batch, spatial…, channels), kernel (spatial…, channels / groups, outputs) give
    (batch, spatial…, outputs).

    >>> conv(np.ones((1, 8, 8, 3)), np.ones((3, 3, 3, 4))).shape
    (1, 8, 8, 4)
    """
    letters = "XYZUVW"[: len(x.shape) - 2]
    numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    return conv_general(x, kernel, strides, padding, 1, dilation, numbers, groups)


def scaled_dot_product_attention(query, key, value, mask=None, causal=False):
    """softmax(query · key / sqrt(depth)) · value.

    query: (…, n, d), key: (…, m, d), value: (…, m, e). mask: bool, broadcast to (…, n, m); False is not looked at.
    causal: position i looks at positions up to i. Gives (…, n, e).

    >>> scaled_dot_product_attention(np.zeros((2, 4)), np.zeros((2, 4)), np.array([[1.0], [3.0]]), causal=True)
    array([[1.],
           [2.]])
    """
    query, key = _array(query), _array(key)
    scores = (query / math.sqrt(query.shape[-1])) @ np.swapaxes(key, -1, -2)
    if causal:
        n, m = scores.shape[-2:]
        order = np.arange(m) <= np.arange(n)[:, None]
        mask = order if mask is None else np.logical_and(mask, order)
    if mask is not None:
        scores = np.where(mask, scores, np.asarray(-1e30 if scores.dtype.itemsize > 2 else -6e4, scores.dtype))
    return softmax(scores) @ value
