"""Profiles of functions, and programs compiled ahead of time: written, and loaded where there is no compiler at work.

Both use the command and the library that lie beside the package."""

import ctypes
import functools
import gzip
import json
import os
import subprocess
import tempfile

import numpy as np

from . import _load, _tracebacks

# NumPy's types by the numbers of PrimitiveType; those of ml_dtypes by name.
_TYPES = {
    1: "bool",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    15: "complex64",
    16: "bfloat16",
    18: "complex128",
    19: "float8_e5m2",
    20: "float8_e4m3fn",
}

_MOST_OTHERS = 64  # programs of one file for other sizes that are kept


def _tool(*arguments):
    """What the command prints with --json, as a dict."""
    command = [_load.TOOL, *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().removeprefix("error: "))
    return json.loads(done.stdout)


def _time(ms):
    return f"{ms:.3f} ms" if ms >= 0.1 else f"{ms * 1000:.2f} µs"


class Profile:
    """Where the time of a compiled function goes: `str(profile)` is a table, the longest first; notebooks show it with a
    roofline picture.

    `sites` is a list of dicts, one for each kernel, library call and loop: name, kind, detail, shape, source, count,
    self_ms, total_ms, flops, gflops, bytes, gbps and what part of this machine's measured ceilings that is.
    """

    def __init__(self, found, trace, roofline):
        self._found, self._trace, self._roofline = found, trace, roofline

    @property
    def sites(self):
        return self._found["sites"]

    @property
    def run_ms(self):
        """Milliseconds of one run, on average."""
        return self._found["run_ms"]

    @property
    def peak_gflops(self):
        return self._found["peak_gflops"]

    @property
    def peak_gbps(self):
        return self._found["peak_gbps"]

    def __str__(self):
        runs = self._found["runs"]
        lines = [
            f"{self._found['module']}: {_time(self.run_ms)} a run ({runs} runs); "
            f"this machine reaches {self.peak_gflops:.0f} GFLOP/s and {self.peak_gbps:.1f} GB/s",
            f"{'self ms':>10} {'of run':>7} {'GFLOP/s (peak)':>16} {'GB/s (peak)':>16}  what",
        ]
        for site in self.sites:
            part = 100 * site["self_ms"] / runs / self.run_ms if self.run_ms else 0
            rates = [
                f"{site[key]:9.1f} ({site[f'percent_of_peak_{key}']:3.0f} %)" if site.get(key) else "-"
                for key in ("gflops", "gbps")
            ]
            source = f"  {site['source']}" if "source" in site else ""
            lines.append(
                f"{site['self_ms'] / runs:10.4f} {part:5.1f} % {rates[0]:>16} {rates[1]:>16}  "
                f"{site['kind']} {site['name']} ({site['detail']}, {site['shape']}){source}"
            )
        return "\n".join(lines)

    def trace(self):
        """The trace, JSON text in the Trace Event format: compiling and running, each thread a track.

        >>> '"traceEvents"' in xla.compile(np.sin).profile(np.zeros(8)).trace()
        True
        """
        return self._trace

    def save(self, path):
        """Writes the trace to the file `path` for Perfetto (.json or .json.gz), the picture (.svg), or, below the folder
        `path`, the trace where TensorBoard looks for it.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     xla.compile(np.sin).profile(np.zeros(8)).save(os.path.join(folder, "trace.json"))
        ...     os.listdir(folder)
        ['trace.json']
        """
        path = os.fspath(path)
        if path.endswith(".svg"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._roofline)
            return
        if path.endswith(os.sep) or os.path.isdir(path):
            path = os.path.join(path, "plugins", "profile", "xla", "xla.trace.json.gz")
            os.makedirs(os.path.dirname(path), exist_ok=True)
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "wt", encoding="utf-8") as file:
            file.write(self._trace)

    def roofline(self):
        """The roofline picture, a text of SVG: operations a second over operations per byte.

        >>> xla.compile(np.sin).profile(np.zeros(8)).roofline()[:4]
        '<svg'
        """
        return self._roofline

    def _repr_html_(self):
        import html

        return f"{self._roofline}<pre>{html.escape(str(self))}</pre>"


