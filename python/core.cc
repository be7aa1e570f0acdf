// The extension module xla._core: opens the core library with deep binding, compiles, and runs on NumPy arrays. The GIL
// is released while code is compiled or runs.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <numpy/arrayobject.h>

#include "service/xc.h"

namespace nb = nanobind;

namespace xla_core {
namespace {

// The functions of the core library that are used here.
struct Api {
#define XC_FUNCTIONS(X)        \
  X(xc_api_version)            \
  X(xc_status_code)            \
  X(xc_status_message)         \
  X(xc_status_free)            \
  X(xc_compile_hlo)            \
  X(xc_executable_free)        \
  X(xc_executable_num_inputs)  \
  X(xc_executable_num_outputs) \
  X(xc_executable_input)       \
  X(xc_executable_output)      \
  X(xc_executable_temp_bytes)  \
  X(xc_executable_code_bytes)  \
  X(xc_executable_text)        \
  X(xc_string_free)            \
  X(xc_executable_run)         \
  X(xc_cache_get_stats)        \
  X(xc_cache_clear)            \
  X(xc_cache_set_budget)
#define X(name) decltype(&::name) name = nullptr;
  XC_FUNCTIONS(X)
#undef X
};

Api api;
void* library = nullptr;

void Load(const std::string& path) {
  if (library != nullptr) return;
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (opened == nullptr) throw std::runtime_error(std::string("cannot open the core library: ") + dlerror());
#define X(name)                                                          \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(opened, #name)); \
  if (api.name == nullptr) throw std::runtime_error(path + " is not the core library: no " + #name);
  XC_FUNCTIONS(X)
#undef X
  library = opened;
}

// Throws what `status` says as a ValueError (bad input), NotImplementedError, MemoryError or RuntimeError.
void Check(xc_status* status) {
  if (status == nullptr) return;
  const int code = api.xc_status_code(status);
  const std::string message = api.xc_status_message(status);
  api.xc_status_free(status);
  PyObject* type = code == 3    ? PyExc_ValueError
                   : code == 12 ? PyExc_NotImplementedError
                   : code == 8  ? PyExc_MemoryError
                   : code == 4  ? PyExc_TimeoutError
                                : PyExc_RuntimeError;
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

std::vector<npy_intp> Dims(const xc_shape& shape) { return {shape.dims, shape.dims + shape.rank}; }

class Executable {
 public:
  Executable(nb::bytes hlo, const std::string& options, std::vector<nb::object> output_dtypes)
      : output_dtypes_(std::move(output_dtypes)) {
    if (library == nullptr) throw std::runtime_error("the core library is not loaded");
    xc_status* status;
    const char* data = hlo.c_str();
    const size_t size = hlo.size();
    {
      nb::gil_scoped_release release;
      status = api.xc_compile_hlo(data, size, options.c_str(), &executable_);
    }
    Check(status);
    const size_t n = api.xc_executable_num_inputs(executable_), m = api.xc_executable_num_outputs(executable_);
    for (size_t i = 0; i < n; ++i) inputs_.push_back(api.xc_executable_input(executable_, i));
    for (size_t i = 0; i < m; ++i) outputs_.push_back(api.xc_executable_output(executable_, i));
    if (output_dtypes_.size() != m) throw std::runtime_error("wrong number of output types");
  }
  ~Executable() {
    if (executable_ != nullptr) api.xc_executable_free(executable_);
  }
  Executable(const Executable&) = delete;

  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  size_t temp_bytes() const { return api.xc_executable_temp_bytes(executable_); }
  size_t code_bytes() const { return api.xc_executable_code_bytes(executable_); }
  std::string text(const std::string& name) const {
    char* text = api.xc_executable_text(executable_, name.c_str());
    std::string out = text == nullptr ? "" : text;
    api.xc_string_free(text);
    return out;
  }

  // Runs on C-contiguous arrays of the right sizes (checked); gives a new list of arrays.
  nb::list Run(nb::sequence arguments, int threads) const {
    std::vector<PyObject*> arrays;
    PyObject* fast = PySequence_Fast(arguments.ptr(), "a sequence of arrays is wanted");
    if (fast == nullptr) throw nb::python_error();
    nb::object keep = nb::steal(fast);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    return RunArrays(PySequence_Fast_ITEMS(fast), n, threads);
  }

  nb::list RunArrays(PyObject* const* items, Py_ssize_t n, int threads) const {
    if (static_cast<size_t>(n) != inputs_.size()) {
      throw nb::value_error(
          ("the program takes " + std::to_string(inputs_.size()) + " arrays, but " + std::to_string(n) + " are given")
              .c_str());
    }
    std::vector<const void*> in(n);
    std::vector<nb::object> keep;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = items[i];
      if (!PyArray_Check(item) || !PyArray_IS_C_CONTIGUOUS(reinterpret_cast<PyArrayObject*>(item)) ||
          !PyArray_ISBEHAVED_RO(reinterpret_cast<PyArrayObject*>(item))) {
        PyObject* array = PyArray_FROM_OF(item, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED);
        if (array == nullptr) throw nb::python_error();
        keep.push_back(nb::steal(array));
        item = array;
      }
      auto* array = reinterpret_cast<PyArrayObject*>(item);
      if (static_cast<size_t>(PyArray_NBYTES(array)) != inputs_[i].bytes) {
        throw nb::value_error(("array " + std::to_string(i) + " has " + std::to_string(PyArray_NBYTES(array)) +
                               " bytes, the program takes " + std::to_string(inputs_[i].bytes))
                                  .c_str());
      }
      in[i] = PyArray_DATA(array);
    }
    nb::list results;
    std::vector<void*> out(outputs_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      std::vector<npy_intp> dims = Dims(outputs_[i]);
      auto* descr = reinterpret_cast<PyArray_Descr*>(output_dtypes_[i].ptr());
      Py_INCREF(descr);
      PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(dims.size()), dims.data(), nullptr,
                                             nullptr, 0, nullptr);
      if (array == nullptr) throw nb::python_error();
      results.append(nb::steal(array));
      if (static_cast<size_t>(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(array))) != outputs_[i].bytes) {
        throw std::runtime_error("output " + std::to_string(i) + " has another size than its type says");
      }
      out[i] = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
    }
    xc_status* status;
    {
      nb::gil_scoped_release release;
      status = api.xc_executable_run(executable_, in.data(), in.size(), out.data(), out.size(), threads);
    }
    Check(status);
    return results;
  }

