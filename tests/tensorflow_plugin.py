"""TensorFlow with the plugin: results are those of TensorFlow alone, and launch nodes really ran (plugin_checks.py has
the usage)."""

import pathlib
import re
import tempfile
import threading

import numpy as np

from launch_threads import launch_threads
from plugin_checks import alone, check, launched, launches, run_checks, same, tf, xla_tf


@check
def programs_of_jax():
    """Modules that jax2tf puts into a graph run inside of clusters, for any sizes that their shapes leave open."""
    import jax
    from jax.experimental import jax2tf

    x = tf.constant(np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6))
    softmax = lambda a: jax.nn.softmax(a @ a.T) * jax.numpy.cumsum(a, axis=1)[:, :4]
    same(
        lambda: tf.function(
            lambda a: tf.reduce_sum(tf.tanh(jax2tf.convert(softmax)(a)) * 2.0, axis=0), autograph=False
        ),
        x,
    )
    same(lambda: tf.function(jax2tf.convert(softmax), autograph=False), x)
    polymorphic = jax2tf.convert(lambda a: a.reshape(-1, 3) * 2 + a.shape[0], polymorphic_shapes=["b, 6"])
    spec = tf.TensorSpec([None, 6], tf.float32)
    make = lambda: tf.function(lambda a: tf.tanh(polymorphic(a)) * 3.0, input_signature=[spec], autograph=False)
    same(make, x)
    same(make, x[:1])


@check
def small_functions():
    x = tf.constant(np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6))
    same(lambda: tf.function(lambda a: tf.reduce_sum(tf.exp(a) * tf.sin(a) + 1.0, axis=1)), x)
    same(lambda: tf.function(lambda a: (a, tf.nn.softmax(a @ tf.transpose(a)), tf.nn.relu(a))), x)

    def branches(a):
        if tf.reduce_sum(a) > 0:
            return tf.exp(a) * 2.0 + a
        return tf.tanh(a) - a * 3.0

    same(lambda: tf.function(branches), x + 1.0)
    same(lambda: tf.function(branches), x - 1.0)

    def loop(a):
        total = tf.zeros_like(a)
        for i in tf.range(5):
            total += tf.exp(-a * a) * tf.cast(i, tf.float32) + tf.sin(total)
        return total

    same(lambda: tf.function(loop), x)
    same(lambda: tf.function(lambda a: tf.sqrt(tf.exp(tf.tanh(a)))), x)


@check
def shapes_that_change():
    function = tf.function(
        lambda a: tf.reduce_sum(tf.exp(a) * 2.0 + a, axis=1), input_signature=[tf.TensorSpec([None, 3])]
    )
    with launched(5):
        for n in (1, 2, 7, 2, 1):
            a = np.arange(n * 3, dtype=np.float32).reshape(n, 3) / 9
            np.testing.assert_allclose(function(a), (np.exp(a) * 2 + a).sum(1), rtol=1e-5)


@check
def branches_of_different_shapes():
    """Where an argument chooses the branch, each choice has its code."""

    def branches(a, longer):
        b = tf.exp(a) * 2.0
        c = tf.cond(longer, lambda: tf.concat([b, b + 1.0], 0), lambda: b[:1])
        return tf.reduce_sum(tf.tanh(c) * 2.0, 1), b

    def run():
        function = tf.function(branches)
        x = tf.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2))
        return [function(x, tf.constant(longer)) for longer in (True, False, True)]

    expected = alone(run)
    before = xla_tf.stats()
    got = run()
    assert xla_tf.stats().failures == before.failures and launches() >= before.launches + 3, xla_tf.report()
    tf.nest.map_structure(lambda g, e: np.testing.assert_allclose(g, e, rtol=1e-5), got, expected)


