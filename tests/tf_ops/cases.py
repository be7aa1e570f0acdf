"""The cases of tf_ops.py: ops with generated attributes, shapes and types."""

import numpy as np
import tensorflow as tf

F32, F64, F16, BF16 = np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype
I8, I16, I32, I64, U8, U16 = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16
C64, BOOL = np.complex64, np.bool_
FLOATS = (F32, F64, F16, BF16)


class Fed:
    """An operand that is fed; others are constants or attributes."""

    def __init__(self, array):
        self.array = np.asarray(array)


class Case:
    def __init__(self, op, args, build=None, outputs=None, compiled=True, note=""):
        self.op, self.args, self.build, self.outputs, self.compiled = op, args, build, outputs, compiled
        self.by_compiler = False  # only TensorFlow's own compiler runs the op
        parts = []
        for k, v in args.items():
            parts.append(
                "%s=%s%s" % (k, v.array.dtype, list(v.array.shape)) if isinstance(v, Fed) else "%s=%s" % (k, v)
            )
        self.name = "%s(%s)%s" % (op, ", ".join(parts), note)


def data(shape, dtype, low=-2.0, high=2.0, seed=0):
    rng = np.random.RandomState(seed + 7 * len(shape) + sum(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.rand(*shape) > 0.5
    if kind == "u":
        return rng.randint(max(0, int(low)), max(int(high), 1) + 4, shape).astype(dtype)
    if kind == "i":
        return rng.randint(int(low) - 2, int(high) + 3, shape).astype(dtype)
    if kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    return rng.uniform(low, high, shape).astype(np.float32).astype(dtype)


def fed(shape, dtype=F32, low=-2.0, high=2.0, seed=0):
    return Fed(data(shape, dtype, low, high, seed))


def unary():
    free = "Abs Neg Exp Expm1 Sin Cos Tanh Square Sigmoid Softplus Softsign Erf Erfc Elu Selu Relu Relu6 Sign Floor Ceil Rint Atan Asinh IsNan IsInf IsFinite ZerosLike OnesLike Tan Sinh Cosh"
    for op in free.split():
        arg = {"Elu": "features", "Selu": "features", "Relu": "features", "Relu6": "features", "Softplus": "features"}
        arg["Softsign"] = "features"
        for dtype in FLOATS[: 2 if op == "Rint" else 4]:  # the host has no kernel for the others
            yield Case(op, {arg.get(op, "x"): fed([3, 5], dtype)})
        yield Case(op, {arg.get(op, "x"): fed([0, 4])})
    domains = {
        "Log": (0.1, 4), "Log1p": (-0.9, 4), "Sqrt": (0, 4), "Rsqrt": (0.1, 4), "Acos": (-1, 1), "Asin": (-1, 1),
        "Acosh": (1, 5), "Atanh": (-0.99, 0.99), "Reciprocal": (0.5, 2), "Inv": (0.5, 2), "Erfinv": (-0.99, 0.99),
        "Ndtri": (0.01, 0.99), "Lgamma": (-3.4, 8), "Digamma": (0.2, 8), "Round": (-4, 4),
    }  # fmt: skip
    for op, (low, high) in domains.items():
        for dtype in (F32, F64):
            yield Case(op, {"x": fed([4, 33], dtype, low, high)})
    for dtype in (I8, I16, I32, I64):
        for op in ("Abs", "Neg", "Square", "Sign"):
            if dtype in (I8, I16) and op in ("Square", "Sign"):
                continue
            yield Case(op, {"x": fed([7], dtype)})
    for op in ("Real", "Imag", "ComplexAbs", "Angle"):
        yield Case(op, {("x" if op == "ComplexAbs" else "input"): fed([5], C64)})
    yield Case("Conj", {"input": fed([5], C64)})
    for op in ("Exp", "Log", "Sqrt", "Sin", "Cos", "Tanh", "Square", "Neg", "Rsqrt", "Reciprocal", "Log1p", "Expm1"):
        yield Case(op, {"x": fed([6], C64, 0.2, 1.5)})
    yield Case("Invert", {"x": fed([5], I32)})
    yield Case("LogicalNot", {"x": fed([5], BOOL)})
    yield Case("PopulationCount", {"x": fed([5], I32)})
    for shape in ([4, 6], [2, 3, 5]):
        for op in ("Softmax", "LogSoftmax"):
            for dtype in FLOATS:
                yield Case(op, {"logits": fed(shape, dtype)})
    yield Case("LeakyRelu", {"features": fed([9]), "alpha": 0.3})


def binary():
    shapes = (([3, 4], [3, 4]), ([3, 4], [4]), ([2, 1, 4], [3, 1]), ([], [5]), ([0, 3], [3]))
    for op in ("AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"):
        for a, b in shapes:
            yield Case(op, {"x": fed(a), "y": fed(b, seed=1)})
        for dtype in (F64, F16, BF16, I32, I64):
            yield Case(op, {"x": fed([3, 4], dtype), "y": fed([4], dtype, seed=1)})
    for op in ("RealDiv", "DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py", "Atan2", "Pow", "FloorDiv", "FloorMod"):
        for a, b in shapes[:3]:
            low = 0.25 if op in ("Xlogy", "Xlog1py", "Pow") else -2
            yield Case(
                op,
                {
                    ("y" if op == "Atan2" else "x"): fed(a, low=low),
                    ("x" if op == "Atan2" else "y"): fed(b, low=low, seed=1),
                },
            )
    for dtype in (I32, I64):
        powers = Fed(np.abs(data([4, 6], dtype, seed=3)))
        yield Case("Pow", {"x": fed([4, 6], dtype, -20, 20), "y": powers})
    for op in ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Div"):
        for dtype in (I32, I64):
            y = data([4, 6], dtype, seed=3)
            y[y == 0] = 3
            yield Case(op, {"x": fed([4, 6], dtype, -20, 20), "y": Fed(y)})
    for op in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"):
        for dtype in (F32, F64, I32, I64, BF16):
            yield Case(op, {"x": fed([4, 5], dtype), "y": fed([5], dtype, seed=1)})
    for op in ("LogicalAnd", "LogicalOr"):
        yield Case(op, {"x": fed([4, 5], BOOL), "y": fed([5], BOOL, seed=1)})
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        for dtype in (I32, I64, U8):
            yield Case(op, {"x": fed([4, 5], dtype, 0, 90), "y": fed([5], dtype, 0, 90, seed=1)})
    for op in ("LeftShift", "RightShift"):
        yield Case(op, {"x": fed([4, 5], I32, -90, 90), "y": Fed(data([5], I32, 2, 20, seed=1))})
    for op in ("AddV2", "Sub", "Mul", "RealDiv", "SquaredDifference"):
        yield Case(op, {"x": fed([4], C64, 0.3, 2), "y": fed([4], C64, 0.3, 2, seed=1)})
    yield Case("Complex", {"real": fed([4]), "imag": fed([4], seed=1)})
    yield Case(
        "ApproximateEqual",
        {"x": fed([40], low=0, high=0.1), "y": fed([40], low=0, high=0.1, seed=1), "tolerance": 0.03},
    )
    yield Case("AddN", {"inputs": [fed([3, 2]), fed([3, 2], seed=1), fed([3, 2], seed=2)]})
    yield Case(
        "ClipByValue",
        {"t": fed([3, 4]), "clip_value_min": fed([], low=-1, high=-0.5), "clip_value_max": fed([], low=0.5, high=1)},
    )
    limits = {"clip_value_min": Fed(C64(-0.5 + 1j)), "clip_value_max": Fed(C64(1 - 0.5j))}
    yield Case("ClipByValue", dict(limits, t=fed([9], C64)))
    yield Case("SelectV2", {"condition": fed([3, 1], BOOL), "t": fed([3, 4]), "e": fed([4], seed=1)})
    yield Case("Select", {"condition": fed([3], BOOL), "x": fed([3, 4]), "y": fed([3, 4], seed=1)})
    for src in (F32, F64, I32, I64, BOOL, U8, F16, BF16):
        for dst in (tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.float16, tf.bfloat16):
            yield Case("Cast", {"x": fed([3, 4], src, 0, 3), "DstT": dst})
    for op in ("ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad"):
        yield Case(op, {"gradients": fed([3, 4], seed=1), "features": fed([3, 4], low=-8, high=8)})
    yield Case("LeakyReluGrad", {"gradients": fed([3, 4], seed=1), "features": fed([3, 4])})
    for op in ("EluGrad", "SeluGrad"):
        yield Case(op, {"gradients": fed([3, 4], seed=1), "outputs": fed([3, 4], low=-0.9)})
    for op in ("SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "SigmoidGrad", "TanhGrad"):
        yield Case(op, {"y": fed([3, 4], low=0.2), "dy": fed([3, 4], seed=1)})


def reductions():
    for op in ("Sum", "Prod", "Mean", "Max", "Min"):
        for axes, keep in (([0], False), ([1], True), ([0, 2], False), ([-1], False), ([], False), ([0, 1, 2], True)):
            yield Case(op, {"input": fed([3, 4, 5]), "axis": axes, "keep_dims": keep})
        for dtype in (F64, I32, I64, F16, BF16):
            yield Case(op, {"input": fed([3, 4], dtype), "axis": [1]})
    for op in ("All", "Any"):
        yield Case(op, {"input": fed([3, 4], BOOL), "axis": [1]})
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1, -1):
            yield Case(op, {"input": fed([3, 7]), "dimension": axis})
        yield Case(op, {"input": fed([3, 7], I32), "dimension": 1, "output_type": tf.int32})
    yield Case("L2Loss", {"t": fed([3, 4])})
    for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield Case(op, {"x": fed([3, 7], high=1.5), "axis": 1, "exclusive": exclusive, "reverse": reverse})
    yield Case("Cumsum", {"x": fed([6, 2], I32), "axis": 0})
    ids = Fed(np.array([0, 2, -1, 2, 4, 0], I32))
    for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
        yield Case(op, {"data": fed([6, 3]), "segment_ids": ids, "num_segments": 6})
        yield Case(op, {"data": fed([6, 3], I32), "segment_ids": ids, "num_segments": 5})
    yield Case(
        "DenseBincount",
        {"input": Fed(np.array([1, 3, 3, 0, 9], I32)), "size": 10, "weights": fed([5]), "binary_output": False},
    )


def shapes():
    for shape, to in (([4, 6], [3, 8]), ([4, 6], [-1]), ([4, 6], [2, -1, 3]), ([0, 3], [-1, 3]), ([1], [])):
        yield Case("Reshape", {"tensor": fed(shape), "shape": np.array(to, I32)})
    yield Case("ExpandDims", {"input": fed([3, 4]), "axis": -1})
    yield Case("Squeeze", {"input": fed([1, 3, 1, 4]), "axis": [2]})
    yield Case("Squeeze", {"input": fed([1, 3, 1, 4]), "axis": []})
    for perm in ([0, 2, 1], [2, 0, 1]):
        yield Case("Transpose", {"x": fed([2, 3, 4]), "perm": perm})
    yield Case("ConjugateTranspose", {"x": fed([2, 3], C64), "perm": [1, 0]})
    yield Case("ConcatV2", {"values": [fed([2, 3]), fed([2, 1], seed=1)], "axis": 1})
    yield Case("Pack", {"values": [fed([2, 3]), fed([2, 3], seed=1)], "axis": 1})
    yield Case("Unpack", {"value": fed([2, 3]), "num": 3, "axis": 1})
    yield Case("Split", {"axis": 1, "value": fed([2, 6]), "num_split": 3})
    yield Case("SplitV", {"value": fed([2, 6]), "size_splits": [1, -1, 3], "axis": 1, "num_split": 3})
    yield Case("Tile", {"input": fed([2, 3]), "multiples": [2, 3]})
    yield Case("BroadcastTo", {"input": fed([3, 1]), "shape": [2, 3, 4]})
    yield Case("Fill", {"dims": [2, 3], "value": fed([])})
    yield Case("LinSpace", {"start": fed([], low=0, high=1), "stop": fed([], low=2, high=3), "num": 7})
    for axis in (-1, 0, 1):
        yield Case(
            "OneHot",
            {
                "indices": Fed(np.array([[0, 2], [5, -1]], I32)),
                "depth": 4,
                "on_value": fed([]),
                "off_value": fed([], seed=1),
                "axis": axis,
            },
        )
    yield Case("Pad", {"input": fed([2, 3]), "paddings": [[1, 2], [0, 3]]})
    yield Case("PadV2", {"input": fed([2, 3]), "paddings": [[1, 2], [0, 3]], "constant_values": 4.0})
    for mode in ("REFLECT", "SYMMETRIC"):
        yield Case("MirrorPad", {"input": fed([4, 5]), "paddings": [[1, 2], [0, 3]], "mode": mode})
        yield Case("MirrorPadGrad", {"input": fed([7, 8]), "paddings": [[1, 2], [0, 3]], "mode": mode})
    yield Case("Slice", {"input": fed([4, 5]), "begin": [1, 2], "size": [2, -1]})
    masks = (
        ([1, 0], [3, 5], [1, 2], {}), ([-1, 4], [0, 0], [-1, -2], {}), ([0, 1], [0, 0], [1, 1], {"begin_mask": 1, "end_mask": 3}),
        ([1, 2], [2, 3], [1, 1], {"shrink_axis_mask": 1}), ([0, 2], [0, 4], [1, 1], {"ellipsis_mask": 1}),
        ([0, 0, 1], [0, 0, 3], [1, 1, 1], {"new_axis_mask": 1, "end_mask": 2}), ([3, 0], [1, 5], [1, 1], {}),
    )  # fmt: skip
    for begin, end, strides, attrs in masks:
        yield Case("StridedSlice", dict(input=fed([4, 5]), begin=begin, end=end, strides=strides, **attrs))
    whole = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}
    shapes = (
        ([0, 2], whole, [4, 3]), ([0, -1], whole, [4, 3]), ([0, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 2}, [4, 5]),
        ([-4, 0], {"shrink_axis_mask": 1, "new_axis_mask": 2}, [1, 5, 3]), ([1, 4], {"shrink_axis_mask": 3}, [3]),
    )  # fmt: skip
    for begin, attrs, shape in shapes:
        limits = {"begin": Fed(np.array(begin, I32)), "end": Fed(np.array(begin, I32) + 1), "strides": [1, 1]}
        yield Case("StridedSlice", dict(limits, input=fed([4, 5, 3]), **attrs))
        yield Case("StridedSliceGrad", dict(limits, shape=[4, 5, 3], dy=fed(shape), **attrs))
    yield Case(
        "StridedSliceGrad", {"shape": [4, 5], "begin": [1, 4], "end": [3, 0], "strides": [1, -2], "dy": fed([2, 2])}
    )
    yield Case(
        "TensorStridedSliceUpdate",
        {"input": fed([4, 5]), "begin": [1, 0], "end": [3, 5], "strides": [1, 2], "value": fed([2, 3], seed=1)},
    )
    yield Case("ReverseV2", {"tensor": fed([2, 3, 4]), "axis": [0, -1]})
    yield Case(
        "ReverseSequence",
        {"input": fed([3, 5, 2]), "seq_lengths": Fed(np.array([2, 5, 0], I64)), "seq_dim": 1, "batch_dim": 0},
    )
    yield Case("Roll", {"input": fed([4, 5]), "shift": [1, -2], "axis": [0, 1]})
    yield Case("SpaceToBatchND", {"input": fed([2, 4, 5, 3]), "block_shape": [2, 2], "paddings": [[0, 0], [1, 0]]})
    yield Case("BatchToSpaceND", {"input": fed([8, 2, 3, 1]), "block_shape": [2, 2], "crops": [[0, 1], [1, 0]]})
    yield Case("SpaceToDepth", {"input": fed([2, 4, 6, 3]), "block_size": 2})
    yield Case("DepthToSpace", {"input": fed([2, 2, 3, 8]), "block_size": 2})
    yield Case("MatrixBandPart", {"input": fed([2, 4, 5]), "num_lower": np.int64(1), "num_upper": np.int64(-1)})
    yield Case("MatrixDiag", {"diagonal": fed([2, 3])})
    yield Case("MatrixDiagPart", {"input": fed([2, 3, 4])})
    yield Case("MatrixDiagPart", {"input": fed([3, 3], BOOL)})
    yield Case("MatrixSetDiag", {"input": fed([2, 3, 4]), "diagonal": fed([2, 3], seed=1)})
    yield Case("Diag", {"diagonal": fed([3])})
    yield Case("DiagPart", {"input": fed([3, 3])})
    yield Case("Bitcast", {"input": fed([3]), "type": tf.int32})
    yield Case("Identity", {"input": fed([3])}, compiled=False)
    yield Case("EnsureShape", {"input": fed([3, 2]), "shape": [None, 2]})


def products():
    for ta in (False, True):
        for tb in (False, True):
            a, b = ([5, 3] if ta else [3, 5]), ([4, 5] if tb else [5, 4])
            for dtype in (F32, F64, BF16):
                yield Case(
                    "MatMul", {"a": fed(a, dtype), "b": fed(b, dtype, seed=1), "transpose_a": ta, "transpose_b": tb}
                )
            yield Case("BatchMatMulV2", {"x": fed([2, 1] + a), "y": fed([3] + b, seed=1), "adj_x": ta, "adj_y": tb})
            for batch in ([], [1]):
                args = {"x": fed([2, 3] + a), "y": fed(batch + b, seed=1), "adj_x": ta, "adj_y": tb}
                yield Case("BatchMatMulV2", args)
    yield Case("MatMul", {"a": fed([3, 0]), "b": fed([0, 2])})
    yield Case("MatMul", {"a": fed([3, 4], C64), "b": fed([4, 2], C64, seed=1)})
    yield Case("MatMul", {"a": fed([3, 4], I32), "b": fed([4, 2], I32, seed=1)})
    for eq, a, b in (("ij,jk->ik", [3, 4], [4, 5]), ("bij,bkj->bik", [2, 3, 4], [2, 5, 4]), ("abc,cd->abd", [2, 3, 4], [4, 5]),
                     ("...ij,jk->...ik", [2, 3, 4], [4, 5]), ("bqhd,bkhd->bhqk", [2, 3, 2, 4], [2, 5, 2, 4]), ("ij,ij->", [3, 4], [3, 4])):  # fmt: skip
        yield Case("Einsum", {"inputs": [fed(a), fed(b, seed=1)], "equation": eq})
    for eq, a in (("ij->ji", [3, 4]), ("ij->i", [3, 4]), ("ii->i", [3, 3]), ("ii->", [3, 3])):
        yield Case("Einsum", {"inputs": [fed(a)], "equation": eq})
    for shape in ([3, 4], [2, 3, 3, 4]):
        yield Case("BiasAdd", {"value": fed(shape), "bias": fed([4], seed=1)})
        yield Case("BiasAddGrad", {"out_backprop": fed(shape)})
    yield Case("Cross", {"a": fed([4, 3]), "b": fed([4, 3], seed=1)})


def convolutions():
    for padding in ("VALID", "SAME"):
        for stride in (1, 2):
            for dilation in (1, 2):
                if stride > 1 and dilation > 1:
                    continue
                attrs = {"strides": [1, stride, stride, 1], "padding": padding, "dilations": [1, dilation, dilation, 1]}
                yield Case("Conv2D", dict(input=fed([2, 8, 7, 4]), filter=fed([3, 2, 4, 6], seed=1), **attrs))
                out = tf.nn.conv2d(
                    np.zeros([2, 8, 7, 4], F32), np.zeros([3, 2, 4, 6], F32), stride, padding, dilations=dilation
                ).shape
                if dilation == 1:  # the host has no kernels for the others
                    yield Case(
                        "Conv2DBackpropInput",
                        dict(
                            input_sizes=[2, 8, 7, 4],
                            filter=fed([3, 2, 4, 6], seed=1),
                            out_backprop=fed(list(out), seed=2),
                            **attrs
                        ),
                    )
                    yield Case(
                        "Conv2DBackpropFilter",
                        dict(
                            input=fed([2, 8, 7, 4]),
                            filter_sizes=[3, 2, 4, 6],
                            out_backprop=fed(list(out), seed=2),
                            **attrs
                        ),
                    )
                    yield Case(
                        "DepthwiseConv2dNative",
                        dict(input=fed([2, 8, 7, 4]), filter=fed([3, 2, 4, 2], seed=1), **attrs),
                    )
                    out = tf.nn.depthwise_conv2d(
                        np.zeros([2, 8, 7, 4], F32), np.zeros([3, 2, 4, 2], F32), [1, stride, stride, 1], padding
                    ).shape
                    yield Case(
                        "DepthwiseConv2dNativeBackpropInput",
                        dict(
                            input_sizes=[2, 8, 7, 4],
                            filter=fed([3, 2, 4, 2], seed=1),
                            out_backprop=fed(list(out), seed=2),
                            **attrs
                        ),
                    )
                    yield Case(
                        "DepthwiseConv2dNativeBackpropFilter",
                        dict(
                            input=fed([2, 8, 7, 4]),
                            filter_sizes=[3, 2, 4, 2],
                            out_backprop=fed(list(out), seed=2),
                            **attrs
                        ),
                    )
    yield Case(
        "Conv2D",
        {
            "input": fed([1, 5, 5, 2]),
            "filter": fed([3, 3, 2, 3], seed=1),
            "strides": [1, 1, 1, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0],
        },
    )
    yield Case(
        "Conv3D",
        {
            "input": fed([1, 4, 5, 6, 2]),
            "filter": fed([2, 3, 2, 2, 3], seed=1),
            "strides": [1, 1, 2, 1, 1],
            "padding": "SAME",
        },
    )
    yield Case(
        "Conv3DBackpropInputV2",
        {
            "input_sizes": [1, 4, 5, 6, 2],
            "filter": fed([2, 3, 2, 2, 3], seed=1),
            "out_backprop": fed([1, 4, 3, 6, 3]),
            "strides": [1, 1, 2, 1, 1],
            "padding": "SAME",
        },
    )
    yield Case(
        "Conv3DBackpropFilterV2",
        {
            "input": fed([1, 4, 5, 6, 2]),
            "filter_sizes": [2, 3, 2, 2, 3],
            "out_backprop": fed([1, 4, 3, 6, 3]),
            "strides": [1, 1, 2, 1, 1],
            "padding": "SAME",
        },
    )
    for padding in ("VALID", "SAME"):
        for k, s in ((2, 2), (3, 2), (3, 1)):
            attrs = {"ksize": [1, k, k, 1], "strides": [1, s, s, 1], "padding": padding}
            yield Case("MaxPool", dict(input=fed([2, 7, 6, 3]), **attrs))
            yield Case("AvgPool", dict(value=fed([2, 7, 6, 3]), **attrs))
            out = tf.nn.max_pool2d(data([2, 7, 6, 3], F32), k, s, padding).numpy()
            yield Case(
                "MaxPoolGrad",
                dict(orig_input=fed([2, 7, 6, 3]), orig_output=Fed(out), grad=fed(list(out.shape), seed=3), **attrs),
            )
            yield Case("AvgPoolGrad", dict(orig_input_shape=[2, 7, 6, 3], grad=fed(list(out.shape), seed=3), **attrs))
    yield Case(
        "MaxPool3D",
        {"input": fed([1, 4, 5, 6, 2]), "ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"},
    )
    yield Case(
        "AvgPool3D",
        {"input": fed([1, 4, 5, 6, 2]), "ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"},
    )
    for align, half in ((False, False), (True, False), (False, True)):
        for size in ([7, 9], [3, 2]):
            for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
                yield Case(
                    op, {"images": fed([2, 5, 4, 3]), "size": size, "align_corners": align, "half_pixel_centers": half}
                )
        yield Case(
            "ResizeBilinearGrad",
            {
                "grads": fed([2, 7, 9, 3]),
                "original_image": fed([2, 5, 4, 3]),
                "align_corners": align,
                "half_pixel_centers": half,
            },
        )


def normalization():
    for training in (False, True):
        n = 4
        mean, var = ([], []) if training else ([n], [n])
        for fmt in ("NHWC",):
            args = {"x": fed([3, 5, 4, n]), "scale": fed([n], low=0.5), "offset": fed([n], seed=1), "mean": fed(mean, low=0) if mean else Fed(np.zeros([0], F32)),
                    "variance": fed(var, low=0.5) if var else Fed(np.zeros([0], F32)), "is_training": training, "data_format": fmt}  # fmt: skip
            yield Case("FusedBatchNormV3", args, outputs=[0, 1, 2])
            yield Case("FusedBatchNormGradV3", {"y_backprop": fed([3, 5, 4, n], seed=2), "x": fed([3, 5, 4, n]), "scale": fed([n], low=0.5), "reserve_space_1": fed([n], seed=4),
                       "reserve_space_2": fed([n], low=0.5), "reserve_space_3": Fed(np.zeros([0], F32)), "is_training": training}, outputs=[0, 1, 2])  # fmt: skip
    yield Case(
        "SoftmaxCrossEntropyWithLogits", {"features": fed([3, 5]), "labels": Fed(np.eye(5, dtype=F32)[[1, 4, 0]])}
    )
    yield Case(
        "SparseSoftmaxCrossEntropyWithLogits", {"features": fed([3, 5]), "labels": Fed(np.array([1, 4, 0], I64))}
    )
    yield Case("LRN", {"input": fed([2, 3, 3, 8]), "depth_radius": 2})
    yield Case(
        "LRNGrad",
        {
            "input_grads": fed([2, 3, 3, 8], seed=1),
            "input_image": fed([2, 3, 3, 8]),
            "output_image": fed([2, 3, 3, 8], seed=2),
            "depth_radius": 2,
        },
    )


def gathers():
    ids = Fed(np.array([[0, 3], [2, 1]], I32))
    for axis in (0, 1, -1):
        yield Case("GatherV2", {"params": fed([4, 5, 6]), "indices": ids, "axis": axis, "batch_dims": 0})
    yield Case("GatherV2", {"params": fed([2, 5, 6]), "indices": ids, "axis": 1, "batch_dims": 1})
    yield Case("GatherV2", {"params": fed([4, 5], I64), "indices": Fed(np.array(2, I64)), "axis": 0})
    yield Case("GatherNd", {"params": fed([4, 5, 6]), "indices": Fed(np.array([[0, 3], [2, 1]], I32))})
    yield Case("GatherNd", {"params": fed([4, 5]), "indices": Fed(np.array([[[0, 3]], [[2, 1]]], I64))})
    yield Case("TopKV2", {"input": fed([3, 9]), "k": 4, "sorted": True})
    yield Case("ScatterNd", {"indices": Fed(np.array([[0], [2], [0]], I32)), "updates": fed([3, 4]), "shape": [5, 4]})
    for shape, places in (([7], [1, 4, 6]), ([3, 4], [[0, 1], [1, 3], [2, 2]]), ([2, 3, 2], [[0, 2, 1], [1, 0, 0]])):
        for index, dtype in ((I64, F32), (I32, I32), (I64, BOOL), (I32, BF16)):
            call = {"sparse_indices": Fed(np.array(places, index)), "output_shape": np.array(shape, index)}
            call["default_value"] = Fed(np.array(3, dtype))
            yield Case("SparseToDense", dict(call, sparse_values=fed([len(places)], dtype)))
            yield Case("SparseToDense", dict(call, sparse_values=fed([], dtype)))
    for places in (4, [], [5, 0, 2]):
        count = [] if places == 4 else [len(places)]
        call = {"sparse_indices": Fed(np.array(places, I32)), "output_shape": [6], "sparse_values": fed(count)}
        yield Case("SparseToDense", dict(call, default_value=F32(-1), validate_indices=False))
    for op in ("TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate", "TensorScatterMax", "TensorScatterMin"):
        yield Case(
            op, {"tensor": fed([5, 4]), "indices": Fed(np.array([[4], [2], [0]], I32)), "updates": fed([3, 4], seed=1)}
        )
    yield Case("InTopKV2", {"predictions": fed([3, 6]), "targets": Fed(np.array([1, 5, 2], I32)), "k": 3})
    yield Case(
        "DynamicStitch",
        {"indices": [np.array([0, 2], I32), np.array([1, 3], I32)], "data": [fed([2, 3]), fed([2, 3], seed=1)]},
    )


def basic_cases():
    for family in (unary, binary, reductions, shapes, products, convolutions, normalization, gathers):
        yield from family()
