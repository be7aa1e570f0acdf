"""Training steps with the plugin: losses are those of TensorFlow alone (plugin_checks.py has the usage)."""

import numpy as np

from plugin_checks import alone, check, launched, run_checks, tf


def train(make_model, x, y, loss, steps=3):
    """Losses of some steps of SGD with momentum from fixed weights."""
    tf.keras.utils.set_random_seed(1)
    model = make_model()
    optimizer = tf.keras.optimizers.SGD(0.05, momentum=0.9)
    loss_function = loss()

    @tf.function
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            value = loss_function(labels, model(inputs, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    losses = [float(step(x, y)) for _ in range(steps)]
    return losses + [float(np.abs(np.asarray(model(x))).mean())]


def same_training(make_model, x, y, loss, rtol=1e-3):
    expected = alone(train, make_model, x, y, loss)
    with launched(3):
        got = train(make_model, x, y, loss)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-5)


@check
def train_mlp():
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    same_training(
        lambda: tf.keras.Sequential([layers.Dense(32, "relu"), layers.LayerNormalization(), layers.Dense(10)]),
        tf.constant(rng.normal(size=(16, 20)).astype(np.float32)),
        tf.constant(rng.integers(0, 10, 16)),
        lambda: tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )


@check
def train_convnet():
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    same_training(
        lambda: tf.keras.Sequential(
            [layers.Conv2D(8, 3), layers.BatchNormalization(), layers.ReLU(), layers.MaxPool2D(), layers.Flatten()]
            + [layers.Dense(4)]
        ),
        tf.constant(rng.normal(size=(4, 12, 12, 3)).astype(np.float32)),
        tf.constant(rng.integers(0, 4, 4)),
        lambda: tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )


@check
def train_transformer():
    rng = np.random.default_rng(0)

    def make():
        layers = tf.keras.layers
        tokens = tf.keras.Input((12,), dtype="int32")
        h = layers.Embedding(50, 16)(tokens)
        a = layers.MultiHeadAttention(2, 8)(h, h)
        h = layers.LayerNormalization()(h + a)
        f = layers.Dense(16)(layers.Dense(32, "gelu")(h))
        h = layers.LayerNormalization()(h + f)
        return tf.keras.Model(tokens, layers.Dense(50)(h))

    same_training(
        make,
        tf.constant(rng.integers(0, 50, (3, 12)), tf.int32),
        tf.constant(rng.integers(0, 50, (3, 12))),
        lambda: tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )


@check
def train_lstm():
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    same_training(
        lambda: tf.keras.Sequential([layers.LSTM(8, return_sequences=True), layers.GRU(8), layers.Dense(2)]),
        tf.constant(rng.normal(size=(4, 6, 5)).astype(np.float32)),
        tf.constant(rng.normal(size=(4, 2)).astype(np.float32)),
        lambda: tf.keras.losses.MeanSquaredError(),
    )


def fit():
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(16, "relu"), layers.Dropout(0.0), layers.Dense(3)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    history = model.fit(x, (x.sum(1) > 0).astype(int), epochs=2, batch_size=16, verbose=0, shuffle=False)
    return history.history["loss"] + [float(np.abs(model.predict(x, verbose=0)).mean())]


@check
def keras_fit_and_predict():
    expected = alone(fit)
    with launched(8):
        got = fit()
    np.testing.assert_allclose(got, expected, rtol=1e-3)


if __name__ == "__main__":
    run_checks()