@check
def variables_that_change():
    """Launches that read variables themselves see every assignment that comes before them, and no later one."""
    v = tf.Variable(np.ones((2, 3), np.float32))
    x = tf.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))

    def body(a):
        before = tf.exp(a * v) + v * 2.0
        v.assign_add(a)
        between = tf.sin(a + v) * v
        v.assign(v * 0.5)
        return before, between, tf.exp(v) + a * v

    def run():
        v.assign(np.ones((2, 3), np.float32))
        function = tf.function(body)
        return [np.asarray(t) for _ in range(3) for t in function(x)] + [v.numpy()]

    with launched(3):
        got = run()
    for g, e in zip(got, alone(run)):
        np.testing.assert_allclose(g, e, rtol=1e-5)

    # Rows written in place: reads are copies from then on.
    rows = tf.function(lambda i: tf.exp(v) * 2.0 + tf.cast(i, tf.float32))

    def scatter():
        v.assign(np.ones((2, 3), np.float32))
        out = []
        for i in range(3):
            v.scatter_update(tf.IndexedSlices(tf.fill([1, 3], float(i)), tf.constant([i % 2])))
            out.append(rows(tf.constant(i)).numpy())
        return out

    with launched(3):
        got = scatter()
    np.testing.assert_allclose(got, alone(scatter), rtol=1e-5)

    def without_value():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            w = tf.compat.v1.get_variable("w", [4], use_resource=True)
            try:
                return session.run(tf.exp(w) * 2.0 + 1.0)
            except tf.errors.OpError as error:
                return type(error)

    assert without_value() == alone(without_value) == tf.errors.FailedPreconditionError


@check
def functions_of_the_library():
    """Functional loops and branches are taken whole; what XLA must compile is left to it."""
    x = tf.constant(np.linspace(0, 1, 8, dtype=np.float32))

    def loop(n):
        with tf.Graph().as_default() as graph:
            a, count = tf.compat.v1.placeholder(tf.float32, [None]), tf.compat.v1.placeholder(tf.int32, [])
            turn = tf.while_loop(lambda i, b: i < count, lambda i, b: (i + 1, tf.exp(-b) * 2.0 + b), (0, a))
            out = tf.identity(turn[1])
        for node in graph.get_operations():
            if node.type in ("While", "StatelessWhile"):
                node._set_attr("_lower_using_switch_merge", tf.compat.v1.AttrValue(b=False))
        pruned = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph.as_graph_def(), name=""), []).prune(
            [a.name, count.name], out.name
        )
        return pruned(x, tf.constant(n))

    for n in (0, 5):
        expected = alone(loop, n)
        with launched():
            np.testing.assert_allclose(loop(n), expected, rtol=1e-5)
    assert "cluster_0 | while" in xla_tf.report(), xla_tf.report()

    inner = tf.function(lambda a: tf.exp(a) * tf.sin(a) + a, jit_compile=True)
    same(lambda: tf.function(lambda a: tf.reduce_sum(inner(a * 2.0) + 1.0)), x)
    assert "jit_compile=True" in xla_tf.report()


@check
def results_beside_an_op_that_may_fail():
    """What waits for the op's success: a value twice, an argument passed on, a constant, an array of no elements."""

    def body(i, x):
        tf.debugging.assert_less(i, 4)
        y = tf.exp(x) * 2.0
        return i * 2 + 1, y, tf.exp(x) * 2.0, tf.reshape(tf.stop_gradient(x), tf.shape(x)), tf.shape(y), x[:, :0] * 2.0

    x = tf.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    for shape in ([2, 3], [None, 3]):
        specs = [tf.TensorSpec([2], tf.int32), tf.TensorSpec(shape)]
        same(lambda: tf.function(body, input_signature=specs), tf.constant([3, 1]), x)


@check
def around_a_loop_of_the_host():
    """Ops before a loop that stays in TensorFlow and ops after it are not one cluster: it would wait for itself."""

    def sums(x, lengths):
        ragged = tf.RaggedTensor.from_row_lengths(x * 2.0, lengths)
        return tf.map_fn(tf.reduce_sum, ragged, fn_output_signature=tf.float32) * 0.5 + tf.reduce_sum(x)

    def gradient(x, lengths):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = sums(x, lengths)
        return tape.gradient(y, x)

    x = tf.constant(np.linspace(-1, 1, 7, dtype=np.float32))
    specs = [tf.TensorSpec([7]), tf.TensorSpec([4], tf.int64)]
    for body in (sums, gradient):
        same(lambda: tf.function(body, input_signature=specs), x, tf.constant([2, 0, 4, 1], tf.int64))


@check
def strings_stay_outside():
    def body(words, a):
        n = tf.cast(tf.strings.length(words), tf.float32)
        return tf.strings.join([words, "!"]), tf.reduce_sum(tf.exp(-a * a) * 2.0 + 1.0, axis=1) * n

    words, a = tf.constant(["a", "bcd"]), tf.constant(np.ones((2, 3), np.float32))
    expected = alone(lambda: tf.function(body)(words, a))
    with launched():
        got = tf.function(body)(words, a)
    assert list(got[0].numpy()) == list(expected[0].numpy())
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)


