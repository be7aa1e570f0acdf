"""Cases of tf_ops.py with attributes, shapes and types drawn at random: `--seed=N --draws=M` gives M other cases per
family."""

import numpy as np
import tensorflow as tf

from cases import BF16, BOOL, C64, F16, F32, F64, I8, I32, I64, U8, Case, Fed, data, fed

raw = tf.raw_ops


class Draw:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def int(self, low, high):
        return int(self.rng.randint(low, high + 1))

    def flip(self, p=0.5):
        return bool(self.rng.rand() < p)

    def one(self, *choices):
        return choices[self.rng.randint(len(choices))]

    def shape(self, low=1, high=4, top=6, empty=0.04):
        return [0 if self.flip(empty) else self.int(1, top) for _ in range(self.int(low, high))]

    def fed(self, shape, dtype=F32, low=-3.0, high=3.0):
        return Fed(data(shape, dtype, low, high, seed=self.int(0, 10**6)))

    def sign(self, axis, rank):
        return axis - rank if self.flip() else axis


def strided_slice(d):
    shape = d.shape()
    n = d.int(1, len(shape) + 1)
    begin, end, strides = [], [], []
    for _ in range(n):
        begin.append(d.int(-7, 7))
        end.append(d.int(-7, 7))
        strides.append(d.one(1, 1, 2, -1, -2, 3))
    masks = [d.int(0, 2**n - 1) if d.flip() else 0 for _ in range(2)]
    ellipsis = 1 << d.int(0, n - 1) if d.flip(0.3) else 0
    new = d.int(0, 2**n - 1) & ~ellipsis if d.flip(0.3) else 0
    used = sum(1 for i in range(n) if not (ellipsis | new) >> i & 1)
    if used > len(shape):
        new |= 1 << (n - 1)
        ellipsis &= ~new
    attrs = dict(begin_mask=masks[0], end_mask=masks[1], ellipsis_mask=ellipsis, new_axis_mask=new)
    args = {"input": d.fed(shape, d.one(F32, I32, BOOL, BF16)), "begin": begin, "end": end, "strides": strides}
    return Case("StridedSlice", dict(args, **attrs))


def reduction(d):
    shape = d.shape(1, 5, 5)
    axes = sorted(set(d.sign(d.int(0, len(shape) - 1), len(shape)) % len(shape) for _ in range(d.int(0, 3))))
    axes = [d.sign(a, len(shape)) for a in axes]
    op = d.one("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm")
    dtype = BOOL if op in ("All", "Any") else d.one(F32, F64, F16, BF16, I32, I64)
    if op == "EuclideanNorm":
        dtype = d.one(F32, F64, F16, BF16)
    if 0 in shape and op in ("Max", "Min", "Mean"):
        shape = [max(s, 1) for s in shape]
    return Case(op, {"input": d.fed(shape, dtype, 0.3, 2), "axis": axes, "keep_dims": d.flip()})


def arg_extremum(d):
    shape = d.shape(1, 4, 6, 0)
    args = {
        "input": d.fed(shape, d.one(F32, F64, I32, BF16)),
        "dimension": d.sign(d.int(0, len(shape) - 1), len(shape)),
    }
    return Case(d.one("ArgMax", "ArgMin"), dict(args, output_type=d.one(tf.int32, tf.int64)))


def cumulative(d):
    shape = d.shape()
    args = {"x": d.fed(shape, d.one(F32, F64, I32), 0.4, 1.6), "axis": d.sign(d.int(0, len(shape) - 1), len(shape))}
    return Case(d.one("Cumsum", "Cumprod"), dict(args, exclusive=d.flip(), reverse=d.flip()))


