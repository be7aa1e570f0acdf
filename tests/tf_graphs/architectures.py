"""More programs for tf_graphs.py: blocks of known architectures, preprocessing, strings and sparse features around
numeric parts, signal processing, quantized inference."""

import numpy as np
import tensorflow as tf

from models import floats, keras_layer, model, weights

K = tf.keras


def keras_model(build, *shapes):
    """A functional model and inputs of the shapes."""
    K.utils.set_random_seed(3)
    net = build()
    for w in net.weights:  # statistics and offsets that are not zero
        w.assign(w + 0.05 * floats(*w.shape, seed=5) ** 2 if len(w.shape) else w)
    return lambda x: net(x, training=False), [[floats(*s)] for s in shapes]


def residual_net():
    x = inputs = K.Input([16, 16, 8])
    for filters, stride in ((8, 1), (16, 2)):
        y = K.layers.Conv2D(filters, 3, stride, "same", use_bias=False)(x)
        y = K.layers.ReLU()(K.layers.BatchNormalization()(y))
        y = K.layers.BatchNormalization()(K.layers.Conv2D(filters, 3, 1, "same", use_bias=False)(y))
        if stride != 1 or x.shape[-1] != filters:
            x = K.layers.BatchNormalization()(K.layers.Conv2D(filters, 1, stride, use_bias=False)(x))
        x = K.layers.ReLU()(K.layers.Add()([x, y]))
    x = K.layers.GlobalAveragePooling2D()(x)
    return K.Model(inputs, K.layers.Dense(5, "softmax")(x))


@model
def residual_inference():
    return keras_model(residual_net, [1, 16, 16, 8], [3, 16, 16, 8])


@model
def residual_with_batch_statistics():
    k1, k2 = weights(3, 3, 4, 4), weights(3, 3, 4, 4, seed=2)

    def norm(x):
        scale, offset = tf.linspace(0.5, 2.0, 4), tf.linspace(-1.0, 1.0, 4)
        return tf.compat.v1.nn.fused_batch_norm(x, scale, offset, is_training=True)

    def f(x):
        y, mean, variance = norm(tf.nn.conv2d(x, k1, 1, "SAME"))
        z, _, _ = norm(tf.nn.conv2d(tf.nn.relu(y), k2, 1, "SAME"))
        return tf.nn.relu(x + z), mean, variance

    return f, [[floats(3, 8, 8, 4)]]


@model
def inception_block():
    def build():
        x = inputs = K.Input([12, 12, 6])
        a = K.layers.Conv2D(4, 1, activation="relu")(x)
        b = K.layers.Conv2D(6, 5, padding="same", activation="elu")(K.layers.Conv2D(3, 1)(x))
        c = K.layers.Conv2D(5, 1)(K.layers.MaxPool2D(3, 1, "same")(x))
        d = K.layers.SeparableConv2D(7, 3, padding="same", activation="swish")(
            K.layers.AveragePooling2D(3, 1, "same")(x)
        )
        x = K.layers.Concatenate()([a, b, c, d])
        x = K.layers.Conv2DTranspose(4, 3, 2, "same", activation="gelu")(x)
        return K.Model(inputs, K.layers.UpSampling2D(2, interpolation="bilinear")(K.layers.GroupNormalization(2)(x)))

    return keras_model(build, [2, 12, 12, 6])


@model
def u_net_with_skip():
    def build():
        x = inputs = K.Input([None, None, 3])
        down = K.layers.Conv2D(4, 3, padding="same", activation="leaky_relu")(x)
        x = K.layers.DepthwiseConv2D(3, 2, "same")(down)
        x = K.layers.Conv2D(8, 3, padding="same", dilation_rate=2, activation="mish")(x)
        x = K.layers.Conv2DTranspose(4, 2, 2)(x)
        x = K.layers.ZeroPadding2D(1)(K.layers.Concatenate()([x, down]))
        return K.Model(inputs, K.layers.Cropping2D(1)(x))

    return keras_model(build, [1, 8, 10, 3], [2, 12, 8, 3])


@model
def volume_net():
    def build():
        x = inputs = K.Input([6, 8, 8, 2])
        x = K.layers.MaxPool3D()(K.layers.Conv3D(3, 3, padding="same", activation="relu")(x))
        return K.Model(inputs, K.layers.Dense(3)(K.layers.Flatten()(x)))

    return keras_model(build, [2, 6, 8, 8, 2])


