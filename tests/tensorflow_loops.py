"""Loops whose state changes its shape from iteration to iteration, and branches of different shapes, with the plugin:
loops that only make arrays longer, or make few iterations of a known number, are compiled; others stay in TensorFlow, and
clusters inside and around them run (plugin_checks.py has the usage; XC_DECODERS names benchmarks/tensorflow_decoders.py).
"""

import os

import numpy as np

from import_file import import_file
from launch_threads import launch_threads
from plugin_checks import alone, check, launched, run_checks, tf, xla_tf

decoders = import_file(os.environ["XC_DECODERS"], "tensorflow_decoders")
ITERATIONS = 9


def same_without_failures(make, calls, count, most=None):
    """The results of all calls are TensorFlow's, with at least `count` launches, at most `most`, and no cluster that
    could not be compiled."""

    def run():
        function = make()
        return [tf.nest.map_structure(np.asarray, function(*args)) for args in calls]

    expected = alone(run)
    before = xla_tf.stats()
    with launched(count):
        got = run()
    after = xla_tf.stats()
    assert after.failures == before.failures, xla_tf.report()
    launches = after.launches - before.launches
    assert most is None or launches <= most, f"{launches} launches, expected {most}\n{xla_tf.report()}"
    for g, e in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-3, atol=1e-4)
    return after.compilations - before.compilations


def decode(name, count, iterations=ITERATIONS, most=None):
    make = decoders.DECODERS[name]
    make_function = lambda: tf.function(make(32, iterations), input_signature=[tf.TensorSpec([None], tf.int32)])
    calls = [[tf.constant(tokens, tf.int32)] for tokens in ([3, 11], [5], [3, 11])]
    return same_without_failures(make_function, calls, count, most)


@check
def decoder_with_a_growing_cache():
    compiled = decode("cache", 3, most=3)
    assert compiled == 2, compiled


@check
def decoder_over_the_whole_sequence():
    compiled = decode("whole_sequence", 3, most=3)
    assert compiled == 2, compiled


@check
def decoder_until_the_end():
    compiled = decode("until_the_end", 3, most=3)
    assert compiled == 2, compiled


@check
def beam_search():
    compiled = decode("beams", 3, most=3)
    assert compiled == 2, compiled


@check
def branches_of_different_lengths():
    decode("branches", 3, iterations=1)


@check
def branches_in_the_thread_that_calls():
    """Launches of which no two can run at the same time, as those of two branches, stay in the caller's thread; a pair
    that can does not."""
    w = tf.eye(384)

    def products(x):
        for _ in range(20):
            x = tf.tanh(x @ w)
        return x

    def chosen(x):
        h = products(x)
        longer = lambda: tf.concat([h, products(h)], 0)
        return tf.exp(tf.cond(tf.reduce_sum(h) > 1e9, longer, lambda: tf.tanh(products(h)))) * 2.0

    def beside(x):
        a, b = products(x), products(tf.cast(tf.strings.length(["ab"]), tf.float32) * x)
        return tf.strings.length(tf.strings.as_string(a[0])), tf.reduce_sum(b)

    x = tf.constant(np.random.default_rng(1).normal(size=(384, 384)).astype(np.float32))

    def threads(body, caller_thread):
        xla_tf.configure(caller_thread=caller_thread)
        try:
            function = tf.function(body)
            function(x)
            return launch_threads(xla_tf, lambda: function(x))
        finally:
            xla_tf.configure(caller_thread=True)

    with launched(12):
        assert "caller" not in threads(chosen, False)
        assert set(threads(chosen, True)) == {"caller"}
        assert "caller" not in threads(beside, True)


@check
def reasons():
    """The report says why such a loop stays outside."""
    rows_in_front(until=100.0, count=8)
    text = xla_tf.report()
    assert "changes its shape from iteration to iteration" in text, text


