"""Programs of packages on top of JAX: Flax, Optax, Equinox, Diffrax, NumPyro, Keras. Those that are not installed have
no case, which is said on standard error."""

import importlib.util
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np


def images(count=32):
    rng = np.random.RandomState(3)
    x = rng.randn(count, 12, 12, 1).astype("float32")
    return x, (x.mean((1, 2, 3)) > 0).astype("int32")


def flax_convolutions():
    """A convolutional network with batch normalization and dropout, trained with Adam."""
    import optax
    from flax import linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x, training):
            for features in (8, 16):
                x = nn.Conv(features, (3, 3))(x)
                x = nn.BatchNorm(use_running_average=not training)(x)
                x = nn.avg_pool(nn.relu(x), (2, 2), strides=(2, 2))
            x = nn.Dropout(0.2, deterministic=not training)(x.reshape(x.shape[0], -1))
            return nn.Dense(2)(x)

    x, y = images()
    network = Network()
    variables = network.init(jax.random.key(0), x, training=False)
    optimizer = optax.adam(1e-2)

    @jax.jit
    def step(parameters, statistics, state, key):
        def loss(p):
            logits, updates = network.apply(
                {"params": p, "batch_stats": statistics},
                x,
                training=True,
                rngs={"dropout": key},
                mutable=["batch_stats"],
            )
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), updates

        (value, updates), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
        change, state = optimizer.update(gradient, state)
        return optax.apply_updates(parameters, change), updates["batch_stats"], state, value

    parameters, statistics = variables["params"], variables["batch_stats"]
    state, losses = optimizer.init(parameters), []
    for i in range(12):
        parameters, statistics, state, value = step(parameters, statistics, state, jax.random.key(i))
        losses.append(value)
    return losses


def flax_attention():
    """A transformer's block in NNX, trained to copy."""
    import optax
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(11, 16, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(4, 16, decode=False, rngs=rngs)
            self.norm = nnx.LayerNorm(16, rngs=rngs)
            self.out = nnx.Linear(16, 11, rngs=rngs)

        def __call__(self, tokens):
            x = self.embed(tokens)
            return self.out(self.norm(x + self.attention(x)))

    block = Block(nnx.Rngs(0))
    tokens = jnp.asarray(np.random.RandomState(1).randint(0, 11, (4, 9)))
    optimizer = nnx.Optimizer(block, optax.adamw(3e-2), wrt=nnx.Param)

    @nnx.jit
    def step(block, optimizer):
        def loss(b):
            return optax.softmax_cross_entropy_with_integer_labels(b(tokens), tokens).mean()

        value, gradient = nnx.value_and_grad(loss)(block)
        optimizer.update(block, gradient)
        return value

    return [step(block, optimizer) for _ in range(10)]


def optax_optimizers():
    """Many optimizers on one curved valley."""
    import optax

    def valley(p):
        return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2

    out = []
    makers = [
        optax.sgd(1e-3, momentum=0.9, nesterov=True),
        optax.adam(1e-2),
        optax.lamb(1e-2),
        optax.lion(1e-3),
        optax.rmsprop(1e-3),
        optax.adafactor(1e-2),
        optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 30))),
    ]
    for optimizer in makers:
        p = jnp.array([-1.0, 1.0], "float32")
        state = optimizer.init(p)

        @jax.jit
        def step(p, state, optimizer=optimizer):
            change, state = optimizer.update(jax.grad(valley)(p), state, p)
            return optax.apply_updates(p, change), state

        for _ in range(30):
            p, state = step(p, state)
        out.append(p)
    solver = optax.lbfgs()
    p = jnp.array([-1.0, 1.0], "float32")
    state, value_and_grad = solver.init(p), optax.value_and_grad_from_state(valley)
    for _ in range(8):
        value, gradient = value_and_grad(p, state=state)
        change, state = solver.update(gradient, state, p, value=value, grad=gradient, value_fn=valley)
        p = optax.apply_updates(p, change)
    return out + [p]


