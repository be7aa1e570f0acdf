"""What programs do around their models, with the plugin beside TensorFlow alone: SavedModels with several signatures and
tables, distribution strategies, callbacks, input pipelines, checkpoints, tapes, mixed precision (plugin_checks.py has
the usage)."""

import os
import pathlib
import re
import tempfile

import numpy as np

from plugin_checks import alone, check, launched, run_checks, tf, xla_tf

layers = tf.keras.layers


def same_result(run, count=1, rtol=1e-3, atol=1e-4):
    """run() gives arrays; with clustering they are those without, and no cluster failed to compile."""
    expected = alone(run)
    before = xla_tf.stats()
    with launched(count):
        got = run()
    failures = xla_tf.stats().failures - before.failures
    assert failures == 0, xla_tf.report()
    got, expected = tf.nest.flatten(got), tf.nest.flatten(expected)
    assert len(got) == len(expected), (len(got), len(expected))
    for g, e in zip(got, expected):
        g, e = np.asarray(g), np.asarray(e)
        if e.dtype.kind in "OSU":
            assert (g == e).all(), (g, e)
        else:
            np.testing.assert_allclose(g.astype(np.float64), e.astype(np.float64), rtol=rtol, atol=atol)


def in_background(run, *args, **kwargs):
    """The same under the policy that a program has by default."""
    xla_tf.configure(policy="background")
    try:
        same_result(run, *args, **kwargs)
    finally:
        xla_tf.configure(policy="now")


def data(n=64, features=8, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, features)).astype(np.float32)
    return x, (x.sum(1) > 0).astype(np.int32)


def small_model(units=16):
    tf.keras.utils.set_random_seed(1)
    return tf.keras.Sequential(
        [tf.keras.Input([8]), layers.Dense(units, "gelu"), layers.LayerNormalization(), layers.Dense(3)]
    )


def compiled_model(**options):
    model = small_model()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(0.01), loss, metrics=["accuracy"], **options)
    return model


class WordScores(tf.Module):
    """Signatures that share variables and tables of words, one of them from a file."""

    def __init__(self, vocabulary):
        super().__init__()
        rng = np.random.default_rng(4)
        self.rows = tf.Variable(rng.normal(size=(8, 6)).astype(np.float32))
        self.weights = tf.Variable(rng.normal(size=(6, 6)).astype(np.float32))
        self.calls = tf.Variable(0, dtype=tf.int64)
        read = tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.known = tf.lookup.StaticVocabularyTable(read, 2)
        back = tf.lookup.KeyValueTensorInitializer(tf.range(3, dtype=tf.int64), tf.constant(["low", "mid", "high"]))
        self.names = tf.lookup.StaticHashTable(back, "?")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def score(self, words):
        h = tf.nn.gelu(tf.gather(self.rows, self.known.lookup(words)) @ self.weights) * 2.0
        self.calls.assign_add(1)
        return {"score": tf.nn.softmax(h), "name": self.names.lookup(tf.argmax(h[:, :4], 1)), "calls": self.calls}

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, name="x")])
    def project(self, x):
        return {"y": tf.tanh(x @ self.weights) * tf.exp(-x), "calls": self.calls.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="by")])
    def scale(self, by):
        self.weights.assign(self.weights * by)
        return {"norm": tf.reduce_sum(tf.square(self.weights))}


