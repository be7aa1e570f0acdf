"""Cases of tf_ops.py: strings, sparse and ragged tensors, which the host runtime runs itself, and what goes with them."""

import numpy as np
import tensorflow as tf

from cases import F32, F64, I32, I64, Case, Fed, data, fed

WORDS = [
    b"",
    b"a",
    b"the quick",
    b"  brown  fox ",
    b"jumps,over;the",
    b"lazy dog" * 9,
    b"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80",
]
BROKEN = [b"ok", b"\xff\xfe", b"a\xc3", b"\xe2\x82x", b"\xed\xa0\x80", b"\xf4\x90\x80\x80b\x01"]


def host(op, args, **kwargs):
    return Case(op, args, compiled=False, **kwargs)


def strings():
    words = Fed(np.array(WORDS, object))
    prefixes = Fed(np.array([(b"abcdefghij" * 30)[:n] for n in range(0, 200, 3)], object))
    for buckets in (7, 2**40):
        for op in ("StringToHashBucketFast", "StringToHashBucket", "StringToHashBucketStrong"):
            key = {"key": [3, 2**40]} if op.endswith("Strong") else {}
            name = "string_tensor" if op == "StringToHashBucket" else "input"
            yield host(op, dict({name: prefixes, "num_buckets": buckets}, **key))
    for separator in ("", ",", " ", "the"):
        for most in (-1, 0, 1, 2):
            yield host("StringSplitV2", {"input": words, "sep": separator, "maxsplit": most})
        for skip in (True, False):
            yield host("StringSplit", {"input": words, "delimiter": separator, "skip_empty": skip})
    for pattern, rewrite in (("[aeiou]", "_"), ("(q)(u)", r"\2\1$"), (r"\s+", " "), ("o.", r"<\0>")):
        for everywhere in (True, False):
            yield host("StaticRegexReplace", {"input": words, "pattern": pattern, "rewrite": rewrite, "replace_global": everywhere})  # fmt: skip
        yield host("RegexReplace", {"input": words, "pattern": pattern, "rewrite": rewrite})
    for pattern in ("[a-z ]*", ".*fox.*", "a"):
        yield host("StaticRegexFullMatch", {"input": words, "pattern": pattern})
    grid = Fed(np.array([b"a", b"b", b"c", b"d", b"e", b"f"], object).reshape(2, 3))
    for axes in ([0], [1], [1, 0], [0, 1], [-1], []):
        for keep in (False, True):
            yield host("ReduceJoin", {"inputs": grid, "reduction_indices": axes, "keep_dims": keep, "separator": "+"})
    for pad in (False, True):
        yield host("EncodeBase64", {"input": words, "pad": pad})
    for errors in ("replace", "ignore"):
        for control in (False, True):
            attrs = dict(input_encoding="UTF-8", errors=errors, replace_control_characters=control)
            for source in (words, Fed(np.array(BROKEN, object))):
                yield host("UnicodeDecode", dict(input=source, **attrs))
                yield host("UnicodeDecodeWithOffsets", dict(input=source, **attrs))
                yield host("UnicodeTranscode", dict(input=source, output_encoding="UTF-8", **attrs))
    odd = Fed(np.array(WORDS + BROKEN + [b"a\nb", b"A1b2-C3_d4", b"aaabbb" * 2000], object))
    for pattern, rewrite in (
        (r"[^a-z\s]", "_"), (r"\W+", "-"), (r"(?i)[A-C]+(\d)?", r"<\0\1>"), (r"a*?b", "x"), (r"\b", "|"), ("", "."),
        (r"(a|ab)(c|bcd)?", r"\2\1"), (r"(?m)^.", "^"), (r".$", "$"), (r"(?s).+", "all"), (r"[[:alpha:]]{2,3}", "w"),
        ("[\u00e0-\u00ff]", "e"), (r"\x{20ac}|\Q.\E", "E"), (r"(a)|(b)", r"[\1\2]"), (r"(?P<n>o)\s*", r"\1"), ("a", r"\3"),
        (r"\p{Lu}", "U"), ("a", "\\"), (r"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']", ""),
    ):  # fmt: skip
        for everywhere in (True, False):
            call = {"input": odd, "pattern": pattern, "rewrite": rewrite, "replace_global": everywhere}
            yield host("StaticRegexReplace", call)
        yield host("StaticRegexFullMatch", {"input": odd, "pattern": pattern})
    for pos, count in ((0, 2), (1, 100), (-1, 1)):
        place = {"pos": np.array(pos, I32), "len": np.array(count, I32)}
        yield host("Substr", dict(place, input=Fed(np.array([b"abc", "\u00e4\u20acx".encode(), b"x"], object)), unit="UTF8_CHAR"))  # fmt: skip
    codes = {"input_values": Fed(np.array([72, 233, 8364, 128512, 55296], I32)), "input_splits": Fed(np.array([0, 2, 2, 5], I64))}  # fmt: skip
    for errors in ("replace", "ignore"):
        yield host("UnicodeEncode", dict(codes, output_encoding="UTF-8", errors=errors))
    tokens = {"data": Fed(np.array(list("abcdefg"), object)), "data_splits": Fed(np.array([0, 4, 4, 5, 7], I64))}
    for widths, pad, keep in (
        ([2], 0, False),
        ([1, 3], 0, False),
        ([3], -1, False),
        ([2, 4], 1, False),
        ([4], 0, True),
    ):
        attrs = dict(separator="|", ngram_widths=widths, left_pad="<", right_pad=">", pad_width=pad)
        yield host("StringNGrams", dict(tokens, preserve_short_sequences=keep, **attrs))
    joined = {"inputs": grid, "segment_ids": Fed(np.array([1, 1], I32)), "num_segments": 3, "separator": "-"}
    yield host("UnsortedSegmentJoin", joined)
    for out in (tf.uint8, tf.int16, tf.int32):
        for little in (True, False):
            raw = {"bytes": Fed(np.array([b"abcdefgh", b"12345678"], object)), "out_type": out, "little_endian": little}
            yield host("DecodeRaw", raw)


