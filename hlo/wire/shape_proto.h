// Shapes and literals to and from their messages.
#ifndef XC_HLO_WIRE_SHAPE_PROTO_H_
#define XC_HLO_WIRE_SHAPE_PROTO_H_

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/shape.h"
#include "proto/literal.pb.h"
#include "proto/shape.pb.h"

namespace xc {

// The number of the field that holds what only this project's modules have and XLA's messages have no field for. To
// others it is an unknown field: kept and ignored. A field of an enclosing message has its meaning said where it is
// used.
inline constexpr int kPrivateField = 536870000;

void ShapeToProto(const Shape& shape, pb::ShapeProto* proto);
// Errors: no or unknown element type, layout that is no permutation, sizes that overflow, tuples nested too deep.
absl::StatusOr<Shape> ShapeFromProto(const pb::ShapeProto& proto);

// Elements are written in the order of the literal's layout. An elided literal has no elements, but the private
// field 1.
void LiteralToProto(const Literal& literal, pb::LiteralProto* proto);
// `*elided_bytes` counts down the bytes that elided literals may still take. The numbers of elements must be those of
// the shape.
absl::StatusOr<Literal> LiteralFromProto(const pb::LiteralProto& proto, int64_t* elided_bytes);
absl::StatusOr<Literal> LiteralFromProto(const pb::LiteralProto& proto);

}  // namespace xc

#endif  // XC_HLO_WIRE_SHAPE_PROTO_H_
