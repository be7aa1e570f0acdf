"""Cases of tf_ops.py: ops that run by host kernels only, since sizes depend on values or the op has a state."""

import itertools

import numpy as np
import tensorflow as tf

from cases import F16, F32, F64, I32, I64, Case, Fed, data, fed


def detection():
    boxes = Fed(data([30, 4], F32, 0, 1))
    scores = fed([30], F32, 0, 1, seed=4)
    for limit in (0, 3, 40):
        for overlap, least in ((0.5, 0.0), (0.1, 0.3), (1.0, 0.9)):
            call = {"boxes": boxes, "scores": scores, "max_output_size": limit, "iou_threshold": np.float32(overlap)}
            yield Case("NonMaxSuppressionV2", call, compiled=False)
            call["score_threshold"] = np.float32(least)
            yield Case("NonMaxSuppressionV3", call, compiled=False)
            for pad in (False, True):
                padded = dict(call, pad_to_max_output_size=pad)
                yield Case("NonMaxSuppressionV4", padded, compiled=False)
                for sigma in (0.0, 0.4):
                    soft = dict(padded, soft_nms_sigma=np.float32(sigma))
                    yield Case("NonMaxSuppressionV5", soft, compiled=False)

    overlaps = np.random.RandomState(2).uniform(0, 1, [12, 12])
    for limit in (0, 4, 20):
        for overlap, least in ((0.5, 0.0), (0.9, 0.3)):
            call = {"overlaps": Fed((overlaps + overlaps.T).astype(F32) / 2), "scores": fed([12], F32, 0, 1, seed=4)}
            call = dict(call, max_output_size=limit, overlap_threshold=np.float32(overlap))
            call["score_threshold"] = np.float32(least)
            yield Case("NonMaxSuppressionWithOverlaps", call, compiled=False)


def drawings():
    """Boxes inside, over the edges, outside, empty and upside down, more than there are colors."""
    boxes = np.random.RandomState(5).uniform(-0.3, 1.3, [2, 14, 4])
    boxes[:, ::2] = np.sort(boxes[:, ::2].reshape(2, 7, 2, 2), 2).reshape(2, 7, 4)
    boxes[0, :2] = [[0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5]]
    for dtype in (F32, F16):
        for depth in (1, 3, 4):
            call = {"images": fed([2, 9, 11, depth], dtype, 0, 1), "boxes": Fed(boxes.astype(F32))}
            yield Case("DrawBoundingBoxes", call, compiled=False)
            for colors in ([0, depth], [3, depth], [1, 4]):
                yield Case("DrawBoundingBoxesV2", dict(call, colors=fed(colors, F32, 0, 1)), compiled=False)


def segments():
    ids = Fed(np.array([0, 0, 2, 2, 2, 5], I32))
    for dtype in (F32, F64, I32, I64):
        for op in ("SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean"):
            yield Case(op, {"data": fed([6, 3], dtype), "segment_ids": ids}, compiled=False)
    for dtype in (F32, F64):
        rows = Fed(np.array([3, 0, 0, 2, 1, 3], I32))
        for op in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
            yield Case(op, {"data": fed([4, 3], dtype), "indices": rows, "segment_ids": ids}, compiled=False)
    values = Fed(np.array([1, 3, 3, 0, 9], I32))
    for size in (0, 4, 12):
        for weights in (fed([5]), Fed(np.zeros([0], I64)), fed([5], F64)):
            yield Case("Bincount", {"arr": values, "size": size, "weights": weights}, compiled=False)


def randoms():
    seeds = itertools.count(100)  # a node of one name and seeds goes on where the last one stopped
    for shape in ([3], [5, 7], [1001]):
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
            for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
                yield Case(op, {"shape": shape, "dtype": dtype, "seed": 11, "seed2": next(seeds)}, compiled=False)
        for dtype in (I32, I64):
            limits = {"minval": Fed(np.array(-7, dtype)), "maxval": Fed(np.array(1000, dtype))}
            yield Case("RandomUniformInt", dict(limits, shape=shape, seed=3, seed2=next(seeds)), compiled=False)
    for rows in (1, 2, 50):
        yield Case("RandomShuffle", {"value": fed([rows, 3]), "seed": 8, "seed2": next(seeds)}, compiled=False)