@check
def saved_model_with_signatures_and_tables():
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = pathlib.Path(folder) / "words.txt"
        vocabulary.write_text("red\ngreen\nblue\nviolet\n")
        module = WordScores(str(vocabulary))
        saved = os.path.join(folder, "saved")
        signatures = {"serving_default": module.score, "project": module.project, "scale": module.scale}
        tf.saved_model.save(module, saved, signatures=signatures)
        vocabulary.unlink()  # the copy among the assets serves
        words = tf.constant(["blue", "pink", "red", "red"])
        x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6))

        def v2():
            loaded = tf.saved_model.load(saved)
            score, project, scale = (loaded.signatures[n] for n in ("serving_default", "project", "scale"))
            out = [score(words=words), project(x=x), scale(by=tf.constant(0.5)), score(words=words), project(x=x)]
            return [{k: v.numpy() for k, v in sorted(o.items())} for o in out]

        def v1():
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                meta = tf.compat.v1.saved_model.load(session, ["serve"], saved)
                out = []
                feeds = {"project": x.numpy() if hasattr(x, "numpy") else x, "scale": np.float32(0.5)}
                for name in ("project", "scale", "project", "serving_default"):
                    signature = meta.signature_def[name]
                    value = feeds.get(name, np.array([b"blue", b"pink"]))
                    fetches = {k: t.name for k, t in sorted(signature.outputs.items())}
                    out.append(session.run(fetches, {next(iter(signature.inputs.values())).name: value}))
                return out

        same_result(v2, 4)
        same_result(v1, 3)
        in_background(v2, 0)


@check
def keras_export():
    with tempfile.TemporaryDirectory() as folder:
        model = small_model()
        archive = tf.keras.export.ExportArchive()
        archive.track(model)
        spec = [tf.keras.InputSpec(shape=(None, 8), dtype="float32")]
        archive.add_endpoint("logits", lambda x: model(x), input_signature=spec)
        archive.add_endpoint("classes", lambda x: tf.argmax(model(x), -1), input_signature=spec)
        archive.add_variable_collection("weights", model.variables)
        archive.write_out(os.path.join(folder, "archive"), verbose=False)
        model.export(os.path.join(folder, "model"), verbose=False)
        x = tf.constant(data(5)[0])

        def run():
            archive, whole = (tf.saved_model.load(os.path.join(folder, n)) for n in ("archive", "model"))
            layer = layers.TFSMLayer(os.path.join(folder, "model"), call_endpoint="serve")
            return [f(x).numpy() for f in (archive.logits, archive.classes, whole.serve, tf.function(layer))]

        same_result(run, 4)


@check
def distribution_strategies():
    x, y = data()

    def fit(strategy):
        with strategy.scope():
            model = compiled_model()
        history = model.fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False)
        return history.history["loss"] + [model.predict(x, verbose=0, batch_size=16)]

    def by_hand(strategy):
        rng = np.random.default_rng(3)
        mean = tf.VariableAggregation.MEAN
        with strategy.scope():
            weights = [
                tf.Variable(rng.normal(size=shape).astype(np.float32) * 0.3, aggregation=mean)
                for shape in ((8, 16), (16, 3))
            ]

        def replica(values, labels):
            with tf.GradientTape() as tape:
                logits = tf.nn.gelu(values @ weights[0]) @ weights[1]
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
                loss = tf.nn.compute_average_loss(losses, global_batch_size=16)
            gradients = tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, weights))
            for variable, gradient in zip(weights, gradients):
                variable.assign_sub(gradient * 0.5)
            return loss

        @tf.function
        def step(values, labels):
            each = strategy.run(replica, args=(values, labels))
            return strategy.reduce(tf.distribute.ReduceOp.SUM, each, axis=None)

        batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
        return [step(*batch).numpy() for batch in strategy.experimental_distribute_dataset(batches)]

    # One object for all runs: TensorFlow numbers the collective operations of each from the same number on.
    for strategy in (tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), tf.distribute.OneDeviceStrategy("CPU:1")):
        for run in (fit, by_hand):
            same_result(lambda: run(strategy), 4)
            in_background(lambda: run(strategy), 0)


