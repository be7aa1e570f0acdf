"""What fails with the plugin: the error is the one of TensorFlow alone (plugin_checks.py has the usage)."""

import numpy as np

from plugin_checks import alone, check, launched, run_checks, same, tf, xla_tf
import failing_ops  # its tensors are made with the plugin loaded


@check
def errors_of_ops():
    """What fails inside a cluster gives the error that it gives in TensorFlow alone."""
    table = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3))

    def gather(i):
        return tf.exp(tf.gather(table, i)) * 2.0 + 1.0

    def divide(i):
        return (i * 3 + 1) // (i - 2) + i

    def numerics(i):
        return tf.debugging.check_numerics(tf.math.log(tf.cast(i, tf.float32) - 3.0) * 2.0, "bad") + 1.0

    def asserts(i):
        tf.debugging.assert_less(i, 3)
        return tf.cast(i, tf.float32) * 2.0 + tf.exp(tf.cast(i, tf.float32))

    def only_asserts(i):
        tf.debugging.Assert(tf.reduce_sum(tf.abs(i) * 2) < 9, [i])
        return i

    for body, good, bad in [(gather, 1, 9), (divide, 1, 2), (numerics, 5, 1), (asserts, 1, 7), (only_asserts, 1, 7)]:

        def run(value):
            try:
                return np.asarray(tf.function(body)(tf.constant([value, value]))), None
            except tf.errors.OpError as error:
                return None, type(error)

        for value in (good, bad):
            expected, kind = alone(run, value)
            got, got_kind = run(value)
            assert kind == got_kind, f"{body.__name__}({value}): {got_kind}, alone {kind}"
            assert (kind is None) == (value == good), f"{body.__name__}({value}) gives {kind}"
            if kind is None:
                np.testing.assert_allclose(got, expected, rtol=1e-5)


@check
def errors_of_many_ops():
    """The same of many ops, in loops, branches and on variables; and a call that works still does after one that fails."""

    def run(function, n):
        try:
            return np.asarray(function(tf.constant([n, n]))), None
        except tf.errors.OpError as error:
            return None, type(error)

    def runs(body, numbers):
        function = tf.function(body, input_signature=[tf.TensorSpec([None], tf.int32)])
        return [run(function, n) for n in numbers]

    xla_tf.configure(min_cluster_size=1)
    try:
        for name, body, good, bad in failing_ops.cases():
            expected = alone(runs, body, [good, bad, good])
            with launched():
                got = runs(body, [good, bad, good])
            kinds, want = [kind for _, kind in got], [kind for _, kind in expected]
            assert kinds == want and want[0] is None and want[1] is not None, f"{name}: {kinds}, alone {want}"
            for (value, _), (right, _) in zip(got[::2], expected[::2]):
                np.testing.assert_allclose(value, right, rtol=1e-4, atol=1e-5, err_msg=name)
    finally:
        xla_tf.configure(min_cluster_size=2)


@check
def graphs_that_are_wrong():
    """Shapes that do not fit, and types without a compiled form: what TensorFlow alone gives."""

    def product(a, b):
        return tf.exp(a @ b) * 2.0 + 1.0

    def sum_(a, b):
        return tf.tanh(a + b) * tf.exp(a)

    def joined(a, b):
        return tf.exp(tf.concat([a, b], 0)) * 2.0

    def reshaped(a, b):
        return tf.exp(tf.reshape(a, tf.shape(b))) * 2.0 + b

    def halves(a, b):
        del b
        return tf.exp(tf.stack(tf.split(a, 2, axis=0))) + 1.0

    open_specs = [tf.TensorSpec(None), tf.TensorSpec(None)]
    shapes = [((2, 3), (3, 4)), ((2, 3), (2, 3)), ((3, 3), (4, 4)), ((2, 3, 1), (3,)), ((0, 3), (3, 0)), ((), (3, 3))]
    fails = 0
    for body in (product, sum_, joined, reshaped, halves):
        for pair in shapes:
            args = [tf.ones(s) / 7.0 for s in pair]

            def run():
                try:
                    return np.asarray(tf.function(body, input_signature=open_specs)(*args)), None
                except tf.errors.OpError as error:
                    return None, type(error)

            (expected, kind), (got, got_kind) = alone(run), run()
            assert kind == got_kind, f"{body.__name__}{pair}: {got_kind}, alone {kind}"
            fails += kind is not None
            if kind is None:
                np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert fails == 18, fails

    def of_types(a):
        z = tf.complex(tf.cast(a, tf.float64), tf.ones_like(a, tf.float64))
        q = tf.quantization.quantize(a, -4.0, 4.0, tf.quint8)
        back = tf.quantization.dequantize(q.output, -4.0, 4.0)
        text = tf.strings.as_string(tf.cast(a * 100.0, tf.int32))
        return tf.abs(z * z), back * 2.0 + tf.exp(a), tf.strings.length(text)

    same(lambda: tf.function(of_types), tf.constant(np.linspace(-3, 3, 12, dtype=np.float32).reshape(4, 3)))


if __name__ == "__main__":
    run_checks()
