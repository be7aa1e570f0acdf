"""Runs that go wrong after their calls have returned: the error is in their results, and in what is computed of them.
And the setting by which no call returns before.

usage: errors_in_results.py PLUGIN.so
"""

import os
import subprocess
import sys

from named_checks import report

SETTING = """
import jax, jax.numpy as jnp
from jax import lax
jax.config.update("jax_cpu_enable_async_dispatch", False)
long = jax.jit(lambda x: lax.fori_loop(0, 40, lambda i, y: jnp.sin(y @ x) * 0.5, x))
x = jnp.ones((384, 384)) * 0.01
long(x).block_until_ready()
print(all(long(x).is_ready() for _ in range(3)))
"""


def error_of(work):
    try:
        work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def main():
    os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"cpu:{os.path.abspath(sys.argv[1])}"
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    long = jax.jit(lambda x: lax.fori_loop(0, 40, lambda i, y: jnp.sin(y @ x) * 0.5, x))
    # More than any machine has.
    large = jax.jit(lambda x: jnp.broadcast_to(x.sum(), (1 << 25, 1 << 20)) * 2)
    x = jnp.ones((384, 384)) * 0.01
    long(x).block_until_ready()
    at_once = error_of(lambda: large(x))

    y = long(x)
    returned_before = not y.is_ready()
    wrong = large(y)
    follows = jax.jit(lambda a: a[0, :3] + 1)(wrong)
    errors = [error_of(wrong.block_until_ready), error_of(lambda: np.asarray(follows))]
    checks = {
        "the call returns before": returned_before,
        "the error is in the result": "RESOURCE_EXHAUSTED" in errors[0],
        "and in what is computed of it": "RESOURCE_EXHAUSTED" in errors[1],
        "results before it are right": bool(np.isfinite(np.asarray(y)).all()),
        "what comes after it runs": float((long(x) + 1).sum()) > 0,
        "a call of nothing that runs raises it itself": "RESOURCE_EXHAUSTED" in at_once,
    }

    # A buffer that is given away is computed in place, at once or when its program's turn has come.
    together = jax.jit(lambda a, b: a * 0.5 + b[0, 0], donate_argnums=0)
    chained = x + 1
    places = {chained.unsafe_buffer_pointer()}
    for _ in range(8):
        chained = together(chained, x)
    places.add(chained.unsafe_buffer_pointer())
    for _ in range(8):
        chained = together(chained, long(x))
    places.add(chained.unsafe_buffer_pointer())
    checks["donated buffers are computed in place"] = len(places) == 1

    told = subprocess.run([sys.executable, "-c", SETTING], stdout=subprocess.PIPE, check=True).stdout.decode()
    checks["no call returns before if jax_cpu_enable_async_dispatch is off"] = told.strip() == "True"

    return report(checks, errors)


if __name__ == "__main__":
    sys.exit(main())
