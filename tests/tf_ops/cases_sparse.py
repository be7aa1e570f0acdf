"""Cases of tf_ops.py: arithmetic of sparse tensors and its gradients, ragged tensors in variants, sequence examples and
serialized tensors, sound files, beam search, and optimizers that update single rows; the host runs them itself."""

import numpy as np
import tensorflow as tf

from cases import F32, F64, I32, I64, Case, Fed, fed
from cases_records import flat, host, strings
from cases_variables import on_variables


def coordinates(shape, seed, share=0.4):
    """Sorted places of a sparse tensor of this shape."""
    there = np.random.RandomState(seed).rand(*shape) < share
    return np.argwhere(there).astype(I64)


def entries(prefix, shape, seed, dtype=F32):
    at = coordinates(shape, seed)
    names = [(prefix + "_" if prefix else "") + n for n in ("indices", "values", "shape")]
    return dict(zip(names, (Fed(at), fed([len(at)], dtype, seed=seed), np.array(shape, I64))))


def sparse_pairs():
    for shape in ([4, 5], [7], [2, 3, 4]):
        for dtype in (F32, F64, I32, I64):
            call = dict(entries("a", shape, 1, dtype), **entries("b", shape, 2, dtype))
            yield host("SparseSparseMaximum", call)
            yield host("SparseSparseMinimum", call)
            for thresh in (0, 1):
                yield host("SparseAdd", dict(call, thresh=np.array(thresh, dtype)))
        a, b = coordinates(shape, 1), coordinates(shape, 2)
        every = np.unique(np.concatenate([a, b]), axis=0)
        back = {"a_indices": Fed(a), "b_indices": Fed(b), "sum_indices": Fed(every)}
        yield host("SparseAddGrad", dict(back, backprop_val_grad=fed([len(every)])))
        kept = a[(a >= 1).all(1)] - 1
        call = {"backprop_val_grad": fed([len(kept)]), "input_indices": Fed(a), "output_indices": Fed(kept)}
        yield host("SparseSliceGrad", dict(call, input_start=np.ones(len(shape), I64)))


def sparse_reductions():
    for shape in ([4, 5], [2, 3, 4]):
        for dtype in (F32, I64):
            one = entries("input", shape, 3, dtype)
            for axes in ([0], [-1], [0, 1], 1):
                for keep in (False, True):
                    call = dict(one, reduction_axes=np.array(axes, I32), keep_dims=keep)
                    for op in ("SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSum", "SparseReduceSumSparse"):
                        yield host(op, call)
        for dtype in (F32, F64):
            one = entries("sp", shape, 4, dtype)
            yield host("SparseSoftmax", one)
        whole = entries("", shape, 5)
        for dim in range(len(shape)):
            for parts in (1, 2):
                yield host("SparseSplit", dict(whole, split_dim=np.array(dim, I64), num_split=parts))
    for dtype in (F32, F64, I32):
        call = {"reverse_index_map": Fed(np.array([0, 3, 1], I64)), "grad_values": fed([5], dtype)}
        yield host("SparseFillEmptyRowsGrad", call)
    fill = {"value_rowids": Fed(np.array([0, 0, 3], I64)), "values": fed([3]), "nrows": Fed(np.array(5, I64))}
    yield host("RaggedFillEmptyRows", dict(fill, default_value=Fed(np.array(9, F32))))
    yield host("RaggedFillEmptyRowsGrad", {"reverse_index_map": Fed(np.array([0, 1, 4], I64)), "grad_values": fed([6])})


