"""TensorFlow with the plugin, called with ever other sizes in several dimensions: one code serves what is the same
program but for numbers, and gives TensorFlow's results for each set of shapes (plugin_checks.py has the usage)."""

import re

import numpy as np

from plugin_checks import alone, check, launched, run_checks, tf, xla_tf

WIDTH, HEADS = 16, 4
rng = np.random.default_rng(7)


def weight(*shape):
    return tf.constant((rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))


TABLE, POSITIONS = weight(50, WIDTH), weight(96, WIDTH)
QKV, OUT, UP, DOWN = weight(WIDTH, 3 * WIDTH), weight(WIDTH, WIDTH), weight(WIDTH, 4 * WIDTH), weight(4 * WIDTH, WIDTH)
FILTER, IMAGE_FILTER = weight(3, WIDTH, 8), weight(3, 3, WIDTH, 8)
STEM, MIDDLE, DEPTHWISE = (weight(3, 3, *features) / 4 for features in [(3, 8), (8, 8), (8, 1)])
LAST = weight(8, 10)


def norm(h):
    mean, variance = tf.nn.moments(h, [-1], keepdims=True)
    return (h - mean) * tf.math.rsqrt(variance + 1e-5)


def attention(h, masked=False):
    n, length = tf.shape(h)[0], tf.shape(h)[1]
    qkv = tf.reshape(tf.reshape(norm(h), [-1, WIDTH]) @ QKV, [n, length, 3, HEADS, WIDTH // HEADS])
    q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    scores = tf.matmul(q, k, transpose_b=True) * 0.5
    if masked:
        scores += tf.where(tf.linalg.band_part(tf.ones([length, length], tf.bool), -1, 0), 0.0, -1e9)
    mixed = tf.transpose(tf.nn.softmax(scores) @ v, [0, 2, 1, 3])
    return h + tf.einsum("bni,ij->bnj", tf.reshape(mixed, [n, length, WIDTH]), OUT)


def block(h, masked=False):
    h = attention(h, masked)
    return h + tf.tensordot(tf.nn.gelu(tf.tensordot(norm(h), UP, 1)), DOWN, 1)


def encoder(h):
    return block(block(h + POSITIONS[: tf.shape(h)[1]]))


def recurrent(h):
    state = tf.zeros_like(h[:, 0])
    for i in tf.range(tf.shape(h)[1]):
        z = tf.sigmoid(h[:, i] @ OUT + state)
        state = z * state + (1 - z) * tf.tanh(h[:, i] + state @ OUT)
    return state


def gradient(h):
    with tf.GradientTape() as tape:
        tape.watch(h)
        loss = tf.reduce_mean(tf.square(block(h)))
    return tape.gradient(loss, h)


def causal(h):
    """With a mask that is known for short lengths and computed for long ones."""
    length = tf.shape(h)[1]
    mask = tf.range(length)[:, None] >= tf.range(length)[None, :]
    scores = tf.matmul(h, h, transpose_b=True) + tf.where(mask, 0.0, -1e9)
    return tf.nn.softmax(scores) @ h


def training(h):
    """The loss of classes for each element, and gradients of weights, whose sums go over the sizes that vary."""
    with tf.GradientTape() as tape:
        tape.watch([UP, OUT])
        logits = tf.reshape(tf.nn.relu(tf.tensordot(h @ OUT, UP, 1)), [-1, 4 * WIDTH])
        labels = tf.math.floormod(tf.range(tf.shape(logits)[0]), 4 * WIDTH)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return [loss, *tape.gradient(loss, [UP, OUT])]


# Of floats [n, length, WIDTH].
PROGRAMS = {
    "elementwise": lambda h: tf.tanh(h) * 2.0 + h,
    "softmax": lambda h: tf.nn.softmax(h[:, :, 0] * 2.0),
    "layer_norm": lambda h: norm(h) * 2.0,
    "norm_along_length": lambda h: h - tf.reduce_mean(h, axis=1, keepdims=True),
    "dense": lambda h: tf.nn.relu(tf.tensordot(h, UP, 1)),
    "joined": lambda h: tf.concat([tf.reshape(tf.tanh(h), [tf.shape(h)[0], -1]), h[:, :, 1]], axis=1),
    "flat": lambda h: tf.concat([tf.reshape(h, [-1]), tf.reshape(tf.exp(h), [-1])], axis=0) * 2.0,
    "padded": lambda h: tf.pad(tf.tanh(h), [[0, 0], [1, 2], [0, 0]]) * 2.0,
    "reversed": lambda h: tf.reverse(h, [1]) + h[:, ::-1] * tf.exp(h),
    "transposed": lambda h: tf.transpose(tf.tanh(h), [1, 0, 2]) * 2.0,
    "last": lambda h: tf.tanh(h[:, -1]) * 2.0,
    "pairs": lambda h: tf.reduce_sum(tf.abs(h[:, :, None] - h[:, None]), -1),
    "table": lambda h: tf.gather(TABLE, tf.cast(tf.abs(h[:, :, 0]) * 3.0, tf.int32)) * 2.0,
    "one_hot": lambda h: tf.one_hot(tf.argmax(h, axis=-1), WIDTH) + h,
    "positions": lambda h: h + POSITIONS[: tf.shape(h)[1]] * 2.0,
    "numbers": lambda h: h * tf.cast(tf.range(tf.shape(h)[1]), tf.float32)[:, None] / tf.cast(tf.size(h), tf.float32),
    "sorted": lambda h: tf.sort(tf.tanh(h), axis=1) * 2.0,
    "largest": lambda h: tf.reduce_max(tf.tanh(h), axis=1) + tf.reduce_sum(h, axis=[0, 1]),
    "convolution": lambda h: tf.nn.relu(tf.nn.conv1d(h, FILTER, 1, "SAME")),
    "image": lambda h: tf.nn.relu(tf.nn.conv2d(h[:, :, None] * tf.ones([1, 1, 9, 1]), IMAGE_FILTER, 2, "SAME")),
    "attention": attention,
    "masked": lambda h: attention(h, masked=True),
    "encoder": encoder,
    "recurrent": recurrent,
    "gradient": gradient,
    "cumulated": lambda h: tf.cumsum(tf.tanh(h), axis=1) * 2.0,
    "logarithms": lambda h: tf.math.cumulative_logsumexp(tf.tanh(h), axis=1) * 2.0,
    "logarithms_behind": lambda h: tf.math.cumulative_logsumexp(tf.tanh(h), axis=1, exclusive=True, reverse=True) * 2.0,
    "pool": lambda h: tf.nn.max_pool1d(tf.tanh(h), 3, 2, "SAME"),
    "mean_pool": lambda h: tf.nn.avg_pool1d(tf.tanh(h), 3, 2, "SAME"),
    "causal": causal,
    "training": training,
}


def features(x):
    """An eighth of the height and width, rounded up or down."""
    x = tf.nn.relu(tf.nn.conv2d(x, STEM, 2, "SAME"))
    x = tf.nn.max_pool2d(x, 3, 2, "VALID")
    x = x + tf.nn.depthwise_conv2d(tf.nn.relu(tf.nn.conv2d(x, MIDDLE, 1, "SAME")), DEPTHWISE, [1] * 4, "SAME")
    return tf.nn.avg_pool2d(tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), MIDDLE, 1, "VALID"), 2, 2, "SAME")


