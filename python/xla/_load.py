"""The core library that lies beside the package: opened when something is first compiled, so that the import is quick."""

import filecmp
import functools
import os

from . import _core

_HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(_HERE, "libxc.so")
TOOL = os.path.join(_HERE, "bin", "xla")


def _loaded_library():
    """The core library that something else, such as the plugin for TensorFlow, has opened; "" if nothing has."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.rstrip("\n").split(maxsplit=5)[-1] for line in maps}
    return min((path for path in paths if path.endswith("/libxc.so")), default="")


@functools.cache
def library_path():
    """The file of the core library: the one that is loaded already, if it is a copy of this package's."""
    loaded = _loaded_library()
    return loaded if loaded and filecmp.cmp(loaded, LIBRARY, shallow=False) else LIBRARY


@functools.cache
def open_library():
    """Opens the core library, once."""
    _core.load(library_path())


def cache_stats():
    """Counters of the process-wide cache of compiled programs, which all functions share.

    A dict of numbers: entries, bytes, budget_bytes, hits, misses, waits, evictions, compile_seconds; of the misses,
    disk_hits were loaded from a cache directory, and disk_writes programs were written to one.

    >>> stats = cache_stats()
    >>> stats["bytes"] <= stats["budget_bytes"]
    True
    """
    open_library()
    return _core.cache_stats()


def cache_clear():
    """Drops all programs from the process-wide cache; functions keep those that they hold (f.clear_cache).

    >>> cache_clear()
    >>> cache_stats()["entries"]
    0
    """
    open_library()
    _core.cache_clear()


def cache_set_budget(bytes):
    """Sets how many bytes of code and constants, an int, the process-wide cache keeps at most; the least recently used
    programs go first.

    >>> cache_set_budget(1 << 30)
    >>> cache_stats()["budget_bytes"]
    1073741824
    """
    open_library()
    _core.cache_set_budget(bytes)