@check
def names_of_nodes():
    """A program's nodes may have any names, also where TensorFlow's kernels run the cluster."""

    @tf.function
    def f(a):
        b = tf.identity(tf.exp(a), name="xla_result_1")
        c = tf.add(b, a, name="xla_arg_0")
        return tf.tanh(c, name="xla_result_0"), tf.multiply(b, 2.0, name="xla_inner/xla_result_1")

    xla_tf.configure(policy="lazy")
    try:
        a = tf.constant([1.0, 2.0])
        before = xla_tf.stats().host_runs
        tanh, twice = f(a)
        assert xla_tf.stats().host_runs == before + 1
        np.testing.assert_allclose(tanh, np.tanh(np.exp(a) + a), rtol=1e-6)
        np.testing.assert_allclose(twice, np.exp(a) * 2, rtol=1e-6)
    finally:
        xla_tf.configure(policy="now")


@check
def in_the_background():
    """Calls are served by TensorFlow's kernels until the code is there."""
    x = tf.constant(np.linspace(0, 1, 50, dtype=np.float32))
    xla_tf.configure(policy="background")
    try:
        before = xla_tf.stats()
        function = tf.function(lambda a: tf.exp(a) * 3.0 - tf.sqrt(a + 2.0))
        expected = np.exp(x) * 3 - np.sqrt(x + 2)
        np.testing.assert_allclose(function(x), expected, rtol=1e-5)
        after = xla_tf.stats()
        assert after.host_runs == before.host_runs + 1 and after.launches == before.launches
        assert xla_tf.wait(120)
        with launched(2):
            np.testing.assert_allclose(function(x), expected, rtol=1e-5)
            np.testing.assert_allclose(function(x), expected, rtol=1e-5)
    finally:
        xla_tf.configure(policy="now")


@check
def on_a_second_device():
    """TensorFlow's kernels serve a cluster of a device that their session does not have."""

    def body(i):
        with tf.device("CPU:1"):
            return tf.gather(tf.exp(tf.constant([0.0, 1.0, 2.0])) * 2.0, i) + tf.cast(i, tf.float32)

    xla_tf.configure(policy="background")
    try:
        np.testing.assert_allclose(tf.function(body)(tf.constant([2, 0])), np.exp([2.0, 0.0]) * 2.0 + [2.0, 0.0], 1e-5)
    finally:
        xla_tf.configure(policy="now")


@check
def in_the_thread_that_calls():
    """A function of one launch runs in the caller's thread, and others as TensorFlow runs them."""
    v = tf.Variable(tf.eye(256))

    def product(n):
        out = v + 0.0
        for _ in tf.range(n):
            out = tf.tanh(out @ v)
        v.assign_add(out * 0.0)
        return out

    def split(words, a):
        return tf.strings.length(tf.strings.join([words, words])) + tf.cast(a * 2.0 + 1.0, tf.int32)

    def branches(a):
        return tf.py_function(np.negative, [a], a.dtype) if tf.reduce_sum(a) > 0.0 else a

    def threads(function):
        return launch_threads(xla_tf, lambda: function(tf.constant(20)))

    function, other = tf.function(product), tf.function(product)
    xla_tf.configure(caller_thread=False)
    try:
        expected = function(tf.constant(3))
        elsewhere = threads(function)
    finally:
        xla_tf.configure(caller_thread=True)
    with launched(2):
        np.testing.assert_array_equal(other(tf.constant(3)), expected)
        here = threads(other)
        np.testing.assert_array_equal(tf.function(split)(["ab", "c"], tf.constant([1.0, 2.0])), [7, 7])
        np.testing.assert_array_equal(tf.function(branches)(tf.constant([1.0])), [-1.0])
        for _ in range(2):
            try:
                tf.function(lambda i: tf.gather(tf.exp(tf.ones([3])) + 1.0, i) * 2.0)(tf.constant([7]))
                raise AssertionError("an index out of range was not refused")
            except tf.errors.InvalidArgumentError:
                pass
    assert here == ["caller"] and "caller" not in elsewhere, (here, elsewhere)