@check
def fit_with_callbacks():
    x, y = data(96)

    def run():
        with tempfile.TemporaryDirectory() as folder:
            best, log = os.path.join(folder, "best.weights.h5"), os.path.join(folder, "log.csv")
            seen = []
            model = compiled_model()
            callbacks = [
                tf.keras.callbacks.ModelCheckpoint(best, save_best_only=True, save_weights_only=True),
                tf.keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True),
                tf.keras.callbacks.ReduceLROnPlateau(patience=1),
                tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
                tf.keras.callbacks.CSVLogger(log),
                tf.keras.callbacks.TerminateOnNaN(),
                tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["loss"])),
            ]
            fitted = model.fit(
                x, y, epochs=4, batch_size=20, validation_split=0.25, verbose=0, shuffle=False, callbacks=callbacks
            )
            other = small_model()
            other.load_weights(best)
            return seen, fitted.history["val_loss"], other.predict(x, verbose=0), model.evaluate(x, y, verbose=0)

    same_result(run, 10)
    in_background(run, 0)


@check
def steps_of_several_batches():
    x, y = data()

    def run():
        model = compiled_model(steps_per_execution=3)
        weights = np.linspace(0.5, 1.5, 64, dtype=np.float32)
        history = model.fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False, sample_weight=weights)
        return history.history["loss"], model.train_on_batch(x[:7], y[:7]), model.predict_on_batch(x[:5])

    same_result(run, 4)


@check
def clusters_in_input_pipelines():
    def run():
        scale = tf.Variable(2.0)

        def normalize(row):
            return tf.nn.softmax(tf.exp(-row * row) * scale + tf.tanh(row))

        rows = tf.data.Dataset.from_tensor_slices(data(40)[0]).map(normalize, num_parallel_calls=2)
        rows = rows.filter(lambda row: tf.reduce_sum(tf.sin(row) * 2.0 + row) > 0.0)
        pairs = rows.batch(8).map(lambda b: (b @ tf.transpose(b), tf.reduce_mean(b * 2.0 + 1.0, 0)), tf.data.AUTOTUNE)
        windows = rows.window(4, drop_remainder=True).flat_map(lambda w: w.batch(4))
        scanned = windows.scan(tf.zeros([8]), lambda s, w: (tf.tanh(s + w[0]) * 0.5, tf.reduce_sum(w * s, 0)))
        folded = rows.reduce(tf.zeros([8]), lambda s, r: tf.exp(-s) * r + s)
        parsed = tf.data.Dataset.from_tensor_slices(["1,2", "3,4"]).map(
            lambda line: tf.sqrt(tf.exp(tf.strings.to_number(tf.strings.split(line, ",")))) * 2.0
        )
        return [list(d.as_numpy_iterator()) for d in (pairs, scanned, parsed.prefetch(1))] + [folded.numpy()]

    same_result(run, 0)
    in_background(run, 0)


@check
def checkpoints():
    x, y = data()

    def run():
        with tempfile.TemporaryDirectory() as folder:
            model, optimizer, losses = small_model(), tf.keras.optimizers.Adam(0.01), []
            step_number = tf.Variable(0, dtype=tf.int64)
            loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

            @tf.function
            def step(values, labels):
                with tf.GradientTape() as tape:
                    loss = loss_of(labels, model(values))
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
                step_number.assign_add(1)
                return loss

            checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step_number)
            manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
            for k in range(4):
                losses.append(step(x, y).numpy())
                if k == 1:
                    path = manager.save()
            checkpoint.restore(path).assert_existing_objects_matched()
            losses += [step(x, y).numpy() for _ in range(2)]
            np.testing.assert_allclose(losses[4:], losses[2:4], rtol=1e-5)
            other = small_model()
            tf.train.Checkpoint(model=other).restore(path).expect_partial()
            return losses, step_number.numpy(), tf.function(other)(x)

    same_result(run, 6)
    in_background(run, 0)


