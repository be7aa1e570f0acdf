// The extension module xla._core.
#define XLA_CORE_IMPORTS_NUMPY
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/core/api.h"
#include "python/core/buffers.h"
#include "python/core/dispatcher.h"
#include "python/core/executable.h"
#include "python/core/numpy.h"

namespace nb = nanobind;

namespace xla_core {
namespace {

// Takes an exception that leaves a call and may change its traceback; null for none.
PyObject* error_hook = nullptr;

// Hands the exception that is set to the hook. What the hook itself raises is forgotten.
void CallErrorHook() {
  if (error_hook == nullptr) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  PyObject* done = PyObject_CallOneArg(error_hook, value);
  if (done == nullptr) PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(traceback);
  PyErr_Restore(type, value, PyException_GetTraceback(value));
}

PyObject* CallDispatcher(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    PyObject* result = nb::inst_ptr<Dispatcher>(self)->Call(self, args, kwargs);
    if (result != nullptr) return result;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  CallErrorHook();
  return nullptr;
}

PyType_Slot dispatcher_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&CallDispatcher)}, {0, nullptr}};

void NeedLibrary() {
  if (api.xc_compile_hlo_cancellable == nullptr) throw std::runtime_error("the core library is not loaded");
}

nb::dict CacheStats() {
  NeedLibrary();
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
  out["disk_hits"] = s.disk_hits;
  out["disk_writes"] = s.disk_writes;
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
  // At exit, modules still hold the functions that were compiled.
  nb::set_leak_warnings(false);
  if (ImportNumPy() < 0) throw nb::python_error();
  m.def("load", &Load, nb::arg("path"), "Opens the core library; further calls do nothing.");
  m.def(
      "set_error_hook", [](nb::object hook) { error_hook = hook.release().ptr(); }, nb::arg("hook"),
      "Sets the function that gets each exception which leaves a call of a Dispatcher.");
  m.def("cache_stats", &CacheStats, "Counters of the process-wide cache of executables.");
  m.def(
      "cache_clear",
      [] {
        NeedLibrary();
        api.xc_cache_clear();
      },
      "Forgets all executables that are not in use.");
  m.def(
      "cache_set_budget",
      [](int64_t bytes) {
        NeedLibrary();
        api.xc_cache_set_budget(bytes);
      },
      nb::arg("bytes"));
  m.def("buffers_kept", &KeptBytes, "Bytes of memory of former results that is kept for later ones.");
  m.def("buffers_set_limit", &SetKeptLimit, nb::arg("bytes"));
  nb::class_<GeneralCode>(m, "GeneralCode", "Code for programs of one function at different sizes.")
      .def(nb::init<std::vector<nb::bytes>, const std::string&>(), nb::arg("samples"), nb::arg("options"))
      .def_static("sample_sizes", &GeneralCode::SampleSizes, nb::arg("signatures"), nb::arg("which"), nb::arg("way"),
                  "Sizes to make sample number `which` for; None where this way is none.");
  nb::class_<Executable>(m, "Executable", "A compiled program.")
      .def(nb::init<nb::bytes, const std::string&, std::vector<nb::object>, std::vector<nb::object>,
                    std::vector<std::pair<int, int>>, const GeneralCode*>(),
           nb::arg("hlo"), nb::arg("options"), nb::arg("output_dtypes"), nb::arg("constants"), nb::arg("donated"),
           nb::arg("general").none() = nb::none())
      .def_prop_ro("num_inputs", &Executable::num_inputs)
      .def_prop_ro("num_outputs", &Executable::num_outputs)
      .def_prop_ro("temp_bytes", &Executable::temp_bytes)
      .def_prop_ro("is_general", &Executable::is_general)
      .def_prop_ro("was_loaded", &Executable::was_loaded)
      .def_prop_ro("code_bytes", &Executable::code_bytes)
      .def_prop_ro("constant_bytes", &Executable::constant_bytes)
      .def("text", &Executable::Text, nb::arg("name"));
  nb::class_<Dispatcher>(m, "Dispatcher", nb::type_slots(dispatcher_slots))
      .def(nb::init<std::vector<int>, std::vector<std::string>, int, size_t>(), nb::arg("static_positions"),
           nb::arg("static_names"), nb::arg("threads"), nb::arg("limit"))
      .def("_add", &Dispatcher::Add, nb::arg("args"), nb::arg("kwargs"), nb::arg("executable"), nb::arg("result"),
           nb::arg("unflatten").none())
      .def("_run", &Dispatcher::Run, nb::arg("executable"), nb::arg("leaves"))
      .def("_forget", &Dispatcher::Clear)
      .def_prop_ro("_known", &Dispatcher::size)
      .def_prop_ro("_hits", &Dispatcher::hits);
}
