"""What the package says and shows beside results: short tracebacks, warnings, logs, hints, notebooks' tables; and Ctrl-C."""

import os
import random
import re
import signal
import sys
import threading
import time
import traceback
import types
import warnings

import numpy as np
import pytest

import xla
from xla import _errors, _options


def files_of(error):
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def broken(x):
    return helper(x)


def helper(x):
    return x @ np.ones(7)


def test_tracebacks_show_the_users_frames_alone():
    with pytest.raises(ValueError) as raised:
        xla.compile(broken)(np.ones(3))
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.name for frame in frames][-2:] == ["broken", "helper"]
    assert not any(_errors.is_inside(file) for file in files_of(raised.value)), files_of(raised.value)
    assert any("xla.full_tracebacks()" in note for note in raised.value.__notes__)


def test_decorators_and_loading_fail_without_the_packages_frames(tmp_path):
    for fails in (
        lambda: xla.compile(broken, static_argnames="y"),
        lambda: xla.compile(broken, options={"no_such_option": 1}),
        lambda: xla.load(tmp_path / "nofile.xcp"),
    ):
        with pytest.raises((TypeError, ValueError, FileNotFoundError)) as raised:
            fails()
        assert not any(_errors.is_inside(file) for file in files_of(raised.value)), files_of(raised.value)


def test_a_switch_shows_all_frames():
    xla.full_tracebacks()
    try:
        with pytest.raises(ValueError) as raised:
            xla.compile(broken)(np.ones(3))
    finally:
        xla.full_tracebacks(False)
    assert any(_errors.is_inside(file) for file in files_of(raised.value))
    assert not hasattr(raised.value, "__notes__")


def test_errors_of_the_package_itself_keep_their_frames(monkeypatch):
    def fail(*args):
        raise AssertionError("a bug")

    monkeypatch.setattr("xla._compile.compile_text", fail)
    with pytest.raises(AssertionError) as raised:
        xla.compile(lambda x: x)(np.ones(3))
    assert any(_errors.is_inside(file) for file in files_of(raised.value))


@pytest.mark.parametrize("name", [n for n, o in vars(xla).items() if isinstance(o, type)])
def test_names_are_those_that_users_write(name):
    assert getattr(xla, name).__module__ == "xla"


def test_unknown_static_arguments_are_refused():
    def f(x, axis):
        return x.sum(axis)

    with pytest.raises(
        xla.StaticArgumentError, match=r"names 'axes' \(did you mean 'axis'\?\), but f has the param.* x, axis"
    ):
        xla.compile(f, static_argnames="axes")
    with pytest.raises(xla.StaticArgumentError, match=r"static_argnums has 2, but f has 2 positional parameters"):
        xla.compile(f, static_argnums=2)
    assert xla.compile(lambda x, **more: x + more["n"], static_argnames="n")(1, n=2) == 3
    assert xla.compile(lambda *xs: xs[0] + xs[3], static_argnums=3)(1, 2, 3, 4) == 5


def test_a_traced_size_names_the_call_and_the_argument():
    def f(x, n):
        return np.zeros(n) + x

    with pytest.raises(xla.ConcretizationError, match=r'a size.*write @xla\.compile\(static_argnames="n"\)'):
        xla.compile(f)(1.0, 3)


def test_functions_of_scipy_are_named():
    """A module that stands where SciPy's would: SciPy need not be installed."""
    source = (
        "import numpy as np\ndef _validated(a):\n    return np.asarray(a)\ndef expm(A):\n    return _validated(A)\n"
    )
    module = types.ModuleType("scipy.linalg._matfuncs")
    exec(compile(source, "/x/scipy/linalg/_matfuncs.py", "exec"), vars(module))
    with pytest.raises(xla.UnsupportedError, match=r"messages_test\.py:\d+: scipy\.linalg\.expm is SciPy's own code"):
        xla.compile(lambda x: module.expm(x))(np.ones((2, 2)))


