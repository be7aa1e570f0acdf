// Calls through the table of signatures.
#include "python/core/dispatcher.h"

#include <stdexcept>
#include <utility>

namespace nb = nanobind;

namespace xla_core {
namespace {

// The result of a call from its outputs, whose references it takes.
PyObject* Finish(std::vector<PyObject*> results, int kind, const nb::object& unflatten) {
  if (kind == 0) return results[0];
  const Py_ssize_t n = static_cast<Py_ssize_t>(results.size());
  PyObject* sequence = kind == 1 ? PyTuple_New(n) : PyList_New(n);
  if (sequence == nullptr) {
    for (PyObject* result : results) Py_DECREF(result);
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (kind == 1) {
      PyTuple_SET_ITEM(sequence, i, results[i]);
    } else {
      PyList_SET_ITEM(sequence, i, results[i]);
    }
  }
  if (kind == 1) return sequence;
  PyObject* made = PyObject_CallOneArg(unflatten.ptr(), sequence);
  Py_DECREF(sequence);
  return made;
}

}  // namespace

Dispatcher::Dispatcher(std::vector<int> static_positions, std::vector<std::string> static_names, int threads,
                       size_t limit)
    : static_{std::move(static_positions), std::move(static_names)}, threads_(threads), limit_(limit) {}

bool Dispatcher::Add(nb::tuple args, nb::dict kwargs, nb::object executable, int result, nb::object unflatten) {
  Signature signature;
  if (!signature.Build(static_, args.ptr(), kwargs.ptr())) return false;
  auto entry = std::make_shared<Entry>();
  entry->executable = nb::cast<const Executable*>(executable);
  entry->owner = std::move(executable);
  entry->result = result;
  entry->unflatten = std::move(unflatten);
  for (PyObject* object : signature.by_address) entry->alive.push_back(nb::borrow(object));
  if (table_.size() >= limit_) table_.clear();
  table_[signature.key] = std::move(entry);
  return true;
}

nb::list Dispatcher::Run(nb::object executable, nb::list leaves) const {
  std::vector<Leaf> found;
  for (nb::handle leaf : leaves) {
    PyObject* item = leaf.ptr();
    const Leaf::Kind kind = PyBool_Check(item)                ? Leaf::kBool
                            : PyLong_CheckExact(item)         ? Leaf::kInt
                            : PyFloat_CheckExact(item)        ? Leaf::kFloat
                            : PyComplex_CheckExact(item)      ? Leaf::kComplex
                            : PyArray_IsScalar(item, Generic) ? Leaf::kScalar
                                                              : Leaf::kArray;
    if (kind == Leaf::kArray && !PyArray_Check(item)) throw nb::type_error("leaves must be arrays and numbers");
    found.push_back({item, kind});
  }
  std::vector<PyObject*> results;
  nb::cast<const Executable*>(executable)->Run(found.data(), found.size(), threads_, &results);
  nb::list out;
  for (PyObject* result : results) out.append(nb::steal(result));
  return out;
}

PyObject* Dispatcher::Call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (!table_.empty()) {
    // Nothing between Build and the copy of the leaves lets another thread in, but a comparison of dict keys might call
    // back; then the inner call builds its own.
    Signature own;
    Signature& signature = scratch_busy_ ? own : scratch_;
    const bool outer = !std::exchange(scratch_busy_, true);
    const bool known = signature.Build(static_, args, kwargs);
    auto it = known ? table_.find(signature.key) : table_.end();
    if (it != table_.end()) {
      ++hits_;
      const std::shared_ptr<const Entry> entry = it->second;  // the table may change while the GIL is away
      std::vector<Leaf> leaves = std::exchange(signature.leaves, {});
      if (outer) scratch_busy_ = false;
      std::vector<PyObject*> results;
      try {
        entry->executable->Run(leaves.data(), leaves.size(), threads_, &results);
        return Finish(std::move(results), entry->result, entry->unflatten);
      } catch (nb::python_error& error) {
        // A wrong donation: the slow way says where.
        if (!entry->executable->has_donated() || !error.matches(PyExc_ValueError)) throw;
      }
    } else if (outer) {
      scratch_busy_ = false;
    }
  }
  nb::object slow = nb::steal(PyObject_GetAttrString(self, "_call_slowly"));
  if (!slow.is_valid()) return nullptr;
  nb::object named = kwargs == nullptr ? nb::steal(PyDict_New()) : nb::borrow(kwargs);
  return PyObject_CallFunctionObjArgs(slow.ptr(), args, named.ptr(), nullptr);
}

}  // namespace xla_core
