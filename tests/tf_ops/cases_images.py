"""Cases of tf_ops.py: images, pooling with places, diagonals, quantization, truncated and narrow random numbers."""

import numpy as np
import tensorflow as tf

from cases import BF16, F16, F32, F64, I32, I64, U8, C64, Case, Fed, data, fed


def images():
    for align, half in ((False, False), (True, False), (False, True)):
        sampling = {"align_corners": align, "half_pixel_centers": half}
        for size in ([7, 9], [3, 2], [5, 4], [1, 1]):
            yield Case("ResizeBicubic", dict(images=fed([2, 5, 4, 3]), size=size, **sampling))
            yield Case("ResizeNearestNeighborGrad", dict(grads=fed([2, 5, 4, 3]), size=size, **sampling))
            if not half:
                yield Case("ResizeArea", dict(images=fed([2, 5, 4, 3]), size=size, align_corners=align))
        yield Case("ResizeBicubic", dict(images=fed([1, 4, 4, 2], U8, 0, 200), size=[6, 3], **sampling))
        yield Case("ResizeBicubicGrad", dict(grads=fed([2, 7, 9, 3]), original_image=fed([2, 5, 4, 3]), **sampling))
    boxes = Fed(np.array([[0.1, 0.2, 0.8, 0.9], [0.7, 0.1, 0.2, 0.6], [-0.3, 0.0, 1.2, 1.0]], F32))
    for method in ("bilinear", "nearest"):
        for size in ([4, 3], [1, 1], [1, 5]):
            yield Case(
                "CropAndResize",
                {
                    "image": fed([2, 6, 5, 3]),
                    "boxes": boxes,
                    "box_ind": Fed(np.array([1, 0, 1], I32)),
                    "crop_size": size,
                    "method": method,
                    "extrapolation_value": -1.5,
                },
            )


def sampled_images():
    """Kernels, sizes up and down, shifts that leave the image, and the gradient; edges of the kernels among them."""
    kernels = ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]
    for kernel in kernels:
        for antialias in (False, True):
            for size, scale, shift in (
                ([7, 9], [1.4, 2.25], [0, 0]),
                ([3, 2], [0.6, 0.5], [0, 0]),
                ([5, 4], [1, 1], [1.5, -2]),
                ([1, 6], [0.2, 1.5], [0.3, 9]),
            ):
                call = {"scale": np.array(scale, F32), "translation": np.array(shift, F32), "kernel_type": kernel}
                call["antialias"] = antialias
                yield Case("ScaleAndTranslate", dict(call, images=fed([2, 5, 4, 3]), size=size))
                grads = fed([2] + size + [3], seed=2)
                yield Case("ScaleAndTranslateGrad", dict(call, grads=grads, original_image=fed([2, 5, 4, 3])))
    whole = {"size": [3, 9], "scale": np.array([0.75, 2], F32), "translation": np.zeros(2, F32)}
    for dtype in (U8, I32, F64, F16):
        yield Case("ScaleAndTranslate", dict(whole, images=fed([1, 4, 4, 2], dtype, 0, 200)))


