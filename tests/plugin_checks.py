"""What the checks of the plugin share. Importing this starts TensorFlow with the plugin that the command line names.

usage of scripts with checks: SCRIPT PLUGIN.so TF.py [NAME…]   (TF.py: python/xla/tf.py; NAME: only these checks)
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("XC_TF_POLICY", "now")
os.environ.setdefault("XC_TF_COST_GATE", "0")  # what is slower on a busy machine must run all the same
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

from import_file import import_file

CHECKS = []

_two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], _two)
xla_tf = import_file(sys.argv[2], "xla_tf")
xla_tf.load(os.path.abspath(sys.argv[1]))


def check(function):
    CHECKS.append(function)
    return function


def launches():
    return xla_tf.stats().launches


class launched:
    """At least `count` launches happened inside."""

    def __init__(self, count=1):
        self.count = count

    def __enter__(self):
        self.before = launches()

    def __exit__(self, kind, value, trace):
        if kind is None:
            ran = launches() - self.before
            assert ran >= self.count, f"{ran} launches, expected at least {self.count}\n{xla_tf.report()}"


def alone(function, *args, **kwargs):
    """The result of a fresh trace with clustering off."""
    xla_tf.disable()
    try:
        return function(*args, **kwargs)
    finally:
        xla_tf.enable()


def same(make, *args, rtol=1e-4, atol=1e-5, count=1):
    """make() gives a function; with clustering it gives what it gives without."""
    expected = alone(lambda: tf.nest.map_structure(np.asarray, make()(*args)))
    with launched(count):
        got = tf.nest.map_structure(np.asarray, make()(*args))
    tf.nest.map_structure(lambda g, e: np.testing.assert_allclose(g, e, rtol=rtol, atol=atol), got, expected)


def run_checks():
    names = sys.argv[3:]
    unknown = set(names) - {function.__name__ for function in CHECKS}
    if unknown:
        sys.exit(f"there is no check {', '.join(sorted(unknown))}")
    for function in CHECKS:
        if not names or function.__name__ in names:
            print(function.__name__, flush=True)
            function()
    print(xla_tf.stats())
