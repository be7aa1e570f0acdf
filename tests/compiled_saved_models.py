"""Signatures of SavedModels compiled ahead of time by the tool: the programs' results beside TensorFlow's, and what the
tool says of those that cannot be compiled.

usage: compiled_saved_models.py LIBXC.so XLA
"""

import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

import saved_models
import xc_graph


class Words(tf.Module):
    """An output that is an input, one that is known, and rows of a table, whose indices TensorFlow checks."""

    def __init__(self):
        super().__init__()
        self.table = tf.Variable(np.arange(30, dtype=np.float32).reshape(10, 3))

    @tf.function(input_signature=[tf.TensorSpec([4], tf.int32, name="ids")])
    def apply(self, ids):
        return {"ids": ids, "rows": tf.gather(self.table, ids), "size": tf.constant(10)}


def run_program(library, path, feeds, want):
    """Outputs of a program, in the order of the names in `want`, whose arrays have the outputs' shapes."""
    library.xc_load_program.restype = library.xc_executable_run.restype = ctypes.c_void_p
    library.xc_status_message.restype = ctypes.c_char_p
    library.xc_status_message.argtypes = [ctypes.c_void_p]
    program = ctypes.c_void_p()
    status = library.xc_load_program(path.encode(), ctypes.byref(program))
    assert not status, library.xc_status_message(status)
    inputs = [np.ascontiguousarray(feeds[name]) for name in sorted(feeds)]
    outputs = [np.empty_like(np.asarray(want[name])) for name in sorted(want)]
    pointers = lambda arrays: (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
    sizes = ctypes.c_size_t(len(inputs)), ctypes.c_size_t(len(outputs))
    status = library.xc_executable_run(program, pointers(inputs), sizes[0], pointers(outputs), sizes[1], 2)
    assert not status, library.xc_status_message(status)
    library.xc_executable_free(program)
    return outputs


def compile_signature(tool, folder, out, *flags):
    return subprocess.run([tool, "compile", folder, "-o", out, *flags], capture_output=True, text=True)


def check(library, tool, folder, feeds, want, *flags, note=""):
    shapes = "--shapes=" + ",".join(str(list(np.shape(feeds[name]))) for name in sorted(feeds)).replace(" ", "")
    out = folder + ".xcp"
    done = compile_signature(tool, folder, out, shapes, *flags)
    if done.returncode != 0 or note not in done.stderr:
        return done.stderr
    got = run_program(library.lib, out, feeds, want)
    for name, value in zip(sorted(want), got):
        if not np.allclose(value, np.asarray(want[name]), rtol=1e-4, atol=1e-5):
            return "%s is %s, expected %s" % (name, value, want[name])
    return ""


def refused(tool, folder, text, *flags):
    done = compile_signature(tool, folder, folder + ".none", *flags)
    same = done.returncode == 2 and text in done.stderr and not os.path.exists(folder + ".none")
    return "" if same else "status %d: %s, expected %r" % (done.returncode, done.stderr, text)


def tests(library, tool, folder):
    rng = np.random.RandomState(3)
    model, dense = saved_models.Dense(), os.path.join(folder, "dense")
    signatures = {"serving_default": model.apply, "count": model.count, "power": model.power}
    tf.saved_model.save(model, dense, signatures=signatures)
    x = rng.randn(7, 4).astype(np.float32)
    yield "dense", check(library, tool, dense, {"x": x}, model.apply(x))

    net, keras = saved_models.keras_model(), os.path.join(folder, "keras")
    net.export(keras, verbose=False)
    image = rng.rand(2, 12, 12, 3).astype(np.float32)
    served = tf.saved_model.load(keras).signatures["serving_default"]
    name = list(served.structured_input_signature[1])[0]
    want = served(**{name: tf.constant(image)})
    yield "keras", check(library, tool, keras, {name: image}, want)

    words, rows = Words(), os.path.join(folder, "words")
    tf.saved_model.save(words, rows, signatures={"serving_default": words.apply})
    ids = np.array([3, 0, 9, 3], np.int32)
    yield "rows of a table", check(library, tool, rows, {"ids": ids}, words.apply(ids), note="indices out of range")

    yield "open sizes", refused(tool, dense, "input 'x' is float32[?,4], with open sizes")
    yield "another shape", refused(tool, dense, "another shape is given", "--shapes=[3,5]")
    yield "a signature's name", refused(tool, dense, "it has: count, power, serving_default", "--signature=none")
    yield "a needed value", refused(
        tool, dense, "the value of input 'n' must be known", "--signature=power", "--shapes=[],[4]"
    )
    yield "a variable that is written", refused(tool, dense, "the graph writes variables", "--signature=count")
    vocabulary = os.path.join(folder, "words.txt")
    with open(vocabulary, "w") as file:
        file.write("green\nred\n")
    counter, tables = saved_models.Counter(vocabulary), os.path.join(folder, "tables")
    tf.saved_model.save(counter, tables, signatures={"serving_default": counter.apply})
    yield "strings", refused(tool, tables, "input 'words' is string", "--shapes=[3]")

    opt = subprocess.run([tool, "opt", dense, "--shapes=[7,4]"], capture_output=True, text=True)
    yield "its HLO", "" if opt.returncode == 0 and "f32[7,4]" in opt.stdout else opt.stdout + opt.stderr
    replay = subprocess.run(
        [tool, "replay", dense, "--shapes=[7,4]", "--against=interpreter"], capture_output=True, text=True
    )
    yield "its run", "" if replay.returncode == 0 else replay.stdout + replay.stderr


def main():
    library = xc_graph.Library(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        return saved_models.report(tests(library, os.path.abspath(sys.argv[2]), folder))


if __name__ == "__main__":
    sys.exit(main())