def convolution(d):
    groups, per = d.one(1, 1, 2, 3), d.int(1, 3)
    kernel = [d.int(1, 4), d.int(1, 4), per, groups * d.int(1, 3)]
    strides, dilations = [d.int(1, 3), d.int(1, 3)], [d.int(1, 2), d.int(1, 2)]
    if max(strides) > 1 and d.flip(0.7):
        dilations = [1, 1]
    padding = d.one("SAME", "VALID", "EXPLICIT")
    args = {"input": d.fed([d.int(1, 3), d.int(8, 12), d.int(8, 12), groups * per]), "filter": d.fed(kernel)}
    attrs = dict(strides=[1] + strides + [1], dilations=[1] + dilations + [1], padding=padding)
    if padding == "EXPLICIT":
        attrs["explicit_paddings"] = [0, 0, d.int(0, 2), d.int(0, 2), d.int(0, 2), d.int(0, 2), 0, 0]
    return Case("Conv2D", dict(args, **attrs))


def depthwise(d):
    stride = d.int(1, 2)
    args = {"input": d.fed([2, d.int(6, 9), d.int(6, 9), d.int(1, 4)])}
    args["filter"] = d.fed([d.int(1, 3), d.int(1, 3), args["input"].array.shape[3], d.int(1, 3)])
    attrs = dict(strides=[1, stride, stride, 1], padding=d.one("SAME", "VALID"))
    return Case("DepthwiseConv2dNative", dict(args, **attrs))


def convolution_gradient(d):
    x, k = [2, d.int(5, 9), d.int(5, 9), d.int(1, 3)], [d.int(1, 4), d.int(1, 4), 0, d.int(1, 4)]
    k[2] = x[3]
    attrs = dict(strides=[1, d.int(1, 3), d.int(1, 3), 1], padding=d.one("SAME", "VALID"))
    out = tf.nn.conv2d(tf.zeros(x), tf.zeros(k), attrs["strides"], attrs["padding"]).shape.as_list()
    if d.flip():
        args = {"input_sizes": x, "filter": d.fed(k), "out_backprop": d.fed(out)}
        return Case("Conv2DBackpropInput", dict(args, **attrs))
    return Case("Conv2DBackpropFilter", dict(input=d.fed(x), filter_sizes=k, out_backprop=d.fed(out), **attrs))


def pooling(d):
    attrs = dict(ksize=[1, d.int(1, 4), d.int(1, 4), 1], strides=[1, d.int(1, 3), d.int(1, 3), 1])
    attrs["padding"] = d.one("SAME", "VALID")
    x = [2, d.int(5, 9), d.int(5, 9), d.int(1, 3)]
    op = d.one("MaxPool", "AvgPool", "MaxPoolGrad", "AvgPoolGrad")
    if op in ("MaxPool", "AvgPool"):
        return Case(op, dict([("input" if op == "MaxPool" else "value", d.fed(x))], **attrs))
    pool = tf.nn.max_pool2d if op == "MaxPoolGrad" else tf.nn.avg_pool2d
    value = np.random.RandomState(d.int(0, 999)).permutation(int(np.prod(x))).reshape(x).astype(F32)
    out = pool(value, attrs["ksize"], attrs["strides"], attrs["padding"]).numpy()
    if op == "AvgPoolGrad":
        return Case(op, dict(orig_input_shape=x, grad=d.fed(list(out.shape)), **attrs))
    return Case(op, dict(orig_input=Fed(value), orig_output=Fed(out), grad=d.fed(list(out.shape)), **attrs))


def matmul(d):
    m, k, n = (d.int(0 if d.flip(0.1) else 1, 6) for _ in range(3))
    ta, tb = d.flip(), d.flip()
    dtype = d.one(F32, F64, I32, C64, BF16)
    if d.flip():
        args = {"a": d.fed([k, m] if ta else [m, k], dtype), "b": d.fed([n, k] if tb else [k, n], dtype)}
        return Case("MatMul", dict(args, transpose_a=ta, transpose_b=tb))
    batch = d.shape(0, 3, 3, 0)
    other = [1 if d.flip(0.3) else s for s in batch][d.int(0, len(batch)) :] if d.flip() else batch
    args = {
        "x": d.fed(batch + ([k, m] if ta else [m, k]), dtype),
        "y": d.fed(other + ([n, k] if tb else [k, n]), dtype),
    }
    return Case("BatchMatMulV2", dict(args, adj_x=ta, adj_y=tb))