@model
def sequence_convolutions():
    def build():
        x = inputs = K.Input([20, 6])
        x = K.layers.Conv1D(8, 3, padding="causal", dilation_rate=2, activation="relu")(x)
        x = K.layers.MaxPool1D(2)(K.layers.LayerNormalization()(x))
        return K.Model(inputs, K.layers.GlobalMaxPooling1D()(K.layers.TimeDistributed(K.layers.Dense(4))(x)))

    return keras_model(build, [3, 20, 6])


@model
def bidirectional_gru():
    make = lambda: K.layers.Bidirectional(K.layers.GRU(5, return_sequences=True, return_state=True))
    return keras_layer(make, [3, 7, 4])


@model
def masked_embedding_lstm():
    K.utils.set_random_seed(1)
    embed, lstm = K.layers.Embedding(11, 6, mask_zero=True), K.layers.LSTM(5, return_sequences=True)
    ids = np.array([[3, 4, 0, 0], [1, 0, 0, 0], [5, 6, 7, 8]], np.int32)
    lstm(embed(ids))
    return lambda ids: lstm(embed(ids)), [[ids], [ids[:2]]]


@model
def masked_attention():
    K.utils.set_random_seed(1)
    attention, norm = K.layers.MultiHeadAttention(2, 4), K.layers.LayerNormalization()
    attention(tf.zeros([1, 3, 8]), tf.zeros([1, 3, 8]))
    norm(tf.zeros([1, 3, 8]))

    def f(x, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(x)[1])[:, tf.newaxis, :]
        y, scores = attention(x, x, attention_mask=mask, use_causal_mask=True, return_attention_scores=True)
        return norm(x + y), scores

    return f, [[floats(2, 5, 8), np.array([5, 2], np.int32)], [floats(3, 4, 8), np.array([1, 4, 3], np.int32)]]


@model
def sequence_to_sequence():
    wi, wh, wo, table = weights(6, 8), weights(8, 8), weights(8, 10), weights(10, 6, seed=4)

    def f(source, steps):
        state = tf.zeros([tf.shape(source)[0], 8])
        for x in tf.unstack(source, axis=1):
            state = tf.tanh(x @ wi + state @ wh)
        tokens = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[None])
        token = tf.zeros([tf.shape(source)[0]], tf.int32)
        for i in tf.range(steps):
            state = tf.tanh(tf.gather(table, token) @ wi + state @ wh)
            token = tf.argmax(state @ wo, axis=-1, output_type=tf.int32)
            tokens = tokens.write(i, token)
        return tf.transpose(tokens.stack()), state

    return f, [[floats(2, 4, 6), np.int32(5)], [floats(2, 4, 6), np.int32(3)]]


@model
def segments():
    def f(x, ids):
        sums = tf.math.segment_sum(x, ids), tf.math.unsorted_segment_mean(x, ids, 5), tf.math.segment_max(x, ids)
        return sums + (tf.math.unsorted_segment_sqrt_n(x, ids, 5), tf.math.bincount(ids, minlength=6))

    return f, [[floats(6, 3), np.array([0, 0, 1, 3, 3, 3], np.int32)]]


@model
def ragged_rows():
    def f(x, lengths):
        rows = tf.RaggedTensor.from_row_lengths(x, lengths)
        dense = rows.to_tensor(default_value=-1.0)
        return dense, tf.reduce_sum(rows, axis=1), tf.reduce_mean(tf.nn.relu(rows), axis=1), rows.row_splits

    return f, [[floats(7), np.array([3, 0, 4], np.int64)], [floats(2), np.array([1, 1], np.int64)]]


@model
def image_pipeline():
    def f(x):
        x = tf.image.resize(x, [10, 12])
        x = tf.image.adjust_contrast(tf.image.flip_left_right(x), 1.5)
        x = tf.image.per_image_standardization(tf.image.central_crop(x, 0.5))
        nearest = tf.image.resize(x, [7, 5], "nearest")
        wide = tf.image.resize_with_pad(x, 9, 9)
        return x, nearest, wide, tf.image.rgb_to_grayscale(x), tf.image.rot90(nearest), tf.image.sobel_edges(wide)

    return f, [[floats(2, 8, 9, 3)]]