def profile(lowered, threads, runs):
    """The Profile of a Lowered, which another process compiles and runs."""
    with tempfile.TemporaryDirectory() as folder:
        bundle, trace, picture = (os.path.join(folder, name) for name in ("bundle", "trace.json", "roofline.svg"))
        lowered.dump(bundle)
        flags = [f"--profile={trace}", f"--roofline={picture}", f"--runs={runs}", f"--threads={threads}"]
        found = _tool("replay", bundle, *flags)["profile"]
        found["module"] = lowered._name
        with open(trace, encoding="utf-8") as file, open(picture, encoding="utf-8") as other:
            return Profile(found, file.read(), other.read())


def export(programs, samples, path, cpus, pieces=()):
    """Compiles HLO ahead of time to the file `path`. `programs`: of one function at different sizes, each HLO text, the
    arrays that are its last parameters, and the number of the others. `samples`, as `programs` or empty, are what code
    for all of them is made of. `pieces`: the values of a size without an end in each program; the last one is only
    compared."""
    written = {}  # constants: files

    with tempfile.TemporaryDirectory() as folder:

        def write(kind, i, program):
            hlo, constants, num_arguments = program
            own = os.path.join(folder, f"{kind}{i}")
            os.mkdir(own)
            source = os.path.join(own, "module.hlo")
            with open(source, "w", encoding="utf-8") as file:
                file.write(hlo)
            for j, constant in enumerate(constants):
                target = os.path.join(own, f"{num_arguments + j}.npy")
                known = written.setdefault(id(constant), (target, constant))[0]
                if known != target:
                    os.link(known, target)
                    continue
                array = np.asarray(constant)
                if array.dtype.kind == "V":
                    array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
                np.save(target, np.ascontiguousarray(array))
            return source

        sources = [write("program", i, program) for i, program in enumerate(programs)]
        flags = [f"--cpu={','.join([cpus] if isinstance(cpus, str) else cpus)}"] if cpus else []
        if len(programs[0][1]):
            flags.append("--constants_beside")
        if samples:
            flags.append("--samples=" + ",".join(write("sample", i, sample) for i, sample in enumerate(samples)))
        if pieces:
            flags.append("--pieces=" + ",".join(map(str, pieces)))
        _tool("compile", *sources, "-o", os.path.abspath(os.fspath(path)), *flags)


