"""The programs that changing_shapes.py calls with ever other shapes, by name, and the sequences of their arguments. The
models are tensorflow_models.py's, or folders with a graph.pb."""

import dataclasses
import json
import pathlib
from typing import Callable

import numpy as np

SEED = 0


@dataclasses.dataclass(frozen=True)
class Experiment:
    what: str  # changes from call to call, for people
    make: Callable  # → a function of tensors
    sizes: Callable  # the generator of random numbers, the number of calls → a list of tuples of sizes
    arguments: Callable  # the generator, one of these tuples → arrays


def _all_different(low, high):
    """Sizes from low to high in random order; each is there once before any is there twice."""

    def draw(rng, calls):
        numbers = np.arange(low, high + 1)
        rounds = [rng.permutation(numbers) for _ in range(-(-calls // len(numbers)))]
        return [(int(n),) for n in np.concatenate(rounds)[:calls]]

    return draw


def _random(*ranges):
    def draw(rng, calls):
        return [tuple(int(rng.integers(low, high + 1)) for low, high in ranges) for _ in range(calls)]

    return draw


def _model(make):
    """`make`: the module tensorflow_models → what makes the Keras model."""

    def load():
        import tensorflow_models

        built = make(tensorflow_models)()
        return lambda *args: built(list(args) if len(args) > 1 else args[0], training=False)

    return load


def _words(batch, length, rng):
    return [rng.integers(0, 1000, (batch, length)).astype(np.int32)]


def _image(batch, height, width, rng):
    return [rng.normal(size=(batch, height, width, 3)).astype(np.float32)]


def _detector():
    """Scores for the places of an image, those above a bound, of these what overlaps no better one, and a head for what
    is left: how many there are depends on the image's values."""
    import tensorflow as tf

    rng = np.random.default_rng(3)

    def weight(*shape):
        return tf.constant((rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32))

    kernels = [weight(3, 3, 3, 16), weight(3, 3, 16, 32), weight(3, 3, 32, 32)]
    score, box = weight(32, 1), weight(32, 4)
    dense, classes = weight(32, 128), weight(128, 20)

    def detect(image):
        x = image
        for kernel in kernels:
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME"))
        side = tf.shape(x)[1]
        features = tf.reshape(x, [-1, 32])
        scores = tf.reshape(tf.sigmoid(features @ score), [-1])
        place = tf.cast(tf.stack([tf.range(tf.size(scores)) // side, tf.range(tf.size(scores)) % side], 1), tf.float32)
        extent = 0.5 + 2 * tf.sigmoid(features @ box)
        boxes = tf.concat([place - extent[:, :2], place + extent[:, 2:]], 1)
        found = tf.reshape(tf.where(scores > 0.5), [-1])
        boxes, scores, features = (tf.gather(t, found) for t in (boxes, scores, features))
        kept = tf.image.non_max_suppression(boxes, scores, 100, 0.5)
        boxes, features = tf.gather(boxes, kept), tf.gather(features, kept)
        hidden = tf.nn.relu(features @ dense)
        return boxes, tf.nn.softmax(hidden @ classes)

    return detect


_ENCODER = _model(lambda models: models._transformer(256, 3, False))
EXPERIMENTS = {
    "encoder, batch and length": Experiment(
        "1 to 4 sequences of 1 to 128 words", _ENCODER, _random((1, 4), (1, 128)), lambda rng, s: _words(*s, rng)
    ),
    "encoder, length": Experiment(
        "1 to 500 words, one sequence", _ENCODER, _all_different(1, 500), lambda rng, s: _words(1, *s, rng)
    ),
    "encoder, batch": Experiment(
        "1 to 128 sequences of 16 words", _ENCODER, _all_different(1, 128), lambda rng, s: _words(*s, 16, rng)
    ),
    "convolutions, height and width": Experiment(
        "images of 32 to 160 by 32 to 160",
        _model(lambda models: models._residual),
        _random((32, 160), (32, 160)),
        lambda rng, s: _image(1, *s, rng),
    ),
    "GRU, length": Experiment(
        "2 sequences of 1 to 200 steps",
        _model(lambda models: models._recurrent(models.layers.GRU, 64)),
        _all_different(1, 200),
        lambda rng, s: [rng.normal(size=(2, *s, 32)).astype(np.float32)],
    ),
    "DLRM, batch": Experiment(
        "1 to 512 rows",
        _model(lambda models: models._dlrm(26, 10000, 32)),
        _all_different(1, 512),
        lambda rng, s: [
            rng.normal(size=(*s, 13)).astype(np.float32),
            rng.integers(0, 10000, (*s, 26)).astype(np.int32),
        ],
    ),
    "detection": Experiment(
        "the boxes that an image of 128 by 128 gives",
        _detector,
        lambda rng, calls: [(128, 128)] * calls,
        lambda rng, s: [a * np.float32(rng.uniform(0.2, 3)) for a in _image(1, *s, rng)],
    ),
}


def load(name, calls):
    """What changes; the tf.function; the arguments of each call. A name, or a folder with graph.pb and meta.json whose
    inputs have the batch first and then the length: 1 to 4 sequences of 1 to 128 words."""
    import tensorflow as tf

    rng = np.random.default_rng(SEED)
    folder = pathlib.Path(name)
    if not folder.is_dir():
        experiment = EXPERIMENTS[name]
        body = experiment.make()
        arguments = [experiment.arguments(rng, size) for size in experiment.sizes(rng, calls)]
        # The sizes that change are unknown in the function's signature, as where a SavedModel is served.
        specs = []
        for i, array in enumerate(arguments[0]):
            shapes = {a[i].shape for a in arguments}
            shape = [n if len({s[d] for s in shapes}) == 1 else None for d, n in enumerate(array.shape)]
            specs.append(tf.TensorSpec(shape, array.dtype))
        what = experiment.what
    else:
        import tensorflow_programs

        meta = json.loads((folder / "meta.json").read_text())
        body, _ = tensorflow_programs.load(name)
        specs = [tf.TensorSpec(i["shape"], i["dtype"]) for i in meta["inputs"]]
        what = "1 to 4 sequences of 1 to 128 words"

        def draw(size, spec):
            shape = size[: len(spec.shape)] + tuple(spec.shape[2:])
            return rng.integers(0, 100, shape).astype(spec.dtype.as_numpy_dtype)

        arguments = [[draw(size, spec) for spec in specs] for size in _random((1, 4), (1, 128))(rng, calls)]
    return what, body, specs, [[tf.constant(a) for a in args] for args in arguments]