@model
def image_metrics():
    def f(x, y):
        patches = tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
        return tf.image.ssim(x, y, 1.0, filter_size=5), tf.image.psnr(x, y, 1.0), tf.image.total_variation(x), patches

    return f, [[floats(2, 12, 12, 3), floats(2, 12, 12, 3, seed=2)]]


@model
def boxes():
    def f(b, scores):
        keep = tf.image.non_max_suppression(b, scores, 3, 0.4)
        image = tf.reshape(tf.range(300, dtype=tf.float32), [1, 10, 10, 3])
        crops = tf.image.crop_and_resize(image, tf.gather(b, keep), tf.zeros_like(keep), [4, 4])
        return keep, tf.gather(scores, keep), crops

    corners = np.abs(floats(6, 2)) % 0.5
    return f, [[np.concatenate([corners, corners + 0.4], 1), floats(6)]]


@model
def words_to_numbers():
    table = weights(50, 4)

    def f(lines):
        words = tf.strings.split(tf.strings.lower(lines))
        ids = tf.strings.to_hash_bucket_fast(words.flat_values, 50)
        vectors = tf.gather(table, ids) * 2.0 + 1.0
        summed = tf.math.unsorted_segment_sum(vectors, words.value_rowids(), tf.shape(lines)[0])
        clean = tf.strings.regex_replace(lines, "[^a-z ]", "")
        return tf.tanh(summed), tf.strings.length(clean), tf.strings.join([clean, "!"]), words.row_lengths()

    lines = np.array([b"The quick brown fox", b"", b"jumps over 2 dogs  and a very, very long tail of many words"])
    return f, [[lines], [lines[:1]]]


@model
def hashes_and_matches():
    long = b"x" * 200 + b"tail"

    def f(s):
        strong = tf.strings.to_hash_bucket_strong(s, 1000, [7, 11])
        legacy = tf.strings.to_hash_bucket(s, 1000)
        sizes = [tf.strings.to_hash_bucket_fast(tf.strings.substr(s, 0, n), 2**40) for n in (3, 6, 12, 20, 40, 64, 130)]
        number = tf.strings.regex_full_match(s, "[a-z]+[0-9]*")
        joined = tf.strings.reduce_join(tf.reshape(s, [2, 2]), axis=0, separator="-")
        code = tf.io.encode_base64(s)
        return tf.stack(sizes), strong, legacy, number, joined, code, tf.io.decode_base64(code)

    return f, [[np.array([b"abc123", b"Hello, World", long, b"qwertyuiopasdfghjklzxcvbnm0123456789" * 5])]]


@model
def bytes_as_numbers():
    def f(s):
        return tf.cast(tf.io.decode_raw(s, tf.uint8), tf.float32) / 255.0, tf.io.decode_raw(s, tf.int16)

    return f, [[np.array([b"abcd", b"wxyz"])]]


@model
def sparse_features():
    table = weights(20, 5)

    def f(ids, rows):
        indices = tf.stack([tf.cast(rows, tf.int64), tf.range(tf.size(ids, tf.int64))], 1)
        sparse = tf.SparseTensor(indices, ids, [4, tf.size(ids, tf.int64)])
        looked = tf.nn.safe_embedding_lookup_sparse(table, sparse, combiner="mean")
        unique, where = tf.unique(ids)
        again = tf.gather(tf.gather(table, unique), where)
        product = tf.sparse.sparse_dense_matmul(tf.cast(sparse, tf.float32), tf.ones([tf.size(ids), 3]))
        return looked, again, product, tf.sparse.to_dense(sparse)

    return f, [[np.array([3, 7, 3, 1], np.int64), np.array([0, 0, 2, 3], np.int32)]]


@model
def sparse_shapes():
    def f(x):
        s = tf.sparse.from_dense(x)
        t = tf.sparse.concat(1, [s, tf.sparse.reorder(tf.sparse.transpose(tf.sparse.reshape(s, [4, 3])))])
        part = tf.sparse.slice(t, [0, 1], [3, 5])
        return tf.sparse.to_dense(t), tf.sparse.to_dense(part), part.dense_shape

    return f, [[np.where(np.arange(12).reshape(3, 4) % 3 == 0, 0, np.arange(12).reshape(3, 4)).astype(np.float32)]]


