"""The deterministic inputs that `xla replay` makes (service/inputs.h), for the peers: same bits, little memory.

Element i of parameter p has bits(p, i) = splitmix64((p << 40) + i). Truth values: the top bit. Integers: the top two
bits. Floats: u = (bits >> 40) / 2^24; with two and more dimensions (u - 0.5) / 5, else 0.5 + u / 2, in f32, then
rounded to the type. Complex numbers take two elements of the stream each.
"""

import concurrent.futures
import math
import os

import numpy as np

CHUNK = 1 << 16  # elements: what is computed at a time stays in the cache
U = np.uint64


class Stream:
    """The bits of a part of a parameter, chunk by chunk, in memory of its own."""

    def __init__(self, parameter):
        self.first = U((parameter << 40) + 0x9E3779B97F4A7C15)
        self.count = np.arange(CHUNK, dtype=U)
        self.x, self.shifted = np.empty(CHUNK, U), np.empty(CHUNK, U)

    def bits(self, start, count):
        x, shifted = self.x[:count], self.shifted[:count]
        with np.errstate(over="ignore"):
            np.add(self.count[:count], self.first + U(start), out=x)
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
                np.right_shift(x, U(shift), out=shifted)
                np.bitwise_xor(x, shifted, out=x)
                np.multiply(x, U(factor), out=x)
            np.right_shift(x, U(31), out=shifted)
            return np.bitwise_xor(x, shifted, out=x)

    def fill(self, out, start, rank):
        """Writes `out`, the elements from `start` on."""
        x, dtype = self.bits(start, out.size), out.dtype
        if dtype.kind == "b":
            out[:] = x >> U(63)
        elif dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
            out[:] = (x >> U(62)).astype(np.int8).astype(dtype)
        else:
            np.right_shift(x, U(40), out=x)
            # At most 24 bits: signed numbers become floats faster, to the same value.
            f = x.view(np.int64).astype(np.float32)
            f /= np.float32(1 << 24)
            if rank >= 2:
                f -= np.float32(0.5)
                f *= np.float32(0.2)
            else:
                f *= np.float32(0.5)
                f += np.float32(0.5)
            out[:] = f.astype(dtype)


def make(parameter, dims, dtype):
    """Parameter number `parameter`, of shape `dims` and a NumPy (or ml_dtypes) type; its memory begins at a multiple of
    64 bytes, so that a peer can use it where it is."""
    dtype = np.dtype(dtype)
    count = math.prod(dims)
    raw = np.empty(count * dtype.itemsize + 64, np.uint8)
    out = raw[-raw.ctypes.data % 64 :][: count * dtype.itemsize].view(dtype)
    # A complex number is two floats of the stream.
    flat = out.view(out.real.dtype) if dtype.kind == "c" else out

    def part(begin, end):
        stream = Stream(parameter)
        for start in range(begin, end, CHUNK):
            stream.fill(flat[start : min(start + CHUNK, end)], start, len(dims))

    threads = len(os.sched_getaffinity(0)) if flat.size > 8 * CHUNK else 1
    step = -(-flat.size // (threads * CHUNK)) * CHUNK
    if threads == 1:
        part(0, flat.size)
    else:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda n: part(n * step, min((n + 1) * step, flat.size)), range(threads)))
    return out.reshape(dims)