def test_a_ufunc_is_named_by_the_module_that_has_it(monkeypatch):
    module = types.ModuleType("scipy.special")
    module.plus = np.frompyfunc(lambda a, b: a + b, 2, 1)
    monkeypatch.setitem(sys.modules, "scipy.special", module)
    setattr(module, module.plus.__name__, module.plus)
    with pytest.raises(
        xla.UnsupportedError, match=rf"scipy\.special\.{re.escape(module.plus.__name__)} is not compiled"
    ):
        xla.compile(lambda x: module.plus(x, x))(np.ones(2))


def test_many_compilations_warn_once_and_say_why():
    f = xla.compile(lambda x: x + 1, platform="interpreter")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 20):
            f(np.zeros(n))
    assert [w.category for w in caught] == [xla.RecompilationWarning]
    assert caught[0].filename == __file__
    assert re.search(r"compiled 16 times, .*array 0 was f64\[\d+\], is f64\[16\]", str(caught[0].message))


def test_plain_calls_of_lax_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 20):
            xla.lax.cumsum(np.ones(n))


@pytest.mark.parametrize(
    "draw, name",
    [
        (lambda x: x + np.random.rand(), "np.random"),
        (lambda x: x + np.random.default_rng(0).normal(), "np.random.default_rng"),
        (lambda x: x + GENERATOR.normal(), "a generator of outside"),
        (lambda x: x + random.random(), "Python's random"),
        (lambda x: indirectly(x), "np.random"),
    ],
)
def test_frozen_random_numbers_warn_once(draw, name):
    f = xla.compile(draw, platform="interpreter")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(np.zeros(1)), f(np.zeros(2))
    assert [w.category for w in caught] == [xla.FrozenRandomWarning]
    assert name in str(caught[0].message) and "xla.lax.random" in str(caught[0].message)


GENERATOR = np.random.default_rng(1)


def indirectly(x):
    return x + np.random.rand()


def test_keys_and_arguments_are_no_frozen_random_numbers():
    def f(key, x):
        return x + xla.lax.random.normal(key, x.shape)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xla.compile(f)(xla.lax.random.key(0), np.random.default_rng(0).normal(size=3))


def test_compilations_are_logged_on_request(capfd):
    f = xla.compile(lambda x: x + 1, platform="interpreter")
    f(np.zeros(2))
    with xla.log_compiles():
        f(np.zeros(2)), f(np.zeros(3))
    f(np.zeros(4))
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert re.match(r"xla: compiled <lambda>\(f64\[3\]\) in .* ms: array 0 was f64\[2\], is f64\[3\]", said[0])


def test_notebooks_show_a_function_as_a_table_of_its_programs():
    f = xla.compile(lambda x: x + 1, platform="interpreter")
    assert "<table" not in f._repr_html_() and "0 programs" in f._repr_html_()
    f(np.zeros(2)), f(np.zeros(3))
    assert "&lt;lambda&gt;(f64[3])" in f._repr_html_() and "array 0 was f64[2], is f64[3]" in f._repr_html_()


def test_options_are_checked_and_documented():
    with pytest.raises(ValueError, match="there is no option 'until_pas'; did you mean 'until_pass'"):
        xla.compile(lambda x: x, options={"until_pas": "dce"})
    # Each is taken by the core library: what it cannot have is its value.
    for name, (values, _) in _options.OPTIONS.items():
        if values == "an int":
            xla.compile(lambda x: x + 1, options={name: 400})(np.zeros(2))
    assert set(xla.options()) == set(_options.OPTIONS)


def test_tf_is_an_attribute():
    assert xla.tf.__name__ == "xla.tf"
    with pytest.raises(AttributeError, match="module 'xla' has no attribute 'nothing'"):
        xla.nothing


def test_ctrl_c_ends_a_compilation():
    def slow(x):
        for i in range(60):
            for f in (np.sin, np.cosh, np.log1p, np.arctan):
                x = f(x) @ x[i % 8 : i % 8 + 1].T * np.cumsum(x, 0) + i
        return x

    f = xla.compile(slow)
    lowered = f.lower(np.ones((8, 8)))  # traced before the clock runs
    sent = []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        lowered.optimized_hlo()
        thread.join()
        pytest.fail("the compilation took less than 0.3 s")
    waited = time.perf_counter() - sent[0]
    assert waited < 0.5, f"Ctrl-C took {waited:.2f} s"
    assert xla.compile(lambda x: x + 1)(np.zeros(1)) == 1