class _Shape(ctypes.Structure):
    _fields_ = [
        ("element_type", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("minor_to_major", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_size_t),
    ]


@functools.cache
def _library():
    """The core library's functions for compiled programs."""
    _load.open_library()
    library = ctypes.CDLL(_load.library_path(), mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for name, result, *arguments in (
        ("xc_load_program", pointer, ctypes.c_char_p, ctypes.POINTER(pointer)),
        ("xc_status_message", ctypes.c_char_p, pointer),
        ("xc_status_code", ctypes.c_int, pointer),
        ("xc_status_free", None, pointer),
        ("xc_executable_num_inputs", size, pointer),
        ("xc_executable_num_outputs", size, pointer),
        ("xc_executable_input", _Shape, pointer, size),
        ("xc_executable_output", _Shape, pointer, size),
        ("xc_executable_run", pointer, pointer, pointer, size, pointer, size, ctypes.c_int),
        ("xc_executable_num_sizes", size, pointer),
        ("xc_executable_for_sizes", pointer, pointer, pointer, size, ctypes.POINTER(pointer)),
        ("xc_executable_free", None, pointer),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _check(status):
    """Raises what a function of the library returned, and frees it."""
    if not status:
        return
    library = _library()
    message, code = library.xc_status_message(status).decode(), library.xc_status_code(status)
    library.xc_status_free(status)
    errors = {3: ValueError, 5: FileNotFoundError, 8: MemoryError, 12: NotImplementedError, 15: ValueError}
    raise errors.get(code, RuntimeError)(message)


def _dtype(number):
    name = _TYPES.get(number)
    if name is None:
        raise NotImplementedError(f"NumPy has no type for arrays of HLO's element type {number}")
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


class Program:
    """A program that was compiled ahead of time: called with arrays, in the order of the function's arguments (of
    containers, their leaves), it gives an array, or a tuple of them.

    `inputs` and `outputs` are (dtype, shape) of each, at the first of the sizes that the program is for; `num_sizes` is
    how many there are.
    """

    def __init__(self, path, threads):
        executable = ctypes.c_void_p()
        self._executable = None
        _check(_library().xc_load_program(os.fsencode(path), ctypes.byref(executable)))
        self._take(executable, os.path.basename(os.fspath(path)), threads)

    def _take(self, executable, name, threads):
        self._executable, self._name, self._threads = executable, name, threads
        self._others = {}  # by the shapes of the inputs

        def arrays(count, describe):
            shapes = [describe(executable, i) for i in range(count(executable))]
            return [(_dtype(s.element_type), tuple(s.dims[d] for d in range(s.rank))) for s in shapes]

        library = _library()
        self.inputs = arrays(library.xc_executable_num_inputs, library.xc_executable_input)
        self.outputs = arrays(library.xc_executable_num_outputs, library.xc_executable_output)
        self.num_sizes = library.xc_executable_num_sizes(executable)

    def __del__(self):
        if self._executable:
            _library().xc_executable_free(self._executable)

    def __repr__(self):
        write = lambda shapes: ", ".join(f"{dtype}{list(shape)}" for dtype, shape in shapes)
        sizes = f" and {self.num_sizes - 1} other sizes" if self.num_sizes > 1 else ""
        return f"<program {self._name}: {write(self.inputs)} -> {write(self.outputs)}{sizes}>"

    @_tracebacks.for_users
    def __call__(self, *arrays):
        if len(arrays) != len(self.inputs):
            raise TypeError(f"{self._name} takes {len(self.inputs)} arrays, but {len(arrays)} are given")
        inputs = []
        for i, (array, (dtype, shape)) in enumerate(zip(arrays, self.inputs)):
            array = np.asarray(array)
            if array.dtype != dtype and not (array.ndim == 0 and np.can_cast(array.dtype, dtype, "same_kind")):
                raise TypeError(f"argument {i} of {self._name} is {array.dtype}, the program takes {dtype}")
            if array.ndim != len(shape) or self.num_sizes == 1 and array.shape != shape:
                raise ValueError(f"argument {i} of {self._name} has the shape {array.shape}, the program takes {shape}")
            inputs.append(np.ascontiguousarray(array, dtype=dtype).reshape(array.shape))
        return self._for([array.shape for array in inputs])._run(inputs)

    def _for(self, shapes):
        """The program for inputs of these shapes, of the ranks that it takes."""
        if all(shape == own for shape, (_, own) in zip(shapes, self.inputs)):
            return self
        key = tuple(shapes)
        other = self._others.get(key)
        if other is None:
            sizes = [n for shape in shapes for n in shape]
            executable = ctypes.c_void_p()
            values = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
            find = _library().xc_executable_for_sizes
            _check(find(self._executable, values, len(sizes), ctypes.byref(executable)))
            other = Program.__new__(Program)
            other._take(executable, self._name, self._threads)
            if len(self._others) >= _MOST_OTHERS:
                self._others.clear()
            self._others[key] = other
        return other

    def _run(self, inputs):
        outputs = [np.empty(shape, dtype) for dtype, shape in self.outputs]
        pointers = lambda arrays: (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])
        run = _library().xc_executable_run
        _check(run(self._executable, pointers(inputs), len(inputs), pointers(outputs), len(outputs), self._threads))
        results = [output if output.ndim else output[()] for output in outputs]
        return results[0] if len(results) == 1 else tuple(results)


@_tracebacks.for_users
def load(path, *, threads=0):
    """Loads a program that `f.export(path, …)` or `xla compile` wrote: a Program, to be called with arrays. `threads`, an
    int, bounds those of a run (0: all).

    A file runs as code: load only what you trust.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "double.xcp")
    ...     xla.compile(lambda x: x * 2).export(path, np.zeros(3, np.float32))
    ...     xla.load(path)(np.arange(3, dtype=np.float32)).tolist()
    [0.0, 2.0, 4.0]
    """
    return Program(path, threads)


def get_include():
    """The folder with the headers of the C and C++ API, a str: `#include <xc/xc.h>`.

    >>> import os
    >>> os.path.exists(os.path.join(get_include(), "xc", "xc.h"))
    True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