def einsum(d):
    sizes = dict(zip("abcdef", (d.int(1, 4) for _ in range(6))))
    left = "".join(d.rng.permutation(list("abcd"))[: d.int(1, 4)])
    right = "".join(d.rng.permutation(list("cdef"))[: d.int(1, 4)])
    union = sorted(set(left + right))
    out = "".join(d.rng.permutation(union)[: d.int(0, len(union))])
    dots = "..." if d.flip(0.3) else ""
    extra = [2] if dots else []
    fed_side = lambda s: d.fed(extra + [sizes[c] for c in s])
    return Case("Einsum", {"inputs": [fed_side(left), fed_side(right)], "equation": "%s%s,%s%s->%s%s" % (dots, left, dots, right, dots, out)})  # fmt: skip


def gather(d):
    shape = d.shape(1, 4, 5, 0)
    axis = d.int(0, len(shape) - 1)
    batch = d.int(0, axis)
    tail = d.shape(0, 2, 3)
    ids = d.rng.randint(0, shape[axis], shape[:batch] + tail).astype(d.one(I32, I64))
    args = {"params": d.fed(shape, d.one(F32, I32, BOOL, F16)), "indices": Fed(ids), "axis": d.sign(axis, len(shape))}
    return Case("GatherV2", dict(args, batch_dims=batch))


def gather_nd(d):
    shape = d.shape(1, 4, 5, 0)
    depth, batch = d.int(1, len(shape)), d.shape(0, 2, 3)
    ids = np.stack([d.rng.randint(0, shape[k], batch) for k in range(depth)], -1).astype(d.one(I32, I64))
    return Case("GatherNd", {"params": d.fed(shape), "indices": Fed(ids)})


def scatter(d):
    shape = d.shape(1, 3, 5, 0)
    depth, n = d.int(1, len(shape)), d.int(1, 6)
    ids = Fed(np.stack([d.rng.randint(0, shape[k], [n]) for k in range(depth)], -1).astype(d.one(I32, I64)))
    updates = d.fed([n] + shape[depth:], low=-4)
    if d.flip():
        return Case("ScatterNd", {"indices": ids, "updates": updates, "shape": shape})
    op = d.one("TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin")
    return Case(op, {"tensor": d.fed(shape), "indices": ids, "updates": updates})


def padding(d):
    shape = d.shape(1, 4, 5, 0)
    mode = d.one("PadV2", "REFLECT", "SYMMETRIC")
    most = [3 if mode == "PadV2" else s - (mode == "REFLECT") for s in shape]
    pads = [[d.int(0, min(m, 3)), d.int(0, min(m, 3))] for m in most]
    x = d.fed(shape, d.one(F32, I32, BF16 if mode == "PadV2" else F64))
    if mode == "PadV2":
        return Case(mode, {"input": x, "paddings": pads, "constant_values": Fed(np.array(2, x.array.dtype))})
    return Case("MirrorPad", {"input": x, "paddings": pads, "mode": mode})


def joining(d):
    shape, n = d.shape(1, 4, 5), d.int(1, 4)
    axis = d.int(0, len(shape) - 1)
    dtype = d.one(F32, I32, BOOL, BF16, C64)
    kind = d.one("ConcatV2", "Pack", "Unpack", "SplitV", "Split")
    if kind == "ConcatV2":
        parts = [d.fed(shape[:axis] + [d.int(0, 4)] + shape[axis + 1 :], dtype) for _ in range(n + 1)]
        return Case(kind, {"values": parts, "axis": d.sign(axis, len(shape))})
    if kind == "Pack":
        at = d.int(0, len(shape))
        return Case(kind, {"values": [d.fed(shape, dtype) for _ in range(n)], "axis": d.sign(at, len(shape) + 1)})
    if kind == "Unpack":
        shape[axis] = n
        return Case(kind, {"value": d.fed(shape, dtype), "num": n, "axis": d.sign(axis, len(shape))})
    if kind == "Split":
        shape[axis] = n * d.int(1, 3)
        return Case(kind, {"axis": d.sign(axis, len(shape)), "value": d.fed(shape, dtype), "num_split": n})
    sizes = [d.int(0, 3) for _ in range(n)]
    shape[axis] = sum(sizes)
    if d.flip(0.3) and sizes:
        sizes[d.int(0, n - 1)] = -1
    return Case(kind, {"value": d.fed(shape, dtype), "size_splits": sizes, "axis": d.sign(axis, len(shape)), "num_split": n})  # fmt: skip


