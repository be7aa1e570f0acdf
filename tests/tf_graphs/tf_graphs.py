"""Runs programs traced by TensorFlow on the embedded runtime and compares with TensorFlow's own results.

Usage: python tf_graphs.py LIBXC.so [--only=REGEX] [--forms=v1,functional] [--modes=jit,host] [--explain]
Every model of models.py is frozen in two forms, with control flow lowered to frames (v1) and functional, and runs in
both modes of the runtime. Models named in WHOLE must run inside one cluster.
XC_DECODERS names benchmarks/tensorflow_decoders.py, whose programs are run too. Ends with `N passed, N failed`.
"""

import argparse
import importlib.util
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "tf_ops")]
import architectures  # noqa: F401  adds to models.MODELS
import models
import xc_graph

# Models of which one form holds ops that the runtime has no kernel for.
FORMS = {"gradient_of_unknown_turns": ["v1"]}

# Runs of all models in all forms and modes: one that is lost is a failure.
RUNS = 274

# Taken whole: no host step but arguments, constants and results.
WHOLE = {
    "attention_with_cache",
    "beam_search",
    "condition_in_loop",
    "counter",
    "data_dependent_loop",
    "fibonacci_matrix",
    "gradient_through_lists",
    "keras_bidirectional_stack",
    "keras_gru",
    "keras_gru_without_reset_after",
    "keras_lstm",
    "keras_masked_lstm",
    "loop_in_condition",
    "nested_loops",
    "tensor_array",
}


def spec(arrays):
    """One signature for all cases of a model: dimensions that differ become unknown."""
    first = arrays[0]
    shapes = [np.shape(a) for a in arrays]
    dims = [shapes[0][d] if all(s[d] == shapes[0][d] for s in shapes) else None for d in range(len(shapes[0]))]
    dtype = tf.string if np.asarray(first).dtype.kind in "OSU" else tf.as_dtype(np.asarray(first).dtype)
    return tf.TensorSpec(dims, dtype)


def difference(got, want):
    want = np.asarray(want)
    if got.shape != want.shape:
        return "shape %s, expected %s" % (got.shape, want.shape)
    if want.dtype.kind in "OSUbiu":
        return "" if np.array_equal(got, want) else "%r, expected %r" % (got, want)
    return "" if np.allclose(got, want, rtol=1e-3, atol=1e-4, equal_nan=True) else "%r, expected %r" % (got, want)


def check(library, name, concrete, frozen, cases, wants, mode, explain):
    inputs = [t.name for t in frozen.inputs if t.dtype != tf.resource]
    outputs = [t.name for t in frozen.outputs]
    graph = xc_graph.Graph(library, frozen.graph.as_graph_def(), inputs, outputs, mode=mode)
    problems = []
    for k, (args, want) in enumerate(zip(cases, wants)):
        for turn in range(2):
            for i, (g, w) in enumerate(zip(graph.run(args), want, strict=True)):
                text = difference(g, w)
                if text:
                    problems.append("case %d, output %d: %s" % (k, i, text))
    text = graph.explain()
    if explain:
        print(text)
    if mode == "jit" and name in WHOLE:
        steps = [line for line in text.splitlines() if line.startswith("  host:") and "_Arg" not in line]
        if steps or graph.stats().clusters != 1 or graph.stats().fallbacks:
            problems.append(
                "%d clusters, %d fallbacks; %s" % (graph.stats().clusters, graph.stats().fallbacks, steps[:3])
            )
    if name.startswith("decode_") and graph.stats().fallbacks:
        problems.append("%d clusters were left to the host" % graph.stats().fallbacks)
    return problems


def decoders(path):
    """Models of benchmarks/tensorflow_decoders.py, small."""
    spec = importlib.util.spec_from_file_location("tensorflow_decoders", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = [[np.array(tokens, np.int32)] for tokens in ([3, 11], [5])]
    return {"decode_" + name: lambda make=make: (make(16, 6), cases) for name, make in module.DECODERS.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--only", default="")
    parser.add_argument("--forms", default="v1,functional")
    parser.add_argument("--modes", default="jit,host")
    parser.add_argument("--explain", action="store_true")
    options = parser.parse_args()
    library = xc_graph.Library(options.library)
    passed = failed = 0
    more = decoders(os.environ["XC_DECODERS"]) if "XC_DECODERS" in os.environ else {}
    for name, make in {**models.MODELS, **more}.items():
        if not re.search(options.only, name):
            continue
        function, cases = make()
        signature = [spec([case[i] for case in cases]) for i in range(len(cases[0]))]
        concrete = tf.function(function).get_concrete_function(*signature)
        wants = [[np.asarray(t) for t in tf.nest.flatten(concrete(*map(tf.constant, case)))] for case in cases]
        for form in FORMS.get(name, options.forms.split(",")):
            frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=form == "v1")
            for mode in options.modes.split(","):
                try:
                    problems = check(library, name, concrete, frozen, cases, wants, mode, options.explain)
                except xc_graph.XcError as e:
                    problems = [str(e)]
                passed, failed = passed + (not problems), failed + bool(problems)
                for p in problems[:2]:
                    print("FAILED %s, %s, %s: %s" % (name, form, mode, p[:600]), flush=True)
    if len(sys.argv) == 2 and passed + failed != RUNS:
        failed += 1
        print("FAILED %d runs, expected %d" % (passed + failed - 1, RUNS))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


sys.exit(main())
