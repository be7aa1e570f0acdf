"""TensorFlow with the plugin, called with ever other batch sizes: code for a larger batch serves calls of smaller ones
where padding does not change results, and nowhere else (plugin_checks.py has the usage)."""

import re

import numpy as np

from plugin_checks import alone, check, launched, run_checks, tf, xla_tf

TABLE = tf.constant(np.linspace(-1, 1, 20 * 6, dtype=np.float32).reshape(20, 6))
FILTER = tf.constant(np.linspace(-1, 1, 3 * 2 * 4, dtype=np.float32).reshape(3, 2, 4))


def row(a, i=0):
    return a[i : i + 1] if i >= 0 else a[i:]


def turns(a, more, step):
    return tf.while_loop(lambda i, b: tf.logical_and(i < 5, more(b)), lambda i, b: (i + 1, step(b)), (0, a))[1]


def scanned(a):
    """The states of a recurrence over the columns."""
    states = tf.TensorArray(tf.float32, 6)
    h = tf.zeros_like(a)
    for i in tf.range(6):
        h = tf.tanh(h * 0.5 + a[:, i][:, None])
        states = states.write(i, h)
    return tf.transpose(states.stack(), [1, 0, 2])


# Of float rows [n, 6]; every row of the result comes from the same row of the argument, or all of it from the set of
# the argument's rows.
SHARED = {
    "softmax": lambda a: tf.nn.softmax(a * 2.0 + 1.0),
    "product": lambda a: tf.nn.relu(a @ tf.transpose(TABLE)) @ TABLE,
    "merged": lambda a: tf.reshape(tf.tanh(tf.reshape(a, [-1, 2]) @ tf.ones([2, 2])), [-1, 6]),
    "heads": lambda a: tf.einsum("bij,bkj->bik", tf.reshape(a, [-1, 3, 2]), tf.reshape(a * 2.0, [-1, 3, 2])),
    "transposed": lambda a: tf.reduce_sum(tf.transpose(a), axis=0) - tf.transpose(tf.transpose(a) * 2.0)[:, 0],
    "convolution": lambda a: tf.nn.conv1d(tf.reshape(a, [-1, 3, 2]), FILTER, 1, "SAME"),
    "pool": lambda a: tf.nn.max_pool1d(tf.reshape(a * 2.0, [-1, 6, 1]), 3, 2, "SAME"),
    "columns": lambda a: tf.concat([a[:, ::2], tf.reverse(a, [1]), tf.pad(a, [[0, 0], [1, 2]])], axis=1),
    "sorted": lambda a: tf.sort(a, axis=1) + tf.math.top_k(a, 6).values + tf.cumsum(a, axis=1),
    "table": lambda a: tf.gather(TABLE, tf.cast(tf.abs(a) * 3.0, tf.int32)) * 2.0,
    "one_hot": lambda a: tf.one_hot(tf.argmax(a, axis=1), 6) + a,
    "numbers": lambda a: a * tf.cast(tf.range(tf.shape(a)[0]), tf.float32)[:, None] + 1.0,
    "largest": lambda a: tf.reduce_max(a * 2.0, axis=0) - tf.reduce_min(tf.exp(a)),
    "checked": lambda a: tf.debugging.check_numerics(tf.math.log(a * a + 1.0), "log") * 2.0,
    "recurrent": scanned,
    "until": lambda a: turns(a, lambda b: tf.reduce_any(b > 0.1), lambda b: b * 0.5 - 0.01),
    "branches": lambda a: tf.cond(tf.reduce_max(a) > 0.0, lambda: tf.exp(a) * 2.0, lambda: a - 1.0),
    "sizes": lambda a: (tf.tanh(a) * 2.0, tf.shape(a), tf.zeros_like(a)[:, :2]),
}

# Rows count for each other, or their number is part of the result.
OWN = {
    "mean": lambda a: tf.tanh(a) - tf.reduce_mean(a, axis=0),
    "number": lambda a: tf.exp(a) / tf.cast(tf.shape(a)[0], tf.float32),
    "product_of_rows": lambda a: tf.nn.softmax(a @ tf.transpose(a)),
    "cumulated": lambda a: tf.cumsum(tf.tanh(a), axis=0) * 2.0,
    "last": lambda a: tf.tanh(row(a, -1)) * 2.0,
    "reversed": lambda a: tf.tanh(tf.reverse(a, [0])) * 2.0,
    "rolled": lambda a: tf.tanh(tf.roll(a, 1, axis=0)) * 2.0,
    "sorted_rows": lambda a: tf.sort(tf.tanh(a), axis=0) * 2.0,
    "normalized": lambda a: tf.nn.batch_normalization(a, *tf.nn.moments(a, [0]), None, None, 1e-3) * 2.0,
    "numbered_largest": lambda a: tf.reduce_max(a * tf.cast(tf.range(tf.shape(a)[0]), tf.float32)[:, None], axis=0),
    "counted": lambda a: turns(a, lambda b: tf.reduce_sum(b) > 1.0, lambda b: b * 0.5),
    "other_merge": lambda a: tf.tanh(tf.reshape(tf.transpose(a), [-1, 2])) * 2.0,
    "joined": lambda a: tf.tanh(tf.concat([a, a], axis=0)) * 2.0,
    "padded": lambda a: tf.tanh(tf.pad(a, [[0, 1], [0, 0]])) * 2.0,
    "gradient": lambda a: tf.gradients(tf.reduce_mean(tf.tanh(a @ tf.transpose(TABLE))), [a])[0] * 2.0,
    "segments": lambda a: tf.math.unsorted_segment_sum(a * 2.0, tf.cast(tf.abs(a[:, 0]) * 3.0, tf.int32), 20) + 1.0,
}


