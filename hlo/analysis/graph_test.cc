// Equality, fingerprints, patterns and the visitor, on modules from the builder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/analysis/equality.h"
#include "hlo/analysis/fingerprint.h"
#include "hlo/analysis/pattern.h"
#include "hlo/builder/builder.h"

namespace xc {
namespace {

using ::testing::HasSubstr;
using E = ElementType;

// Softmax of f32[4,n]. `swap` makes the two parts in another order and with other names.
std::unique_ptr<HloModule> Softmax(int64_t n, bool swap, double shift = 0) {
  HloBuilder b(swap ? "other" : "m");
  if (swap) {
    Metadata metadata;
    metadata.op_name = "softmax";
    b.SetMetadata(metadata);
  }
  Shape shape(E::kF32, {4, n});
  Op x = b.Parameter(0, shape, swap ? "logits" : "x");
  Op c = swap ? b.Scalar(E::kF32, shift) : Op();
  Op top = b.Reduce(HloOpcode::kMaximum, x, {1});
  if (!swap) c = b.Scalar(E::kF32, shift);
  Op e = b.Exp(b.Sub(b.Add(x, c), b.Broadcast(top, {4, n}, {0})));
  Op out = b.Div(e, b.Broadcast(b.Reduce(HloOpcode::kAdd, e, {1}), {4, n}, {0}));
  auto module = b.Build(out);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

TEST(Equality, NamesAndOrderDoNotMatter) {
  auto a = Softmax(8, false), b = Softmax(8, true);
  EXPECT_EQ(DeepEqual(*a, *b), absl::OkStatus());
  EXPECT_EQ(FingerprintOf(*a), FingerprintOf(*b));
  EXPECT_EQ(FingerprintOf(*a).ToHex().size(), 32u);
  EqualityOptions names;
  names.names = true;
  EXPECT_THAT(std::string(DeepEqual(*a, *b, names).message()), HasSubstr("the names differ"));
  EqualityOptions metadata;
  metadata.metadata = true;
  EXPECT_THAT(std::string(DeepEqual(*a, *b, metadata).message()), HasSubstr("only the second has attribute metadata"));
}

TEST(Equality, DifferencesAreFoundAndNamed) {
  auto a = Softmax(8, false), wide = Softmax(9, false), shifted = Softmax(8, false, 1);
  EXPECT_THAT(std::string(DeepEqual(*a, *wide).message()), HasSubstr("shapes f32[4,8] and f32[4,9]"));
  EXPECT_THAT(std::string(DeepEqual(*a, *shifted).message()), HasSubstr("values differ"));
  EXPECT_FALSE(FingerprintOf(*a) == FingerprintOf(*wide));
  EXPECT_FALSE(FingerprintOf(*a) == FingerprintOf(*shifted));
  auto aliased = a->Clone();
  EXPECT_EQ(FingerprintOf(*a), FingerprintOf(*aliased));
  aliased->config().input_output_alias.push_back({{}, 0, {}, true});
  EXPECT_THAT(std::string(DeepEqual(*a, *aliased).message()), HasSubstr("input_output_alias differs"));
  EXPECT_FALSE(FingerprintOf(*a) == FingerprintOf(*aliased));
}

TEST(Equality, SharingMatters) {
  auto build = [](bool shared) {
    HloBuilder b("m");
    Op zero = b.Zero(E::kF32), one = b.One(E::kF32);
    Op x = b.Rng(RandomDistribution::kUniform, zero, one, Shape(E::kF32, {4}));
    Op y = shared ? x : b.Rng(RandomDistribution::kUniform, zero, one, Shape(E::kF32, {4}));
    return *b.Build(b.Add(x, y));
  };
  auto a = build(true), b = build(false);
  EXPECT_FALSE(DeepEqual(*a, *b).ok());
  EXPECT_FALSE(FingerprintOf(*a) == FingerprintOf(*b));
}

TEST(Fingerprint, HasherSeesLengthsAndOrder) {
  auto of = [](std::vector<std::string> texts) {
    FingerprintHasher hasher;
    for (const auto& text : texts) hasher.AddText(text);
    return hasher.Finish();
  };
  EXPECT_FALSE(of({"ab", "c"}) == of({"a", "bc"}));
  EXPECT_FALSE(of({"a", "b"}) == of({"b", "a"}));
  EXPECT_FALSE(of({std::string("a\0", 2)}) == of({"a"}));
  EXPECT_EQ(of({"abcdefghi"}), of({"abcdefghi"}));
}

TEST(Pattern, CommutativeCapturesAndBroadcastScalars) {
  HloBuilder b("m");
  Op x = b.Parameter(0, Shape(E::kF32, {4}), "x");
  Op sum = b.Add(b.Scalar(E::kF32, 0), b.Mul(x, x));
  Op difference = b.Sub(sum, b.FullLike(x, 2));
  HloInstruction *found = nullptr, *left = nullptr;
  EXPECT_TRUE(m::Match(sum.instruction(), m::Add(m::Any(&found), m::BroadcastScalar(0))));
  EXPECT_EQ(found->opcode(), HloOpcode::kMultiply);
  EXPECT_TRUE(m::Match(found, m::Multiply(m::Any(&left), m::Same(&left))));
  EXPECT_EQ(left, x.instruction());
  EXPECT_FALSE(m::Match(sum.instruction(), m::Add(m::Any(), m::BroadcastScalar(1))));
  EXPECT_FALSE(m::Match(sum.instruction(), m::Add(m::Any(), m::BroadcastScalar(-0.0))));
  EXPECT_TRUE(m::Match(difference.instruction(), m::Subtract(m::OneUse(m::Add()), m::AnyBroadcastScalar())));
  EXPECT_FALSE(m::Match(difference.instruction(), m::Subtract(m::BroadcastScalar(2), m::Any())));
  EXPECT_TRUE(m::Match(difference.instruction(), m::AnyOf(m::Add(), m::Subtract(&found))));
  EXPECT_EQ(found, difference.instruction());
  EXPECT_FALSE(m::Match(x.instruction(), m::OneUse(m::Where(m::Any(), [](HloInstruction*) { return false; }))));
}

}  // namespace
}  // namespace xc
