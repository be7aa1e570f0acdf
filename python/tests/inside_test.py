"""Looking inside: lowered programs, counters, reasons, dumps."""

import ast
import importlib
import inspect
import pathlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import xla
from xla._load import TOOL


@xla.compile
def affine(x, w, b):
    return np.tanh(x @ w + b)


ARGUMENTS = (np.ones((3, 4)), np.ones((4, 5)), np.zeros(5))


def test_texts():
    low = affine.lower(*ARGUMENTS)
    assert "HloModule affine" in low.hlo() and "tanh" in low.hlo() and "inside_test.py" in low.hlo()
    assert "ENTRY" in low.optimized_hlo()
    assert "define " in low.llvm_ir()
    assert ".text" in low.asm() or "ret" in low.asm()
    assert "arena" in low.buffers()
    assert "instructions" in repr(low)


def test_cost():
    cost = affine.lower(*ARGUMENTS).cost()
    assert cost.flops >= 2 * 3 * 4 * 5 + 3 * 5
    assert cost.transcendentals == 15
    assert cost.bytes_read > 0 and cost.bytes_written >= 15 * 8 and cost.code_bytes > 0
    assert {p.opcode for p in cost.parts} & {"dot", "fusion"}
    assert "FLOPs" in str(cost)


def test_view_and_save(tmp_path):
    view = affine.lower(*ARGUMENTS).view()
    assert "<html" in str(view).lower() and "iframe" in view._repr_html_()
    view.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == str(view)


def test_a_dump_replays(tmp_path):
    affine.lower(*ARGUMENTS).dump(str(tmp_path / "bundle"))
    assert (tmp_path / "bundle" / "module.hlo").exists()
    done = subprocess.run(
        [TOOL, "replay", tmp_path / "bundle", "--against=interpreter"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tool_as_a_module():
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([sys.executable, "-m", "xla", "--help"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "replay" in done.stdout


def test_counters_and_reasons():
    f = xla.compile(lambda x, n: x * n, static_argnums=1)
    assert f.explain() == "<lambda> has not been compiled."
    f(np.ones(3), 2)
    f(np.ones(3), 2)
    f(np.ones(4, np.float32), 2)
    f(np.ones(4, np.float32), 3)
    f(np.ones(4, np.float32), 3)
    info = f.cache_info()
    assert (info.hits, info.misses, info.signatures) == (2, 3, 3)
    assert info.code_bytes > 0 and info.compile_seconds > 0
    text = f.explain()
    assert "1. <lambda>(f64[3])" in text and "the first compilation" in text
    assert "array 0 was f64[3], is f32[4]" in text
    assert "static argument 1 was 2, is 3" in text
    f.clear_cache()
    assert f.cache_info().signatures == 0
    np.testing.assert_array_equal(f(np.ones(3), 2), [2, 2, 2])
    assert f.cache_info().signatures == 1


def test_pickle_by_name_and_by_function():
    assert pickle.loads(pickle.dumps(affine)) is affine
    made = pickle.loads(pickle.dumps(xla.compile(np.linalg.norm, threads=1)))
    assert made(np.array([3.0, 4.0])) == pytest.approx(5.0)


def test_wrapper_keeps_name_and_doc():
    @xla.compile(threads=1)
    def documented(x):
        """What it does."""
        return x

    assert documented.__name__ == "documented" and documented.__doc__ == "What it does."
    assert "xla.compile of" in repr(documented)
    assert documented.__wrapped__(3) == 3


@pytest.mark.parametrize("name", ["xla.nn", "xla.lax", "xla.lax.random"])
def test_stubs_have_every_function_and_parameter(name):
    module = importlib.import_module(name)
    stub = pathlib.Path(module.__file__).with_suffix(".pyi")
    stubs = {n.name: n.args for n in ast.parse(stub.read_text()).body if isinstance(n, ast.FunctionDef)}
    functions = {n: f for n, f in vars(module).items() if not n.startswith("_") and inspect.isfunction(f)}
    own = {n for n, f in functions.items() if name == "xla.lax" or f.__module__ == name}
    assert own <= set(stubs) <= set(functions)
    for n, arguments in stubs.items():
        written = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        written += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
        assert sorted(written) == sorted(inspect.signature(functions[n]).parameters), n
