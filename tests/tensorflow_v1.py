"""Sessions of TensorFlow's first version with the plugin: feeds, control edges, frames and variables of the old kind
(plugin_checks.py has the usage)."""

import numpy as np

from plugin_checks import alone, check, launched, run_checks, tf, xla_tf


@check
def v1_session():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        p = v1.placeholder(tf.float32, [None, 4], name="p")
        w = v1.get_variable("w", [4, 4], use_resource=True)
        tf.nn.relu(tf.matmul(p, w) * 2.0 + 1.0, name="out")
        session.run(v1.global_variables_initializer())
        with launched():
            out = session.run("out:0", {p: np.ones((2, 4), np.float32)})
        weights = session.run(w)
    np.testing.assert_allclose(out, np.maximum(np.ones((2, 4)) @ weights * 2 + 1, 0), rtol=1e-4)


def in_a_v1_session(body):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        return body(tf.compat.v1, session)


def same_in_a_v1_session(body, count=1):
    expected = alone(in_a_v1_session, body)
    with launched(count):
        got = in_a_v1_session(body)
    tf.nest.map_structure(lambda g, e: np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-5), got, expected)


@check
def v1_training():
    """What a step counts comes after the step: by control edges of the constants that it adds."""
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

    def body(v1, session):
        p = v1.placeholder(tf.float32, [None, 4])
        w = v1.get_variable("w", initializer=np.full((4, 2), 0.5, np.float32))
        loss = tf.reduce_mean(tf.tanh(p @ w) ** 2)
        count = v1.train.get_or_create_global_step()
        step = v1.train.AdamOptimizer(0.1).minimize(loss, global_step=count)
        session.run(v1.global_variables_initializer())
        return [session.run([loss, step], {p: x})[0] for _ in range(4)] + session.run([w, count])

    same_in_a_v1_session(body, 4)


@check
def v1_variables_assigned_in_place():
    """A copy of a variable of the old kind keeps its value when the variable's memory gets another."""
    x = np.linspace(-1, 1, 3, dtype=np.float32)

    def body(v1, session):
        v = v1.get_variable("v", initializer=x * 2.0, use_resource=False)
        old = tf.raw_ops.Snapshot(input=v.read_value())
        kept = tf.exp(old) + old
        with tf.control_dependencies([old, kept]):
            new = v1.assign(v, tf.exp(old) * 0.2 + x)
        with tf.control_dependencies([new]):
            difference = tf.py_function(lambda a, b: a - b, [old, new], tf.float32)
        session.run(v.initializer)
        return [session.run([old, kept, difference]) for _ in range(3)]

    same_in_a_v1_session(body, 3)


@check
def v1_feeds_of_any_node():
    """A fed node gives the fed value, wherever it is, and what it would have been computed from is not asked for."""

    def body(v1, session):
        p, q = v1.placeholder(tf.float32, [None]), v1.placeholder(tf.float32, [None])
        a = tf.exp(p) * 2.0
        b = tf.tanh(a) + tf.exp(q)
        c = v1.placeholder_with_default(tf.constant([1.0, 2.0]), [2]) * b
        one, two = np.ones(2, np.float32), np.full(2, 2.0, np.float32)
        runs = [{p: one, q: two}, {a: one, q: two}, {b: one}, {b: one, a: two, p: one}, {c.op.inputs[0]: one, b: two}]
        return [session.run([tf.sin(c) * 2.0 + c, c], feeds) for feeds in runs] + session.run([a, c], {b: one, p: two})

    same_in_a_v1_session(body, 5)


@check
def v1_feeds_of_one_output():
    """Of a node of several outputs those that are not fed are computed, if they are wanted."""

    def body(v1, session):
        p = v1.placeholder(tf.float32, [None, 4])
        a, b = tf.split(tf.exp(p) * 2.0, 2, axis=1)
        c, d = tf.tanh(a) * 2.0 + a, tf.sin(b) + b * 3.0
        x, half = np.ones((2, 4), np.float32), np.full((2, 2), 0.5, np.float32)
        runs = [([c, d], {a: half, b: half * 2}), (d, {b: half}), ([c, d], {a: half, p: x}), ([a, c], {b: half, p: x})]
        return [session.run(fetches, feeds) for fetches, feeds in runs]

    same_in_a_v1_session(body, 4)


@check
def v1_partial_run():
    """What the first feeds give does not wait for the others, which may be made of it."""

    def body(v1, session):
        p, q = v1.placeholder(tf.float32, [2]), v1.placeholder(tf.float32, [2])
        a = tf.exp(p) * 2.0 + 1.0
        b = tf.tanh(a) * q + tf.exp(q)
        run = session.partial_run_setup([a, b], [p, q])
        first = session.partial_run(run, a, {p: [1.0, 2.0]})
        return [first, session.partial_run(run, b, {q: first / 10})]

    same_in_a_v1_session(body, 2)


@check
def v1_branches_in_a_differentiated_loop():
    """The stacks of the gradient keep the loop in TensorFlow; each turn waits for pushes of which one side runs."""

    def body(v1, session):
        p, n = v1.placeholder(tf.float32, [None]), v1.placeholder(tf.int32, [])
        v1.disable_control_flow_v2()
        try:

            def turn(k, a):
                return k + 1, v1.cond(tf.equal(k % 2, 0), lambda: tf.exp(-a) * 2.0, lambda: a * 0.5)

            y = v1.while_loop(lambda k, a: k < n, turn, (0, p))[1] * 2.0
            both = [y, tf.gradients(y, p)[0]]
        finally:
            v1.enable_control_flow_v2()
        return [session.run(both, {p: np.linspace(-1, 1, 3, dtype=np.float32), n: k}) for k in (0, 1, 4)]

    xla_tf.configure(min_cluster_size=1)
    try:
        same_in_a_v1_session(body, 3)
    finally:
        xla_tf.configure(min_cluster_size=2)


@check
def v1_loops_that_stay_in_branches():
    """What such a loop gives is alive on one side only: a branch of the gradient does not take it from outside."""

    def body(v1, session):
        p, n = v1.placeholder(tf.float32, [3]), v1.placeholder(tf.int32, [])

        def turns(a, f):
            size = tf.strings.length(tf.strings.as_string(n * 0))
            return v1.while_loop(lambda k, b: k * tf.strings.length(tf.strings.as_string(k * 0)) < n * size, f, (0, a))[
                1
            ]

        v1.disable_control_flow_v2()
        try:
            a = tf.exp(-p)
            b = v1.cond(
                tf.equal(n % 2, 0),
                lambda: turns(a + 1.0, lambda k, b: (k + 1, b - tf.reduce_mean(b))),
                lambda: turns(tf.nn.softmax(p), lambda k, b: (k + 1, tf.tanh(b))),
            )
            c = tf.reduce_sum(b * tf.nn.softmax(p))
            gradient = tf.gradients(c, p)[0]
        finally:
            v1.enable_control_flow_v2()
        x = np.linspace(-1, 1, 3, dtype=np.float32)
        return [session.run([b, c, gradient], {p: x, n: k}) for k in (2, 0, 3, 1)]

    same_in_a_v1_session(body, 4)


if __name__ == "__main__":
    run_checks()
