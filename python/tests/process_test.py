"""One process with many threads, children, frameworks' arrays and signatures."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import xla


def test_many_threads_call_one_function():
    @xla.compile
    def f(x, y):
        return (x @ y).sum(axis=0)

    rng = np.random.default_rng(0)
    cases = [(rng.random((n, 8)), rng.random((8, n))) for n in (4, 5, 6)]
    wants = [f.__wrapped__(*c) for c in cases]
    wrong = []

    def work():
        for i in range(60):
            got = f(*cases[i % 3])
            if not np.allclose(got, wants[i % 3], rtol=1e-12):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert f.cache_info().misses == 3  # each signature was compiled once


def test_the_gil_is_free_while_native_code_runs():
    @xla.compile(threads=1)
    def long(x):
        for _ in range(40):
            x = np.sin(x)
        return x

    x = np.linspace(0, 1, 1 << 18)
    long(x)
    counted = 0
    running = threading.Event()
    done = threading.Event()

    def work():
        running.set()
        for _ in range(10):
            long(x)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    running.wait()
    while not done.is_set():
        counted += 1
    worker.join()
    # With the GIL held, this thread could count only between calls.
    assert counted > 1000


def test_a_forked_child_runs_and_compiles():
    @xla.compile
    def f(x):
        return np.exp(x @ x.T).sum()

    x = np.linspace(0, 1e-3, 300 * 300).reshape(300, 300)
    want = f(x)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            again, new = f(x), f(x[:100].copy())
            if np.isclose(again, want) and np.isclose(new, f.__wrapped__(x[:100])):
                status = 0
        finally:
            os._exit(status)
    os.close(read)
    os.close(write)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.isclose(f(x), want)


def test_memory_is_bounded_over_many_signatures(monkeypatch):
    monkeypatch.setattr("xla._compile.MAX_SIGNATURES", 8)

    @xla.compile(platform="interpreter")
    def f(x, n):
        return x + n

    g = xla.compile(f.__wrapped__, platform="interpreter", static_argnums=1)
    for n in range(40):
        assert g(np.zeros(2), n)[0] == n
    assert g.cache_info().signatures <= 8
    assert g.cache_info().misses == 40
    assert len(g._records) <= 100
    assert g._known <= 8


def test_dlpack_in_and_out():
    class Other:
        """An array of another framework, known by DLPack alone."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(6.0).reshape(2, 3)
    got = xla.compile(lambda x: x * 2)(Other(x))
    np.testing.assert_array_equal(np.from_dlpack(got), x * 2)


def test_results_own_their_memory():
    f = xla.compile(lambda x: x + 1)
    x = np.zeros(1 << 16)
    first, second = f(x), f(x)
    second[:] = 7
    assert first[0] == 1
    kept = first[5:]
    del first
    third = f(x)
    third[:] = 9
    assert kept[0] == 1


def test_donated_memory_becomes_the_result():
    @xla.compile(donate_argnums=0)
    def step(x, d):
        return x + d

    x, d = np.zeros(100000), np.ones(100000)
    for i in range(5):
        y = step(x, d)
        assert y is x
    np.testing.assert_array_equal(x, np.full(100000, 5.0))


def test_large_constants_are_not_in_the_program():
    table = np.arange(1000.0)
    f = xla.compile(lambda x: x + table)
    low = f.lower(np.zeros(1000))
    assert len(low.hlo()) < 2000
    np.testing.assert_array_equal(f(np.ones(1000)), table + 1)
    table[0] = 50  # what was traced stays
    assert f(np.ones(1000))[0] == 1


@pytest.mark.parametrize("layout", ["strided", "fortran", "reversed", "readonly", "unaligned", "swapped"])
def test_arrays_of_every_layout(layout):
    x = np.arange(24.0).reshape(4, 6)
    if layout == "strided":
        x = x[::2, ::3]
    elif layout == "fortran":
        x = np.asfortranarray(x)
    elif layout == "reversed":
        x = x[::-1]
    elif layout == "readonly":
        x.flags.writeable = False
    elif layout == "unaligned":
        x = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(4, 6)
    else:
        x = x.astype(">f8")
    f = xla.compile(lambda x: x * 2 + x.T[0, 0])
    for _ in range(2):
        np.testing.assert_array_equal(f(x), x * 2 + x[0, 0])


def test_the_shared_cache_serves_two_functions_of_one_program():
    function = lambda x: np.cosh(x) * 3
    x = np.ones(7)
    xla.compile(function)(x)
    before = xla.cache_stats()
    xla.compile(function)(x)
    after = xla.cache_stats()
    assert after["hits"] == before["hits"] + 1 and after["misses"] == before["misses"]
    assert after["bytes"] <= after["budget_bytes"]
    xla.cache_clear()
    assert xla.cache_stats()["entries"] == 0
    budget = after["budget_bytes"]
    try:
        xla.cache_set_budget(1)
        for number in (5, 6, 7):
            xla.compile(lambda x: np.sinh(x) * number)(x)
        assert xla.cache_stats()["entries"] == 1  # the newest stays, whatever its size
    finally:
        xla.cache_set_budget(budget)


CACHED = """
import sys, numpy as np, xla

@xla.compile(options={"cache_dir": sys.argv[1]} if sys.argv[1] else None)
def f(x):
    return np.sort(np.tanh(x) @ x.T, axis=0).sum()

x = np.linspace(-1, 1, 12).reshape(3, 4)
assert np.isclose(f(x), f.__wrapped__(x), rtol=1e-12)
print(f.cache_info().disk_hits, xla.cache_stats()["disk_hits"], xla.cache_stats()["disk_writes"])
"""


@pytest.mark.parametrize("way", ["option", "environment"])
def test_compiled_code_outlives_the_process(tmp_path, way):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    argument = str(tmp_path / "cache")
    if way == "environment":
        environment["XC_CACHE_DIR"], argument = argument, ""

    def run():
        done = subprocess.run([sys.executable, "-c", CACHED, argument], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr

    assert run() == (["0", "0", "1"], "")
    assert run() == (["1", "1", "0"], "")
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(file.read_bytes()[:-100])
    counters, said = run()
    assert counters == ["0", "0", "1"] and "cut off; it is ignored" in said
    assert run() == (["1", "1", "0"], "")


def test_small_programs_count_for_what_they_cost_the_process():
    budget = xla.cache_stats()["budget_bytes"]
    xla.cache_clear()
    try:
        xla.cache_set_budget(1 << 20)
        for number in range(20):
            f = xla.compile(lambda x: x + number)
            assert f(np.zeros(3))[0] == number
        stats = xla.cache_stats()
        assert 1 <= stats["entries"] <= 8 and stats["evictions"] >= 12
    finally:
        xla.cache_set_budget(budget)