def windows():
    for padding in ("VALID", "SAME"):
        for k, s, r in ((2, 2, 1), (3, 1, 1), (3, 2, 2), (1, 3, 1)):
            patches = {"ksizes": [1, k, k, 1], "strides": [1, s, s, 1], "rates": [1, r, r, 1], "padding": padding}
            yield Case("ExtractImagePatches", dict(images=fed([2, 7, 6, 3]), **patches))
            yield Case(
                "Dilation2D",
                {
                    "input": fed([2, 7, 6, 3]),
                    "filter": fed([k, k, 3], seed=1),
                    "strides": [1, s, s, 1],
                    "rates": [1, r, r, 1],
                    "padding": padding,
                },
            )
            attrs = {"ksize": [1, k, k, 1], "strides": [1, s, s, 1], "padding": padding}
            x = data([2, 7, 6, 3], F32)
            for with_batch in (False, True):
                pool = dict(attrs, include_batch_in_index=with_batch)
                for index in (tf.int32, tf.int64):
                    yield Case("MaxPoolWithArgmax", dict(input=Fed(x), Targmax=index, **pool))
                value, place = tf.raw_ops.MaxPoolWithArgmax(input=x, **pool)
                grad = fed(list(value.shape), seed=3)
                yield Case("MaxPoolGradWithArgmax", dict(input=Fed(x), grad=grad, argmax=Fed(place.numpy()), **pool))
            second = dict(orig_input=Fed(x), orig_output=Fed(value.numpy()), grad=fed([2, 7, 6, 3], seed=4))
            yield Case("MaxPoolGradGrad", dict(second, **attrs))
            yield Case(
                "MaxPoolGradGradV2", dict(second, ksize=attrs["ksize"], strides=attrs["strides"], padding=padding)
            )
        volume = {"ksizes": [1, 2, 3, 1, 1], "strides": [1, 2, 1, 1, 1], "padding": padding}
        yield Case("ExtractVolumePatches", dict(input=fed([1, 4, 5, 3, 2]), **volume))
    yield Case(
        "ExtractImagePatches",
        {"images": fed([1, 4, 4, 2], I32), "ksizes": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"},  # fmt: skip
    )


def diagonals():
    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        for k in (0, 1, -1, 2, (-1, 1), (0, 2), (-2, -1), (-2, 3)):
            for shape in ([2, 3, 4], [4, 3], [4, 4]):
                if isinstance(k, tuple) and (k[0] <= -shape[-2] or k[1] >= shape[-1]):
                    continue
                x = data(shape, F32)
                band = tf.raw_ops.MatrixDiagPartV3(input=x, k=k, padding_value=0.0, align=align).numpy()
                yield Case("MatrixDiagPartV3", {"input": Fed(x), "k": k, "padding_value": 7.0, "align": align})
                diagonal = Fed(band + 1)
                yield Case("MatrixSetDiagV3", {"input": Fed(x), "diagonal": diagonal, "k": k, "align": align})
                for rows, columns in ((-1, -1), shape[-2:]):
                    sizes = {"num_rows": rows, "num_cols": columns, "padding_value": 0.5, "align": align}
                    yield Case("MatrixDiagV3", dict(diagonal=diagonal, k=k, **sizes))
    yield Case("MatrixDiagPartV2", {"input": fed([3, 5], I32), "k": (-1, 2), "padding_value": 9})
    yield Case("MatrixSetDiagV2", {"input": fed([3, 5], I64), "diagonal": fed([3], I64), "k": 1})
    yield Case(
        "MatrixDiagV2",
        {"diagonal": fed([2, 3], C64), "k": 1, "num_rows": -1, "num_cols": -1, "padding_value": np.complex64(0)},
    )


def quantization():
    for dtype in (F32, F64):
        x = fed([3, 5, 4], dtype, -3, 3)
        low, high = Fed(np.array(-1.7, dtype)), Fed(np.array(2.2, dtype))
        for signed in (False, True):
            for given in (False, True):
                for narrow in (False, True):
                    call = dict(input=x, input_min=low, input_max=high, signed_input=signed, range_given=given, narrow_range=narrow)  # fmt: skip
                    for bits in (8, 4):
                        yield Case("QuantizeAndDequantizeV3", dict(call, num_bits=bits))
                        for mode in ("HALF_TO_EVEN", "HALF_UP"):
                            for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
                                yield Case(op, dict(call, num_bits=bits, round_mode=mode))
        yield Case("QuantizeAndDequantizeV4Grad", dict(gradients=fed([3, 5, 4], dtype, seed=2), input=x, input_min=low, input_max=high))  # fmt: skip
    ranges = {"min": Fed(np.array([-1.5, -0.2, -3, 0], F32)), "max": Fed(np.array([1.0, 2.0, 0.5, 1.2], F32))}
    for bits, narrow in ((8, False), (4, True)):
        for shape in ([4], [5, 4], [2, 3, 3, 4]):
            call = dict(ranges, num_bits=bits, narrow_range=narrow)
            yield Case("FakeQuantWithMinMaxVarsPerChannel", dict(inputs=fed(shape, F32, -4, 4), **call))
            yield Case(
                "FakeQuantWithMinMaxVarsPerChannelGradient",
                dict(gradients=fed(shape, seed=1), inputs=fed(shape, F32, -4, 4), **call),
            )


def quantized():
    """Whole ranges, ranges without zero, too narrow ones, and one per channel; the numbers themselves are compared."""

    def build(a):
        output, low, high = tf.raw_ops.QuantizeV2(**a)
        return [tf.raw_ops.Bitcast(input=output, type=tf.uint8 if a["T"] == tf.quint8 else tf.int8), low, high]

    ranges = ((-2.0, 2.5), (-2.0, 2.0), (0.5, 3.0), (-4.0, -1.0), (0.0, 0.0), (-100.0, 3.0))
    for target in (tf.quint8, tf.qint8):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for rounding in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
                if rounding == "HALF_TO_EVEN" and mode != "SCALED":
                    continue
                attrs = {"T": target, "mode": mode, "round_mode": rounding}
                for low, high in ranges:
                    for narrow in (False, target == tf.qint8):
                        call = {"input": fed([60], F32, -4, 4), "min_range": Fed(np.array(low, F32))}
                        call = dict(call, max_range=Fed(np.array(high, F32)), narrow_range=narrow, **attrs)
                        yield Case("QuantizeV2", call, build)
                call = {"input": fed([2, 3, 5], F32, -4, 4), "min_range": Fed(np.array([-1, 0, -3], F32))}
                call = dict(call, max_range=Fed(np.array([0, 2, 4], F32)), axis=1, **attrs)
                if mode != "MIN_FIRST":
                    yield Case("QuantizeV2", call, build)


def spectrograms():
    for length, window, stride in ((600, 128, 64), (600, 100, 33), (64, 64, 1), (50, 64, 8)):
        for squared in (False, True):
            attrs = {"window_size": window, "stride": stride, "magnitude_squared": squared}
            yield Case("AudioSpectrogram", dict(attrs, input=fed([length, 2])))
    for bins, limits, channels, count in ((129, (4000.0, 20.0), 40, 13), (65, (3800.0, 50.0), 12, 12)):
        attrs = {"filterbank_channel_count": channels, "dct_coefficient_count": count}
        attrs = dict(attrs, upper_frequency_limit=limits[0], lower_frequency_limit=limits[1])
        for rate in (8000, 16000):
            yield Case("Mfcc", dict(attrs, spectrogram=fed([2, 3, bins], F32, 0.1, 90), sample_rate=rate))


def randoms():
    seed = Fed(np.array([7, -11], I64))
    key, counter = Fed(np.array([123456789], np.uint64)), Fed(np.array([2**64 - 3, 5], np.uint64))
    for shape in ([3], [5, 7], [1001]):
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
            yield Case("StatelessTruncatedNormal", {"shape": shape, "seed": seed, "dtype": dtype})
            keyed = {"shape": shape, "key": key, "counter": counter, "alg": 1, "dtype": dtype}
            yield Case("StatelessTruncatedNormalV2", keyed)
            if dtype in (tf.float16, tf.bfloat16):
                yield Case("StatelessRandomUniform", {"shape": shape, "seed": seed, "dtype": dtype})
                yield Case("StatelessRandomNormal", {"shape": shape, "seed": seed, "dtype": dtype})
                yield Case("StatelessRandomUniformV2", keyed)


def stochastic_casts():
    """An op without a Python function: whole vectors and what is left of them, and what needs no rounding."""
    rng = np.random.RandomState(3)
    limits = np.array([0, -3, 4, np.nan, np.inf, -np.inf, 127, 128, -128.5, 32766.5, 40000.5, -7e4, 2147483500, 1e10])

    for source in (F32, F64, F16, BF16):
        for target in (tf.int8, tf.int16, tf.int32):

            def build(a, types={"Tin": tf.as_dtype(source), "Tout": target}):
                attrs = {k: tf.compat.v1.AttrValue(type=v.as_datatype_enum) for k, v in types.items()}
                inputs = [a["input"], a["key"], a["counter"], tf.constant(1)]
                graph = tf.compat.v1.get_default_graph()
                return graph.create_op("StochasticCastToInt", inputs, [types["Tout"]], attrs=attrs).outputs[0]

            for shape in ([], [0], [5, 3], [4, 41]):
                values = rng.uniform(-9, 9, shape)
                if shape == [4, 41]:
                    at = rng.permutation(164)[:60]
                    values.reshape(-1)[at] = np.resize(limits, 60)
                with np.errstate(over="ignore"):
                    values = values.astype(source)
                call = {"input": Fed(values), "key": Fed(np.array([2**64 - 5], np.uint64))}
                call["counter"] = Fed(np.array([2**63 + 9, 1], np.uint64))
                yield Case("StochasticCastToInt", call, build, note=" to " + target.name)


def image_cases():
    for family in (
        images,
        sampled_images,
        windows,
        diagonals,
        quantization,
        quantized,
        spectrograms,
        randoms,
        stochastic_casts,
    ):
        yield from family()
