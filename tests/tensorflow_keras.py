"""Keras models and programs with the plugin on and nothing else changed: 20 training steps give the losses, and then
`predict` the outputs, that a process with TensorFlow alone gives; and compiled code really ran most of each graph.

usage: tensorflow_keras.py PLUGIN.so TF.py MODELS.py [--large] [NAME…]
TF.py: python/xla/tf.py; MODELS.py: benchmarks/tensorflow_models.py; --large: ResNet-50 and so on instead of the small
models; NAME: only these.
"""

import argparse
import functools
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("XC_TF_POLICY", "now")
os.environ.setdefault("XC_TF_COST_GATE", "0")  # what is slower on a busy machine must run all the same
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np

from import_file import import_file

STEPS = 20
PROGRAMS = {}


def program(function):
    """A program is a function that gives a list of arrays."""
    PROGRAMS[function.__name__] = function
    return function


def fit(keras_model, batches, loss, optimizer=None):
    """The running mean of the loss after every batch."""
    losses = []
    keras_model.compile(optimizer or tf.keras.optimizers.Adam(1e-3), loss)
    callback = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: losses.append(logs["loss"]))
    keras_model.fit(batches, epochs=1, shuffle=False, verbose=0, callbacks=[callback])
    return np.array(losses)


def is_unstable(name):
    """Training a large convolutional network on few images: a rounding of an image moves the losses by a tenth."""
    return name in models.LARGE and models.LARGE[name].family == "convolution"


def first_gradient(name, keras_model, dtype):
    """Of the loss for all weights, side by side."""
    model = models.MODELS[name]
    inputs, labels = model.batch(*model.shapes[-1])
    loss_function = model.loss_function()

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            loss = loss_function(labels, keras_model(x, training=True))
        return tape.gradient(loss, keras_model.trainable_variables)

    # Numbers that normalizations keep must not change: the first training step updates them again.
    before = keras_model.get_weights()
    parts = [np.ravel(g) for g in gradient(tf.cast(inputs[0], dtype))]
    keras_model.set_weights(before)
    return np.concatenate(parts)


def exact_gradient(name):
    """In f64, of the same weights."""
    weights = models.MODELS[name].build().get_weights()
    tf.keras.config.set_floatx("float64")
    tf.keras.config.set_dtype_policy("float64")
    keras_model = models.MODELS[name].make()
    keras_model.set_weights(weights)
    return first_gradient(name, keras_model, tf.float64)


def model_program(name):
    model = models.MODELS[name]

    def predictions(keras_model):
        for shape in model.shapes:
            inputs, _ = model.batch(*shape)
            yield keras_model.predict(list(inputs) if len(inputs) > 1 else inputs[0], verbose=0)

    def run():
        keras_model = model.build()
        first = []
        if is_unstable(name):
            first = [first_gradient(name, keras_model, tf.float32), *predictions(keras_model)]
        shape = model.shapes[-1]
        inputs, labels = model.batch(*shape)
        x = inputs if len(inputs) > 1 else inputs[0]
        batches = tf.data.Dataset.from_tensors((x, labels)).repeat(STEPS)
        out = [fit(keras_model, batches, model.loss_function(), tf.keras.optimizers.SGD(0.01, momentum=0.9))]
        assert len(out[0]) == STEPS
        return out + (first or list(predictions(keras_model)))

    return run


@program
def decoder_with_cache():
    generate = tf.function(models.attention_with_cache(), reduce_retracing=True)
    return [generate(tf.range(n)).numpy() for n in (1, 3)]


@program
def pipeline_of_strings():
    """Lines are split and parsed, words hashed, in the input pipeline and in the model."""
    rng = np.random.default_rng(3)
    lines = [f"{rng.choice(['red', 'green', 'blue'])},{a:.3f},{b:.3f}" for a, b in rng.normal(size=(320, 2))]

    def parse(line):
        parts = tf.strings.split(line, ",")
        numbers = tf.strings.to_number(parts[1:])
        word = tf.strings.to_hash_bucket_fast(tf.strings.upper(parts[0]), 16)
        return (word, tf.math.tanh(numbers) * 2.0 + 0.5), tf.reduce_sum(numbers * numbers)

    data = tf.data.Dataset.from_tensor_slices(lines).map(parse).batch(16)
    tf.keras.utils.set_random_seed(1)
    word, numbers = tf.keras.Input((), dtype="int64"), tf.keras.Input((2,))
    h = tf.keras.layers.Concatenate()([tf.keras.layers.Embedding(16, 8)(word), numbers])
    model = tf.keras.Model([word, numbers], tf.keras.layers.Dense(1)(tf.keras.layers.Dense(32, "relu")(h)))
    return [fit(model, data, "mse"), model.predict(data, verbose=0)]


