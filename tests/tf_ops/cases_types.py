"""Cases of tf_ops.py: types that few programs use, quantized arrays, and ops that rewrites and generators bring."""

import numpy as np
import tensorflow as tf

from cases import BF16, BOOL, C64, F16, F32, F64, I8, I16, I32, I64, U8, U16, Case, Fed, data, fed

C128 = np.complex128


def complex_math():
    for dtype in (C64, C128):
        for op in ("Sinh", "Cosh", "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh", "Sigmoid", "Sign", "Tan", "Inv"):
            yield Case(op, {"x": fed([4, 7], dtype, -3, 3)})
            yield Case(op, {"x": fed([31], dtype, -0.4, 0.4)})
        for op in ("SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad", "SigmoidGrad", "TanhGrad"):
            yield Case(op, {"y": fed([3, 4], dtype, 0.2), "dy": fed([3, 4], dtype, seed=1)})
        for op in ("Pow", "DivNoNan", "Xlogy", "Xdivy", "Xlog1py", "MulNoNan"):
            yield Case(op, {"x": fed([3, 4], dtype, 0.3), "y": fed([4], dtype, 0.3, seed=1)})
    for dtype in (I8, I16):
        yield Case("Pow", {"x": fed([4, 6], dtype, -3, 3), "y": Fed(np.abs(data([4, 6], dtype, seed=3)))})
    for dtype in (tf.float32, tf.bool, tf.int32, tf.complex128):
        yield Case("Cast", {"x": Fed(np.array([2j, 1 - 3j, 0], C64)), "DstT": dtype})


def narrow_arrays():
    images = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    for dtype in (I8, I16, I32, I64, U8, U16):
        x = data([2, 4, 6, 3], dtype, 0, 40)
        pooled = x.reshape(2, 2, 2, 3, 2, 3).max((2, 4))
        args = {"orig_input": Fed(x), "orig_output": Fed(pooled), "grad": fed([2, 2, 3, 3], dtype, seed=5)}
        yield Case("MaxPoolGrad", dict(args, **images))
    conv = dict(strides=[1, 1, 2, 1], padding="SAME", dilations=[1, 1, 1, 1])
    yield Case("Conv2D", dict(input=fed([2, 5, 6, 3], I32), filter=fed([3, 2, 3, 4], I32, seed=1), **conv))
    square = data([2, 4, 4], F32)
    positive = (np.matmul(square, square.transpose(0, 2, 1)) + 4 * np.eye(4)).astype(F16)
    yield Case("MatrixInverse", {"input": Fed(positive)})


def convolutions():
    for fmt, shape, strides in (
        ("CHANNELS_LAST", [2, 6, 7, 3], [1, 2, 1, 1]),
        ("CHANNELS_LAST", [2, 4, 5, 6, 3], [1, 1, 2, 1, 1]),
    ):
        for padding in ("SAME", "VALID"):
            kernel = [3, 2, 2][-(len(shape) - 2) :] + [3, 4]
            args = dict(strides=strides, padding=padding, data_format=fmt)
            yield Case("Conv", dict(input=fed(shape), filter=fed(kernel, seed=1), **args))
    args = dict(strides=[1, 1, 1, 1], padding="SAME", batch_dims=2)
    yield Case("Conv", dict(input=fed([2, 3, 5, 6, 2]), filter=fed([3, 3, 2, 4], seed=1), **args))


