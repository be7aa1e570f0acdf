"""Random numbers from keys: the same key gives the same numbers, on every machine, compiled or not.

A key is an array of two uint32 numbers. The bits are those of the Threefry-2x32 generator (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", 2011) over a counter of the element's place, with 20 rounds.

>>> key = key(0)
>>> first, second = split(key)
>>> normal(first, (2, 3)).shape
(2, 3)
"""

import math

import numpy as np

from .. import _hlo, _ops, _tracer
from .._tracer import Tracer

__all__ = """bernoulli bits categorical choice exponential fold_in gumbel key normal permutation randint split
uniform""".split()

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def key(seed):
    """The key of an integer (which may be traced): an array of shape (2,), uint32.

    >>> key(42)
    array([ 0, 42], dtype=uint32)
    """
    if isinstance(seed, Tracer):
        seed = seed.astype(np.uint64)
        return np.stack([(seed >> np.uint64(32)).astype(np.uint32), seed.astype(np.uint32)])
    seed = int(seed) & (2**64 - 1)
    return np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)


def _rotated(x, distance):
    return (x << np.uint32(distance)) | (x >> np.uint32(32 - distance))


def _threefry(key_, high, low):
    """Two arrays of 32 random bits for arrays of counters."""
    keys = [key_[0], key_[1]]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    x, y = high + keys[0], low + keys[1]
    for block in range(5):
        for distance in _ROTATIONS[block % 2]:
            x = x + y
            y = _rotated(y, distance) ^ x
        x = x + keys[(block + 1) % 3]
        y = y + keys[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


def _counters(shape):
    size = math.prod(shape)
    if size > 2**32:
        raise ValueError(f"random arrays have 2**32 elements at most, not {size}")
    if _hlo.is_tracing():
        low = Tracer(_ops.reshape(_ops.iota(np.uint32, (size,), 0), shape))
        return Tracer(_ops.full(0, np.uint32, shape)), low
    return np.zeros(shape, np.uint32), np.arange(size, dtype=np.uint32).reshape(shape)


def _checked(key_, shape):
    if tuple(key_.shape) != (2,) or key_.dtype != np.uint32:
        raise TypeError(f"a key is what random.key gives: shape (2,), uint32, not {tuple(key_.shape)}, {key_.dtype}")
    return tuple(int(d) for d in ((shape,) if np.ndim(shape) == 0 else shape))


def split(key_, num=2):
    """`num` new keys, an array of shape (num, 2), uint32: use each for one thing.

    >>> split(key(0), 3).shape
    (3, 2)
    """
    (count,) = _checked(key_, num)
    return np.stack(_threefry(key_, *_counters((count,))), axis=-1)


def fold_in(key_, data):
    """A new key (2,), uint32, from a key and an integer, such as the number of a step, which may be traced.

    >>> fold_in(key(0), 7)
    array([2716826189,  292468403], dtype=uint32)
    """
    _checked(key_, ())
    seed = key(data)
    x, y = _threefry(key_, seed[:1], seed[1:])
    return np.concatenate([x, y])


def bits(key_, shape=(), dtype=np.uint32):
    """Random bits: unsigned integers of a shape and type, all numbers alike.

    >>> bits(key(0), (2, 3), np.uint8).dtype
    dtype('uint8')
    """
    shape, dtype = _checked(key_, shape), np.dtype(dtype)
    if dtype.kind != "u":
        raise TypeError(f"random bits are unsigned integers, not {dtype}")
    x, y = _threefry(key_, *_counters(shape))
    if dtype.itemsize == 8:
        return (x.astype(np.uint64) << np.uint64(32)) | y.astype(np.uint64)
    return (x ^ y).astype(dtype)


def _float_bits(dtype):
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"random floats are float32 or float64, not {dtype}; convert them with astype")
    return (np.uint32, 23, 0x3F800000) if dtype == np.float32 else (np.uint64, 52, 0x3FF0000000000000)


def uniform(key_, shape=(), dtype=np.float64, minval=0.0, maxval=1.0):
    """Floats from minval (in) to maxval (out), all alike.

    >>> uniform(key(1), (3,)).shape
    (3,)
    """
    dtype = np.dtype(dtype)
    unsigned, mantissa, one = _float_bits(dtype)
    drawn = bits(key_, shape, unsigned)
    drawn = (drawn >> unsigned(8 * dtype.itemsize - mantissa)) | unsigned(one)
    if isinstance(drawn, Tracer):
        unit = Tracer(_ops.bitcast_convert(drawn.value, dtype)) - dtype.type(1)
    else:
        unit = np.asarray(drawn).view(dtype) - dtype.type(1)
    low = dtype.type(minval) if not isinstance(minval, Tracer) else minval.astype(dtype)
    high = dtype.type(maxval) if not isinstance(maxval, Tracer) else maxval.astype(dtype)
    return np.maximum(unit * (high - low) + low, low)


