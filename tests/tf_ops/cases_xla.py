"""Cases of tf_ops.py whose ops only TensorFlow's own compiler runs: the single-instruction Xla* ops."""

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as ops
from tensorflow.compiler.tf2xla.python import xla

from cases import F16, F32, F64, I32, I64, Case, Fed, data, fed


def compiled(op, args, build, **kwargs):
    case = Case(op, args, build=build, **kwargs)
    case.by_compiler = True
    return case


def function(fn, *dtypes):
    return tf.function(fn, autograph=False).get_concrete_function(*[tf.TensorSpec([], d) for d in dtypes])


def dots():
    for dtype in (F32, F64, I32, F16):
        numbers = xla.DotDimensionNumbers()
        numbers.lhs_contracting_dimensions.append(2)
        numbers.rhs_contracting_dimensions.append(1)
        numbers.lhs_batch_dimensions.append(0)
        numbers.rhs_batch_dimensions.append(0)
        args = {"lhs": fed([2, 3, 4], dtype), "rhs": fed([2, 4, 5], dtype, seed=1)}
        yield compiled("XlaDot", args, lambda a, n=numbers: xla.dot_general(a["lhs"], a["rhs"], n))
    wide = lambda a: xla.dot_general(a["lhs"], a["rhs"], numbers, preferred_element_type=tf.int32)
    yield compiled("XlaDotV2", {"lhs": fed([2, 3, 4], np.int8), "rhs": fed([2, 4, 5], np.int8, seed=1)}, wide)
    yield compiled("XlaEinsum", {"a": fed([3, 4]), "b": fed([4, 5])}, lambda a: xla.einsum(a["a"], a["b"], "ij,jk->ki"))


