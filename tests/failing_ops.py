"""Functions of an int32 vector [n, n] that fail for one n and work for another: what tensorflow_errors.py runs with
and without the plugin."""

import numpy as np
import tensorflow as tf

F = tf.float32
TABLE = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
ROWS = tf.ones([2, 3])
raw = tf.raw_ops


def real(i):
    return tf.cast(i, F)


def ones(*shape):
    """Ones of a shape that only the run knows."""
    return tf.ones(tf.stack(shape))


def scaled(i):
    """A matrix that is singular for n = 2 and not positive definite below."""
    return tf.eye(3) * (real(i[0]) - 2.0)


def dense(places):
    return raw.SparseToDense(sparse_indices=places, output_shape=[4], sparse_values=2.0, default_value=1.0)


def gather_in_a_loop(i):
    total = tf.zeros([3])
    for _ in tf.range(3):
        total += TABLE[i[0]]
    return total


def gather_in_a_branch(i):
    if tf.reduce_sum(i) > 4:
        return tf.gather(TABLE, i) * 2.0
    return tf.gather(TABLE, i) - 1.0


def division_in_a_loop(i):
    total = i
    for k in tf.range(4):
        total += (k * 7 + i) // (i - 2) * 3
    return total


def assertion_in_a_loop(i):
    total = real(i)
    for k in tf.range(3):
        tf.debugging.assert_less(i + k, 5)
        total = tf.exp(-total) * 2.0
    return total


def assertion_in_a_branch(i):
    if tf.reduce_sum(i) > 4:
        tf.debugging.assert_less(i, 5)
        return tf.exp(real(i))
    return real(i) - 1.0


def numerics_in_a_loop(i):
    total = real(i)
    for _ in tf.range(3):
        total = tf.debugging.check_numerics(tf.math.log(total - 3.0) * 2.0 + 90.0, "bad")
    return total


def after_an_assertion(i):
    tf.debugging.Assert(tf.reduce_all(i < 3), [i, "too large"])
    return real(i) * 2.0


def unused_numerics(i):
    tf.debugging.check_numerics(1.0 / (real(i) - 3.0), "bad")
    return real(i) * 2.0


def read_of_an_array(i):
    array = tf.TensorArray(F, 3, clear_after_read=False)
    for k in tf.range(3):
        array = array.write(k, tf.exp(real(k)))
    return array.read(i[0])


def uneven_array(i):
    array = tf.TensorArray(F, 2, infer_shape=False)
    return array.write(0, tf.ones([3])).write(1, ones(i[0])).stack()


class Variables:
    """Bodies over one variable."""

    def __init__(self):
        self.table = tf.Variable(TABLE)

    def gather(self, i):
        return tf.exp(tf.gather(self.table, i)) * 2.0

    def gather_nd(self, i):
        return tf.exp(tf.gather_nd(self.table, i[:, None])) * 2.0

    def gradient(self, i):
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(tf.exp(tf.nn.embedding_lookup(self.table * 0.1, i)))
        return tf.convert_to_tensor(tape.gradient(value, self.table))

    def scatter(self, i):
        self.table.scatter_nd_update(i[:, None], ROWS)
        return tf.exp(-self.table) * 2.0

    def assign_row(self, i):
        self.table[i[0], :].assign(tf.ones([3]))
        return tf.exp(-self.table) * 2.0


