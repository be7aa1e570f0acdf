"""Profiles, and programs that are exported and loaded again: the same bits as the function itself gives."""

import json
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import xla


def exported(folder, function, *args, **more):
    """What the function gives, and what its exported program gives for the same arguments."""
    compiled = xla.compile(function)
    path = folder / "program.xcp"
    compiled.export(path, *args, **more)
    return compiled(*args), xla.load(path)


def test_exported_functions_give_the_same_bits(tmp_path):
    x, w = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32), np.ones((32, 16), np.float32)
    expected, program = exported(tmp_path, lambda x, w: (np.tanh(x @ w), np.sort(x, axis=0), x.sum()), x, w)
    given = program(x, w)
    assert [g.tobytes() for g in given] == [np.asarray(e).tobytes() for e in expected]
    assert program.inputs == [(np.float32, (64, 32)), (np.float32, (32, 16))]
    assert "float32[64, 32]" in repr(program)


def test_arrays_of_the_function_become_constants(tmp_path):
    table = np.random.default_rng(1).normal(size=(300, 400))
    expected, program = exported(tmp_path, lambda x: x @ table, np.ones((2, 300)))
    assert len(program.inputs) == 1
    assert program(np.ones((2, 300))).tobytes() == expected.tobytes()


def test_types_that_numpy_does_not_have(tmp_path):
    x = np.arange(5).astype(ml_dtypes.bfloat16)
    expected, program = exported(tmp_path, lambda x: x + x, x)
    assert program(x).dtype == ml_dtypes.bfloat16 and program(x).tobytes() == expected.tobytes()


def test_code_for_several_processors(tmp_path):
    x = np.ones(7)
    expected, program = exported(tmp_path, np.exp, x, cpu=["x86-64-v4", "x86-64-v2"])
    np.testing.assert_allclose(program(x), expected, rtol=1e-15)
    with pytest.raises(RuntimeError, match="unknown CPU"):
        xla.compile(np.exp).export(tmp_path / "no.xcp", x, cpu="i386")


def test_wrong_arguments_are_errors(tmp_path):
    _, program = exported(tmp_path, np.exp, np.ones(7))
    with pytest.raises(TypeError, match="takes 1 arrays, but 2"):
        program(np.ones(7), np.ones(7))
    with pytest.raises(ValueError, match="has the shape"):
        program(np.ones(8))
    with pytest.raises(TypeError, match="is complex128, the program takes float64"):
        program(np.ones(7, complex))


@pytest.mark.parametrize("count", [3, 12])
def test_one_file_for_several_sizes(tmp_path, count):
    table = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)

    @xla.compile
    def layer(x, y):
        return np.tanh(x @ table), (x.mean(axis=0) + y).sum()

    def arguments(n):
        x = np.arange(n * 8, dtype=np.float32).reshape(n, 8) / 100
        return x, x[:, 0].copy()[:1] * 0 + n

    path = tmp_path / "several.xcp"
    layer.export(path, *arguments(7), also=[arguments(n) for n in range(2, count + 1)])
    program = xla.load(path)
    assert program.num_sizes == count and f"and {count - 1} other sizes" in repr(program)
    for n in range(2, count + 1):
        expected, given = layer(*arguments(n)), program(*arguments(n))
        np.testing.assert_allclose(given[0], expected[0], rtol=1e-6)
        np.testing.assert_allclose(given[1], expected[1], rtol=1e-6)
        assert given[0].shape == (n, 5)
    with pytest.raises(ValueError, match=f"dimension 0 of input 0 is {count + 9}; the program was compiled for 2"):
        program(*arguments(count + 9))
    with pytest.raises(ValueError, match="has the shape"):
        program(np.ones(8, np.float32), np.ones(1, np.float32))
    if count > 4:
        assert path.stat().st_size < 200_000  # code for each would be more


def test_arguments_that_differ_in_more_than_sizes_are_refused(tmp_path):
    with pytest.raises(RuntimeError, match="differ in more than sizes"):
        xla.compile(np.exp).export(tmp_path / "no.xcp", np.ones(3), also=[(np.ones((3, 4)),)])


def test_damaged_files_are_errors(tmp_path):
    exported(tmp_path, np.exp, np.ones(7))
    path = tmp_path / "program.xcp"
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], b"x" + whole[1:], whole[:80] + b"\xff" + whole[81:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError):
            xla.load(path)
    with pytest.raises(FileNotFoundError):
        xla.load(tmp_path / "nofile.xcp")


LEAVES = """
import sys, threading, xla
load = lambda: xla.load(sys.argv[1])
if sys.argv[2] == "thread":
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
else:
    load()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_process_may_end_while_kernels_are_made(tmp_path, where):
    """Loading a program with large products begins to make their kernels, which takes longer than these processes live."""
    x = np.ones((256, 256), np.float32)
    xla.compile(lambda a, b: a @ b).export(tmp_path / "product.xcp", x, x)
    for _ in range(6):
        subprocess.run([sys.executable, "-c", LEAVES, tmp_path / "product.xcp", where], check=True)


def test_a_profile_names_what_takes_the_time(tmp_path):
    def layer(x, w):
        return np.tanh(x @ w)

    profile = xla.compile(layer).profile(np.ones((256, 256), np.float32), np.ones((256, 256), np.float32))
    library = [site for site in profile.sites if site["kind"] == "library"]
    assert library and library[0]["flops"] >= 2 * 256**3 and "deploy_test.py" in library[0]["source"]
    assert str(profile).startswith("layer: ") and "(peak)" in str(profile)
    assert "library" in str(profile) and "<svg" in profile._repr_html_()
    profile.save(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    profile.save(tmp_path)
    assert os.path.exists(tmp_path / "plugins/profile/xla/xla.trace.json.gz")
    profile.save(tmp_path / "roofline.svg")
    assert (tmp_path / "roofline.svg").read_text().startswith("<svg")


def test_headers_are_in_the_package():
    assert "xc_load_program" in open(os.path.join(xla.get_include(), "xc", "xc.h"), encoding="utf-8").read()


def test_a_size_without_an_end(tmp_path):
    path = tmp_path / "any.xcp"
    w = np.random.default_rng(0).random((5, 3), np.float32)
    layer = xla.compile(lambda x, y: (np.tanh(x @ w) * y[:, None], (x.T * y)))
    layer.export(path, np.ones((4, 5), np.float32), np.ones(4, np.float32), any_size=[0, 0])
    program = xla.load(path)
    for n in (1, 4, 33, 1000, 70001 % 65536):
        x, y = np.random.default_rng(n).random((n, 5), np.float32), np.random.default_rng(n).random(n, np.float32)
        for own, want in zip(program(x, y), layer.__wrapped__(x, y)):
            np.testing.assert_allclose(own, want, rtol=1e-5)
    with pytest.raises(ValueError, match="dimension 0 of input 0 is 65537; the program was compiled for any size"):
        program(np.ones((65537, 5), np.float32), np.ones(65537, np.float32))
    with pytest.raises(ValueError, match="no dimension 2"):
        layer.export(path, np.ones((4, 5)), np.ones(4), any_size=[2, 0])
    with pytest.raises(RuntimeError, match="combines elements of the batch"):
        xla.compile(np.sum).export(path, np.ones(4), any_size=[0])