def classes(x):
    return tf.reduce_mean(features(x), [1, 2]) @ LAST


def trained(x):
    with tf.GradientTape() as tape:
        tape.watch([STEM, MIDDLE, LAST])
        loss = tf.reduce_mean(tf.square(classes(x)))
    return tape.gradient(loss, [STEM, MIDDLE, LAST])


def up_again(x):
    small = features(x)
    return tf.image.resize(small, tf.shape(x)[1:3])[..., :3] * x


def joined_again(x):
    """A half of the size, doubled and joined: for even sizes."""
    half = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, STEM, 1, "SAME")), 2, 2, "VALID")
    twice = tf.repeat(tf.repeat(half, 2, axis=1), 2, axis=2)
    return tf.tanh(tf.concat([x, twice], axis=-1)) * 2.0


def against_targets(x):
    """Two arguments of one cluster: the second one's sizes are a quarter of the first one's, rounded up."""
    maps = tf.nn.conv2d(tf.nn.conv2d(x, STEM, 2, "SAME"), MIDDLE, 2, "SAME")
    targets = tf.stop_gradient(tf.numpy_function(lambda m: np.cos(m), [maps], tf.float32))
    targets.set_shape(maps.shape)
    return tf.reduce_mean(tf.square(tf.tanh(maps) - targets), [1, 2]) * tf.reduce_mean(tf.tanh(x))


