"""xla.compile: the decorator, its cache of compiled programs, and what can be seen of them."""

import functools
import inspect
from collections import OrderedDict

import numpy as np

from . import _core, _errors, _hlo, _load, _pytree
from ._trace import signature_of, trace
from ._tracer import Tracer

# Compiled programs that one function keeps at most; the least recently used goes first.
MAX_SIGNATURES = 1000


def compile(
    function=None,
    *,
    static_argnums=(),
    static_argnames=(),
    donate_argnums=(),
    platform="cpu",
    threads=0,
    options=None,
):
    """Compiles a function of NumPy arrays, once for each combination of types and shapes that it is called with.

    Use it as a decorator, with or without arguments.

    function: plain Python that computes with NumPy; it may take and return arrays and numbers in tuples, lists, dicts,
      named tuples and dataclasses. It is traced: Python code runs when it is compiled, NumPy's operations when it is called.
    static_argnums, static_argnames: arguments that are constants of the program (sizes, axes, strings, functions); they
      must be hashable, and each value gives a program of its own.
    donate_argnums: arguments whose memory the call may overwrite.
    platform: "cpu", or "interpreter", which is slow and plain.
    threads: how many threads a call may use at most; 0 for all.
    options: a dict of the compiler's options, such as {"disabled_passes": "fusion"}.

    >>> @compile
    ... def f(x):
    ...     return x * 2
    >>> f(np.arange(3.0))
    array([0., 2., 4.])
    """
    if function is None:
        return functools.partial(
            compile,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            platform=platform,
            threads=threads,
            options=options,
        )
    return CompiledFunction(function, static_argnums, static_argnames, donate_argnums, platform, threads, options)


def _options_text(platform, options):
    lines = [f"platform={platform}"]
    for key, value in (options or {}).items():
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        lines.append(f"{key}={int(value) if isinstance(value, bool) else value}")
    return "\n".join(lines)


class _Entry:
    __slots__ = ("executable", "traced")

    def __init__(self, executable, traced):
        self.executable, self.traced = executable, traced


class CompiledFunction:
    """What xla.compile gives: call it as the function."""

    def __init__(self, function, static_argnums, static_argnames, donate_argnums, platform, threads, options):
        functools.update_wrapper(self, function)
        as_tuple = lambda x: (x,) if isinstance(x, (int, str)) else tuple(x)
        self._static_argnums, self._static_argnames = as_tuple(static_argnums), frozenset(as_tuple(static_argnames))
        self._donate_argnums = as_tuple(donate_argnums)
        self._platform, self._threads, self._options = platform, threads, dict(options or {})
        self._entries = OrderedDict()

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def _split(self, args, kwargs):
        """(static arguments, tree of the others)."""
        n = len(args)
        nums = {i % n if -n <= i < n else None for i in self._static_argnums}
        static = tuple((i, type(args[i]), args[i]) for i in sorted(nums - {None}))
        named = tuple((k, type(kwargs[k]), kwargs[k]) for k in sorted(kwargs) if k in self._static_argnames)
        tree = (
            [a for i, a in enumerate(args) if i not in nums],
            {k: v for k, v in kwargs.items() if k not in self._static_argnames},
        )
        return (n, static, named), tree

    @staticmethod
    def _caller(static):
        n, positional, named = static
        fixed = {i: value for i, _, value in positional}

        def call(function, tree):
            rest = iter(tree[0])
            args = [fixed[i] if i in fixed else next(rest) for i in range(n)]
            return function(*args, **tree[1], **{k: value for k, _, value in named})

        return call

    def _find(self, args, kwargs):
        """(entry, leaves) for a call's arguments; compiled if it is new."""
        static, tree = self._split(args, kwargs)
        leaves, structure = _pytree.flatten(tree)
        signatures = tuple(signature_of(leaf) for leaf in leaves)
        key = (static, structure, signatures)
        entry = self._entries.get(key)
        if entry is None:
            traced = trace(self.__wrapped__, self.__name__, structure, signatures, self._caller(static))
            executable = _core.Executable(
                traced.hlo.encode(), _options_text(self._platform, self._options), traced.out_dtypes
            )
            entry = self._entries[key] = _Entry(executable, traced)
            while len(self._entries) > MAX_SIGNATURES:
                self._entries.popitem(last=False)
        return entry, leaves

    def __call__(self, *args, **kwargs):
        if _hlo.is_tracing():
            return self.__wrapped__(*args, **kwargs)
        entry, leaves = self._find(args, kwargs)
        arrays = [np.asarray(leaf) for leaf in leaves] + entry.traced.hoisted
        results = entry.executable.run(arrays, self._threads)
        return _pytree.unflatten(entry.traced.out_structure, [r[()] if r.ndim == 0 else r for r in results])

    def lower(self, *args, **kwargs):
        """The program for arguments like these, without running it."""
        static, tree = self._split(args, kwargs)
        leaves, structure = _pytree.flatten(tree)
        signatures = tuple(signature_of(leaf) for leaf in leaves)
        return Lowered(trace(self.__wrapped__, self.__name__, structure, signatures, self._caller(static)))


class Lowered:
    """A function lowered to HLO for one signature."""

    def __init__(self, traced):
        self._traced = traced

    def hlo(self):
        """The HLO text before any pass."""
        return self._traced.hlo
