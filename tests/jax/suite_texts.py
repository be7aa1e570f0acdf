"""What the texts of compiled programs say, where JAX's own tests look there: which collectives devices need, the shapes
that each of them has, aliases, names and tags. To be run with --devices=8."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter")
L = lax.linalg
SQUARE = np.random.RandomState(3).randn(8, 6, 6).astype("float32")
POSITIVE = SQUARE @ SQUARE.swapaxes(1, 2) + 6 * np.eye(6, dtype="float32")


def collectives(text):
    return str([kind for kind in COLLECTIVES if re.search(kind + r"(-start)?\(", text)])


def text_of(function, *arguments, **options):
    return jax.jit(function, **options).lower(*arguments).compile().as_text()


def mesh(*sizes):
    return jax.sharding.Mesh(np.array(jax.devices()[: np.prod(sizes)]).reshape(sizes), ("x", "y")[: len(sizes)])


def put(array, sizes, *spec):
    return jax.device_put(array, NamedSharding(mesh(*sizes), P(*spec)))


def batches():
    """Functions of matrices, of which each device has some: none needs anything of another."""
    row = SQUARE[:, 0] + 5
    functions = {
        "cholesky": (L.cholesky, POSITIVE),
        "triangular_solve": (L.triangular_solve, POSITIVE, SQUARE),
        "hessenberg": (L.hessenberg, SQUARE),
        "schur": (L.schur, SQUARE),
        "eig": (L.eig, SQUARE),
        "eigh": (L.eigh, POSITIVE),
        "lu": (L.lu, SQUARE),
        "qr": (L.qr, SQUARE),
        "svd": (L.svd, SQUARE),
        "tridiagonal": (L.tridiagonal, POSITIVE),
        "tridiagonal_solve": (L.tridiagonal_solve, row, row, row, SQUARE),
        "householder_product": (L.householder_product, SQUARE, SQUARE[:, 0]),
        "inv": (jnp.linalg.inv, SQUARE),
        "solve": (jnp.linalg.solve, SQUARE, SQUARE),
        "take_along_axis": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, -1), -1), SQUARE),
        "at_column": (lambda x: x.at[:, 2].add(1.0), SQUARE),
        "at_rows": (lambda x: x.at[jnp.arange(8), 3].set(1.0), SQUARE),
        "diagonal": (lambda x: jnp.diagonal(x, axis1=-2, axis2=-1), SQUARE),
        "cross_entropy": (
            lambda x: -jnp.take_along_axis(jax.nn.log_softmax(x, -1), jnp.zeros((8, 6, 1), int), -1),
            SQUARE,
        ),
    }
    for name, (function, *arguments) in functions.items():

        def run(function=function, arguments=arguments):
            given = [put(a, (2,), "x") for a in arguments]
            results = jax.tree.leaves(jax.jit(function)(*given))
            return str([collectives(text_of(function, *given))] + [str(r.sharding.spec) for r in results])

        yield f"batch_{name}", run

        def tangents(function=function, arguments=arguments):
            given = tuple(put(a, (2,), "x") for a in arguments)
            return collectives(text_of(lambda p, t: jax.jvp(function, p, t), given, given))

        if name not in ("hessenberg", "schur", "eig", "svd", "tridiagonal", "householder_product", "at_rows"):
            yield f"batch_jvp_{name}", tangents
        if len(arguments) == 1 and arguments[0] is SQUARE and name in ("qr", "svd", "eig", "hessenberg"):
            yield f"columns_{name}", lambda f=function: str("all-gather(" in text_of(f, put(SQUARE, (2,), None, "x")))


def shapes():
    """No device makes whole random arrays of which it needs a part."""
    for name in ("bits", "uniform", "normal", "exponential", "bernoulli"):

        def run(name=name):
            f = lambda: getattr(jax.random, name)(jax.random.key(3), shape=(8, 4))
            text = text_of(f, out_shardings=NamedSharding(mesh(4), P("x")))
            return str(["[8,4]" in text, "[2,4]" in text, collectives(text)])

        yield f"random_{name}", run
    yield "embedding", lambda: collectives(
        text_of(lambda w, i: w[i], put(SQUARE[0], (4, 2), None, "y"), put(np.arange(8) % 6, (4, 2), "x"))
    )


def along_cut():
    """Functions that move elements along a dimension that is cut."""
    x = np.arange(128, dtype="float32").reshape(16, 8)
    functions = {
        "sort": lambda a: jnp.sort(a, 0),
        "argsort": lambda a: jnp.argsort(a, 0),
        "median": lambda a: jnp.sort(a, 0)[::2],
        "concatenate": lambda a: jnp.concatenate([a, a], 0),
        "take": lambda a: a[jnp.array([3, 1, 7, 2])],
        "take_along": lambda a: jnp.take_along_axis(a, jnp.zeros((2, 8), int), 0),
        "roll": lambda a: jnp.roll(a, 1, 0),
        "roll_parts": lambda a: jnp.roll(a, 4, 0),
        "roll_back": lambda a: jnp.roll(a, -6, 0),
        "reverse": lambda a: a[::-1],
        "every_second": lambda a: a[::2],
        "add_rows": lambda a: a.at[jnp.array([1, 5])].add(2.0),
        "segment_sum": lambda a: jax.ops.segment_sum(a, jnp.arange(16) % 4, 4),
    }
    for name, function in functions.items():
        for spec in (("x",), ("x", "y"), (("x", "y"),)):
            yield f"along_{name}_{spec}", lambda f=function, s=spec: collectives(text_of(f, put(x, (4, 2), *s)))


def otherwise():
    """Arrays that come to lie on other devices."""
    x = np.arange(32, dtype="float32").reshape(8, 4)
    specs = [(), ("x",), ("y",), ("x", "y"), ("y", "x"), (None, "x"), (("x", "y"),), (("y", "x"),)]
    for one in specs:
        for other in specs:
            if one == (None, "x") and isinstance(other[:1] and other[0], tuple):
                continue  # two ways, each in one or two steps
            yield f"otherwise_{one}_{other}", lambda one=one, other=other: collectives(
                text_of(lambda a: a, put(x, (2, 2), *one), out_shardings=NamedSharding(mesh(2, 2), P(*other)))
            )
    for name, f in {"first": lambda a: a[0], "sixth": lambda a: a[5:6], "column": lambda a: a[:, 3]}.items():
        for spec in (("x",), ("x", "y"), (None, "y"), (("x", "y"),)):
            yield f"one_{name}_{spec}", lambda f=f, spec=spec: str(
                "all-reduce" in collectives(text_of(f, put(x, (2, 2), *spec)))
            )


def claims():
    x = np.arange(64, dtype="float32").reshape(8, 8)
    alias = lambda text: re.findall(r"input_output_alias=\{.*?may-alias\) \}", text)
    yield "alias", lambda: str(alias(text_of(lambda a: a + 1, put(x, (4, 2), "x", "y"), donate_argnums=0)))
    yield "alias_two", lambda: str(
        alias(
            text_of(
                lambda a, b: (b * 2, a + 1), put(x, (4, 2), "x", "y"), put(x[:4], (4, 2), "x"), donate_argnums=(0, 1)
            )
        )
    )

    def names():
        def one(a):
            return a * 3 + 1

        def other(a):
            return a * 3 + 1

        return str([text_of(f, x).split(",")[0] for f in (one, other)])

    yield "names", names

    def tagged():
        from jax.experimental.xla_metadata import set_xla_metadata

        def f(a):
            with set_xla_metadata(made_by="me"):
                return jnp.sin(a) * 7

        return str('frontend_attributes={made_by="me"}' in text_of(f, x))

    yield "tags", tagged


def cases():
    for group in (batches, shapes, along_cut, otherwise, claims):
        yield from group()
