"""Cases of tf_ops.py: the ops that TensorFlow's remapper makes of several, as it makes them for the CPU."""

import itertools

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from cases import F32, Case, Fed, fed

ACTIVATIONS = [[], ["Relu"], ["Relu6"], ["Elu"], ["LeakyRelu"], ["Tanh"], ["Sigmoid"]]
# Those that only oneDNN's kernels have.
ONEDNN = [["_MklSwish"], ["Mish"], ["_FusedHardSwish"]]


def defaults(op):
    """The attributes of `op` that have a default, which its Python function would fill in."""
    out = {}
    for attr in op_def_registry.get(op).attr:
        value = attr.default_value
        if not attr.HasField("default_value") or attr.type == "type":
            continue
        if attr.type.startswith("list("):
            out[attr.name] = list(getattr(value.list, {"list(int)": "i", "list(string)": "s"}[attr.type]))
        else:
            out[attr.name] = getattr(value, {"int": "i", "float": "f", "bool": "b", "string": "s"}[attr.type])
    return {name: value for name, value in out.items() if not name.startswith("num_")}


def internal(op, **attrs):
    """A builder of an op that has no Python function; lists of arguments are those with names args0, args1, …"""

    def build(args):
        extra = [args[k] for k in sorted(args) if k.startswith("args")]
        named = {k: v for k, v in args.items() if not k.startswith("args")}
        if extra or op.startswith(("_Fused", "_MklFusedBatch")):
            named["args"] = extra
        if op == "_FusedBatchNormEx":
            named.update(side_input=[])
            named.pop("args")
        if op == "_FusedConv2D":
            named.update(host_args=[], num_args=len(extra))
        return op_def_library.apply_op(op, name="fused", **{**defaults(op), **attrs}, **named)

    return build


def case(op, args, **attrs):
    return Case(op, args, build=internal(op, **attrs), note=" " + ",".join(attrs.get("fused_ops", [])))


def parts(ops, channels, shape):
    """The operands that fused ops take."""
    out = []
    for op in ops:
        if op == "BiasAdd":
            out.append(fed([channels], seed=len(out) + 5))
        elif op == "Add":
            out.append(fed(shape, seed=len(out) + 5))
        elif op == "FusedBatchNorm":
            out += [fed([channels], low=0.5, seed=k + 5) for k in range(4)]
    return {"args%d" % i: value for i, value in enumerate(out)}


def products():
    for ta, tb in itertools.product([False, True], repeat=2):
        args = {"a": fed([5, 3] if ta else [3, 5]), "b": fed([4, 5] if tb else [5, 4], seed=1)}
        for act in ACTIVATIONS + [["GeluExact"], ["GeluApproximate"]]:
            if ta and act:
                continue
            ops = ["BiasAdd"] + act
            yield case("_FusedMatMul", {**args, **parts(ops, 4, [3, 4])}, transpose_a=ta, transpose_b=tb, fused_ops=ops)
    ops = ["BiasAdd", "Add"]
    args = {"a": fed([3, 5]), "b": fed([5, 4], seed=1), **parts(ops, 4, [3, 4])}
    yield case("_FusedMatMul", args, fused_ops=ops)
    for shape in ([2, 1, 4, 4], [2, 3, 4, 4], [1, 1, 1, 4]):
        args = {
            "x": fed([2, 3, 4, 8]),
            "y": fed([2, 3, 4, 8], seed=1),
            "args0": Fed(np.float32(0.5)),
            "args1": fed(shape),
        }
        yield case("_MklFusedBatchMatMulV2", args, adj_x=False, adj_y=True, fused_ops=["Mul", "Add"])


def convolutions():
    image = {"input": fed([2, 6, 5, 3]), "filter": fed([3, 3, 3, 4], seed=1)}
    for first, act in itertools.product(["BiasAdd", "FusedBatchNorm"], ACTIVATIONS[:5] + ONEDNN[:1]):
        ops = [first] + act
        yield case("_FusedConv2D", {**image, **parts(ops, 4, None)}, strides=[1, 2, 2, 1], padding="SAME", epsilon=1e-3, fused_ops=ops)  # fmt: skip
    wide = {"args0": fed([1, 1, 1, 4], seed=5)}  # as the remapper leaves the constant of an Add
    yield case("_FusedConv2D", {**image, **wide}, strides=[1, 1, 1, 1], padding="SAME", fused_ops=["BiasAdd", "Relu"])
    for ops in (["BiasAdd", "Mish"], ["BiasAdd", "_FusedHardSwish"]):
        yield case("_FusedConv2D", {**image, **parts(ops, 4, None)}, strides=[1, 1, 1, 1], padding="VALID", fused_ops=ops)  # fmt: skip
    for act in ([], ["Relu"], ["LeakyRelu"]):
        ops = ["BiasAdd", "Add"] + act
        yield case("_FusedConv2D", {**image, **parts(ops, 4, [2, 6, 5, 4])}, strides=[1, 1, 1, 1], padding="SAME", fused_ops=ops)  # fmt: skip
        volume = {"input": fed([1, 4, 4, 4, 2]), "filter": fed([3, 3, 3, 2, 3], seed=1)}
        yield case("_FusedConv3D", {**volume, **parts(ops, 3, [1, 4, 4, 4, 3])}, strides=[1] * 5, padding="SAME", fused_ops=ops)  # fmt: skip
    depthwise = {"input": fed([2, 6, 5, 3]), "filter": fed([3, 3, 3, 1], seed=1)}
    for act in ([], ["Relu"], ["Relu6"], ["_FusedHardSwish"]):
        ops = ["BiasAdd"] + act
        yield case("_FusedDepthwiseConv2dNative", {**depthwise, **parts(ops, 3, None)}, strides=[1, 1, 1, 1], padding="SAME", fused_ops=ops)  # fmt: skip


def alone():
    yield case("_MklSwish", {"features": fed([3, 7], low=-6, high=6)})
    yield case("_MklFusedMish", {"features": fed([3, 7], low=-6, high=6)})
    norm = {"x": fed([2, 5, 3, 4]), "scale": fed([4], low=0.5), "offset": fed([4], seed=1), "mean": fed([4], seed=2)}
    norm["variance"] = fed([4], low=0.5, seed=3)
    args = dict(activation_mode="Relu", is_training=False)
    yield Case("_FusedBatchNormEx", norm, build=lambda a: internal("_FusedBatchNormEx", **args)(a)[0])
    yield case("_MklLayerNorm", {"x": fed([2, 5, 8]), "scale": fed([8], low=0.5), "offset": fed([8], seed=1)})
    per_channel = {"gamma": fed([3], low=0.5), "beta": fed([3], seed=1)}
    for ops in ([], ["Relu"], ["LeakyRelu"]):
        yield case("_MklFusedInstanceNorm", {"x": fed([2, 5, 4, 3]), **per_channel}, reduction_axes=[1, 2], fused_ops=ops)  # fmt: skip
    yield Case("_UnaryOpsComposition", {"x": fed([3, 4])}, build=internal("_UnaryOpsComposition", op_names=["Tanh", "Exp", "Sqrt"]))  # fmt: skip


def fused_cases():
    yield from products()
    yield from convolutions()
    yield from alone()
