"""What a call costs when JAX runs on the plugin, beside JAX's own client for the CPU.

usage: jax_dispatch.py PLUGIN.so [--rounds=N]        with a Python that has JAX

Each way runs in a process of its own, in turns; printed are the least times of each and the ratio. All programs compute
next to nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def best(call, number, repeat=7):
    """Microseconds of a call: the least of the means of `repeat` rounds of `number` calls."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            call()
        times.append((time.perf_counter() - start) / number)
    return min(times) * 1e6


def measure():
    import jax
    import jax.numpy as jnp
    import numpy as np

    x = jnp.ones((4,), jnp.float32)
    add = jax.jit(lambda a: a + 1)
    many = [jnp.ones((4,), jnp.float32) for _ in range(50)]
    add_many = jax.jit(lambda *a: [b + 1 for b in a])
    host = np.ones((4,), np.float32)
    donating = jax.jit(lambda a: a + 1, donate_argnums=0)

    def chain():
        y = x
        for _ in range(10):
            y = add(y)
        return y

    def donate():
        nonlocal_x[0] = donating(nonlocal_x[0])

    nonlocal_x = [x + 0]

    def first():
        jax.clear_caches()
        start = time.perf_counter()
        jax.jit(lambda a, i: jnp.tanh(a) * i)(x, len(compiled)).block_until_ready()
        compiled.append(time.perf_counter() - start)

    compiled = []
    result = {
        "jit(x + 1), dispatch": best(lambda: add(x), 2000),
        "jit(x + 1), blocked": best(lambda: add(x).block_until_ready(), 2000),
        "chain of 10, per call": best(chain, 200) / 10,
        "50 in, 50 out": best(lambda: add_many(*many), 200),
        "np.asarray(jit(x + 1))": best(lambda: np.asarray(add(x)), 2000),
        "eager x + 1": best(lambda: x + 1, 1000),
        "device_put": best(lambda: jax.device_put(host), 1000),
        "donated": best(donate, 2000),
    }
    for _ in range(7):
        first()
    result["trace, compile, run tanh(x) * i (ms)"] = min(compiled) * 1e3
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not options.plugin:
        print(json.dumps(measure()))
        return 0
    plugin = {**os.environ, "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{os.path.abspath(options.plugin)}"}
    times = {"own": [], "plugin": []}
    for _ in range(options.rounds):
        for way, environment in (("own", dict(os.environ)), ("plugin", plugin)):
            command = [sys.executable, os.path.abspath(__file__)]
            out = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
            )
            times[way].append(json.loads(out.stdout))
    print("| us | JAX's own client | plugin | ratio |\n|---|---|---|---|")
    for row in times["own"][0]:
        own, ours = (min(t[row] for t in times[way]) for way in ("own", "plugin"))
        print(f"| {row} | {own:.1f} | {ours:.1f} | {ours / own:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
