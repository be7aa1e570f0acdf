#include "jit/graph/types.h"

#include <cctype>

#include "absl/strings/str_cat.h"

namespace xc {
namespace {

struct TypeRow {
  DataType type;
  const char* name;       // TensorFlow's Python name
  const char* enum_name;  // the enumerator without "DT_", in lower case
  int64_t size;
};

constexpr TypeRow kTypeRows[] = {
    {DT_FLOAT, "float32", "float", 4},
    {DT_DOUBLE, "float64", "double", 8},
    {DT_INT32, "int32", "int32", 4},
    {DT_UINT8, "uint8", "uint8", 1},
    {DT_INT16, "int16", "int16", 2},
    {DT_INT8, "int8", "int8", 1},
    {DT_STRING, "string", "string", 0},
    {DT_COMPLEX64, "complex64", "complex64", 8},
    {DT_INT64, "int64", "int64", 8},
    {DT_BOOL, "bool", "bool", 1},
    {DT_QINT8, "qint8", "qint8", 1},
    {DT_QUINT8, "quint8", "quint8", 1},
    {DT_QINT32, "qint32", "qint32", 4},
    {DT_BFLOAT16, "bfloat16", "bfloat16", 2},
    {DT_QINT16, "qint16", "qint16", 2},
    {DT_QUINT16, "quint16", "quint16", 2},
    {DT_UINT16, "uint16", "uint16", 2},
    {DT_COMPLEX128, "complex128", "complex128", 16},
    {DT_HALF, "float16", "half", 2},
    {DT_RESOURCE, "resource", "resource", 0},
    {DT_VARIANT, "variant", "variant", 0},
    {DT_UINT32, "uint32", "uint32", 4},
    {DT_UINT64, "uint64", "uint64", 8},
    {DT_FLOAT8_E5M2, "float8_e5m2", "float8_e5m2", 1},
    {DT_FLOAT8_E4M3FN, "float8_e4m3fn", "float8_e4m3fn", 1},
};

const TypeRow* Find(DataType type) {
  for (const TypeRow& row : kTypeRows) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace

int64_t DataTypeSize(DataType type) {
  const TypeRow* row = Find(type);
  return row ? row->size : 0;
}

std::string DataTypeName(DataType type) {
  const TypeRow* row = Find(type);
  return row ? row->name : absl::StrCat("type<", static_cast<int>(type), ">");
}

DataType DataTypeFromEnumName(const std::string& name) {
  for (const TypeRow& row : kTypeRows) {
    if (name == row.enum_name || name == row.name) return row.type;
  }
  return DT_INVALID;
}

DataType BaseType(DataType type) {
  int value = static_cast<int>(type);
  return value > 100 ? static_cast<DataType>(value - 100) : type;
}

bool IsFloating(DataType t) { return t == DT_FLOAT || t == DT_DOUBLE || t == DT_HALF || t == DT_BFLOAT16; }
bool IsComplex(DataType t) { return t == DT_COMPLEX64 || t == DT_COMPLEX128; }
bool IsSignedInteger(DataType t) { return t == DT_INT8 || t == DT_INT16 || t == DT_INT32 || t == DT_INT64; }
bool IsUnsignedInteger(DataType t) { return t == DT_UINT8 || t == DT_UINT16 || t == DT_UINT32 || t == DT_UINT64; }

}  // namespace xc
