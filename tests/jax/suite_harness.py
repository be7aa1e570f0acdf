"""Every primitive of lax with the arguments that JAX keeps for its own comparisons between platforms."""

import jax
import numpy as np


def cases():
    from jax._src.internal_test_util import test_harnesses

    for harness in test_harnesses.all_harnesses:

        def run(harness=harness):
            arguments = harness.dyn_args_maker(np.random.RandomState(17))
            return jax.jit(harness.dyn_fun)(*arguments)

        yield harness.fullname, run
