"""Cases of tf_ops.py: arrays of levels of a range, which the host computes with, and candidates sampled for classes."""

import numpy as np
import tensorflow as tf

from cases import F32, I8, I32, I64, U8, Fed, fed
from cases_records import host

raw = tf.raw_ops
UNSIGNED, SIGNED, WIDE = tf.quint8, tf.qint8, tf.qint32


def levels(array, target):
    """A placeholder's integers as quantized ones."""
    return raw.Bitcast(input=array, type=target)


def plain(results):
    """Quantized results as integers, which NumPy knows."""
    names = {UNSIGNED: tf.uint8, SIGNED: tf.int8, WIDE: tf.int32}
    return [raw.Bitcast(input=r, type=names[r.dtype]) if r.dtype in names else r for r in results]


def quantized(op, operands, **rest):
    """A case whose `operands` are cast to quantized types: name to (array, type)."""

    def build(a):
        call = {k: levels(v, operands[k][1]) if k in operands else v for k, v in a.items()}
        return plain(getattr(raw, op)(**call))

    return host(op, dict({k: Fed(v) for k, (v, _) in operands.items()}, **rest), build=build)


def ends(low, high, *names):
    return {name: Fed(np.array(v, F32)) for name, v in zip(names, (low, high))}


def numbers(shape, dtype, seed=0):
    low, high = {U8: (0, 256), I8: (-128, 128), I32: (-(2**31), 2**31)}[dtype]
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)


RANGES = ((-1.5, 2.0), (0.0, 3.0), (-4.0, 1.0), (-1.0, 1.0))


def products():
    for low, high in RANGES:
        for ta in (False, True):
            for tb in (False, True):
                a, b = numbers([5, 3] if ta else [3, 5], U8), numbers([4, 5] if tb else [5, 4], U8, 1)
                call = dict(ends(low, high, "min_a", "max_a"), **ends(-0.5, 0.75, "min_b", "max_b"))
                call.update(Toutput=WIDE, transpose_a=ta, transpose_b=tb)
                yield quantized("QuantizedMatMul", {"a": (a, UNSIGNED), "b": (b, UNSIGNED)}, **call)
        for stride in (1, 2):
            for padding in ("SAME", "VALID"):
                image, kernel = numbers([2, 7, 6, 3], U8), numbers([3, 2, 3, 4], U8, 1)
                call = dict(ends(low, high, "min_input", "max_input"), **ends(-1.0, 1.25, "min_filter", "max_filter"))
                call.update(strides=[1, stride, stride, 1], padding=padding, out_type=WIDE)
                yield quantized("QuantizedConv2D", {"input": (image, UNSIGNED), "filter": (kernel, UNSIGNED)}, **call)
        call = dict(ends(low, high, "min_x", "max_x"), **ends(-1.0, 1.25, "min_y", "max_y"))
        for shape in ([4, 5], []):
            operands = {"x": (numbers([4, 5], U8), UNSIGNED), "y": (numbers(shape, U8, 1), UNSIGNED)}
            yield quantized("QuantizedMul", operands, Toutput=WIDE, **call)


def pooling():
    for low, high in RANGES[:2]:
        for padding in ("SAME", "VALID"):
            for stride in (1, 2):
                for dtype, target in ((U8, UNSIGNED), (I8, SIGNED)):
                    call = dict(ends(low, high, "min_input", "max_input"), ksize=[1, 3, 2, 1], padding=padding)
                    call.update(strides=[1, stride, stride, 1])
                    if target == UNSIGNED:
                        yield quantized("QuantizedAvgPool", {"input": (numbers([2, 7, 6, 3], dtype), target)}, **call)
                        yield quantized("QuantizedMaxPool", {"input": (numbers([2, 7, 6, 3], dtype), target)}, **call)


def ranges():
    for low, high in RANGES:
        features = {"features": (numbers([40], U8), UNSIGNED)}
        call = dict(ends(low, high, "min_features", "max_features"), out_type=UNSIGNED)
        for op in ("QuantizedRelu", "QuantizedRelu6"):
            yield quantized(op, features, **call)
        wide = dict(ends(-2 * high, 3 * high, "min_features", "max_features"), out_type=UNSIGNED)
        yield quantized("QuantizedRelu6", features, **wide)
        tensor = {"tensor": (numbers([4, 6], U8), UNSIGNED)}
        yield quantized("QuantizedReshape", tensor, shape=[2, -1, 3], **ends(low, high, "input_min", "input_max"))
        call = dict(ends(low, high, "min_input", "max_input"), **ends(-0.5, 0.25, "min_bias", "max_bias"))
        bias = {"input": (numbers([3, 2, 5], U8), UNSIGNED), "bias": (numbers([5], U8, 1), UNSIGNED)}
        yield quantized("QuantizedBiasAdd", bias, out_type=WIDE, **call)
        for values in (numbers([50], I32), numbers([50], I32) // 1000, np.abs(numbers([50], I32) // 5)):
            source = {"input": (values, WIDE)}
            given = ends(1e3 * low, 1e3 * high, "input_min", "input_max")
            yield quantized("RequantizationRange", source, **given)
            for target in (UNSIGNED, SIGNED):
                if target == UNSIGNED:
                    yield quantized("QuantizeDownAndShrinkRange", source, out_type=target, **given)
                    wanted = ends(min(low, 0) * 700, high * 500, "requested_output_min", "requested_output_max")
                    yield quantized("Requantize", source, out_type=target, **given, **wanted)


def candidates():
    classes = Fed(np.array([[3, 0], [7, 1], [19, 19]], I64))
    seed = 2000
    for samples in (1, 5, 20):
        for unique in (False, True):
            call = {"true_classes": classes, "num_true": 2, "num_sampled": samples, "unique": unique, "seed": 7}
            for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
                for size in (20, 64, 10**6):
                    seed += 1
                    yield host(op, dict(call, range_max=size, seed2=seed))
            weights = [float(1 + i % 5) for i in range(20)]
            for reserved, distortion in ((0, 1.0), (3, 0.75)):
                if unique and samples > 20 - reserved:
                    continue  # classes of no weight are never drawn
                seed += 1
                drawn = dict(call, range_max=20, distortion=distortion, num_reserved_ids=reserved, seed2=seed)
                yield host("FixedUnigramCandidateSampler", dict(drawn, unigrams=weights[reserved:], num_shards=1))
    call = {"true_classes": classes, "num_true": 2, "num_sampled": 20, "unique": True}
    yield host("AllCandidateSampler", dict(call, seed=1, seed2=2))


def padded_bytes():
    strings = Fed(np.array([b"abcdefgh", b"", b"xyz"], object))
    for dtype, length in ((tf.uint8, 3), (tf.int16, 8), (tf.int32, 12), (tf.float32, 4)):
        for little in (True, False):
            call = {"input_bytes": strings, "fixed_length": length, "out_type": dtype, "little_endian": little}
            yield host("DecodePaddedRaw", call)


def quantized_cases():
    for family in (products, pooling, ranges, candidates, padded_bytes):
        yield from family()