@check
def v1_loop_that_grows():
    def body(session, v1):
        p = v1.placeholder(tf.float32, [None, 4])
        w = tf.constant(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4))

        def iteration(i, rows, h):
            h = tf.tanh(h @ w) * 2.0 + 1.0
            return i + 1, tf.concat([rows, h], 0), h

        shapes = tf.TensorShape([]), tf.TensorShape([None, 4]), tf.TensorShape([None, 4])
        rows = v1.while_loop(lambda i, *_: i < ITERATIONS, iteration, (0, p, p * 0.5), shape_invariants=shapes)[1]
        out = tf.exp(-rows) * 2.0
        return [session.run(out, {p: np.ones((n, 4), np.float32)}) for n in (1, 2, 1)]

    def run():
        with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
            tf.compat.v1.disable_control_flow_v2()
            try:
                return body(session, tf.compat.v1)
            finally:
                tf.compat.v1.enable_control_flow_v2()

    expected = alone(run)
    with launched(3):
        got = run()
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4)


def greedy(words, width):
    """Tokens until all rows have the token 0 or `limit` is reached, each made of the last one and a state."""
    rng = np.random.default_rng(3)
    make = lambda *shape: tf.constant(rng.normal(size=shape).astype(np.float32))
    table, inner, head = make(words, width), make(width, width), make(width, words)

    open_shape = tf.TensorShape([None, None])

    def generate(tokens, limit):
        h = tf.zeros([tf.shape(tokens)[0], width])
        done = tf.zeros([tf.shape(tokens)[0]], tf.bool)
        scores = tf.zeros([0, tf.shape(tokens)[0]])
        while tf.shape(tokens)[1] < limit and not tf.reduce_all(done):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(tokens, open_shape), (scores, open_shape)])
            h = tf.tanh(tf.gather(table, tokens[:, -1]) + h @ inner)
            logits = h @ head
            token = tf.where(done, 0, tf.argmax(logits, -1, output_type=tf.int32))
            tokens = tf.concat([tokens, token[:, None]], 1)
            scores = tf.concat([scores, tf.reduce_max(logits, -1)[None]], 0)
            done = tf.logical_or(done, token == 0)
        return tokens, scores, h

    return generate


@check
def greedy_decoding():
    """Two arrays that grow along different dimensions, for few and many rows and limits."""
    specs = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([], tf.int32)
    rng = np.random.default_rng(5)
    prompts = [(rng.integers(1, 12, (n, k)).astype(np.int32), 9) for n, k in ((1, 1), (3, 2), (3, 2), (1, 9), (2, 12))]
    calls = [tuple(map(tf.constant, c)) for c in prompts]
    same_without_failures(lambda: tf.function(greedy(12, 8), input_signature=specs), calls, len(calls), len(calls))


@check
def greedy_decoding_of_many_batch_sizes():
    specs = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([], tf.int32)
    calls = [(tf.fill([n, 1], n % 7 + 1), tf.constant(8)) for n in (3, 9, 10, 11, 12, 13, 14, 9)]
    same_without_failures(lambda: tf.function(greedy(12, 8), input_signature=specs), calls, len(calls), len(calls))


@check
def uses_of_what_grew():
    """What takes a result of a length that only the run tells stays in TensorFlow, or is a cluster of its own."""
    generate = greedy(12, 8)

    def body(tokens, limit):
        tokens, scores, h = generate(tokens, limit)
        return tf.reduce_sum(tf.exp(-scores) * 2.0 + tf.sin(scores)), tokens * 2 + 1, tf.nn.softmax(h) * 2.0

    calls = [(tf.constant(rows), tf.constant(9)) for rows in ([[1]], [[3], [5]], [[3], [5]])]
    specs = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([], tf.int32)
    same_without_failures(lambda: tf.function(body, input_signature=specs), calls, len(calls))


def rows_in_front(until=None, **launches):
    """Rows go in front, where code for all iterations has no capacity. `until`: what stops the loop, too."""

    def body(x):
        rows, h, i = x[:0], x, 0
        while i < 4 and (until is None or tf.reduce_sum(h) < until):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(rows, tf.TensorShape([None, 4]))])
            h = tf.tanh(h * 2.0 + tf.exp(-h))
            rows = tf.concat([h, rows], 0)
            i += 1
        return rows

    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4))
    return same_without_failures(lambda: tf.function(body), [[x], [x * 0.5]], **launches)


