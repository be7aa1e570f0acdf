"""Compares op lowerings with TensorFlow's own CPU kernels, op by op.

Usage: python tf_ops.py LIBXC.so [--only=REGEX] [--platform=cpu|interpreter] [--mode=jit|host]
                 [--seed=N --draws=M]
Under Bazel's test sharding each shard runs its part. Every case is a graph of one op on placeholders (shape-like operands
are constants); both sides run it on the same values. Ends with `N passed, N failed`; the exit status is 1 if any failed.
"""

import argparse
import itertools
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases as op_cases
import xc_graph
from cases_fused import fused_cases
from cases_more import more_cases
from cases_random import random_cases


# All cases and the random ones of seed 0, in all shards: a family that is lost is a failure.
CASES, FUSED_CASES = 4315, 57


def tolerance(dtype):
    name = np.dtype(dtype).name
    return {"float64": 1e-6, "complex128": 1e-6, "float16": 4e-3, "bfloat16": 2e-2}.get(name, 2e-4)


def compare(got, want):
    """Empty if equal within tolerance, else what differs."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return "is %s%s, expected %s%s" % (got.dtype, got.shape, want.dtype, want.shape)
    if want.dtype.kind in "biuOS":
        if not np.array_equal(got, want):
            at = np.argwhere(np.asarray(got != want).reshape(-1))[0][0]
            return "element %d is %r, expected %r" % (at, got.reshape(-1)[at], want.reshape(-1)[at])
        return ""
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide).reshape(-1), want.astype(wide).reshape(-1)
    t = tolerance(want.dtype)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= t + t * np.abs(b)
    bad = np.argwhere(~(same | (close & np.isfinite(b))))
    if len(bad):
        at = bad[0][0]
        return "element %d is %r, expected %r" % (at, a[at], b[at])
    return ""


def make_graph(case):
    """The graph of the case, what is fed to it, and what is fetched."""
    graph = tf.Graph()
    with graph.as_default():
        feeds, args = [], {}

        def placeholder(fed):
            feeds.append((tf.compat.v1.placeholder(tf.as_dtype(fed.array.dtype), fed.array.shape), fed.array))
            return feeds[-1][0]

        for name, value in case.args.items():
            if isinstance(value, op_cases.Fed):
                args[name] = placeholder(value)
            elif isinstance(value, list) and value and isinstance(value[0], op_cases.Fed):
                args[name] = [placeholder(fed) for fed in value]
            else:
                args[name] = value
        result = case.build(args) if case.build else getattr(tf.raw_ops, case.op)(**args)
        flat = [t for t in tf.nest.flatten(result) if isinstance(t, tf.Tensor)]
        flat = [flat[i] for i in case.outputs] if case.outputs is not None else flat
    return graph, feeds, flat


def expected(case, graph, feeds, flat):
    """What TensorFlow gives for the fetched tensors."""
    if case.by_compiler:
        names = list(case.args)
        compiled = tf.function(lambda *a: case.build(dict(zip(names, a))), jit_compile=True, autograph=False)
        return [np.asarray(t) for t in tf.nest.flatten(compiled(*[tf.constant(case.args[n].array) for n in names]))]
    # One thread: with more, some random kernels give each thread a stretch of the stream.
    one = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1)
    with tf.compat.v1.Session(graph=graph, config=one) as session:
        return session.run(flat, {ph: a for ph, a in feeds})


def every_case(seed, draws):
    """All cases but the fused ones, which need oneDNN's kernels; of another seed than 0 only those drawn at random."""
    every = itertools.chain(op_cases.basic_cases(), more_cases()) if seed == 0 else ()
    return itertools.chain(every, random_cases(seed, draws))


def run_case(library, case, options):
    graph, feeds, flat = make_graph(case)
    want = expected(case, graph, feeds, flat)
    loaded = xc_graph.Graph(
        library,
        graph.as_graph_def(),
        [ph.name for ph, _ in feeds],
        [t.name for t in flat],
        min_cluster_size=0,
        **options
    )
    got = loaded.run([a for _, a in feeds])
    if len(got) != len(want):
        return "%d outputs, expected %d" % (len(got), len(want))
    for i, (g, w) in enumerate(zip(got, want)):
        problem = compare(g, np.array(w, object) if isinstance(w, bytes) else np.asarray(w))
        if problem:
            return "output %d %s" % (i, problem)
    if case.compiled and options.get("mode") == "jit":
        stats = loaded.stats()
        if stats.clusters < 1 or stats.fallbacks:
            return "was not compiled (clusters %d, fallbacks %d): %s" % (
                stats.clusters,
                stats.fallbacks,
                " / ".join(loaded.explain().strip().splitlines()[1:4]),
            )
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--only", default="")
    parser.add_argument("--platform", default="cpu")
    parser.add_argument("--mode", default="jit")
    parser.add_argument("--verbose", action="store_true", help="name each case before it runs")
    parser.add_argument("--seed", type=int, default=0, help="random cases of another seed, and nothing else")
    parser.add_argument("--draws", type=int, default=3, help="random cases per family")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--fused", action="store_true", help="fused ops only; with TF_ENABLE_ONEDNN_OPTS=1")
    flags = parser.parse_args()
    library = xc_graph.Library(os.path.abspath(flags.library))
    shard, shards = int(os.environ.get("TEST_SHARD_INDEX", 0)), int(os.environ.get("TEST_TOTAL_SHARDS", 1))
    if "TEST_SHARD_STATUS_FILE" in os.environ:
        open(os.environ["TEST_SHARD_STATUS_FILE"], "w").close()
    passed, failed, ops, failed_ops = 0, 0, set(), set()
    cases = fused_cases() if flags.fused else every_case(flags.seed, flags.draws)
    number = -1
    for number, case in enumerate(cases):
        if not re.search(flags.only, case.op) or number % flags.stride or number % shards != shard:
            continue
        if flags.verbose:
            print(case.name[:200], flush=True)
        try:
            problem = run_case(library, case, {"platform": flags.platform, "mode": flags.mode})
        except xc_graph.XcError as e:
            problem = "error: %s" % e
        except Exception as e:  # TensorFlow refused the case: the case is wrong
            problem = "TensorFlow: %s" % str(e).split("\n")[0]
        if problem:
            failed += 1
            failed_ops.add(case.op)
            print("FAILED %s: %s" % (case.name, problem[:300]), flush=True)
        else:
            passed += 1
            ops.add(case.op)
    count = FUSED_CASES if flags.fused else CASES
    if flags.seed == 0 and flags.draws == parser.get_default("draws") and number + 1 != count:
        failed += 1
        print("FAILED %d cases, expected %d" % (number + 1, count))
    print("%d ops right in all their cases" % len(ops - failed_ops))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
