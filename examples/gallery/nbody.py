"""Bodies that attract each other, moved by the leapfrog method."""

import numpy as np
import xla


@xla.compile(static_argnames="steps")
def program(position, velocity, mass, steps=100, dt=0.01):
    """position, velocity (n, 3), mass (n,): both after `steps`, and the energy."""
    for _ in range(steps):
        velocity = velocity + 0.5 * dt * acceleration(position, mass)
        position = position + dt * velocity
        velocity = velocity + 0.5 * dt * acceleration(position, mass)
    return position, velocity, 0.5 * (mass * (velocity**2).sum(axis=1)).sum()


def acceleration(position, mass):
    offset = position[None, :, :] - position[:, None, :]
    distance = (offset**2).sum(axis=2) + 1e-2
    return (offset * (mass / (distance * np.sqrt(distance)))[:, :, None]).sum(axis=1)


def inputs(small, rng):
    n = 5 if small else 100
    return rng.normal(size=(n, 3)), 0.1 * rng.normal(size=(n, 3)), rng.random(n) / n
