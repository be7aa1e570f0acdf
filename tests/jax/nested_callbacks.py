"""Functions of Python that programs on several devices call, and that run such programs themselves, fork, or outlive the
main thread: JAX's own client hangs in the first of these, so that there is nothing to compare with.

usage: nested_callbacks.py PLUGIN.so
"""

import os
import subprocess
import sys

from named_checks import report

BEGIN = """
import os, threading, time
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((8,), ("x",))
X = np.arange(16, dtype="float32").reshape(8, 2)
SHAPE = jax.ShapeDtypeStruct(X.shape, X.dtype)
spread = lambda: jax.device_put(X, NamedSharding(mesh, P("x")))
calls = lambda function: jax.jit(lambda x: jax.pure_callback(function, SHAPE, x))
"""

PROGRAMS = {
    "a callback runs a program of the same devices": """
def deep(depth):
    return calls(lambda v: v + 1 if depth == 0 else np.asarray(deep(depth - 1)) + 1)(spread())
with jax.set_mesh(mesh):
    print(np.array_equal(deep(6), X + 7))
""",
    "and one that calls back in a loop": """
def inner(v):
    body = lambda i, c: jax.pure_callback(lambda w: np.asarray(w) + 1, SHAPE, c)
    return jax.jit(lambda x: jax.lax.fori_loop(0, 50, body, x))(spread())
with jax.set_mesh(mesh):
    print(np.array_equal(calls(inner)(spread()), X + 50))
""",
    "an exception of an inner program reaches the outer caller": """
def bad(v):
    raise ValueError("from within")
with jax.set_mesh(mesh):
    try:
        calls(lambda v: np.asarray(calls(bad)(spread())))(spread()).block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        print("ValueError: from within" in str(error) and "in bad" in str(error))
""",
    "a forked child calls back, too": """
f = calls(lambda v: np.asarray(v) * 2)
f(spread())
child = os.fork()
if child == 0:
    os._exit(7 if np.array_equal(f(spread()), X * 2) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7)
""",
    "a callback that still runs does not keep the process": """
begun = threading.Event()
def slow(v):
    begun.set()
    time.sleep(3600)
    return np.asarray(v)
threading.Thread(target=lambda: calls(slow)(spread()), daemon=True).start()
print(begun.wait(60))
""",
}


def main():
    plugin = f"cpu:{os.path.abspath(sys.argv[1])}"
    flags = "--xla_force_host_platform_device_count=8"
    environment = {**os.environ, "PJRT_NAMES_AND_LIBRARY_PATHS": plugin, "XLA_FLAGS": flags}
    checks, seen = {}, {}
    for name, program in PROGRAMS.items():
        try:
            ran = subprocess.run(
                [sys.executable, "-c", BEGIN + program],
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            checks[name] = ran.returncode == 0 and ran.stdout.split() == ["True"]
            seen[name] = (ran.returncode, ran.stdout, ran.stderr[-1500:])
        except subprocess.TimeoutExpired:
            checks[name], seen[name] = False, "no end"
    return report(checks, {name: seen[name] for name, holds in checks.items() if not holds})


if __name__ == "__main__":
    sys.exit(main())
