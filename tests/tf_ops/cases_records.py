"""Cases of tf_ops.py: lookup tables, parsed records, counts, sets and crosses of features, which the host runs itself."""

import numpy as np
import tensorflow as tf

from cases import F32, F64, I32, I64, Case, Fed, fed

WORDS = np.array([b"red", b"green", b"blue", b"red", b"", b"violet"], object)


def host(op, args, **kwargs):
    return Case(op, args, compiled=False, **kwargs)


def strings(*values):
    return Fed(np.array(values, object))


def flat(parsed):
    """The tensors that a dictionary of dense, sparse and ragged ones is made of."""
    out = []
    for key in sorted(parsed):
        t = parsed[key]
        if isinstance(t, tf.SparseTensor):
            out += [t.indices, t.values, t.dense_shape]
        elif isinstance(t, tf.RaggedTensor):
            out += [t.flat_values, *t.nested_row_splits]
        else:
            out.append(t)
    return out


def sparse(prefix, values, indices, shape, dtype=I64):
    """The three operands of a sparse tensor, by name."""
    columns = np.array(indices, I64).reshape(len(values), len(shape))
    array = np.array(values, object if isinstance(values[0], bytes) else dtype) if len(values) else np.zeros(0, dtype)
    return {prefix + "_indices": Fed(columns), prefix + "_values": Fed(array), prefix + "_shape": np.array(shape, I64)}


def tables():
    def initialized(keys, values, default):
        def build(a):
            init = tf.lookup.KeyValueTensorInitializer(tf.constant(keys), tf.constant(values))
            table = tf.lookup.StaticHashTable(init, default)
            initializers = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
            with tf.control_dependencies(initializers):
                return [table.lookup(a["keys"]), table.size()]

        return build

    words, numbers = Fed(WORDS.reshape(2, 3)), Fed(np.array([7, -1, 7, 2**40], I64))
    strings_to = initialized(["red", "blue", ""], np.array([3, 5, 9], I64), -1)
    yield host("LookupTableFindV2", {"keys": words}, build=strings_to)
    yield host("LookupTableFindV2", {"keys": numbers}, build=initialized(np.array([7, 2**40], I64), ["x", "y"], "?"))
    floats = initialized(np.array([7, 1], I64), np.array([0.5, 2.5], F32), float("inf"))
    yield host("LookupTableFindV2", {"keys": numbers}, build=floats)

    def vectors(a):
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, -1.0])
        with tf.control_dependencies([table.insert(tf.constant(["red", "blue"]), tf.constant([[1.0, 2], [3, 4]]))]):
            found = table.lookup(a["keys"])
        with tf.control_dependencies([found]):
            removal = table.remove(tf.constant(["red", "none"]))
        with tf.control_dependencies([removal]):
            keys, values = table.export()
            return [found, table.size(), table.lookup(a["keys"]), keys, values]

    yield host("LookupTableInsertV2", {"keys": words}, build=vectors)


def example(**features):
    def feature(v):
        if isinstance(v[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))
        if isinstance(v[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=v))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=v))

    message = {k: feature(v) if v else tf.train.Feature() for k, v in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=message)).SerializeToString()


def examples():
    records = [
        example(n=[1], x=[0.5, 1.5], s=[b"one", b"two"], r=[1, 2, 3], v=[1.0, 2.0, 3.0]),
        example(n=[-7], x=[2.5, 3.5], r=[], v=[4.0]),
        example(x=[0.0, -1.0], s=[b""], r=[2**40], other=[b"unused"]),
    ]
    features = {
        "n": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "s": tf.io.VarLenFeature(tf.string),
        "v": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True, default_value=9.0),
        "r": tf.io.RaggedFeature(tf.int64),
    }

    for count in (0, 1, 3):
        chosen = strings(*records[:count])
        chosen.array = chosen.array.reshape(count)
        yield host("ParseExampleV2", {"x": chosen}, build=lambda a: flat(tf.io.parse_example(a["x"], features)))
    single = {k: f for k, f in features.items() if k != "r"}
    for record in records:
        one = Fed(np.array(record, object))
        yield host("ParseSingleExample", {"x": one}, build=lambda a: flat(tf.io.parse_single_example(a["x"], single)))
    keys = dict(names=np.array([], object), sparse_keys=["s"], dense_keys=["x", "n"], sparse_types=[tf.string])
    keys.update(dense_defaults=[np.zeros([0], F32), np.array([5], I64)], dense_shapes=[[2], [1]])
    yield host("ParseExample", dict(serialized=strings(*records), **keys))


