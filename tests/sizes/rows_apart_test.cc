// What CheckRowsApart says of random modules: where it finds that rows are apart, the interpreter gives for some of
// them alone, to the bit, what it gives for them among others.
#include <cstring>

#include "backends/registry.h"
#include "gtest/gtest.h"
#include "hlo/analysis/padding_safety.h"
#include "service/client.h"
#include "service/inputs.h"
#include "tests/fuzz/random_module.h"
#include "tests/sizes/resizable.h"

namespace xc {
namespace {

constexpr int64_t kFew = 3, kMany = 8;

std::vector<Literal> Interpreted(const HloModule& module, const std::vector<Literal>& inputs) {
  const auto executable = Client::Default()->Compile(module.Clone(), "interpreter", {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return {};
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  auto results = RunOnLiterals(**executable, pointers);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *std::move(results) : std::vector<Literal>();
}

// The rows of `whole` from `first` on that `few`, kFew rows, has; all of it where `dim` is -1.
std::string RowsOf(const Literal& whole, const Shape& few, int64_t dim, int64_t first) {
  const auto* bytes = reinterpret_cast<const char*>(whole.bytes());
  if (dim < 0) return std::string(bytes, whole.byte_size());
  int64_t outer = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= few.dim(d);
  const int64_t row = outer == 0 ? 0 : static_cast<int64_t>(whole.byte_size()) / outer / kMany;
  std::string rows;
  for (int64_t o = 0; o < outer; ++o) rows.append(bytes + (o * kMany + first) * row, kFew * row);
  return rows;
}

TEST(RowsApart, RowsOfRandomModulesAreWhatTheyAreAlone) {
  int64_t apart = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    auto random = MakeRandomModule(seed);
    ASSERT_TRUE(random.ok()) << random.status();
    const auto sizes = Resizable::Of(std::move(random->module));
    if (!sizes.ok()) continue;
    for (const Resizable::Symbol& symbol : sizes->symbols()) {
      const auto few = sizes->Resized({{symbol.id, kFew}}), many = sizes->Resized({{symbol.id, kMany}});
      if (!few.ok() || !many.ok()) continue;
      const auto dims = CheckRowsApart(**few, kFew, **many, kMany);
      ++(dims.ok() ? apart : refused);
      if (!dims.ok()) continue;
      std::vector<Literal> inputs;
      for (const HloInstruction* p : (*many)->entry()->parameters()) {
        inputs.push_back(MakeInput(static_cast<int64_t>(inputs.size()), p->shape()));
      }
      const std::vector<Literal> whole = Interpreted(**many, inputs);
      for (int64_t first = 0; first + kFew <= kMany; ++first) {
        std::vector<Literal> parts;
        for (size_t i = 0; i < inputs.size(); ++i) {
          const Shape& shape = (*few)->entry()->parameter(static_cast<int64_t>(i))->shape();
          const std::string rows = RowsOf(inputs[i], shape, dims->parameters[i], first);
          Literal& part = parts.emplace_back(shape);
          ASSERT_EQ(part.byte_size(), rows.size());
          std::memcpy(part.mutable_bytes(), rows.data(), rows.size());
        }
        const std::vector<Literal> alone = Interpreted(**few, parts);
        ASSERT_EQ(alone.size(), whole.size());
        for (size_t i = 0; i < alone.size(); ++i) {
          EXPECT_TRUE(RowsOf(alone[i], alone[i].shape(), -1, 0) ==
                      RowsOf(whole[i], alone[i].shape(), dims->results[i], first))
              << "seed " << seed << ", size " << symbol.where << ", result " << i << ", rows from " << first;
        }
      }
    }
  }
  EXPECT_GE(apart, 40);
  EXPECT_GE(refused, 40);
}

}  // namespace
}  // namespace xc
