"""Finds out whether random numbers are drawn while a function is traced: then they are constants of the program."""

import random

import numpy as np

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


def _state(generator):
    """What changes when a generator draws a number."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
        return repr(state["state"]) if "key" not in state["state"] else (state["state"]["pos"], _key(state))
    return repr(generator.bit_generator.state)


def _key(state):
    return state["state"]["key"].tobytes()


def _reachable(function):
    """Generators that a function finds in its globals, its closure and its default arguments."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
    names = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    return [value for value in (*cells, *names, *(function.__defaults__ or ())) if isinstance(value, _GENERATORS)]


def _is_full(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


class watch:
    """While it is entered, `drawn` collects from where random numbers are taken: NumPy's and Python's global generators,
    generators that the function finds around it, and those that np.random.default_rng makes meanwhile."""

    def __init__(self, function):
        self.drawn = set()
        self._watched = [("np.random", np.random.mtrand._rand), ("Python's random", random._inst)]
        self._watched += [("a generator of outside", generator) for generator in _reachable(function)]

    def __enter__(self):
        self._before = [_state(generator) for _, generator in self._watched]
        self._default_rng = np.random.default_rng
        np.random.default_rng = self._make
        return self

    def __exit__(self, *error):
        np.random.default_rng = self._default_rng
        for (name, generator), before in zip(self._watched, self._before):
            if _state(generator) != before:
                self.drawn.add(name)

    def _make(self, *args, **kwargs):
        generator = self._default_rng(*args, **kwargs)
        self._watched.append(("np.random.default_rng", generator))
        self._before.append(_state(generator))
        return generator