def lines():
    text = strings(b"1,2.5,abc", b'-3,,"a,b ""c"""', b"9,1e3,")
    defaults = [np.zeros([0], I32), np.array([7.5], F32), np.array([b"none"], object)]
    yield host("DecodeCSV", {"records": text, "record_defaults": defaults})
    yield host("DecodeCSV", {"records": text, "record_defaults": defaults[1:], "select_cols": [1, 2]})
    tabs = strings(b'1\tNA\t"x', b"NA\t2\ty")
    whole = {"records": tabs, "record_defaults": [np.array([4], I64), np.array([0.25], F64), np.array([b""], object)]}
    yield host("DecodeCSV", dict(whole, field_delim="\t", use_quote_delim=False, na_value="NA"))


def counts():
    values, splits = Fed(np.array([1, 3, 3, 0, 9, 1], I64)), Fed(np.array([0, 2, 2, 6], I64))
    rows = Fed(np.array([[0, 0], [0, 1], [2, 0], [2, 1], [2, 5], [2, 6]], I64))
    for weights in (np.zeros([0], F32), np.array([1, 2, 3, 4, 5, 6], F32)):
        for binary in (False, True):
            if binary and len(weights):
                continue
            call = {"values": values, "size": np.int64(6), "weights": weights, "binary_output": binary}
            yield host("RaggedBincount", dict(call, splits=splits))
            yield host("SparseBincount", dict(call, indices=rows, dense_shape=np.array([3, 8], I64)))
            limits = {"values": values, "weights": weights, "binary_output": binary}
            for least, most in ((-1, -1), (12, -1), (2, 4)):
                bounds = dict(limits, minlength=least, maxlength=most)
                yield host("RaggedCountSparseOutput", dict(bounds, splits=splits))
                yield host("SparseCountSparseOutput", dict(bounds, indices=rows, dense_shape=np.array([3, 8], I64)))
                yield host("DenseCountSparseOutput", bounds)
                matrix = Fed(np.array([[5, 5, 0], [1, 2, 1]], I32))
                square = weights.reshape(2, 3) if len(weights) else weights
                yield host("DenseCountSparseOutput", dict(bounds, values=matrix, weights=square))


def sets():
    for dtype in (I32, I64, object):
        a, b = np.array([[5, 1, 5, 9], [2, 2, 3, 4]]), np.array([[9, 7, 1], [8, 8, 8]])
        if dtype is object:
            a, b = (np.array([[b"v%d" % v for v in row] for row in x], object) for x in (a, b))
        else:
            a, b = a.astype(dtype), b.astype(dtype)
        places = [[0, 0], [0, 1], [1, 0], [1, 2]]
        second = sparse("set2", list(b[:, :2].reshape(-1)), places, [2, 3], dtype)
        for operation in ("a-b", "b-a", "intersection", "union"):
            yield host("DenseToDenseSetOperation", {"set1": Fed(a), "set2": Fed(b), "set_operation": operation})
            yield host("DenseToSparseSetOperation", dict(second, set1=Fed(a), set_operation=operation))
            first = sparse("set1", list(a[:, :2].reshape(-1)), places, [2, 4], dtype)
            yield host("SparseToSparseSetOperation", dict(first, **second, set_operation=operation))
        yield host("SetSize", sparse("set", list(a.reshape(-1)[:4]), places, [3, 4], dtype))
    guess = sparse("hypothesis", [1, 2, 3, 4, 9], [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 1, 0]], [2, 2, 3])
    truth = sparse("truth", [1, 3, 4, 4, 5], [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1]], [2, 2, 2])
    for normalize in (False, True):
        yield host("EditDistance", dict(guess, **truth, normalize=normalize))