def arrays(value):
    return [np.asarray(v) for v in tf.nest.flatten(value)]


def rows_of(n):
    return tf.constant(np.random.default_rng(n).normal(size=(n, 6)).astype(np.float32))


def calls(program, sizes):
    """The states of the code, of which some may be shared; the results are TensorFlow's."""
    make = lambda: tf.function(program, input_signature=[tf.TensorSpec([None, 6], tf.float32)])
    expected = alone(lambda f: [arrays(f(rows_of(n))) for n in sizes], make())
    function = make()
    with launched(len(sizes) // 2):
        for n, want in zip(sizes, expected):
            for g, w in zip(arrays(function(rows_of(n))), want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5, err_msg=f"{n} rows")
    return re.findall(r"(compiled.*?|on the host.*?) \|", xla_tf.report())


def all_calls(programs, shared):
    for name, program in programs.items():
        states = calls(program, [20, 19, 18, 17, 13, 9, 15, 11, 1, 33, 35])
        found = any(re.search(r"for a batch of \d+", state) for state in states)
        assert shared is None or found == shared, f"{name}: {states}"


@check
def rows_that_do_not_count_for_each_other_share_code():
    all_calls(SHARED, True)


@check
def rows_that_count_for_each_other_have_code_of_their_own():
    all_calls(OWN, False)
    all_calls({"first": lambda a: tf.tanh(row(a)) * 2.0}, None)  # may be either way


@check
def half_of_the_rows():
    """Of 19 rows as many as of 20, which their code is for; of 18 and 17 fewer."""
    states = calls(lambda a: tf.tanh(a[::2]) * 2.0, [40, 39, 38, 19, 18, 17])
    assert states.count("compiled for a batch of 20") == 3, states


@check
def two_arguments_with_rows():
    """Both get further rows; weights that happen to have as many rows do not."""
    spec = [tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([None], tf.int32), tf.TensorSpec([16, 4], tf.float32)]
    program = lambda a, i, w: tf.nn.softmax(a * 2.0 + tf.gather(w, i)) + tf.reduce_sum(w)
    rng = np.random.default_rng(1)
    arguments = [
        (rng.normal(size=(n, 4)).astype(np.float32), rng.integers(0, 16, n).astype(np.int32))
        for n in (16, 15, 14, 13, 12, 11, 10, 9, 16, 30)
    ]
    weights = rng.normal(size=(16, 4)).astype(np.float32)
    run = lambda f: [np.asarray(f(a, i, weights)) for a, i in arguments]
    expected = alone(run, tf.function(program, input_signature=spec))
    before = xla_tf.stats().compilations
    function = tf.function(program, input_signature=spec)
    with launched(len(arguments)):
        for g, e in zip(run(function), expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-5)
    # 16 rows, whose code serves 15, 14 and 13, too; then code for 12, 10 and 32.
    assert xla_tf.stats().compilations - before == 4, xla_tf.stats()
    assert "compiled for a batch of 32" in xla_tf.report(), xla_tf.report()


@check
def a_number_of_rows_that_comes_often_gets_its_own_code():
    """Calls with fewer rows than the first ones run with their code, until copies have cost as much as compiling."""
    program = lambda a: tf.nn.softmax(a @ tf.transpose(TABLE)) @ TABLE
    make = lambda: tf.function(program, input_signature=[tf.TensorSpec([None, 6], tf.float32)])
    more, some = rows_of(5000), rows_of(4000)
    expected = alone(lambda: np.asarray(make()(some)))
    xla_tf.configure(policy="background")
    try:
        function, before = make(), xla_tf.stats()
        for rows in (more, some):
            function(rows)
            assert xla_tf.wait()
        same = lambda: np.testing.assert_allclose(function(some), expected, rtol=1e-5, atol=1e-5)
        same()
        assert xla_tf.stats().compilations - before.compilations == 1, xla_tf.report()
        assert xla_tf.stats().shared_launches > before.shared_launches, xla_tf.report()
        for _ in range(50_000):
            if xla_tf.stats().own_codes > before.own_codes:
                break
            same()
        same()
        assert re.search(r"compiled by itself after \d+ runs with a batch of 5000", xla_tf.report()), xla_tf.report()
    finally:
        xla_tf.configure(policy="now")


@check
def errors_are_those_of_the_rows_that_are_there():
    """An index out of range in one row is an error; further rows bring none."""
    spec = [tf.TensorSpec([None, 6], tf.float32), tf.TensorSpec([None], tf.int32)]
    function = tf.function(lambda a, i: tf.tanh(tf.gather(a, i, axis=1)[:, 0] * 2.0), input_signature=spec)
    quotient = tf.function(
        lambda i: (i * 7) // i + i, input_signature=[tf.TensorSpec([None], tf.int32)], autograph=False
    )
    for n in (20, 19, 18, 17, 15, 13):
        function(rows_of(n), tf.constant([1, 5]))
        np.testing.assert_array_equal(quotient(tf.range(1, n)), np.arange(1, n) + 7)
        try:
            quotient(tf.range(n))
        except tf.errors.InvalidArgumentError:
            continue
        raise AssertionError("no error for a division by zero")


if __name__ == "__main__":
    run_checks()