def ragged_variants():
    def rows(a):
        ragged = tf.RaggedTensor.from_nested_row_splits(a["values"], [a["outer"], a["inner"]])
        double = tf.map_fn(lambda r: tf.reverse(r, [0]) * 2, ragged)
        flat = tf.RaggedTensor.from_row_splits(a["values"], a["inner"])
        sums = tf.map_fn(tf.reduce_sum, flat, fn_output_signature=tf.float32)
        grown = tf.RaggedTensorSpec([None], tf.float32)
        more = tf.map_fn(lambda r: tf.concat([r, r], 0), flat, fn_output_signature=grown)
        (back,) = tf.gradients(tf.reduce_sum(sums * sums) + tf.reduce_sum(more.values**2), [a["values"]])
        return [double.values, *double.nested_row_splits, sums, more.values, more.row_splits, back]

    inner = Fed(np.array([0, 2, 2, 5, 6], I64))
    call = {"values": fed([6]), "outer": Fed(np.array([0, 3, 4], I64)), "inner": inner}
    yield Case("RaggedTensorToVariant", call, rows, compiled=False)

    def through(a):
        raw = tf.raw_ops
        whole = raw.RaggedTensorToVariant(
            rt_nested_splits=[a["inner"]], rt_dense_values=a["values"], batched_input=False
        )
        kinds = {"input_ragged_rank": 1, "output_ragged_rank": 1, "Tvalues": tf.float32, "Tsplits": tf.int64}
        one = raw.RaggedTensorFromVariant(encoded_ragged=whole, **kinds)
        stacked = raw.RaggedTensorFromVariant(
            encoded_ragged=tf.stack([whole, whole]), **dict(kinds, output_ragged_rank=2)
        )
        return [*one.output_nested_splits, one.output_dense_values, *stacked.output_nested_splits] + [
            stacked.output_dense_values
        ]

    yield Case("RaggedTensorFromVariant", {"values": fed([6]), "inner": inner}, through, compiled=False)

    def split(a):
        array = tf.TensorArray(tf.float32, 3, infer_shape=False).split(a["x"], [1, 0, 3])
        return [array.concat(), array.read(2), array.size()]

    yield Case("TensorListSplit", {"x": fed([4, 3])}, split, compiled=False)


def sequence(context, lists):
    def feature(v):
        if v and isinstance(v[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))
        if v and isinstance(v[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=v))
        return tf.train.Feature(float_list=tf.train.FloatList(value=v))

    return tf.train.SequenceExample(
        context=tf.train.Features(feature={k: feature(v) for k, v in context.items()}),
        feature_lists=tf.train.FeatureLists(
            feature_list={k: tf.train.FeatureList(feature=[feature(s) for s in v]) for k, v in lists.items()}
        ),
    ).SerializeToString()


def sequences():
    words = [[b"a"], [b"b", b"c"], [b""]]
    steps = {"t": [[0.0, 1.0], [2.0, 3.0]], "w": words, "v": words[::-1]}
    first = sequence({"n": [3], "s": [b"q", b"r"], "u": [1.5]}, steps)
    second = sequence({"s": [b"z"]}, {"t": [[4.0, 5.0]]})
    context = {
        "n": tf.io.FixedLenFeature([], tf.int64, 7),
        "s": tf.io.VarLenFeature(tf.string),
        "u": tf.io.RaggedFeature(tf.float32),
    }
    lists = {
        "t": tf.io.FixedLenSequenceFeature([2], tf.float32),
        "w": tf.io.VarLenFeature(tf.string),
        "m": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "v": tf.io.RaggedFeature(tf.string),
    }

    def batch(a):
        whole, steps, lengths = tf.io.parse_sequence_example(a["serialized"], context, lists)
        return flat(whole) + flat(steps) + flat(lengths)

    def single(a):
        whole, steps = tf.io.parse_single_sequence_example(a["serialized"], context, lists)
        return flat(whole) + flat(steps)

    yield Case("ParseSequenceExampleV2", {"serialized": strings(first, second)}, batch, compiled=False)
    yield Case("ParseSingleSequenceExample", {"serialized": Fed(np.array(first, object))}, single, compiled=False)


