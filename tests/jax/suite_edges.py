"""Functions of jax.numpy and operations of lax at the edges: scalars, arrays without elements, with one, of narrow
types, and numbers that are no ordinary ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from suite_numpy import BINARY, UNARY, arrays, more

SHAPES = [(), (0,), (0, 3), (3, 0), (1, 1), (2, 0, 4)]
PAIRS = [((), ()), ((0,), (0,)), ((3,), ()), ((0, 3), (3,)), ((1, 4), (3, 1)), ((2, 1, 0), (1, 0))]
TYPES = ["float32", "int32", "bool", "complex64"]
NARROW = ["int4", "uint4", "int2", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2e-38, -1e38, 3.4e38, 0.5, 89.0, -104.0, 2.0**31])
INTEGERS = {
    "int8": [-128, -1, 0, 1, 127],
    "int32": [-(2**31), -1, 0, 1, 31, 32, 2**31 - 1],
    "int64": [-(2**63), -1, 0, 1, 63, 64, 2**63 - 1],
    "uint8": [0, 1, 7, 8, 255],
    "uint32": [0, 1, 31, 32, 2**32 - 1],
}


def shapes():
    for function in UNARY:
        for dtype in TYPES:
            for shape in SHAPES:
                name = f"{function}_{dtype}_{shape}"
                x = arrays(name, dtype, shape)
                yield name, lambda f=function, x=x: getattr(jnp, f)(*map(jnp.asarray, x))
    for function in BINARY:
        for dtype in TYPES[:2]:
            for pair in PAIRS:
                name = f"{function}_{dtype}_{pair}"
                x = arrays(name, dtype, *pair)
                yield name, lambda f=function, x=x: getattr(jnp, f)(*map(jnp.asarray, x))
    for function, call, *given in more():
        empty = [(0,) + shape[1:] for shape in given]
        x = arrays(function, "float32", *empty)
        yield f"{function}_empty", lambda call=call, x=x: call(*map(jnp.asarray, x))


def narrow():
    for dtype in NARROW:
        x = np.arange(-2, 2).astype(jnp.dtype(dtype))
        for function in (
            "add subtract multiply maximum minimum negative abs sign sum max min cumsum sort argsort equal less "
            "where concatenate stack reshape transpose pad roll flip tile dot matmul isnan square"
        ).split():
            # JAX's own client fails in these, in one of them for good.
            if dtype == "int2" and function in ("argsort", "concatenate", "dot"):
                continue
            call = {
                "where": lambda a: jnp.where(a > 0, a, -a),
                "concatenate": lambda a: jnp.concatenate([a, a]),
                "stack": lambda a: jnp.stack([a, a]),
                "reshape": lambda a: a.reshape(2, 2),
                "transpose": lambda a: a.reshape(2, 2).T,
                "pad": lambda a: jnp.pad(a, 1),
                "roll": lambda a: jnp.roll(a, 1),
                "tile": lambda a: jnp.tile(a, 2),
                "dot": lambda a: jnp.dot(a.reshape(2, 2), a.reshape(2, 2)),
                "matmul": lambda a: jnp.matmul(a, a),
            }.get(function)
            if call is None:
                f = getattr(jnp, function)
                two = function in ("add", "subtract", "multiply", "maximum", "minimum", "equal", "less")
                call = (lambda f: lambda a: f(a, a[::-1]))(f) if two else f
            yield f"narrow_{function}_{dtype}", lambda call=call, x=x: jax.jit(call)(x)
        for other in ("int8", "float32", "bool", "uint32", "bfloat16", "float64", "complex64") + tuple(NARROW):
            yield f"narrow_to_{other}_{dtype}", lambda x=x, o=other: jnp.asarray(x).astype(o)
            y = np.array([0, 1, -1, 3.4, 7, 200, -9]).astype(jnp.dtype(other))
            yield f"narrow_from_{other}_{dtype}", lambda y=y, d=dtype: jnp.asarray(y).astype(d)
        yield f"narrow_index_{dtype}", lambda x=x: [
            x[1],
            jnp.asarray(x)[jnp.array([0, 3])],
            jnp.asarray(x).at[1].set(1),
        ]
        yield f"narrow_gather_{dtype}", lambda x=x: jnp.take(jnp.asarray(x), jnp.array([[3, 0]]))
        yield f"narrow_scan_{dtype}", lambda x=x: lax.scan(lambda c, a: (a, c), jnp.asarray(x)[0], jnp.asarray(x))
        yield f"narrow_bits_{dtype}", lambda x=x: lax.bitcast_convert_type(
            jnp.asarray(x), {"i": "int8", "u": "uint8", "f": "uint8"}[dtype[0]]
        )
        yield f"narrow_random_{dtype}", lambda d=dtype: (
            jax.random.uniform(jax.random.key(1), (5,), d)
            if d[0] == "f"
            else jax.random.randint(jax.random.key(1), (5,), 0, 2, d)
        )


def numbers():
    unary = (
        "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc exp "
        "exp2 expm1 floor is_finite lgamma log log1p logistic neg reciprocal round rsqrt sign sin sinh sqrt square tan "
        "tanh"
    ).split()
    binary = "add atan2 div max min mul nextafter pow rem sub eq ne lt le gt ge igamma igammac".split()
    for dtype in ("float32", "float64", "bfloat16", "float16"):
        x = SPECIAL.astype(jnp.dtype(dtype))
        for op in unary:
            yield f"special_{op}_{dtype}", lambda op=op, x=x: getattr(lax, op)(jnp.asarray(x))
        for op in binary:
            if op.startswith("igamma") and dtype == "float64":
                continue  # of some of these pairs, JAX's loops do not end, on either
            yield f"special_{op}_{dtype}", lambda op=op, x=x: getattr(lax, op)(
                jnp.repeat(x, len(x)), jnp.tile(x, len(x))
            )
        for function in (
            "max",
            "min",
            "argmax",
            "argmin",
            "sort",
            "argsort",
            "sum",
            "prod",
            "nanmax",
            "median",
            "unique",
        ):
            yield f"special_{function}_{dtype}", lambda f=function, x=x: getattr(jnp, f)(jnp.asarray(x))
        for integer in INTEGERS:
            yield f"special_{dtype}_to_{integer}", lambda x=x, i=integer: jnp.asarray(x[:6]).astype(i)
        yield f"special_top_k_{dtype}", lambda x=x: lax.top_k(jnp.asarray(x), 5)
        yield f"special_clamp_{dtype}", lambda x=x: lax.clamp(x.dtype.type(-1), jnp.asarray(x), x.dtype.type(1))
        yield f"special_frexp_{dtype}", lambda x=x: [jnp.frexp(x[:4]), jnp.ldexp(x, 3), jnp.modf(x[:4])]
        yield f"special_cumulative_{dtype}", lambda x=x: [lax.cummax(jnp.asarray(x)), lax.cummin(jnp.asarray(x))]
        yield f"special_reduce_precision_{dtype}", lambda x=x: lax.reduce_precision(jnp.asarray(x), 5, 3)
    for dtype, values in INTEGERS.items():
        x = np.array(values, dtype)
        a, b = np.repeat(x, len(x)), np.tile(x, len(x))
        for op in (
            "add sub mul div rem max min and_ or_ xor shift_left shift_right_logical shift_right_arithmetic"
        ).split():
            name = {"and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor"}.get(op, op)
            yield f"integer_{name}_{dtype}", lambda n=name, a=a, b=b: getattr(lax, n)(jnp.asarray(a), jnp.asarray(b))
        for op in ("neg", "abs", "sign", "population_count", "clz", "bitwise_not"):
            yield f"integer_{op}_{dtype}", lambda op=op, x=x: getattr(lax, op)(jnp.asarray(x))
        for op in ("floor_divide", "mod", "divmod", "power", "true_divide", "float_power", "left_shift"):
            yield f"integer_{op}_{dtype}", lambda op=op, a=a, b=b: getattr(jnp, op)(jnp.asarray(a), jnp.asarray(b))
        # Of the least number, which has no absolute value, JAX's own loop in int32 does not end.
        ordinary = np.array([v for v in values if v > np.iinfo(dtype).min or v == 0], dtype)
        for op in ("gcd", "lcm"):
            yield f"integer_{op}_{dtype}", lambda op=op, x=ordinary: getattr(jnp, op)(
                jnp.repeat(x, len(x)), jnp.tile(x, len(x))
            )
        yield f"integer_power_{dtype}", lambda x=x: [lax.integer_pow(jnp.asarray(x), n) for n in range(4)]
        for to in ("float32", "bfloat16", "bool", "complex64", "int16", "uint16", "float64"):
            yield f"integer_{dtype}_to_{to}", lambda x=x, t=to: jnp.asarray(x).astype(t)
    for dtype in ("complex64", "complex128"):
        parts = np.array([0.0, -0.0, 1.0, -2.0, np.inf, np.nan])
        z = (np.repeat(parts, 6) + 1j * np.tile(parts, 6)).astype(dtype)
        for op in "abs exp log sqrt sin cos tan tanh sinh cosh log1p expm1 rsqrt sign neg conj real imag cbrt".split():
            yield f"complex_{op}_{dtype}", lambda op=op, z=z: getattr(lax, op)(jnp.asarray(z))
        for op in "add sub mul div pow eq ne".split():
            finite = z[np.isfinite(z)]
            yield f"complex_{op}_{dtype}", lambda op=op, z=finite: getattr(lax, op)(
                jnp.repeat(z, len(z)), jnp.tile(z, len(z))
            )


def cases():
    for group in (shapes, narrow, numbers):
        yield from group()