@program
def autograph_loops():
    """Loops with break, continue and conditions inside, forwards and through their gradients."""

    @tf.function
    def newton(x):
        y = tf.ones_like(x)
        steps = 0
        while tf.reduce_max(tf.abs(y * y - x)) > 1e-4:
            y = 0.5 * (y + x / y)
            steps += 1
            if steps > 50:
                break
        return y, steps

    @tf.function
    def collatz(n):
        best, at = 0, 0
        for start in tf.range(1, n):
            k, value = 0, start
            while value != 1:
                value = value // 2 if value % 2 == 0 else 3 * value + 1
                k += 1
            if k <= best:
                continue
            best, at = k, start
        return best, at

    @tf.function
    def gradient(w, x):
        with tf.GradientTape() as tape:
            tape.watch(w)
            h = tf.zeros_like(x)
            for i in tf.range(tf.shape(x)[0]):
                h = tf.tanh(h @ w + x * tf.cast(i + 1, tf.float32))
                if tf.reduce_sum(h) > 3.0:
                    h *= 0.5
            loss = tf.reduce_mean(h * h)
        return loss, tape.gradient(loss, w)

    rng = np.random.default_rng(4)
    w, x = rng.normal(size=(6, 6)).astype(np.float32) / 3, rng.normal(size=(5, 6)).astype(np.float32)
    results = []
    for function, args in [(newton, [tf.constant([2.0, 9.0, 0.5])]), (collatz, [tf.constant(40)])]:
        results += [np.asarray(r) for r in function(*args)]
    weights, losses = tf.constant(w), []
    for _ in range(STEPS):
        loss, change = gradient(weights, tf.constant(x))
        weights -= 0.05 * change
        losses.append(float(loss))
    return results + [np.array(losses), np.asarray(weights)]


