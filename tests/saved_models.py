"""SavedModels that TensorFlow writes, run by the embedded host runtime with clustering on and off, and by the C example.

Usage: python saved_models.py LIBXC.so [EXAMPLE_PROGRAM]
Ends with `N passed, N failed`; the exit status is 1 if any failed.
"""

import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tf_ops"))

import numpy as np
import tensorflow as tf

import xc_graph

F32 = tf.float32


class Dense(tf.Module):
    """Two variables of the same name, a constant, and signatures that share them."""

    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(1)
        self.layers = [tf.Variable(rng.randn(n, m), dtype=F32, name="w") for n, m in ((4, 8), (8, 3))]
        self.bias = tf.Variable(rng.randn(3).astype(np.float64), name="bias")
        self.steps = tf.Variable(5, dtype=tf.int64, name="steps")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], F32, name="x")])
    def apply(self, x):
        hidden = tf.nn.relu(x @ self.layers[0])
        return {"logits": hidden @ self.layers[1] + tf.cast(self.bias, F32), "hidden": hidden}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64, name="n")])
    def count(self, n):
        self.steps.assign_add(n)
        return {"steps": self.steps.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([4], F32, name="x"), tf.TensorSpec([], tf.int32, name="n")])
    def power(self, x, n):
        for _ in tf.range(n):
            x = tf.where(tf.reduce_sum(x) > 0, tf.tanh(x), x + tf.reshape(self.layers[0][:, 0], [4]))
        return {"y": x}


def keras_model():
    inputs = tf.keras.Input([12, 12, 3], name="image")
    x = tf.keras.layers.Conv2D(6, 3, padding="same", activation="relu")(inputs)
    x = tf.keras.layers.BatchNormalization()(x)
    x = tf.keras.layers.DepthwiseConv2D(3, strides=2, padding="same")(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(5, activation="softmax")(x))


class KerasInside(tf.Module):
    """Layers of Keras as parts of another module: the nodes that restore variables fill others than the graph reads."""

    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(2)
        self.layers = [tf.keras.layers.Dense(5, "relu"), tf.keras.layers.Dense(2)]
        for layer, size in zip(self.layers, (4, 5)):
            layer.build((None, size))
            layer.set_weights([rng.randn(*w.shape) for w in layer.get_weights()])
        self.scale = tf.Variable(3.0, name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], F32, name="x")])
    def apply(self, x):
        return {"y": self.layers[1](self.layers[0](x)) * self.scale}


class Counter(tf.Module):
    """A table that the checkpoint restores, and one that is filled from a file."""

    def __init__(self, vocabulary):
        super().__init__()
        self.seen = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
        self.seen.insert(tf.constant(["red", "blue"]), tf.constant([4, 6], tf.int64))
        read = tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.known = tf.lookup.StaticVocabularyTable(read, 2)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def apply(self, words):
        return {"known": self.known.lookup(words), "seen": self.seen.lookup(words), "size": self.seen.size()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def count(self, words):
        self.seen.insert(words, self.seen.lookup(words) + 1)
        return {"seen": self.seen.lookup(words)}


def preprocessing_model():
    """Every layer that prepares features: tables of words and numbers, texts, hashes, crosses, buckets."""
    layers = tf.keras.layers
    rng = np.random.RandomState(5)
    name, text = (tf.keras.Input([1], dtype="string", name=n) for n in ("name", "text"))
    ids, numbers = tf.keras.Input([1], dtype="int64", name="ids"), tf.keras.Input([3], name="numbers")
    normalize, buckets = layers.Normalization(), layers.Discretization(num_bins=4)
    for layer in (normalize, buckets):
        layer.adapt(rng.rand(50, 3).astype(np.float32))
    lines = ["the quick brown fox", "jumps over the lazy dog"]
    tokens = layers.TextVectorization(output_sequence_length=6)
    grams = layers.TextVectorization(output_mode="tf_idf", ngrams=2)
    for layer in (tokens, grams):
        layer.adapt(lines)
    lookup = layers.StringLookup(vocabulary=["a", "b", "c"])
    parts = [
        normalize(numbers),
        tf.keras.ops.cast(buckets(numbers), "float32"),
        layers.StringLookup(vocabulary=["a", "b", "c"], output_mode="one_hot")(name),
        layers.IntegerLookup(vocabulary=[3, 5, 9], output_mode="multi_hot")(ids),
        layers.Flatten()(grams(text)),
        layers.CategoryEncoding(16, output_mode="one_hot")(layers.Hashing(16)(name)),
        layers.Flatten()(layers.Embedding(32, 4)(layers.HashedCrossing(32)((name, ids)))),
        layers.GlobalAveragePooling1D()(layers.Embedding(20, 8)(tokens(text))),
    ]
    score = layers.Dense(3)(layers.Concatenate()(parts))
    back = layers.StringLookup(vocabulary=["a", "b", "c"], invert=True)(lookup(name))
    return tf.keras.Model([name, text, ids, numbers], {"score": score, "back": back, "tokens": tokens(text)})


def write_v1(path, use_resource):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(F32, [None, 3], name="x")
        with tf.compat.v1.variable_scope("scope", use_resource=use_resource):
            w = tf.compat.v1.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        y = tf.matmul(x, w)
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(tf.compat.v1.global_variables_initializer())
            tf.compat.v1.saved_model.simple_save(session, path, {"x": x}, {"y": y})
    return lambda x: {"y": x @ np.arange(6, dtype=np.float32).reshape(3, 2)}


def train_v1(library, rule, use_resource):
    """Steps of an optimizer of TensorFlow 1, on rows of a table and on a matrix, beside a summary that nothing knows."""
    v1 = tf.compat.v1
    rng = np.random.RandomState(4)
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int32, [None], name="ids")
        with v1.variable_scope("model", use_resource=use_resource):
            table = v1.get_variable("table", initializer=rng.randn(6, 3).astype(np.float32))
            w = v1.get_variable("w", initializer=rng.randn(3, 2).astype(np.float32))
            count = v1.get_variable("count", initializer=np.int64(0), trainable=False)
        loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids) @ w - 1.0), name="loss")
        optimizer = getattr(v1.train, rule + "Optimizer")(*([0.1, 0.9] if rule == "Momentum" else [0.1]))
        train = optimizer.minimize(loss, global_step=count, name="train")
        v1.summary.scalar("loss", loss)
        init = v1.global_variables_initializer()
        batches = [np.array(b, np.int32) for b in ([0, 3, 3], [5, 1, 0], [2, 2, 4])]
        with v1.Session() as session:
            session.run(init)
            want = [session.run([loss, train], {ids: b})[0] for b in batches]
            want.append(session.run(loss, {ids: batches[0]}))
        for mode in ("jit", "host"):
            options = {"targets": train.name, "initializers": init.name, "mode": mode, "min_cluster_size": 1}
            loaded = xc_graph.Graph(library, graph.as_graph_def(), ["ids:0"], ["loss:0"], **options)
            got = [loaded.run([b])[0] for b in batches + batches[:1]]
            if not np.allclose(got, want, rtol=1e-4):
                return "%s: losses %s, expected %s" % (mode, got, want)
    return ""