def convolutions():
    for strides, padding, base, dilation, groups in (
        ([1, 1], [[0, 0], [0, 0]], [1, 1], [1, 1], 1),
        ([2, 1], [[1, 0], [2, 1]], [1, 2], [1, 1], 1),
        ([1, 2], [[1, 1], [1, 1]], [1, 1], [2, 1], 2),
    ):
        numbers = xla.xla_data_pb2.ConvolutionDimensionNumbers()
        numbers.input_batch_dimension, numbers.input_feature_dimension = 0, 3
        numbers.output_batch_dimension, numbers.output_feature_dimension = 0, 3
        numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension = 2, 3
        numbers.input_spatial_dimensions.extend([1, 2])
        numbers.output_spatial_dimensions.extend([1, 2])
        numbers.kernel_spatial_dimensions.extend([0, 1])
        for v2 in (False, True):

            def build(a, numbers=numbers, v2=v2, rest=(strides, padding, base, dilation), groups=groups):
                return xla.conv(a["lhs"], a["rhs"], *rest, numbers, feature_group_count=groups, use_v2=v2)

            args = {"lhs": fed([2, 6, 7, 4]), "rhs": fed([3, 2, 4 // groups, 6], seed=1)}
            yield compiled("XlaConvV2" if v2 else "XlaConv", args, build, note=" %s" % [strides, padding, groups])


def movement():
    x = fed([4, 5])
    for at in ([0, 0], [2, 3], [9, -4]):
        args = {"x": x, "at": Fed(np.array(at, I64))}
        yield compiled("XlaDynamicSlice", args, lambda a: ops.xla_dynamic_slice(a["x"], a["at"], np.array([2, 3], I64)))
        args = dict(args, update=fed([2, 2], seed=1))
        yield compiled(
            "XlaDynamicUpdateSlice", args, lambda a: ops.xla_dynamic_update_slice(a["x"], a["update"], a["at"])
        )
    for low, high, inner in (([1, 0], [2, 3], [0, 1]), ([-1, 2], [0, -2], [2, 0])):
        pads = [np.array(p, I32) for p in (low, high, inner)]
        yield compiled("XlaPad", {"x": x, "v": Fed(F32(7))}, lambda a, p=pads: ops.xla_pad(a["x"], a["v"], *p))
    gather = xla.xla_data_pb2.GatherDimensionNumbers()
    gather.offset_dims.append(1)
    gather.collapsed_slice_dims.append(0)
    gather.start_index_map.append(0)
    gather.index_vector_dim = 1
    rows = Fed(np.array([[3], [0], [3]], I32))
    args = {"x": x, "rows": rows}
    yield compiled("XlaGather", args, lambda a: xla.gather(a["x"], a["rows"], gather, np.array([1, 5], I32)))
    scatter = xla.xla_data_pb2.ScatterDimensionNumbers()
    scatter.update_window_dims.append(1)
    scatter.inserted_window_dims.append(0)
    scatter.scatter_dims_to_operand_dims.append(0)
    scatter.index_vector_dim = 1
    for fn in (lambda p, q: p + q, tf.maximum, lambda p, q: q * 2.0):
        combine = function(fn, tf.float32, tf.float32)
        some = Fed(np.array([[3], [0]], I32))
        args = {"x": x, "rows": some, "updates": fed([2, 5], seed=1)}
        yield compiled(
            "XlaScatter", args, lambda a, f=combine: xla.scatter(a["x"], a["rows"], a["updates"], f, scatter)
        )
    for places in ([], [0], [1]):
        args = {"x": x if places else fed([]), "y": fed([5 if places == [1] else 4] if places else [4, 5], seed=1)}
        helper = lambda a, p=places: ops.xla_broadcast_helper(a["x"], a["y"], np.array(p, I64))
        yield compiled("XlaBroadcastHelper", args, lambda a, h=helper: tf.add(*h(a)), note=" %s" % places)


def reductions():
    add = function(lambda p, q: p + q, tf.float32, tf.float32)
    for dims in ([0], [1], [0, 2], []):
        args = {"x": fed([3, 4, 5]), "init": Fed(F32(1.5))}
        yield compiled("XlaReduce", args, lambda a, d=dims: xla.reduce(a["x"], a["init"], d, add))
    types = [tf.float32, tf.int32] * 2
    pick = function(lambda x, i, y, j: (tf.maximum(x, y), tf.where(y > x, j, i)), *types)
    args = {"x": fed([3, 7]), "i": Fed(np.tile(np.arange(7, dtype=I32), (3, 1)))}
    inits = [np.float32(-np.inf), np.int32(0)]
    yield compiled(
        "XlaVariadicReduceV2", args, lambda a: ops.xla_variadic_reduce_v2([a["x"], a["i"]], inits, [1], pick)
    )
    both = function(lambda x, i, y, j: (x + y, tf.maximum(i, j)), *[tf.float32] * 4)
    args = {"x": fed([3, 7]), "y": fed([3, 7], seed=1)}
    yield compiled(
        "XlaVariadicReduce", args, lambda a: ops.xla_variadic_reduce([a["x"], a["y"]], [0.0, -9.0], [0], both)
    )
    for window in (dict(window_dimensions=[2, 3]), dict(window_dimensions=[2, 2], window_strides=[2, 1], padding=[(1, 0), (0, 2)], base_dilations=[1, 2], window_dilations=[2, 1])):  # fmt: skip
        args = {"x": fed([6, 7]), "init": Fed(F32(0))}
        yield compiled("XlaReduceWindow", args, lambda a, w=window: xla.reduce_window(a["x"], a["init"], add, **w))
    ge = function(lambda p, q: p >= q, tf.float32, tf.float32)
    args = {"x": fed([6, 6]), "source": fed([3, 3], seed=1), "init": Fed(F32(0))}
    sizes, pads = np.array([2, 2], I32), np.zeros([2, 2], I32)
    yield compiled(
        "XlaSelectAndScatter",
        args,
        lambda a: ops.xla_select_and_scatter(a["x"], sizes, sizes, pads, a["source"], a["init"], ge, add),
    )


def orders():
    for dtype in (F32, F64, I32):
        yield compiled("XlaSort", {"x": fed([3, 20], dtype, -50, 50)}, lambda a: xla.sort(a["x"]))
        args = {"k": Fed(np.random.RandomState(3).permutation(20).astype(dtype)), "v": fed([20], seed=1)}
        yield compiled("XlaKeyValueSort", args, lambda a: xla.key_value_sort(a["k"], a["v"]))
    greater = function(lambda p, q, r, s: p > q, tf.float32, tf.float32, tf.int32, tf.int32)
    args = {"x": fed([9, 3]), "i": fed([9, 3], I32, -40, 40)}
    yield compiled(
        "XlaVariadicSort",
        args,
        lambda a: ops.xla_variadic_sort([a["x"], a["i"]], 0, comparator=greater, is_stable=True),
    )


def others():
    x = fed([4, 6])
    yield compiled("XlaReducePrecision", {"x": x}, lambda a: xla.reduce_precision(a["x"], 5, 3))
    yield compiled("XlaOptimizationBarrier", {"x": x}, lambda a: xla.optimization_barrier(a["x"], a["x"] + 1.0))
    yield compiled("XlaSharding", {"x": x}, lambda a: xla.sharding(a["x"]))
    square = data([2, 4, 4], F64)
    square = square + square.transpose(0, 2, 1)
    for lower in (True, False):

        def rebuilt(a, lower=lower):
            w, v = xla.self_adjoint_eig(a["x"], lower, 30, 1e-9)
            return w, tf.matmul(v * w[..., tf.newaxis, :], v, transpose_b=True)

        yield compiled("XlaSelfAdjointEig", {"x": Fed(square)}, rebuilt, note=" %s" % lower)
    for shape in ([4, 3], [3, 4]):

        def product(a, shape=shape):
            s, u, v = xla.svd(a["x"], 30, 1e-9)
            return s, tf.matmul(u[:, :3] * s, v[:, :3], transpose_b=True), tf.matmul(u, u, transpose_a=True)

        yield compiled("XlaSvd", {"x": fed(shape, F64)}, product)
    yield compiled("XlaSetBound", {"x": Fed(np.int32(3))}, lambda a: xla.set_bound(a["x"], 9) + 1)
    for counts, pads in (([2, 3], [0, 0]), ([3, 2], [2, 0]), ([4, 4], [0, 2])):

        def split(a, counts=counts, pads=pads):
            return tf.raw_ops.XlaSplitND(input=a["x"], N=int(np.prod(counts)), num_splits=counts, paddings=pads)

        yield compiled("XlaSplitND", {"x": x}, split)

        def join(a, counts=counts, pads=pads):
            return tf.raw_ops.XlaConcatND(inputs=split(a, counts, pads), num_concats=counts, paddings=pads)

        yield compiled("XlaConcatND", {"x": x}, join)
    down = tf.function(lambda i, v: (i - 1, v * 1.5)).get_concrete_function(
        tf.TensorSpec([], tf.int32), tf.TensorSpec([3], tf.float32)
    )
    more = tf.function(lambda i, v: i > 0).get_concrete_function(
        tf.TensorSpec([], tf.int32), tf.TensorSpec([3], tf.float32)
    )
    args = {"i": Fed(np.int32(4)), "v": fed([3])}
    yield compiled("XlaWhile", args, lambda a: ops.xla_while([a["i"], a["v"]], cond=more, body=down))
    for dtype in (tf.uint32, tf.uint64):
        for algorithm, words in (("philox", 3), ("threefry", 2)):
            args = {"state": Fed(np.array([5, 2**63 + 9, 7][:words], np.uint64))}
            draw = lambda a, alg=algorithm, d=dtype: xla.rng_bit_generator(alg, a["state"], [4, 3], d)
            yield compiled("XlaRngBitGenerator", args, draw, note=algorithm)


def xla_cases():
    for family in (dots, convolutions, movement, reductions, orders, others):
        yield from family()