@program
def custom_gradients():
    @tf.custom_gradient
    def clipped(x):
        def gradient(upstream):
            return tf.clip_by_norm(upstream, 0.1) * tf.cast(tf.abs(x) < 2.0, tf.float32)

        return tf.round(x * 8.0) / 8.0, gradient

    tf.keras.utils.set_random_seed(1)
    x = tf.keras.Input((12,))
    h = tf.keras.layers.Lambda(clipped)(tf.keras.layers.Dense(16)(x))
    model = tf.keras.Model(x, tf.keras.layers.Dense(1)(tf.keras.layers.Dense(16, "elu")(h)))
    rng = np.random.default_rng(6)
    a = rng.normal(size=(16 * STEPS, 12)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((a, a.sum(1, keepdims=True))).batch(16)
    return [fit(model, data, "mse", tf.keras.optimizers.RMSprop(1e-3)), model.predict(a[:33], verbose=0)]


def in_f32(name, i, expected):
    """Result `i` of the model in bf16 called `name`, from the same model in f32; None if `name` is not in bf16."""
    twin = name.removesuffix("_bf16")
    if twin == name:
        return None
    of_shape = lambda: 1 + models.MODELS[twin].shapes.index(models.MODELS[name].shapes[i - 1])
    return expected[twin][of_shape() if i > 0 else 0]


def check(name, i, got, want, exact, gradient):
    """Result `i` of a program beside that of TensorFlow alone. Training in bf16 spreads its roundings: what a model
    trained so predicts must be about as near to `exact`, what the same model trained in f32 predicts, as TensorFlow's.
    Training an unstable model spreads those of any type: TensorFlow's own losses for images that were moved by one
    rounding, or from its other kernels, are a fifth away after 20 steps. There the first step's gradient must be about
    as near to `gradient`, that in f64, as TensorFlow's, the first loss and the predictions before training within the
    fixed bound, and the loss must fall.
    """
    assert np.shape(got) == np.shape(want), f"{name}, result {i}: shape {np.shape(got)}, expected {np.shape(want)}"
    if gradient is not None and i == 0:
        apart = np.linalg.norm(got - want) / np.linalg.norm(want)
        print(f"  {name}: losses {got[0]:.4f} … {got[-1]:.4f}, TensorFlow {want[0]:.4f} … {want[-1]:.4f} ({apart:.2g})")
        assert abs(got[0] - want[0]) <= 2e-3 * abs(want[0]), f"{name}: first loss {got[0]}, expected {want[0]}"
        assert got[-1] < got[0], f"{name}: the loss does not fall: {got}"
        return
    if gradient is not None and i == 1:
        size, ours, theirs = (np.linalg.norm(x) for x in (gradient, got - gradient, want - gradient))
        distances = f"{name}: gradient {ours / size:.3g} from that in f64, TensorFlow's {theirs / size:.3g}"
        print(f"  {distances}")
        assert ours <= 1.2 * theirs, distances
        return
    if exact is None or i == 0:
        bound = 2e-3 if exact is None else 4e-2
        np.testing.assert_allclose(
            got, want, rtol=bound, atol=2e-4 if exact is None else bound, err_msg=f"{name}, result {i}"
        )
        return
    exact, got, want = (np.asarray(x, np.float64) for x in (exact, got, want))
    size, ours, theirs = (np.linalg.norm(x) for x in (exact, got - exact, want - exact))
    distances = f"{name}, result {i}: {ours / size:.3f} from what f32 gives, TensorFlow {theirs / size:.3f}"
    print(f"  {distances}")
    assert ours <= 1.5 * theirs + 0.01 * size, distances


# The least share of the ops that did something which must be inside clusters. What stays outside are variables and
# what works on strings.
LEAST_SHARE = {"pipeline_of_strings": 0.3}


def main():
    global tf, models
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("tf_module")
    parser.add_argument("models")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--alone", help="run without the plugin and write the results to this file")
    parser.add_argument("--gradients", action="store_true", help="with --alone: only gradients in f64")
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        stored = pathlib.Path(folder) / "alone"
        # TensorFlow alone runs beside, in a process of its own.
        alone = None
        command = [sys.executable, __file__, *sys.argv[1:], "--alone"]
        if not options.alone:
            alone = subprocess.Popen([*command, str(stored)])
        import tensorflow as tf

        models = import_file(options.models, "tensorflow_models")
        chosen = models.LARGE if options.large else models.SMALL
        programs = {name: model_program(name) for name in chosen} | ({} if options.large else PROGRAMS)
        # A model in bf16 is compared with the same one in f32.
        names = {*options.names, *(name.removesuffix("_bf16") for name in options.names)}
        programs = {name: run for name, run in programs.items() if not names or name in names}
        if options.gradients:
            programs = {name: functools.partial(exact_gradient, name) for name in programs if is_unstable(name)}
        if options.alone:
            with open(options.alone, "wb") as file:
                pickle.dump({name: run() for name, run in programs.items()}, file)
            return 0
        xla_tf = import_file(options.tf_module, "xla_tf")
        xla_tf.load(os.path.abspath(options.plugin))
        results, failures = {}, []
        for name, run in programs.items():
            before, start = xla_tf.stats(), time.perf_counter()
            results[name] = run()
            after = xla_tf.stats()
            done = {key: getattr(after, key) - getattr(before, key) for key in vars(after)}
            share = done["clustered_ops"] / max(done["ops"], 1)
            print(
                f"  {name}: {done['launches']} launches, {done['host_runs']} runs by TensorFlow's kernels, "
                f"{done['compilations']} compilations in {done['compile_seconds']:.1f} s, "
                f"{done['clustered_ops']} of {done['ops']} ops in clusters, {time.perf_counter() - start:.1f} s",
                flush=True,
            )
            least = 2 if name == "decoder_with_cache" else STEPS
            if done["launches"] < least:
                failures.append(f"{name}: {done['launches']} launches, expected at least {least}")
            if done["failures"]:
                failures.append(f"{name}: {done['failures']} clusters could not be compiled\n{xla_tf.report()}")
            if share < LEAST_SHARE.get(name, 0.5):
                failures.append(f"{name}: {share:.0%} of the ops are inside clusters")
        assert alone.wait() == 0, "TensorFlow alone fails"
        with open(stored, "rb") as file:
            expected = pickle.load(file)
        gradients = {}
        if any(map(is_unstable, programs)):
            subprocess.run([*command, str(stored), "--gradients"], check=True)
            with open(stored, "rb") as file:
                gradients = pickle.load(file)
        for name, result in results.items():
            for i, (got, want) in enumerate(zip(result, expected[name], strict=True)):
                try:
                    check(name, i, got, want, in_f32(name, i, expected), gradients.get(name))
                except AssertionError as error:
                    failures.append(str(error))
        print(*failures, sep="\n")
        assert not failures, f"{len(failures)} failures"
    return 0


if __name__ == "__main__":
    sys.exit(main())
