"""Runs cases of suites with the JAX of this process and writes what they give to a file: see beside.py.

usage: worker.py OUT SUITE… [--only=REGEX] [--part=I/N] [--verbose]
"""

import argparse
import importlib
import pathlib
import pickle
import re
import sys
import warnings
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
warnings.simplefilter("ignore")

import jax
import numpy as np


def to_host(value):
    """Arrays of the host, in a list, of whatever JAX returns."""
    if isinstance(value, str):
        return value
    return [leaf_to_host(leaf) for leaf in jax.tree_util.tree_leaves(value)]


def leaf_to_host(leaf):
    if isinstance(leaf, str):
        return leaf
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.array(leaf)


def outcome(function):
    np.random.seed(17)
    try:
        return {"value": to_host(function())}
    except Exception as error:  # whatever a case raises is its outcome
        lines = str(error).strip().splitlines()
        return {"error": f"{type(error).__name__}: {lines[0] if lines else ''}"[:600]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--after", default="", help="a case at which an earlier process ended")
    options = parser.parse_args()
    waiting = options.after
    part, parts = map(int, options.part.split("/"))
    with open(options.out, "ab") as out:
        for suite in options.suites:
            for number, (name, function) in enumerate(importlib.import_module(f"suite_{suite}").cases()):
                name = f"{suite}/{name}"
                # By name: two processes may list the same cases in other orders.
                if zlib.crc32(name.encode()) % parts != part or not re.search(options.only, name):
                    continue
                if waiting:
                    waiting = "" if name == waiting else waiting
                    continue
                pickle.dump((name, {"error": "the process ends"}), out)
                out.flush()
                if options.verbose:
                    print(name, file=sys.stderr, flush=True)
                pickle.dump((name, outcome(function)), out)
                out.flush()
                if number % 500 == 499:
                    jax.clear_caches()


if __name__ == "__main__":
    main()