def serialized():
    for array in (np.array([[1.5, 2]], F32), np.array(7, I64), np.array([b"x", b""], object), np.zeros([0, 3], F64)):
        yield host("SerializeTensor", {"tensor": Fed(array)})
        text = tf.io.serialize_tensor(array).numpy()
        yield host("ParseTensor", {"serialized": Fed(np.array(text, object)), "out_type": tf.as_dtype(array.dtype)})


def sound():
    wave = np.random.RandomState(3).uniform(-1.2, 1.2, [9, 2]).astype(F32)
    yield host("EncodeWav", {"audio": Fed(wave), "sample_rate": Fed(np.array(8000, I32))})
    file = Fed(np.array(tf.audio.encode_wav(wave, 16000).numpy(), object))
    for channels in (-1, 1, 2, 3):
        for samples in (-1, 4, 12):
            yield host("DecodeWav", {"contents": file, "desired_channels": channels, "desired_samples": samples})


def beams():
    for dtype in (F32, F64):
        for width, top in ((1, 1), (4, 3), (20, 5)):
            for merge in (False, True):
                call = {"inputs": fed([9, 3, 5], dtype), "sequence_length": Fed(np.array([9, 4, 6], I32))}
                yield host("CTCBeamSearchDecoder", dict(call, beam_width=width, top_paths=top, merge_repeated=merge))


def tables():
    def dense(a):
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1.0, -1, -2)
        with tf.control_dependencies([table.insert(a["keys"], tf.cast(a["keys"], tf.float32) / 2)]):
            return [table.lookup(a["keys"] + 1), table.size()]

    yield Case("MutableDenseHashTableV2", {"keys": Fed(np.array([3, 4, 9], I64))}, dense, compiled=False)


def rows_updated():
    scalars_of = {
        "Adagrad": ["lr"],
        "AdagradV2": ["lr", "epsilon"],
        "Momentum": ["lr", "momentum"],
        "KerasMomentum": ["lr", "momentum"],
        "Ftrl": ["lr", "l1", "l2", "lr_power"],
        "FtrlV2": ["lr", "l1", "l2", "l2_shrinkage", "lr_power"],
        "RMSProp": ["lr", "rho", "momentum", "epsilon"],
        "CenteredRMSProp": ["lr", "rho", "momentum", "epsilon"],
        "Adadelta": ["lr", "rho", "epsilon"],
        "ProximalAdagrad": ["lr", "l1", "l2"],
        "ProximalGradientDescent": ["alpha", "l1", "l2"],
    }
    values = {"lr": 0.1, "alpha": 0.1, "epsilon": 1e-3, "momentum": 0.9, "rho": 0.8, "l1": 0.05, "l2": 0.02}
    values.update(l2_shrinkage=0.01, lr_power=-0.5)
    names = {
        "Ftrl": ["var", "accum", "linear"],
        "FtrlV2": ["var", "accum", "linear"],
        "RMSProp": ["var", "ms", "mom"],
        "CenteredRMSProp": ["var", "mg", "ms", "mom"],
        "Adadelta": ["var", "accum", "accum_update"],
        "ProximalGradientDescent": ["var"],
    }

    for op, scalars in scalars_of.items():
        for dtype in (F32, F64):
            for flags in [{"use_nesterov": n} for n in (False, True)] if op.endswith("Momentum") else [{}]:
                call = {s: Fed(np.array(values[s], dtype)) for s in scalars}
                call.update(flags, grad=fed([3, 3], dtype), indices=Fed(np.array([4, 0, 4], I32)))
                start = {n: fed([5, 3], dtype, 0.5, 2, i) for i, n in enumerate(names.get(op, ["var", "accum"]))}
                if op == "CenteredRMSProp":
                    start["mg"] = fed([5, 3], dtype, 0.0, 0.3)
                yield on_variables("ResourceSparseApply" + op, start, call, dtype)


def sparse_cases():
    families = (sparse_pairs, sparse_reductions, ragged_variants, sequences, serialized, sound, beams, tables)
    for family in families + (rows_updated,):
        yield from family()