# Polynomials of M. Giles, "Approximating the erfinv function" (2010), highest power first: for single precision in
# w = -log((1 - x) * (1 + x)) below and above 5, for double precision below 6.25, below 16 and above.
_SINGLE = (
    "2.81022636e-08 3.43273939e-07 -3.5233877e-06 -4.39150654e-06 0.00021858087 -0.00125372503 -0.00417768164 0.246640727 "
    "1.50140941",
    "-0.000200214257 0.000100950558 0.00134934322 -0.00367342844 0.00573950773 -0.0076224613 0.00943887047 1.00167406 "
    "2.83297682",
)
_DOUBLE = (
    "-3.6444120640178196996e-21 -1.685059138182016589e-19 1.2858480715256400167e-18 1.115787767802518096e-17 "
    "-1.333171662854620906e-16 2.0972767875968561637e-17 6.6376381343583238325e-15 -4.0545662729752068639e-14 "
    "-8.1519341976054721522e-14 2.6335093153082322977e-12 -1.2975133253453532498e-11 -5.4154120542946279317e-11 "
    "1.051212273321532285e-09 -4.1126339803469836976e-09 -2.9070369957882005086e-08 4.2347877827932403518e-07 "
    "-1.3654692000834678645e-06 -1.3882523362786468719e-05 0.0001867342080340571352 -0.00074070253416626697512 "
    "-0.0060336708714301490533 0.24015818242558961693 1.6536545626831027356",
    "2.2137376921775787049e-09 9.0756561938885390979e-08 -2.7517406297064545428e-07 1.8239629214389227755e-08 "
    "1.5027403968909827627e-06 -4.013867526981545969e-06 2.9234449089955446044e-06 1.2475304481671778723e-05 "
    "-4.7318229009055733981e-05 6.8284851459573175448e-05 2.4031110387097893999e-05 -0.0003550375203628474796 "
    "0.00095328937973738049703 -0.0016882755560235047313 0.0024914420961078508066 -0.0037512085075692412107 "
    "0.005370914553590063617 1.0052589676941592334 3.0838856104922207635",
    "-2.7109920616438573243e-11 -2.5556418169965252055e-10 1.5076572693500548083e-09 -3.7894654401267369937e-09 "
    "7.6157012080783393804e-09 -1.4960026627149240478e-08 2.9147953450901080826e-08 -6.7711997758452339498e-08 "
    "2.2900482228026654717e-07 -9.9298272942317002539e-07 4.5260625972231537039e-06 -1.9681778105531670567e-05 "
    "7.5995277030017761139e-05 -0.00021503011930044477347 -0.00013871931833623122026 1.0103004648645343977 "
    "4.8499064014085844221",
)


def _polynomial(text, x, dtype):
    result = None
    for coefficient in text.split():
        c = dtype.type(float(coefficient))
        result = x * 0 + c if result is None else result * x + c
    return result


def _erfinv(x):
    """The inverse of the error function, element by element, for floats between -1 and 1; a few units in the last place."""
    x = x if isinstance(x, Tracer) else np.asarray(x)
    dtype = x.dtype
    half = dtype.type
    w = np.minimum(-np.log(np.maximum((1 - x) * (1 + x), np.finfo(dtype).tiny)), half(60))
    if dtype == np.float32:
        root = np.sqrt(np.maximum(w, half(5))) - half(3)
        p = np.where(w < 5, _polynomial(_SINGLE[0], w - half(2.5), dtype), _polynomial(_SINGLE[1], root, dtype))
    else:
        root = np.sqrt(np.maximum(w, half(6.25)))
        far = np.where(
            w < 16, _polynomial(_DOUBLE[1], root - half(3.25), dtype), _polynomial(_DOUBLE[2], root - half(5), dtype)
        )
        p = np.where(w < 6.25, _polynomial(_DOUBLE[0], np.minimum(w, half(6.25)) - half(3.125), dtype), far)
    return np.where(np.abs(x) == 1, np.sign(x) * half(np.inf), p * x)


def normal(key_, shape=(), dtype=np.float64):
    """Floats (float32 or float64) of a shape, of the normal distribution of mean 0 and variance 1.

    >>> np.round(normal(key(0), (2,)), 4)
    array([-0.2058, -0.7848])
    """
    dtype = np.dtype(dtype)
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    return dtype.type(np.sqrt(2)) * _erfinv(uniform(key_, shape, dtype, low, dtype.type(1)))