def equinox_network():
    """A recurrent network of Equinox, trained by filtered transformations."""
    import equinox as eqx
    import optax

    class Recurrent(eqx.Module):
        cell: eqx.nn.GRUCell
        out: eqx.nn.Linear

        def __init__(self, key):
            a, b = jax.random.split(key)
            self.cell = eqx.nn.GRUCell(2, 12, key=a)
            self.out = eqx.nn.Linear(12, 1, key=b)

        def __call__(self, xs):
            hidden, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(12, xs.dtype), xs)
            return self.out(hidden)[0]

    rng = np.random.RandomState(0)
    xs = rng.randn(16, 7, 2).astype("float32")
    ys = xs[:, :, 0].sum(1)
    model = Recurrent(jax.random.key(2))
    model = jax.tree.map(lambda a: a.astype("float32") if eqx.is_inexact_array(a) else a, model)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        value, gradient = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(xs) - ys) ** 2))(model)
        change, state = optimizer.update(gradient, state)
        return eqx.apply_updates(model, change), state, value

    losses = []
    for _ in range(12):
        model, state, value = step(model, state)
        losses.append(value)
    return losses


def diffrax_equations():
    """A stiff and a stochastic equation, and the derivative through a solve."""
    import diffrax

    def oscillator(t, y, mu):
        return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    def solve(mu, solver=diffrax.Tsit5()):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(oscillator),
            solver,
            0.0,
            3.0,
            0.01,
            jnp.array([1.0, 0.5]),
            args=mu,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 7)),
            stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-8),
        ).ys

    stiff = solve(20.0, diffrax.Kvaerno5())
    gradient = jax.grad(lambda mu: solve(mu)[-1].sum())(1.5)
    path = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(), key=jax.random.key(5))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, _: -y), diffrax.ControlTerm(lambda t, y, _: 0.3 * jnp.ones_like(y), path)
    )
    noisy = diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 1.0, 0.05, 1.0).ys
    return [jax.jit(solve)(1.5), stiff, gradient, noisy]


def numpyro_regression():
    """A few steps of NUTS, and variational inference."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    rng = np.random.RandomState(0)
    x = rng.randn(40)
    y = 1.5 * x - 0.5 + 0.1 * rng.randn(40)

    def model(x, y):
        slope = numpyro.sample("slope", dist.Normal(0, 2))
        level = numpyro.sample("level", dist.Normal(0, 2))
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        with numpyro.plate("data", len(x)):
            numpyro.sample("y", dist.Normal(slope * x + level, spread), obs=y)

    sampler = MCMC(NUTS(model), num_warmup=60, num_samples=60, progress_bar=False)
    sampler.run(jax.random.key(0), x, y)
    # Chains go apart by roundings: what they agree on are the means.
    means = [np.round(np.mean(v), 1) + 0.0 for _, v in sorted(sampler.get_samples().items())]
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.02), Trace_ELBO())
    found = svi.run(jax.random.key(1), 60, x, y, progress_bar=False)
    return [np.array(means), found.losses]


def keras_model():
    """A model of Keras on JAX: fit, evaluate, predict, save and load."""
    import tempfile

    import keras

    keras.utils.set_random_seed(5)
    x, y = images()
    model = keras.Sequential(
        [
            keras.layers.Input((12, 12, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(8, activation="gelu"),
            keras.layers.Dense(2),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "m.keras"))
        again = keras.models.load_model(os.path.join(folder, "m.keras"))
    return [np.array(history.history["loss"]), model.predict(x, verbose=0), again.predict(x, verbose=0)]


def cases():
    os.environ["KERAS_BACKEND"] = "jax"
    for run in (
        flax_convolutions,
        flax_attention,
        optax_optimizers,
        equinox_network,
        diffrax_equations,
        numpyro_regression,
        keras_model,
    ):
        package = run.__name__.split("_", maxsplit=1)[0]
        if importlib.util.find_spec(package) is None:
            print(f"skipped: {package} is not installed", file=sys.stderr)
        else:
            yield run.__name__, run