@check
def variables_in_loops_that_stay():
    """Each value and each constant stays in the frame of its loop."""

    def run():
        v, log = tf.Variable(1.0), tf.Variable(tf.zeros([12]))

        def body(x, n):
            for i in tf.range(n):
                for j in tf.range(2):
                    if tf.reduce_sum(x) * v > 0.0:
                        v.assign(-v * 1.1)
                        x = tf.tanh(x) + v
                    else:
                        if i > 1:
                            v.assign_add(0.3)
                        x = x - v * tf.exp(-x)
                    log.scatter_nd_update([[i * 2 + j]], [v])
            return x, v * 2.0

        function = tf.function(body)
        x = tf.constant([-0.5, 0.1, 0.6])
        return [np.asarray(t) for n in (2, 0, 5) for t in function(x, tf.constant(n))] + [log.numpy(), v.numpy()]

    for g, e in zip(run(), alone(run)):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-5)


@check
def windows_in_loops():
    """Slices of a known size at a place that changes; those that are cut off at an end run in TensorFlow."""
    x = tf.constant(np.linspace(-1, 1, 30, dtype=np.float32).reshape(3, 10))

    def total(a, first, last):
        s = tf.zeros([3, 2])
        for i in tf.range(first, last):
            s = s + tf.tanh(a[:, i : i + 2]) * a[1:, i - 1][:1] + a[:, -1:]
        return s, tf.gradients(s, [a])[0]

    for last in (9, 10):
        same(lambda: tf.function(total), x, 1, last)


@check
def threads_and_shapes():
    """Several threads with changing shapes, while clusters are compiled, beyond the number of shapes kept."""
    xla_tf.configure(policy="background", max_shapes=6, log=False)
    function = tf.function(
        lambda a: tf.reduce_sum(tf.nn.softmax(a @ tf.transpose(a)) * 2.0 + 1.0, axis=1) + tf.tanh(tf.exp(-a[:, 0])),
        input_signature=[tf.TensorSpec([None, 3])],
    )
    errors = []

    def call(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(40):
                a = rng.normal(size=(int(rng.integers(1, 9)), 3)).astype(np.float32)
                p = np.exp(a @ a.T - (a @ a.T).max(1, keepdims=True))
                want = (p / p.sum(1, keepdims=True) * 2 + 1).sum(1) + np.tanh(np.exp(-a[:, 0]))
                np.testing.assert_allclose(function(a), want, rtol=1e-4, atol=1e-5)
                if rng.integers(0, 8) == 0:
                    xla_tf.wait(20)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    try:
        with launched():
            workers = [threading.Thread(target=call, args=[seed]) for seed in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        assert not errors, errors
        assert xla_tf.stats().host_runs > 0
    finally:
        xla_tf.configure(policy="now", max_shapes=24, log=True)


@check
def dumped_modules():
    """What lies in the dump directory is HLO text, with names that its syntax has."""

    def loop(a):
        with tf.name_scope("scope/of/a/loop"):
            for _ in tf.range(3):
                a = tf.exp(-a) * 2.0
        return a

    with tempfile.TemporaryDirectory() as folder:
        xla_tf.configure(dump_dir=folder)
        try:
            same(lambda: tf.function(loop), tf.ones(7))
        finally:
            xla_tf.configure(dump_dir="")
        texts = [path.read_text() for path in pathlib.Path(folder).glob("cluster_*.hlo")]
        assert any(" while(" in text for text in texts), texts
        for line in "\n".join(texts).splitlines():
            if line.startswith(("%", "ENTRY")):
                assert re.match(r"(ENTRY )?%[\w.-]+ \(", line), line


@check
def settings_and_report():
    try:
        xla_tf.configure(no_such_setting=1)
        raise AssertionError("a wrong setting was taken")
    except xla_tf.Error as error:
        assert "no_such_setting" in str(error) and "min_cluster_size" in str(error), error
    try:
        xla_tf.configure(policy="sometimes")
        raise AssertionError("a wrong value was taken")
    except xla_tf.Error as error:
        assert "'policy' cannot be 'sometimes'" in str(error), error
    xla_tf.configure(deny=["Exp"])
    try:
        assert xla_tf.settings()["deny"] == "Exp"
        function = tf.function(lambda a: tf.exp(a) @ (a + 1.0) @ (a - 1.0))  # its clusters live as long as it
        function(tf.ones((2, 2)))
    finally:
        xla_tf.configure(deny=[])
    text = xla_tf.report()
    assert "on the deny list" in text and "| compiled |" in text and "max_shapes | 24" in text, text
    assert xla_tf.report("html").startswith("<!doctype html>")


if __name__ == "__main__":
    run_checks()
