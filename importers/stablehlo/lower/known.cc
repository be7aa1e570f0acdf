#include "importers/stablehlo/lower/known.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "hlo/shape_inference/shape_inference.h"
#include "importers/stablehlo/lower/lowering.h"
#include "importers/stablehlo/lower/op_table.h"

namespace xc::stablehlo {
namespace {

using O = HloOpcode;
using Kind = Attr::Kind;

// What an operation is evaluated from.
struct Evaluation {
  const Operation& op;
  AttrReader attrs;
  absl::Span<const KnownPtr> operands;

  const Known& in(int64_t i) const { return *operands[i]; }
};
using Result = std::optional<Known>;

bool HoldsIntegers(ElementType type) { return IsIntegral(type) || type == ElementType::kPred; }

// The integer as the type holds it.
int64_t Wrap(ElementType type, int64_t value) {
  if (type == ElementType::kPred) return value & 1;
  const int unused = 64 - ElementBits(type);
  const uint64_t bits = static_cast<uint64_t>(value) << unused;
  return IsUnsignedInt(type) ? static_cast<int64_t>(bits >> unused) : static_cast<int64_t>(bits) >> unused;
}

bool Less(ElementType type, int64_t a, int64_t b) {
  return IsSignedInt(type) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

// The number of elements, if it is small enough.
std::optional<int64_t> Count(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) return 0;
  }
  for (int64_t dim : dims) {
    if (dim > kMaxKnown / count) return std::nullopt;
    count *= dim;
  }
  return count;
}

// A list of sizes, if it is one.
std::optional<Int64List> Sizes(const Known& known) {
  if (known.dims.size() != 1 || known.type == ElementType::kPred) return std::nullopt;
  return known.values;
}

// The sizes that the operation's type gives, if it gives all.
std::optional<Int64List> TypeSizes(const Operation& op) {
  const Shape& shape = op.results[0]->shape;
  if (!shape.IsArray() || shape.is_dynamic()) return std::nullopt;
  return shape.dims();
}

// Calls `visit` with the indices of an array of these sizes, in order.
template <typename F>
void ForEachIndex(absl::Span<const int64_t> dims, const F& visit) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  Int64List index(dims.size(), 0);
  while (true) {
    visit(index);
    int64_t d = static_cast<int64_t>(dims.size()) - 1;
    for (; d >= 0 && ++index[d] == dims[d]; --d) index[d] = 0;
    if (d < 0) return;
  }
}

int64_t At(const Known& known, absl::Span<const int64_t> index) {
  int64_t linear = 0;
  for (size_t d = 0; d < index.size(); ++d) linear = linear * known.dims[d] + index[d];
  return known.values[linear];
}

// Elementwise.

std::optional<int64_t> Divide(ElementType type, int64_t a, int64_t b, bool remainder) {
  if (type == ElementType::kPred) return std::nullopt;
  if (b == 0) return remainder ? a : -1;
  if (!IsSignedInt(type)) {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(remainder ? x % y : x / y);
  }
  if (b == -1) return remainder ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
  return remainder ? a % b : a / b;
}

