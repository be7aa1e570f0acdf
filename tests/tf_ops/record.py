"""Records cases of tf_ops.py with what TensorFlow's own CPU kernels give, for tests that run without TensorFlow.

Usage: python record.py FILE.gz [--values=BYTES]

Of the cases, those are kept whose operands and results take at most --values bytes together, and of ops without any such
case the smallest one. The file is gzip of, for each case, the length of its GraphDef in 4 bytes, little endian, and the
GraphDef. In this, beside the case's nodes, the last one is no node but the rest of the case: its attributes are `op` and
`name`; the tensors `feeds` and `fetches` by name, with the values feed_0, feed_1 … and want_0, want_1 …; and whether it
must be `compiled` whole. jit/op_cases reads it.
"""

import argparse
import gzip
import os
import struct
import sys

import tf_ops
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, tensor_pb2


def tensor_proto(array, dtype):
    """The array's elements as they lie in memory; make_tensor_proto does not take all types."""
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    if dtype == tf.string:
        proto.string_val.extend(s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1))
    else:
        proto.tensor_content = array.tobytes()
    return proto


def record(case):
    """The case as a GraphDef, and the bytes that its values take."""
    graph, feeds, flat = tf_ops.make_graph(case)
    wanted = tf_ops.expected(case, graph, feeds, flat)
    wanted = [np.array(w, object) if isinstance(w, bytes) else np.asarray(w) for w in wanted]
    definition = graph_pb2.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    node = definition.node.add(name="_case", op="_Case")
    node.attr["op"].s = case.op.encode()
    node.attr["name"].s = case.name.encode()[:200]
    node.attr["compiled"].b = case.compiled
    node.attr["feeds"].list.s.extend(ph.name.encode() for ph, _ in feeds)
    node.attr["fetches"].list.s.extend(t.name.encode() for t in flat)
    size = 0
    values = [("feed", ph.dtype, np.asarray(array)) for ph, array in feeds]
    values += [("want", t.dtype, array) for t, array in zip(flat, wanted, strict=True)]
    for number, (what, dtype, array) in enumerate(values):
        number -= len(feeds) if what == "want" else 0
        proto = tensor_proto(array, dtype)
        node.attr[f"{what}_{number}"].tensor.CopyFrom(proto)
        size += proto.ByteSize()
    return definition.SerializeToString(deterministic=True), size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--values", type=int, default=512, help="the most bytes of values that a case may have")
    flags = parser.parse_args()
    cases = []
    for case in tf_ops.every_case(0, 3):
        cases.append((case.op, *record(case)))
    small = {op for op, _, size in cases if size <= flags.values}
    smallest = {}
    for number, (op, _, size) in enumerate(cases):
        if op not in small and size < smallest.get(op, (1 << 62, 0))[0]:
            smallest[op] = size, number
    chosen = {number for _, number in smallest.values()}
    kept = [c for number, c in enumerate(cases) if c[2] <= flags.values or number in chosen]
    with open(flags.file, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed:
        for _, graph, _ in kept:
            packed.write(struct.pack("<I", len(graph)) + graph)
    print(f"{len(kept)} of {len(cases)} cases, {len({c[0] for c in kept})} ops, {os.path.getsize(flags.file)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