def check(library, path, signature, feeds, want, repeat=1, compiled=True):
    """Runs in both modes; `want` maps output names to arrays."""
    for mode in ("jit", "host"):
        graph = xc_graph.SavedModel(library, path, signature=signature, mode=mode, min_cluster_size=1)
        if graph.inputs() != sorted(feeds) or graph.outputs() != sorted(want):
            return "%s: inputs %s, outputs %s" % (mode, graph.inputs(), graph.outputs())
        for _ in range(repeat):
            got = graph.run([feeds[name] for name in sorted(feeds)])
        for name, value in zip(sorted(want), got):
            expected = np.asarray(want[name])
            exact = expected.dtype.kind in "OSU"
            same = value.shape == expected.shape and (
                np.array_equal(value, expected) if exact else np.allclose(value, expected, rtol=1e-4, atol=1e-5)
            )
            if not same:
                return "%s: %s is %s, expected %s" % (mode, name, value, expected)
        if mode == "jit" and compiled and graph.stats().compilations < 1:
            return "nothing was compiled"
    return ""


def fingerprint_bucket(word):
    return int(tf.strings.to_hash_bucket_fast(word, 2))


def refused(library, path, text, **options):
    try:
        xc_graph.SavedModel(library, path, **options)
    except xc_graph.XcError as e:
        return "" if text in str(e) else "the error is %r, expected %r in it" % (str(e), text)
    return "was not refused"


def damaged(path):
    """A copy whose checkpoint has one bit changed."""
    copy = path + "_damaged"
    subprocess.check_call(["cp", "-r", path, copy])
    data = os.path.join(copy, "variables", "variables.data-00000-of-00001")
    content = bytearray(open(data, "rb").read())
    content[5] ^= 1
    open(data, "wb").write(bytes(content))
    return copy


