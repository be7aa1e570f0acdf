"""Calls that return before their programs have run: what is seen of it, what is given away or deleted meanwhile, and
the order of what can be seen from outside."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# A program of about 50 ms.
SIZE = 384
LONG = jax.jit(lambda x: lax.fori_loop(0, 40, lambda i, y: jnp.sin(y @ x) * 0.5, x))
STEP = jax.jit(lambda x: jnp.cos(x @ x * 0.01) + 1, donate_argnums=0)


def start():
    return jnp.asarray(np.linspace(-1, 1, SIZE * SIZE, dtype="float32").reshape(SIZE, SIZE)) * 0.05


def running(x=None):
    """The result of a program that runs, as a rule."""
    x = start() if x is None else x
    LONG(x).block_until_ready()
    return LONG(x)


def before():
    def returns():
        y = running()
        return [str(y.is_ready()), y, str(y.is_ready())]

    yield "returns_before", returns

    def small():
        x = jnp.ones(3)
        f = jax.jit(lambda x: x + 1)
        f(x).block_until_ready()
        return [f(x), str(f(x).is_ready())]

    yield "small_programs_are_done", small

    def chain():
        x = running()
        for i in range(50):
            x = jnp.tanh(x) + i * 0.1
        return [x, x.sum(), x[3, 4]]

    yield "chain", chain

    def many():
        x = running()
        return [LONG(x * 0.1 * i) for i in range(4)] + list(jax.jit(lambda x: [x + i for i in range(50)])(x))

    yield "many", many
    yield "block_on_tree", lambda: jax.block_until_ready({"a": running(), "b": [running() + 1, 3]})
    yield "device_get", lambda: jax.device_get([running(), running().sum()])
    yield "to_host_asynchronously", lambda: (x := running(), x.copy_to_host_async(), np.asarray(x))[2]
    yield "buffer_protocol", lambda: np.asarray(memoryview(running()))
    yield "dlpack", lambda: np.from_dlpack(running())
    yield "pointer", lambda: str(running().unsafe_buffer_pointer() % 64)
    yield "item", lambda: str(round(float(running()[0, 0]), 4))
    yield "device_put", lambda: jax.device_put(running(), jax.devices()[-1])
    yield "other_memory", lambda: jax.device_put(
        running(), jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    )
    yield "copy", lambda: jnp.copy(running())
    yield "compiled", lambda: LONG.lower(start()).compile()(running())
    yield "grad", lambda: jax.grad(lambda x: LONG(x).sum())(running())
    yield "nan_check", lambda: (lambda m: (m.__enter__(), running(), m.__exit__(None, None, None))[1])(
        jax.debug_nans(True)
    )


def given_away():
    def donated():
        x = running()
        first = x
        for _ in range(12):
            x = STEP(x)
        return [x, str(first.is_deleted())]

    yield "donated_chain", donated

    def donated_and_read():
        x = running()
        y = x + 1  # waits for x as well
        z = STEP(x)
        return [y, z, str(x.is_deleted())]

    yield "donated_and_read", donated_and_read

    def donated_under_view():
        x = start() + 0
        view = np.asarray(x)
        kept = view.copy()
        y = STEP(x)
        return [y, view == kept]

    yield "donated_under_view", donated_under_view

    def deleted(which):
        x = start() + 0
        y = running(x)
        z = y + 1
        (x if which == "input" else y).delete()
        return [z, str(x.is_deleted()), str(y.is_deleted())]

    yield "input_deleted", lambda: deleted("input")
    yield "result_deleted", lambda: deleted("result")

    def deleted_and_used():
        y = running()
        y.delete()
        return y + 1

    yield "deleted_and_used", deleted_and_used

    def forgotten():
        for _ in range(3):
            running()
        return running()

    yield "forgotten", forgotten

    def donated_twice():
        x = running()
        STEP(x)
        return STEP(x)

    yield "donated_twice", donated_twice


def order():
    shape = jax.ShapeDtypeStruct((), "float32")

    def called_back():
        f = jax.jit(lambda x: jax.pure_callback(lambda y: np.float32(np.asarray(y).sum()), shape, x))
        return [f(running()), f(running() + 1)]

    yield "callback_of_running", called_back

    def ordered():
        seen = []
        f = jax.jit(lambda x, i: (jax.debug.callback(lambda j: seen.append(int(j)), i, ordered=True), LONG(x))[1])
        x = start()
        for i in range(4):
            x = f(x, i)
        jax.effects_barrier()
        return [x, str(seen)]

    yield "ordered_effects", ordered

    def calls_jax():
        f = jax.jit(
            lambda x: jax.pure_callback(lambda y: np.float32(LONG(jnp.asarray(y)).sum()), shape, x), inline=False
        )
        return f(running())

    yield "callback_runs_programs", calls_jax

    def raises():
        def bad(x):
            raise ValueError("from the callback")

        f = jax.jit(lambda x: jax.pure_callback(bad, shape, x))
        return jax.block_until_ready(f(running()))

    yield "callback_raises", raises

    def in_threads():
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda i: LONG(start() * i) + i, range(6)))

    yield "threads", in_threads

    def forked():
        y = running()
        child = os.fork()
        if child == 0:
            os._exit(5)
        return [y, str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))]

    yield "fork", forked

    def child(code):
        program = f"""
import jax, jax.numpy as jnp, numpy as np
from jax import lax
f = jax.jit(lambda x: lax.fori_loop(0, 40, lambda i, y: jnp.sin(y @ x) * 0.5, x))
x = jnp.ones((384, 384)) * 0.01
f(x).block_until_ready()
y = [f(x) for _ in range(5)]
{code}
"""
        out = subprocess.run(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
        return f"{out.returncode} {out.stdout.decode()}"

    yield "exit_while_running", lambda: child("print('last line')")
    yield "exit_with_a_code", lambda: child("import sys; sys.exit(3)")
    yield "exit_at_once", lambda: child("import os; os._exit(4)")
    yield "exit_by_exception", lambda: child("raise ValueError")
    yield "exit_and_forget", lambda: child("del y, x, f; jax.clear_caches(); print('done')")
    yield "exit_after_another_thread", lambda: child(
        "import threading; threading.Thread(target=lambda: print(float(y[-1].sum()) < 1e9)).start()"
    )


def cases():
    for group in (before, given_away, order):
        yield from group()
