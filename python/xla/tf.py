"""Clustering inside TensorFlow: switches, statistics and the report. `import tensorflow` itself turns clustering on where
the wheel is installed; `load(path)` does it for a library that lies elsewhere.

>>> import xla.tf  # after `import tensorflow`
>>> xla.tf.configure(policy="now", min_cluster_size=3)
>>> xla.tf.stats().launches
0
"""

import bisect
import contextlib
import ctypes
import dataclasses
import gzip
import json
import os

__all__ = [
    "Error",
    "Profile",
    "Stats",
    "configure",
    "disable",
    "enable",
    "load",
    "profile",
    "report",
    "settings",
    "stats",
    "wait",
]

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAMES = ["graphs", "clusters", "launches", "host_runs", "compilations", "failures"]
_NAMES += ["ops", "clustered_ops", "given_back", "launch_arguments"]
_library = None


class Error(ValueError):
    """A setting that does not exist or cannot have this value."""


class _CStats(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_int64) for name in _NAMES]
        + [("launch_nanoseconds", ctypes.c_int64), ("compiled_nanoseconds", ctypes.c_int64)]
        + [("compile_seconds", ctypes.c_double), ("pending_compilations", ctypes.c_int64)]
        + [("shared_launches", ctypes.c_int64), ("own_codes", ctypes.c_int64)]
    )


@dataclasses.dataclass(frozen=True)
class Stats:
    """Totals over the process."""

    graphs: int  # graphs and functions that got launch nodes
    clusters: int  # different clusters among them
    launches: int  # runs of compiled clusters
    host_runs: int  # runs of clusters by TensorFlow's own kernels
    compilations: int
    failures: int  # clusters that could not be compiled for some shapes
    ops: int  # ops that compute something, of all graphs that came
    clustered_ops: int  # those of them that went into clusters
    given_back: int  # sets of shapes of a cluster that were slower than TensorFlow's kernels
    launch_arguments: int  # arguments of all launches
    launch_seconds: float  # inside launches, compiled code included
    compiled_seconds: float  # inside compiled code
    compile_seconds: float
    pending_compilations: int
    shared_launches: int  # launches with code for a larger batch than their arguments have
    own_codes: int  # compilations of exact code for a batch size that came often with such code