def selections():
    for dtype in (F32, F16, BF16):
        for axis, greatest in ((-1, True), (0, False), (1, True)):
            x = np.random.RandomState(7).permutation(60).reshape(3, 4, 5).astype(dtype)
            attrs = {"k": 2, "reduction_dimension": axis, "is_max_k": greatest}
            case = Case("ApproxTopK", {"input": Fed(x)}, build=lambda a, k=attrs: tf.raw_ops.ApproxTopK(**a, **k))
            case.by_compiler = axis != -1  # the host's kernel takes the last dimension only
            yield case
    for dtype in (I32, I64):
        for binary in (False, True):
            args = {"input": Fed(data([3, 7], dtype, 2, 5)), "size": Fed(dtype(6)), "binary_output": binary}
            yield Case("DenseBincount", dict(args, weights=fed([3, 7], seed=1)))
            yield Case("DenseBincount", dict(args, weights=Fed(np.zeros([0], F32))))
    for op, k in (("NthElement", {"n": 2}), ("NthElement", {"n": 0, "reverse": True})):
        yield Case(op, dict(input=fed([3, 9]), **k))
    yield Case("InTopK", {"predictions": fed([3, 6]), "targets": Fed(np.array([1, 5, 2], I32)), "k": 3})
    for seed in ([3, 4], [-1, 2**40]):
        for dtype in (F32, F64):
            args = {"logits": fed([3, 11], dtype), "num_samples": 9, "seed": Fed(np.array(seed, I64))}
            yield Case("StatelessMultinomial", args)
            yield Case("StatelessMultinomial", dict(args, output_dtype=tf.int32, num_samples=4))
        logits = data([2, 5], F32)
        logits[0, 2] = logits[1, 4] = -np.inf
        yield Case("StatelessMultinomial", {"logits": Fed(logits), "num_samples": 30, "seed": Fed(np.array(seed, I64))})
    for seeds in ((5, 9), (0, 3)):
        args = {"logits": fed([1, 7]), "num_samples": 6, "seed": seeds[0], "seed2": seeds[1]}
        yield Case("Multinomial", args, compiled=False)
    yield Case("DeviceIndex", {"x": fed([2], I32)}, build=lambda a: tf.raw_ops.DeviceIndex(device_names=["GPU", "CPU"]) + a["x"])  # fmt: skip


def generators():
    """Two draws from a generator that is a variable, and its state after them."""

    def case(op, dtype, limits=None, shape=(7,), algorithm=1):
        def build(args):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="state_%s" % op)
            outs = []
            with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=handle, value=args["state"])]):
                step = tf.no_op()
            for _ in range(2):
                with tf.control_dependencies([step]):
                    call = dict(limits or {}, resource=handle, algorithm=algorithm, shape=list(shape))
                    if limits is None:
                        call["dtype"] = dtype
                    outs.append(getattr(tf.raw_ops, op)(**call))
                    step = outs[-1].op
            with tf.control_dependencies([step]):
                return outs + [tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64)]

        state = np.array([2**63 - 1, 5, 77], np.int64)
        return Case(op, {"state": Fed(state)}, build=build, compiled=False, note=" %s %s" % (dtype.name, shape))

    for shape in ((7,), (3, 5), (130,)):
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
            yield case("StatefulUniform", dtype, shape=shape)
        for dtype in (tf.float32, tf.float64):
            yield case("StatefulStandardNormalV2", dtype, shape=shape)
            yield case("StatefulTruncatedNormal", dtype, shape=shape)
        for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
            yield case("StatefulUniformFullInt", dtype, shape=shape)
        for dtype in (tf.int32, tf.int64):
            limits = {"minval": tf.constant(-9, dtype).numpy(), "maxval": tf.constant(50, dtype).numpy()}
            yield case("StatefulUniformInt", dtype, limits, shape=shape)


