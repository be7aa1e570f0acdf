"""xla.compile: the decorator and its table of compiled programs."""

import difflib
import functools
import html
import inspect
import sys
import threading
import time
import types
from collections import OrderedDict, namedtuple

import numpy as np

from . import _core, _deploy, _errors, _explain, _hlo, _notices, _pytree, _random_watch, _sizes, _tracebacks
from ._lowered import Lowered, compile_text
from ._options import options_text
from ._trace import from_dlpack, result_of, signature_of, trace

# Compiled programs that one function keeps at most; the least recently used goes first.
MAX_SIGNATURES = 512
# Sizes of an exported function that have code each.
_MOST_OWN_SIZES = 4
# Seconds after which a compilation says that it is going on.
PATIENCE = 5.0

CacheInfo = namedtuple("CacheInfo", "hits misses signatures max_signatures code_bytes compile_seconds disk_hits")
CacheInfo.__doc__ = """Calls that found their program, calls that made one, programs kept, and what these cost; of the programs
made, how many came from the cache directory."""


@_tracebacks.for_users
def compile(
    function=None,
    *,
    static_argnums=(),
    static_argnames=(),
    donate_argnums=(),
    platform=None,
    threads=0,
    options=None,
    dynamic=None,
):
    """Compiles a function of NumPy arrays, once for each combination of types and shapes that it is called with. Where
    sizes keep changing, one code serves them all from the third signature on.

    Use it as a decorator, with or without arguments.

    function: plain Python that computes with NumPy; it may take and return arrays and numbers in tuples, lists, dicts,
      named tuples and dataclasses. It is traced: Python code runs when it is compiled, NumPy's operations when it is called.
    static_argnums, static_argnames: arguments that are constants of the program (sizes, axes, strings, functions); they
      must be hashable, and each value gives a program of its own.
    donate_argnums: arguments whose memory a result of the same type and shape takes over; they must not be used afterwards.
    platform: "cpu", which is the default, or "interpreter", which is slow and plain.
    threads: how many threads a call may use at most; 0 for all.
    options: a dict of the compiler's options, such as {"disabled_passes": ["fusion"]} or {"compile_timeout_s": 60};
      {"cache_dir": "~/.cache/xla"} keeps compiled code between processes (so does the environment's XC_CACHE_DIR);
      {"excess_precision": True} computes in f32 what is written in float16 or bfloat16, with fewer roundings.
      xla.options() has all of them with what they do.
    dynamic: True makes code for all sizes in the first call, False never does. A further size is then traced and checked
      to be the same program but for numbers, which takes milliseconds; where it is another one, it gets code of its own.
      By default, no such code is made with the options dump_to, keep_texts and until_pass.

    >>> @compile
    ... def f(x, scale=2.0):          # x: any shape
    ...     return x * scale
    >>> f(np.arange(3.0))
    array([0., 2., 4.])
    >>> @compile(static_argnames="n")
    ... def powers(x, n):             # x: [k], result: [n, k]
    ...     return np.stack([x**i for i in range(n)])
    >>> powers(np.array([2.0, 3.0]), n=3).shape
    (3, 2)
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
            dynamic=dynamic,
        )
    if not callable(function):
        raise TypeError(f"xla.compile takes a function, not a {type(function).__name__}")
    return CompiledFunction(
        function, static_argnums, static_argnames, donate_argnums, platform, threads, options, dynamic
    )


def _rebuild(function, settings):
    """Unpickles a function that was compiled under a name that is not its own."""
    return CompiledFunction(function, *settings)


class _Entry:
    __slots__ = ("executable", "traced")

    def __init__(self, executable, traced):
        self.executable, self.traced = executable, traced


def _parameters(function):
    """Names of the positional parameters; empty if they cannot be known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _check_static(function, nums, names):
    """Refuses static arguments that the function cannot have."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    kinds = [p.kind for p in parameters.values()]
    name_of_function = getattr(function, "__name__", type(function).__name__)
    for name in names:
        if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            near = difflib.get_close_matches(name, parameters, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            _errors.fail(
                _errors.StaticArgumentError,
                f"static_argnames names {name!r}{hint}, but {name_of_function} has the parameters "
                f"{', '.join(parameters) or 'of none'}",
            )
    positional = sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)
    for i in nums:
        if not -positional <= i < positional and inspect.Parameter.VAR_POSITIONAL not in kinds:
            _errors.fail(
                _errors.StaticArgumentError,
                f"static_argnums has {i}, but {name_of_function} has {positional} positional parameters, counted from 0",
            )


class CompiledFunction(_core.Dispatcher):
    """What xla.compile gives: call it as the function. `__wrapped__` is the function itself.

    >>> f = xla.compile(lambda x: x * 2)
    >>> f(np.arange(3))
    array([0, 2, 4])
    """

    def __init__(
        self, function, static_argnums, static_argnames, donate_argnums, platform, threads, options, dynamic=None
    ):
        as_tuple = lambda x: (x,) if isinstance(x, (int, str)) else tuple(x)
        nums, names, donated = as_tuple(static_argnums), as_tuple(static_argnames), as_tuple(donate_argnums)
        parameters = _parameters(function)
        _check_static(function, nums, names)
        for name in names:
            if name in parameters and parameters.index(name) not in nums:
                nums += (parameters.index(name),)
        names += tuple(
            parameters[i] for i in nums if -len(parameters) <= i < len(parameters) and parameters[i] not in names
        )
        both = {i % len(parameters) if parameters else i for i in nums} & set(donated)
        if both:
            _errors.fail(
                _errors.DonationError, f"argument {min(both)} is both static and donated; static ones have no memory"
            )
        if any(i < 0 for i in donated):
            _errors.fail(_errors.DonationError, "donate_argnums are counted from 0")
        super().__init__(list(nums), list(names), int(threads), MAX_SIGNATURES)
        functools.update_wrapper(self, function)
        self._settings = (static_argnums, static_argnames, donate_argnums, platform, threads, options, dynamic)
        self._static_argnums, self._static_argnames, self._donated = nums, frozenset(names), donated
        self._options = options_text(platform, options)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._few = _sizes.wanted(dynamic, options)
        self._groups = {}  # by what their signatures have in common
        self._entries = OrderedDict()
        self._records = []
        self._lock = threading.Lock()
        self._compiling = {}
        self._misses = 0
        self._general = 0  # of the misses: served by code for all sizes
        self._loaded = 0
        self._slow_hits = 0
        self._warned_of_random = False
        self._warns = True  # of many compilations

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self):
        return f"<xla.compile of {getattr(self, '__qualname__', self._name)}, {len(self._entries)} programs>"

    def __reduce__(self):
        found = sys.modules.get(getattr(self, "__module__", None))
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        return _rebuild, (self.__wrapped__, self._settings)

    # How arguments become a signature.

    def _split(self, args, kwargs):
        """(static arguments, tree of the others)."""
        n = len(args)
        nums = {i + n if i < 0 else i for i in self._static_argnums}
        static = []
        for i in sorted(nums):
            if 0 <= i < n:
                static.append((i, *self._static(f"argument {i}", args[i])))
        for name in sorted(self._static_argnames & kwargs.keys()):
            static.append((name, *self._static(f"argument {name!r}", kwargs[name])))
        tree = (
            [a for i, a in enumerate(args) if i not in nums],
            {k: v for k, v in kwargs.items() if k not in self._static_argnames},
        )
        return (n, tuple(static)), tree

    def _static(self, what, value):
        """(type, value), so that 1 and 1.0 give different programs."""
        try:
            hash(value)
        except TypeError:
            _errors.fail(
                _errors.StaticArgumentError,
                f"{what} of {self._name} is static and must be hashable, but a {type(value).__name__} is not; give a tuple "
                "or a number, or leave it out of static_argnums and static_argnames",
            )
        return type(value), value

    def _signature(self, args, kwargs):
        """(key, static arguments, leaves, structure, signatures of the leaves, positions of the donated leaves)."""
        static, tree = self._split(args, kwargs)
        leaves, structure = _pytree.flatten(tree)
        signatures = tuple(signature_of(leaf, self._name) for leaf in leaves)
        donated = ()
        if self._donated:
            donated = self._donated_leaves(args)
        return (static, structure, signatures), static, leaves, structure, signatures, donated

    def _donated_leaves(self, args):
        """Positions of the leaves of donated arguments."""
        n, position, found = len(args), 0, []
        nums = {i + n if i < 0 else i for i in self._static_argnums}
        for i, arg in enumerate(args):
            if i in nums:
                continue
            count = len(_pytree.flatten(arg)[0])
            if i in self._donated:
                found += range(position, position + count)
            position += count
        for i in self._donated:
            if i >= n:
                _errors.fail(
                    _errors.DonationError,
                    f"argument {i} of {self._name} is donated, but only {n} arguments are given by position",
                )
        return tuple(found)

    @staticmethod
    def _caller(static):
        n, fixed = static
        fixed = {where: value for where, _, value in fixed}
        named = {where: value for where, value in fixed.items() if isinstance(where, str)}

        def call(function, tree):
            rest = iter(tree[0])
            args = [fixed[i] if i in fixed else next(rest) for i in range(n)]
            return function(*args, **tree[1], **named)

        return call

    # Calls that the table of the dispatcher does not know.

    def _call_slowly(self, args, kwargs):
        if _hlo.is_tracing():
            return self.__wrapped__(*args, **kwargs)
        key, static, leaves, structure, signatures, donated = self._signature(args, kwargs)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._compile_once(key, static, structure, signatures, donated)
        else:
            self._slow_hits += 1
            self._entries.move_to_end(key)
        out = entry.traced.out_structure
        kind = 0 if out is _pytree.LEAF else 1 if _pytree.is_flat_tuple(out) else 2
        kind = 2 if entry.traced.checks else kind
        unflatten = functools.partial(result_of, entry.traced)
        self._add(args, kwargs, entry.executable, kind, unflatten)
        try:
            return unflatten(self._run(entry.executable, [_as_leaf(leaf) for leaf in leaves]))
        except ValueError as error:
            if "donated" in str(error):
                raise _errors.DonationError(_errors.at_user(str(error))) from None
            raise

    def _compile_once(self, key, static, structure, signatures, donated):
        """The entry of a new signature; threads that ask for one at once compile it once."""
        with self._lock:
            lock = self._compiling.setdefault(key, threading.Lock())
        with lock:
            entry = self._entries.get(key)
            if entry is not None:
                return entry
            started = time.perf_counter()
            try:
                with _random_watch.watch(self.__wrapped__) as random:
                    traced = trace(self.__wrapped__, self._name, structure, signatures, self._caller(static), donated)
                traced_at = time.perf_counter()
                with _progress(self._name, traced):
                    # Tracing for other sizes would draw from the caller's random numbers.
                    others = not random.drawn
                    general = (
                        self._general_code(key, static, structure, signatures, donated, traced) if others else None
                    )
                    executable = compile_text(traced, self._options, general)
                entry = _Entry(executable, traced)
            finally:
                with self._lock:
                    self._compiling.pop(key, None)
            general = executable.is_general
            record = _explain.Record(key, traced_at - started, time.perf_counter() - traced_at, general)
            with self._lock:
                self._misses += 1
                self._general += general
                self._loaded += executable.was_loaded
                self._records.append(record)
                del self._records[: -_explain.KEPT]
                self._entries[key] = entry
                while len(self._entries) > MAX_SIGNATURES:
                    self._entries.popitem(last=False)
                records, count = list(self._records), self._misses - self._general
            _notices.compiled(self._name, records, executable.was_loaded, count if self._warns and not general else 0)
            if random.drawn and not self._warned_of_random:
                self._warned_of_random = True
                _notices.frozen(self._name, random.drawn)
            return entry

    def _general_code(self, key, static, structure, signatures, donated, traced):
        """Code for all sizes that may serve the signature; None where there is none."""
        if not self._few:
            return None
        with self._lock:
            if len(self._groups) >= MAX_SIGNATURES:
                self._groups.clear()
            group = self._groups.setdefault(_sizes.group_key(key), _sizes.Group(self._few))
        caller = self._caller(static)
        trace_of = lambda others: trace(self.__wrapped__, self._name, structure, others, caller, donated)
        return group.code(signatures, traced, trace_of, self._options)

    # Looking inside.

    def lower(self, *args, **kwargs):
        """The program for arguments like these, without running it: see Lowered.

        >>> print(compile(lambda x: x + 1).lower(np.zeros(3)).hlo())  # doctest: +ELLIPSIS
        HloModule ...
        """
        try:
            _, static, leaves, structure, signatures, donated = self._signature(args, kwargs)
            traced = trace(self.__wrapped__, self._name, structure, signatures, self._caller(static), donated)
        except Exception as error:
            _tracebacks.shorten(error)
            raise
        return Lowered(self._name, traced, self._options, [_as_leaf(leaf) for leaf in leaves])

    def profile(self, *args, **kwargs):
        """Where the time of a call with arguments like these goes: see Profile.

        >>> xla.compile(lambda x: np.tanh(x @ x)).profile(np.ones((64, 64))).run_ms > 0
        True
        """
        return self.lower(*args, **kwargs).profile(threads=int(self._settings[4]))

    def export(self, path, /, *args, cpu=(), also=(), any_size=(), **kwargs):
        """Compiles the function for arguments like these ahead of time, to the file `path`: see Lowered.export. `also` is a
        list of tuples of other arguments, which differ from these in sizes alone: the file is for them, too. Each of a few
        sizes has code of its own; more than four share code, where it serves them. `any_size` has, for each array (of
        containers, their leaves), the dimension that may be of any size, the same in all, or None; elements along it must
        be computed apart from each other, as those of a batch are.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "f.xcp")
        ...     xla.compile(lambda x, y: (x + y, x * y)).export(path, np.ones(3), np.ones(3))
        ...     xla.load(path)
        <program f.xcp: float64[3], float64[3] -> float64[3], float64[3]>
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "f.xcp")
        ...     xla.compile(np.negative).export(path, np.ones(3), also=[(np.ones(4),), (np.ones(5),)])
        ...     xla.load(path)(np.ones(5))
        ...     xla.compile(np.matmul).export(path, np.ones((8, 3)), np.ones((3, 2)), any_size=[0, None])
        ...     xla.load(path)(np.ones((12345, 3)), np.ones((3, 2))).shape
        array([-1., -1., -1., -1., -1.])
        (12345, 2)
        """
        every = [args, *also]
        lowered = [self.lower(*each, **kwargs) for each in every]
        _, static, _, structure, own, donated = self._signature(args, kwargs)
        samples, caller = [], self._caller(static)
        trace_of = lambda others: trace(self.__wrapped__, self._name, structure, others, caller, donated)
        if any_size:
            traced_at = lambda n: trace_of(_sizes.with_any_size(own, () if also else any_size, n))
            program = lambda n: Lowered(self._name, traced_at(n), self._options, lowered[0]._leaves)._program()
            programs = [[program(n) for n in sizes] for sizes in (_sizes.PIECES, _sizes.SAMPLES_OF_ANY)]
            return _deploy.export(*programs, path, cpu, _sizes.PIECES)
        if len(every) > _MOST_OWN_SIZES:
            found = [self._signature(each, kwargs)[4] for each in every]
            found = _sizes.samples_of(found, lowered[0]._traced, trace_of)
            samples = [Lowered(self._name, traced, self._options, lowered[0]._leaves) for traced in found]
        _deploy.export([each._program() for each in lowered], [each._program() for each in samples], path, cpu)

    def cache_info(self):
        """Hits, misses and costs of this function's programs: a CacheInfo, whose fields are numbers.

        >>> f = xla.compile(lambda x: x + 1)
        >>> _ = f(np.zeros(3)), f(np.ones(3)), f(np.zeros(4))
        >>> f.cache_info().hits, f.cache_info().misses
        (1, 2)
        """
        entries = list(self._entries.values())
        return CacheInfo(
            self._hits + self._slow_hits,
            self._misses,
            len(entries),
            MAX_SIGNATURES,
            sum(e.executable.code_bytes for e in entries),
            sum(r.compile_seconds for r in self._records),
            self._loaded,
        )

    def clear_cache(self):
        """Forgets all compiled programs of this function.

        >>> f = xla.compile(lambda x: x + 1)
        >>> _ = f(np.zeros(3))
        >>> f.clear_cache()
        >>> f.cache_info().signatures
        0
        """
        with self._lock:
            self._entries.clear()
            self._records.clear()
            self._groups.clear()
        self._forget()

    def explain(self):
        """Why each program was compiled: a text with one paragraph for each of the last compilations.

        >>> f = xla.compile(np.sin)
        >>> f.explain()
        'sin has not been compiled.'
        """
        return _explain.explain(self._name, list(self._records))

    def _repr_html_(self):
        """A table of the programs, for notebooks."""
        records, escape = list(self._records), html.escape
        rows = "".join(
            f"<tr><td>{i + 1}</td><td><code>{escape(_explain.call_text(self._name, r))}</code></td>"
            f"<td>{1000 * r.trace_seconds:.1f}</td><td>{1000 * r.compile_seconds:.1f}</td>"
            f"<td>{escape('; '.join(_explain.reasons(records, i)) or 'the first compilation')}</td></tr>"
            for i, r in enumerate(records)
        )
        head = "".join(f"<th>{title}</th>" for title in ("", "program", "traced in ms", "compiled in ms", "why"))
        table = f"<table><tr>{head}</tr>{rows}</table>" if rows else ""
        return f"<p><code>{escape(repr(self))}</code></p>{table}"


def _as_leaf(leaf):
    """An argument as an array or a number that the extension takes."""
    if type(leaf) is np.ndarray and leaf.dtype.isnative or isinstance(leaf, (bool, np.generic)):
        return leaf
    if type(leaf) in (int, float, complex):
        return leaf
    if isinstance(leaf, np.ndarray):
        return np.asarray(leaf, leaf.dtype.newbyteorder("="))
    return from_dlpack(leaf)


class _progress:
    """Says on the standard error stream that a compilation takes long, while it does."""

    def __init__(self, name, traced):
        self.name, self.size = name, traced.hlo.count("\n")
        self.timer = threading.Timer(PATIENCE, self.say)
        self.timer.daemon = True

    def say(self):
        print(
            f"xla: compiling {self.name} ({self.size} lines of HLO) for over {PATIENCE:g} s",
            file=sys.stderr,
            flush=True,
        )

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *error):
        self.timer.cancel()