def tests(library, example, folder):
    rng = np.random.RandomState(3)
    model = Dense()
    dense = os.path.join(folder, "dense")
    signatures = {"serving_default": model.apply, "count": model.count, "power": model.power}
    tf.saved_model.save(model, dense, signatures=signatures)
    for batch in (1, 7):
        x = rng.randn(batch, 4).astype(np.float32)
        yield "dense, batch %d" % batch, check(library, dense, "serving_default", {"x": x}, model.apply(x))
    x = rng.randn(4).astype(np.float32)
    for n in (0, 3):
        feeds = {"n": np.int32(n), "x": x}
        yield "loop of %d" % n, check(library, dense, "power", feeds, model.power(tf.constant(x), tf.constant(n)))
    yield "a variable that is written", check(library, dense, "count", {"n": np.int64(2)}, {"steps": 5 + 2 * 3}, 3)

    net = keras_model()
    for layer in net.layers:
        layer.set_weights([w + 0.1 * rng.rand(*w.shape).astype(w.dtype) for w in layer.get_weights()])
    keras = os.path.join(folder, "keras")
    net.export(keras, verbose=False)
    image = rng.rand(2, 12, 12, 3).astype(np.float32)
    name = list(tf.saved_model.load(keras).signatures["serving_default"].structured_input_signature[1])[0]
    want = tf.saved_model.load(keras).signatures["serving_default"](**{name: tf.constant(image)})
    yield "keras", check(library, keras, "serving_default", {name: image}, want)
    yield "keras beside predict", "" if np.allclose(list(want.values())[0], net(image), atol=1e-5) else "differs"

    inside, parts = KerasInside(), os.path.join(folder, "keras_inside")
    tf.saved_model.save(inside, parts, signatures={"serving_default": inside.apply})
    x = rng.randn(3, 4).astype(np.float32)
    yield "keras inside of a module", check(library, parts, "serving_default", {"x": x}, inside.apply(x))

    prepared = os.path.join(folder, "prepared")
    net = preprocessing_model()
    net.export(prepared, verbose=False)
    for batch in (1, 4):
        feeds = {
            "name": np.array([b"a", b"c", b"unknown", b""], object)[:batch, None],
            "text": np.array([b"The quick, FOX!", b"", b"lazy lazy dog jumps over it all", b"brown"], object)[
                :batch, None
            ],
            "ids": np.array([3, 9, 4, 5], np.int64)[:batch, None],
            "numbers": rng.rand(batch, 3).astype(np.float32),
        }
        want = tf.saved_model.load(prepared).signatures["serving_default"](
            **{k: tf.constant(v) for k, v in feeds.items()}
        )
        yield "preprocessing layers, batch %d" % batch, check(library, prepared, "serving_default", feeds, want)

    vocabulary = os.path.join(folder, "words.txt")
    with open(vocabulary, "w") as file:
        file.write("green\nred\n")
    counter, tables = Counter(vocabulary), os.path.join(folder, "tables")
    tf.saved_model.save(counter, tables, signatures={"serving_default": counter.apply, "count": counter.count})
    os.remove(vocabulary)  # the SavedModel has a copy
    feeds = {"words": np.array([b"red", b"blue", b"green"], object)}
    want = {"known": [1, 2 + fingerprint_bucket("blue"), 0], "seen": [4, 6, 0], "size": 2}
    yield "tables of a file and a checkpoint", check(library, tables, "serving_default", feeds, want, compiled=False)
    want = {"seen": [4 + 3, 6 + 3, 3]}
    yield "a table that is written", check(library, tables, "count", feeds, want, 3, compiled=False)
    os.remove(os.path.join(tables, "assets", "words.txt"))
    yield "no vocabulary", refused(library, tables, "assets/words.txt")

    x = rng.randn(5, 3).astype(np.float32)
    for v1, use_resource in ((os.path.join(folder, "v1_references"), False), (os.path.join(folder, "v1"), True)):
        run = write_v1(v1, use_resource)
        yield os.path.basename(v1), check(library, v1, "serving_default", {"x": x}, run(x))
    for rule in ("GradientDescent", "Momentum", "Adam", "Adagrad", "RMSProp", "Ftrl"):
        for use_resource in (False, True):
            yield "v1 steps of %s, %s" % (rule, use_resource), train_v1(library, rule, use_resource)

    yield "no signature", refused(library, dense, "no signature 'other'; it has: count, power, serving_default", signature="other")  # fmt: skip
    yield "no tag", refused(library, dense, "no graph tagged 'train'; its tags: serve", tag="train")
    yield "no directory", refused(library, folder + "/nothing", "saved_model.pb")
    yield "damaged variables", refused(library, damaged(dense), "checksum is wrong")
    index = damaged(v1)
    path = os.path.join(index, "variables", "variables.index")
    content = open(path, "rb").read()
    for size in (0, 10, len(content) // 2, len(content) - 1):
        open(path, "wb").write(content[:size])
        yield "index of %d bytes" % size, refused(library, index, "table")

    if example:
        done = subprocess.run([example, library.path, dense, "power"], capture_output=True, text=True)
        right = done.returncode == 0 and "input x: [4]" in done.stdout and "output y: 16 bytes" in done.stdout
        yield "the C example", "" if right else done.stdout + done.stderr


def report(results):
    """Prints the problems among pairs of a name and a problem, or nothing, and the counts; gives the exit status."""
    passed = failed = 0
    for name, problem in results:
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            print("FAILED %s: %s" % (name, problem[:500]), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


def main():
    library = xc_graph.Library(os.path.abspath(sys.argv[1]))
    example = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as folder:
        return report(tests(library, example, folder))


if __name__ == "__main__":
    sys.exit(main())