def rejections():
    """Small and large parameters, each of which has its own way of drawing, and what is no parameter."""
    seeds = itertools.count(900)
    rates = [-1.0, 0.0, 0.3, 1.0, 2.5, 9.99, 10.0, 35.5, 1e3]
    shapes = [0.05, 0.7, 1.0, 1.5, 30.0]
    key = {"key": Fed(np.array([7], np.uint64)), "counter": Fed(np.array([5, 2**63 + 1], np.uint64)), "alg": 1}
    for dtype in (F32, F64, F16):
        for count in ([], [40], [3, 5]):
            seed = Fed(np.array([next(seeds), -3], I64))
            alpha = Fed(np.array(shapes, dtype))
            call = {"shape": count + [5], "alpha": alpha}
            yield Case("StatelessRandomGammaV2", dict(call, seed=seed), compiled=False)
            yield Case("StatelessRandomGammaV3", dict(call, **key), compiled=False)
            stateful = {"shape": np.array(count, I32), "alpha": alpha, "seed": 3, "seed2": next(seeds)}
            yield Case("RandomGamma", stateful, compiled=False)
            for out in (tf.float32, tf.float64, tf.float16, tf.int32, tf.int64):
                rate = Fed(np.array(rates, dtype))
                call = {"shape": count + [len(rates)], "seed": seed, "lam": rate, "dtype": out}
                yield Case("StatelessRandomPoisson", call, compiled=False)
                call = {"shape": np.array(count, I32), "rate": rate, "seed": 3, "seed2": next(seeds), "dtype": out}
                yield Case("RandomPoissonV2", call, compiled=False)
    counts = [[0.0, 1.0, 12.0, 100.0, 1e4, -2.0]]
    chances = [[-0.5], [0.02], [0.3], [0.5], [0.9], [1.5]]
    for dtype in (F32, F64):
        for out in (tf.float32, tf.float64, tf.int32, tf.int64):
            for sample in ([], [4], [2, 3]):
                call = {"shape": sample + [6, 6], "seed": Fed(np.array([next(seeds), 11], I32)), "dtype": out}
                call = dict(call, counts=Fed(np.array(counts, dtype)), probs=Fed(np.array(chances, dtype)))
                yield Case("StatelessRandomBinomial", call, compiled=False)
    for rows in (1, 2, 50):
        for dtype in (F32, I64):
            yield Case("StatelessShuffle", dict(key, value=fed([rows, 3], dtype)), compiled=False)


def bounded_normals():
    """Tails, two sides, single bounds on either side, and narrow bounds: every way of drawing."""
    seeds = itertools.count(500)
    inf = np.inf
    bounds = [
        (0, 1, -2, 2), (0, 1, -0.3, 0.4), (0, 1, 3, inf), (0, 1, -inf, -4), (5, 2, -inf, 6), (1, 0.5, 2.5, 2.6),
        (-1, 3, -20, 1), (0, 1, 0.5, 9), (2, 1, -6, -4), (0, 1e-3, -1, 1), (0, 1, 8, 9), (1, 1, 1, inf), (0, 1, -1.5, 0),
        (10, 4, 0, 9), (0, 2, -inf, 0.1),
    ]  # fmt: skip
    stateless, stateful = "StatelessParameterizedTruncatedNormal", "ParameterizedTruncatedNormal"

    def parameters(values, dtype, deviation):
        return dict(zip(("means", deviation, "minvals", "maxvals"), [Fed(np.array(v, dtype)) for v in values]))

    for dtype in (F32, F64, F16):
        for row in bounds:
            seed = Fed(np.array([next(seeds), -7], I64 if dtype == F32 else I32))
            yield Case(stateless, dict(parameters(row, dtype, "stddevs"), shape=[57], seed=seed), compiled=False)
            call = dict(shape=[3, 47], seed=5, seed2=next(seeds))
            yield Case(stateful, dict(parameters(row, dtype, "stdevs"), **call), compiled=False)
        columns = list(zip(*bounds))
        for width in (1, len(bounds)):
            row = [columns[0][:width], columns[1], [columns[2][0]] if width == 1 else columns[2], [inf] * width]
            row = [np.array(v)[np.isfinite(columns[2])[: len(v)]] for v in row]
            count = max(len(v) for v in row)
            call = dict(shape=[count, 2, 3], seed=5, seed2=next(seeds))
            yield Case(stateful, dict(parameters(row, dtype, "stdevs"), **call), compiled=False)
        shapes = [([4, 3], [3], [], [4, 1]), ([], [], [1], []), ([2, 1, 3], [3], [5, 1], [])]
        for number, shape in enumerate(shapes):
            rng = np.random.RandomState(number)
            row = [rng.uniform(a, b, s) for s, (a, b) in zip(shape, ((-1, 1), (0.2, 3), (-3, -1), (1, 4)))]
            whole = list(np.broadcast_shapes(*shape))
            for samples in ([], [5], [2, 3], [0]):
                call = dict(shape=np.array(samples + whole, I64), seed=Fed(np.array([number, 3], I32)))
                yield Case(stateless, dict(parameters(row, dtype, "stddevs"), **call), compiled=False)


def host_cases():
    for family in (detection, drawings, segments, randoms, rejections, bounded_normals):
        yield from family()
