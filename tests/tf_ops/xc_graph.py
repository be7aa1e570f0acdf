"""A thin ctypes binding of the core library's graph functions, for tests."""

import ctypes
import os

import numpy as np
from tensorflow.python.framework import dtypes


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
    ]


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Stats(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ("clusters", "compilations", "cache_hits", "fallbacks")]
    _fields_.append(("compile_seconds", ctypes.c_double))


class XcError(Exception):
    pass


class Library:
    def __init__(self, path):
        self.path = path
        # Deep binding: TensorFlow's libraries export other copies of what the core library carries.
        lib = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        p = ctypes.c_void_p
        lib.xc_graph_load.restype = p
        lib.xc_graph_load.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(p)]
        lib.xc_graph_load_saved_model.restype = p
        lib.xc_graph_load_saved_model.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(p)]
        for name in ("input", "output"):
            count, at = getattr(lib, "xc_graph_num_%ss" % name), getattr(lib, "xc_graph_%s_name" % name)
            count.restype, count.argtypes = ctypes.c_size_t, [p]
            at.restype, at.argtypes = ctypes.c_char_p, [p, ctypes.c_size_t]
        lib.xc_graph_run.restype = p
        lib.xc_graph_run.argtypes = [p, ctypes.POINTER(_Tensor), ctypes.c_size_t, ctypes.POINTER(p)]
        lib.xc_graph_results_size.restype = ctypes.c_size_t
        lib.xc_graph_results_size.argtypes = [p]
        lib.xc_graph_results_get.restype = _Tensor
        lib.xc_graph_results_get.argtypes = [p, ctypes.c_size_t]
        for name in ("xc_graph_results_free", "xc_graph_free", "xc_status_free"):
            getattr(lib, name).argtypes = [p]
        lib.xc_status_message.restype = ctypes.c_char_p
        lib.xc_status_message.argtypes = [p]
        lib.xc_graph_explain.restype = ctypes.c_char_p
        lib.xc_graph_explain.argtypes = [p]
        lib.xc_graph_get_stats.restype = _Stats
        lib.xc_graph_get_stats.argtypes = [p]
        self.lib = lib

    def check(self, status):
        if status:
            message = self.lib.xc_status_message(status).decode()
            self.lib.xc_status_free(status)
            raise XcError(message)


class Graph:
    """A loaded GraphDef; run() takes and gives lists of arrays."""

    def __init__(self, library, graph_def, inputs, outputs, **options):
        self.library = library
        lines = ["inputs=" + ",".join(inputs), "outputs=" + ",".join(outputs)]
        lines += ["%s=%s" % kv for kv in options.items()]
        data = graph_def.SerializeToString()
        handle = ctypes.c_void_p()
        text = "\n".join(line for line in lines if not line.endswith("=")).encode()
        library.check(library.lib.xc_graph_load(data, len(data), text, ctypes.byref(handle)))
        self.handle = handle

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.lib.xc_graph_free(self.handle)

    def inputs(self):
        lib = self.library.lib
        return [lib.xc_graph_input_name(self.handle, i).decode() for i in range(lib.xc_graph_num_inputs(self.handle))]

    def outputs(self):
        lib = self.library.lib
        return [lib.xc_graph_output_name(self.handle, i).decode() for i in range(lib.xc_graph_num_outputs(self.handle))]

    def stats(self):
        return self.library.lib.xc_graph_get_stats(self.handle)

    def explain(self):
        return self.library.lib.xc_graph_explain(self.handle).decode()

    def run(self, arrays):
        tensors = (_Tensor * max(len(arrays), 1))()
        keep = []
        for t, array in zip(tensors, arrays):
            array = np.ascontiguousarray(array).reshape(np.shape(array))
            dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            t.rank, items = array.ndim, None
            t.dims = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
            if array.dtype.kind in "OSU":
                items = [s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1)]
                texts = [ctypes.cast(ctypes.c_char_p(s), ctypes.c_void_p) for s in items]
                data = (_Bytes * max(len(items), 1))(*[_Bytes(p, len(s)) for p, s in zip(texts, items)])
                t.dtype, t.data, t.bytes = 7, ctypes.addressof(data), ctypes.sizeof(data)
            else:
                data = array
                t.dtype = dtypes.as_dtype(array.dtype).as_datatype_enum
                t.data, t.bytes = array.ctypes.data, array.nbytes
            keep.append((array, dims, data, items))
        out = ctypes.c_void_p()
        self.library.check(self.library.lib.xc_graph_run(self.handle, tensors, len(arrays), ctypes.byref(out)))
        results = []
        for i in range(self.library.lib.xc_graph_results_size(out)):
            t = self.library.lib.xc_graph_results_get(out, i)
            shape = tuple(t.dims[d] for d in range(t.rank))
            if t.dtype == 7:
                n = t.bytes // ctypes.sizeof(_Bytes)
                items = ctypes.cast(t.data, ctypes.POINTER(_Bytes))
                texts = [ctypes.string_at(items[k].data, items[k].size) for k in range(n)]
                results.append(np.array(texts, dtype=object).reshape(shape))
                continue
            dtype = dtypes.as_dtype(t.dtype).as_numpy_dtype
            raw = ctypes.string_at(t.data, t.bytes) if t.bytes else b""
            results.append(np.frombuffer(raw, dtype=dtype).reshape(shape).copy())
        self.library.lib.xc_graph_results_free(out)
        return results


class SavedModel(Graph):
    """A signature of a SavedModel directory; options are those of xc_graph_load_saved_model."""

    def __init__(self, library, directory, **options):
        self.library = library
        handle = ctypes.c_void_p()
        text = "\n".join("%s=%s" % kv for kv in options.items()).encode()
        library.check(library.lib.xc_graph_load_saved_model(directory.encode(), text, ctypes.byref(handle)))
        self.handle = handle
