// Elementwise operations, constants and iota.
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

void LowerElementwise(OpLowering& op) {
  op.attrs.Find("result_accuracy");  // results are as accurate as the backend makes them, whatever is asked for
  op.Emit(op.op.row->opcode, op.Operands());
}

void LowerClamp(OpLowering& op) {
  const auto bound = [&](int64_t i) {
    return op.in(i).shape().IsScalar() ? op.b.BroadcastTo(op.in(i), op.in(1).dims()) : op.in(i);
  };
  op.Emit(O::kClamp, {bound(0), op.in(1), bound(2)});
}

void LowerSelect(OpLowering& op) {
  const Op pred = op.in(0);
  op.result();  // without one the broadcast of the predicate would be the first to miss it
  op.Emit(O::kSelect, {pred.shape().IsScalar() ? op.b.BroadcastTo(pred, op.in(1).dims()) : pred, op.in(1), op.in(2)});
}

void LowerCompare(OpLowering& op) { Compare(op, op.in(0), op.in(1)); }

void Compare(OpLowering& op, Op x, Op y) {
  Attributes attributes;
  attributes.Set<A::kDirection>(
      op.attrs.Choice<CompareDirection>("comparison_direction", {{"EQ", CompareDirection::kEq},
                                                                 {"NE", CompareDirection::kNe},
                                                                 {"GE", CompareDirection::kGe},
                                                                 {"GT", CompareDirection::kGt},
                                                                 {"LE", CompareDirection::kLe},
                                                                 {"LT", CompareDirection::kLt}}));
  const std::string type = op.attrs.Word("compare_type", "NOTYPE");
  const ElementType element = x.type();
  const bool fits = type == "NOTYPE"       ? true
                    : type == "FLOAT"      ? IsFloating(element) || IsComplex(element)
                    : type == "TOTALORDER" ? IsFloating(element)
                    : type == "SIGNED"     ? IsSignedInt(element)
                    : type == "UNSIGNED"   ? IsUnsignedInt(element) || element == ElementType::kPred
                                           : false;
  if (!fits) op.Fail(absl::StrCat("compare_type ", type, " does not fit operands of ", ElementTypeName(element)));
  if (type == "TOTALORDER") attributes.Set<A::kCompareType>(CompareType::kTotalOrder);
  op.Emit(O::kCompare, {x, y}, std::move(attributes));
}

// `e5m10`, or the two numbers apart.
void LowerReducePrecision(OpLowering& op) {
  int64_t exponent = 0, mantissa = 0;
  if (op.attrs.Has("format")) {
    const std::string format = op.attrs.Word("format");
    const size_t m = format.find('m');
    if (format.empty() || format[0] != 'e' || m == std::string::npos ||
        !absl::SimpleAtoi(format.substr(1, m - 1), &exponent) || !absl::SimpleAtoi(format.substr(m + 1), &mantissa)) {
      op.Fail(absl::StrCat("expected a format such as e5m10, found ", format));
    }
  } else {
    exponent = op.attrs.Int("exponent_bits");
    mantissa = op.attrs.Int("mantissa_bits");
  }
  Attributes attributes;
  attributes.Set<A::kExponentBits>(exponent);
  attributes.Set<A::kMantissaBits>(mantissa);
  op.Emit(O::kReducePrecision, op.Operands(), std::move(attributes));
}

// One value for all elements is a scalar and its broadcast, so that a short text makes no large constant.
void LowerConstant(OpLowering& op) {
  const Attr* value = op.attrs.Require("value");
  if (value == nullptr) return;
  if (value->kind != Attr::Kind::kElements) return op.Fail("attribute `value` should be dense<…>");
  const Op constant = op.b.Constant(value->elements);
  op.Bind(op.b.BroadcastTo(constant, value->shape.dims()));
}

void LowerIota(OpLowering& op) {
  Attributes attributes;
  attributes.Set<A::kIotaDimension>(op.attrs.Int("iota_dimension"));
  op.Emit(O::kIota, {}, std::move(attributes));
}

}  // namespace xc::stablehlo