@check
def growth_at_the_front():
    """A few iterations of known number have code each; else the loop stays in TensorFlow."""
    compiled = rows_in_front(count=2, most=2)
    assert compiled == 1, compiled
    rows_in_front(until=100.0, count=8)


@check
def an_error_in_one_turn():
    """The third iteration looks up what is not there: TensorFlow's error."""

    def body(table, i):
        seen = i[:0]
        for _ in tf.range(5):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(seen, tf.TensorShape([None]))])
            seen = tf.concat([i, seen], 0)
            i = i + tf.cast(tf.reduce_sum(tf.gather(table, seen)), tf.int32)
        return seen

    function = tf.function(body)
    arguments = tf.ones([6]), tf.constant([3])
    error = None
    try:
        alone(lambda: tf.function(body)(*arguments))
    except tf.errors.InvalidArgumentError as e:
        error = e
    assert error is not None
    before = xla_tf.stats().compilations
    try:
        function(*arguments)
    except tf.errors.InvalidArgumentError as e:
        assert "is not in [0, 6)" in str(e), e
    else:
        raise AssertionError("no error")
    assert xla_tf.stats().compilations == before + 1, xla_tf.report()


@check
def growth_in_an_inner_loop():
    """The inner loop has another trip count in each of the outer one's, which have code each."""

    def body(x):
        total = tf.zeros_like(x)
        for i in tf.range(3):
            rows = x[:1]
            for j in tf.range(i + 2):
                tf.autograph.experimental.set_loop_options(shape_invariants=[(rows, tf.TensorShape([None, 4]))])
                rows = tf.concat([rows, tf.exp(-rows[-1:]) * tf.cast(j, tf.float32)], 0)
            for _ in tf.range(4):
                total = tf.tanh(total + tf.reduce_sum(rows, 0)) * 0.5
        return total

    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4))
    same_without_failures(lambda: tf.function(body), [[x], [x * 0.5]], 2, 2)


@check
def shapes_made_of_the_counter():
    """Of a few iterations each has code; where the number is an argument, which may be large, clusters inside run."""

    def body(x, end=6):
        out = tf.zeros([4])
        for i in tf.range(1, end):
            h = tf.tanh(x * 2.0 + 0.5)
            out += tf.reduce_sum(x[:i], 0) * tf.reduce_sum(h * tf.exp(-h), 0)
        return out

    x = tf.constant(np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))
    same_without_failures(lambda: tf.function(body), [[x], [x * 0.5]], 2, 2)
    same_without_failures(lambda: tf.function(body), [[x, tf.constant(6)], [x, tf.constant(4)]], 8)


@check
def growth_that_shows_when_called():
    """Of a value of unknown rank marking knows nothing: the cluster does not compile, and is clustered again without
    the loop."""

    def body(x, h):
        h = tf.nn.softmax(tf.tanh(h @ h) * 2.0)
        iteration = lambda i, rows: (i + 1, tf.concat([rows, tf.exp(-rows) * h[0, 0]], 0))
        more = lambda i, rows: i < 3 and tf.reduce_sum(rows) < 1e6
        invariants = tf.TensorShape([]), tf.TensorShape(None)
        rows = tf.while_loop(more, iteration, (0, x), shape_invariants=invariants)[1]
        return tf.reduce_sum(tf.exp(-rows) * 2.0 + tf.sin(rows)), h * tf.exp(h)

    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4))
    calls = [(x, x[:, :2]), (x[0], x[:, 2:]), (x, x[:, :2])]

    def run():
        function = tf.function(body, input_signature=[tf.TensorSpec(None), tf.TensorSpec([None, None])])
        return [tf.nest.map_structure(np.asarray, function(*args)) for args in calls]

    expected = alone(run)
    before = xla_tf.stats()
    with launched(3):
        got = run()
    assert xla_tf.stats().failures > before.failures, xla_tf.report()
    for g, e in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4)


if __name__ == "__main__":
    run_checks()