def cases():
    """Rows (name, body, n that works, n that fails)."""
    v = Variables()
    return [
        # Places out of range.
        ("gather", lambda i: tf.gather(TABLE, i), 1, 9),
        ("gather_negative", lambda i: tf.gather(TABLE, i), 1, -1),
        ("gather_nd", lambda i: tf.gather_nd(TABLE, tf.stack([i, i], 1)), 1, 3),
        ("gather_batch", lambda i: tf.gather(TABLE[:2], i[:, None], batch_dims=1), 1, 5),
        ("gather_in_a_loop", gather_in_a_loop, 1, 4),
        ("gather_in_a_branch", gather_in_a_branch, 1, 9),
        ("gather_in_map_fn", lambda i: tf.map_fn(lambda k: tf.gather(TABLE, k), i, fn_output_signature=F), 1, 9),
        ("gather_of_divided", lambda i: tf.gather(TABLE, i // (i - 2) + 2), 1, 2),
        ("variable_gather", v.gather, 1, 9),
        ("variable_gather_nd", v.gather_nd, 1, 9),
        ("variable_gradient", v.gradient, 1, 9),
        ("variable_scatter", v.scatter, 1, 9),
        ("variable_row", v.assign_row, 1, 9),
        ("index", lambda i: TABLE[i[0]], 1, 7),
        ("slice", lambda i: tf.slice(TABLE, [i[0], 0], [2, 2]), 1, 7),
        ("scatter", lambda i: tf.scatter_nd(i[:, None], ROWS, [4, 3]), 1, 9),
        ("scatter_negative", lambda i: tf.scatter_nd(i[:, None], ROWS, [4, 3]), 1, -1),
        ("scatter_add", lambda i: tf.tensor_scatter_nd_add(TABLE, i[:, None], ROWS), 1, 9),
        ("scatter_update", lambda i: tf.tensor_scatter_nd_update(TABLE, i[:, None], ROWS), 1, -2),
        ("sparse", lambda i: dense(i[:1]), 1, 9),
        ("sparse_repeated", lambda i: dense(tf.stack([1, i[0] + 1])), 1, 0),
        ("segments", lambda i: tf.math.unsorted_segment_sum(ROWS, i, 3), 1, 9),
        ("segments_unsorted", lambda i: tf.math.segment_sum(ROWS, tf.stack([i[0], 3 - i[1]])), 1, 3),
        ("stitch", lambda i: tf.dynamic_stitch([i[:1], [0]], [ROWS[:1], ROWS[:1]]), 1, -1),
        ("crop", lambda i: tf.image.crop_and_resize(ones(2, 4, 4, 1), [[0.0, 0.0, 1.0, 1.0]], i[:1], [2, 2]), 1, 5),
        ("label", lambda i: tf.nn.sparse_softmax_cross_entropy_with_logits(i, ROWS), 1, 9),
        ("label_negative", lambda i: tf.nn.sparse_softmax_cross_entropy_with_logits(i, ROWS), 1, -1),
        ("array_read", read_of_an_array, 1, 5),
        ("array_write", lambda i: tf.TensorArray(F, 2).write(i[0], tf.exp(1.0)).stack(), 1, 5),
        ("reverse_sequence", lambda i: tf.reverse_sequence(TABLE, tf.concat([i, i], 0), 1), 1, 9),
        ("band_part", lambda i: tf.linalg.band_part(TABLE, i[0], 1), 1, 5),
        ("diagonal", lambda i: tf.linalg.diag_part(TABLE, k=i[0]), 1, 9),
        # Integers that have no quotient or power.
        ("floor_div", lambda i: (i * 3 + 1) // (i - 2) + i, 1, 2),
        ("floor_mod", lambda i: (i * 3 + 1) % (i - 2) + i, 1, 2),
        ("truncate_div", lambda i: tf.truncatediv(i * 3 + 1, i - 2), 1, 2),
        ("truncate_mod", lambda i: raw.TruncateMod(x=i * 3 + 1, y=i - 2), 1, 2),
        ("int64_div", lambda i: tf.cast(i * 3, tf.int64) // tf.cast(i - 2, tf.int64), 1, 2),
        ("uint8_div", lambda i: tf.cast(i * 3, tf.uint8) // tf.cast(i - 2, tf.uint8), 1, 2),
        ("division_in_a_loop", division_in_a_loop, 1, 2),
        ("division_in_cond", lambda i: tf.cond(i[0] > 1, lambda: i // (i - 2) * 3, lambda: i * 2), 1, 2),
        ("power", lambda i: (i + 1) ** (i - 2) * 2, 3, 1),
        # Checks.
        ("assertion", after_an_assertion, 1, 7),
        ("assertion_in_a_loop", assertion_in_a_loop, 1, 4),
        ("assertion_in_a_branch", assertion_in_a_branch, 1, 9),
        ("numerics_nan", lambda i: tf.debugging.check_numerics(tf.math.log(real(i) - 3.0) * 2.0, "bad") + 1.0, 5, 1),
        ("numerics_inf", lambda i: tf.debugging.check_numerics(1.0 / (real(i) - 3.0) * 2.0, "bad") + 1.0, 5, 3),
        ("numerics_in_a_loop", numerics_in_a_loop, 50, 1),
        ("numerics_unused", unused_numerics, 5, 3),
        ("ensured_shape", lambda i: tf.ensure_shape(ones(i[0], 2), [3, None]), 3, 4),
        # Matrices.
        ("inverse", lambda i: tf.linalg.inv(scaled(i)) * 2.0, 3, 2),
        ("solve", lambda i: tf.linalg.solve(scaled(i), tf.ones([3, 1])) * 2.0, 3, 2),
        ("lu", lambda i: tf.linalg.lu(scaled(i))[0] * 2.0, 3, 2),
        # Sizes and axes.
        ("product", lambda i: ones(2, i[0]) @ tf.ones([3, 4]), 3, 2),
        ("products", lambda i: ones(i[0], 2, 3) @ tf.ones([2, 3, 4]), 2, 3),
        ("einsum", lambda i: tf.einsum("ab,bc->ac", ones(2, i[0]), tf.ones([3, 3])), 3, 4),
        ("bias", lambda i: tf.nn.bias_add(ones(2, i[0]), tf.ones([3])) * 2.0, 3, 4),
        ("convolution", lambda i: tf.nn.conv2d(ones(1, 5, 5, i[0]), tf.ones([3, 3, 2, 4]), 1, "SAME"), 2, 3),
        ("convolution_small", lambda i: tf.nn.conv2d(ones(1, i[0], 5, 2), tf.ones([3, 3, 2, 4]), 1, "VALID"), 4, 1),
        ("max_pool_small", lambda i: tf.nn.max_pool2d(ones(1, i[0], 5, 2), 3, 1, "VALID") * 2.0, 4, 1),
        ("avg_pool_small", lambda i: tf.nn.avg_pool2d(ones(1, i[0], 5, 2), 3, 1, "VALID") * 2.0, 4, 1),
        ("select", lambda i: tf.where(ones(i[0]) > 0, tf.ones([3]), tf.zeros([3])), 3, 4),
        ("stack", lambda i: tf.stack([ones(i[0]), tf.ones([3])]) * 2.0, 3, 4),
        ("unstack", lambda i: tf.unstack(ones(i[0], 2), 3)[1] * 2.0, 3, 4),
        ("add_n", lambda i: tf.add_n([ones(i[0], 3), ROWS]) * 2.0, 2, 3),
        ("uneven_array", uneven_array, 3, 2),
        ("reshape", lambda i: tf.reshape(tf.exp(TABLE), [i[0], -1]) * 2.0, 3, 5),
        ("tile", lambda i: tf.tile(TABLE, [i[0], 1]) * 2.0, 2, -1),
        ("fill", lambda i: tf.exp(tf.fill([i[0]], 2.0)), 2, -1),
        ("range", lambda i: real(tf.range(0, 6, i[0])) * 2.0, 2, 0),
        ("one_hot", lambda i: tf.one_hot(i, i[0]) * 2.0, 2, -1),
        ("split", lambda i: tf.split(tf.exp(TABLE), [i[0], 1], 0)[0] * 2.0, 3, 7),
        ("top_k", lambda i: tf.math.top_k(tf.exp(TABLE), i[0])[0] * 2.0, 1, 9),
        ("pad", lambda i: tf.pad(tf.exp(TABLE), [[i[0], 0], [0, 0]]) * 2.0, 1, -1),
        ("mirror_pad", lambda i: tf.pad(tf.exp(TABLE), [[i[0], 0], [0, 0]], "REFLECT") * 2.0, 1, 6),
        ("space_to_batch", lambda i: tf.space_to_batch_nd(ones(1, i[0], 1), [2], [[0, 0]]) * 2.0, 4, 3),
        ("random_limits", lambda i: tf.random.stateless_uniform([3], [1, 2], 1, i[0], tf.int32) * 2, 5, 1),
        ("concat_axis", lambda i: tf.concat([TABLE, TABLE], i[0]) * 2.0, 1, 4),
        ("sum_axis", lambda i: tf.reduce_sum(tf.exp(TABLE), i[0]) * 2.0, 1, 4),
        ("permutation", lambda i: tf.transpose(TABLE, [i[0], 0]) * 2.0, 1, 0),
    ]