@model
def maps_and_scans():
    w = weights(4, 4)

    def f(x):
        mapped = tf.map_fn(lambda r: tf.reduce_sum(tf.nn.softmax(r) * r) + r, x)
        scanned = tf.scan(lambda a, r: tf.tanh(tf.linalg.matvec(w, a) + r), x, tf.zeros([4]))
        folded = tf.foldl(lambda a, r: a * 0.5 + r, x), tf.foldr(lambda a, r: a * 0.3 + r, x)
        return mapped, scanned, folded, tf.vectorized_map(lambda r: tf.cumsum(r)[::-1], x)

    return f, [[floats(5, 4)], [floats(2, 4)]]


@model
def nested_choice():
    def f(x, k):
        def inner():
            return tf.switch_case(k, [lambda: x * 2.0, lambda: tf.exp(-x), lambda: tf.sort(x)], default=lambda: x - 1.0)

        return tf.cond(tf.reduce_sum(x) > 0.0, inner, lambda: tf.cond(k > 1, lambda: x * x, lambda: tf.abs(x)))

    return f, [[floats(5) + s, np.int32(k)] for s in (2, -2) for k in (0, 1, 2, 5)]


@model
def spectrogram():
    def f(x):
        spectrum = tf.signal.stft(x, 32, 16, 32)
        mel = tf.abs(spectrum) @ tf.signal.linear_to_mel_weight_matrix(10, 17, 8000, 80.0, 3800.0)
        cepstrum = tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-6))
        return cepstrum, tf.signal.inverse_stft(spectrum, 32, 16, 32), tf.signal.dct(x)

    return f, [[floats(2, 160)]]


@model
def linear_algebra():
    def f(a, b):
        spd = a @ tf.transpose(a, [0, 2, 1]) + 3.0 * tf.eye(4)
        chol = tf.linalg.cholesky(spd)
        solved = tf.linalg.cholesky_solve(chol, b), tf.linalg.solve(a, b), tf.linalg.lstsq(spd, b)
        values = tf.linalg.eigvalsh(spd), tf.linalg.svd(a, compute_uv=False), tf.linalg.det(a), tf.linalg.logdet(spd)
        parts = tf.linalg.band_part(a, 1, 0), tf.linalg.diag_part(a), tf.linalg.trace(a), tf.norm(a, axis=[1, 2])
        return solved, values, parts, tf.linalg.expm(a * 0.1), tf.linalg.triangular_solve(chol, b)

    return f, [[floats(2, 4, 4), floats(2, 4, 3)]]


@model
def keras_preprocessing():
    normal = K.layers.Normalization(mean=[0.5, 1.0, -1.0], variance=[2.0, 0.5, 1.0])
    bins, scale = K.layers.Discretization([-1.0, 0.0, 1.5]), K.layers.Rescaling(0.5, 0.1)
    onehot = K.layers.CategoryEncoding(4, output_mode="multi_hot")
    crop = K.layers.CenterCrop(4, 4)

    def f(x):
        ids = bins(x)
        return normal(x), onehot(ids), scale(x), crop(tf.reshape(tf.range(72.0), [1, 6, 6, 2])), tf.one_hot(ids, 4)

    return f, [[floats(5, 3)]]


@model
def fake_quantized():
    w = weights(6, 5)

    def f(x):
        q = tf.quantization.fake_quant_with_min_max_args(x, -3, 3)
        k = tf.quantization.fake_quant_with_min_max_vars_per_channel(w, tf.reduce_min(w, 0), tf.reduce_max(w, 0), 4)
        y = tf.quantization.fake_quant_with_min_max_vars(q @ k, -6.0, 6.0, narrow_range=True)
        return tf.nn.relu6(y), tf.quantization.quantize_and_dequantize_v2(x, -2.0, 2.0, range_given=True)

    return f, [[floats(3, 6)]]