def randint(key_, shape, minval, maxval, dtype=np.int64):
    """Integers from minval (in) to maxval (out), all alike but for a bias of less than (maxval - minval) / 2**64.

    minval, maxval: integers, traced or not, of shapes that broadcast to `shape`. Gives `shape` of an integer type.

    >>> randint(key(0), (5,), 0, 6)
    array([3, 5, 5, 5, 3])
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"randint gives integers, not {dtype}")
    pair = split(key_)
    high, low = bits(pair[0], shape, np.uint64), bits(pair[1], shape, np.uint64)
    span = np.asarray(maxval - minval) if not isinstance(maxval - minval, Tracer) else maxval - minval
    span = np.maximum(span, 1).astype(np.uint64)
    # (high * 2**64 + low) mod span
    factor = (np.uint64(2**63) % span) * np.uint64(2) % span
    drawn = ((high % span) * factor + low % span) % span
    return (drawn.astype(np.int64) + minval).astype(dtype)


def bernoulli(key_, p=0.5, shape=None):
    """True with probability p.

    p: a number or an array, broadcast to `shape`. Gives bools of `shape`; without it, of p's shape.

    >>> bernoulli(key(0), 0.5, (4,))
    array([ True,  True, False, False])
    """
    shape = (p.shape if isinstance(p, Tracer) else np.shape(p)) if shape is None else shape
    return uniform(key_, shape) < p


def exponential(key_, shape=(), dtype=np.float64):
    """Floats (float32 or float64) of a shape, of the exponential distribution of mean 1.

    >>> np.round(exponential(key(0), (2,)), 4)
    array([0.5421, 0.2437])
    """
    return -np.log1p(-uniform(key_, shape, dtype))


def gumbel(key_, shape=(), dtype=np.float64):
    """Floats (float32 or float64) of a shape, of the standard Gumbel distribution.

    >>> np.round(gumbel(key(0), (2,)), 4)
    array([ 0.1379, -0.426 ])
    """
    dtype = np.dtype(dtype)
    return -np.log(-np.log(uniform(key_, shape, dtype, np.finfo(dtype).tiny, 1.0)))


def categorical(key_, logits, axis=-1, shape=None):
    """Indices (int64) along `axis` with probabilities softmax(logits).

    logits: floats (float32 or float64). shape: that of the result, which the other axes of logits are broadcast to;
    without it, these axes.

    >>> categorical(key(0), np.array([0.0, -np.inf, -np.inf]), shape=(4,))
    array([0, 0, 0, 0])
    """
    logits = logits if isinstance(logits, Tracer) else np.asarray(logits)
    axis %= len(logits.shape)
    rest = tuple(d for i, d in enumerate(logits.shape) if i != axis)
    shape = rest if shape is None else tuple(shape)
    moved = np.moveaxis(logits, axis, -1)
    return np.argmax(moved + gumbel(key_, (*shape, moved.shape[-1]), logits.dtype), axis=-1)


def _rows(array, indices):
    return (_tracer.tracer_of(array) if isinstance(indices, Tracer) else array)[indices]


def permutation(key_, x):
    """The numbers below x, or the slices of x along its first axis, in random order.

    x: an integer, for a result of shape (x,), int64; or an array, whose shape and type the result has.

    >>> permutation(key(0), 5)
    array([1, 0, 4, 3, 2])
    """
    if np.ndim(value := x if not isinstance(x, Tracer) else np.empty(x.shape)) == 0:
        x = np.arange(int(value))
    order = np.argsort(bits(key_, (x.shape[0],), np.uint64), kind="stable")
    return _rows(x, order)


def choice(key_, a, shape=(), replace=True, p=None):
    """Elements of a (or of the numbers below a), with probabilities p if they are given.

    a: (n, …) or an integer n. p: (n,) numbers, whose sum is made 1. replace: may a slice be drawn twice? Gives `shape`
    followed by a's other dimensions, of a's type.

    >>> choice(key(0), np.array([10, 20, 30]), (2,), p=np.array([0.0, 1.0, 0.0]))
    array([20, 20])
    """
    a = np.arange(int(a)) if not isinstance(a, Tracer) and np.ndim(a) == 0 else a
    a = a if isinstance(a, Tracer) else np.asarray(a)
    if replace:
        if p is None:
            return _rows(a, randint(key_, shape, 0, a.shape[0]))
        total = np.cumsum(p if isinstance(p, Tracer) else np.asarray(p))
        return _rows(a, np.searchsorted(total, uniform(key_, shape) * total[-1], side="right"))
    count = math.prod(shape) if np.ndim(shape) else int(shape)
    if count > a.shape[0]:
        raise ValueError(f"{count} different elements cannot be drawn from {a.shape[0]}")
    if p is None:
        order = np.argsort(bits(key_, (a.shape[0],), np.uint64), kind="stable")
    else:
        p = p if isinstance(p, Tracer) else np.asarray(p)
        order = np.argsort(-(np.log(p) + gumbel(key_, (a.shape[0],))), kind="stable")
    return _rows(a, order[:count].reshape(shape))
