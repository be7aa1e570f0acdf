// The host framework's element types (TensorFlow's DataType): names, sizes and groups.
#ifndef XC_JIT_GRAPH_TYPES_H_
#define XC_JIT_GRAPH_TYPES_H_

#include <cstdint>
#include <string>

#include "proto/graph.pb.h"

namespace xc {

// The messages of host graphs live in xc::tf, since the IR has an AttrValue of its own.
using tf::DataType;
using tf::FunctionDef;
using tf::GraphDef;
using tf::NameAttrList;
using tf::NodeDef;
using tf::TensorProto;
using tf::TensorShapeProto;
using enum tf::DataType;

// Bytes per element; 0 for strings, resources, variants and unknown types.
int64_t DataTypeSize(DataType type);

// TensorFlow's lower-case name, such as "float32" or "bool"; "type<N>" when unknown.
std::string DataTypeName(DataType type);

// Parses a lower-case enumerator name as used in op_table.def ("float", "int32", "half", ...); DT_INVALID if unknown.
DataType DataTypeFromEnumName(const std::string& name);

// A reference type such as DT_FLOAT_REF becomes DT_FLOAT; others are returned as they are.
DataType BaseType(DataType type);

bool IsFloating(DataType type);  // half, bfloat16, float, double
bool IsComplex(DataType type);
bool IsSignedInteger(DataType type);
bool IsUnsignedInteger(DataType type);
inline bool IsInteger(DataType type) { return IsSignedInteger(type) || IsUnsignedInteger(type); }

}  // namespace xc

#endif  // XC_JIT_GRAPH_TYPES_H_