@model
def v1_estimator_like():
    table, dense, bias = weights(9, 3), weights(5, 4), weights(4)

    def f(features, category):
        v1 = tf.compat.v1
        column = tf.nn.embedding_lookup(table, category)
        x = tf.concat([features, column], axis=1)
        hidden = tf.nn.relu(v1.nn.xw_plus_b(x, dense, bias))
        logits = tf.reduce_sum(hidden, axis=1, keepdims=True)
        both = tf.concat([tf.zeros_like(logits), logits], 1)
        classes = tf.tile(tf.expand_dims(tf.range(2), 0), [tf.shape(logits)[0], 1])
        return logits, tf.sigmoid(logits), tf.nn.softmax(both), tf.argmax(both, 1), tf.as_string(classes)

    return f, [[floats(3, 2), np.array([0, 8, 4], np.int64)], [floats(1, 2), np.array([2], np.int64)]]


@model
def factorization_machine_step():
    def f(v, ids, labels):
        with tf.GradientTape() as tape:
            tape.watch(v)
            e = tf.gather(v, ids)
            score = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(e, 1)) - tf.reduce_sum(tf.square(e), 1), 1)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, score))
        g = tf.convert_to_tensor(tape.gradient(loss, v))
        return loss, v - 0.1 * tf.clip_by_norm(g, 1.0)

    return f, [[floats(10, 4), np.array([[1, 3, 5], [2, 3, 9]], np.int32), np.array([1, 0], np.float32)]]


@model
def convolution_training_step():
    def f(x, labels, k, w):
        with tf.GradientTape() as tape:
            tape.watch([k, w])
            h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k, 1, "SAME")), 2, 2, "VALID")
            mean, variance = tf.nn.moments(h, [0, 1, 2])
            h = tf.nn.batch_normalization(h, mean, variance, None, None, 1e-3)
            logits = tf.reshape(h, [tf.shape(h)[0], -1]) @ w
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gk, gw = tape.gradient(loss, [k, w])
        (gk, gw), norm = tf.clip_by_global_norm([gk, gw], 0.5)
        return loss, norm, k - 0.1 * gk, w - 0.1 * gw

    return f, [[floats(3, 8, 8, 2), np.array([1, 0, 3], np.int64), floats(3, 3, 2, 4), floats(64, 4)]]


@model
def top_choices_and_sampling():
    def f(logits, seed):
        values, ids = tf.math.top_k(logits, 4)
        cut = tf.where(logits < values[:, -1:], -np.inf, logits)
        order = tf.argsort(logits, direction="DESCENDING")
        mass = tf.cumsum(tf.nn.softmax(tf.gather(logits, order, batch_dims=1)), axis=-1)
        draw = tf.random.stateless_categorical(cut, 3, seed)
        return ids, order, mass, draw, tf.math.in_top_k(ids[:, 0], logits, 2), tf.random.stateless_normal([3], seed)

    return f, [[floats(2, 9), np.array([3, 5], np.int32)]]


@model
def scatter_and_masks():
    def f(x, at):
        mask = x > 0.0
        kept = tf.boolean_mask(x, mask)
        where = tf.where(mask)
        parts = tf.dynamic_partition(tf.reshape(x, [-1]), tf.cast(tf.reshape(mask, [-1]), tf.int32), 2)
        moved = tf.tensor_scatter_nd_add(x, at[:, tf.newaxis], tf.ones([tf.size(at), 4]))
        return kept, where, parts, moved, tf.scatter_nd(at[:, tf.newaxis], x[:2], [5, 4]), tf.roll(x, 1, 0)

    return f, [[floats(3, 4), np.array([2, 0], np.int32)]]


@model
def ctc_like_distances():
    def f(a, b):
        pairs = tf.reduce_sum(tf.square(a[:, None] - b[None]), -1)
        return tf.einsum("ik,jk->ij", a, b), tf.sqrt(pairs), tf.argmin(pairs, 1), tf.tensordot(a, b, [[1], [1]])

    return f, [[floats(4, 3), floats(5, 3, seed=2)]]


@model
def string_keys_and_split():
    def f(lines):
        parts = tf.strings.split(lines, ",").to_tensor("0")
        numbers = tf.strings.to_number(parts)
        text = tf.strings.join([tf.strings.as_string(tf.reduce_sum(numbers, 1), precision=2), "total"], " ")
        return tf.nn.softmax(numbers), text, tf.strings.upper(text), tf.strings.substr(text, 0, 3)

    return f, [[np.array([b"1,2,3", b"4.5", b"-1,0.25"])]]
