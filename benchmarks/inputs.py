"""The deterministic inputs that `xla replay` makes (service/inputs.h), for the peers: same bits, little memory.

Element i of parameter p has bits(p, i) = splitmix64((p << 40) + i). Truth values: the top bit. Integers: the top two
bits. Floats: u = (bits >> 40) / 2^24; with two and more dimensions (u - 0.5) / 5, else 0.5 + u / 2, in f32, then
rounded to the type. Complex numbers take two elements of the stream each.
"""

import math

import numpy as np

CHUNK = 1 << 16  # elements: what is computed at a time stays in the cache
U = np.uint64


def bits(parameter, start, count):
    with np.errstate(over="ignore"):
        x = np.arange(start, start + count, dtype=U)
        x += U((parameter << 40) + 0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x ^= x >> U(shift)
            x *= U(factor)
        x ^= x >> U(31)
        return x


def elements(parameter, start, count, rank, dtype):
    x = bits(parameter, start, count)
    if dtype.kind == "b":
        return (x >> U(63)).astype(bool)
    if dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
        return (x >> U(62)).astype(np.int8).astype(dtype)
    u = (x >> U(40)).astype(np.float32) / np.float32(1 << 24)
    f = (u - np.float32(0.5)) * np.float32(0.2) if rank >= 2 else u * np.float32(0.5) + np.float32(0.5)
    return f.astype(dtype)


def make(parameter, dims, dtype):
    """Parameter number `parameter`, of shape `dims` and a NumPy (or ml_dtypes) type; its memory begins at a multiple of
    64 bytes, so that a peer can use it where it is."""
    dtype = np.dtype(dtype)
    count = math.prod(dims)
    raw = np.empty(count * dtype.itemsize + 64, np.uint8)
    out = raw[-raw.ctypes.data % 64 :][: count * dtype.itemsize].view(dtype)
    # A complex number is two floats of the stream.
    flat, part = (out.view(out.real.dtype), out.real.dtype) if dtype.kind == "c" else (out, dtype)
    for start in range(0, flat.size, CHUNK):
        n = min(CHUNK, flat.size - start)
        flat[start : start + n] = elements(parameter, start, n, len(dims), part)
    return out.reshape(dims)