 private:
  xc_executable* executable_ = nullptr;
  std::vector<xc_shape> inputs_, outputs_;
  std::vector<nb::object> output_dtypes_;
};

// The quick way to a compiled call: looks up (type, shape) of plain positional arrays in a table, runs, and gives the
// results to a function that makes the result's structure; anything else goes to `slow`.
class Dispatcher {
 public:
  Dispatcher(nb::object slow, int threads) : slow_(std::move(slow)), threads_(threads) {}

  // Makes `executable` the one for arguments with the signature of `arrays`. `single`: the result is the one output.
  void Add(nb::tuple arrays, nb::object executable, bool single, nb::object unflatten) {
    std::string key;
    if (!Key(arrays, &key)) return;
    table_[key] = Entry{nb::cast<Executable*>(executable), executable, single, std::move(unflatten)};
  }
  void Clear() { table_.clear(); }
  size_t size() const { return table_.size(); }
  int64_t hits() const { return hits_; }

  nb::object Call(nb::args args, nb::kwargs kwargs) {
    if (kwargs.size() == 0 && !table_.empty()) {
      std::string& key = scratch_;
      key.clear();
      if (Key(args, &key)) {
        auto it = table_.find(key);
        if (it != table_.end()) {
          ++hits_;
          const Entry entry = it->second;  // a copy: the table may change while the GIL is away
          nb::list results = entry.executable->RunArrays(Items(args), PyTuple_GET_SIZE(args.ptr()), threads_);
          if (entry.single) return results[0];
          return entry.unflatten(results);
        }
      }
    }
    return slow_(*args, **kwargs);
  }

 private:
  struct Entry {
    Executable* executable;
    nb::object owner;
    bool single;
    nb::object unflatten;
  };

  static PyObject* const* Items(const nb::tuple& args) { return reinterpret_cast<PyTupleObject*>(args.ptr())->ob_item; }

  // The signature of a tuple of arrays; false if something else is in it.
  static bool Key(const nb::tuple& args, std::string* key) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args.ptr());
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = Items(args)[i];
      if (!PyArray_CheckExact(item)) return false;
      auto* array = reinterpret_cast<PyArrayObject*>(item);
      PyArray_Descr* descr = PyArray_DESCR(array);
      if (PyDataType_ISBYTESWAPPED(descr)) return false;
      const int type = descr->type_num, rank = PyArray_NDIM(array);
      key->append(reinterpret_cast<const char*>(&type), sizeof(type));
      key->append(reinterpret_cast<const char*>(&rank), sizeof(rank));
      key->append(reinterpret_cast<const char*>(PyArray_DIMS(array)), rank * sizeof(npy_intp));
    }
    return true;
  }

  nb::object slow_;
  int threads_;
  std::unordered_map<std::string, Entry> table_;
  std::string scratch_;  // guarded by the GIL; not used after it is released
  int64_t hits_ = 0;
};

nb::dict CacheStats() {
  const xc_cache_stats s = api.xc_cache_get_stats();
  nb::dict out;
  out["entries"] = s.entries;
  out["bytes"] = s.bytes;
  out["budget_bytes"] = s.budget_bytes;
  out["hits"] = s.hits;
  out["misses"] = s.misses;
  out["waits"] = s.waits;
  out["evictions"] = s.evictions;
  out["compile_seconds"] = s.compile_seconds;
  return out;
}

int ImportNumPy() {
  import_array1(-1);
  return 0;
}

}  // namespace
}  // namespace xla_core

NB_MODULE(_core, m) {
  using namespace xla_core;
  if (ImportNumPy() < 0) throw nb::python_error();
  m.def("load", &Load, "Opens the core library at a path; further calls do nothing.");
  m.def("cache_stats", &CacheStats, "Counters of the process-wide cache of executables.");
  m.def("cache_clear", [] { api.xc_cache_clear(); });
  m.def("cache_set_budget", [](int64_t bytes) { api.xc_cache_set_budget(bytes); });
  nb::class_<Executable>(m, "Executable")
      .def(nb::init<nb::bytes, const std::string&, std::vector<nb::object>>())
      .def_prop_ro("num_inputs", &Executable::num_inputs)
      .def_prop_ro("num_outputs", &Executable::num_outputs)
      .def_prop_ro("temp_bytes", &Executable::temp_bytes)
      .def_prop_ro("code_bytes", &Executable::code_bytes)
      .def("text", &Executable::text)
      .def("run", &Executable::Run, nb::arg("arrays"), nb::arg("threads") = 0);
  nb::class_<Dispatcher>(m, "Dispatcher")
      .def(nb::init<nb::object, int>())
      .def("add", &Dispatcher::Add)
      .def("clear", &Dispatcher::Clear)
      .def_prop_ro("hits", &Dispatcher::hits)
      .def("__len__", &Dispatcher::size)
      .def("__call__", &Dispatcher::Call);
}