def sparse():
    at = np.array([[0, 1], [1, 0], [1, 3], [3, 2]], I64)
    shape = Fed(np.array([5, 4], I64))
    for dtype in (F32, F64, I32, I64):
        values = fed([4], dtype)
        one = {"indices": Fed(at), "values": values, "dense_shape": shape}
        yield host("SparseFillEmptyRows", dict(one, default_value=Fed(np.array(7, dtype))))
        for start, size in (([0, 0], [2, 4]), ([1, 1], [9, 2]), ([4, 0], [1, 1])):
            box = {"start": np.array(start, I64), "size": np.array(size, I64)}
            yield host("SparseSlice", dict(indices=Fed(at), values=values, shape=shape, **box))
        mixed = Fed(at[[2, 0, 3, 1]])
        entry = {"input_indices": mixed, "input_values": values, "input_shape": shape}
        yield host("SparseReorder", entry)
        ordered = {"input_indices": Fed(at), "input_values": values, "input_shape": shape}
        for axes in ([0], [1], [-1], [0, 1], []):
            for keep in (False, True):
                yield host("SparseReduceSum", dict(ordered, reduction_axes=axes, keep_dims=keep))
        other = {"a_indices": Fed(at), "a_values": values, "a_shape": shape}
        yield host("SparseTensorDenseAdd", dict(other, b=fed([5, 4], dtype, seed=1)))
        if dtype != I64:
            for a, b in ((False, False), (True, False), (False, True), (True, True)):
                dense = [5 if a else 4, 3][:: -1 if b else 1]
                yield host(
                    "SparseTensorDenseMatMul", dict(other, b=fed(dense, dtype, seed=1), adjoint_a=a, adjoint_b=b)
                )
        for op in ("SparseDenseCwiseMul", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv"):
            for dense in ([5, 4], [4], [5, 1]):
                right = Fed(np.abs(data(dense, dtype, seed=1)) + np.array(1, dtype))
                yield host(op, {"sp_indices": Fed(at), "sp_values": values, "sp_shape": shape, "dense": right})
    for new in ([4, 5], [-1, 2], [20], [2, 2, -1]):
        flat = {"input_indices": Fed(at), "input_shape": shape, "new_shape": np.array(new, I64)}
        yield host("SparseReshape", flat)
    for dim in (0, 1, -1):
        parts = {"indices": [Fed(at), Fed(at[1:])], "values": [fed([4]), fed([3], seed=1)], "shapes": [shape, shape]}
        yield host("SparseConcat", dict(parts, concat_dim=dim))
    ids, rows = Fed(np.array([3, 0, 3, 1, 2], I32)), Fed(np.array([0, 0, 1, 3, 3], I32))
    for op in ("Sum", "Mean", "SqrtN"):
        args = {"data": fed([4, 3]), "indices": ids, "segment_ids": rows, "num_segments": 6}
        yield host("SparseSegment%sWithNumSegments" % op, args)
        back = {"grad": fed([4, 3]), "indices": ids, "segment_ids": rows, "output_dim0": 5}
        yield host("SparseSegment%sGrad" % op, back)


def ragged():
    splits = {"rt_nested_splits": [Fed(np.array([0, 2, 2, 3], I64)), Fed(np.array([0, 3, 3, 5], I64))]}
    for values in ([5], [5, 2]):
        yield host("RaggedTensorToSparse", dict(splits, rt_dense_values=fed(values)))
        kinds = dict(row_partition_types=["ROW_SPLITS", "ROW_SPLITS"], row_partition_tensors=splits["rt_nested_splits"])
        for want in (-1, [-1, 3, -1], [2, 1, 2], [4, 2, 5]):
            shape = np.array(want if want == -1 else want + values[1:], I64)
            args = dict(shape=shape, values=fed(values), default_value=Fed(F32(-9)), **kinds)
            yield host("RaggedTensorToTensor", args)
        by_rows = dict(row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
        by_rows["row_partition_tensors"] = [Fed(np.array(4, I64)), Fed(np.array([0, 0, 2, 2, 2], I64))]
        args = dict(shape=np.array(-1, I64), values=fed(values), default_value=Fed(F32(1)), **by_rows)
        yield host("RaggedTensorToTensor", args)
        some = Fed(np.array([2, 0, 2], I32))
        rows = {"params_nested_splits": splits["rt_nested_splits"], "params_dense_values": fed(values), "indices": some}
        yield host("RaggedGather", dict(rows, OUTPUT_RAGGED_RANK=2))
    for dtype in (I32, I64, F32):
        ends = [Fed(np.array(v, dtype)) for v in ([0, 5, 3, 2], [4, 1, 3, 9], [1, -2, 1, 3])]
        yield host("RaggedRange", dict(zip(("starts", "limits", "deltas"), ends)))
        yield host("RaggedRange", {"starts": Fed(dtype(1)), "limits": ends[1], "deltas": Fed(dtype(2))})


def others():
    for seed in range(3):
        rng = np.random.RandomState(seed)
        corners = rng.rand(2, 9, 1, 2) * 0.7
        boxes = Fed(np.concatenate([corners, corners + 0.1 + rng.rand(2, 9, 1, 2) * 0.4], -1).astype(F32))
        scores = Fed(rng.rand(2, 9, 3).astype(F32))
        for per_class, total, pad in ((3, 6, False), (2, 20, True), (9, 4, False)):
            limits = dict(max_output_size_per_class=per_class, max_total_size=total, pad_per_class=pad)
            limits.update(iou_threshold=0.3, score_threshold=0.2, clip_boxes=seed % 2 == 0)
            yield host("CombinedNonMaxSuppression", dict(boxes=boxes, scores=scores, **limits))
    for dtype in (F32, F64):
        for shape in ([4, 4], [2, 3, 5, 5]):
            yield Case("Lu", {"input": fed(shape, dtype)})
    for ids in (np.array(17, I32), np.array([0, 5, 23], I64)):
        yield Case("UnravelIndex", {"indices": Fed(ids), "dims": np.array([2, 3, 4], ids.dtype)})
    for dtype in (F32, I32, F64):
        limits = Fed(np.array([-2, 3], dtype))
        yield Case("HistogramFixedWidth", {"values": fed([40], dtype, -4, 5), "value_range": limits, "nbins": 4})
    parts = [fed([1, 3]), fed([1, 3], seed=1)]
    yield Case("ParallelConcat", {"values": parts, "shape": [2, 3]})
    yield Case("DeepCopy", {"x": fed([3])}, build=lambda a: tf.raw_ops.DeepCopy(x=a["x"]) + 1.0)


def text_cases():
    for family in (strings, sparse, ragged, others):
        yield from family()
