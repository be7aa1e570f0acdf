"""The programs of examples/gallery as a user of JAX writes them: those without loops are the gallery's own text with
jax.numpy in NumPy's place, the others use JAX's loops."""

import pathlib
import sys
import types

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
GALLERY = pathlib.Path(__file__).resolve().parent.parent / "examples" / "gallery"
sys.path.insert(0, str(GALLERY))


class _Plain:
    """Stands for the module `xla` where only the plain functions are wanted."""

    @staticmethod
    def compile(function=None, **unused):
        return function if function is not None else lambda f: f


def text_of(name, numpy_module):
    """The gallery's module `name` with another module in NumPy's place."""
    module = types.ModuleType(name)
    source = (GALLERY / f"{name}.py").read_text()
    source = source.replace("import numpy as np\n", "").replace("import xla\n", "")
    module.__dict__.update(np=numpy_module, xla=_Plain)
    exec(compile(source, name, "exec"), module.__dict__)
    return module


def kmeans(points, centres, steps=30):
    squares = (points**2).sum(axis=1)[:, None]

    def step(_, state):
        centres, _ = state
        distance = squares - 2 * (points @ centres.T) + (centres**2).sum(axis=1)
        nearest = distance.argmin(axis=1)
        member = (nearest[:, None] == jnp.arange(len(centres))).astype(points.dtype)
        count = member.sum(axis=0)[:, None]
        return jnp.where(count > 0, member.T @ points / jnp.maximum(count, 1), centres), nearest

    return lax.fori_loop(0, steps, step, (centres, jnp.zeros(len(points), jnp.int64)))


def conjugate_gradient(a, b, tolerance):
    def go_on(state):
        return (jnp.sqrt(state[3]) > tolerance) & (state[4] < 1000)

    def step(state):
        x, residual, direction, size, steps = state
        product = a @ direction
        alpha = size / (direction @ product)
        x, residual = x + alpha * direction, residual - alpha * product
        after = residual @ residual
        return x, residual, residual + (after / size) * direction, after, steps + 1

    state = lax.while_loop(go_on, step, (jnp.zeros_like(b), b, b, b @ b, 0))
    return state[0], state[4]


def nbody(position, velocity, mass, steps=100, dt=0.01):
    acceleration = text_of("nbody", jnp).acceleration

    def step(_, state):
        position, velocity = state
        velocity = velocity + 0.5 * dt * acceleration(position, mass)
        position = position + dt * velocity
        return position, velocity + 0.5 * dt * acceleration(position, mass)

    position, velocity = lax.fori_loop(0, steps, step, (position, velocity))
    return position, velocity, 0.5 * (mass * (velocity**2).sum(axis=1)).sum()


def mandelbrot(x, y, steps=60):
    def step(_, state):
        re, im, count = state
        inside = re * re + im * im <= 4
        new_re, new_im = re * re - im * im + x, 2 * re * im + y
        return jnp.where(inside, new_re, re), jnp.where(inside, new_im, im), count + inside

    return lax.fori_loop(0, steps, step, (jnp.zeros_like(x),) * 3)[2]


def kalman(measured, move, observe, noise, blur):
    def step(carry, seen):
        state, spread = carry
        state = move @ state
        spread = move @ spread @ move.T + noise
        innovation = observe @ spread @ observe.T + blur
        gain = jnp.linalg.solve(innovation, observe @ spread).T
        state = state + gain @ (seen - observe @ state)
        return (state, spread - gain @ observe @ spread), state

    d = move.shape[0]
    return lax.scan(step, (jnp.zeros(d), jnp.eye(d)), measured)[1]


def ode_solver(state, stiffness, end, tolerance):
    slope = text_of("ode_solver", jnp).slope

    def go_on(carry):
        return (carry[0] < end) & (carry[3] + carry[4] < 100000)

    def step(carry):
        time, dt, state, taken, thrown, k1 = carry
        dt = jnp.minimum(dt, end - time)
        k2 = slope(state + 0.5 * dt * k1, stiffness)
        k3 = slope(state + 0.75 * dt * k2, stiffness)
        new = state + dt * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = slope(new, stiffness)
        error = jnp.abs(dt * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).max()
        good = error <= tolerance
        time, state, k1 = jnp.where(good, time + dt, time), jnp.where(good, new, state), jnp.where(good, k4, k1)
        factor = 0.9 * (tolerance / jnp.maximum(error, 1e-30)) ** (1 / 3)
        return time, dt * jnp.clip(factor, 0.2, 5.0), state, taken + good, thrown + ~good, k1

    carry = lax.while_loop(go_on, step, (0.0, 0.01, state, 0, 0, slope(state, stiffness)))
    return carry[2:5]


def ridge_regression(x, y, x_test, y_test, strengths):
    gram, target = x.T @ x, x.T @ y

    def one(strength):
        weights = jnp.linalg.solve(gram + strength * jnp.eye(x.shape[1]), target)
        return weights, ((x_test @ weights - y_test) ** 2).mean()

    weights, errors = jax.vmap(one)(strengths)
    return weights[errors.argmin()], errors


def metropolis(start, steps, uniforms):
    log_density = text_of("metropolis", jnp).log_density

    def step(carry, drawn):
        x, now, accepted = carry
        move, uniform = drawn
        candidate = x + 0.8 * move
        then = log_density(candidate)
        good = jnp.log(uniform) < then - now
        x, now = jnp.where(good, candidate, x), jnp.where(good, then, now)
        return (x, now, accepted + good), x

    (_, _, accepted), chain = lax.scan(step, (start, log_density(start), 0), (steps, uniforms))
    return chain, accepted / len(uniforms)


def viterbi(start, move, emit, seen):
    def forward(score, symbol):
        through = score[:, None] + move
        return through.max(axis=0) + emit[:, symbol], through.argmax(axis=0)

    score, came_from = lax.scan(forward, start + emit[:, seen[0]], seen[1:])
    last = score.argmax()
    _, states = lax.scan(lambda state, back: (back[state], back[state]), last, came_from, reverse=True)
    return jnp.append(states, last), score.max()


def program(name):
    """(the jitted function, the gallery's inputs)."""
    written = globals().get(name)
    function = written if written is not None else text_of(name, jnp).program
    static = {"kmeans": "steps", "nbody": "steps", "mandelbrot": "steps", "pca": "count", "transformer": "heads"}
    import numpy

    return jax.jit(function, static_argnames=static.get(name)), text_of(name, numpy).inputs