@check
def tapes():
    """Persistent and nested tapes, Jacobians, forward accumulators, gradients that are stopped or made by hand."""
    x = tf.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    w = tf.Variable(np.linspace(0.2, 1, 9, dtype=np.float32).reshape(3, 3))

    @tf.custom_gradient
    def clipped(v):
        return tf.tanh(v) * 2.0, lambda dy: tf.clip_by_value(dy * tf.exp(-v), -0.5, 0.5)

    def persistent(v):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(v)
            a = tf.tanh(v @ w) * tf.exp(v)
            b = tf.reduce_sum(clipped(a) * tf.stop_gradient(a))
        return tape.gradient(a, v), tape.gradient(b, [v, w]), tape.jacobian(a, w)

    def second(v):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.exp(v @ w) * tf.sin(w[0]))
            first = inner.gradient(y, w)
        return outer.jacobian(first, w), first

    def forward(v):
        with tf.autodiff.ForwardAccumulator(v, tf.ones_like(v)) as accumulator:
            y = tf.exp(tf.tanh(v @ w)) * v
        return accumulator.jvp(y), y

    for body in (persistent, second, forward):
        same_result(lambda: tf.nest.map_structure(np.asarray, tf.function(body)(x)))

    def outside():
        function = tf.function(lambda v: tf.exp(v @ w) * v + 1.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
            z = tf.reduce_sum(function(y * 0.1))
        return tape.gradient(y, w), tape.gradient(z, [x, w])

    same_result(lambda: tf.nest.map_structure(np.asarray, outside()), 2)


@check
def mixed_precision():
    x, y = data()

    def run(policy):
        tf.keras.mixed_precision.set_global_policy(policy)
        try:
            model = compiled_model()
            history = model.fit(x, y, epochs=2, batch_size=16, verbose=0, shuffle=False)
            return history.history["loss"], np.asarray(model.predict(x, verbose=0), np.float32)
        finally:
            tf.keras.mixed_precision.set_global_policy("float32")

    for policy in ("mixed_float16", "mixed_bfloat16", "float64", "bfloat16"):
        tolerance = {"float64": 1e-4}.get(policy, 5e-2)
        same_result(lambda: run(policy), 8, rtol=tolerance, atol=tolerance)


@check
def sizes_that_modules_of_jax_refuse():
    """Assertions about open sizes fail with TensorFlow's own message, and calls with other sizes run before and after."""
    from jax.experimental import jax2tf

    def outcomes(body, shapes, constraints, sizes):
        module = jax2tf.convert(
            body, polymorphic_shapes=[shapes], polymorphic_constraints=constraints, with_gradient=False
        )
        spec = tf.TensorSpec([None] * len(sizes[0]), tf.float32)
        function = tf.function(lambda a: tf.exp(module(a * 2.0)) + 1.0, input_signature=[spec], autograph=False)
        out = []
        for size in sizes:
            try:
                out.append(np.asarray(function(tf.ones(size) / 4.0)).tolist())
            except tf.errors.OpError as error:
                # Behind it come the places in Python.
                out.append(re.sub(r"__inference_\S+?_\d+", "function", error.message.splitlines()[0]))
            assert xla_tf.wait()
        return out

    for body, shapes, constraints, good, bad in [
        (lambda x: x @ x, "b, b", [], (3, 3), (3, 4)),
        (lambda x: x.reshape(2, -1).sum(0), "2*b", [], (6,), (5,)),
        (lambda x: x * 2.0, "b + 3", [], (5,), (3,)),
        (lambda x: x * 2.0, "b", ["b >= 5"], (5,), (3,)),
    ]:
        program = (body, shapes, constraints)
        expected = alone(outcomes, *program, [good, bad, good])
        assert isinstance(expected[1], str), expected
        for policy in ("now", "background"):
            xla_tf.configure(policy=policy)
            try:
                got = outcomes(*program, [good, bad, good, bad])
            finally:
                xla_tf.configure(policy="now")
            assert got[1] == got[3] == expected[1], f"{got[1]}\n{got[3]}\nalone: {expected[1]}"
            np.testing.assert_allclose(got[0::2], expected[0::2], rtol=1e-5)


if __name__ == "__main__":
    run_checks()
