"""Where JAX looks for plugins: the one that runs its programs on the xc compiler."""

from xla_jax import initialize

__all__ = ["initialize"]
