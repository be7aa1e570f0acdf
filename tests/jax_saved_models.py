"""SavedModels of JAX programs, which jax2tf writes as StableHLO inside of the op XlaCallModule, run by the embedded host
runtime with clustering on and off.

Usage: python jax_saved_models.py LIBXC.so
Ends with `N passed, N failed`; the exit status is 1 if any failed.
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import saved_models
import tensorflow as tf
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import jax2tf
import xc_graph


class Program(tf.Module):
    """A function of JAX on the arguments' shapes, with parameters as variables, between ops of TensorFlow. The sizes that
    `polymorphic`, "b, 3" for each argument, has names for are open."""

    def __init__(self, function, arguments, parameters=None, polymorphic=None, **options):
        super().__init__()
        self.parameters = tf.nest.map_structure(tf.Variable, parameters or [])
        shapes = [argument.shape for argument in arguments]
        if polymorphic is not None:
            options["polymorphic_shapes"] = ([None] if parameters is not None else []) + polymorphic
            shapes = [[int(n) if n.strip().isdigit() else None for n in spec.split(",")] for spec in polymorphic]
        converted = jax2tf.convert(function, with_gradient=parameters is not None, **options)

        def run(*values):
            values = [value + tf.cast(0, value.dtype) for value in values]
            results = converted(self.parameters, *values) if parameters is not None else converted(*values)
            results = results if isinstance(results, (tuple, list)) else [results]
            return {"r%d" % i: tf.identity(result) for i, result in enumerate(results)}

        specs = [tf.TensorSpec(shape, a.dtype, name="a%d" % i) for i, (shape, a) in enumerate(zip(shapes, arguments))]
        self.run = tf.function(run, input_signature=specs, autograph=False)


def network(parameters, x):
    for layer in parameters:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return jax.nn.softmax(x), x


def newton(x):
    return jax.lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1] - (s[1] ** 2 - x) / (2 * s[1])), (0, x))[1]


def indices(x, i):
    return x.at[i].add(1.0), jnp.sort(x)[i], jnp.argmax(x), x.astype(jnp.bfloat16) > 0.5


def solve(x):
    a = x @ x.T + jnp.eye(x.shape[0])
    return jnp.linalg.cholesky(a), jnp.linalg.solve(a, x)


def convolve(x, k):
    y = jax.lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def tests(library, folder):
    rng = np.random.RandomState(7)

    def rand(*shape):
        return rng.rand(*shape).astype(np.float32)

    layers = [{"w": rand(4, 8), "b": rand(8)}, {"w": rand(8, 3), "b": rand(3)}]
    programs = [
        ("network", network, [rand(5, 4)], {"parameters": layers}),
        (
            "gradient",
            lambda p, x: jax.grad(lambda q: network(q, x)[1].sum())(p)[0]["w"],
            [rand(5, 4)],
            {"parameters": layers},
        ),
        ("loop", newton, [rand(6) + 1], {}),
        ("indices", indices, [rand(6), np.array([1, 1, 4], np.int32)], {}),
        ("factorizations", solve, [rand(4, 4)], {}),
        ("convolution", convolve, [rand(2, 8, 8, 3), rand(3, 3, 3, 5)], {}),
        (
            "several platforms",
            lambda x: jnp.tanh(x) * 2,
            [rand(3)],
            {"native_serialization_platforms": ("cuda", "cpu")},
        ),
        (
            "a platform's own",
            lambda x: jax.lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos),
            [rand(3)],
            {"native_serialization_platforms": ("cuda", "cpu")},
        ),
    ]
    for name, function, arguments, options in programs:
        program = Program(function, arguments, **options)
        path = os.path.join(folder, name.replace(" ", "_"))
        tf.saved_model.save(program, path, signatures={"serving_default": program.run})
        feeds = {"a%d" % i: a for i, a in enumerate(arguments)}
        # TensorFlow itself does not know all that JAX calls.
        parameters = [options["parameters"]] if "parameters" in options else []
        results = jax.jit(function)(*parameters, *arguments)
        results = results if isinstance(results, tuple) else (results,)
        want = {"r%d" % i: np.asarray(result) for i, result in enumerate(results)}
        yield name, saved_models.check(library, path, "serving_default", feeds, want)

    yield from open_sizes(library, folder, rand, layers)
    for name, words, arguments, options in [
        ("sizes that do not fit", "Division had remainder 1 when computing", [rand(3, 3)], {"polymorphic": ["2*b, 3"]}),
        (
            "other platforms",
            "its module is for cuda, not for the CPU",
            [rand(3)],
            {"native_serialization_platforms": ("cuda",)},
        ),
    ]:
        program = Program(lambda x: x * 2 + 1, arguments, **options)
        path = os.path.join(folder, name.replace(" ", "_"))
        tf.saved_model.save(program, path, signatures={"serving_default": program.run})
        graph = xc_graph.SavedModel(library, path, signature="serving_default", mode="jit", min_cluster_size=1)
        try:
            graph.run(arguments)
            yield name, "was not refused"
        except xc_graph.XcError as e:
            yield name, "" if words in str(e) else "the error is %r, expected %r in it" % (str(e), words)


def attend(x, y):
    scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", x, y))
    return jnp.einsum("bqk,bkd->bqd", scores, y).reshape(-1, x.shape[2]), jnp.arange(x.shape[1]) + y.shape[0]


def open_sizes(library, folder, rand, layers):
    """Models for any batch size, and programs whose results' shapes are computed of those of arguments."""
    several = {"native_serialization_platforms": ("cuda", "cpu")}
    for name, function, polymorphic, shapes, options in [
        ("any batch", network, ["b, 4"], [[(1, 4)], [(7, 4)]], {"parameters": layers}),
        ("any length", attend, ["b, q, 8", "b, k, 8"], [[(2, 3, 8), (2, 5, 8)], [(1, 4, 8), (1, 1, 8)]], several),
        ("even sizes", lambda x: (x.reshape(-1, 2), jnp.sort(x)[::2]), ["2*n"], [[(6,)], [(10,)]], {}),
        ("loop of open sizes", newton, ["n"], [[(3,)], [(5,)]], several),
        ("factorizations of open sizes", lambda x: solve(x[0]), ["n, 4, 4"], [[(2, 4, 4)]], {}),
    ]:
        for i, case in enumerate(shapes):
            arguments = [rand(*shape) for shape in case]
            path = os.path.join(folder, name.replace(" ", "_"))
            if i == 0:
                program = Program(function, arguments, polymorphic=polymorphic, **options)
                tf.saved_model.save(program, path, signatures={"serving_default": program.run})
            results = jax.jit(function)(*([layers] if "parameters" in options else []), *arguments)
            results = results if isinstance(results, tuple) else (results,)
            want = {"r%d" % i: np.asarray(result) for i, result in enumerate(results)}
            feeds = {"a%d" % i: a for i, a in enumerate(arguments)}
            yield "%s %s" % (name, case), saved_models.check(library, path, "serving_default", feeds, want)


def main():
    library = xc_graph.Library(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        return saved_models.report(tests(library, folder))


if __name__ == "__main__":
    sys.exit(main())