def rearranging(d):
    shape = d.shape(1, 5, 5)
    rank = len(shape)
    x = d.fed(shape, d.one(F32, I32, I8, U8, F16, F64))
    kind = d.one("Transpose", "Tile", "ReverseV2", "Roll", "BroadcastTo", "ExpandDims", "Slice", "OneHot")
    if kind == "Transpose":
        return Case(kind, {"x": x, "perm": [int(p) for p in d.rng.permutation(rank)]})
    if kind == "Tile":
        return Case(kind, {"input": x, "multiples": [d.int(0, 3) for _ in shape]})
    if kind == "ReverseV2":
        return Case(kind, {"tensor": x, "axis": [d.sign(int(a), rank) for a in d.rng.permutation(rank)[: d.int(0, rank)]]})  # fmt: skip
    if kind == "Roll":
        axes = [d.int(0, rank - 1) for _ in range(d.int(1, 3))]
        return Case(kind, {"input": x, "shift": [d.int(-7, 7) for _ in axes], "axis": axes})
    if kind == "BroadcastTo":
        thin = Fed(x.array[tuple(slice(0, 1) if d.flip() else slice(None) for _ in shape)])
        return Case(kind, {"input": thin, "shape": d.shape(0, 1, 3) + list(x.array.shape)})
    if kind == "ExpandDims":
        return Case(kind, {"input": x, "axis": d.sign(d.int(0, rank), rank + 1)})
    if kind == "Slice":
        begin = [d.int(0, s) for s in shape]
        return Case(kind, {"input": x, "begin": begin, "size": [-1 if d.flip(0.3) else d.int(0, s - b) for s, b in zip(shape, begin)]})  # fmt: skip
    ids = d.fed(shape, d.one(I32, I64, U8), -2, 6)
    values = {"on_value": Fed(F32(2)), "off_value": Fed(F32(-1))}
    return Case(kind, dict(indices=ids, depth=d.int(0, 6), axis=d.int(-1, rank), **values))


def blocks(d):
    b, c = d.int(1, 3), d.int(1, 2)
    kind = d.one("SpaceToBatchND", "BatchToSpaceND", "SpaceToDepth", "DepthToSpace", "ReverseSequence")
    h, w = d.int(1, 3) * b, d.int(1, 3) * b
    if kind == "SpaceToDepth" or kind == "DepthToSpace":
        block = d.int(2, 3)
        size = [2, 2 * block, block, c] if kind == "SpaceToDepth" else [2, 2, 3, c * block * block]
        return Case(kind, {"input": d.fed(size), "block_size": block})
    if kind == "SpaceToBatchND":
        crop = d.int(0, b)
        return Case(kind, {"input": d.fed([2, h, w, c]), "block_shape": [b, b], "paddings": [[crop, b - crop], [0, 0]]})
    if kind == "BatchToSpaceND":
        return Case(kind, {"input": d.fed([2 * b * b, 3, 2, c]), "block_shape": [b, b], "crops": [[0, d.int(0, 2)], [1 if b > 1 else 0, 0]]})  # fmt: skip
    seq, batch = (1, 0) if d.flip() else (0, 1)
    x = d.fed([4, 4, 2])
    return Case(kind, {"input": x, "seq_lengths": Fed(d.rng.randint(0, 5, [4]).astype(I64)), "seq_dim": seq, "batch_dim": batch})  # fmt: skip