def quantized():
    types = {tf.qint8: (I8, -128, 127), tf.quint8: (U8, 0, 255), tf.qint32: (I32, -(2**31), 2**31 - 1)}

    def raw(a, t):
        return tf.bitcast(a, t)

    for t in (tf.qint8, tf.quint8):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for limits in ((-1.5, 2.25), (0.0, 6.0), (-3.0, 3.0)):

                def build(a, t=t, mode=mode, limits=limits):
                    low, high = (tf.constant(v, tf.float32) for v in limits)
                    return tf.raw_ops.Dequantize(input=raw(a["x"], t), min_range=low, max_range=high, mode=mode)

                x = Fed(np.arange(types[t][1], types[t][2], 5).astype(types[t][0]))
                yield Case("Dequantize", {"x": x}, build=build, note=" %s %s %s" % (t.name, mode, limits))
    values = np.concatenate([np.arange(-20, 20) / 4.0, [999, -999, 0.1]]).astype(F32).reshape(1, 43)
    channels = ([0.25, 0.5, 0.3], [3, -4, 0])
    for t in (tf.qint8, tf.qint32):
        low, high = types[t][1:]
        for axis, scales, zeros in ((-1, 0.25, 3), (0, *channels)):
            attrs = dict(quantization_axis=axis, quantization_min_val=low, quantization_max_val=high)
            given = dict(scales=np.array(scales, F32), zero_points=np.array(zeros, I32))

            def quantize(a, t=t, attrs=attrs, given=given):
                q = tf.raw_ops.UniformQuantize(input=a["x"], Tout=t, **given, **attrs)
                return tf.bitcast(q, tf.int8 if t == tf.qint8 else tf.int32)

            x = Fed(np.tile(values, (3, 1)))
            yield Case("UniformQuantize", {"x": x}, build=quantize, note=" %s %d" % (t.name, axis))

            def back(a, t=t, attrs=attrs, given=given):
                return tf.raw_ops.UniformDequantize(input=raw(a["x"], t), Tout=tf.float32, **given, **attrs)

            ints = fed([3, 9], types[t][0], -100, 100)
            yield Case("UniformDequantize", {"x": ints}, build=back, note=" %s %d" % (t.name, axis))
            for to in (tf.qint8,):
                for out_axis, out_scales, out_zeros in ((-1, 0.6, -2), (0, [0.1, 0.5, 2.0], [1, 0, 7])):
                    if axis == -1 and out_axis == 0 and t == tf.qint32:
                        continue

                    def again(
                        a, t=t, to=to, axis=axis, scales=scales, zeros=zeros, o=(out_axis, out_scales, out_zeros)
                    ):
                        q = tf.raw_ops.UniformRequantize(
                            input=raw(a["x"], t), Tout=to, input_scales=np.array(scales, F32),
                            input_zero_points=np.array(zeros, I32), output_scales=np.array(o[1], F32),
                            output_zero_points=np.array(o[2], I32), input_quantization_axis=axis,
                            input_quantization_min_val=types[t][1], input_quantization_max_val=types[t][2],
                            output_quantization_axis=o[0], output_quantization_min_val=types[to][1],
                            output_quantization_max_val=types[to][2],
                        )  # fmt: skip
                        return tf.bitcast(q, tf.int8 if to == tf.qint8 else tf.int32)

                    note = " %s %s %d %d" % (t.name, to.name, axis, out_axis)
                    yield Case("UniformRequantize", {"x": ints}, build=again, note=note)
    i8, i32 = types[tf.qint8][1:], types[tf.qint32][1:]
    sides = dict(
        lhs_scales=F32(0.25), lhs_zero_points=np.int32(3), lhs_quantization_min_val=i8[0], lhs_quantization_max_val=i8[1],
        rhs_quantization_min_val=i8[0], rhs_quantization_max_val=i8[1],
        output_quantization_min_val=i32[0], output_quantization_max_val=i32[1],
    )  # fmt: skip
    for wide, out_axis in ((False, -1), (True, -1), (True, 1)):
        n = 5
        rhs = dict(
            rhs_scales=np.linspace(0.1, 0.9, n).astype(F32) if wide else F32(0.4),
            rhs_zero_points=np.zeros(n, I32) if wide else np.int32(-2),
            output_scales=np.linspace(0.2, 0.5, n).astype(F32) if out_axis >= 0 else F32(0.3),
            output_zero_points=np.arange(n, dtype=I32) if out_axis >= 0 else np.int32(4),
        )

        def dot(a, wide=wide, rhs=rhs, out_axis=out_axis):
            axes = dict(rhs_quantization_axis=1 if wide else -1, output_quantization_axis=out_axis)
            q = tf.raw_ops.UniformQuantizedDot(
                lhs=raw(a["x"], tf.qint8), rhs=raw(a["y"], tf.qint8), Tout=tf.qint32, **sides, **rhs, **axes
            )
            return tf.bitcast(q, tf.int32)

        args = {"x": fed([3, 4], I8, -100, 100), "y": fed([4, n], I8, -100, 100, seed=1)}
        yield Case("UniformQuantizedDot", args, build=dot, note=" %s %d" % (wide, out_axis))
        for padding, more in (("SAME", {}), ("VALID", {"window_strides": [2, 1]}), ("EXPLICIT", {"explicit_padding": [1, 0, 2, 1], "rhs_dilation": [1, 2]})):  # fmt: skip

            def conv(a, wide=wide, rhs=rhs, out_axis=out_axis, padding=padding, more=more):
                axes = dict(rhs_quantization_axis=0 if wide else -1, output_quantization_axis=out_axis)
                q = tf.raw_ops.UniformQuantizedConvolution(
                    lhs=raw(a["x"], tf.qint8), rhs=raw(a["y"], tf.qint8), Tout=tf.qint32, padding=padding,
                    **more, **sides, **rhs, **axes
                )  # fmt: skip
                return tf.bitcast(q, tf.int32)

            args = {"x": fed([2, 3, 6, 7], I8, -100, 100), "y": fed([n, 3, 2, 3], I8, -100, 100, seed=1)}
            yield Case("UniformQuantizedConvolution", args, build=conv, note=" %s %d %s" % (wide, out_axis, padding))
    for axis in (-1, 1):
        per = lambda v, axis=axis: np.array([v, 2 * v, v / 2], F32) if axis == 1 else F32(v)
        zero = lambda v, axis=axis: np.array([v, 0, -v], I32) if axis == 1 else np.int32(v)
        limits = {k + "_quantization_%s_val" % e: v for k in ("lhs", "rhs", "output") for e, v in (("min", i32[0]), ("max", i32[1]))}  # fmt: skip
        axes = {k + "_quantization_axis": axis for k in ("lhs", "rhs", "output")}

        def add(a, per=per, zero=zero, limits=limits, axes=axes):
            q = tf.raw_ops.UniformQuantizedAdd(
                lhs=raw(a["x"], tf.qint32), rhs=raw(a["y"], tf.qint32), lhs_scales=per(0.3), lhs_zero_points=zero(4),
                rhs_scales=per(0.7), rhs_zero_points=zero(-3), output_scales=per(0.5), output_zero_points=zero(9),
                **limits, **axes
            )  # fmt: skip
            return tf.bitcast(q, tf.int32)

        args = {"x": fed([2, 3], I32, -999, 999), "y": fed([2, 3], I32, -999, 999, seed=1)}
        yield Case("UniformQuantizedAdd", args, build=add, note=" %d" % axis)

        def clip(a, per=per, zero=zero, axis=axis):
            q = tf.raw_ops.UniformQuantizedClipByValue(
                operand=raw(a["x"], tf.qint32), min=raw(zero(-100), tf.qint32), max=raw(zero(-100) + 300, tf.qint32),
                scales=per(0.3), zero_points=zero(4), quantization_axis=axis, quantization_min_val=i32[0],
                quantization_max_val=i32[1],
            )  # fmt: skip
            return tf.bitcast(q, tf.int32)

        yield Case("UniformQuantizedClipByValue", {"x": fed([2, 3], I32, -999, 999)}, build=clip, note=" %d" % axis)


def type_cases():
    for family in (complex_math, narrow_arrays, convolutions, selections, generators, quantized):
        yield from family()
