#include "backends/codegen/roots.h"

#include "absl/functional/function_ref.h"
#include "backends/codegen/elementwise_internal.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
constexpr int kLanes = 8;  // of an estimate

bool HasEstimate(const MathBuilder& m) { return m.estimates && m.lanes > 0 && m.lanes % kLanes == 0; }

// Half of 1 / the root of x and the root, with errors of 2^-27.
struct HalfAndRoot {
  V half, root;
};

// From an estimate with an error of 2^-14, made better once: of x, or of zero where x is.
HalfAndRoot Improved(MathBuilder& m, V x) {
  V none = llvm::Constant::getNullValue(x->getType());
  V estimate = m.b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_rsqrt14_pd_512, {}, {x, none, m.b.getInt8(0xff)});
  V root = m.Mul(x, estimate), half = m.Mul(estimate, m.F(0.5));
  V error = m.Fma(m.Neg(root), half, m.F(0.5));
  return {m.Fma(half, error, half), m.Fma(root, error, root)};
}

V InParts(MathBuilder& m, V x, absl::FunctionRef<V(MathBuilder& part, V x)> code) {
  return EmitInParts(m.b, kLanes, {x}, [&](V const* part) {
    MathBuilder of_part(m.b, part[0]->getType(), m.fma);
    return code(of_part, part[0]);
  });
}

}  // namespace

// What is left before the last rounding is 2^-79 of the root. So it is what the machine's root gives, but where the
// true one lies as near to the middle of two doubles; of those neither is the middle of two floats, as the sum then had
// more digits than it has. So they are the same when they are rounded to floats.
V EmitRootForFloats(MathBuilder m, V size) {
  if (!HasEstimate(m)) return m.Sqrt(size);
  return InParts(m, size, [](MathBuilder& m, V x) {
    auto [half, root] = Improved(m, x);
    for (int i = 0; i < 2; ++i) root = m.Fma(m.Fma(m.Neg(root), root, x), half, root);
    return m.Select(m.Eq(x, m.F(0)), x, root);
  });
}

V EmitInverseRootForFloats(MathBuilder m, V size) {
  if (!HasEstimate(m)) return m.Div(m.F(1), m.Sqrt(size));
  return InParts(m, size, [](MathBuilder& m, V x) {
    const auto [half, root] = Improved(m, x);
    V inverse = m.Add(half, half);
    return m.Fma(m.Fma(m.Neg(root), half, m.F(0.5)), inverse, inverse);
  });
}

}  // namespace xc::codegen