# Of images [n, height, width, 3].
IMAGES = {"classes": classes, "trained": trained, "up_again": up_again, "against_targets": against_targets}
IMAGE_SIZES = [(2, 33, 47), (3, 40, 52), (2, 31, 64), (4, 50, 50), (2, 64, 64), (3, 65, 36), (5, 39, 42), (2, 96, 31)]
EVEN_SIZES = [(2, 32, 48), (3, 40, 58), (2, 24, 62), (4, 48, 48), (3, 66, 40), (5, 98, 32)]

# n and length: each by itself, sizes that are equal by chance, those of the width, multiples of vectors, 1.
SIZES = [(3, 10), (2, 33), (4, 17), (5, 5), (2, 64), (16, 16), (7, 90), (4, 4), (2, 3), (3, 16), (48, 2), (6, 96)]


def arrays(value):
    return [np.asarray(v) for v in tf.nest.flatten(value)]


def input_of(*size):
    """Floats of (n, length) or of (n, height, width)."""
    values = np.random.default_rng(list(size)).normal(size=(*size, 3 if len(size) == 3 else WIDTH))
    return tf.constant(values.astype(np.float32))


def calls(program, sizes):
    """What became of the sets of shapes; the results are TensorFlow's."""
    first = input_of(*sizes[0]).shape
    spec = tf.TensorSpec([None] * (len(first) - 1) + [first[-1]], tf.float32)
    make = lambda: tf.function(program, input_signature=[spec])
    expected = alone(lambda f: [arrays(f(input_of(*size))) for size in sizes], make())
    function = make()
    with launched(len(sizes)):
        for size, want in zip(sizes, expected):
            for g, w in zip(arrays(function(input_of(*size))), want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5, err_msg=f"{size}")
    return xla_tf.report()


def total(report, what):
    return int(re.search(re.escape(what) + r" *\| *(\d+)", report)[1])


SERVED = "sets of shapes that such code serves"


def served(name, program, sizes):
    """Of the sizes as many as code for all of them serves; says why it does not serve others."""
    before = total(xla_tf.report(), SERVED)
    report = calls(program, sizes)
    count = total(report, SERVED) - before
    why = set(re.findall(r"(?:not by|no) code for all sizes: [^|\n]*", report))
    print(f"  {name}: {count} of {len(sizes)} sets of shapes by code for all sizes", *sorted(why), sep="\n    ")
    return count


@check
def one_code_serves_sizes_that_keep_changing():
    """From the third set of shapes on; a few that are equal by chance may be other programs."""
    counts = {name: served(name, program, SIZES) for name, program in PROGRAMS.items()}
    few = {name: count for name, count in counts.items() if count < len(SIZES) - 2 - 2}
    assert not few, few


@check
def one_code_serves_images_of_all_sizes():
    clusters = {"trained": 2, "against_targets": 2}  # other programs are one
    counts = {name: served(name, program, IMAGE_SIZES) for name, program in IMAGES.items()}
    few = {name: n for name, n in counts.items() if n < clusters.get(name, 1) * (len(IMAGE_SIZES) - 2)}
    assert not few, few


@check
def one_code_serves_images_that_are_always_even():
    assert served("joined_again", joined_again, EVEN_SIZES) == len(EVEN_SIZES) - 2


@check
def sizes_of_one_and_none():
    """Other programs than those of larger sizes."""
    for name in ("softmax", "attention", "joined"):
        calls(PROGRAMS[name], [(1, 5), (1, 9), (1, 12), (1, 30), (3, 1), (4, 1), (5, 1), (6, 1), (1, 1), (2, 7)])
    calls(PROGRAMS["elementwise"], [(2, 3), (3, 4), (4, 5), (0, 3), (3, 0), (6, 7), (0, 0), (1, 1)])


@check
def off():
    xla_tf.configure(general_shapes=False)
    try:
        before = total(xla_tf.report(), SERVED)
        assert total(calls(PROGRAMS["softmax"], SIZES), SERVED) == before
    finally:
        xla_tf.configure(general_shapes=True)


if __name__ == "__main__":
    run_checks()
