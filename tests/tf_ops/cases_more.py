"""More cases of tf_ops.py: variables and optimizers, random bits, linear algebra, images, control flow."""

import numpy as np
import tensorflow as tf

from cases import C64, F32, F64, I32, I64, Case, Fed, data, fed
from cases_host import host_cases
from cases_images import image_cases
from cases_linalg import linalg_cases
from cases_loops import loop_cases
from cases_quantized import quantized_cases
from cases_records import record_cases
from cases_sparse import sparse_cases
from cases_special import special_cases
from cases_text import text_cases
from cases_types import type_cases
from cases_variables import variable_cases
from cases_xla import xla_cases


def positive_definite(shape, dtype=F32):
    x = data(shape, F64)
    return Fed((np.matmul(x, np.swapaxes(x, -1, -2)) + 3 * np.eye(shape[-1])).astype(dtype))


def optimizer(op, slots, scalars, attrs=None, tail=False):
    """A step of an optimizer on variables made in the graph; gives the variables' values after it."""

    def build(args):
        names, handles, assigns = ["var"] + slots, [], []
        for i, name in enumerate(names):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[3, 4], shared_name="%s_%s" % (op, name))
            handles.append(handle)
            assigns.append(tf.raw_ops.AssignVariableOp(resource=handle, value=args["v%d" % i]))
        call = dict(zip(names, handles))
        call.update({k: tf.constant(v, tf.float32) for k, v in scalars.items()})
        call.update(attrs or {})
        with tf.control_dependencies(assigns):
            call["delta" if op.endswith("GradientDescent") else "grad"] = tf.identity(args["g"])
            step = getattr(tf.raw_ops, op)(**call)
        with tf.control_dependencies([step]):
            return [tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32) for h in handles]

    args = {"v%d" % i: fed([3, 4], low=0.1, seed=i) for i in range(len(slots) + 1)}
    args["g"] = fed([3, 4], seed=9)
    return Case(op, args, build=build, compiled=False)


def optimizers():
    yield optimizer("ResourceApplyGradientDescent", [], {"alpha": 0.1})
    for nesterov in (False, True):
        flag = {"use_nesterov": nesterov}
        yield optimizer("ResourceApplyMomentum", ["accum"], {"lr": 0.1, "momentum": 0.9}, flag)
        yield optimizer("ResourceApplyKerasMomentum", ["accum"], {"lr": 0.1, "momentum": 0.9}, flag)
        adam = {"beta1_power": 0.9, "beta2_power": 0.99, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-7}
        yield optimizer("ResourceApplyAdam", ["m", "v"], adam, flag)
    yield optimizer("ResourceApplyAdagrad", ["accum"], {"lr": 0.1})
    yield optimizer("ResourceApplyAdagradV2", ["accum"], {"lr": 0.1, "epsilon": 1e-3})
    rms = {"lr": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 1e-3}
    yield optimizer("ResourceApplyRMSProp", ["ms", "mom"], rms)
    yield optimizer("ResourceApplyAdadelta", ["accum", "accum_update"], {"lr": 0.1, "rho": 0.9, "epsilon": 1e-3})
    yield optimizer(
        "ResourceApplyAdaMax", ["m", "v"], {"beta1_power": 0.9, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3}
    )

    def counter(args):
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[3], shared_name="counter")
        with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=handle, value=args["x"])]):
            with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=handle, value=args["y"])]):
                with tf.control_dependencies([tf.raw_ops.AssignSubVariableOp(resource=handle, value=args["z"])]):
                    return [tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) * 2.0]

    args = {"x": fed([3]), "y": fed([3], seed=1), "z": fed([3], seed=2)}
    yield Case("AssignAddVariableOp", args, build=counter, compiled=False)


def randoms():
    seed = Fed(np.array([7, -11], I64))
    for shape in ([3], [5, 7], [130]):
        for dtype in (tf.float32, tf.float64):
            yield Case("StatelessRandomUniform", {"shape": shape, "seed": seed, "dtype": dtype})
            yield Case("StatelessRandomNormal", {"shape": shape, "seed": seed, "dtype": dtype})
        for dtype in (tf.int32, tf.int64):
            limits = {
                "minval": Fed(np.array(-5, dtype.as_numpy_dtype)),
                "maxval": Fed(np.array(90, dtype.as_numpy_dtype)),
            }
            yield Case("StatelessRandomUniformInt", dict(shape=shape, seed=seed, **limits))
        for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
            yield Case("StatelessRandomUniformFullInt", {"shape": shape, "seed": seed, "dtype": dtype})
        key, counter = Fed(np.array([123456789], np.uint64)), Fed(np.array([2**64 - 3, 5], np.uint64))
        keyed = {"shape": shape, "key": key, "counter": counter, "alg": 1}
        yield Case("StatelessRandomUniformV2", dict(keyed, dtype=tf.float32))
        yield Case("StatelessRandomNormalV2", dict(keyed, dtype=tf.float32))
        yield Case("StatelessRandomUniformFullIntV2", dict(keyed, dtype=tf.uint64))
        yield Case("StatelessRandomUniformIntV2", dict(keyed, minval=Fed(np.int32(3)), maxval=Fed(np.int32(50))))
    yield Case("StatelessRandomGetKeyCounter", {"seed": seed})