def _opened_library():
    """The core library that the plugin opened in this process, or that the package xla did; "" for none."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = sorted({line.rstrip("\n").split(maxsplit=5)[-1] for line in maps})
    for path in paths:
        if path.endswith("/xc_tensorflow.so"):
            shim = ctypes.CDLL(path)
            shim.xc_tensorflow_library.restype = ctypes.c_char_p
            if opened := os.fsdecode(shim.xc_tensorflow_library()):
                return opened
    return next((path for path in paths if path.endswith("/libxc.so")), "")


def _core():
    global _library
    if _library is None:
        path = _opened_library() or os.environ.get("XC_LIBRARY") or os.path.join(_HERE, "libxc.so")
        try:
            _library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        except OSError as error:
            named = "XC_LIBRARY names" if path == os.environ.get("XC_LIBRARY") else "the core library is"
            raise Error(f"{named} {path}, which cannot be opened: {error}") from None
        _library.xc_plugin_configure.restype = ctypes.c_void_p
        _library.xc_plugin_configure.argtypes = [ctypes.c_char_p]
        _library.xc_plugin_settings.restype = ctypes.c_void_p
        _library.xc_plugin_report.restype = ctypes.c_void_p
        _library.xc_plugin_profile_start.restype = None
        _library.xc_plugin_profile_stop.restype = ctypes.c_void_p
        _library.xc_plugin_report.argtypes = [ctypes.c_char_p]
        _library.xc_plugin_get_stats.restype = _CStats
        _library.xc_plugin_wait.argtypes = [ctypes.c_double]
        _library.xc_status_message.restype = ctypes.c_char_p
        _library.xc_status_message.argtypes = [ctypes.c_void_p]
        _library.xc_status_free.argtypes = [ctypes.c_void_p]
        _library.xc_string_free.argtypes = [ctypes.c_void_p]
    return _library


def _take_string(pointer):
    text = ctypes.string_at(pointer).decode()
    _core().xc_string_free(pointer)
    return text


def load(path):
    """Loads the plugin's library from `path` into TensorFlow; not needed where the wheel is installed.

    >>> xla.tf.load("xc_tensorflow.so")  # doctest: +SKIP
    """
    from tensorflow.python.framework import load_library

    load_library.load_pluggable_device_library(path)


def configure(**values):
    """Changes settings: those of clustering hold for functions traced from now on, the others at once.

    values: numbers, bools and texts by name; lists of ops are sequences of names. See settings() for all of them.

    >>> xla.tf.configure(min_cluster_size=3, deny=["Conv2D", "MatMul"])
    >>> xla.tf.settings()["deny"]
    'Conv2D,MatMul'
    """
    lines = []
    for key, value in values.items():
        if isinstance(value, bool):
            value = int(value)
        elif isinstance(value, (list, tuple, set, frozenset)):
            value = ",".join(value)
        lines.append(f"{key}={value}")
    status = _core().xc_plugin_configure("\n".join(lines).encode())
    if status:
        message = _core().xc_status_message(status).decode()
        _core().xc_status_free(status)
        raise Error(message)


def enable():
    """Functions traced from now on are clustered again.

    >>> xla.tf.enable()
    >>> xla.tf.settings()["enabled"]
    '1'
    """
    configure(enabled=True)


def disable():
    """Functions traced from now on stay as they are.

    >>> xla.tf.disable()
    >>> xla.tf.settings()["enabled"]
    '0'
    """
    configure(enabled=False)


def settings():
    """All settings, as a dict of texts.

    >>> sorted(xla.tf.settings())[:3]
    ['allow', 'buckets', 'caller_thread']
    """
    return dict(line.split("=", 1) for line in _take_string(_core().xc_plugin_settings()).splitlines())


def stats():
    """Totals over the process so far: a Stats, whose fields are numbers.

    >>> xla.tf.stats().launches >= 0
    True
    """
    raw = _core().xc_plugin_get_stats()
    return Stats(
        **{name: getattr(raw, name) for name in _NAMES},
        launch_seconds=raw.launch_nanoseconds * 1e-9,
        compiled_seconds=raw.compiled_nanoseconds * 1e-9,
        compile_seconds=raw.compile_seconds,
        pending_compilations=raw.pending_compilations,
        shared_launches=raw.shared_launches,
        own_codes=raw.own_codes,
    )


def wait(seconds=60.0):
    """Waits until nothing is being compiled in the background; False if that took longer than `seconds`, a number.

    >>> xla.tf.wait(seconds=1.0)
    True
    """
    return bool(_core().xc_plugin_wait(seconds))


class Profile:
    """What compiled clusters did while it was recorded: `str` is a table, `trace` is JSON text in the Trace Event format."""

    def __init__(self):
        self.trace = ""

    def __str__(self):
        """A table: the clusters that were launched, then what took the time in them, the longest first."""
        events = [e for e in json.loads(self.trace or '{"traceEvents": []}')["traceEvents"] if e["ph"] == "X"]
        launches = [e for e in events if e["cat"] == "launch"]
        # Helpers do parts of what the launching thread's events tell as a whole.
        spans = {}
        for e in launches:
            spans.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
        for of_thread in spans.values():
            of_thread.sort()

        def launching(e):
            of_thread = spans.get(e["tid"], [])
            at = bisect.bisect(of_thread, (e["ts"], float("inf"))) - 1
            return at >= 0 and e["ts"] <= of_thread[at][1]

        told = [e for e in events if e["cat"] != "launch" and launching(e)]
        lines = [f"{'total ms':>10} {'times':>7} {'mean µs':>10} {'GFLOP/s':>9} {'GB/s':>7}  what"]
        for rows in (launches, told):
            sums = {}
            for e in rows:
                args = e["args"]
                what = f"{e['cat']} {e['name']}"
                if "shape" in args:
                    what += f" ({args['detail']}, {args['shape']})  {args.get('op_name', '')}".rstrip()
                row = sums.setdefault(what, [0, 0, 0, 0])
                for i, value in enumerate((1, e["dur"], args.get("flops", 0), args.get("bytes", 0))):
                    row[i] += value
            for what, (count, us, flops, moved) in sorted(sums.items(), key=lambda item: -item[1][1]):
                rates = [f"{n / us / 1e3:.1f}" if n and us else "-" for n in (flops, moved)]
                lines.append(f"{us / 1e3:10.3f} {count:7} {us / count:10.1f} {rates[0]:>9} {rates[1]:>7}  {what}")
        return "\n".join(lines)

    def save(self, path):
        """Writes the trace to the file `path` (.json or .json.gz) for Perfetto, or, below the folder `path`, where
        TensorBoard looks for it.

        >>> import os, tempfile
        >>> with xla.tf.profile() as profile:
        ...     pass
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     profile.save(os.path.join(folder, "trace.json"))
        ...     os.listdir(folder)
        ['trace.json']
        """
        path = os.fspath(path)
        if path.endswith(os.sep) or os.path.isdir(path):
            path = os.path.join(path, "plugins", "profile", "xla", "xla.trace.json.gz")
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with (gzip.open if path.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
            file.write(self.trace)


@contextlib.contextmanager
def profile():
    """Records what compiled clusters do within a `with` block: each launch, and the kernels, library calls and loops of
    clusters that are compiled within it. Gives a Profile.

    >>> with xla.tf.profile() as profile:
    ...     pass
    >>> "traceEvents" in profile.trace
    True
    """
    found = Profile()
    _core().xc_plugin_profile_start()
    try:
        yield found
    finally:
        found.trace = _take_string(_core().xc_plugin_profile_stop())


def report(format="text"):
    """What was clustered and compiled, with times, and why the rest was left out: a text.

    format: "text" or "html".

    >>> xla.tf.report().splitlines()[0]
    'xla.tf'
    """
    if format not in ("text", "html"):
        raise Error(f"there is no report format '{format}'; there are text and html")
    return _take_string(_core().xc_plugin_report(format.encode()))