std::optional<int64_t> Binary(O opcode, ElementType type, int64_t a, int64_t b) {
  const bool truth = type == ElementType::kPred;
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (opcode) {
    case O::kAdd:
      return truth ? a | b : static_cast<int64_t>(x + y);
    case O::kSubtract:
      if (truth) return std::nullopt;
      return static_cast<int64_t>(x - y);
    case O::kMultiply:
      return static_cast<int64_t>(x * y);
    case O::kDivide:
    case O::kRemainder:
      return Divide(type, a, b, opcode == O::kRemainder);
    case O::kMaximum:
      return Less(type, a, b) ? b : a;
    case O::kMinimum:
      return Less(type, a, b) ? a : b;
    case O::kAnd:
      return a & b;
    case O::kOr:
      return a | b;
    case O::kXor:
      return a ^ b;
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Unary(O opcode, ElementType type, int64_t a) {
  const int64_t negative = static_cast<int64_t>(-static_cast<uint64_t>(a));
  if (type == ElementType::kPred && opcode != O::kNot) return std::nullopt;
  switch (opcode) {
    case O::kAbs:
      return IsSignedInt(type) && a < 0 ? negative : a;
    case O::kNegate:
      return negative;
    case O::kNot:
      return ~a;
    case O::kSign:
      return IsSignedInt(type) && a < 0 ? -1 : a != 0;
    default:
      return std::nullopt;
  }
}

Result FoldElementwise(Evaluation& e) {
  const O opcode = e.op.row->opcode;
  const Known& x = e.in(0);
  Known out{x.type, x.dims, {}};
  for (size_t i = 0; i < x.values.size(); ++i) {
    std::optional<int64_t> value;
    if (e.operands.size() == 1) {
      value = Unary(opcode, x.type, x.values[i]);
    } else if (e.operands.size() == 2 && e.in(1).type == x.type && e.in(1).dims == x.dims) {
      value = Binary(opcode, x.type, x.values[i], e.in(1).values[i]);
    }
    if (!value) return std::nullopt;
    out.values.push_back(Wrap(x.type, *value));
  }
  return out;
}

Result FoldConvert(Evaluation& e) {
  const ElementType type = e.op.results[0]->shape.type();
  if (!HoldsIntegers(type)) return std::nullopt;
  Known out{type, e.in(0).dims, {}};
  for (int64_t value : e.in(0).values) {
    out.values.push_back(type == ElementType::kPred ? value != 0 : Wrap(type, value));
  }
  return out;
}

Result FoldCompare(Evaluation& e) {
  const Known &x = e.in(0), &y = e.in(1);
  if (x.type != y.type || x.dims != y.dims) return std::nullopt;
  const std::string direction = e.attrs.Word("comparison_direction"), type = e.attrs.Word("compare_type", "NOTYPE");
  if (type != "NOTYPE" && type != (IsSignedInt(x.type) ? "SIGNED" : "UNSIGNED")) return std::nullopt;
  Known out{ElementType::kPred, x.dims, {}};
  for (size_t i = 0; i < x.values.size(); ++i) {
    const int64_t a = x.values[i], b = y.values[i];
    const bool less = Less(x.type, a, b), equal = a == b;
    if (direction == "EQ") {
      out.values.push_back(equal);
    } else if (direction == "NE") {
      out.values.push_back(!equal);
    } else if (direction == "LT") {
      out.values.push_back(less);
    } else if (direction == "LE") {
      out.values.push_back(less || equal);
    } else if (direction == "GT") {
      out.values.push_back(!less && !equal);
    } else if (direction == "GE") {
      out.values.push_back(!less);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Whether the operand is an array of these sizes, or a scalar.
bool IsLike(const Known& operand, const Known& like) { return operand.dims.empty() || operand.dims == like.dims; }
int64_t ElementOf(const Known& operand, size_t i) { return operand.values[operand.dims.empty() ? 0 : i]; }

Result FoldSelect(Evaluation& e) {
  const Known &pred = e.in(0), &on_true = e.in(1), &on_false = e.in(2);
  if (pred.type != ElementType::kPred || on_true.type != on_false.type || on_true.dims != on_false.dims ||
      !IsLike(pred, on_true)) {
    return std::nullopt;
  }
  Known out{on_true.type, on_true.dims, {}};
  for (size_t i = 0; i < on_true.values.size(); ++i) {
    out.values.push_back((ElementOf(pred, i) != 0 ? on_true : on_false).values[i]);
  }
  return out;
}

Result FoldClamp(Evaluation& e) {
  const Known &low = e.in(0), &x = e.in(1), &high = e.in(2);
  if (low.type != x.type || high.type != x.type || !IsLike(low, x) || !IsLike(high, x)) return std::nullopt;
  Known out{x.type, x.dims, {}};
  for (size_t i = 0; i < x.values.size(); ++i) {
    const int64_t least = ElementOf(low, i), most = ElementOf(high, i);
    const int64_t raised = Less(x.type, x.values[i], least) ? least : x.values[i];
    out.values.push_back(Less(x.type, most, raised) ? most : raised);
  }
  return out;
}

// Values from nothing, and movement.

Result FoldConstant(Evaluation& e) {
  const Attr* value = FindAttr(e.op.attributes, "value");
  if (value == nullptr || value->kind != Kind::kElements || !HoldsIntegers(value->shape.type()) ||
      value->elements->elided()) {
    return std::nullopt;
  }
  const std::optional<int64_t> count = Count(value->shape.dims());
  if (!count) return std::nullopt;
  e.attrs.Find("value");
  Known out{value->shape.type(), value->shape.dims(), {}};
  const bool one = value->elements->shape().IsScalar();
  for (int64_t i = 0; i < *count; ++i) out.values.push_back(value->elements->GetInt(one ? 0 : i));
  return out;
}

// iota and dynamic_iota.
Result FoldIota(Evaluation& e) {
  const std::optional<Int64List> dims = e.operands.empty() ? TypeSizes(e.op) : Sizes(e.in(0));
  const int64_t dimension = e.attrs.Int("iota_dimension");
  if (!dims || !Count(*dims) || dimension < 0 || dimension >= static_cast<int64_t>(dims->size())) return std::nullopt;
  Known out{e.op.results[0]->shape.type(), *dims, {}};
  if (!IsIntegral(out.type)) return std::nullopt;
  ForEachIndex(*dims, [&](const Int64List& index) { out.values.push_back(Wrap(out.type, index[dimension])); });
  return out;
}

// reshape and dynamic_reshape.
Result FoldReshape(Evaluation& e) {
  const std::optional<Int64List> dims = e.operands.size() == 1 ? TypeSizes(e.op) : Sizes(e.in(1));
  if (!dims || Count(*dims) != static_cast<int64_t>(e.in(0).values.size())) return std::nullopt;
  return Known{e.in(0).type, *dims, e.in(0).values};
}

// broadcast_in_dim and dynamic_broadcast_in_dim.
Result FoldBroadcast(Evaluation& e) {
  const Known& x = e.in(0);
  const std::optional<Int64List> dims = e.operands.size() == 1 ? TypeSizes(e.op) : Sizes(e.in(1));
  const Int64List to = e.attrs.Ints("broadcast_dimensions");
  e.attrs.Find("known_expanding_dimensions");
  e.attrs.Find("known_nonexpanding_dimensions");
  if (!dims || !Count(*dims) || to.size() != x.dims.size()) return std::nullopt;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] < 0 || to[d] >= static_cast<int64_t>(dims->size())) return std::nullopt;
    if (x.dims[d] != 1 && x.dims[d] != (*dims)[to[d]]) return std::nullopt;
  }
  Known out{x.type, *dims, {}};
  Int64List from(to.size());
  ForEachIndex(*dims, [&](const Int64List& index) {
    for (size_t d = 0; d < to.size(); ++d) from[d] = x.dims[d] == 1 ? 0 : index[to[d]];
    out.values.push_back(At(x, from));
  });
  return out;
}

Result FoldConcatenate(Evaluation& e) {
  const int64_t dimension = e.attrs.Int("dimension");
  if (e.operands.empty() || dimension < 0 || dimension >= static_cast<int64_t>(e.in(0).dims.size())) {
    return std::nullopt;
  }
  Known out{e.in(0).type, e.in(0).dims, {}};
  out.dims[dimension] = 0;
  for (const KnownPtr& operand : e.operands) {
    Int64List rest = operand->dims;
    if (operand->type != out.type || rest.size() != out.dims.size()) return std::nullopt;
    const int64_t length = rest[dimension];
    rest[dimension] = out.dims[dimension];
    if (rest != out.dims) return std::nullopt;
    out.dims[dimension] += length;
  }
  if (!Count(out.dims)) return std::nullopt;
  ForEachIndex(out.dims, [&](const Int64List& index) {
    Int64List from = index;
    for (const KnownPtr& operand : e.operands) {
      const int64_t length = operand->dims[dimension];
      if (from[dimension] < length) return out.values.push_back(At(*operand, from));
      from[dimension] -= length;
    }
  });
  return out;
}

// slice and real_dynamic_slice.
Result FoldSlice(Evaluation& e) {
  const Known& x = e.in(0);
  Int64List starts, limits, strides;
  if (e.operands.size() == 4) {
    starts = e.in(1).values, limits = e.in(2).values, strides = e.in(3).values;
  } else {
    starts = e.attrs.Ints("start_indices"), limits = e.attrs.Ints("limit_indices"), strides = e.attrs.Ints("strides");
  }
  const size_t rank = x.dims.size();
  if (starts.size() != rank || limits.size() != rank || strides.size() != rank) return std::nullopt;
  Known out{x.type, {}, {}};
  for (size_t d = 0; d < rank; ++d) {
    if (starts[d] < 0 || limits[d] < starts[d] || limits[d] > x.dims[d] || strides[d] < 1) return std::nullopt;
    const int64_t length = limits[d] - starts[d];
    out.dims.push_back(length / strides[d] + (length % strides[d] != 0));
  }
  Int64List from(rank);
  ForEachIndex(out.dims, [&](const Int64List& index) {
    for (size_t d = 0; d < rank; ++d) from[d] = starts[d] + index[d] * strides[d];
    out.values.push_back(At(x, from));
  });
  return out;
}

using FoldFn = Result (*)(Evaluation& e);

FoldFn FindFold(absl::string_view name) {
  static const auto* const kFolds = new absl::flat_hash_map<absl::string_view, FoldFn>{
      {"chlo.constant", FoldConstant},
      {"stablehlo.abs", FoldElementwise},
      {"stablehlo.add", FoldElementwise},
      {"stablehlo.and", FoldElementwise},
      {"stablehlo.broadcast_in_dim", FoldBroadcast},
      {"stablehlo.clamp", FoldClamp},
      {"stablehlo.compare", FoldCompare},
      {"stablehlo.concatenate", FoldConcatenate},
      {"stablehlo.constant", FoldConstant},
      {"stablehlo.convert", FoldConvert},
      {"stablehlo.divide", FoldElementwise},
      {"stablehlo.dynamic_broadcast_in_dim", FoldBroadcast},
      {"stablehlo.dynamic_iota", FoldIota},
      {"stablehlo.dynamic_reshape", FoldReshape},
      {"stablehlo.iota", FoldIota},
      {"stablehlo.maximum", FoldElementwise},
      {"stablehlo.minimum", FoldElementwise},
      {"stablehlo.multiply", FoldElementwise},
      {"stablehlo.negate", FoldElementwise},
      {"stablehlo.not", FoldElementwise},
      {"stablehlo.or", FoldElementwise},
      {"stablehlo.real_dynamic_slice", FoldSlice},
      {"stablehlo.remainder", FoldElementwise},
      {"stablehlo.reshape", FoldReshape},
      {"stablehlo.select", FoldSelect},
      {"stablehlo.sign", FoldElementwise},
      {"stablehlo.slice", FoldSlice},
      {"stablehlo.subtract", FoldElementwise},
      {"stablehlo.xor", FoldElementwise},
  };
  const auto found = kFolds->find(name);
  return found == kFolds->end() ? nullptr : found->second;
}

}  // namespace

Literal LiteralOf(const Known& known) {
  Literal literal(ShapeOf(known));
  for (size_t i = 0; i < known.values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), known.values[i]);
  return literal;
}

KnownPtr Fold(const Operation& op, absl::Span<const KnownPtr> operands) {
  const FoldFn fold = op.results.size() == 1 ? FindFold(op.row->name) : nullptr;
  if (fold == nullptr) return nullptr;
  Evaluation evaluation{op, AttrReader(op.attributes), operands};
  Result result = fold(evaluation);
  if (!result || !evaluation.attrs.ok() || evaluation.attrs.Unknown() != nullptr) return nullptr;
  if (!Agree(ShapeOf(*result), op.results[0]->shape)) return nullptr;
  return std::make_shared<const Known>(*std::move(result));
}

}  // namespace xc::stablehlo
