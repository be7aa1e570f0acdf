// One packing of a constant for all who ask, for as long as one of them lives.
#include "backends/plan/packed_literals.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace xc::plan {
namespace {

TEST(PackedLiterals, AreShared) {
  const auto source = std::make_shared<const Literal>(Shape(ElementType::kF32, {4}));
  int packings = 0;
  const auto get = [&](const std::shared_ptr<const Literal>& of, absl::string_view order) {
    return PackedLiteral(of, order, [&] {
      ++packings;
      return std::make_shared<const Literal>(Shape(ElementType::kF32, {2, 2}));
    });
  };
  auto first = get(source, "a");
  EXPECT_EQ(get(source, "a"), first);
  EXPECT_EQ(packings, 1);
  EXPECT_NE(get(source, "b"), first);
  EXPECT_NE(get(std::make_shared<const Literal>(Shape(ElementType::kF32, {4})), "a"), first);
  EXPECT_EQ(packings, 3);
  // Nothing is kept for nobody.
  const std::weak_ptr<const Literal> gone = first;
  first.reset();
  EXPECT_TRUE(gone.expired());
  EXPECT_NE(get(source, "a"), nullptr);
  EXPECT_EQ(packings, 4);
}

TEST(PackedLiterals, AnotherConstantAtTheSameAddressIsAnother) {
  alignas(Literal) char place[sizeof(Literal)];
  const auto at_place = [&](int64_t size) {
    return std::shared_ptr<const Literal>(new (place) Literal(Shape(ElementType::kF32, {size})),
                                          [](const Literal* literal) { literal->~Literal(); });
  };
  const auto size_of = [](const std::shared_ptr<const Literal>& source) {
    return PackedLiteral(source, "", [&] { return std::make_shared<const Literal>(Shape(source->shape())); });
  };
  auto source = at_place(4);
  const auto four = size_of(source);
  source.reset();
  source = at_place(5);
  EXPECT_EQ(size_of(source)->size(), 5);
  EXPECT_EQ(four->size(), 4);
}

TEST(PackedLiterals, ThreadsGetOne) {
  const auto source = std::make_shared<const Literal>(Shape(ElementType::kF32, {4}));
  std::vector<std::shared_ptr<const Literal>> got(8);
  std::vector<std::thread> threads;
  for (auto& packed : got) {
    threads.emplace_back([&] {
      packed =
          PackedLiteral(source, "", [&] { return std::make_shared<const Literal>(Shape(ElementType::kF32, {4})); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& packed : got) EXPECT_EQ(packed, got[0]);
}

}  // namespace
}  // namespace xc::plan
