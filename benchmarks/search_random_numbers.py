"""Programs of search.py: calls of jax.random. Each is a function of an array that its key is made of."""

import jax
import jax.numpy as jnp
from jax import lax, random


def key_of(x):
    return random.wrap_key_data(jnp.stack([x.ravel()[0].astype(jnp.uint32), jnp.uint32(7)]))


DRAWN = {
    "uniform": lambda k: random.uniform(k, (100000,)),
    "normal": lambda k: random.normal(k, (100000,)),
    "normal_small": lambda k: random.normal(k, (1000,)),
    "bits": lambda k: random.bits(k, (100000,)),
    "randint": lambda k: random.randint(k, (50000,), 0, 100),
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (100000,)),
    "permutation": lambda k: random.permutation(k, 10000),
    "categorical": lambda k: random.categorical(k, jnp.zeros((500, 50))),
    "choice": lambda k: random.choice(k, 1000, (2000,)),
    "choice_p": lambda k: random.choice(k, 100, (2000,), p=jnp.arange(100.0) / 4950),
    "gumbel": lambda k: random.gumbel(k, (50000,)),
    "exponential": lambda k: random.exponential(k, (50000,)),
    "laplace": lambda k: random.laplace(k, (50000,)),
    "gamma": lambda k: random.gamma(k, 2.0, (2000,)),
    "beta": lambda k: random.beta(k, 2.0, 3.0, (1000,)),
    "poisson": lambda k: random.poisson(k, 3.0, (2000,)),
    "truncated_normal": lambda k: random.truncated_normal(k, -1, 1, (50000,)),
    "split": lambda k: random.key_data(random.split(k, 2000)),
    "fold_in": lambda k: jax.vmap(lambda i: random.key_data(random.fold_in(k, i)))(jnp.arange(2000)),
    "orthogonal": lambda k: random.orthogonal(k, 64),
    "multivariate_normal": lambda k: random.multivariate_normal(k, jnp.zeros(16), jnp.eye(16), (500,)),
    "dropout": lambda k: jnp.where(random.bernoulli(k, 0.9, (256, 256)), jnp.ones((256, 256)), 0.0),
    "random_walk": lambda k: jnp.cumsum(random.normal(k, (10000,))),
    "scan_normal": lambda k: lax.scan(
        lambda c, i: (c + random.normal(random.fold_in(k, i), (16,)), None), jnp.zeros(16), jnp.arange(200)
    )[0],
    "metropolis": lambda k: lax.fori_loop(
        0,
        500,
        lambda i, s: (lambda a, b: jnp.where(random.uniform(b) < jnp.exp(s**2 - (s + a) ** 2), s + a, s))(
            random.normal(random.fold_in(k, i)), random.fold_in(k, i + 9999)
        ),
        0.0,
    ),
}
DIMS = (2,)  # of their argument
PROGRAMS = {name: lambda x, f=f: f(key_of(x)) for name, f in DRAWN.items()}
