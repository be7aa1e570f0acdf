"""A Kalman filter that follows a moving point from noisy measurements."""

import numpy as np
import xla


@xla.compile
def program(measured, move, observe, noise, blur):
    """measured (n, m), move (d, d), observe (m, d), noise (d, d), blur (m, m): estimated states (n, d)."""
    d = move.shape[0]
    state, spread = np.zeros(d), np.eye(d)
    states = np.zeros((len(measured), d))
    for i, seen in enumerate(measured):
        state = move @ state
        spread = move @ spread @ move.T + noise
        innovation = observe @ spread @ observe.T + blur
        gain = np.linalg.solve(innovation, observe @ spread).T
        state = state + gain @ (seen - observe @ state)
        spread = spread - gain @ observe @ spread
        states[i] = state
    return states


def inputs(small, rng):
    n = 20 if small else 2000
    dt = 0.1
    move = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]])
    observe = np.eye(2, 4)
    path = np.cumsum(rng.normal(size=(n, 2)), axis=0) * dt
    return path + 0.1 * rng.normal(size=(n, 2)), move, observe, 0.01 * np.eye(4), 0.01 * np.eye(2)