def linalg():
    for dtype in (F32, F64):
        yield Case("Cholesky", {"input": positive_definite([2, 4, 4], dtype)})
        for lower in (True, False):
            for adjoint in (False, True):
                yield Case(
                    "MatrixTriangularSolve",
                    {
                        "matrix": positive_definite([4, 4], dtype),
                        "rhs": fed([4, 3], dtype),
                        "lower": lower,
                        "adjoint": adjoint,
                    },
                )
        for adjoint in (False, True):
            yield Case("MatrixInverse", {"input": positive_definite([3, 4, 4], dtype), "adjoint": adjoint})
            yield Case(
                "MatrixSolve",
                {"matrix": fed([2, 5, 5], dtype), "rhs": fed([2, 5, 3], dtype, seed=1), "adjoint": adjoint},
            )
    for op in ("FFT", "IFFT"):
        yield Case(op, {"input": fed([2, 8], C64)})
        yield Case(op, {"input": fed([2, 6], C64)})
    for op in ("FFT2D", "IFFT2D"):
        yield Case(op, {"input": fed([2, 4, 8], C64)})
    for n in (8, 6):
        yield Case("RFFT", {"input": fed([3, 8]), "fft_length": [n]})
        yield Case("IRFFT", {"input": fed([3, 5], C64), "fft_length": [n]})
    yield Case("MatrixDiagPartV3", {"input": fed([2, 3, 4]), "k": 0, "padding_value": 0.0})
    yield Case("MatrixDiagV3", {"diagonal": fed([2, 3]), "k": 0, "num_rows": -1, "num_cols": -1, "padding_value": 0.5})
    yield Case("MatrixSetDiagV3", {"input": fed([2, 3, 4]), "diagonal": fed([2, 3], seed=1), "k": 0})


def misc():
    yield Case("CheckNumerics", {"tensor": fed([3]), "message": "bad"})
    yield Case("Bucketize", {"input": fed([4, 3]), "boundaries": [-1.0, 0.0, 0.5]})
    for op in ("LowerBound", "UpperBound"):
        sorted_rows = np.sort(data([2, 7], I32, -9, 9), axis=1)
        yield Case(op, {"sorted_inputs": Fed(sorted_rows), "values": fed([2, 5], I32, -9, 9, seed=2)})
    yield Case("DataFormatDimMap", {"x": Fed(np.array([0, 1, 2, 3, -1], I32))})
    yield Case("DataFormatVecPermute", {"x": fed([4], I32)})
    yield Case("DataFormatVecPermute", {"x": fed([2], I32)})
    for bits, narrow in ((8, False), (4, True)):
        attrs = {"num_bits": bits, "narrow_range": narrow}
        yield Case("FakeQuantWithMinMaxArgs", dict(inputs=fed([30]), min=-1.2, max=1.7, **attrs))
        yield Case(
            "FakeQuantWithMinMaxArgsGradient",
            dict(gradients=fed([30], seed=1), inputs=fed([30]), min=-1.2, max=1.7, **attrs),
        )
        limits = {"min": Fed(F32(-1.3)), "max": Fed(F32(1.1))}
        yield Case("FakeQuantWithMinMaxVars", dict(inputs=fed([30]), **limits, **attrs))
        yield Case(
            "FakeQuantWithMinMaxVarsGradient", dict(gradients=fed([30], seed=1), inputs=fed([30]), **limits, **attrs)
        )
    image = fed([2, 4, 5, 3], low=0.05, high=1)
    yield Case("AdjustContrastv2", {"images": image, "contrast_factor": Fed(F32(1.7))})
    yield Case("RGBToHSV", {"images": image})
    yield Case("HSVToRGB", {"images": image})
    yield Case("AdjustSaturation", {"images": image, "scale": Fed(F32(1.4))})
    yield Case("AdjustHue", {"images": image, "delta": Fed(F32(0.3))})


def more_cases():
    more = (linalg_cases, variable_cases, image_cases, host_cases, text_cases, type_cases, xla_cases, sparse_cases)
    for family in (optimizers, randoms, linalg, misc, record_cases, loop_cases, special_cases, quantized_cases) + more:
        yield from family()
