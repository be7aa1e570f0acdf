"""JAX on the plugin for long: thousands of compilations and a million calls, in bounded memory.

usage: soak.py PLUGIN.so [--compiles=10000] [--calls=1000000]

Prints the memory of the process on the way, and fails where it grows by more than 10 % (and 64 MiB) in the last fifth:
before, the compiler's cache in memory fills up to its limit, which is 8,192 of such small programs (docs/limits.md).
A test runs a part; the whole takes ten minutes and more.
"""

import argparse
import gc
import os
import sys


def memory_mib():
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Watch:
    """Looks at the memory ten times in all, and keeps what it was before the last fifth."""

    def __init__(self, what, total):
        self.what, self.total, self.base, self.last = what, total, None, 0.0

    def at(self, done):
        if done % max(1, self.total // 10) != 0:
            return
        gc.collect()
        self.last = memory_mib()
        if done >= self.total * 4 // 5 and self.base is None:
            self.base = self.last
        print(f"{done} {self.what}: {self.last:.0f} MiB", flush=True)

    def grew(self):
        return self.base is not None and self.last > max(1.1 * self.base, self.base + 64)


def compile_many(jax, jnp, total):
    watch = Watch("compilations", total)
    for i in range(1, total + 1):
        value = float(jax.jit(lambda x, i=i: jnp.sin(x * i).sum() + i)(jnp.ones(3)))
        assert abs(value - i) <= 3
        if i % 200 == 0:
            jax.clear_caches()
        watch.at(i)
    return watch


def call_many(jax, jnp, total):
    watch = Watch("calls", total)
    step = jax.jit(lambda x: x * 0.5 + 1)
    given = jax.jit(lambda x: x + 1, donate_argnums=0)
    x, y = jnp.zeros(100), jnp.zeros(100)
    for i in range(1, total + 1):
        if i % 2:
            x = step(x)
        else:
            y = given(y)
        watch.at(i)
    assert abs(float(x[0]) - 2) < 1e-3 and float(y[0]) == total // 2
    return watch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("--compiles", type=int, default=10000)
    parser.add_argument("--calls", type=int, default=1000000)
    options = parser.parse_args()
    os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"cpu:{os.path.abspath(options.plugin)}"
    import jax
    import jax.numpy as jnp

    watches = [call_many(jax, jnp, options.calls), compile_many(jax, jnp, options.compiles)]
    failed = [watch for watch in watches if watch.grew()]
    for watch in failed:
        print(f"FAILED {watch.what}: from {watch.base:.0f} to {watch.last:.0f} MiB")
    print(f"{len(watches) - len(failed)} passed, {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