def crosses():
    texts = sparse("x", [b"a", b"b", b"c", b"d"], [[0, 0], [0, 1], [1, 0], [2, 0]], [3, 2])
    numbers = sparse("y", [4, 5, 6], [[0, 0], [2, 0], [2, 1]], [3, 2])
    parts = {"indices": [texts["x_indices"], numbers["y_indices"]], "values": [texts["x_values"], numbers["y_values"]]}
    parts["shapes"] = [texts["x_shape"], numbers["y_shape"]]
    dense = [strings(b"p", b"q", b"r", b"s", b"t", b"u"), Fed(np.array([[10], [-11], [12]], I64))]
    dense[0].array = dense[0].array.reshape(3, 2)
    call = dict(parts, dense_inputs=dense)
    for buckets in (0, 13):
        hashed = dict(hashed_output=True, num_buckets=buckets, hash_key=956888297470, out_type=tf.int64)
        yield host("SparseCross", dict(call, **hashed, internal_type=tf.int64))
    texts_only = dict(hashed_output=False, num_buckets=0, hash_key=1, out_type=tf.string, internal_type=tf.string)
    one = {"indices": [texts["x_indices"]], "values": [texts["x_values"]], "shapes": [texts["x_shape"]]}
    yield host("SparseCross", dict(one, dense_inputs=dense[:1], **texts_only))
    yield host("SparseCrossV2", dict(call, sep="-"))


def unique_slices():
    table = Fed(np.array([[1, 2, 1, 0], [1, 2, 1, 0], [3, 2, 3, 0]], I32))
    for axis in (0, 1, -1):
        for op in ("UniqueV2", "UniqueWithCountsV2"):
            yield host(op, {"x": table, "axis": np.array([axis], I64)})


def formats():
    values = [Fed(np.arange(24).reshape(2, 3, 4).astype(I32)), fed([9]), Fed(np.array(0.1, F64)), Fed(WORDS[:3])]
    for summarize in (-1, 1, 3):
        text = "a {} b {} c {} d {}"
        yield host("StringFormat", {"inputs": values, "template": text, "placeholder": "{}", "summarize": summarize})
    yield host("StringFormat", {"inputs": [fed([3], np.float16)], "template": "%s", "summarize": 3})


def string_lists():
    """Loops over strings keep them in lists."""

    def mapped(a):
        return [tf.map_fn(lambda s: tf.strings.join([s, "!"]), a["x"]), tf.map_fn(tf.strings.length, a["x"], tf.int32)]

    def rows(a):
        items = tf.TensorArray(tf.string, 3).unstack(a["x"])
        return [items.gather([2, 0]), tf.TensorArray(tf.string, 3).scatter([1, 2, 0], a["x"]).stack(), items.read(1)]

    for shape in ([3], [3, 2]):
        texts = np.resize(np.array([b"a", b"", b"long text that no short buffer holds", b"z"], object), shape)
        yield Case("TensorListFromTensor", {"x": Fed(texts)}, mapped, compiled=False, note=" of strings")
        yield Case("TensorListScatterV2", {"x": Fed(texts)}, rows, compiled=False, note=" of strings")


def ctc():
    for merge in (False, True):
        for blank in (-1, 0, 2):
            call = {"inputs": fed([9, 3, 4]), "sequence_length": Fed(np.array([9, 0, 5], I32))}
            yield host("CTCGreedyDecoder", dict(call, merge_repeated=merge, blank_index=blank))
    # Labels repeated, as long as their steps, and without a path for want of steps.
    labels = [[0, 1, 2], [2], [1, 1], [3, 3, 0, 0], [2, 1, 2, 1, 0], [0, 0, 0]]
    indices = np.array([(b, i) for b, row in enumerate(labels) for i in range(len(row))], I64)
    values = np.array([v for row in labels for v in row], I32)
    lengths = np.array([9, 4, 5, 9, 5, 3], I32)
    for dtype in (F32, F64):
        for collapse in (False, True):
            for merge in (False, True):
                call = {"inputs": fed([9, 6, 5], dtype), "labels_indices": Fed(indices), "labels_values": Fed(values)}
                call = dict(call, sequence_length=Fed(lengths), preprocess_collapse_repeated=collapse)
                yield host("CTCLoss", dict(call, ctc_merge_repeated=merge))
        short = dict(call, sequence_length=Fed(np.array([2, 0, 1, 9, 4, 3], I32)))
        yield host("CTCLoss", dict(short, ignore_longer_outputs_than_inputs=True))


def record_cases():
    for family in (tables, examples, lines, counts, sets, crosses, unique_slices, formats, string_lists, ctc):
        yield from family()