def resizing(d):
    op = d.one("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
    align, half = d.one((False, False), (True, False), (False, True))
    args = {"images": d.fed([2, d.int(1, 7), d.int(1, 7), 2], d.one(F32, U8)), "size": [d.int(1, 9), d.int(1, 9)]}
    attrs = {"align_corners": align} if op == "ResizeArea" else {"align_corners": align, "half_pixel_centers": half}
    return Case(op, dict(args, **attrs))


def diagonals(d):
    rows, cols = d.int(1, 5), d.int(1, 5)
    low = d.int(-rows + 1, cols - 1)
    high = d.int(low, cols - 1)
    align = d.one("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
    batch = d.shape(0, 2, 3, 0)
    k = [low, high] if d.flip() or low != high else low
    args = {"input": d.fed(batch + [rows, cols]), "k": k, "align": align}
    if d.flip():
        return Case("MatrixDiagPartV3", dict(args, padding_value=Fed(F32(9))))
    length = min(rows + min(high, 0), cols - max(low, 0))
    several = isinstance(k, list) and low != high
    args["diagonal"] = d.fed(batch + ([high - low + 1] if several else []) + [length])
    return Case("MatrixSetDiagV3", args)


def elementwise(d):
    shape = d.shape(0, 4, 5)
    other = [1 if d.flip(0.3) else s for s in shape][d.int(0, len(shape)) :]
    op = d.one("AddV2", "Sub", "Mul", "Maximum", "Minimum", "FloorDiv", "FloorMod", "SquaredDifference", "TruncateMod", "Greater", "Equal", "RealDiv", "DivNoNan", "Atan2", "NextAfter")  # fmt: skip
    floating = op in ("RealDiv", "DivNoNan", "Atan2", "NextAfter")
    dtype = d.one(F32, F64) if floating else d.one(F32, F64, I32, I64, BF16 if op not in ("TruncateMod",) else F32)
    x, y = data(shape, dtype, -9, 9, seed=d.int(0, 999)), data(other, dtype, -9, 9, seed=d.int(0, 999))
    if op in ("FloorDiv", "FloorMod", "TruncateMod"):
        y = np.where(y == 0, np.array(3, dtype), y)
    names = ("y", "x") if op == "Atan2" else ("x1", "x2") if op == "NextAfter" else ("x", "y")
    pair = (x, y) if d.flip() or op in ("FloorDiv", "FloorMod", "TruncateMod") else (y, x)
    return Case(op, dict(zip(names, map(Fed, pair))))


def casts(d):
    types = (F32, F64, F16, BF16, I8, I32, I64, U8, BOOL, np.uint32, np.uint64, np.int16)
    src, dst = d.one(*types), d.one(*types, C64)
    return Case("Cast", {"x": d.fed(d.shape(), src, 0, 100), "DstT": tf.as_dtype(dst)})


def segments(d):
    rows, width = d.int(0, 8), d.shape(0, 2, 3, 0)
    n = d.int(1, 5)
    op = d.one("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")
    ids = d.rng.randint(-1, n, [rows]).astype(d.one(I32, I64))
    return Case(op, {"data": d.fed([rows] + width, d.one(F32, F64, I32)), "segment_ids": Fed(ids), "num_segments": n})


def normalizing(d):
    shape = d.shape(2, 3, 6, 0)
    return Case(d.one("Softmax", "LogSoftmax"), {"logits": d.fed(shape, d.one(F32, F64, F16, BF16), -60, 60)})


FAMILIES = (
    strided_slice, reduction, arg_extremum, cumulative, convolution, depthwise, convolution_gradient, pooling, matmul,
    einsum, gather, gather_nd, scatter, padding, joining, rearranging, blocks, resizing, diagonals, elementwise, casts,
    segments, normalizing,
)  # fmt: skip


def random_cases(seed, draws):
    for number, family in enumerate(FAMILIES):
        for k in range(draws):
            yield family(Draw(1000003 * seed + 1009 * number + k))
