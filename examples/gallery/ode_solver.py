"""The Van der Pol oscillator by the Runge-Kutta method of Bogacki and Shampine, with steps as long as the error allows."""

import numpy as np
import xla


def slope(state, stiffness):
    x, v = state
    return np.stack([v, stiffness * (1 - x * x) * v - x])


@xla.compile
def program(state, stiffness, end, tolerance):
    """state (2,): the state at time `end`, and how many steps were taken and thrown away."""
    time, dt = 0.0, 0.01
    taken, thrown = 0, 0
    k1 = slope(state, stiffness)
    while time < end:
        dt = min(dt, end - time)
        k2 = slope(state + 0.5 * dt * k1, stiffness)
        k3 = slope(state + 0.75 * dt * k2, stiffness)
        new = state + dt * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = slope(new, stiffness)
        error = np.abs(dt * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).max()
        if error <= tolerance:
            time, state, k1 = time + dt, new, k4
            taken += 1
        else:
            thrown += 1
        factor = 0.9 * (tolerance / max(error, 1e-30)) ** (1 / 3)
        dt = dt * np.clip(factor, 0.2, 5.0)
        if taken + thrown >= 100000:
            break
    return state, taken, thrown


def inputs(small, rng):
    return np.array([2.0, 0.0]), 5.0, 2.0 if small else 50.0, 1e-6
