// Signatures of calls as byte strings: every part begins with a letter for its kind and has a length that its beginning
// tells, so that different signatures have different keys.
#include "python/core/signature.h"

#include <algorithm>
#include <cstdint>

namespace xla_core {
namespace {

constexpr int kMaxDepth = 32;  // deeper nests go the slow way

}  // namespace

bool StaticArguments::Has(Py_ssize_t position, Py_ssize_t count) const {
  for (int p : positions) {
    if ((p < 0 ? p + count : p) == position) return true;
  }
  return false;
}

bool StaticArguments::Has(PyObject* name) const {
  for (const std::string& n : names) {
    if (PyUnicode_CompareWithASCIIString(name, n.c_str()) == 0) return true;
  }
  return false;
}

bool Signature::Build(const StaticArguments& fixed, PyObject* args, PyObject* kwargs) {
  key.clear();
  leaves.clear();
  by_address.clear();
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Put(static_cast<int32_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(args, i);
    if (!fixed.positions.empty() && fixed.Has(i, n) ? !AppendStatic(item, 0) : !Append(item, 0)) return false;
  }
  return kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0 || AppendDict(kwargs, 0, &fixed);
}

bool Signature::PutText(PyObject* text) {
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return false;
  }
  Put(static_cast<int32_t>(size));
  key.append(data, size);
  return true;
}

bool Signature::Append(PyObject* item, int depth) {
  if (PyArray_CheckExact(item)) {
    auto* array = reinterpret_cast<PyArrayObject*>(item);
    PyArray_Descr* descr = PyArray_DESCR(array);
    if (PyDataType_ISBYTESWAPPED(descr)) return false;
    const int rank = PyArray_NDIM(array);
    Put('a');
    Put(static_cast<int32_t>(descr->type_num));
    Put(static_cast<int32_t>(rank));
    key.append(reinterpret_cast<const char*>(PyArray_DIMS(array)), rank * sizeof(npy_intp));
    leaves.push_back({item, Leaf::kArray});
    return true;
  }
  if (PyFloat_CheckExact(item)) {
    Put('f');
    leaves.push_back({item, Leaf::kFloat});
    return true;
  }
  if (PyBool_Check(item)) {
    Put('b');
    leaves.push_back({item, Leaf::kBool});
    return true;
  }
  if (PyLong_CheckExact(item)) {
    Put('i');
    leaves.push_back({item, Leaf::kInt});
    return true;
  }
  if (PyComplex_CheckExact(item)) {
    Put('c');
    leaves.push_back({item, Leaf::kComplex});
    return true;
  }
  if (item == Py_None) {
    Put('N');
    return true;
  }
  if (depth < kMaxDepth && (PyTuple_CheckExact(item) || PyList_CheckExact(item))) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
    Put(PyTuple_CheckExact(item) ? '(' : '[');
    Put(static_cast<int32_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!Append(PySequence_Fast_GET_ITEM(item, i), depth + 1)) return false;
    }
    return true;
  }
  if (depth < kMaxDepth && PyDict_CheckExact(item)) return AppendDict(item, depth, nullptr);
  if (PyArray_IsScalar(item, Generic)) {
    PyArray_Descr* descr = PyArray_DescrFromScalar(item);
    if (descr == nullptr) {
      PyErr_Clear();
      return false;
    }
    Put('a');
    Put(static_cast<int32_t>(descr->type_num));
    Put(static_cast<int32_t>(0));
    Py_DECREF(descr);
    leaves.push_back({item, Leaf::kScalar});
    return true;
  }
  return false;
}

bool Signature::AppendDict(PyObject* dict, int depth, const StaticArguments* fixed) {
  const Py_ssize_t n = PyDict_GET_SIZE(dict);
  std::vector<std::pair<PyObject*, PyObject*>> items;
  items.reserve(n);
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &name, &value)) {
    if (!PyUnicode_CheckExact(name)) return false;
    items.push_back({name, value});
  }
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return PyUnicode_Compare(a.first, b.first) < 0; });
  Put('{');
  Put(static_cast<int32_t>(n));
  for (const auto& [name, value] : items) {
    if (!PutText(name)) return false;
    if (fixed != nullptr && fixed->Has(name) ? !AppendStatic(value, depth + 1) : !Append(value, depth + 1))
      return false;
  }
  return true;
}

bool Signature::AppendStatic(PyObject* item, int depth) {
  Put('=');
  if (item == Py_None) {
    Put('N');
  } else if (PyBool_Check(item)) {
    Put(item == Py_True ? 'T' : 'F');
  } else if (PyLong_CheckExact(item)) {
    int overflow;
    const int64_t value = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow != 0) return false;
    Put('i');
    Put(value);
  } else if (PyFloat_CheckExact(item)) {
    Put('f');
    Put(PyFloat_AS_DOUBLE(item));
  } else if (PyUnicode_CheckExact(item)) {
    Put('s');
    return PutText(item);
  } else if (PyTuple_CheckExact(item) && depth < kMaxDepth) {
    const Py_ssize_t n = PyTuple_GET_SIZE(item);
    Put('(');
    Put(static_cast<int32_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!AppendStatic(PyTuple_GET_ITEM(item, i), depth + 1)) return false;
    }
  } else if (PyType_Check(item) || PyFunction_Check(item) || PyCFunction_Check(item)) {
    Put('@');
    Put(item);
    by_address.push_back(item);
  } else {
    return false;
  }
  return true;
}

}  // namespace xla_core
