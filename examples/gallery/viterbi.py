"""Viterbi's algorithm: the likeliest states of a hidden Markov model."""

import numpy as np
import xla


@xla.compile
def program(start, move, emit, seen):
    """Logarithms of probabilities start (k,), move (k, k), emit (k, m); seen (n,) integers: states (n,), log likelihood."""
    n, k = len(seen), len(start)
    score = start + emit[:, seen[0]]
    came_from = np.zeros((n, k), np.int64)
    for t in range(1, n):
        through = score[:, None] + move
        came_from[t] = through.argmax(axis=0)
        score = through.max(axis=0) + emit[:, seen[t]]
    states = np.zeros(n, np.int64)
    states[n - 1] = score.argmax()
    for t in range(n - 2, -1, -1):
        states[t] = came_from[t + 1, states[t + 1]]
    return states, score.max()


def inputs(small, rng):
    n, k, m = (25, 3, 4) if small else (3000, 16, 20)
    logs = lambda *shape: np.log(rng.dirichlet(np.ones(shape[-1]), shape[:-1]))
    return logs(k), logs(k, k), logs(k, m), rng.integers(0, m, n)
