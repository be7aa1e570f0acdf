"""What TensorFlow makes of programs is the same, node for node, with the plugin and without it: graphs without clusters,
and with clusters all that stays outside and what TensorFlow's kernels would run in a cluster's place. With oneDNN's
kernels and without them.

usage: tensorflow_unchanged.py PLUGIN.so TF.py [plain|off|none|on FOLDER]   (without the last two: all, a process each)
"""

import os
import pathlib
import pickle
import subprocess
import sys
import tempfile


def programs(tf):
    """Name, function and arguments of programs that TensorFlow's optimizers rewrite in all their ways."""
    rng = tf.random.Generator.from_seed(1)
    normal = lambda *shape: tf.constant(rng.normal(shape).numpy())
    x, w, b = normal(4, 8), normal(8, 8), normal(8)
    image, kernel, bias = normal(2, 8, 8, 4), normal(3, 3, 4, 4), normal(4)
    depthwise, volume, cube = normal(3, 3, 4, 1), normal(1, 4, 4, 4, 2), normal(3, 3, 3, 2, 2)
    q, mask = normal(2, 3, 4, 8), normal(2, 1, 4, 4)
    mean, variance = normal(4), tf.abs(normal(4)) + 1.0
    v = tf.Variable(w)
    table = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "?")

    def normed(t):
        return tf.compat.v1.nn.fused_batch_norm(t, mean, mean, mean, variance, is_training=False)[0]

    def train(x, b):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.softmax(tf.nn.gelu(tf.nn.bias_add(x @ v, b))) * x)
        v.assign_sub(0.01 * tape.gradient(loss, v))
        return loss

    def loop(x, n):
        for _ in tf.range(n):
            if tf.reduce_sum(x) > 0.0:
                x = tf.nn.relu(tf.nn.bias_add(x @ w, b)) - 1.0
            else:
                x = tf.tanh(x) + 0.5
        return x

    def words(s):
        n = tf.strings.length(tf.strings.join([s, "!"]))
        return table.lookup(s), tf.strings.to_hash_bucket_fast(tf.strings.as_string(n), 10)

    yield "strings", words, [tf.constant(["a", "bc"])]
    yield "sets", lambda s: tf.unique(tf.sort(s))[0], [tf.constant([3, 1, 3])]
    yield "loop", loop, [x, tf.constant(3)]
    yield "train", train, [x, b]
    yield "attention", lambda q, m: tf.nn.softmax(tf.matmul(q, q, transpose_b=True) * 0.5 + m) @ q, [q, mask]
    for name in ("relu", "relu6", "elu", "leaky_relu", "tanh", "sigmoid", "gelu", "swish", "softplus"):
        f = getattr(tf.nn, name)
        yield f"dense {name}", lambda x, f=f: f(tf.nn.bias_add(x @ w, b)) * 2.0, [x]
        yield f"conv {name}", lambda x, f=f: f(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)) * 2.0, [image]
        yield f"depthwise {name}", lambda x, f=f: f(
            tf.nn.bias_add(tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME"), bias)
        ) * 2.0, [image]
        if name in ("relu", "relu6", "elu"):
            yield f"normed {name}", lambda x, f=f: f(normed(tf.nn.conv2d(x, kernel, 1, "SAME"))) * 2.0, [image]
            yield f"volume {name}", lambda x, f=f: f(
                tf.nn.bias_add(tf.nn.conv3d(x, cube, [1] * 5, "SAME"), bias[:2])
            ) * 2.0, [volume]


def nodes_of(graph):
    """Each node by name: op, device, inputs, attributes."""
    # TensorFlow's own clustering notes this on every node, after the plugin has seen the graph.
    noted = {"_XlaHasReferenceVars"}
    text = lambda attr: {k: attr[k].SerializeToString(deterministic=True) for k in attr if k not in noted}
    return {n.name: (n.op, n.device, list(n.input), text(n.attr)) for n in graph.node}


def record(mode, folder):
    """Writes down the graphs of all programs as TensorFlow is about to run them."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", XC_TF_POLICY="now", XC_TF_COST_GATE="0")
    import tensorflow as tf
    from tensorflow.python.eager import context

    if mode != "plain":
        from import_file import import_file

        xla_tf = import_file(sys.argv[2], "xla_tf")
        xla_tf.load(os.path.abspath(sys.argv[1]))
        settings = {"off": {"enabled": False}, "none": {"allow": ["NoSuchOp"]}, "on": {"dump_dir": folder}}
        xla_tf.configure(**settings[mode])
    out = {}
    for name, body, args in programs(tf):
        context.enable_run_metadata()
        tf.function(body)(*args)
        graphs = context.export_run_metadata().function_graphs
        context.disable_run_metadata()
        out[name] = [
            (nodes_of(g.post_optimization_graph), [nodes_of(part) for part in g.partition_graphs]) for g in graphs
        ]
    if mode != "plain":
        stats = xla_tf.stats()
        print(mode, stats)
        assert (stats.graphs > 20 and stats.launches > 20) if mode == "on" else stats.graphs == 0, stats
    pathlib.Path(folder, f"{mode}.pickle").write_bytes(pickle.dumps(out))


def compare_clustered(plain, folder):
    """What TensorFlow gave to the plugin, and what this left outside and took into clusters, beside `plain`."""
    from tensorflow.core.framework import graph_pb2

    read = lambda path: graph_pb2.GraphDef.FromString(path.read_bytes())
    known = [graph for graphs in plain.values() for graph, _ in graphs]
    names = {frozenset(graph) for graph in known}
    outside = inside = fused = 0
    for path in sorted(pathlib.Path(folder).glob("graph_*.after.pb")):
        before = nodes_of(read(path.with_name(path.name.replace("after", "before"))))
        if frozenset(before) not in names and len(before) < 8:
            continue  # an op outside of functions, as the programs' arguments are made by
        assert before in known, f"{path.name}: TensorFlow without the plugin has no such graph"
        for node in read(path).node:
            if node.op == "XlaJitLaunch":
                for inner in graph_pb2.GraphDef.FromString(node.attr["cluster"].s).node:
                    if inner.name in before and inner.op not in ("_Arg", "_Retval"):
                        op, _, _, attrs = before[inner.name]
                        got = nodes_of(graph_pb2.GraphDef(node=[inner]))[inner.name]
                        assert got[0] == op, (path.name, inner.name, got[0], op)
                        lost = {k for k, v in attrs.items() if got[3].get(k) != v and not k.startswith("_")}
                        assert not lost, (path.name, inner.name, lost)
                        inside += 1
                        fused += op.startswith(("_Fused", "_Mkl"))
            elif node.op == "NoOp":
                continue  # holds the place of one in a cluster that somebody may wait for
            elif node.name in before:
                op, device, _, attrs = before[node.name]
                got = nodes_of(graph_pb2.GraphDef(node=[node]))[node.name]
                assert (got[0], got[1], got[3]) == (op, device, attrs), (path.name, node.name, got, before[node.name])
                outside += 1
    print(f"{outside} nodes outside of clusters, {inside} inside, {fused} of them fused")
    assert outside > 50 and inside > 100 and fused > 10


def main():
    if len(sys.argv) > 4:
        return record(sys.argv[3], sys.argv[4])
    for onednn in "10":
        with tempfile.TemporaryDirectory() as folder:
            graphs = {}
            for mode in ("plain", "off", "none", "on"):
                environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": onednn}
                done = subprocess.run(
                    [sys.executable, *sys.argv, mode, folder], capture_output=True, text=True, env=environment
                )
                sys.stdout.write(done.stdout)
                assert done.returncode == 0, f"{mode}: {done.stderr[-3000:]}"
                graphs[mode] = pickle.loads(pathlib.Path(folder, f"{mode}.pickle").read_bytes())
            assert len(graphs["plain"]) > 30
            for mode in ("off", "none"):
                for name, plain in graphs["plain"].items():
                    assert graphs[mode][name] == plain, f"{mode}: {name} is not what TensorFlow makes of it alone"
            compare_clustered(graphs["plain"], folder)


if __name__ == "__main__":
    main()
